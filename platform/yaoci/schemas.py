"""JSON Schema 2020-12 for arguments and results: judge a schema, judge values by it, fill in defaults.

A schema is judged by one walk over it. A value is first shown to nested closures, which only ever say
*surely fits*; what they do not accept goes to `jsonschema`, for the messages and for all they do not
know. Both bear hostile schemas: nothing is fetched, no search and no evaluation runs away.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from operator import ge, gt, le, lt
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from .diagnostics import did_you_mean, listed, nearest
from .patterns import FORMATS, LIMIT, PatternTimeout, fault, search, surely
from .values import MAX_DEPTH, Json, Path, at, compact, equal_key

_Test: TypeAlias = Callable[[Json], bool]

# -- the language -----------------------------------------------------------------------------------

_NOUNS = {
    "array": "a list", "boolean": "true or false", "integer": "a whole number", "null": "null",
    "number": "a number", "object": "an object", "string": "text",
}  # fmt: skip
TYPES = tuple(_NOUNS)
"""What `type` may say."""


def _kind(value: Json) -> str:
    """Return what a value is, in words."""
    if isinstance(value, bool):
        return "a boolean"
    for kind, noun in ((str, "text"), (int | float, "a number"), (list, "a list"), (dict, "an object")):
        if isinstance(value, kind):
            return noun
    return "null" if value is None else f"a {type(value).__name__}"


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_list(value: Json) -> bool:
    return isinstance(value, list)


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Json) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


def _is_count(value: Json) -> bool:
    return _is_whole(value) and value >= 0


def _is_above_zero(value: Json) -> bool:
    return _is_number(value) and value > 0


def _is_names(value: Json) -> bool:
    return _is_list(value) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_type(value: Json) -> bool:
    if _is_text(value):
        return value in _NOUNS
    return _is_names(value) and len(value) > 0 and all(name in _NOUNS for name in value)


def _is_map_of(fits: _Test, value: Json) -> bool:
    return _is_object(value) and all(map(fits, value.values()))


def _is_like(pattern: re.Pattern[str], value: Json) -> bool:
    return _is_text(value) and pattern.match(value) is not None


def _is_any(_: Json) -> bool:
    return True


class _Leaf(NamedTuple):
    """A keyword that holds no schema: the test for its value, and what to call one that fits."""

    fits: _Test
    noun: str


_TEXT, _NUMBER = _Leaf(_is_text, "text"), _Leaf(_is_number, "a number")
_FLAG = _Leaf(_is_flag, "true or false")
_COUNT = _Leaf(_is_count, "a whole number from 0 up")
_VALUES = _Leaf(_is_list, "a list of values")
_ANY = _Leaf(_is_any, "anything")
# the metaschema's patterns, whose `$` lets a last newline pass
_ANCHOR = _Leaf(partial(_is_like, re.compile(r"[A-Za-z_][-A-Za-z0-9._]*$")), "a name without spaces")
_ID = _Leaf(partial(_is_like, re.compile(r"[^#]*#?$")), "a URI without `#`")

_LEAVES: dict[str, _Leaf] = {
    "type": _Leaf(_is_type, "the name of a type, or a list of names"),
    "multipleOf": _Leaf(_is_above_zero, "a number above 0"),
    "required": _Leaf(_is_names, "a list of names, each once"),
    "dependentRequired": _Leaf(partial(_is_map_of, _is_names), "an object of lists of names"),
    "$vocabulary": _Leaf(partial(_is_map_of, _is_flag), "an object of flags"),
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

_PARTS: dict[str, str] = {
    **dict.fromkeys(("items", "contains", "additionalProperties", "propertyNames", "not", "if"), "one"),
    **dict.fromkeys(("then", "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema"), "one"),
    **dict.fromkeys(("prefixItems", "allOf", "anyOf", "oneOf"), "list"),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"), "map"),
}
"""The keywords that hold schemas: one, a list or a map of them."""

_IN_PLACE = frozenset(("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"))
"""Those whose schemas judge the same value."""

_IGNORED = frozenset((
    # of older drafts, and what other tools leave
    "$recursiveRef", "$recursiveAnchor", "id", "dependencies", "additionalItems", "example", "discriminator",
    "xml", "externalDocs", "markdownDescription", "enumDescriptions", "enumNames", "errorMessage",
))  # fmt: skip


# -- what is wrong with a schema --------------------------------------------------------------------


class Flaw(NamedTuple):
    """A thing wrong with a schema, at `path` within it."""

    path: Path
    slug: str
    text: str
    help: str = ""


ERRORS = frozenset(("not-a-schema", "root-not-object", "bad-regex", "ref-unresolved", "ref-loop"))
"""The slugs of flaws that leave nothing to judge by; the others are slips, and what providers refuse."""


def flaws(schema: Json, *, parameters: bool = False) -> list[Flaw]:
    """Return what is wrong with a schema of JSON Schema 2020-12, in its own order; [] if nothing is.

    With `parameters` the root must be an object, with property names that providers take.
    `definitions` and `$schema` of older drafts are fine. References are looked up within the
    document and never fetched.
    """
    return _Walk(schema, parameters=parameters).judge()


class _Place(NamedTuple):
    """Where the walk is: the path, the base URI, how deep, and if it is in an alternative."""

    path: Path = ()
    base: str = ""
    depth: int = 0
    branch: bool = False


class _Ref(NamedTuple):
    place: _Place
    text: str
    node: Json


class _Walk:
    """One judgement of one schema."""

    __slots__ = ("_defaults", "_found", "_ids", "_parameters", "_refs", "_root", "_same", "_seen")

    def __init__(self, root: Json, *, parameters: bool) -> None:
        self._root = root
        self._parameters = parameters
        self._found: list[Flaw] = []
        self._refs: list[_Ref] = []
        self._defaults: list[tuple[Path, Json]] = []
        self._seen: set[int] = set()
        self._same: dict[int, list[tuple[Json, Path]]] = {}
        self._ids = False

    def judge(self) -> list[Flaw]:
        if not self._parameters or self._root_is_object():
            self._schema(self._root, _Place())
        for ref in self._refs:  # grows: what a reference leads to is judged too
            self._resolve(ref)
        if self._refs:
            self._loops()
        if self._defaults and not self._has(ERRORS):
            self._judge_defaults()
        return self._found

    def _say(self, path: Path, slug: str, text: str, help: str = "") -> None:
        self._found.append(Flaw(path, slug, text, help))

    def _has(self, slugs: Iterable[str]) -> bool:
        return any(flaw.slug in slugs for flaw in self._found)

    def _root_is_object(self) -> bool:
        """Judge the root of parameters; False if there is no use in going on."""
        root, hint = self._root, "write `type: object` and `properties`"
        if not _is_object(root):
            self._say(
                (), "root-not-object", f"parameters must be an object's schema, not {_kind(root)}", hint
            )
            return False
        told = root if "type" in root else _followed(root, root)
        if not _is_object(told) or "type" not in told:
            if _IN_PLACE.isdisjoint(root) and "$ref" not in root:
                self._say((), "root-type-missing", "the root has no `type`", "write `type: object`")
        elif (kind := told["type"]) != "object":
            path = ("type",) if told is root else ("$ref",)
            hint = "write `type: object`" if _is_type(kind) else _type_help(kind)
            text = f"parameters must be an object, but `type` is {_short(kind)}"
            self._say(path, "root-not-object", text, hint)
        return True

    def _schema(self, node: Json, place: _Place) -> None:
        if not _is_object(node):
            if not _is_flag(node):
                self._not_a_schema(node, place.path)
            return
        if place.depth > MAX_DEPTH:
            self._say(place.path, "too-deep", f"nested deeper than {MAX_DEPTH} levels, which no value may be")
            return
        self._seen.add(id(node))
        if "$id" in node:
            self._ids = True
            place = place._replace(base=_joined(place.base, node["$id"]))
        for key, value in node.items():
            if (leaf := _LEAVES.get(key)) is not None:
                if not leaf.fits(value):
                    self._bad_leaf(place.path, key, value, leaf.noun)
            elif key in _PARTS:
                self._parts(node, place, key)
            elif key not in _IGNORED and not key.startswith(("x-", "x_")):
                self._unknown_keyword(place.path, key)
        self._slips(node, place)

    def _parts(self, node: Json, place: _Place, key: str) -> None:
        value, holds, here = node[key], _PARTS[key], (*place.path, key)
        if key == "items" and _is_list(value):
            hint = "the schemas of a tuple stand in `prefixItems`"
            return self._say(here, "not-a-schema", "`items` must be one schema, not a list", hint)
        if holds == "list" and (not _is_list(value) or not value):
            got = "an empty one" if value == [] else _kind(value)
            return self._say(here, "not-a-schema", f"`{key}` must be a list of schemas, not {got}")
        if holds == "map" and not _is_object(value):
            return self._say(
                here, "not-a-schema", f"`{key}` must be an object of schemas, not {_kind(value)}"
            )
        if key == "patternProperties":
            for pattern in value:
                self._pattern((*here, pattern), pattern)
        elif key == "properties" and self._parameters:
            self._property_keys(here, value)
        parts: Iterable[tuple[Path, Json]] = ((here, value),)
        if holds != "one":
            parts = [((*here, step), part) for step, part in _steps(value)]
        branch = place.branch or key in _IN_PLACE
        for path, part in parts:
            if key in _IN_PLACE:
                self._same.setdefault(id(node), []).append((part, ()))
            self._schema(part, _Place(path, place.base, place.depth + 1, branch))
        return None

    # what is no schema

    def _not_a_schema(self, node: Json, path: Path) -> None:
        hint = "write `{}` where any value is fine" if node is None else ""
        if isinstance(node, str) and (name := _TYPE_WORDS.get(node.lower()) or nearest(node, TYPES)):
            hint = f"write `{{type: {name}}}`"
        self._say(path, "not-a-schema", f"a schema must be an object, not {_kind(node)}", hint)

    def _bad_leaf(self, path: Path, key: str, value: Json, noun: str) -> None:
        text, hint = f"`{key}` must be {noun}, not {_kind(value)}", ""
        if key == "type":
            if not path and self._has(("root-not-object",)):
                return
            text, hint = f"`type` is {_short(value)}", _type_help(value)
        elif key == "required" and _is_text(value):
            hint = f"write `required: [{value}]`"
        elif key == "required" and _is_flag(value):
            hint = "the object around it lists the names: `required: [id]`"
        elif key.startswith("exclusive") and _is_flag(value):
            hint = f"write the bound itself: `{key}: 0`"
        elif _is_list(value) and all(map(_is_text, value)):
            text, hint = f"`{key}` names something twice", "name each once"
        elif _is_number(value):
            text = f"`{key}` must be {noun}, not {_short(value)}"
        self._say((*path, key), "not-a-schema", text, hint)

    def _unknown_keyword(self, path: Path, key: str) -> None:
        known = [name for name in (*_LEAVES, *_PARTS) if name.startswith("$") == key.startswith("$")]
        longer = [name for name in known if name.startswith(key)]
        meant = longer[0] if len(longer) == 1 else nearest(key, known)
        hint = f"did you mean `{meant}`?" if meant else "leave it out, or let its name begin with `x-`"
        if key == "nullable":
            hint = 'write `type: [string, "null"]`'
        self._say((*path, key), "unknown-keyword", f"`{key}` is no keyword of JSON Schema", hint)

    # slips: legal, but surely not meant, or refused by providers

    def _slips(self, node: Json, place: _Place) -> None:
        path, kind = place.path, node.get("type")
        if "enum" in node and _is_type(kind) and _is_list(node["enum"]):
            odd = [value for value in node["enum"] if not _is_of(kind, value)]
            if odd:
                text = f"{_short(odd[0])} is not {_types(kind)}, so it can never fit"
                self._say(
                    (*path, "enum"), "enum-type", text, "put text in quotes" if kind == "string" else ""
                )
        if (kind == "array" or (_is_list(kind) and "array" in kind)) and _ITEMS.isdisjoint(node):
            self._say(
                path, "array-without-items", "the list does not say what its `items` are", "add `items: {…}`"
            )
        if "required" in node and "properties" in node and not place.branch:
            self._required(node, path)
        if _is_text(node.get("pattern")):
            self._pattern((*path, "pattern"), node["pattern"])
        for key in ("$ref", "$dynamicRef"):
            if _is_text(node.get(key)):
                self._refs.append(_Ref(place._replace(path=(*path, key)), node[key], node))
        if not _LOWS.isdisjoint(node):
            self._ranges(node, path)
        if "default" in node:
            self._defaults.append((path, node))

    def _required(self, node: Json, path: Path) -> None:
        known, names = node["properties"], node["required"]
        others = node.get("additionalProperties", False) is not False or "patternProperties" in node
        if others or "$ref" in node or not _IN_PLACE.isdisjoint(node) or not _is_names(names):
            return
        for name in names:
            if name not in _map(known):
                text = f"`{name}` is required, but not among `properties`"
                self._say((*path, "required"), "required-unknown", text, did_you_mean(name, _map(known)))

    def _ranges(self, node: Json, path: Path) -> None:
        for low, high, strict in _RANGES:
            least, most = node.get(low), node.get(high)
            both = _is_number(least) and _is_number(most)
            if both and (least > most or (strict and least == most)):
                text = f"nothing can fit: `{low}` is {_short(least)}, `{high}` is {_short(most)}"
                return self._say(path, "empty-range", text)
        return None

    def _pattern(self, path: Path, pattern: str) -> None:
        if wrong := fault(pattern):
            self._say(path, wrong.slug, wrong.text, wrong.help)

    def _property_keys(self, path: Path, names: Iterable[str]) -> None:
        for name in names:
            if not _is_property_key(name):
                hint = "providers take up to 64 of `A-Z a-z 0-9 _ . -`; say in `description` what it is"
                self._say(
                    (*path, name), "property-key", f"`{name}` is no name that every provider takes", hint
                )

    # references

    def _resolve(self, ref: _Ref) -> None:
        place = ref.place
        if not self._ids:
            node, path = _located(self._root, ref.text) if ref.text.startswith("#") else (None, ())
        elif self._has(("not-a-schema",)):
            return
        else:
            node, path = _looked_up(self._root, place.base, ref.text), place.path
        if _is_object(node) or _is_flag(node):
            self._same.setdefault(id(ref.node), []).append((node, place.path))
            if _is_object(node) and id(node) not in self._seen:
                self._schema(node, _Place(path, place.base, 1, branch=True))
            return
        text, hint = f"`{ref.text}` is outside this schema", "copy it into `$defs`; nothing is ever fetched"
        if ref.text.startswith("#"):
            known = [
                f"#/{key}/{name}" for key in ("$defs", "definitions") for name in _map(self._root.get(key))
            ]
            text, hint = f"`{ref.text}` leads to no schema", did_you_mean(ref.text, known)
        self._say(place.path, "ref-unresolved", text, hint)

    def _loops(self) -> None:
        """Report each reference that leads back to its own schema without a step into the value."""
        done: set[int] = set()
        for ref in self._refs:
            # the schemas on the way here: what is left to follow of each, and the reference that led to it
            trail: dict[int, tuple[Iterator[tuple[Json, Path]], Path]] = {}
            waiting: list[tuple[Json, Path]] = [] if id(ref.node) in done else [(ref.node, ())]
            while trail or waiting:
                if waiting:
                    node, path = waiting.pop()
                    trail[id(node)] = iter(self._same.get(id(node), ())), path
                last = next(reversed(trail))
                for node, path in trail[last][0]:
                    if id(node) in trail:
                        around = list(trail)[list(trail).index(id(node)) + 1 :]
                        by = next(filter(None, (path, *(trail[key][1] for key in around))), ())
                        self._say(by, "ref-loop", "the reference leads back to itself, around and around")
                    elif id(node) not in done:
                        waiting.append((node, path))
                        break
                else:
                    done.add(last)
                    del trail[last]

    def _judge_defaults(self) -> None:
        judge: Any = None
        for path, node in self._defaults:
            value = node["default"]
            if not _surely(_tested(node), value):
                judge = judge or _validator(self._root)
                if wrong := _misfits(judge.evolve(schema=node), value, 1):
                    text = wrong[0].text.removeprefix("the value ")
                    self._say((*path, "default"), "default-misfit", f"the default does not fit: {text}")


_ITEMS = frozenset(("items", "prefixItems", "$ref", *_IN_PLACE))
_RANGES = (
    ("minimum", "maximum", False), ("exclusiveMinimum", "maximum", True), ("minimum", "exclusiveMaximum", True),
    ("exclusiveMinimum", "exclusiveMaximum", True), ("minLength", "maxLength", False),
    ("minItems", "maxItems", False), ("minProperties", "maxProperties", False), ("minContains", "maxContains", False),
)  # fmt: skip
_LOWS = frozenset(low for low, _, _ in _RANGES)
# what Anthropic takes, the strictest provider
_is_property_key = re.compile(r"[A-Za-z0-9_.-]{1,64}").fullmatch
_TYPE_WORDS = {
    "str": "string", "text": "string", "char": "string", "int": "integer", "long": "integer", "float": "number",
    "double": "number", "decimal": "number", "bool": "boolean", "list": "array", "tuple": "array", "set": "array",
    "dict": "object", "map": "object", "mapping": "object", "none": "null", "nil": "null",
}  # fmt: skip


def _type_help(value: Json) -> str:
    if value is None:
        return 'the type `"null"` wants quotes'
    names = value if _is_list(value) else [value]
    odd = [name for name in names if name not in TYPES]
    if names and not odd:
        return "name each type once"
    if odd and _is_text(odd[0]):
        if odd[0].lower() == "any":
            return "leave `type` out where any value is fine"
        if name := _TYPE_WORDS.get(odd[0].lower()) or nearest(odd[0], TYPES):
            return f"did you mean `{name}`?"
    return f"a type is one of {listed(TYPES, 'or')}"


# -- references within a schema ---------------------------------------------------------------------


def _map(value: Json) -> Mapping[str, Json]:
    return value if _is_object(value) else {}


def _joined(base: str, id_: Json) -> str:
    from urllib.parse import urljoin

    try:
        return urljoin(base, id_) if _is_text(id_) else base
    except ValueError:
        return base


def _located(root: Json, ref: str) -> tuple[Json, Path]:
    """Return the node that `#…` leads to and its path; None where there is nothing."""
    if ref == "#":
        return root, ()
    if not ref.startswith("#/"):
        return _anchored(root, ref[1:], ())
    from urllib.parse import unquote

    node, path = root, Path()
    for raw in unquote(ref[2:]).split("/"):
        name = raw.replace("~1", "/").replace("~0", "~")
        step = int(name) if _is_list(node) and name.isdecimal() else name
        node, path = at(node, (step,)), (*path, step)
    return node, path


def _steps(node: Json) -> Iterator[tuple[str | int, Json]]:
    """Yield the steps into a value, and what they lead to."""
    if _is_object(node):
        yield from node.items()
    elif _is_list(node):
        yield from enumerate(node)


def _anchored(node: Json, name: str, path: Path) -> tuple[Json, Path]:
    """Return the schema that calls itself `name`."""
    if _is_object(node) and name in (node.get("$anchor"), node.get("$dynamicAnchor")):
        return node, path
    for step, part in _steps(node) if len(path) < 2 * MAX_DEPTH else ():
        found = _anchored(part, name, (*path, step))
        if found[0] is not None:
            return found
    return None, ()


def _looked_up(root: Json, base: str, ref: str) -> Json:
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


def _followed(root: Json, schema: Json) -> Json:
    """Return what a schema stands for that is only a reference within `root`."""
    for _ in range(MAX_DEPTH):
        ref = _map(schema).get("$ref", "")
        if "properties" in _map(schema) or not _is_text(ref) or not ref.startswith("#"):
            break
        schema = _located(root, ref)[0]
    return schema


def properties(schema: Json) -> Mapping[str, Json]:
    """Return the properties of a schema's root, also where it is a reference; {} if it has none."""
    return _map(_map(_followed(schema, schema)).get("properties"))


