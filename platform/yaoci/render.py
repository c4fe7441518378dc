"""A report as text with snippets for people, as lines for editors, and as JSON for programs."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from json import dumps
from typing import Final, NamedTuple

from .diagnostics import Diagnostic, Report, Severity
from .source import Span
from .values import Json, clean

VERSION: Final = 1
"""The version of the JSON form."""

_BREAK = re.compile(r"\r\n?|\n")
_TAB: Final = 4
_LONG: Final = 2_000
"""Of a line with more characters only those around the mark are looked at."""

_ROOM: Final = 40
"""A label below its mark begins at it where this many columns are left."""

_RED, _YELLOW, _CYAN, _GREEN, _BLUE = "1;31", "1;33", "1;36", "1;32", "1;34"
_BOLD, _DIM = "1", "2"
_COLOR: Final[Mapping[Severity, str]] = {"error": _RED, "warning": _YELLOW, "advice": _CYAN}


def text(report: Report, *, color: bool = False, width: int = 100) -> str:
    """Return a report for people: each finding with its place in the file, then how many there are.

    `width` is in columns of a terminal; `color` adds ANSI escapes.
    """
    page = _Page(report.sources, color, max(width, 40))
    parts = ["\n".join(page.finding(finding)) for finding in report.findings]
    return "\n\n".join([*parts, page.closing(report)])


def line(report: Report) -> str:
    """Return one line for each finding: `file:line:column: severity[code]: what (what to do)`."""
    return "\n".join(_one_line(finding) for finding in report.findings)


def json(report: Report) -> str:
    """Return a report as JSON text; `version` changes when a field's meaning does."""
    value: Json = {
        "version": VERSION,
        "ok": report.ok,
        "counts": {**_counts(report), "files": report.files},
        "findings": [
            {
                "code": f.code, "slug": f.slug, "severity": f.severity, "summary": f.summary, "label": clean(f.label),
                "help": clean(f.help), **_place(f.span),
                "related": [{"label": clean(label), **_place(span)} for label, span in f.related],
            }
            for f in report.findings
        ],
    }  # fmt: skip
    return dumps(value, ensure_ascii=False, indent=2)


def visible(text: str, *, breaks: bool = False) -> str:
    """Return `text` with characters that a terminal would obey or hide made visible; line breaks only if asked."""
    if text.isprintable():
        return text
    return "".join(c if breaks and c == "\n" else "    " if c == "\t" else _seen(c) for c in text)


