"""YAML text to values and their places: YAML 1.2 core, read strictly, in one pass over the parser's events."""

import codecs
import math
import pathlib
import re
import stat
from collections.abc import Iterator
from typing import Any, Final, Literal

import yaml

from .faults import explain
from .reader import FIRST_LINE, MAX_ALIAS_NODES, MAX_NODES, Offsets, Reader
from .shadow import StandIns, stand_ins, without_tabs
from .stops import open_brackets
from .texts import CODES, Place, Problem, Span, Text, Unreadable, shown
from .traps import not_text, wide_colon_problem
from .values import MAX_DEPTH, Json, Path

__all__ = [
    "CODES",
    "MAX_ALIAS_NODES",
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_NODES",
    "Document",
    "Place",
    "Problem",
    "Span",
    "Unreadable",
    "decoded",
    "read",
    "read_bytes",
    "read_file",
]

_MEGABYTE: Final = 1024 * 1024

MAX_BYTES: Final = 8 * _MEGABYTE
"""How large a YAML file may be."""

_LARGE: Final = "keep long texts in files of their own"

# The loader is used for its events alone. libyaml's composer, unlike its events, ends the process with
# SIGSEGV on 30,000 nested brackets.
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_LITERAL = re.compile(r"(?:[&!]\S*\s+)*\|").match
_ENOUGH = 4  # bytes to tell UTF-16 without a mark from text
_NOWHERE: Offsets = (0, 0, 0, 0)


class Document:
    """A YAML file: its name, its text, its value, and where each part of the value stands."""

    __slots__ = ("_origins", "_places", "_text", "file", "text", "value")

    def __init__(
        self, text: Text, value: Json, places: dict[Path, Offsets], origins: dict[Path, Path]
    ) -> None:
        """Take what was read; `origins` says where the values of aliases and merged keys were written."""
        self.file = text.file
        self.text = text.text
        self.value = value
        self._text = text
        self._places = places
        self._origins = origins

    def span(self, path: Path) -> Span:
        """Return where the value at `path` stands, or that of the nearest part around it that is known.

        A value that is not written (`key:`) stands where its key does.
        """
        begin, end, first, last = self._find(path)
        last = first + len(self.text[first:last].rstrip())
        return self._text.span(first, last) if first < last else self._text.span(begin, end)

    def key_span(self, path: Path) -> Span:
        """Return where the key at `path`, or the list item, stands; else as `span` does."""
        begin, end, first, last = self._find(path)
        return self.span(path) if begin == first and end == last else self._text.span(begin, end)

    def line_of(self, path: Path, offset_line: int) -> Span:
        """Return where line `offset_line`, from 1, of the text at `path` stands.

        This is exact for a block with `|`; any other text is taken as one.
        """
        offsets = self._find(path)
        if self.text[offsets[2] : offsets[2] + 1] == "*" and path in self._origins:
            offsets = self._find(self._origins[path])
        _, _, first, last = offsets
        if not _LITERAL(self.text, first):
            return self.span(path)
        line = self._text.line(first)
        final = self._text.line(first + len(self.text[first:last].rstrip()))
        begin, end = self._text.bounds(min(line + max(offset_line, 1), max(final, line)))
        return self._text.span(begin + len(self.text[begin:end]) - len(self.text[begin:end].lstrip()), end)

    def place(self, path: Path) -> str:
        """Return `file:line` of the key, or the list item, at `path`."""
        return f"{self.file}:{self._text.line(self._find(path)[0])}"

    def _find(self, path: Path) -> Offsets:
        places, origins = self._places, self._origins
        length = len(path)
        while path not in places:  # an origin was read before what it is the origin of, so this ends
            part = path[:length]
            if part in origins:
                path = origins[part] + path[length:]
                length = len(path)
            elif part in places:
                return places[part]
            else:
                length -= 1
        return places[path]