# -- surely fits ------------------------------------------------------------------------------------

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


def _tested(schema: Json) -> _Test:
    try:
        return _acceptor(schema)
    except RecursionError:
        return _unsure


def _surely(test: _Test, value: Json) -> bool:
    try:
        return test(value)
    except (RecursionError, TypeError, ValueError):  # too deep, or not JSON: jsonschema's part says so
        return False


def _acceptor(schema: Json) -> _Test:
    """Return a test that is true only of values that surely fit `schema`."""
    if _is_flag(schema):
        return _is_any if schema else _unsure
    if not _is_object(schema) or not _HARD.isdisjoint(schema) or not _is_sound(schema):
        return _unsure
    kinds = schema.get("type", TYPES)
    table: dict[type, _Test] = {}
    for name in [kinds] if _is_text(kinds) else kinds:
        for kind in _CLASSES[name]:
            tests = list(_TESTS[kind](schema)) if kind in _TESTS else []
            if kind is float and name == "integer" and kinds != TYPES and "number" not in kinds:
                tests.insert(0, float.is_integer)
            table[kind] = _all(tests)
    always = _all(list(_any_tests(schema)))
    if always is _is_any:
        return lambda value: table.get(value.__class__, _unsure)(value)
    return lambda value: table.get(value.__class__, _unsure)(value) and always(value)


