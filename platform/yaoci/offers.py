"""What a prompted model may call now, as JSON Schemas: functions whose arguments the user's words hold."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, cast

from .contracts import Function
from .patterns import PatternTimeout, search
from .values import Json

LONGEST: Final = 240
"""Characters of a text that a model makes up, at most: a small one that goes on longer has lost its way."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9_\-./@+:#]+")
_WORD: Final = re.compile(r"[\w\-./@+:#]+")
_EDGES: Final = ".-/:#+"
_HAN: Final = re.compile(r"[\u3400-\u9fff]+")
_COMMON: Final = re.compile(
    r"the|for|and|you|what|how|has|have|can|tell|please|your|with|its|that|this|will|are|was"
)
_BEYOND: Final = re.compile(r"\(\?(?!:)|\\[1-9kpPbB]")
"""What a constraint's regular expressions cannot say; such a pattern is left to the check of the arguments."""

_STYLE: Final[Mapping[str, Json]] = {
    "whitespace_flexible": False, "item_separator": ", ", "key_separator": ": ",
    "lenient": True, "coerce_one_of": True,
}  # fmt: skip
"""How llguidance shall write: as the examples do; keywords it does not know only loosen the constraint."""


class Call(NamedTuple):
    """A call that was made, and in which turn of the conversation."""

    turn: int
    name: str
    args: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was said and called so far."""

    texts: Sequence[str] = ()
    """What the user said, the last first."""
    calls: Sequence[Call] = ()

    @property
    def turn(self) -> int:
        """The number of the turn that goes on."""
        return len(self.texts)

    @property
    def made(self) -> Sequence[Call]:
        """The calls of the turn that goes on."""
        return [call for call in self.calls if call.turn == self.turn]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What may be called."""

    shown: Sequence[Function]
    """The functions whose examples are to be shown, the most relevant last."""
    branches: Sequence[Json]
    """One schema for each call that can be made now."""
    due: bool
    """True if the user's last words hold all that a function which only reads has to know."""


class _Found(NamedTuple):
    values: tuple[str, ...]
    new: bool
    """True if the values stand in the last thing the user said."""


_Grounds: TypeAlias = Mapping[str, _Found]


def offer(functions: Sequence[Function], said: Said, choice: Json, defs: dict[str, Json]) -> Offer:
    """Return what of `functions` may be called; what the schemas refer to is put into `defs`.

    `choice` is `none`, a function's id, or anything else for all of them.
    """
    grounds = {f.id: found for f in functions if (found := _ground(f, said.texts)) is not None}
    shown = _ranked([f for f in functions if f.id in grounds], said.texts[0] if said.texts else "", grounds)
    chosen = [] if choice == "none" else [f for f in shown if f.id == choice] or shown
    branches: list[Json] = []
    for function in chosen:
        calls = [call for call in said.calls if call.name == function.id]
        left = _left(grounds[function.id], calls, said.turn)
        over = not properties(function.parameters) and any(call.turn == said.turn for call in calls)
        if left is not None and not over:
            branches.append(_branch(function, left, defs))
    due = any(_due(function, grounds[function.id]) for function in chosen)
    return Offer(shown=[] if choice == "none" else shown, branches=branches, due=due)


# -- what the user's words hold ---------------------------------------------------------------------


def grounded(text: str, pattern: str) -> tuple[str, ...]:
    """Return the pieces of `text` that `pattern` fits, as written or in upper or lower case."""
    try:
        return _pieces(_TOKEN, text, pattern) or _pieces(_WORD, text, pattern)
    except (PatternTimeout, re.error):  # a pattern that nobody can judge finds nothing; `check` speaks of it
        return ()


