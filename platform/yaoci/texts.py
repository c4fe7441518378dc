"""A text with its lines and columns, and what can be wrong with it: the problems of reading and their codes."""

import re
from bisect import bisect_right
from typing import Final, NamedTuple

CODES: Final[dict[str, tuple[str, str]]] = {
    # the file (Y020 to Y049 belong to the readers of projects and Python files)
    "Y001": ("missing-file", "file not found"),
    "Y002": ("unreadable-file", "file cannot be read"),
    "Y003": ("duplicate-key", "duplicate key"),
    "Y004": ("too-large", "file too large"),
    "Y005": ("not-utf8", "file is not UTF-8"),
    "Y006": ("not-text", "this is not text"),
    "Y007": ("two-byte-order-marks", "two byte order marks"),
    "Y008": ("empty-file", "empty file"),
    # the document
    "Y010": ("syntax", "YAML cannot be read on from here"),
    "Y011": ("several-documents", "several documents in one file"),
    "Y012": ("yaml-version", "another version of YAML is asked for"),
    "Y013": ("root-not-mapping", "the file is no mapping"),
    "Y014": ("too-deep", "nested too deeply"),
    "Y015": ("too-many-values", "too many values"),
    # keys, tags, aliases, scalars
    "Y050": ("key-not-text", "a key that is not text"),
    "Y051": ("empty-key", "an entry without a key"),
    "Y052": ("unknown-tag", "unknown tag"),
    "Y053": ("tag-misfit", "value does not fit its tag"),
    "Y054": ("unknown-alias", "alias without an anchor"),
    "Y055": ("recursive-alias", "a value that holds itself"),
    "Y056": ("alias-expansion", "aliases stand for too much"),
    "Y057": ("merge-not-mapping", "only mappings can be merged"),
    "Y058": ("long-number", "a number of too many digits"),
    "Y059": ("not-finite", "a number that is not finite"),
    "Y060": ("half-character", "half of a surrogate pair"),
    # traps
    "Y070": ("unquoted-template", "a template without quotes"),
    "Y071": ("cut-template", "a template cut off by a comment"),
    "Y072": ("valueless-entry", "an entry without a value"),
    "Y073": ("tab-indentation", "a tab used as indentation"),
    "Y074": ("reserved-start", "a plain text that begins with a reserved character"),
    "Y075": ("text-after-value", "a value that ends and goes on"),
    "Y076": ("colon-in-value", "a colon in a plain value"),
    "Y077": ("wrong-indentation", "indentation that fits no line above"),
    "Y078": ("unclosed-bracket", "a bracket that is never closed"),
    "Y079": ("unclosed-quote", "a quote that is never closed"),
    "Y080": ("odd-space", "a space that YAML does not take for one"),
    "Y081": ("invisible-character", "an invisible character in a key"),
    "Y082": ("curly-quotes", "curly quotes around a key"),
    "Y083": ("wide-colon", "a full-width colon"),
    "Y084": ("unknown-escape", "unknown escape in double quotes"),
    "Y085": ("block-header", "text behind the mark of a block"),
    "Y086": ("list-on-key-line", "a list that begins on the line of its key"),
    "Y087": ("missing-colon", "a key without a colon"),
}
"""Every code of reading, with its slug and its summary."""

_CODE_OF: Final = {slug: code for code, (slug, _) in CODES.items()}

_BREAK = re.compile(r"\r\n?|\n")
_SHOWN = 90


class Place(NamedTuple):
    """A stretch of a text: lines and columns from 1, in characters; `end_column` is just behind it."""

    line: int
    column: int
    end_line: int
    end_column: int


class Span(NamedTuple):
    """A place in a file."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class Problem(NamedTuple):
    """A thing wrong with a text: one of `CODES`, what exactly, what to do, and where."""

    code: str
    slug: str
    label: str
    """What exactly is wrong, the user's words in backticks."""
    help: str
    """What to do, or nothing."""
    span: Span
    related: tuple[tuple[str, Span], ...] = ()
    """Other places that have a part in it, each with what it is."""


class Unreadable(Exception):  # noqa: N818 - it reads as what the file is: `except Unreadable`
    """A file cannot be read; `problems` holds at least one reason."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        """Take the problems, whose labels become the message."""
        super().__init__(
            "\n".join(f"{p.span.file}:{p.span.line}:{p.span.column}: {p.label}" for p in problems)
        )
        self.problems = problems


class Text:
    """A text and the name of its file, which turns offsets into places. Lines end with LF, CRLF or CR."""

    __slots__ = ("_starts", "file", "text")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._starts: list[int] = []

    def line(self, offset: int) -> int:
        """Return the line, from 1, in which `offset` lies."""
        return bisect_right(self._lines(), offset)

    def bounds(self, line: int) -> tuple[int, int]:
        """Return where line number `line`, from 1, begins and ends, its break aside."""
        starts = self._lines()
        begin = starts[line - 1]
        end = starts[line] if line < len(starts) else len(self.text)
        return begin, begin + len(self.text[begin:end].rstrip("\r\n"))

    def place(self, begin: int, end: int) -> Place:
        """Return the place from `begin` to `end`."""
        starts = self._lines()
        first = bisect_right(starts, begin)
        last = bisect_right(starts, end)
        return Place(first, begin - starts[first - 1] + 1, last, end - starts[last - 1] + 1)

    def span(self, begin: int, end: int) -> Span:
        """Return the place from `begin` to `end`, with the file."""
        return Span(self.file, *self.place(begin, end))

    def problem(
        self,
        slug: str,
        begin: int,
        end: int,
        label: str,
        help: str = "",
        *,
        related: tuple[tuple[str, Span], ...] = (),
    ) -> Problem:
        """Return a problem of a known kind with what stands from `begin` to `end`."""
        return Problem(_CODE_OF[slug], slug, label, help, self.span(begin, max(begin, end)), related)

    def _lines(self) -> list[int]:
        if not self._starts:
            self._starts = [0, *(found.end() for found in _BREAK.finditer(self.text))]
        return self._starts


def code_point(character: str) -> str:
    """Return how Unicode names a character: `U+200B`."""
    return f"U+{ord(character):04X}"


def quoted(text: str) -> str:
    """Return `text` as YAML in quotes, in the form that needs the fewest escapes."""
    text = " ".join(text.split())
    if "\\" not in text and '"' not in text:
        return f'"{text}"'
    if "'" not in text:
        return f"'{text}'"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def shown(text: str, most: int = 40) -> str:
    """Return `text` in backticks on one line, its middle left out where it is long."""
    text = " ".join(text.split())
    return f"`{text}`" if len(text) <= most else f"`{text[: most // 2]}…{text[-most // 4 :]}`"


def quote_help(before: str, value: str) -> str:
    """Return the advice to quote `value`, which stands behind `before` on its line."""
    line = f"{before.strip()} {quoted(value)}".strip()
    return f"put it in quotes: `{line}`" if len(line) <= _SHOWN else "put the whole value in quotes"
