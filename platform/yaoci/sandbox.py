"""What a template may do: its values as JSON and as text, operators, filters and tests, within limits."""

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from math import isfinite
from time import perf_counter
from typing import Any, Final, cast

from .patterns import PatternTimeout, search
from .values import MAX_DEPTH, Json, NotJsonError, as_text, canonical, compact

MAX_TEXT: Final = 1024 * 1024
"""How long a rendered text may be, in bytes of UTF-8; also the longest text or list an operator may make."""

MAX_RANGE: Final = 10_000
"""How many numbers `range` may give, and how large a width or count given to a filter may be."""

MAX_ROUNDS: Final = 100_000
"""How many rounds all loops of one rendering may take together."""

MAX_BITS: Final = 14_000
"""How large a whole number may become; Python writes larger ones in no decimal text."""

MAX_MADE: Final = 10 * 1024 * 1024
"""How much one rendering may make, in bytes: each of a text, 48 for each value in a list or mapping, 96 for each of these.

What it only goes through, to compare it or search it, counts for a small part of that.
"""

MAX_GLOB: Final = 1_000
"""How long the pattern of `glob` may be."""

MAX_SECONDS: Final = 1.0
"""How long the searches of all `matches` of one rendering may take together."""

BUDGET: Final = " budget"
ROUNDS: Final = " rounds"
READ: Final = " read"
KEY: Final = " key"
SLICE: Final = " slice"
"""Names that no template can say: that of the Budget, and of the filters that watch over what is no filter."""

_FEW = 8
_VALUE = 48
_NEST = 96
_NESTS: Final = (list, tuple, dict)
_SIMPLE: Final = frozenset({int, float, bool, type(None)})


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


def _nests(value: Any) -> bool:
    return isinstance(value, _NESTS)


# -- what a rendering may use -----------------------------------------------------------------------


class Budget:
    """What is left of the limits for one rendering: bytes to make, rounds, and seconds to search."""

    __slots__ = ("left", "rounds", "seconds")

    def __init__(self) -> None:
        """Start with all of it."""
        self.left = MAX_MADE
        self.rounds = MAX_ROUNDS
        self.seconds = MAX_SECONDS

    def take(self, size: int, what: str) -> None:
        """Take `size` bytes for `what`, before it is made. Raises Refused where they are not there."""
        self.left -= size
        if self.left < 0:
            raise Refused(
                f"{what} goes beyond the limit of {MAX_MADE:,} bytes that a template may make in all"
            )

    def read(self, value: Any, what: str, shift: int = 4) -> None:
        """Take for going through all of `value`, at any depth; `2**shift` bytes of text count as one."""
        if isinstance(value, str):
            self.take(len(value) >> shift, what)
        level: list[Any] = [value] if _nests(value) else []
        for _ in range(MAX_DEPTH + 2):  # by levels: a list in which another one stands twice can be endless
            below: list[Any] = []
            for nest in level:
                self.take(32 + 8 * len(nest), what)
                for item in nest.values() if hasattr(nest, "values") else nest:
                    if isinstance(item, str):
                        self.take(len(item) >> shift, what)
                    elif _nests(item):
                        below.append(item)
            if not below:
                return
            level = below
        raise Refused(f"{what} is of a value nested deeper than {MAX_DEPTH} levels")

    def listed(self, items: Iterable[Any], what: str) -> list[Any]:
        """Return `items` as a list, for which it takes one by one."""
        out: list[Any] = []
        for item in items:
            self.take(_VALUE, what)
            out.append(item)
        return out

    def made(self, value: Any, what: str) -> Any:
        """Return what a filter or method has made: plain text, and a list for what comes piece by piece."""
        if isinstance(value, str):
            self.take(len(value), what)
            return str(value)  # marked up text would have other methods
        if isinstance(value, int):
            self.take(value.bit_length() >> 3, what)
        elif _nests(value):
            self.take(_VALUE * len(value), what)
        elif isinstance(value, Iterator):
            return self.listed(cast("Iterable[Any]", value), what)
        return value