def _is_sound(schema: Json) -> bool:
    """True if each keyword's own value is one that a test can be made of."""
    for key, value in schema.items():
        if key in _LEAVES and not _LEAVES[key].fits(value):
            return False
        if _PARTS.get(key, "one") != "one" and not (
            _is_list(value) if _PARTS[key] == "list" else _is_object(value)
        ):
            return False
    return True


def _all(tests: list[_Test]) -> _Test:
    if not tests:
        return _is_any
    return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)


def _some(tests: list[_Test]) -> _Test:
    return lambda value: any(test(value) for test in tests)


def _among(values: Iterable[Json]) -> _Test:
    allowed = frozenset(map(equal_key, values))
    return lambda value: equal_key(value) in allowed


def _sized(schema: Json, low: str, high: str) -> Iterator[_Test]:
    least, most = schema.get(low, 0), schema.get(high, float("inf"))
    if low in schema or high in schema:
        yield lambda value: least <= len(value) <= most


def _any_tests(schema: Json) -> Iterator[_Test]:
    if "enum" in schema:
        yield _among(schema["enum"])
    if "const" in schema:
        yield _among([schema["const"]])
    if "allOf" in schema:
        yield _all([_acceptor(part) for part in schema["allOf"]])
    if "anyOf" in schema:
        yield _some([_acceptor(part) for part in schema["anyOf"]])


