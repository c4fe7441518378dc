"""The events of a YAML parser to one value, read strictly as YAML 1.2 core, with places and problems, in one pass."""

import math
import re
from collections.abc import Callable
from typing import Any, Final

from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from .texts import Problem, Span, Text, Unreadable, quote_help, quoted, shown
from .traps import (
    cut_template_problem,
    odd_key_problem,
    template_problem,
    too_deep_problem,
    valueless_problem,
    wide_colon_problem,
)
from .values import MAX_DEPTH, Json, Path

MAX_NODES: Final = 200_000
"""How many values a file may hold, those that aliases stand for included."""

MAX_ALIAS_NODES: Final = 10_000
"""How many values the aliases of a file may stand for; 800 characters of text count as one more."""

FIRST_LINE: Final = "begin with a line such as `name: …`"
"""The advice where there is no mapping to read."""

_MAX_DIGITS = 3_000
_MAX_PROBLEMS = 100
_ALIAS_TEXT = 800


Offsets = tuple[int, int, int, int]
"""Where a key begins and ends, and where its value does; in a list the value stands for the key, too."""

# YAML 1.2.2, section 10.3.2
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+").fullmatch
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?").fullmatch
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)").fullmatch
_CONSTANTS: Final[dict[str, bool | None]] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_SPECIAL = frozenset(["", *"~nNtTfF+-.0123456789"])
"""What a plain text that is more than text can begin with."""

_NUMERIC = frozenset("+-.0123456789")
_ODD_NAMES = frozenset(["", "<<"])
_STARTS = (MappingStartEvent, SequenceStartEvent)
_ENDS = (MappingEndEvent, SequenceEndEvent)
_WIDE_KEY = re.compile("[a-z_]+\uff1a").match
_WRITTEN_TAG = re.compile(r"(?:&\S+\s+)?(!\S*)").match

_CORE: Final[dict[str, type]] = {"str": str, "int": int, "float": float, "bool": bool, "null": type(None)}
_TAG = "tag:yaml.org,2002:"
_OPEN = -1
"""The weight of an anchored value that is still being read."""