# -- values -----------------------------------------------------------------------------------------


def plain(value: Any, budget: Budget, depth: int = 0) -> Json:
    """Return `value` as JSON; what filters give piece by piece becomes a list.

    Raises NotJsonError for what is not data, Absent where something in it is not there,
    Refused where the budget does not suffice.
    """
    if isinstance(value, str | bytes):
        budget.take(len(value), "the result")
        return canonical(value)
    if value is None or isinstance(value, int | float):
        return canonical(value)
    if depth > MAX_DEPTH:
        raise NotJsonError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        pairs = cast("dict[object, Any]", value)
        budget.take(_NEST + _VALUE * len(pairs), "the result")
        return {_key(key): plain(item, budget, depth + 1) for key, item in pairs.items()}
    if isinstance(value, Iterable):  # also what is not there: it raises when it is gone through
        budget.take(_NEST, "the result")
        items = budget.listed(cast("Iterable[object]", value), "the result")
        return [plain(item, budget, depth + 1) for item in items]
    raise NotJsonError(f"{kind(value)} is not data")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise NotJsonError(f"the key {key!r} is not text")
    return str(canonical(key))


def text_of(value: Any, budget: Budget) -> str:
    """Return `value` as a template writes it: text as it is, null as nothing, the rest as compact JSON."""
    return as_text(plain(value, budget))


def _text(value: Json) -> str:
    return as_text(canonical(value))


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


# -- operators and methods ---------------------------------------------------------------------------

_METHODS: Final[dict[type, frozenset[str]]] = {
    str: frozenset({
        "upper", "lower", "title", "capitalize", "casefold", "swapcase", "strip", "lstrip", "rstrip", "split",
        "rsplit", "splitlines", "partition", "rpartition", "startswith", "endswith", "removeprefix", "removesuffix",
        "replace", "find", "rfind", "index", "rindex", "count", "join", "isdigit", "isdecimal", "isnumeric",
        "isalpha", "isalnum", "isspace", "isupper", "islower",
    }),
    tuple: frozenset({"index", "count"}),
    list: frozenset({"index", "count"}),
    int: frozenset(),
    float: frozenset(),
    bool: frozenset(),
}  # fmt: skip
"""The methods a template may call: none of them changes a value or takes a width."""

_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: left / right,
    "//": lambda left, right: left // right,
    "**": lambda left, right: left**right,
    "%": operator.mod,
}


def _size(sign: str, left: Any, right: Any) -> int:
    """Return how many bytes or values an operator makes, before it makes them."""
    match sign, left, right:
        case "*", int(), int():
            return MAX_TEXT * (left.bit_length() + right.bit_length() > MAX_BITS) * 2
        case "**", int(), int():
            return MAX_TEXT * (left.bit_length() * right > MAX_BITS) * 2
        case "*", (str() | list() | tuple()), int():
            return len(cast("Sequence[Any]", left)) * max(right, 0)
        case "*", int(), (str() | list() | tuple()):
            return len(cast("Sequence[Any]", right)) * max(left, 0)
        case "+", (str() | list() | tuple()), (str() | list() | tuple()):
            return len(cast("Sequence[Any]", left)) + len(cast("Sequence[Any]", right))
        case _:
            return 0


def _operate(budget: Budget, sign: str, left: Any, right: Any) -> Any:
    what = f"the result of `{sign}`"
    if sign == "%" and isinstance(left, str):
        return _formatted(budget, left, right)
    if size := _size(sign, left, right):
        if size > MAX_TEXT:
            raise Refused(f"{what} is beyond the limit")
        budget.take(size if isinstance(left, str) or isinstance(right, str) else _VALUE * size, what)
    try:
        result = _OPERATORS[sign](left, right)
    except TypeError:
        hint = "; `~` joins anything as text" if sign == "+" else ""
        raise Refused(f"`{sign}` does not go with {kind(left)} and {kind(right)}{hint}") from None
    except OverflowError:
        raise Refused(f"{what} is a number beyond the limit") from None
    if isinstance(result, int):
        budget.take(result.bit_length() >> 3, what)
    return result