def _number_tests(schema: Json) -> Iterator[_Test]:
    bounds = {
        "minimum": le,
        "maximum": ge,
        "exclusiveMinimum": lt,
        "exclusiveMaximum": gt,
        "multipleOf": _divides,
    }
    yield from (partial(compare, schema[key]) for key, compare in bounds.items() if key in schema)


def _text_tests(schema: Json) -> Iterator[_Test]:
    yield from _sized(schema, "minLength", "maxLength")
    if "pattern" in schema and fault(schema["pattern"]) is None:
        yield partial(surely, schema["pattern"])
    if (known := FORMATS.get(schema.get("format", ""))) is not None:
        yield known.fits


def _list_tests(schema: Json) -> Iterator[_Test]:
    yield from _sized(schema, "minItems", "maxItems")
    if "items" in schema:
        item = _acceptor(schema["items"])
        yield lambda value: all(map(item, value))
    if schema.get("uniqueItems"):
        yield lambda value: _repeated(value) is None


def _object_tests(schema: Json) -> Iterator[_Test]:
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


_TESTS: dict[type, Callable[[Json], Iterator[_Test]]] = {
    str: _text_tests, int: _number_tests, float: _number_tests, list: _list_tests, dict: _object_tests,
}  # fmt: skip


def _divides(step: Json, value: Json) -> bool:
    """True if `value` is a multiple of `step` as they are written: 0.3 is one of 0.1."""
    if isinstance(value, int) and isinstance(step, int):
        return not value % step
    from fractions import Fraction

    return (Fraction(str(value)) / Fraction(str(step))).denominator == 1


