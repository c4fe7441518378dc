"""Closures compiled from a schema that say only *surely fits*; what they do not accept is judged at length."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import ge, gt, le, lt
from typing import Any

from .formats import FORMATS
from .keywords import LEAVES, PARTS, TYPES, Test, is_any, is_flag, is_list, is_object, is_text, is_whole
from .patterns import fault, surely
from .values import Json, equal_key

# keywords that are left to `jsonschema`
_HARD = frozenset((
    "$ref", "$dynamicRef", "prefixItems", "contains", "patternProperties", "propertyNames", "oneOf", "not", "if",
    "unevaluatedItems", "unevaluatedProperties", "dependentSchemas", "dependentRequired",
))  # fmt: skip
_CLASSES: dict[str, tuple[type, ...]] = {
    "array": (list,), "boolean": (bool,), "integer": (int, float), "null": (type(None),),
    "number": (int, float), "object": (dict,), "string": (str,),
}  # fmt: skip


def _unsure(_: Json) -> bool:
    return False


def test_of(schema: Json) -> Test:
    """Return a closure that says only of values that surely fit that they do; of a schema too deep, of none."""
    try:
        return _acceptor(schema)
    except RecursionError:
        return _unsure


def surely_fits(test: Test, value: Json) -> bool:
    """Return whether a test says that a value fits; one too deep for it does not surely."""
    try:
        return test(value)
    except (RecursionError, TypeError, ValueError):  # too deep, or not JSON: jsonschema's part says so
        return False


def _acceptor(schema: Json) -> Test:
    """Return a test that is true only of values that surely fit `schema`."""
    if is_flag(schema):
        return is_any if schema else _unsure
    if not is_object(schema) or not _HARD.isdisjoint(schema) or not _is_sound(schema):
        return _unsure
    kinds = schema.get("type", TYPES)
    table: dict[type, Test] = {}
    for name in [kinds] if is_text(kinds) else kinds:
        for kind in _CLASSES[name]:
            tests = list(_TESTS[kind](schema)) if kind in _TESTS else []
            if kind is float and name == "integer" and kinds != TYPES and "number" not in kinds:
                tests.insert(0, float.is_integer)
            table[kind] = _all(tests)
    always = _all(list(_any_tests(schema)))
    if always is is_any:
        return lambda value: table.get(value.__class__, _unsure)(value)
    return lambda value: table.get(value.__class__, _unsure)(value) and always(value)


def _is_sound(schema: Json) -> bool:
    """True if each keyword's own value is one that a test can be made of."""
    for key, value in schema.items():
        if key in LEAVES and not LEAVES[key].fits(value):
            return False
        if PARTS.get(key, "one") != "one" and not (
            is_list(value) if PARTS[key] == "list" else is_object(value)
        ):
            return False
    return True


def _all(tests: list[Test]) -> Test:
    if not tests:
        return is_any
    return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)


def _some(tests: list[Test]) -> Test:
    return lambda value: any(test(value) for test in tests)


def _among(values: Iterable[Json]) -> Test:
    allowed = frozenset(map(equal_key, values))
    return lambda value: equal_key(value) in allowed


def _sized(schema: Json, low: str, high: str) -> Iterator[Test]:
    least, most = schema.get(low, 0), schema.get(high, float("inf"))
    if low in schema or high in schema:
        yield lambda value: least <= len(value) <= most


def _any_tests(schema: Json) -> Iterator[Test]:
    if "enum" in schema:
        yield _among(schema["enum"])
    if "const" in schema:
        yield _among([schema["const"]])
    if "allOf" in schema:
        yield _all([_acceptor(part) for part in schema["allOf"]])
    if "anyOf" in schema:
        yield _some([_acceptor(part) for part in schema["anyOf"]])


def _number_tests(schema: Json) -> Iterator[Test]:
    bounds = {
        "minimum": le,
        "maximum": ge,
        "exclusiveMinimum": lt,
        "exclusiveMaximum": gt,
        "multipleOf": divides,
    }
    yield from (partial(compare, schema[key]) for key, compare in bounds.items() if key in schema)


def _text_tests(schema: Json) -> Iterator[Test]:
    yield from _sized(schema, "minLength", "maxLength")
    if "pattern" in schema and fault(schema["pattern"]) is None:
        yield partial(surely, schema["pattern"])
    if (known := FORMATS.get(schema.get("format", ""))) is not None:
        yield known.fits


def _list_tests(schema: Json) -> Iterator[Test]:
    yield from _sized(schema, "minItems", "maxItems")
    if "items" in schema:
        item = _acceptor(schema["items"])
        yield lambda value: all(map(item, value))
    if schema.get("uniqueItems"):
        yield lambda value: repeated(value) is None


def _object_tests(schema: Json) -> Iterator[Test]:
    yield from _sized(schema, "minProperties", "maxProperties")
    known = {name: _acceptor(part) for name, part in schema.get("properties", {}).items()}
    other = _acceptor(schema.get("additionalProperties", True))
    required: list[str] = schema.get("required", [])

    def fits(value: Json) -> bool:
        for name in required:
            if name not in value:
                return False
        for name, item in value.items():  # noqa: SIM110 - the hot loop; a generator costs half as much again
            if not known.get(name, other)(item):
                return False
        return True

    yield fits


_TESTS: dict[type, Callable[[Json], Iterator[Test]]] = {
    str: _text_tests, int: _number_tests, float: _number_tests, list: _list_tests, dict: _object_tests,
}  # fmt: skip


def divides(step: Json, value: Json) -> bool:
    """True if `value` is a multiple of `step` as they are written: 0.3 is one of 0.1."""
    if isinstance(value, int) and isinstance(step, int):
        return not value % step
    from fractions import Fraction

    return (Fraction(str(value)) / Fraction(str(step))).denominator == 1


def is_of(kind: Json, value: Json) -> bool:
    """True if `value` is of a type, or of one in a list of types."""
    if is_list(kind):
        return any(is_of(name, value) for name in kind)
    return value.__class__ in _CLASSES[kind] and (kind != "integer" or is_whole(value))


def repeated(items: list[Json]) -> tuple[int, int] | None:
    """Return the first two places of `items` that hold equal values."""
    seen: dict[Any, int] = {}
    for index, item in enumerate(items):
        first = seen.setdefault(equal_key(item), index)
        if first != index:
            return first, index
    return None
