"""Decoding: a value and a dataclass walked together, to a definition or to findings.

A definition is a frozen dataclass whose fields are annotated with what may stand there:
`Annotated[str, Doc("…"), Ref("process")]`. A field `return_` is the key `return`. Marks in the
annotations are handed out as nodes while decoding, so that rules see each place they asked for
without a walk of their own.
"""

import functools
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

from .diagnostics import Code, did_you_mean, listed, nearest
from .marks import (
    Between,
    Expression,
    Flat,
    Form,
    Many,
    Nullable,
    Ref,
    Schema,
    Seconds,
    Template,
    Words,
    hints,
    mark_of,
    marks_of,
)
from .values import Json, Path

UNKNOWN_KEY: Final = Code("Y101", "unknown-key", "error", "unknown key")
WRONG_TYPE: Final = Code("Y102", "wrong-type", "error", "wrong type")
MISSING_KEY: Final = Code("Y103", "missing-key", "error", "missing key")
WRONG_VALUE: Final = Code("Y104", "wrong-value", "error", "value not allowed")
ONE_OF: Final = Code("Y105", "one-of", "error", "exactly one of these keys is needed")
NO_TEMPLATE: Final = Code("Y601", "template-not-here", "error", "no template may stand here")

FREE: Final = "x-"
"""What keys at a root begin with that are the user's own, for anchors."""

T = TypeVar("T")


class Node(NamedTuple):
    """A value at a place that carries a mark; for a whole definition the mark is its Form."""

    path: Path
    value: Any
    mark: Any


class Trouble(NamedTuple):
    """Something that does not fit, at a path; `on` tells whether the key or the value is meant."""

    kind: Code
    path: Path
    label: str
    help: str = ""
    on: Literal["key", "value"] = "value"
    quote: bool = False
    """Whether quotes around what is written there would make it right; `help` says so without it."""


Kinds: TypeAlias = Mapping[str, Mapping[str, type]]
"""Open unions: for each name, the dataclasses by their tag."""

_MARKS = (Ref, Template, Expression, Schema)


class Decoded(NamedTuple):
    """What came of decoding: the definition, or None; what did not fit; and the marked places."""

    value: Any
    troubles: list[Trouble]
    nodes: list[Node]


def decode(kind: type[T], value: Json, kinds: Kinds, path: Path = ()) -> Decoded:
    """Decode `value` as a `kind`, reporting everything that does not fit; keys of its root with `x-` are free."""
    state = _State(kinds)
    if isinstance(value, dict):
        value = {
            key: part for key, part in cast("dict[str, Json]", value).items() if not key.startswith(FREE)
        }
    result = _decoder(cast("Any", kind))(state, value, path)
    return Decoded(None if result is _BAD else result, state.troubles, state.nodes)


class _State:
    __slots__ = ("kinds", "nodes", "troubles")

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.troubles: list[Trouble] = []
        self.nodes: list[Node] = []

    def bad(
        self, kind: Code, path: Path, label: str, help: str = "", on: Literal["key", "value"] = "value"
    ) -> Any:
        self.troubles.append(Trouble(kind, path, label, help, on))
        return _BAD

    def wrong(self, path: Path, wanted: str, value: Json, help: str = "", *, quote: bool = False) -> Any:
        """Report a value of another type than is wanted; with `quote`, one that was meant as a text."""
        if value is None:
            return self.bad(
                WRONG_TYPE, path, f"{wanted}, and nothing stands here", "fill it in, or leave the key out"
            )
        help = "put it in quotes" if quote else help
        self.troubles.append(Trouble(WRONG_TYPE, path, f"{wanted}, not {words(value)}", help, quote=quote))
        return _BAD


_BAD: Final = object()
_Decoder: TypeAlias = Callable[[_State, Json, Path], Any]

_TYPE_WORDS: Final[dict[type, str]] = {
    str: "text", bool: "true or false", int: "a whole number", float: "a number", dict: "a mapping",
    list: "a list", type(None): "nothing",
}  # fmt: skip