def read(file: str, data: bytes, *, root: Literal["mapping", "any"] = "mapping") -> Document:
    """Return what the bytes of a YAML or JSON file say; `file` is the name to show.

    Raises Unreadable with everything that could be found wrong.
    """
    text = Text(file, decoded(file, data))
    instead = stand_ins(text.text)
    shadow = instead.text if instead else text.text
    reader, value = _parsed(text, shadow)
    if root == "mapping" and not isinstance(value, dict):
        reader.problems.extend(_no_mapping(text, value, reader))
    if instead:
        value = _Restoring(reader, instead).document(value)
    if reader.problems:
        raise Unreadable(tuple(reader.problems))
    return Document(text, value, reader.places, reader.origins)


def read_file(path: pathlib.Path, shown: str) -> Document:
    """Return what the file at `path` says, `shown` being the name to show. Raises Unreadable, and no OSError."""
    return read(shown, read_bytes(path, shown))


def read_bytes(path: pathlib.Path, shown: str, most: int = MAX_BYTES, large: str = _LARGE) -> bytes:
    """Return what a plain file of at most `most` bytes holds; any other is not even opened.

    `large` is what to do about a file that is larger. Raises Unreadable, and no OSError.
    """
    text = Text(shown, "")
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise _unreadable(text, "unreadable-file", f"`{shown}` is a folder", "a file is needed here")
        if not stat.S_ISREG(found.st_mode):
            raise _unreadable(text, "unreadable-file", f"`{shown}` is no plain file")
        if found.st_size > most:
            raise _too_large(text, found.st_size, most, large)
        with path.open("rb") as stream:
            return stream.read(most)  # it may be growing
    except FileNotFoundError:
        if path.is_symlink():
            aim = path.readlink()
            label = f"`{shown}` is a link to `{aim}`, which is not there"
            raise _unreadable(text, "unreadable-file", label) from None
        raise _unreadable(text, "missing-file", f"there is no file `{shown}`") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        why = getattr(error, "strerror", None) or str(error)
        raise _unreadable(text, "unreadable-file", f"`{shown}` cannot be read: {why.lower()}") from None


def _unreadable(text: Text, slug: str, label: str, help_: str = "") -> Unreadable:
    return Unreadable((text.problem(slug, 0, 0, label, help_),))


def _too_large(text: Text, size: int, most: int = MAX_BYTES, help_: str = _LARGE) -> Unreadable:
    megabytes = math.ceil(size / _MEGABYTE * 10) / 10  # up, so that it is more than what is allowed
    label = f"`{text.file}` has {megabytes} MB, {most // _MEGABYTE} are allowed"
    return _unreadable(text, "too-large", label, help_)


# -- bytes to text ----------------------------------------------------------------------------------------


def decoded(file: str, data: bytes) -> str:
    """Return the text of a file, which is UTF-8, without its byte order mark. Raises Unreadable."""
    if len(data) > MAX_BYTES:
        raise _too_large(Text(file, ""), len(data))
    if encoding := _other_encoding(data):
        raise _unreadable(
            Text(file, ""), "not-utf8", f"the file is written in {encoding}", "save it as UTF-8"
        )
    if data.startswith(codecs.BOM_UTF8):
        data = data[3:]
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        good = Text(file, data[: error.start].decode())
        if problem := not_text(good):
            raise Unreadable((problem,)) from None
        at = len(good.text)
        byte = data[error.start]
        cut = error.end == len(data) and "unexpected end" in error.reason
        label = "the file ends within a character" if cut else f"the byte 0x{byte:02X} is no UTF-8 here"
        found = good.problem("not-utf8", at, at, label, "save the file as UTF-8")
        raise Unreadable(
            (found._replace(span=found.span._replace(end_column=found.span.column + 1)),)
        ) from None
    if text.startswith("\ufeff"):
        label = "two byte order marks (U+FEFF) stand at the start of the file"
        raise Unreadable(
            (Text(file, text).problem("two-byte-order-marks", 0, 1, label, "save it as UTF-8 without"),)
        )
    return text


def _other_encoding(data: bytes) -> str:
    for name, mark in (
        ("UTF-32", codecs.BOM_UTF32_LE), ("UTF-32", codecs.BOM_UTF32_BE),
        ("UTF-16", codecs.BOM_UTF16_LE), ("UTF-16", codecs.BOM_UTF16_BE),
    ):  # fmt: skip
        if data.startswith(mark):
            return name
    head = data[:64]
    for first in (0, 1):  # text of one script in UTF-16 has a zero in every other byte
        if len(head) >= _ENOUGH and not any(head[first::2]) and all(head[1 - first :: 2]):
            return "UTF-16"
    return ""