def _is_of(kind: Json, value: Json) -> bool:
    """True if `value` is of a type, or of one in a list of types."""
    if _is_list(kind):
        return any(_is_of(name, value) for name in kind)
    return value.__class__ in _CLASSES[kind] and (kind != "integer" or _is_whole(value))


def _repeated(items: list[Json]) -> tuple[int, int] | None:
    """Return the first two places of `items` that hold equal values."""
    seen: dict[Any, int] = {}
    for index, item in enumerate(items):
        first = seen.setdefault(equal_key(item), index)
        if first != index:
            return first, index
    return None


# -- jsonschema, guarded ----------------------------------------------------------------------------

_STEPS, _STEPS_A_NODE = 50_000, 10


class _Halt(Exception):  # noqa: N818 - not an error of ours: the judgement stops
    """The judgement costs more than it may; `thing` is the value that was looked at."""

    def __init__(self, text: str, thing: Json) -> None:
        super().__init__(text)
        self.thing = thing


class _Work:
    """What one judgement may cost; `jsonschema` carries it along in the place of a format checker."""

    __slots__ = ("_seconds", "_steps", "patterns")

    def __init__(self, nodes: int, patterns: Sequence[str]) -> None:
        self._steps = _STEPS + _STEPS_A_NODE * nodes
        self._seconds = LIMIT
        self.patterns = patterns

    def step(self, thing: Json) -> None:
        """Count one evaluation."""
        self._steps -= 1
        if self._steps < 0:
            raise _Halt("takes too many steps to judge: the schema multiplies itself", thing)

    def finds(self, pattern: str, text: str, thing: Json) -> bool:
        """Search; an expression that does not compile is found everywhere, since `flaws` speaks of it."""
        begun = perf_counter()
        try:
            found = search(pattern, text)
        except re.error:
            return True
        except PatternTimeout:
            found, self._seconds = False, 0.0
        self._seconds -= perf_counter() - begun
        if self._seconds < 0:
            raise _Halt(f"took too long to compare with `{pattern}`", thing)
        return found