_SPEC = re.compile(r"%(?:\(([^()]*)\))?[-#0 +]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?(.?)", re.DOTALL)
"""A place for a value in a layout, as Python reads it: a name, width, precision and conversion."""


def _formatted(budget: Budget, layout: str, values: Any) -> str:
    """Return `layout % values`, after a bound on its length; lists and mappings in it are JSON."""
    if len(layout) > MAX_RANGE or re.search(r"%\([^()]*\(", layout):
        raise Refused(
            f"a layout with `%` is beyond the limit of {MAX_RANGE:,} characters, or has `(` in a name"
        )
    specs = list(_SPEC.finditer(layout))
    widths = [width for spec in specs for width in spec.group(2, 3) if width]
    if any(width == "*" or len(width) > len(str(MAX_RANGE - 1)) for width in widths):
        raise Refused(f"a width in `{layout[:80]}` is beyond the limit of {MAX_RANGE:,}, or `*`")
    if values.__class__ is dict and any(spec[1] is not None for spec in specs):
        ready: Any = {key: _printable(budget, item) for key, item in values.items()}
        items: list[Any] = list(ready.values())
    else:
        items = list(values) if values.__class__ is tuple else [values]
        ready = tuple(items := [_printable(budget, item) for item in items])
    longest = max((len(item) for item in items if isinstance(item, str)), default=0)
    if any(spec[4] in {"r", "a"} for spec in specs):
        longest *= 10
    longest = max(longest, MAX_BITS // 3 if any(isinstance(item, int | float) for item in items) else 0)
    full = sum(spec[4] != "%" for spec in specs)
    size = len(layout) + sum(map(int, widths)) + (full * longest if full > 1 else longest)
    if size > 4 * MAX_TEXT:  # a bound only: what it makes is a part of that
        raise Refused(f"the result of `%` may be beyond the limit of {4 * MAX_TEXT:,} bytes; `~` joins texts")
    budget.take(size // 4, "the result of `%`")
    try:
        return str(layout % ready)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise Refused(f"`{layout[:80]}` does not go with its values: {error}") from None


def _printable(budget: Budget, value: Any) -> Any:
    return value if isinstance(value, str | int | float | None) else text_of(value, budget)


def _replaced(budget: Budget, text: str, old: str, new: str, count: int) -> str:
    budget.take((len(text) * min(len(old), 100)) >> 5, "`replace`")
    found = text.count(old)
    size = len(text) + (found if count < 0 else min(found, count)) * len(new)
    budget.take(size, "`replace`")
    return text.replace(old, new, count)


def _breaks(text: str) -> int:
    """Return a bound on how many line breaks a text has."""
    return sum(map(text.count, "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"))


_BACKWARDS: Final = frozenset({"strip", "lstrip", "rstrip", "rfind", "rindex", "rsplit", "rpartition"})
"""Methods that may compare each character of a text with each of what they are given."""


def _method(budget: Budget, name: str, call: Callable[..., Any], args: Any, named: Any) -> Any:
    """Call a method of a text, after a bound on what it makes."""
    what, text = f"`{name}`", str(cast("Any", call).__self__)
    budget.read([text, *args, *named.values()], what)
    for arg in (*args, *named.values()):
        if isinstance(arg, str):
            budget.take((len(text) * (len(arg) if name in _BACKWARDS else min(len(arg), 100))) >> 5, what)
    match name, args:
        case "replace", (str() as old, str() as new, *counts):
            count = counts[0] if counts else named.get("count", -1)
            return _replaced(budget, text, old, new, count)
        case "join", (items,):
            pieces = budget.listed(items, what)
            budget.take(sum(len(piece) + len(text) for piece in pieces if isinstance(piece, str)), what)
            args = (pieces,)
        case (("split" | "rsplit"), _):
            sep, most = (*args, None, None)[:2]
            most = named.get("maxsplit", -1 if most is None else most)
            room = budget.left // (2 * _VALUE)
            parts = getattr(text, name)(named.get("sep", sep), room if most < 0 else min(most, room))
            budget.take(_VALUE * len(parts) if len(parts) <= room else MAX_MADE, what)
            return budget.made(parts, what)
        case "splitlines", _:
            budget.take(_VALUE * _breaks(text), what)
        case _:
            pass
    return budget.made(call(*args, **named), what)


# -- filters and tests -------------------------------------------------------------------------------

FILTERS: Final[dict[str, Callable[[Any], Json]]] = {
    "length": len,
    "lower": lambda value: _text(value).lower(),
    "string": _text,
    "tojson": lambda value: compact(canonical(value)),
    "trim": lambda value: _text(value).strip(),
    "upper": lambda value: _text(value).upper(),
}
"""Filters that need no more than a value; a dotted path with one of them needs no parser."""

_LEFT_OUT: Final = ("pprint", "random", "urlize", "wordwrap", "xmlattr")
"""Filters of jinja2's that are not worth their watching over."""

_TEXTS: Final = {
    "capitalize": 2, "center": 1, "e": 6, "escape": 6, "forceescape": 6, "safe": 0, "striptags": 4, "title": 32,
    "truncate": 1, "urlencode": 12, "wordcount": 24,
}  # fmt: skip
"""Filters of a text, and how much more than the text they take."""

_ATTRIBUTES: Final = {
    "sort": 2, "unique": 1, "min": 1, "max": 1, "groupby": 0, "selectattr": 0, "rejectattr": 0, "map": 99,
}  # fmt: skip
"""Filters that look at an attribute of each item, and the place of its name among their arguments."""

_COMPARING: Final = frozenset({"sort", "unique", "min", "max", "groupby"})
_SIZED: Final = frozenset({"batch", "center", "round", "slice", "truncate"})
_LISTING: Final = frozenset({*_ATTRIBUTES, "batch", "list", "reject", "reverse", "select", "slice"})
_CHEAP: Final = frozenset(
    [
        "boolean",
        "callable",
        "defined",
        "escaped",
        "even",
        "false",
        "float",
        "integer",
        "iterable",
        "mapping",
        "none",
        "null",
        "number",
        "odd",
        "sameas",
        "sequence",
        "string",
        "true",
        "undefined",
    ]
)
"""Tests that look at no more than the kind of a value."""


def _prepared(env: Any, budget: Budget, name: str, value: Any, args: Any, named: Any) -> Any:
    """Return the value that a filter of jinja2's is to be given, after a bound on what it makes."""
    what = f"`{name}`"
    budget.read([*args, *named.values()], what)
    if name in _SIZED:
        for size in (*args, *named.values()):
            if isinstance(size, int) and abs(size) > MAX_RANGE:
                raise Refused(f"{size:,} is beyond the limit of {MAX_RANGE:,}")
    if name in _TEXTS:
        before = budget.left
        value = plain(value, budget) if name == "urlencode" else text_of(value, budget)
        budget.take(_TEXTS[name] * (before - budget.left), what)
        if name == "striptags":  # it goes back to the start at each comment
            budget.take(len(value) ** 2 >> 10, what)
    elif name == "dictsort":
        budget.read(value, what, 0)
    elif name in _LISTING:
        value = value if value.__class__ is list else budget.listed(value, what)
        if name in _ATTRIBUTES:
            _watch_items(env, budget, name, value, args, named)
    return value


def _watch_items(env: Any, budget: Budget, name: str, items: list[Any], args: Any, named: Any) -> None:
    """Take for looking up the attribute of each item, and for comparing what is found."""
    from jinja2.filters import make_attrgetter, make_multi_attrgetter

    what, place = f"`{name}`", _ATTRIBUTES[name]
    attribute = named.get("attribute", args[place] if len(args) > place else None)
    if isinstance(attribute, str):
        budget.take(8 * len(attribute) * (len(items) + 1), what)
    if name in _COMPARING:
        get = (make_multi_attrgetter if name == "sort" else make_attrgetter)(env, attribute)
        for item in items:
            found = get(item)
            if name == "unique" and _nests(found):
                raise Refused(f"`unique` compares texts and numbers, not {kind(found)}")
            budget.read(found, what, 0)


def _budget(context: Any) -> Budget:
    budget: Budget = context.parent[BUDGET]
    return budget


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if numbers[MAX_RANGE:]:
        raise Refused(f"`range` gives at most {MAX_RANGE:,} numbers")
    return numbers


def _a_key(value: Any) -> Any:
    if _nests(value):
        raise Refused(f"a key is a text, not {kind(value)}")
    return value


def _dict(context: Any, pairs: Any = (), **named: Any) -> dict[Any, Any]:
    items = cast("Iterable[Any]", pairs.items() if isinstance(pairs, dict) else pairs)
    listed = _budget(context).listed(items, "`dict`")
    return {**{_a_key(key): item for key, item in listed}, **named}


def _tojson(context: Any, value: Any, indent: int | None = None) -> str:
    budget = _budget(context)
    ready = plain(value, budget)
    if indent is None:
        return compact(ready)
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=min(indent, 8))
    return joined(map(str, budget.listed(encoder.iterencode(ready), "`tojson`")))


def _trim(context: Any, value: Any, chars: str | None = None) -> str:
    text = text_of(value, _budget(context))
    return str(_method(_budget(context), "strip", text.strip, (chars,), {}))


def _items(context: Any, value: Any) -> list[tuple[str, Json]]:
    if isinstance(value, dict):
        return _budget(context).listed(cast("dict[str, Json]", value).items(), "`items`")
    raise Refused(f"`items` takes a mapping, not {kind(plain(value, _budget(context)))}")


def _replace(context: Any, value: Any, old: Any, new: Any, count: int | None = None) -> str:
    budget = _budget(context)
    text, before, after = (text_of(part, budget) for part in (value, old, new))
    return _replaced(budget, text, before, after, -1 if count is None else count)


def _format(context: Any, layout: Any, *args: Any, **named: Any) -> str:
    return _formatted(_budget(context), text_of(layout, _budget(context)), named or args)


def _indent(context: Any, value: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    from jinja2.filters import do_indent

    budget = _budget(context)
    text = text_of(value, budget)
    if isinstance(width, int) and width > MAX_RANGE:
        raise Refused(f"{width:,} is beyond the limit of {MAX_RANGE:,}")
    wide = len(width) if isinstance(width, str) else max(width, 0)
    budget.take((_breaks(text) + 2) * (_VALUE + wide), "`indent`")
    return do_indent(text, width, first, blank)


def _is_a(value: Any, wanted: Any) -> bool:
    return isinstance(value, wanted)


def _sum(context: Any, value: Any, attribute: str | int | None = None, start: Any = 0) -> Any:
    from jinja2.filters import make_attrgetter

    budget = _budget(context)
    get = make_attrgetter(context.environment, attribute)
    items = [get(item) for item in budget.listed(value, "`sum`")]
    wanted, name = (list, "lists") if start.__class__ is list else (int | float, "numbers")
    for item in (start, *items):
        if not _is_a(item, wanted):
            raise Refused(f"`sum` adds up {name} here, not {kind(plain(item, budget))}")
    if start.__class__ is list:
        return budget.listed((part for item in (start, *items) for part in item), "`sum`")
    return budget.made(sum(items, start), "`sum`")


def _number(name: str, convert: Callable[..., Any]) -> Callable[..., Any]:
    def number(value: Any, *args: Any, **named: Any) -> Any:
        if isinstance(value, str) and len(value) > MAX_BITS // 4:
            raise Refused(f"`{name}` takes a text of {MAX_BITS // 4:,} characters at most")
        try:
            found = convert(value, *args, **named)
        except OverflowError:
            found = float("inf")
        if isinstance(found, float) and not isfinite(found):
            raise Refused(f"`{name}` takes a number that is finite and not too large")
        return found

    return number


def _matches(context: Any, value: Any, pattern: Any) -> bool:
    budget = _budget(context)
    text, start = text_of(value, budget), perf_counter()
    try:
        found = search(text_of(pattern, budget), text)
    except PatternTimeout:
        raise Refused(
            f"the search for `{pattern}` takes too long; make it simpler, or the text shorter"
        ) from None
    except re.error as error:
        raise Refused(f"`{str(pattern)[:80]}` is no regular expression: {error}") from None
    budget.seconds -= perf_counter() - start
    if budget.seconds < 0:
        raise Refused(f"all `matches` together take longer than the limit of {MAX_SECONDS:g} seconds")
    return found


def _glob(context: Any, value: Any, pattern: Any) -> bool:
    budget = _budget(context)
    text, glob = text_of(value, budget), text_of(pattern, budget)
    if len(glob) > MAX_GLOB:
        raise Refused(f"the pattern of `glob` is longer than the limit of {MAX_GLOB:,} characters")
    budget.take(len(glob) ** 2 + (len(text) * len(glob) >> 3), "`glob`")
    return fnmatchcase(text, glob)


def _join(context: Any, value: Any, d: Any = "", attribute: str | int | None = None) -> str:
    from jinja2.filters import make_attrgetter

    budget = _budget(context)
    between = text_of(d, budget)
    get = make_attrgetter(context.environment, attribute)

    def pieces() -> Iterator[str]:
        for index, item in enumerate(value):
            budget.take(len(between) + 8, "`join`")
            yield between if index else ""
            yield text_of(get(item), budget)

    return joined(pieces())


def _rounds(context: Any, value: Any, weight: int = 0) -> Iterator[Any]:
    """Give the items of a loop, each for a round and the `weight` of what the loop holds."""
    budget = _budget(context)
    if not isinstance(value, Iterable):
        raise Refused(f"a loop goes through a list, not {kind(value)}")
    for item in cast("Iterable[object]", value):
        budget.rounds -= 1
        if budget.rounds < 0:
            raise Refused(f"the loops take more than {MAX_ROUNDS:,} rounds")
        budget.take(weight, "the loop")
        yield item


def _read(context: Any, value: Any) -> Any:
    """Return what is to be compared, once it has been gone through."""
    if value.__class__ in _SIMPLE:
        return value
    ready = _budget(context).made(value, "a comparison") if isinstance(value, Iterator) else value
    _budget(context).read(ready, "a comparison", 2)
    return ready


def _slice(context: Any, value: Any, *bounds: int | None) -> Any:
    try:
        part = value[slice(*bounds)]
    except (TypeError, LookupError):
        raise Refused(f"a part as in `x[1:2]` is of a text or a list, not {kind(value)}") from None
    return _budget(context).made(part, "a part as in `x[1:2]`")


def _checked_key(_: Any, value: Any) -> Any:
    return _a_key(value)


def _attr(context: Any, value: Any, name: str) -> Any:
    return context.environment.getattr(value, name)


_OWN: Final[dict[str, Callable[..., Any]]] = {
    "format": _format, "indent": _indent, "items": _items, "join": _join, "replace": _replace, "sum": _sum,
    "tojson": _tojson, "trim": _trim, ROUNDS: _rounds, READ: _read, SLICE: _slice,
    KEY: _checked_key, "attr": _attr,
}  # fmt: skip


def _environment_class() -> Any:
    from jinja2 import StrictUndefined, Undefined, pass_context
    from jinja2.runtime import Context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Missing(StrictUndefined):
        @property
        def _undefined_message(self) -> str:
            # Raised from here, because the exception made of a message knows neither holder nor name.
            if hint := self._undefined_hint:
                raise Refused(hint[0].lower() + hint[1:].rstrip("."))
            raise Absent(self._undefined_obj, self._undefined_name)

    @pass_context
    def written(context: Context, value: Any) -> str:
        return text_of(value, _budget(context))

    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(_OPERATORS)
        concat = staticmethod(joined)

        def __init__(self) -> None:
            # Optimized, it would work out what is constant while it compiles, where there is no budget.
            super().__init__(undefined=Missing, finalize=written, keep_trailing_newline=True, optimized=False)

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
                return obj[_a_key(argument)]
            except (TypeError, LookupError):
                return self.undefined(obj=obj, name=argument)

        def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
            return _operate(_budget(context), operator, left, right)

        def call(self, context: Context, obj: Any, /, *args: Any, **named: Any) -> Any:
            budget, owner = _budget(context), getattr(obj, "__self__", None)
            name = str(getattr(obj, "__name__", "call"))
            budget.take(16 * (len(args) + len(named)), f"`{name}`")
            if isinstance(owner, str):
                named = {
                    key: value for key, value in named.items() if key not in {"_loop_vars", "_block_vars"}
                }
                return _method(budget, name, obj, args, named)
            if owner is not None:  # of a list, or of `loop`: it compares what it is given
                budget.read([*args, owner], f"`{name}`")
            return budget.made(super().call(context, obj, *args, **named), f"`{name}`")

    return Environment


@cache
def environment() -> Any:
    """Return the one jinja2 environment: sandboxed, strict, and where `.name` of a mapping is its key."""
    from jinja2 import pass_context
    from jinja2.utils import Namespace

    env, inner = _environment_class()(), _environment_class()()

    def watched(name: str) -> Any:
        @pass_context
        def call(context: Any, value: Any, *args: Any, **named: Any) -> Any:
            budget = _budget(context)
            value = _prepared(env, budget, name, value, args, named)
            result = inner.call_filter(name, value, args, named, context=context)
            result = budget.made(result, f"`{name}`")
            if name in {"batch", "slice", "groupby"}:
                for part in result:
                    budget.take(_VALUE * len(part[1] if name == "groupby" else part), f"`{name}`")
            return result

        return call

    def simple(name: str) -> Any:
        @pass_context
        def call(context: Any, value: Any) -> Any:
            budget = _budget(context)
            ready = value if name == "length" else plain(value, budget)
            return budget.made(FILTERS[name](ready), f"`{name}`")

        return call

    def tested(name: str) -> Any:
        @pass_context
        def call(context: Any, value: Any, *args: Any) -> Any:
            budget = _budget(context)
            for part in (value, *args):
                budget.read(part, f"`{name}`", 2)
            value = text_of(value, budget) if name in {"lower", "upper"} else value
            return inner.call_test(name, value, args, context=context)

        return call

    def own(function: Callable[..., Any]) -> Any:
        @pass_context
        def call(context: Any, *args: Any, **named: Any) -> Any:
            return function(context, *args, **named)

        return call

    env.globals = {"range": _range, "dict": own(_dict), "namespace": Namespace, "null": None}
    for name in _LEFT_OUT:
        del env.filters[name]
    for name in env.filters.keys() - {"d", "default", "first", "last", "count"}:
        env.filters[name] = watched(name)
    for name in ("int", "float"):
        inner.filters[name] = _number(name, inner.filters[name])
    env.filters |= {name: simple(name) for name in FILTERS} | {"count": simple("length")}
    env.filters |= {name: own(function) for name, function in _OWN.items()}
    env.tests |= {name: tested(name) for name in env.tests.keys() - _CHEAP}
    env.tests |= {"matches": own(_matches), "glob": own(_glob), "null": env.tests["none"]}
    return env