def words(value: Json) -> str:
    """Return what kind of value `value` is, in words."""
    kind: type = value.__class__
    return _TYPE_WORDS.get(kind, kind.__name__)


# -- decoders -------------------------------------------------------------------------------------------


@functools.cache
def _decoder(annotation: Any) -> _Decoder:
    marks: tuple[Any, ...] = ()
    if get_origin(annotation) is Annotated:
        annotation, *rest = get_args(annotation)
        marks = tuple(rest)
    inner = _plain(annotation, marks)
    told = tuple(mark for mark in marks if isinstance(mark, _MARKS))
    if not told:
        return inner

    def marked(state: _State, value: Json, path: Path) -> Any:
        result = inner(state, value, path)
        if result is not _BAD and result is not None:
            state.nodes.extend(Node(path, result, mark) for mark in told)
        return result

    return marked


def _plain(annotation: Any, marks: tuple[Any, ...]) -> _Decoder:
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0], (*marks, *marks_of(annotation)))
    if mark_of(marks, Nullable) is not None:
        rest = _plain(annotation, tuple(mark for mark in marks if not isinstance(mark, Nullable)))
        return lambda state, value, path: None if value is None else rest(state, value, path)
    origin, args = get_origin(annotation), get_args(annotation)
    if mark_of(marks, Seconds) is not None:
        return _seconds
    if annotation is Any or mark_of(marks, Expression) is not None:
        return _json
    if origin is Literal:
        return functools.partial(_literal, args)
    if origin is tuple:
        item = _decoder(args[0])
        many = mark_of(marks, Many) is not None
        return functools.partial(_list, item, many)
    if origin in (Mapping, dict):
        # the values of a mapping of templates may hold templates too, and are no nodes of their own
        item = _plain(args[1], marks) if holds_templates(args[1], marks) else _decoder(args[1])
        return functools.partial(_mapping, _decoder(args[0]), item)
    if origin in (Union, types.UnionType):
        return _union(tuple(arg for arg in args if arg is not type(None)), marks)
    if is_dataclass(annotation):
        return functools.partial(_member, cast("type", annotation))
    if annotation is str:
        pattern = mark_of(marks, Words)
        if pattern is not None and pattern.variable:
            return functools.partial(_variable, pattern)
        return functools.partial(_text, mark_of(marks, Template) is not None, pattern)
    if annotation in (int, float):
        return functools.partial(_number, annotation, mark_of(marks, Between))
    if annotation is bool:
        return _bool
    raise TypeError(f"spec cannot decode {annotation!r}: this is a bug in yaoci")


def holds_templates(annotation: Any, marks: tuple[Any, ...]) -> bool:
    """Return whether what an annotation with `marks` stands for is a text that may be a template."""
    return annotation is str and mark_of(marks, Template) is not None


def _json(state: _State, value: Json, path: Path) -> Any:  # noqa: ARG001 - the signature of a decoder
    return value


def _bool(state: _State, value: Json, path: Path) -> Any:
    if isinstance(value, bool):
        return value
    hint = ""
    if isinstance(value, str) and value.lower() in {"yes", "on", "no", "off"}:
        hint = f"write `{'true' if value.lower() in {'yes', 'on'} else 'false'}`"
    return state.wrong(path, "this wants true or false", value, hint)


def _text(templates: bool, pattern: Words | None, state: _State, value: Json, path: Path) -> Any:
    if not isinstance(value, str):
        return state.wrong(path, "this wants text", value, quote=isinstance(value, int | float))
    if not templates and "{{" in value:
        return state.bad(
            NO_TEMPLATE, path, "this text is taken as it is, `{{` too",
            "templates stand in prompts, handler bodies, `args`, `input`, `set`, `send` and `return`",
        )  # fmt: skip
    if pattern is not None and not re.fullmatch(pattern.pattern, value):
        return state.bad(WRONG_VALUE, path, f"`{value}` does not fit", pattern.what)
    return value