class Reader:
    """Builds the value from the parser's events, and keeps places and problems."""

    def __init__(self, text: Text) -> None:
        self.places: dict[Path, Offsets] = {}
        self.origins: dict[Path, Path] = {}
        self.problems: list[Problem] = []
        self._text = text
        self._source = text.text
        self._get: Callable[[], Any]
        self._anchors: dict[str, tuple[Json, Path, int]] = {}
        self._nodes = 0
        self._alias_nodes = 0
        self._end = 0  # where the last thing that was read ends

    def document(self, get: Callable[[], Any]) -> Json:
        """Return the value of the one document whose events `get` gives. Raises Unreadable, or a YAMLError."""
        self._get = get
        get()
        event = get()
        kind = event.__class__
        if kind is StreamEndEvent:
            raise self._stopped("empty-file", 0, 0, "nothing is written here", FIRST_LINE)
        if event.version and tuple(event.version) != (1, 2):
            begin = event.start_mark.index
            label = "this asks for YAML {}.{}, but YAML 1.2 is read".format(*event.version)
            self.problem("yaml-version", begin, self._line_end(begin), label, "remove this line")
        event = get()
        first = event.start_mark.index
        kind = event.__class__
        if kind is ScalarEvent and first == event.end_mark.index:
            raise self._stopped("empty-file", 0, 0, "the document is empty", FIRST_LINE)
        value = self._value(event, (), 0)
        self.places[()] = (first, self._end, first, self._end)
        get()
        event = get()
        if event.__class__ is not StreamEndEvent:
            begin = event.start_mark.index
            label = "a second document begins here"
            self.problem("several-documents", begin, self._line_end(begin), label, "keep one in each file")
        return value

    def problem(
        self, slug: str, begin: int, end: int, label: str, help_: str = "", *related: tuple[str, Span]
    ) -> None:
        """Note a problem of a known kind and go on."""
        self.note(self._text.problem(slug, begin, end, label, help_, related=related))

    def note(self, problem: Problem) -> None:
        """Note a problem and go on; a file with a hundred of them is left."""
        self.problems.append(problem)
        if len(self.problems) >= _MAX_PROBLEMS:
            raise Unreadable(tuple(self.problems))

    def _stopped(self, slug: str, begin: int, end: int, label: str, help_: str) -> Unreadable:
        return Unreadable((*self.problems, self._text.problem(slug, begin, end, label, help_)))

    def _line_end(self, offset: int) -> int:
        return self._text.bounds(self._text.line(offset))[1]

    # -- mappings and lists

    def _value(self, event: Any, path: Path, depth: int) -> Json:
        kind = event.__class__
        if kind is ScalarEvent:
            self._end = event.end_mark.index
            if event.tag is not None or event.anchor is not None:
                return self._marked(event, path)
            text = event.value
            if event.implicit[0] and (text[:1] in _SPECIAL or "{" in text or "\uff1a" in text):
                return self._plain(event)
            return text
        if kind is AliasEvent:
            self._end = event.end_mark.index
            return self._alias(event, path)
        if depth >= MAX_DEPTH:
            raise self._too_deep(event)
        read = self._mapping if kind is MappingStartEvent else self._sequence
        if event.anchor is None and event.tag is None:
            return read(event, path, depth + 1)
        return self._anchored(event, path, depth, read)

    def _anchored(self, event: Any, path: Path, depth: int, read: Callable[[Any, Path, int], Json]) -> Json:
        mapping = event.__class__ is MappingStartEvent
        if event.tag not in (None, "!", _TAG + ("map" if mapping else "seq")):
            self._wrong_tag(event, "a mapping" if mapping else "a list")
        anchor, begin, before = event.anchor, event.start_mark.index, self._nodes
        being_read = (begin, path, _OPEN)
        if anchor is not None:
            self._anchors[anchor] = being_read
        value = read(event, path, depth + 1)
        if anchor is not None and self._anchors[anchor] is being_read:
            weight = 1 + self._nodes - before + (self._end - begin) // _ALIAS_TEXT
            self._anchors[anchor] = (value, path, weight)
        return value

    def _sequence(self, _: Any, path: Path, depth: int) -> list[Json]:
        get, places = self._get, self.places
        out: list[Json] = []
        while (event := get()).__class__ is not SequenceEndEvent:
            at = (*path, len(out))
            first = event.start_mark.index
            out.append(self._value(event, at, depth))
            if first < self._end:
                places[at] = (first, self._end, first, self._end)
            else:  # nothing behind a dash
                places[at] = (first - 1, first, first, first)
            if len(out) > MAX_NODES:
                break
        self._closed(event, len(out))
        return out

    def _mapping(self, opened: Any, path: Path, depth: int) -> dict[str, Json]:
        get, places = self._get, self.places
        flow = opened.flow_style
        out: dict[str, Json] = {}
        merged: dict[str, tuple[Json, Path]] = {}
        while True:
            key = get()
            kind = key.__class__
            if kind is not ScalarEvent:
                if kind is MappingEndEvent:
                    break
                self._odd_key(key)
                continue
            name = key.value
            event = get()
            first = event.start_mark.index
            if (
                name in out
                or name in _ODD_NAMES
                or not name.isascii()
                or key.tag is not None
                or key.anchor is not None
                or (flow and first == event.end_mark.index)
            ) and self._unusual(key, event, path, depth, flow=flow, out=out, merged=merged):
                continue
            at = (*path, name)
            out[name] = self._value(event, at, depth)
            places[at] = (key.start_mark.index, key.end_mark.index, first, self._end)
            if len(out) > MAX_NODES:
                break
        self._closed(key, len(out))
        return self._with_merged(out, merged, path) if merged else out

    def _closed(self, event: Any, size: int) -> None:
        end = event.end_mark.index
        if event.start_mark.index < end:  # a bracket; a block ends where its last part does
            self._end = end
        self._nodes += size
        if self._nodes > MAX_NODES:
            label = f"the file holds more than {MAX_NODES:,} values"
            raise self._stopped("too-many-values", end, end, label, "keep data in files of other kinds")

    def _too_deep(self, event: Any) -> Unreadable:
        return Unreadable((*self.problems, too_deep_problem(self._text, event.start_mark.index)))

    # -- keys

    def _unusual(
        self,
        key: Any,
        event: Any,
        path: Path,
        depth: int,
        *,
        flow: bool,
        out: dict[str, Json],
        merged: dict[str, tuple[Json, Path]],
    ) -> bool:
        """Read an entry that is no ordinary one, and return True; or return False if it is one after all."""
        name, begin, end = key.value, key.start_mark.index, key.end_mark.index
        if key.tag is not None and not (key.tag == "!" or key.tag.removeprefix(_TAG) in _CORE):
            self._wrong_tag(key, "a key")
        if key.anchor is not None:
            self._anchors[key.anchor] = (name, (*path, name), 1 + len(name) // _ALIAS_TEXT)
        if name == "<<" and key.implicit[0]:
            self._merge(key, event, path, depth, merged)
            return True
        first = event.start_mark.index
        if flow and first == event.end_mark.index and not self._source[end:first].lstrip().startswith(":"):
            last = self.problems[-1] if self.problems else None
            if not (last and last.slug == "valueless-entry" and last.span.line == self._text.line(begin)):
                self.note(valueless_problem(self._text, begin, end))  # else it is the next comma of that text
            return True
        if begin == end:
            self.problem(
                "empty-key",
                begin,
                begin + 1,
                "no key stands before this `:`",
                "write one, or put a text in quotes",
            )
        elif not name.isascii() and (odd := odd_key_problem(self._text, begin, end, plain=key.implicit[0])):
            self.note(odd)
        elif name in out:
            there = self.places[*path, name]
            written = self._text.span(there[0], there[1])
            label = f"the key {shown(name)} is already there, in line {written.line}"
            self.problem(
                "duplicate-key", begin, end, label, "keep one of them", ("first written here", written)
            )
        else:
            return False
        self._value(event, (*path, -1), depth)  # for its anchors and its problems
        return True

    def _odd_key(self, key: Any) -> None:
        begin, source = key.start_mark.index, self._source
        if key.__class__ is MappingStartEvent and source.startswith("{{", begin - 1):
            self.note(template_problem(self._text, begin - 1))
        elif source.startswith("{{", begin):
            self.note(template_problem(self._text, begin))
        else:
            kind = {MappingStartEvent: "a mapping", AliasEvent: "an alias"}.get(key.__class__, "a list")
            self.problem(
                "key-not-text", begin, begin + 1, f"{kind} stands where a key is needed", "a key is a text"
            )
        self._skip(key)
        self._skip(self._get())

    def _skip(self, event: Any) -> None:
        depth = 0
        while True:
            kind = event.__class__
            depth += (kind in _STARTS) - (kind in _ENDS)
            if depth > MAX_DEPTH:
                raise self._too_deep(event)
            if not depth:
                return
            event = self._get()

    def _merge(
        self, key: Any, event: Any, path: Path, depth: int, merged: dict[str, tuple[Json, Path]]
    ) -> None:
        at = (*path, "<<")
        begin, end, first = key.start_mark.index, key.end_mark.index, event.start_mark.index
        if at in self.places:
            there = self._text.span(*self.places[at][:2])
            help_ = "write one with a list: `<<: [*first, *second]`"
            self.problem(
                "duplicate-key", begin, end, "`<<` is already there", help_, ("first written here", there)
            )
            at = (*path, -1)
        value = self._value(event, at, depth)
        self.places[at] = (begin, end, first, self._end)
        many = value.__class__ is list
        items: list[Json] = value if many else [value]
        for index, item in enumerate(items):
            if item.__class__ is not dict:
                label = "what stands behind `<<` is neither a mapping nor a list of mappings"
                self.problem(
                    "merge-not-mapping", begin, end, label, "name the anchor of a mapping: `<<: *name`"
                )
                return
            place = (*at, index) if many else at
            for name, part in item.items():
                merged.setdefault(name, (part, (*place, name)))

    def _with_merged(
        self, out: dict[str, Json], merged: dict[str, tuple[Json, Path]], path: Path
    ) -> dict[str, Json]:
        for name, (_, place) in merged.items():
            if name not in out:
                self.origins[*path, name] = place
        return {name: part for name, (part, _) in merged.items()} | out

    # -- scalars and aliases

    def _plain(self, event: Any) -> Json:
        """Return what a plain text is by the core schema of YAML 1.2."""
        text = event.value
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        begin, end = event.start_mark.index, event.end_mark.index
        if text[0] in _NUMERIC:
            if _INT(text):
                if len(text) <= _MAX_DIGITS:
                    return int(text, 0) if text[1:2] in ("x", "o") else int(text)
                label = f"this number has {len(text):,} digits"
                self.problem("long-number", begin, end, label, "put it in quotes if it is a text")
                return {}
            number = float(text) if _FLOAT(text) else None
            if number is not None and math.isfinite(number):
                return number
            if number is not None or _NOT_FINITE(text):
                label = f"{shown(text)} is no number that JSON can hold"
                self.problem(
                    "not-finite", begin, end, label, f"if it is a text, put it in quotes: `{quoted(text)}`"
                )
                return {}
        if "{" in text:
            if cut := cut_template_problem(self._text, text, begin, end):
                self.note(cut)
        elif "\uff1a" in text and _WIDE_KEY(text):
            line, stop = self._text.bounds(self._text.line(begin))
            problem = wide_colon_problem(self._text, line, stop)
            if problem and not self._source[line:begin].strip():
                self.note(problem)
        return text

    def _marked(self, event: Any, path: Path) -> Json:
        """Return a scalar with a tag or an anchor."""
        tag, text = event.tag, event.value
        if tag is None:
            value = self._plain(event) if event.implicit[0] else text
        elif tag in ("!", _TAG + "str"):
            value = text
        else:
            value = self._tagged(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, path, 1 + len(text) // _ALIAS_TEXT)
        return value

    def _tagged(self, event: Any) -> Json:
        kind = _CORE.get(event.tag.removeprefix(_TAG))
        if kind is None or not event.tag.startswith(_TAG):
            self._wrong_tag(event, "a text")
            return {}
        value = self._plain(event)
        if kind is float and value.__class__ is int:
            return float(value)
        if value.__class__ is not kind and value != {}:
            self._wrong_tag(event, shown(event.value))
            return {}
        return value

    def _wrong_tag(self, event: Any, what: str) -> None:
        begin = event.start_mark.index
        found = _WRITTEN_TAG(self._source, begin)
        begin, end = found.span(1) if found else (begin, begin + 1)
        written = self._source[begin:end]
        if event.tag.removeprefix(_TAG) in (*_CORE, "map", "seq"):
            self.problem(
                "tag-misfit", begin, end, f"the tag {shown(written)} does not fit {what}", "leave the tag out"
            )
        else:
            help_ = "leave it out, or put a text that begins with `!` in quotes"
            self.problem("unknown-tag", begin, end, f"{shown(written)} is no tag that can be read", help_)

    def _alias(self, event: Any, path: Path) -> Json:
        name, begin, end = event.anchor, event.start_mark.index, event.end_mark.index
        value, origin, weight = self._anchors.get(name, (None, (), 0))
        if not weight:
            line = self._text.bounds(self._text.line(begin))[0]
            help_ = f"if it is text, {quote_help(self._source[line:begin], '*' + name)}"
            self.problem("unknown-alias", begin, end, f"no anchor `&{name}` stands before this", help_)
            return {}
        if weight == _OPEN:
            there = self._text.span(value, value + len(name) + 1)
            label = f"`*{name}` stands inside the value that `&{name}` names"
            help_ = "a value cannot hold itself"
            self.problem("recursive-alias", begin, end, label, help_, ("the anchor stands here", there))
            return {}
        self._nodes += weight
        self._alias_nodes += weight
        if self._alias_nodes > MAX_ALIAS_NODES:
            label = f"the aliases up to here stand for more than {MAX_ALIAS_NODES:,} values"
            raise self._stopped(
                "alias-expansion", begin, end, label, "write the values out, or use fewer aliases"
            )
        self.origins[path] = origin
        return value