def _validator(schema: Json) -> Any:
    """Return a validator of `jsonschema` whose every search and step is counted, and which fetches nothing."""
    registry = import_module("referencing").Registry()
    return _guarded()(schema, registry=registry, format_checker=_Work(0, _patterns_of(schema)))


@cache
def _guarded() -> Any:
    jsonschema: Any = import_module("jsonschema")
    draft = jsonschema.Draft202012Validator
    own = {**draft.VALIDATORS, **_OWN}
    counted = {name: _counted(own[name]) for name in (*_PARTS, "$ref", "$dynamicRef") if name in own}
    guarded = jsonschema.validators.extend(draft, {**own, **counted})
    evolve = guarded.evolve

    def evolved(self: Any, **changes: Any) -> Any:
        # a `$schema` within a schema would bring in the unguarded validator of its draft
        schema = changes.get("schema", self.schema)
        if _is_object(schema) and "$schema" in schema:
            changes["schema"] = {key: value for key, value in schema.items() if key != "$schema"}
        return evolve(self, **changes)

    guarded.evolve = evolved
    return guarded


def _counted(check: Any) -> Any:
    def counted(judge: Any, wanted: Json, value: Json, schema: Json) -> Iterator[Any]:
        judge.format_checker.step(value)
        for error in check(judge, wanted, value, schema) or ():
            judge.format_checker.step(value)  # an error is handed up through all that led to it
            yield error

    return counted


def _patterns_of(schema: Json) -> list[str]:
    """Return all that `patternProperties` may search for, wherever it stands."""
    return [
        name for node, _ in _nodes(schema) if _is_object(node) for name in _map(node.get("patternProperties"))
    ]


def _nodes(value: Json) -> Iterator[tuple[Json, Path]]:
    """Yield all that a value holds, itself too, with the paths, level by level."""
    level: list[tuple[Json, Path]] = [(value, ())]
    while level:
        yield from level
        level = [(part, (*path, step)) for node, path in level for step, part in _steps(node)]


# the keywords that search, that are quadratic upstream, or of which a part is to be told


def _error(text: str, path: Sequence[str] = ()) -> Any:
    return import_module("jsonschema").ValidationError(text, path=path)


def _required(_j: Any, names: Json, value: Json, _s: Json) -> Iterator[Any]:
    yield from (_error(name) for name in names if _is_object(value) and name not in value)


def _pattern(judge: Any, pattern: Json, value: Json, _s: Json) -> Iterator[Any]:
    if _is_text(value) and not judge.format_checker.finds(pattern, value, value):
        yield _error(pattern)


def _format(_j: Any, name: Json, value: Json, _s: Json) -> Iterator[Any]:
    if _is_text(value) and name in FORMATS and not FORMATS[name].fits(value):
        yield _error(name)


def _multiple_of(_j: Any, step: Json, value: Json, _s: Json) -> Iterator[Any]:
    if _is_number(value) and not _divides(step, value):
        yield _error("")


def _unique_items(_j: Any, wanted: Json, value: Json, _s: Json) -> Iterator[Any]:
    if wanted and _is_list(value) and (twice := _repeated(value)):
        yield _error(f"must not hold anything twice: items {twice[0]} and {twice[1]} are equal")


def _into(judge: Any, step: str, item: Json, part: Json) -> Iterator[Any]:
    if part is False:  # upstream would leave out where
        yield _error("must not be there", [step])
    else:
        yield from judge.descend(item, part, path=step, schema_path=step)


def _properties(judge: Any, parts: Json, value: Json, _s: Json) -> Iterator[Any]:
    for name, part in parts.items():
        if name in _map(value):
            yield from _into(judge, name, value[name], part)


def _pattern_properties(judge: Any, patterns: Json, value: Json, _s: Json) -> Iterator[Any]:
    for pattern, part in patterns.items():
        for name, item in _map(value).items():
            if judge.format_checker.finds(pattern, name, value):
                yield from _into(judge, name, item, part)


def _additional_properties(judge: Any, part: Json, value: Json, schema: Json) -> Iterator[Any]:
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, item in _map(value).items():
        if name in known or any(judge.format_checker.finds(pattern, name, value) for pattern in patterns):
            continue
        if part is False:
            yield _error("; ".join(filter(None, ("is unknown", did_you_mean(name, known)))), [name])
        else:
            yield from judge.descend(item, part, path=name)


def _property_names(judge: Any, part: Json, value: Json, _s: Json) -> Iterator[Any]:
    for name in _map(value):
        for error in judge.descend(name, part):
            yield _error(f"has a name that does not fit: it {_said(error)}", [name])


def _unevaluated_properties(judge: Any, part: Json, value: Json, schema: Json) -> Iterator[Any]:
    # upstream searches with plain `re` here: only after each of these searches was seen to end
    for name in _map(value):
        for pattern in judge.format_checker.patterns:
            judge.format_checker.finds(pattern, name, value)
    check = import_module("jsonschema").Draft202012Validator.VALIDATORS["unevaluatedProperties"]
    try:
        wrong = list(check(judge, part, value, schema) or ())
    except re.error:  # an expression that does not compile: what it would allow is not known
        return
    for error in wrong:
        yield _error("has properties that nothing allows " + error.message.partition("(")[2].rstrip(")"))