# -- text to values ---------------------------------------------------------------------------------------


def _parsed(text: Text, shadow: str) -> tuple[Reader, Json]:
    while True:
        reader = Reader(text)
        try:
            return reader, reader.document(_PARSER(shadow).get_event)
        except yaml.YAMLError as error:
            without = _without_tabs(shadow, error)
            if without == shadow:
                raise Unreadable(_syntax(text, shadow, error, reader.problems)) from None
            shadow = without


def _without_tabs(shadow: str, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is None or shadow[mark.index : mark.index + 1] != "\t":
        return shadow
    brackets = open_brackets(_PARSER(shadow[: mark.index]).get_token)
    return without_tabs(shadow, brackets[0]) if brackets else shadow


def _syntax(text: Text, shadow: str, error: yaml.YAMLError, problems: list[Problem]) -> tuple[Problem, ...]:
    if problem := not_text(text):
        return (problem,)
    fault = explain(text, error, lambda end: _PARSER(shadow[:end]).get_token)
    others = (
        problem for problem in problems if problem.span.line != fault.span.line
    )  # it explains them, too
    return (*others, fault)


def _no_mapping(text: Text, value: Json, reader: Reader) -> Iterator[Problem]:
    begin, _, _, end = reader.places[()]
    first, stop = text.bounds(text.line(begin))
    span = text.span(begin, min(end, stop))
    if any(problem.span[:3] == span[:3] or problem.slug == "wide-colon" for problem in reader.problems):
        return  # it is the same mistake
    if isinstance(value, str) and (problem := wide_colon_problem(text, first, stop)):
        yield problem
        return
    kind = "a list" if isinstance(value, list) else "one text" if isinstance(value, str) else "one value"
    label = f"the file holds {kind}, where keys with values are needed"
    yield text.problem("root-not-mapping", begin, min(end, stop), label, FIRST_LINE)


class _Restoring:
    """Puts back what stood in for something: into keys, texts, paths and problems."""

    def __init__(self, reader: Reader, stand_ins_: StandIns) -> None:
        self._reader = reader
        self._meant = stand_ins_.restored

    def document(self, value: Json) -> Json:
        """Return `value` as it was meant; the reader's places and problems are set right, too."""
        reader, meant = self._reader, self._meant
        value = self._value(value, ())
        reader.problems[:] = [
            problem._replace(label=meant(problem.label), help=meant(problem.help))
            for problem in reader.problems
        ]
        reader.places = {self._path(path): offsets for path, offsets in reader.places.items()}
        reader.origins = {self._path(path): self._path(origin) for path, origin in reader.origins.items()}
        return value

    def _value(self, value: Json, path: Path) -> Json:
        if isinstance(value, str):
            return self._text(value, path, 2)
        if value.__class__ is list:
            return [self._value(item, (*path, index)) for index, item in enumerate(value)]
        if value.__class__ is not dict:
            return value
        out: dict[str, Json] = {}
        for name, item in value.items():
            at = (*path, name)
            key = self._text(name, at, 0)
            if key in out:
                begin, end, _, _ = self._reader.places.get(at, _NOWHERE)
                self._reader.problem(
                    "duplicate-key", begin, end, f"the key {shown(key)} is already there", "keep one"
                )
            out[key] = self._value(item, at)
        return out

    def _text(self, text: str, path: Path, part: int) -> str:
        meant = self._meant(text)
        half = next((sign for sign in meant if "\ud800" <= sign <= "\udfff"), None)
        if half is not None:
            begin, end = self._reader.places.get(path, _NOWHERE)[part : part + 2]
            label = f"`\\u{ord(half):04x}` is half of a pair of escapes, and no character alone"
            self._reader.problem("half-character", begin, end, label, "write the character itself")
        return meant

    def _path(self, path: Path) -> Path:
        return tuple(self._meant(part) if isinstance(part, str) else part for part in path)
