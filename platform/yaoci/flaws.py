"""Judging a schema: one walk that finds what is none, can never fit, or means something else than it says."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .acceptors import is_of, surely_fits, test_of
from .diagnostics import did_you_mean, listed, nearest
from .judging import misfits_of, validator_of
from .keywords import (
    IGNORED,
    IN_PLACE,
    LEAVES,
    PARTS,
    TYPES,
    followed,
    is_flag,
    is_list,
    is_names,
    is_number,
    is_object,
    is_text,
    is_type,
    joined,
    kind_of,
    located,
    looked_up,
    object_of,
    parts_of,
)
from .patterns import fault
from .values import MAX_DEPTH, Json, Path
from .wording import short, types_in_words


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
        if not is_object(root):
            self._say(
                (), "root-not-object", f"parameters must be an object's schema, not {kind_of(root)}", hint
            )
            return False
        told = root if "type" in root else followed(root, root)
        if not is_object(told) or "type" not in told:
            if IN_PLACE.isdisjoint(root) and "$ref" not in root:
                self._say((), "root-type-missing", "the root has no `type`", "write `type: object`")
        elif (kind := told["type"]) != "object":
            path = ("type",) if told is root else ("$ref",)
            hint = "write `type: object`" if is_type(kind) else _type_help(kind)
            text = f"parameters must be an object, but `type` is {short(kind)}"
            self._say(path, "root-not-object", text, hint)
        return True

    def _schema(self, node: Json, place: _Place) -> None:
        if not is_object(node):
            if not is_flag(node):
                self._not_a_schema(node, place.path)
            return
        if place.depth > MAX_DEPTH:
            self._say(place.path, "too-deep", f"nested deeper than {MAX_DEPTH} levels, which no value may be")
            return
        self._seen.add(id(node))
        if "$id" in node:
            self._ids = True
            place = place._replace(base=joined(place.base, node["$id"]))
        for key, value in node.items():
            if (leaf := LEAVES.get(key)) is not None:
                if not leaf.fits(value):
                    self._bad_leaf(place.path, key, value, leaf.noun)
            elif key in PARTS:
                self._parts(node, place, key)
            elif key not in IGNORED and not key.startswith(("x-", "x_")):
                self._unknown_keyword(place.path, key)
        self._slips(node, place)

    def _parts(self, node: Json, place: _Place, key: str) -> None:
        value, holds, here = node[key], PARTS[key], (*place.path, key)
        if key == "items" and is_list(value):
            hint = "the schemas of a tuple stand in `prefixItems`"
            return self._say(here, "not-a-schema", "`items` must be one schema, not a list", hint)
        if holds == "list" and (not is_list(value) or not value):
            got = "an empty one" if value == [] else kind_of(value)
            return self._say(here, "not-a-schema", f"`{key}` must be a list of schemas, not {got}")
        if holds == "map" and not is_object(value):
            return self._say(
                here, "not-a-schema", f"`{key}` must be an object of schemas, not {kind_of(value)}"
            )
        if key == "patternProperties":
            for pattern in value:
                self._pattern((*here, pattern), pattern)
        elif key == "properties" and self._parameters:
            self._property_keys(here, value)
        parts: Iterable[tuple[Path, Json]] = ((here, value),)
        if holds != "one":
            parts = [((*here, step), part) for step, part in parts_of(value)]
        branch = place.branch or key in IN_PLACE
        for path, part in parts:
            if key in IN_PLACE:
                self._same.setdefault(id(node), []).append((part, ()))
            self._schema(part, _Place(path, place.base, place.depth + 1, branch))
        return None

    # what is no schema

    def _not_a_schema(self, node: Json, path: Path) -> None:
        hint = "write `{}` where any value is fine" if node is None else ""
        if isinstance(node, str) and (name := _TYPE_WORDS.get(node.lower()) or nearest(node, TYPES)):
            hint = f"write `{{type: {name}}}`"
        self._say(path, "not-a-schema", f"a schema must be an object, not {kind_of(node)}", hint)

    def _bad_leaf(self, path: Path, key: str, value: Json, noun: str) -> None:
        text, hint = f"`{key}` must be {noun}, not {kind_of(value)}", ""
        if key == "type":
            if not path and self._has(("root-not-object",)):
                return
            text, hint = f"`type` is {short(value)}", _type_help(value)
        elif key == "required" and is_text(value):
            hint = f"write `required: [{value}]`"
        elif key == "required" and is_flag(value):
            hint = "the object around it lists the names: `required: [id]`"
        elif key.startswith("exclusive") and is_flag(value):
            hint = f"write the bound itself: `{key}: 0`"
        elif is_list(value) and all(map(is_text, value)):
            text, hint = f"`{key}` names something twice", "name each once"
        elif is_number(value):
            text = f"`{key}` must be {noun}, not {short(value)}"
        self._say((*path, key), "not-a-schema", text, hint)

    def _unknown_keyword(self, path: Path, key: str) -> None:
        known = [name for name in (*LEAVES, *PARTS) if name.startswith("$") == key.startswith("$")]
        longer = [name for name in known if name.startswith(key)]
        meant = longer[0] if len(longer) == 1 else nearest(key, known)
        hint = f"did you mean `{meant}`?" if meant else "leave it out, or let its name begin with `x-`"
        if key == "nullable":
            hint = 'write `type: [string, "null"]`'
        self._say((*path, key), "unknown-keyword", f"`{key}` is no keyword of JSON Schema", hint)

    # slips: legal, but surely not meant, or refused by providers

    def _slips(self, node: Json, place: _Place) -> None:
        path, kind = place.path, node.get("type")
        if "enum" in node and is_type(kind) and is_list(node["enum"]):
            odd = [value for value in node["enum"] if not is_of(kind, value)]
            if odd:
                text = f"{short(odd[0])} is not {types_in_words(kind)}, so it can never fit"
                self._say(
                    (*path, "enum"), "enum-type", text, "put text in quotes" if kind == "string" else ""
                )
        if (kind == "array" or (is_list(kind) and "array" in kind)) and _ITEMS.isdisjoint(node):
            self._say(
                path, "array-without-items", "the list does not say what its `items` are", "add `items: {…}`"
            )
        if "required" in node and "properties" in node and not place.branch:
            self._required(node, path)
        if is_text(node.get("pattern")):
            self._pattern((*path, "pattern"), node["pattern"])
        for key in ("$ref", "$dynamicRef"):
            if is_text(node.get(key)):
                self._refs.append(_Ref(place._replace(path=(*path, key)), node[key], node))
        if not _LOWS.isdisjoint(node):
            self._ranges(node, path)
        if "default" in node:
            self._defaults.append((path, node))

    def _required(self, node: Json, path: Path) -> None:
        known, names = node["properties"], node["required"]
        others = node.get("additionalProperties", False) is not False or "patternProperties" in node
        if others or "$ref" in node or not IN_PLACE.isdisjoint(node) or not is_names(names):
            return
        for name in names:
            if name not in object_of(known):
                text = f"`{name}` is required, but not among `properties`"
                self._say((*path, "required"), "required-unknown", text, did_you_mean(name, object_of(known)))

    def _ranges(self, node: Json, path: Path) -> None:
        for low, high, strict in _RANGES:
            least, most = node.get(low), node.get(high)
            both = is_number(least) and is_number(most)
            if both and (least > most or (strict and least == most)):
                text = f"nothing can fit: `{low}` is {short(least)}, `{high}` is {short(most)}"
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
            node, path = located(self._root, ref.text) if ref.text.startswith("#") else (None, ())
        elif self._has(("not-a-schema",)):
            return
        else:
            node, path = looked_up(self._root, place.base, ref.text), place.path
        if is_object(node) or is_flag(node):
            self._same.setdefault(id(ref.node), []).append((node, place.path))
            if is_object(node) and id(node) not in self._seen:
                self._schema(node, _Place(path, place.base, 1, branch=True))
            return
        text, hint = f"`{ref.text}` is outside this schema", "copy it into `$defs`; nothing is ever fetched"
        if ref.text.startswith("#"):
            known = [
                f"#/{key}/{name}"
                for key in ("$defs", "definitions")
                for name in object_of(self._root.get(key))
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
            if not surely_fits(test_of(node), value):
                judge = judge or validator_of(self._root)
                if wrong := misfits_of(judge.evolve(schema=node), value, 1):
                    text = wrong[0].text.removeprefix("the value ")
                    self._say((*path, "default"), "default-misfit", f"the default does not fit: {text}")


_ITEMS = frozenset(("items", "prefixItems", "$ref", *IN_PLACE))
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
    names = value if is_list(value) else [value]
    odd = [name for name in names if name not in TYPES]
    if names and not odd:
        return "name each type once"
    if odd and is_text(odd[0]):
        if odd[0].lower() == "any":
            return "leave `type` out where any value is fine"
        if name := _TYPE_WORDS.get(odd[0].lower()) or nearest(odd[0], TYPES):
            return f"did you mean `{name}`?"
    return f"a type is one of {listed(TYPES, 'or')}"