_OWN: dict[str, Any] = {
    "required": _required, "properties": _properties, "pattern": _pattern, "format": _format, "multipleOf": _multiple_of,
    "uniqueItems": _unique_items, "patternProperties": _pattern_properties, "propertyNames": _property_names,
    "additionalProperties": _additional_properties, "unevaluatedProperties": _unevaluated_properties,
}  # fmt: skip


# -- what is wrong with a value ---------------------------------------------------------------------


class Misfit(NamedTuple):
    """A thing wrong with a value, at `path` within it."""

    path: Path
    text: str


class Shape:
    """A schema that values are judged by; cheap to make, compiled at its first use."""

    __slots__ = ("_judge", "_test", "schema")

    def __init__(self, schema: Json) -> None:
        self.schema = schema
        self._test: _Test | None = None
        self._judge: Any = None

    def __repr__(self) -> str:
        return f"Shape({self.schema!r})"

    def misfits(self, value: Json, limit: int = 20) -> list[Misfit]:
        """Return what does not fit, at most `limit` things; [] if the value fits.

        Never raises: a schema or a value that cannot be judged is a misfit. An expression
        that `re` cannot compile is not judged.
        """
        if self._test is None:
            self._test = _tested(self.schema)
        if _surely(self._test, value):
            return []
        try:
            if self._judge is None:
                self._judge = _validator(self.schema)
        except Exception as error:  # noqa: BLE001 - what a foreign schema breaks in `jsonschema` has no bounds
            return [_unusable(_why(self.schema, error))]
        return _misfits(self._judge, value, limit)

    def fill(self, value: Json) -> Json:
        """Return a copy of `value` in which properties that are missing have their defaults.

        Through `properties`, `items` and references within the schema, at any depth.
        """
        return _filled(self.schema, self.schema, value)


def _misfits(judge: Any, value: Json, limit: int) -> list[Misfit]:
    nodes = depth = 0
    for _, path in _nodes(value):
        nodes, depth = nodes + 1, len(path)
        if depth > MAX_DEPTH:
            return [Misfit((), f"the value is nested deeper than {MAX_DEPTH} levels")]
    found: dict[Misfit, None] = {}  # the same may be found by many ways
    work = _Work(nodes, judge.format_checker.patterns)
    try:
        for error in judge.evolve(format_checker=work).iter_errors(value):
            found |= dict.fromkeys(_told(error))
            if len(found) >= limit:
                break
    except _Halt as halt:
        path = next((path for node, path in _nodes(value) if node is halt.thing), ())
        return [*found, Misfit(path, f"{_name(path)} {halt}")]
    except import_module("referencing.exceptions").Unresolvable as error:
        return [*found, _unusable(f"`{error.ref}` is not in it")]
    except RecursionError:
        return [*found, _unusable("it leads around and around")]
    except Exception as error:  # noqa: BLE001 - what a foreign schema breaks in `jsonschema` has no bounds
        return [*found, _unusable(_why(judge.schema, error))]
    return list(found)[:limit]


def _unusable(why: str) -> Misfit:
    return Misfit((), f"the schema cannot be used: {why}")


def _why(schema: Json, error: Exception) -> str:
    """Return what `jsonschema` broke at: a flaw of the schema, else its own words."""
    return next((flaw.text for flaw in flaws(schema) if flaw.slug in ERRORS), str(error).partition("\n")[0])


def _filled(root: Json, schema: Json, value: Json, depth: int = 0) -> Json:
    if depth > MAX_DEPTH:
        return value
    known = _map(_followed(root, schema))
    if _is_object(value):
        parts = _map(known.get("properties"))
        out = {name: _filled(root, parts.get(name), item, depth + 1) for name, item in value.items()}
        for name, part in parts.items():
            if name not in out and "default" in _map(part):
                # no root: a default that leads to itself through a reference would never end
                out[name] = _filled(None, part, part["default"], depth + 1)
        return out
    if _is_list(value):
        heads: list[Json] = known["prefixItems"] if _is_list(known.get("prefixItems")) else []
        rest = [known.get("items")] * (len(value) - len(heads))
        pairs = zip([*heads, *rest], value, strict=False)
        return [_filled(root, part, item, depth + 1) for part, item in pairs]
    return value


def explain(misfits: Sequence[Misfit], what: str = "arguments") -> str:
    """Return one text to act on, "" if there is nothing: `arguments do not fit: `id` is required; …`."""
    if not misfits:
        return ""
    head = what.partition(" of ")[0]
    verb = "do" if head.endswith("s") and not head.startswith("what ") else "does"
    return f"{what} {verb} not fit: {'; '.join(misfit.text for misfit in misfits)}"


# -- in words ---------------------------------------------------------------------------------------


def _name(path: Path) -> str:
    """Return how to call the value at `path`: `items[0].id` in backticks."""
    out = ""
    for step in path:
        if isinstance(step, str) and re.fullmatch(r"[\w-]+", step):
            out += f".{step}" if out else step
        else:
            out += f"[{_short(step)}]"
    return f"`{out}`" if out else "the value"


