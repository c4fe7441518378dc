"""What a template may do: its values as JSON and as text, operators, filters and tests, within limits."""

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, wraps
from typing import Any, Final, cast

from .values import MAX_DEPTH, Json, NotJsonError, as_text, canonical, compact

MAX_TEXT: Final = 1024 * 1024
"""How long a rendered text may be, in bytes of UTF-8; also the longest text or list an operator may make."""

MAX_RANGE: Final = 10_000
"""How many numbers `range` may give, and how large a width or count given to a filter may be."""

MAX_ROUNDS: Final = 100_000
"""How many rounds all loops of one rendering may take together."""

MAX_BITS: Final = 14_000
"""How large a whole number may become; Python writes larger ones in no decimal text."""

ROUNDS: Final = " rounds"
"""A name that no template can say: the filter that counts rounds, and the name of the rounds left."""

_FEW = 8


class Refused(Exception):  # noqa: N818 - it never leaves the templates; callers see a RenderError
    """Something that a template may not do, or cannot do with the values it has."""


class Absent(Exception):  # noqa: N818 - as above
    """A name or key that is not there: the value that lacks it, and what it is called."""

    def __init__(self, holder: Any, name: Any) -> None:
        """Take the value that lacks it (jinja2's `missing` for a name at the top) and the name."""
        super().__init__(name)
        self.holder = holder
        self.name = str(name)


def absence(path: Sequence[str], holder: Json) -> str:
    """Return the sentence for a `path` whose last step `holder` does not have."""
    where = ".".join(path[:-1]) or "it"
    around = ""
    if not isinstance(holder, Mapping):
        around = f" ({where} is {kind(holder)})"
    elif not holder:
        around = f" ({where} is empty)" if len(path) > 1 else ""
    elif len(keys := list(cast("Mapping[str, Json]", holder))) <= _FEW:
        around = f" (there are: {', '.join(keys)})"
    return f"{'.'.join(path)} is not there{around}"


_KINDS: Final = {
    "str": "a text", "int": "a number", "float": "a number", "list": "a list", "tuple": "a list", "dict": "a mapping",
}  # fmt: skip


def kind(value: object) -> str:
    """Return what a value is, for messages: `a text`, `a list`, `null`."""
    if value is None or isinstance(value, bool):
        return compact(value)
    name = type(value).__name__
    return _KINDS.get(name, f"a {name}")


# -- values -----------------------------------------------------------------------------------------


def plain(value: Any, depth: int = 0) -> Json:
    """Return `value` as JSON; what filters give piece by piece becomes a list.

    Raises NotJsonError for what is not data, Absent where something in it is not there.
    """
    if value is None or isinstance(value, str | int | float | bytes):
        return canonical(value)
    if depth > MAX_DEPTH:
        raise NotJsonError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {_key(key): plain(item, depth + 1) for key, item in cast("dict[object, Any]", value).items()}
    if isinstance(value, Iterable):  # also what is not there: it raises when it is gone through
        return [plain(item, depth + 1) for item in cast("Iterable[object]", value)]
    raise NotJsonError(f"{kind(value)} is not data")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise NotJsonError(f"the key {key!r} is not text")
    return str(canonical(key))


def text_of(value: Any) -> str:
    """Return `value` as a template writes it: text as it is, null as nothing, the rest as compact JSON."""
    return as_text(plain(value))


def joined(pieces: Iterable[str]) -> str:
    """Return the text that `pieces` make. Raises Refused as soon as it passes MAX_TEXT."""
    out: list[str] = []
    size = 0
    for piece in pieces:
        size += len(piece) if piece.isascii() else len(piece.encode())
        if size > MAX_TEXT:
            raise Refused(f"the text is longer than the limit of {MAX_TEXT:,} bytes")
        out.append(piece)
    return "".join(out)


# -- operators, filters, tests ----------------------------------------------------------------------

FILTERS: Final[dict[str, Callable[[Any], Json]]] = {
    "length": len,
    "lower": lambda value: text_of(value).lower(),
    "string": text_of,
    "tojson": lambda value: compact(plain(value)),
    "trim": lambda value: text_of(value).strip(),
    "upper": lambda value: text_of(value).upper(),
}
"""Filters that need no more than a value; a dotted path with one of them needs no parser."""

_METHODS: Final[dict[type, frozenset[str]]] = {
    str: frozenset({
        "upper", "lower", "title", "capitalize", "casefold", "swapcase", "strip", "lstrip", "rstrip", "split",
        "rsplit", "splitlines", "partition", "rpartition", "startswith", "endswith", "removeprefix", "removesuffix",
        "replace", "find", "rfind", "index", "rindex", "count", "join", "isdigit", "isdecimal", "isnumeric",
        "isalpha", "isalnum", "isspace", "isupper", "islower",
    }),
    list: frozenset({"index", "count"}),
    int: frozenset(),
    float: frozenset(),
    bool: frozenset(),
}  # fmt: skip
"""The methods a template may call: none of them changes a value or takes a width."""

_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "*": operator.mul,
    "**": lambda left, right: left**right,
    "%": operator.mod,
}
"""The operators whose results can be huge; the others are Python's own."""

_WIDE = re.compile(r"%[^%a-zA-Z]*(?:\*|\d{5})")