_MEANT: Final = re.compile(r"\$\{?(\w+)\}?|\{\{\s*(?:env\.)?(\w+)\s*\}\}|env\.(\w+)")
"""How people write a variable elsewhere: `$NAME`, `${NAME}`, `{{ env.NAME }}`."""


def _variable(words: Words, state: _State, value: Json, path: Path) -> Any:
    if not isinstance(value, str):
        return state.wrong(path, "this wants the name of an environment variable", value)
    if re.fullmatch(words.pattern, value):
        return value
    meant = _MEANT.fullmatch(value.strip())
    if meant and re.fullmatch(words.pattern, name := meant[1] or meant[2] or meant[3]):
        return state.bad(WRONG_VALUE, path, "the name alone stands here", f"write `{name}`")
    label = "this looks like a key itself, or is no variable's name"
    return state.bad(WRONG_VALUE, path, label, words.what)


def _number(kind: type, bounds: Between | None, state: _State, value: Json, path: Path) -> Any:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not isinstance(value, int | float) or (kind is int and not whole):
        if isinstance(value, float):
            return state.bad(WRONG_TYPE, path, f"this wants a whole number, not {value}")
        return state.wrong(path, f"this wants {_TYPE_WORDS[kind]}", value, _bare_number(value))
    if bounds and not bounds.low <= value <= bounds.high:
        return state.bad(
            WRONG_VALUE,
            path,
            f"{_number_shown(value)} is out of range",
            f"from {_number_shown(bounds.low)} to {_number_shown(bounds.high)}",
        )
    return kind(value)


def _number_shown(number: float) -> str:
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:g}"


def _bare_number(value: Json) -> str:
    """Return a help text where the text of a number was written."""
    return (
        f"write {value} without quotes"
        if isinstance(value, str) and re.fullmatch(r"-?[0-9.]+", value)
        else ""
    )


DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_UNIT: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str) -> float | None:
    """Return a duration such as `250ms 10s 2m 24h 7d` as seconds, or None if it is not one."""
    found = DURATION.fullmatch(text)
    return float(found[1]) * _UNIT[found[2]] if found else None


def _seconds(state: _State, value: Json, path: Path) -> Any:
    found = seconds(value) if isinstance(value, str) else None
    if found is None:
        if value is None:
            return state.wrong(path, "this wants a duration", value)
        help = "such as `250ms`, `10s`, `2m`, `24h` or `7d`"
        if not isinstance(value, bool) and re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", str(value)):
            help = f"write `{value}s`"
        return state.bad(WRONG_VALUE, path, "this wants a duration", help)
    return found


def _literal(choices: tuple[Json, ...], state: _State, value: Json, path: Path) -> Any:
    for choice in choices:
        if value == choice and isinstance(value, bool) is isinstance(choice, bool):
            return choice
    shown = f"`{value}`" if isinstance(value, str | int) else words(value)
    if all(isinstance(choice, int) for choice in choices):  # the only numbers to choose from are versions
        return state.bad(
            WRONG_VALUE,
            path,
            f"{shown} is not known",
            f"this yaoci knows version {listed(map(str, choices))}",
        )
    names = [str(choice) for choice in choices]
    hint = did_you_mean(value, names, few=0) if isinstance(value, str) else ""
    return state.bad(WRONG_VALUE, path, f"{shown} is not one of {listed(names, 'or')}", hint)


def _list(item: _Decoder, many: bool, state: _State, value: Json, path: Path) -> Any:
    if not isinstance(value, list):
        if not many:
            return state.wrong(path, "this wants a list", value, _as_item(item, value, path))
        one = item(state, value, path)
        return _BAD if one is _BAD else (one,)
    parts: list[Json] = cast("Json", value)
    decoded = [item(state, part, (*path, index)) for index, part in enumerate(parts)]
    # without the bad ones, the others would stand at other places than in the file
    return _BAD if any(part is _BAD for part in decoded) else tuple(decoded)