def columns(text: str) -> int:
    """Return how many columns of a terminal `text` takes; East Asian wide characters take two."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _counts(report: Report) -> dict[str, int]:
    severities = [finding.severity for finding in report.findings]
    names: tuple[tuple[str, Severity], ...] = (
        ("errors", "error"),
        ("warnings", "warning"),
        ("advice", "advice"),
    )
    return {name: severities.count(severity) for name, severity in names}


def _place(span: Span) -> dict[str, Json]:
    return {**span._asdict(), "file": clean(span.file)}


def _one_line(finding: Diagnostic) -> str:
    span = finding.span
    what = visible(finding.label or finding.summary)
    todo = f" ({visible(finding.help)})" if finding.help else ""
    place = f"{visible(span.file) or '.'}:{span.line}:{span.column}"
    return f"{place}: {finding.severity}[{finding.code}]: {what}{todo}"


# -- characters ---------------------------------------------------------------------------------------


def _seen(character: str) -> str:
    """Return a character as it can be shown: pictures for controls, code points for what is invisible."""
    point = ord(character)
    if character < " ":
        return chr(0x2400 + point)
    if character == "\x7f":
        return "\u2421"
    # joiners belong to the letters around them; other format characters hide or turn around what is there
    hidden = unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and point not in {
        0x200C,
        0x200D,
    }
    return f"<U+{point:04X}>" if hidden else character


def _width(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.category(character) in {"Mn", "Me"} or character in "\u200c\u200d":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str, width: int, *, cut: bool = True) -> list[str]:
    """Return `text` in lines of at most `width` columns, broken at spaces where there are any.

    Without `cut` a word in narrow letters stays whole, also where it is longer than that.
    """
    out: list[str] = []
    for paragraph in text.split("\n"):
        row = ""
        for word in re.findall(r"\s*\S+", visible(paragraph)):
            if row and columns(row) + columns(word) > width:
                out.append(row)
                row = ""
            row += word if row else word.lstrip()
            while columns(row) > width and (cut or columns(row) > len(row)):
                end = _fit(row, width)
                out.append(row[:end])
                row = row[end:]
        out.append(row)
    return out


def _fit(text: str, width: int) -> int:
    """Return how many characters of `text` fit into `width` columns, at least one."""
    used = 0
    for index, character in enumerate(text):
        used += _width(character)
        if used > width:
            return max(index, 1)
    return len(text)


# -- one finding --------------------------------------------------------------------------------------


class _Mark(NamedTuple):
    """A span to underline, what to say of it, the sign, and the colour."""

    span: Span
    label: str
    sign: str
    color: str


class _Line(NamedTuple):
    """A line as it is shown, and the column at which each character of the original begins; one more for its end."""

    shown: str
    starts: dict[int, int]

    def stretch(self, begin: int, end: int) -> tuple[int, int]:
        """Return the columns that the characters from `begin` to `end` take, as far as they are shown; at least one."""
        first, last = min(self.starts), max(self.starts)
        left = self.starts[min(max(begin, first), last)]
        right = self.starts[min(max(end, first), last)]
        return left, max(right, left + 1)


class _Page:
    """Writes findings: with which colours, how wide, and from which texts."""

    def __init__(self, sources: Mapping[str, str], color: bool, width: int) -> None:
        self._sources = sources
        self._color = color
        self._width = width
        self._lines: dict[str, list[str]] = {}

    def finding(self, finding: Diagnostic) -> Iterator[str]:
        """Yield the lines of a finding."""
        color = _COLOR[finding.severity]
        head = self._paint(f"{finding.severity}[{finding.code}]", color)
        yield head + self._paint(f": {visible(finding.summary)}", _BOLD)
        marks = [
            _Mark(finding.span, finding.label, "^", color),
            *(_Mark(span, label, "-", _BLUE) for label, span in finding.related),
        ]
        drawn = [mark for mark in marks if self._source(mark.span)]
        margin = " " * len(str(max((mark.span.line for mark in drawn), default=1)))
        bar = self._paint(f"{margin} |", _DIM)
        if not self._source(finding.span):
            yield from self._whole_file(finding, margin)
        for index, name in enumerate(dict.fromkeys(mark.span.file for mark in drawn)):
            own = [mark for mark in drawn if mark.span.file == name]
            if index:
                yield bar
            arrow = "-->" if index == 0 and own[0].sign == "^" else ":::"
            yield f"{margin}{self._paint(arrow, _BLUE)} {_shown_place(own[0].span)}"
            yield bar
            yield from self._snippet(own, len(margin))
        if drawn and (finding.help or len(drawn) < len(marks)):
            yield bar
        for mark in marks[1:]:
            if mark not in drawn:
                yield from self._note(margin, "", f"{mark.label}: {_shown_place(mark.span, whole=True)}")
        if finding.help:
            yield from self._note(margin, "help: ", finding.help)

    def closing(self, report: Report) -> str:
        """Return the last line: how many findings there are, in how many files."""
        counts = _counts(report)
        files = _many(report.files, "file", "files")
        said: list[str] = []
        for severity, one, many in (
            ("errors", "error", "errors"), ("warnings", "warning", "warnings"),
            ("advice", "piece of advice", "pieces of advice"),
        ):  # fmt: skip
            color = _COLOR[severity.removesuffix("s")]  # type: ignore[index]  # these are the severities
            if counts[severity]:
                said.append(self._paint(_many(counts[severity], one, many), color))
        if report.ok:
            return ", ".join([f"{self._paint('ok', _GREEN)}: {files}", *said])
        return f"{', '.join(said)} in {files}"

    def _whole_file(self, finding: Diagnostic, margin: str) -> Iterator[str]:
        """Yield the place and the label of what is said of a file whose text is not at hand."""
        if finding.span.file:
            yield f"{margin}{self._paint('-->', _BLUE)} {_shown_place(finding.span, whole=True)}"
        if finding.label:
            yield from self._note(margin, "", finding.label)

    def _note(self, margin: str, head: str, text: str) -> Iterator[str]:
        sign = self._paint("=", _BLUE)
        indent = len(margin) + 3 + len(head)
        first, *rest = wrapped(text, self._width - indent)
        yield f"{margin} {sign} {self._paint(head, _BOLD) if head else ''}{first}"
        for more in rest:
            yield f"{' ' * indent}{more}"

    def _source(self, span: Span) -> bool:
        """Return whether the line where a span begins can be shown."""
        if span.file not in self._lines:
            source = self._sources.get(span.file, "")
            self._lines[span.file] = _BREAK.split(source) if source else []
        return 0 < span.line <= len(self._lines[span.file])

    def _snippet(self, marks: list[_Mark], digits: int) -> Iterator[str]:
        """Yield the lines of one file that have marks, each with its marks below."""
        room = self._width - digits - 3
        before = 0
        for number in sorted({mark.span.line for mark in marks}):
            if before and number == before + 2:
                yield from self._plain(marks[0].span.file, number - 1, digits, room)
            elif before and number > before + 1:
                yield self._paint("...", _DIM)
            before = number
            here = [mark for mark in marks if mark.span.line == number]
            raw = self._lines[here[0].span.file][number - 1]
            focus = _columns_of(here[0].span, raw)
            shown = _cut(raw, *focus, room, columns(here[0].label))
            yield self._numbered(number, shown.shown, digits)
            for mark in here:
                yield from self._underline(mark, raw, shown, digits, room)

    def _plain(self, file: str, number: int, digits: int, room: int) -> Iterator[str]:
        yield self._numbered(number, _cut(self._lines[file][number - 1], 0, 0, room, 0).shown, digits)

    def _numbered(self, number: int, shown: str, digits: int) -> str:
        return f"{self._paint(f'{number:>{digits}} |', _DIM)} {shown}".rstrip()

    def _underline(self, mark: _Mark, raw: str, shown: _Line, digits: int, room: int) -> Iterator[str]:
        left, right = shown.stretch(*_columns_of(mark.span, raw))
        bar = self._paint(f"{' ' * digits} |", _DIM)
        label = visible(mark.label)
        fits = right + 1 + columns(label) <= room
        under = f"{mark.sign * (right - left)} {label if fits else ''}".rstrip()
        yield f"{bar} {' ' * left}{self._paint(under, mark.color)}"
        if fits:
            return
        indent = min(left, max(0, room - min(columns(label), _ROOM)))
        for row in wrapped(mark.label, room - indent):
            yield f"{bar} {' ' * indent}{self._paint(row, mark.color)}"

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._color and text else text


def _shown_place(span: Span, *, whole: bool = False) -> str:
    """Return `file:line:column`; of a whole file just its name."""
    name = visible(span.file)
    return name if whole and span[1:3] == (1, 1) else f"{name}:{span.line}:{span.column}"


def _many(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _columns_of(span: Span, raw: str) -> tuple[int, int]:
    """Return the characters of a span on its first line, from 0; the end is just behind."""
    begin = min(span.column - 1, len(raw))
    end = span.end_column - 1 if span.end_line == span.line else len(raw.rstrip())
    return begin, max(min(end, len(raw)), begin)


def _cut(raw: str, begin: int, end: int, room: int, label: int) -> _Line:
    """Return a line cut to `room` columns, with `…` where something is left out, so that `begin` is to be seen.

    A label of `label` columns gets its room behind `end` if that can be.
    """
    low = max(0, begin - _LONG // 2) if len(raw) > _LONG else 0
    cells = list(_cells(raw[low : low + _LONG], low))
    total = sum(width for _, _, width in cells)
    if total <= room and low == 0 and len(raw) <= _LONG:
        return _laid(cells, low + len(cells), "", "")
    ahead = sum(width for index, _, width in cells if index < begin)
    marked = sum(width for index, _, width in cells if begin <= index < end)
    wanted = max(8, min(room // 3, room - marked - label - 3))
    skip = (
        0 if low == 0 and ahead + max(marked, 1) < room - 1 else max(0, min(ahead - wanted, total - room + 2))
    )
    kept: list[tuple[int, str, int]] = []
    column, used = 0, 1 if skip or low else 0
    for cell in cells:
        column += cell[2]
        if column <= skip:
            continue
        if used + cell[2] > room - 1:
            break
        used += cell[2]
        kept.append(cell)
    last = kept[-1][0] + 1 if kept else begin
    return _laid(kept, last, "…" if skip or low else "", "…" if last < len(raw) else "")


def _cells(part: str, first: int) -> Iterator[tuple[int, str, int]]:
    """Yield each character's index from `first`, how it is shown, and how many columns that takes."""
    column = 0
    for index, character in enumerate(part, first):
        shown = " " * (_TAB - column % _TAB) if character == "\t" else _seen(character)
        width = columns(shown)
        column += width
        yield index, shown, width


def _laid(cells: Iterable[tuple[int, str, int]], end: int, before: str, behind: str) -> _Line:
    starts: dict[int, int] = {}
    shown = [before]
    column = len(before)
    for index, part, width in cells:
        starts[index] = column
        shown.append(part)
        column += width
    starts[end] = column
    return _Line("".join(shown) + behind, starts)