def _is_huge(sign: str, left: Any, right: Any) -> bool:
    match sign, left, right:
        case "*", int(), int():
            return left.bit_length() + right.bit_length() > MAX_BITS
        case "**", int(), int():
            return left.bit_length() * right > MAX_BITS
        case "*", (str() | list()), int():
            return len(cast("Sequence[Any]", left)) * right > MAX_TEXT
        case "*", int(), (str() | list()):
            return len(cast("Sequence[Any]", right)) * left > MAX_TEXT
        case "+", (str() | list()), (str() | list()):
            return len(cast("Sequence[Any]", left)) + len(cast("Sequence[Any]", right)) > MAX_TEXT
        case "%", str(), _:
            return _WIDE.search(left) is not None
        case _:
            return False


def _operate(sign: str, left: Any, right: Any) -> Any:
    if _is_huge(sign, left, right):
        raise Refused(f"the result of `{sign}` is beyond the limit")
    try:
        return _OPERATORS[sign](left, right)
    except TypeError:
        hint = "; `~` joins anything as text" if sign == "+" else ""
        raise Refused(f"`{sign}` does not go with {kind(left)} and {kind(right)}{hint}") from None


def _bounded(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def bounded(*args: Any, **named: Any) -> Any:
        for size in (*args[1:], *named.values()):
            if isinstance(size, int) and size > MAX_RANGE:
                raise Refused(f"{size:,} is beyond the limit of {MAX_RANGE:,}")
        return call(*args, **named)

    return bounded


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if numbers[MAX_RANGE:]:
        raise Refused(f"`range` gives at most {MAX_RANGE:,} numbers")
    return numbers


def _format(layout: Any, *args: Any, **named: Any) -> Any:
    return _operate("%", text_of(layout), named or args)


def _tojson(value: Any, indent: int | None = None) -> str:
    if indent is None:
        return compact(plain(value))
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=min(indent, 8))


def _trim(value: Any, chars: str | None = None) -> str:
    return text_of(value).strip(chars)


def _items(value: Any) -> list[tuple[str, Json]]:
    if isinstance(value, dict):
        return list(cast("dict[str, Json]", value).items())
    raise Refused(f"`items` takes a mapping, not {kind(plain(value))}")


def _matches(value: Any, pattern: str) -> bool:
    return re.search(pattern, text_of(value)) is not None


def _glob(value: Any, pattern: str) -> bool:
    return fnmatchcase(text_of(value), pattern)


def _environment_class() -> Any:
    from jinja2 import StrictUndefined, Undefined
    from jinja2.runtime import Context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Missing(StrictUndefined):
        @property
        def _undefined_message(self) -> str:
            # Raised from here, because the exception made of a message knows neither holder nor name.
            if hint := self._undefined_hint:
                raise Refused(hint[0].lower() + hint[1:].rstrip("."))
            raise Absent(self._undefined_obj, self._undefined_name)

    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(_OPERATORS)
        concat = staticmethod(joined)

        def __init__(self) -> None:
            super().__init__(undefined=Missing, finalize=text_of, keep_trailing_newline=True)

        def getattr(self, obj: Any, attribute: str) -> Any:
            if obj is None or isinstance(obj, dict | Undefined):
                return self.getitem(obj, attribute)
            allowed = _METHODS.get(type(cast("object", obj)))
            if allowed is not None and attribute not in allowed:
                return self.undefined(obj=obj, name=attribute)
            return super().getattr(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            if isinstance(obj, Undefined):
                return obj  # so that `default` and `is defined` cover a whole path
            try:
                return obj[argument]
            except (TypeError, LookupError):
                return self.undefined(obj=obj, name=argument)

        def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
            return _operate(operator, left, right)

    return Environment


@cache
def environment() -> Any:
    """Return the one jinja2 environment: sandboxed, strict, and where `.name` of a mapping is its key."""
    from jinja2 import pass_context, pass_environment
    from jinja2.filters import make_attrgetter
    from jinja2.utils import Namespace

    @pass_environment
    def join(env: Any, value: Any, d: str = "", attribute: str | int | None = None) -> str:
        items = value if attribute is None else map(make_attrgetter(env, attribute), value)
        return joined(piece for item in items for piece in (d, text_of(item)))[len(d) :]

    @pass_context
    def rounds(context: Any, value: Any) -> Iterator[Any]:
        if not isinstance(value, Iterable):
            raise Refused(f"a loop goes through a list, not {kind(value)}")
        for item in cast("Iterable[object]", value):
            if next(context.parent[ROUNDS], None) is None:
                raise Refused(f"the loops take more than {MAX_ROUNDS:,} rounds")
            yield item

    @pass_environment
    def attr(env: Any, value: Any, name: str) -> Any:
        return env.getattr(value, name)

    env = _environment_class()()
    env.globals = {"range": _range, "dict": dict, "namespace": Namespace, "null": None}
    del env.filters["random"]
    for name in ("batch", "center", "indent", "round", "slice", "truncate", "wordwrap"):
        env.filters[name] = _bounded(env.filters[name])
    env.filters |= {**FILTERS, "count": len, "format": _format, "items": _items, "join": join, ROUNDS: rounds}
    env.filters |= {"attr": attr, "tojson": _tojson, "trim": _trim}
    env.tests |= {"matches": _matches, "glob": _glob, "null": env.tests["none"]}
    return env