def _pieces(tokens: re.Pattern[str], text: str, pattern: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for token in tokens.findall(text):
        bare = token.strip(_EDGES)
        for candidate in (token, bare, bare.upper(), bare.lower()):
            if candidate and search(pattern, candidate):
                found[candidate] = None
                break
    return tuple(found)


def properties(schema: Json) -> Mapping[str, Json]:
    """Return the properties of an object's schema."""
    return _mapping(_mapping(schema).get("properties"))


def _mapping(value: Json) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", value) if isinstance(value, Mapping) else {}


def _patterns(function: Function) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in properties(function.parameters).items():
        schema = _mapping(value)
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and "enum" not in schema:
            found[name] = pattern
    return found


def _ground(function: Function, texts: Sequence[str]) -> _Grounds | None:
    """Return what each parameter with a pattern may be, by the last text that holds any; None: no call."""
    grounds: dict[str, _Found] = {}
    for name, pattern in _patterns(function).items():
        for age, text in enumerate(texts):
            if values := grounded(text, pattern):
                grounds[name] = _Found(values, age == 0)
                break
        else:
            if name in function.parameters.get("required", ()):
                return None
    return grounds


def _due(function: Function, grounds: _Grounds) -> bool:
    needed = [found for name, found in grounds.items() if name in function.parameters.get("required", ())]
    return function.effect == "read" and bool(needed) and all(found.new for found in needed)


def _left(grounds: _Grounds, calls: Sequence[Call], turn: int) -> dict[str, list[str]] | None:
    """Return the values still to be called with; None when there are none left.

    A value that the user said again may be asked for again; one from earlier may not. Where
    several parameters have a pattern, a repeat shows only once the call is made.
    """
    left: dict[str, list[str]] = {}
    for name, found in grounds.items():
        used = [call.args.get(name) for call in calls if call.turn == turn or not found.new]
        left[name] = [value for value in found.values if value not in used]
    if left and not any(left.values()):
        return None
    return left if len(left) == 1 else {name: list(found.values) for name, found in grounds.items()}


def _words(text: str) -> set[str]:
    lowered = text.lower()
    words = {word for word in re.findall(r"[a-z]{3,}", lowered) if not _COMMON.fullmatch(word)}
    return words | {run[i : i + 2] for run in _HAN.findall(lowered) for i in range(len(run) - 1)}


def _ranked(functions: Sequence[Function], text: str, grounds: Mapping[str, _Grounds]) -> list[Function]:
    """Return the functions with the most relevant to `text` last."""
    words = _words(text)

    def score(function: Function) -> tuple[int, int]:
        about = (function.description, function.id.replace("_", " "), *(e.ask for e in function.examples))
        return sum(found.new for found in grounds[function.id].values()), len(words & _words(" ".join(about)))

    return sorted(functions, key=score)


# -- schemas to constrain with ----------------------------------------------------------------------

_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_IN_LIST: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE: Final = frozenset(
    {"items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"}
)
_UNIONS: Final = frozenset({"anyOf", "oneOf", "allOf", "$ref"})
_ENDS: Final = frozenset({"maxLength", "enum", "const", "format", "pattern"})


def _branch(function: Function, left: Mapping[str, list[str]], defs: dict[str, Json]) -> Json:
    arguments = constraint(function.parameters, function.id, defs)
    parts = dict(properties(arguments))
    for name in _patterns(function):
        if name in left:
            parts[name] = {"enum": left[name]}
        else:
            del parts[name]  # optional, and nothing that the user wrote fits: it would be made up
    return {
        "type": "object",
        "properties": {"tool": {"const": function.id}, "arguments": closed(arguments, parts)},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def closed(schema: Mapping[str, Json], parts: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return an object's schema with the properties `parts`, nothing beside them, and no text without an end."""
    if not parts and schema.keys() & _UNIONS:
        return schema
    bounded = {
        name: {**part, "maxLength": LONGEST} if _endless(part) else part for name, part in parts.items()
    }
    return {**schema, "properties": bounded, "additionalProperties": False}


def _endless(value: Json) -> bool:
    schema = _mapping(value)
    return schema.get("type") == "string" and not schema.keys() & _ENDS


def constraint(schema: Json, name: str, defs: dict[str, Json]) -> Mapping[str, Json]:
    """Return `schema` fit to constrain with; what it refers to is put into `defs` under `name`."""
    found = _mapping(_rooted(schema, f"#/$defs/{name}"))
    if '"$ref"' in json.dumps(found):
        defs[name] = found
    return found


def _rooted(schema: Json, root: str) -> Json:
    if not isinstance(schema, Mapping):
        return schema
    out: dict[str, Json] = {}
    for key, value in _mapping(schema).items():
        if key == "pattern" and isinstance(value, str) and _BEYOND.search(value):
            continue
        if key == "$ref" and isinstance(value, str) and value.startswith("#"):
            out[key] = root + value[1:]
        elif key in _BY_NAME:
            out[key] = {name: _rooted(part, root) for name, part in _mapping(value).items()}
        elif key in _IN_LIST and isinstance(value, list | tuple):
            out[key] = [_rooted(part, root) for part in cast("list[Json]", value)]
        else:
            out[key] = _rooted(value, root) if key in _SINGLE else value
    return out


def whole(branches: Sequence[Json], defs: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the schema of an answer that fits one of `branches`."""
    union = branches[0] if len(branches) == 1 else {"anyOf": list(branches)}
    return {**union, **({"$defs": dict(defs)} if defs else {}), "x-guidance": _STYLE}