def _as_item(item: _Decoder, value: Json, path: Path) -> str:
    """Return what to do where the only item of a list stands without its dash, or without what it is."""
    if isinstance(value, str) and (dashed := re.fullmatch(r"-([^\s-]\S*)", value)):
        return f"a space is missing after the dash: `- {dashed[1]}`"
    alone = _State({})
    if isinstance(value, str) and item(alone, value, (*path, 0)) is _BAD and alone.troubles[0].help:
        return alone.troubles[0].help
    return "put `- ` before each item"


def _mapping(key: _Decoder, item: _Decoder, state: _State, value: Json, path: Path) -> Any:
    if not isinstance(value, dict):
        return state.wrong(path, "this wants a mapping", value)
    out: dict[str, Any] = {}
    for name, part in cast("dict[str, Json]", value).items():
        here = (*path, name)
        before = len(state.troubles)
        good = key(state, name, here) is not _BAD
        state.troubles[before:] = [trouble._replace(on="key") for trouble in state.troubles[before:]]
        found = item(state, part, here)
        if good and found is not _BAD:
            out[name] = found
    return out


def _union(members: tuple[Any, ...], marks: tuple[Any, ...]) -> _Decoder:
    if len(members) == 1:
        return _plain(members[0], marks)
    if any(is_dataclass(member) for member in members):
        return functools.partial(_tagged, members)
    decoders = {_written_as(member): _plain(member, marks) for member in members}

    def by_type(state: _State, value: Json, path: Path) -> Any:
        decoder = decoders.get(value.__class__)
        if decoder is not None:
            return decoder(state, value, path)
        names = " or ".join(_TYPE_WORDS[kind] for kind in decoders)
        quote = isinstance(value, int | float) and str in decoders
        return state.wrong(path, f"this wants {names}", value, quote=quote)

    return by_type


def _written_as(annotation: Any) -> type:
    """Return the type of the plain value that is written for an annotation."""
    base = get_origin(annotation) or annotation
    if base is tuple:
        return list
    return dict if base is Mapping else cast("type", base)


def _tagged(members: tuple[type, ...], state: _State, value: Json, path: Path) -> Any:
    if isinstance(value, str):
        for member in members:
            if member.form.short:  # type: ignore[attr-defined]
                return _record(member)(state, value, path)
    if not isinstance(value, dict):
        dash = "- " if path and isinstance(path[-1], int) else ""
        help = f'write `{dash}{members[0].form.tag}: "…"`' if isinstance(value, str) else ""  # type: ignore[attr-defined]
        return state.wrong(path, "this wants a mapping", value, help)
    chosen = _choose({member.form.tag: member for member in members}, state, value, path)  # type: ignore[attr-defined]
    return _BAD if chosen is None else _record(chosen)(state, value, path)


def _choose(
    members: Mapping[str, type],
    state: _State,
    value: Mapping[str, Json],
    path: Path,
    known: Sequence[str] = (),
) -> type | None:
    """Return the member whose tag is among the keys; None, and one finding, where none or several are."""
    found = [key for key in value if key in members]
    if len(found) == 1:
        return members[found[0]]
    if found:
        state.bad(
            ONE_OF, (*path, found[1]), f"{listed(found)} cannot stand together", "keep one of them", "key"
        )
        return None
    for key in value:
        if key not in known and (near := did_you_mean(key, members, few=0)):
            state.bad(UNKNOWN_KEY, (*path, key), f"`{key}` is no key here", near, "key")
            return None
    state.bad(ONE_OF, path, "what it does is missing", f"add {listed(members, 'or')}")
    return None


class _Field(NamedTuple):
    key: str
    name: str
    decode: _Decoder
    required: bool


def _member(kind: type, state: _State, value: Json, path: Path) -> Any:
    """Decode a dataclass within another; its decoder is made when it is needed, since a class may hold itself."""
    return _record(kind)(state, value, path)