def _short(value: Json) -> str:
    try:
        text = compact(value)
    except (TypeError, ValueError, RecursionError):
        text = _kind(value)
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 - fits beside the rest of a line


def _types(kind: Json) -> str:
    nouns = [_NOUNS.get(name, str(name)) for name in (kind if _is_list(kind) else [kind])]
    return nouns[0] if len(nouns) == 1 else f"{', '.join(nouns[:-1])} or {nouns[-1]}"


def _told(error: Any) -> list[Misfit]:
    """Return an error of `jsonschema` in our words."""
    path = tuple(error.absolute_path)
    if error.validator == "required":
        known = _map(_map(error.schema).get("properties"))
        slip = nearest(error.message, (name for name in error.instance if name not in known))
        hint = f"; is `{slip}` meant for it?" if slip else ""
        return [Misfit(path, f"{_name((*path, error.message))} is required{hint}")]
    if error.validator in {"anyOf", "oneOf"} and error.context:
        return _nearest_branch(error, path)
    return [Misfit(path, f"{_name(path)} {_said(error)}")]


def _said(error: Any) -> str:
    """Return what an error says of the value, without its name."""
    words = _WORDS.get(error.validator)
    return words(error.validator_value, error.instance) if words else str(error.message)


def _nearest_branch(error: Any, path: Path) -> list[Misfit]:
    """Return what is wrong with the alternative that was most likely meant."""
    branches: dict[int, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    best = min(branches.values(), key=_distance)
    if not _distance(best)[0]:
        return [misfit for inner in best for misfit in _told(inner)]
    kinds: dict[str, None] = {}
    for inner in error.context:
        if inner.validator == "type" and not inner.relative_path:
            named = inner.validator_value
            kinds |= dict.fromkeys(named if _is_list(named) else [named])
    return [Misfit(path, f"{_name(path)} {_said_type(list(kinds), error.instance)}")]


def _distance(errors: list[Any]) -> tuple[bool, bool, int]:
    """Return how far an alternative is from a value: of another type, with another tag, how many errors."""
    other_type = any(error.validator == "type" and not error.relative_path for error in errors)
    tagged = (error for error in errors if error.validator in {"const", "enum"})
    return other_type, any(len(error.relative_path) <= 1 for error in tagged), len(errors)


def _said_type(kind: Json, value: Json) -> str:
    if kind in ("integer", ["integer"]) and _is_number(value):
        return f"must be a whole number, got {_short(value)}"
    return f"must be {_types(kind)}, got {_kind(value)}"


def _said_enum(allowed: Json, value: Json) -> str:
    shown = ", ".join(map(_short, allowed[:20])) + (", …" if len(allowed) > 20 else "")  # noqa: PLR2004 - a line or two
    near = nearest(value, filter(_is_text, allowed)) if _is_text(value) else None
    return f"must be one of {shown}; got {_short(value)}" + (
        f", did you mean {_short(near)}?" if near else ""
    )


def _said_size(bound: str, one: str, many: str) -> Callable[[Json, Json], str]:
    return lambda size, value: f"must have at {bound} {size} {one if size == 1 else many}, got {len(value)}"


def _said_together(needs: Json, value: Json) -> str:
    pairs = [
        (given, name)
        for given, names in needs.items()
        if given in value
        for name in names
        if name not in value
    ]
    return "lacks what goes with it: " + ", ".join(f"`{name}` with `{given}`" for given, name in pairs)


_WORDS: dict[str | None, Callable[[Json, Json], str]] = {
    None: lambda _, value: f"must not be there, got {_kind(value)}",
    "type": _said_type,
    "enum": _said_enum,
    "const": lambda wanted, value: f"must be {_short(wanted)}, got {_short(value)}",
    "minimum": lambda bound, value: f"must be at least {bound}, got {_short(value)}",
    "maximum": lambda bound, value: f"must be at most {bound}, got {_short(value)}",
    "exclusiveMinimum": lambda bound, value: f"must be more than {bound}, got {_short(value)}",
    "exclusiveMaximum": lambda bound, value: f"must be less than {bound}, got {_short(value)}",
    "multipleOf": lambda step, value: f"must be a multiple of {step}, got {_short(value)}",
    "pattern": lambda pattern, value: f"must match `{pattern}`, got {_short(value)}",
    "format": lambda name, value: f"must be {FORMATS[name].noun}, got {_short(value)}",
    "minLength": _said_size("least", "character", "characters"),
    "maxLength": _said_size("most", "character", "characters"),
    "minItems": _said_size("least", "item", "items"),
    "maxItems": _said_size("most", "item", "items"),
    "minProperties": _said_size("least", "property", "properties"),
    "maxProperties": _said_size("most", "property", "properties"),
    "items": lambda _, value: f"has more items than it may, got {len(value)}",
    "unevaluatedItems": lambda _, value: f"has items that nothing allows, got {len(value)}",
    "contains": lambda part, _: f"must have an item that fits {_short(part)}",
    "minContains": lambda count, _: f"must have at least {count} items that fit",
    "maxContains": lambda count, _: f"must have at most {count} items that fit",
    "dependentRequired": _said_together,
    "oneOf": lambda _, value: f"must fit exactly one of the alternatives, but {_short(value)} fits several",
    "not": lambda other, value: f"must not fit {_short(other)}, got {_short(value)}",
}
