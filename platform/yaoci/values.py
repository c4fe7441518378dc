"""What a value is: JSON, its canonical form, its compact text, and paths into it."""

import base64
import json
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

Json: TypeAlias = Any
"""None, bool, int, finite float, str without lone surrogates, list, or dict with text keys."""

Path: TypeAlias = tuple[str | int, ...]
"""A place in a value: the keys and indices that lead there from the root."""

MAX_DEPTH = 64
"""How deep a value may be nested."""

MAX_BYTES = 10 * 1024 * 1024
"""How large a result may be, as compact UTF-8 JSON."""

MAX_NODES = 500_000
"""How many values a value may hold, at any depth."""

_CONTAINERS: frozenset[type[Any]] = frozenset((dict, list, tuple))
_WHOLE = 2**63
_BITS = 14_000


class NotJsonError(ValueError):
    """A value that JSON cannot hold, or that is too deep."""


def canonical(value: Any) -> Json:
    """Return `value` as what its JSON record would read back as.

    Tuples become lists, bytes base64 text, lone surrogates U+FFFD, dataclass-like
    mappings plain dicts. Raises NotJsonError for anything else: NaN and infinities,
    integers of more than 4,300 digits, keys that are not text, other types, a nesting
    deeper than MAX_DEPTH, or more than MAX_NODES values, those that are shared counted each time.
    """
    if value.__class__ in _CONTAINERS and _is_crowded(value):
        raise NotJsonError(f"it holds more than {MAX_NODES:,} values")
    return _canonical(value, 0)


def _is_crowded(value: Any) -> bool:
    """Return whether a value holds more than MAX_NODES others; looks no further than that."""
    left = MAX_NODES
    todo = [value]
    while todo:
        item = todo.pop()
        left -= len(item)
        if left < 0:
            return True
        parts = item.values() if item.__class__ is dict else item
        todo.extend(part for part in parts if part.__class__ in _CONTAINERS)
    return False


def _canonical(value: Any, depth: int) -> Json:
    kind = value.__class__
    if kind is str:
        return clean(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        if not -_WHOLE <= value < _WHOLE and value.bit_length() > _BITS:
            raise NotJsonError("an integer with thousands of digits")
        return value
    if kind is float:
        if value - value != 0.0:
            raise NotJsonError(f"{value} is not a JSON number")
        return value
    if depth > MAX_DEPTH:
        raise NotJsonError(f"nested deeper than {MAX_DEPTH} levels")
    if kind is list or kind is tuple:
        return [_canonical(item, depth + 1) for item in value]
    if kind is dict:
        return {_key(key): _canonical(item, depth + 1) for key, item in value.items()}
    return _uncommon(value, depth)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise NotJsonError(f"the key {key!r} is not text")
    return clean(str(key))


def _uncommon(value: Any, depth: int) -> Json:
    try:
        if isinstance(value, bytes | bytearray):
            return base64.b64encode(value).decode("ascii")
        found: Any = _plain(value)  # a class of the user's own, whose methods may do anything
    except NotJsonError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it raises, it is no JSON
        raise NotJsonError(
            f"a value of type {type(value).__name__} cannot be read: {type(error).__name__}"
        ) from None
    if found is None:
        raise NotJsonError(f"a value of type {type(value).__name__} is not JSON")
    if found.__class__ in _CONTAINERS and _is_crowded(found):
        raise NotJsonError(f"it holds more than {MAX_NODES:,} values")
    return _canonical(found, depth)


def _plain(value: Any) -> Any:
    """Return a value of a class derived from JSON's own as one of that; None for any other."""
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return list(cast("list[Any]", value))
    return next((plain(value) for plain in (str, int, float) if isinstance(value, plain)), None)


def clean(text: str) -> str:
    """Return `text` with lone surrogates, which UTF-8 cannot hold, replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def compact(value: Json) -> str:
    """Return `value` as compact JSON text: no spaces, no escapes beyond what JSON needs."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def as_text(value: Json) -> str:
    """Return `value` as text for people and models: text as it is, null as nothing, the rest as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else compact(value)


def equal_key(value: Json) -> Any:
    """Return a hashable that is equal for equal JSON: 1 is 1.0, true is not 1, the order of keys is free."""
    kind = value.__class__
    if kind is bool:
        return ("b", value)
    if kind is int or kind is float:
        return ("n", int(value) if kind is float and value.is_integer() else value)
    if kind is list:
        return ("l", *map(equal_key, value))
    if kind is dict:
        return ("o", frozenset((name, equal_key(item)) for name, item in value.items()))
    return value


def weighs_over(value: Json, limit: int) -> bool:
    """Return whether `value` takes more than about `limit` bytes; looks no further than that."""
    weight = 0
    todo = [value]
    while todo:
        item = todo.pop()
        kind = item.__class__
        if kind is str:
            weight += len(item)
        elif kind is dict:
            weight += sum(map(len, item))
            todo.extend(item.values())
        elif kind is list:
            todo.extend(item)
        weight += 4
        if weight > limit:
            return True
    return False


def at(value: Json, path: Path) -> Json:
    """Return what stands at `path` in `value`, or None where there is nothing."""
    found = value
    for step in path:
        if isinstance(found, dict) and isinstance(step, str):
            found = cast("dict[str, Json]", found).get(step)
        elif isinstance(found, list) and isinstance(step, int):
            items: list[Json] = found  # pyright: ignore[reportUnknownVariableType]
            found = items[step] if -len(items) <= step < len(items) else None
        else:
            return None
    return found