@functools.cache
def _record(kind: type) -> _Decoder:
    plain: dict[str, _Field] = {}
    flat: tuple[str, Any, Flat] | None = None
    for f in fields(kind):
        annotation = hints(kind)[f.name]
        if mark := mark_of(marks_of(annotation), Flat):
            flat = (f.name, get_args(annotation)[0], mark)
            continue
        required = f.default is MISSING and f.default_factory is MISSING
        plain[f.name.rstrip("_")] = _Field(f.name.rstrip("_"), f.name, _decoder(annotation), required)
    return functools.partial(_fill, kind, kind.form, plain, flat)  # type: ignore[attr-defined]


def _fill(
    kind: type, form: Form, plain: Mapping[str, _Field], flat: tuple[str, Any, Flat] | None,
    state: _State, value: Json, path: Path,
) -> Any:  # fmt: skip
    if isinstance(value, str) and form.short:
        value, short = {form.short: value}, True
    else:
        short = False
    if not isinstance(value, dict):
        wanted = "text or a mapping" if form.short else "a mapping"
        return state.wrong(path, f"{form.what} is {wanted}", value)
    given = cast("dict[str, Json]", value)
    if form.short and "args" in plain and (key := _named_alone(given, plain)):
        args = "{…}" if isinstance(given[key], dict) else "[…]"
        label = f"`{key}` is no key of {form.what}"
        return state.bad(
            UNKNOWN_KEY, (*path, key), label, f"write `{{{form.short}: {key}, args: {args}}}`", "key"
        )
    found: dict[str, Any] = {}
    good = True
    member: type | None = None
    before = len(state.troubles)
    if flat is not None:
        member = _choose(_members(flat, state), state, given, path, tuple(plain))
        good = member is not None
        if member is not None:
            own = {f.name.rstrip("_") for f in fields(member)}
            part = {key: item for key, item in given.items() if key in own}
            found[flat[0]] = _record(member)(state, part, path)
            good = found[flat[0]] is not _BAD
    inner = {f.name.rstrip("_") for f in fields(member)} if member is not None else set[str]()
    named = {trouble.path for trouble in state.troubles[before:] if trouble.kind is UNKNOWN_KEY}
    meant: set[str | None] = set()
    for key, item in given.items():
        spec = plain.get(key)
        if spec is None:
            if key not in inner and (*path, key) not in named and (flat is None or member is not None):
                known = {*plain, *inner} - given.keys()
                help = _others(flat, state, key, form) or did_you_mean(key, known, few=12)
                meant.add(nearest(key, known))
                state.bad(UNKNOWN_KEY, (*path, key), f"`{key}` is no key of {form.what}", help, "key")
            continue
        result = spec.decode(state, item, path if short else (*path, key))
        if result is not _BAD:
            found[spec.name] = result
        elif spec.required:
            good = False
    for key, spec in plain.items():
        if spec.required and key not in given:
            good = False
            if key not in meant:
                state.bad(MISSING_KEY, path, f"{form.what} needs `{key}`", f"add `{key}: …`")
    if not good:
        return _BAD
    result = kind(**found)
    state.nodes.append(Node(path, result, form))
    return result


def _named_alone(given: Mapping[str, Json], plain: Mapping[str, _Field]) -> str:
    """Return the only key, where it seems to be the name of what is called, and its value the arguments."""
    for key, item in given.items():
        if len(given) == 1 and key not in plain and isinstance(item, dict | list):
            return key
    return ""


def _members(flat: tuple[str, Any, Flat], state: _State) -> Mapping[str, type]:
    _, annotation, mark = flat
    if mark.kinds:
        return state.kinds[mark.kinds]
    return {member.form.tag: member for member in get_args(annotation)}


def _others(flat: tuple[str, Any, Flat] | None, state: _State, key: str, form: Form) -> str:
    if flat is not None and key in _members(flat, state):
        return f"{form.what} does one thing; another one wants its own"
    return ""
