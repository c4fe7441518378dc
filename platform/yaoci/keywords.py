"""JSON Schema 2020-12 as a language: its keywords, what each takes, and references within a schema."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from .values import MAX_DEPTH, Json, Path, at

Test: TypeAlias = Callable[[Json], bool]
"""Whether a value passes."""


NOUNS = {
    "array": "a list", "boolean": "true or false", "integer": "a whole number", "null": "null",
    "number": "a number", "object": "an object", "string": "text",
}  # fmt: skip
TYPES = tuple(NOUNS)
"""What `type` may say."""


def kind_of(value: Json) -> str:
    """Return what a value is, in words."""
    if isinstance(value, bool):
        return "a boolean"
    for kind, noun in ((str, "text"), (int | float, "a number"), (list, "a list"), (dict, "an object")):
        if isinstance(value, kind):
            return noun
    return "null" if value is None else f"a {type(value).__name__}"


def is_text(value: Json) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def is_flag(value: Json) -> bool:
    """Return whether a value is true or false."""
    return isinstance(value, bool)


def is_list(value: Json) -> bool:
    """Return whether a value is a list."""
    return isinstance(value, list)


def is_object(value: Json) -> bool:
    """Return whether a value is an object."""
    return isinstance(value, dict)


def is_number(value: Json) -> bool:
    """Return whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Json) -> bool:
    """Return whether a value is a whole number; 1.0 is one."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def _is_count(value: Json) -> bool:
    return is_whole(value) and value >= 0


def _is_above_zero(value: Json) -> bool:
    return is_number(value) and value > 0


def is_names(value: Json) -> bool:
    """Return whether a value is a list of different texts."""
    return is_list(value) and all(map(is_text, value)) and len(set(value)) == len(value)


def is_type(value: Json) -> bool:
    """Return whether a value is what `type` may say."""
    if is_text(value):
        return value in NOUNS
    return is_names(value) and len(value) > 0 and all(name in NOUNS for name in value)


def _is_map_of(fits: Test, value: Json) -> bool:
    return is_object(value) and all(map(fits, value.values()))


def _is_like(pattern: re.Pattern[str], value: Json) -> bool:
    return is_text(value) and pattern.match(value) is not None


def is_any(_: Json) -> bool:
    """Return True: anything may stand there."""
    return True


class _Leaf(NamedTuple):
    """A keyword that holds no schema: the test for its value, and what to call one that fits."""

    fits: Test
    noun: str


_TEXT, _NUMBER = _Leaf(is_text, "text"), _Leaf(is_number, "a number")
_FLAG = _Leaf(is_flag, "true or false")
_COUNT = _Leaf(_is_count, "a whole number from 0 up")
_VALUES = _Leaf(is_list, "a list of values")
_ANY = _Leaf(is_any, "anything")
# the metaschema's patterns, whose `$` lets a last newline pass
_ANCHOR = _Leaf(partial(_is_like, re.compile(r"[A-Za-z_][-A-Za-z0-9._]*$")), "a name without spaces")
_ID = _Leaf(partial(_is_like, re.compile(r"[^#]*#?$")), "a URI without `#`")

LEAVES: dict[str, _Leaf] = {
    "type": _Leaf(is_type, "the name of a type, or a list of names"),
    "multipleOf": _Leaf(_is_above_zero, "a number above 0"),
    "required": _Leaf(is_names, "a list of names, each once"),
    "dependentRequired": _Leaf(partial(_is_map_of, is_names), "an object of lists of names"),
    "$vocabulary": _Leaf(partial(_is_map_of, is_flag), "an object of flags"),
    **dict.fromkeys(("const", "default"), _ANY),
    **dict.fromkeys(("enum", "examples"), _VALUES),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minContains"), _COUNT),
    **dict.fromkeys(("maxContains", "minProperties", "maxProperties"), _COUNT),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _FLAG),
    **dict.fromkeys(("title", "description", "$comment", "format", "pattern"), _TEXT),
    **dict.fromkeys(("contentEncoding", "contentMediaType", "$schema", "$ref", "$dynamicRef"), _TEXT),
    **dict.fromkeys(("$anchor", "$dynamicAnchor"), _ANCHOR),
    "$id": _ID,
}

PARTS: dict[str, str] = {
    **dict.fromkeys(("items", "contains", "additionalProperties", "propertyNames", "not", "if"), "one"),
    **dict.fromkeys(("then", "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema"), "one"),
    **dict.fromkeys(("prefixItems", "allOf", "anyOf", "oneOf"), "list"),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"), "map"),
}
"""The keywords that hold schemas: one, a list or a map of them."""

IN_PLACE = frozenset(("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"))
"""Those whose schemas judge the same value."""

IGNORED = frozenset((
    # of older drafts, and what other tools leave
    "$recursiveRef", "$recursiveAnchor", "id", "dependencies", "additionalItems", "example", "discriminator",
    "xml", "externalDocs", "markdownDescription", "enumDescriptions", "enumNames", "errorMessage",
))  # fmt: skip


def object_of(value: Json) -> Mapping[str, Json]:
    """Return an object, or an empty one in the place of anything else."""
    return value if is_object(value) else {}


def joined(base: str, id_: Json) -> str:
    """Return the URI that an `$id` names below a base; the base where it is none."""
    from urllib.parse import urljoin

    try:
        return urljoin(base, id_) if is_text(id_) else base
    except ValueError:
        return base


def located(root: Json, ref: str) -> tuple[Json, Path]:
    """Return the node that `#…` leads to and its path; None where there is nothing."""
    if ref == "#":
        return root, ()
    if not ref.startswith("#/"):
        return _anchored(root, ref[1:], ())
    from urllib.parse import unquote

    node, path = root, Path()
    for raw in unquote(ref[2:]).split("/"):
        name = raw.replace("~1", "/").replace("~0", "~")
        step = int(name) if is_list(node) and name.isdecimal() else name
        node, path = at(node, (step,)), (*path, step)
    return node, path


def parts_of(node: Json) -> Iterator[tuple[str | int, Json]]:
    """Yield the steps into a value, and what they lead to."""
    if is_object(node):
        yield from node.items()
    elif is_list(node):
        yield from enumerate(node)


def _anchored(node: Json, name: str, path: Path) -> tuple[Json, Path]:
    """Return the schema that calls itself `name`."""
    if is_object(node) and name in (node.get("$anchor"), node.get("$dynamicAnchor")):
        return node, path
    for step, part in parts_of(node) if len(path) < 2 * MAX_DEPTH else ():
        found = _anchored(part, name, (*path, step))
        if found[0] is not None:
            return found
    return None, ()


def looked_up(root: Json, base: str, ref: str) -> Json:
    """Return what a reference leads to within a document that has ids; None for anything else."""
    referencing: Any = import_module("referencing.jsonschema")
    resource = referencing.DRAFT202012.create_resource(root)
    registry = referencing.EMPTY_REGISTRY.with_resources(
        [("", resource), (resource.id() or "", resource)]
    ).crawl()
    try:
        return registry.resolver(base).lookup(ref).contents
    except (import_module("referencing.exceptions").Unresolvable, ValueError):
        return None


def followed(root: Json, schema: Json) -> Json:
    """Return what a schema stands for that is only a reference within `root`."""
    for _ in range(MAX_DEPTH):
        ref = object_of(schema).get("$ref", "")
        if "properties" in object_of(schema) or not is_text(ref) or not ref.startswith("#"):
            break
        schema = located(root, ref)[0]
    return schema


def properties(schema: Json) -> Mapping[str, Json]:
    """Return the properties of a schema's root, also where it is a reference; {} if it has none."""
    return object_of(object_of(followed(schema, schema)).get("properties"))
