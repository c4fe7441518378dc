"""Schemas are judged as the metaschema does and better told; values as jsonschema does, and nothing runs away."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, SchemaError

from yaoci import acceptors, keywords, schemas, wording
from yaoci.flaws import ERRORS, Flaw, flaws
from yaoci.keywords import properties
from yaoci.schemas import Shape, explain
from yaoci.wording import Misfit

RUNAWAY = "^(a+)+$"
LONG = "a" * 40 + "b"


def obj(**parts):
    return {"type": "object", "properties": parts}


def texts(schema, value):
    return [misfit.text for misfit in Shape(schema).misfits(value)]


# -- judging a schema -------------------------------------------------------------------------------

scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "", "a", "b", "string", "("])
)
anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2), max_leaves=4)  # fmt: skip
names = st.lists(st.sampled_from("abc"), max_size=2, unique=True)
leaves = {
    "type": st.sampled_from([*keywords.TYPES, ["string", "null"], ["integer", "number"]]),
    "enum": st.lists(anything, max_size=3),
    "const": anything,
    "multipleOf": st.integers(1, 3),
    "minimum": st.integers(-2, 2),
    "exclusiveMaximum": st.integers(-2, 3),
    "minLength": st.integers(0, 2),
    "maxLength": st.integers(0, 2),
    "minItems": st.integers(0, 2),
    "maxProperties": st.integers(0, 2),
    "uniqueItems": st.booleans(),
    "pattern": st.sampled_from(["a", "^b", "^(a+)+"]),
    "required": names,
    "dependentRequired": st.dictionaries(st.sampled_from("abc"), names, max_size=1),
    "title": st.just("t"),
}


def nodes(inner):
    several = st.lists(inner, min_size=1, max_size=2)
    parts = {
        "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
        "patternProperties": st.dictionaries(st.sampled_from(["a", "^b"]), inner, max_size=1),
        **dict.fromkeys(
            ("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then"), inner
        ),
        "unevaluatedProperties": inner,
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), several),
    }
    return st.fixed_dictionaries({}, optional={**leaves, **parts})


sound = st.recursive(st.booleans() | st.fixed_dictionaries({}, optional=leaves), nodes, max_leaves=4)


@st.composite
def doubtful(draw):
    """Draw a schema in which some keyword may have any value at all."""
    schema = draw(sound.filter(lambda schema: isinstance(schema, dict)))
    where = draw(
        st.sampled_from([schema, *(v for v in schema.get("properties", {}).values() if isinstance(v, dict))])
    )
    key = draw(st.sampled_from(sorted({*keywords.LEAVES, *keywords.PARTS} - {"$ref", "$dynamicRef", "$id"})))
    where[key] = draw(anything)
    return schema


def is_schema(schema):
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return False
    return True


@settings(max_examples=300, deadline=None)
@given(doubtful())
def test_a_schema_has_an_error_just_where_the_metaschema_finds_one(schema):
    errors = {flaw.slug for flaw in flaws(schema)} & {"not-a-schema", "bad-regex"}
    assert (not errors) == is_schema(schema)


BAD = [
    (obj(x={"type": "strng"}), ("properties", "x", "type"), '`type` is "strng"', "did you mean `string`?"),
    (obj(x={"type": "int"}), ("properties", "x", "type"), '`type` is "int"', "did you mean `integer`?"),
    (obj(x={"type": None}), ("properties", "x", "type"), "`type` is null", 'the type `"null"` wants quotes'),
    (obj(x={"type": ["null", "null"]}), ("properties", "x", "type"), '`type` is ["null","null"]', "name each type once"),
    (obj(x={"type": "any"}), ("properties", "x", "type"), '`type` is "any"', "leave `type` out where any value is fine"),
    (obj(x="str"), ("properties", "x"), "a schema must be an object, not text", "write `{type: string}`"),
    (obj(x=None), ("properties", "x"), "a schema must be an object, not null", "write `{}` where any value is fine"),
    (obj(x={"required": True}), ("properties", "x", "required"), "`required` must be a list of names, each once, not a boolean", "the object around it lists the names: `required: [id]`"),
    ({"required": "x"}, ("required",), "`required` must be a list of names, each once, not text", "write `required: [x]`"),
    ({"required": ["x", "x"]}, ("required",), "`required` names something twice", "name each once"),
    ({"items": [{}]}, ("items",), "`items` must be one schema, not a list", "the schemas of a tuple stand in `prefixItems`"),
    ({"anyOf": []}, ("anyOf",), "`anyOf` must be a list of schemas, not an empty one", ""),
    ({"properties": []}, ("properties",), "`properties` must be an object of schemas, not a list", ""),
    ({"exclusiveMinimum": True}, ("exclusiveMinimum",), "`exclusiveMinimum` must be a number, not a boolean", "write the bound itself: `exclusiveMinimum: 0`"),
    ({"multipleOf": 0}, ("multipleOf",), "`multipleOf` must be a number above 0, not 0", ""),
    ({"minLength": -1}, ("minLength",), "`minLength` must be a whole number from 0 up, not -1", ""),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "path", "text", "help_"), BAD, ids=[text for *_, text, _ in BAD])
def test_what_is_no_schema_is_told_once_with_its_place_and_what_to_do(schema, path, text, help_):
    assert flaws(schema) == [Flaw(path, "not-a-schema", text, help_)]


SLIPS = [
    (obj(x={"type": "array"}), ("properties", "x"), "array-without-items"),
    (obj(x={"type": ["array", "null"]}), ("properties", "x"), "array-without-items"),
    ({**obj(x={}), "required": ["y"]}, ("required",), "required-unknown"),
    ({**obj(x={}), "required": ["y"], "additionalProperties": False}, ("required",), "required-unknown"),
    ({"type": "string", "enum": ["1", 2]}, ("enum",), "enum-type"),
    ({"minimum": 5, "maximum": 1}, (), "empty-range"),
    ({"exclusiveMinimum": 1, "maximum": 1}, (), "empty-range"),
    ({"minLength": 2, "maxLength": 1}, (), "empty-range"),
    ({"type": "integer", "default": "ten"}, ("default",), "default-misfit"),
    ({"$defs": {"n": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/n", "default": "x"}}}, ("properties", "x", "default"), "default-misfit"),
    ({"require": ["x"]}, ("require",), "unknown-keyword"),
    ({"pattern": r"^\p{L}$"}, ("pattern",), "regex-dialect"),
    ({"pattern": "("}, ("pattern",), "bad-regex"),
    ({"patternProperties": {"(": {}}}, ("patternProperties", "("), "bad-regex"),
    ({"$ref": "#/$defs/a"}, ("$ref",), "ref-unresolved"),
    ({"$ref": "#a", "$defs": {"a": {"$anchor": "b"}}}, ("$ref",), "ref-unresolved"),
    ({"$ref": "#/title", "title": "x"}, ("$ref",), "ref-unresolved"),
    ({"$ref": "http://127.0.0.1:9/a"}, ("$ref",), "ref-unresolved"),
    ({"$ref": "file:///etc/passwd"}, ("$ref",), "ref-unresolved"),
    ({"$ref": "other.json"}, ("$ref",), "ref-unresolved"),
    ({"$id": "http://a.test/x", "$ref": "http://b.test/x"}, ("$ref",), "ref-unresolved"),
    ({"$ref": "#"}, ("$ref",), "ref-loop"),
    ({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}, ("$defs", "a", "allOf", 0, "$ref"), "ref-loop"),
    (obj(x={"$ref": "#/$defs/a"}) | {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, ("$defs", "b", "$ref"), "ref-loop"),
    ({"$ref": "#/x/a", "x": {"a": {"type": "strng"}}, "x-more": 1}, ("x", "a", "type"), "not-a-schema"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "path", "slug"), SLIPS, ids=[f"{slug}-{json.dumps(s)}" for s, _, slug in SLIPS]
)
def test_a_slip_is_found_where_it_is(schema, path, slug):
    found = [flaw for flaw in flaws(schema) if flaw.slug != "unknown-keyword" or slug == "unknown-keyword"]
    assert [(flaw.path, flaw.slug) for flaw in found] == [(path, slug)]


FINE = [
    True,
    {},
    obj(),
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"a": {}},
        "$ref": "#/definitions/a",
    },
    {"$ref": "#w", "$defs": {"w": {"$anchor": "w", "type": "string"}}},
    {"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": True}},
    {"$id": "http://a.test/x", "$ref": "http://a.test/x#/$defs/a", "$defs": {"a": {}}},
    {
        "$ref": "b",
        "$id": "http://a.test/x",
        "$defs": {"b": {"$id": "b", "$ref": "#/$defs/c", "$defs": {"c": {}}}},
    },
    {"properties": {"next": {"$ref": "#"}}},
    {"items": {"$ref": "#/prefixItems/0"}, "prefixItems": [{"type": "string"}]},
    {**obj(a={}), "anyOf": [{"required": ["a"]}, {"properties": {"b": {}}, "required": ["a", "b"]}]},
    {**obj(a={}), "required": ["z"], "additionalProperties": True},
    {**obj(a={}), "required": ["z"], "patternProperties": {"z": {}}},
    {**obj(a={}), "required": ["z"], "allOf": [obj(z={})]},
    {"type": ["string", "null"], "enum": ["a", None], "default": None},
    {"type": "array", "prefixItems": [{}]},
    {"minLength": 2.0, "x-ui": {"anything": 1}, "format": "colour"},
    obj(
        properties={"type": "object", "properties": {}}, type={"type": "string"}, required={"type": "string"}
    ),
    {"const": {"type": "strng", "$ref": "nowhere"}, "examples": [{"$ref": "nowhere"}]},
]


@pytest.mark.parametrize("schema", FINE, ids=json.dumps)
def test_what_is_legal_and_meant_has_no_flaw(schema):
    assert flaws(schema) == []


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (obj(), []),
        ({"$ref": "#/$defs/a", "$defs": {"a": obj()}}, []),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, [(("$ref",), "root-not-object")]),
        ({"properties": {}}, [((), "root-type-missing")]),
        ({"type": "array", "items": {}}, [(("type",), "root-not-object")]),
        ({"type": ["object", "null"]}, [(("type",), "root-not-object")]),
        ({"type": "dict"}, [(("type",), "root-not-object")]),
        (True, [((), "root-not-object")]),
        ([], [((), "root-not-object")]),
        (obj(城市={}), [(("properties", "城市"), "property-key")]),
        (
            obj(a=obj(**{"first name": {}})),
            [(("properties", "a", "properties", "first name"), "property-key")],
        ),
    ],
)
def test_parameters_are_an_object_with_names_that_providers_take(schema, found):
    assert [(flaw.path, flaw.slug) for flaw in flaws(schema, parameters=True)] == found


def test_a_schema_deeper_than_any_value_is_told_once():
    schema = {}
    for _ in range(400):
        schema = obj(c=schema)
    assert [flaw.slug for flaw in flaws(schema)] == ["too-deep"]


def test_a_keyword_of_another_tool_is_told_what_to_write_instead():
    hints = {key: flaws({key: True})[0].help for key in ("nullable", "desc", "zzz")}
    assert hints == {
        "nullable": 'write `type: [string, "null"]`',
        "desc": "did you mean `description`?",
        "zzz": "leave it out, or let its name begin with `x-`",
    }


def test_a_type_like_no_other_is_told_all_there_are():
    assert flaws({"type": "zzz"})[0].help.startswith("a type is one of `array`, `boolean`")


def test_only_what_leaves_nothing_to_judge_by_is_an_error():
    assert {"not-a-schema", "bad-regex", "ref-loop"} <= ERRORS
    assert "regex-dialect" not in ERRORS


# -- judging a value --------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(sound, anything)
def test_a_value_fits_just_where_jsonschema_says_so(schema, value):
    assert (Shape(schema).misfits(value) == []) == Draft202012Validator(schema).is_valid(value)


@settings(max_examples=400, deadline=None)
@given(sound, anything)
def test_what_the_closures_accept_jsonschema_accepts(schema, value):
    if acceptors.surely_fits(acceptors.test_of(schema), value):
        assert Draft202012Validator(schema).is_valid(value)


SAYINGS = [
    ({"type": "number"}, "x", "the value must be a number, got text"),
    ({"type": "number"}, True, "the value must be a number, got a boolean"),
    ({"type": "integer"}, 1.5, "the value must be a whole number, got 1.5"),
    ({"type": ["string", "null"]}, [], "the value must be text or null, got a list"),
    (obj(id={"type": "string"}), {"id": 3}, "`id` must be text, got a number"),
    ({**obj(id={}), "required": ["id"]}, {}, "`id` is required"),
    ({**obj(amount={}), "required": ["amount"]}, {"amuont": 1}, "`amount` is required; is `amuont` meant for it?"),
    (obj(items={"items": {"required": ["id"]}}), {"items": [{}]}, "`items[0].id` is required"),
    (obj(**{"a b": {"type": "null"}}), {"a b": 1}, '`["a b"]` must be null, got a number'),
    ({**obj(city={}), "additionalProperties": False}, {"citty": 1}, "`citty` is unknown; did you mean `city`?"),
    ({"additionalProperties": {"type": "null"}}, {"x": 1}, "`x` must be null, got a number"),
    ({"enum": ["red", "green"]}, "gren", 'the value must be one of "red", "green"; got "gren", did you mean "green"?'),
    ({"enum": [1, None]}, 2, "the value must be one of 1, null; got 2"),
    ({"const": {"a": 1}}, 2, 'the value must be {"a":1}, got 2'),
    ({"minimum": 5}, 3, "the value must be at least 5, got 3"),
    ({"maximum": 5}, 7, "the value must be at most 5, got 7"),
    ({"exclusiveMinimum": 5}, 5, "the value must be more than 5, got 5"),
    ({"exclusiveMaximum": 5}, 5, "the value must be less than 5, got 5"),
    ({"multipleOf": 0.1}, 0.35, "the value must be a multiple of 0.1, got 0.35"),
    ({"minLength": 1}, "", "the value must have at least 1 character, got 0"),
    ({"maxLength": 2}, "客服部", "the value must have at most 2 characters, got 3"),
    ({"minItems": 2}, [1], "the value must have at least 2 items, got 1"),
    ({"maxProperties": 0}, {"a": 1}, "the value must have at most 0 properties, got 1"),
    ({"pattern": "^A"}, "B", 'the value must match `^A`, got "B"'),
    ({"format": "date"}, "soon", 'the value must be a date such as 2026-01-31, got "soon"'),
    ({"uniqueItems": True}, [1, 2, 1.0], "the value must not hold anything twice: items 0 and 2 are equal"),
    ({"contains": {"const": 1}}, [2], 'the value must have an item that fits {"const":1}'),
    ({"contains": {"const": 1}, "maxContains": 1}, [1, 1], "the value must have at most 1 items that fit"),
    ({"prefixItems": [{}], "items": False}, [1, 2], "the value has more items than it may, got 2"),
    ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2], "the value has items that nothing allows, got 2"),
    ({"patternProperties": {"^a": False}}, {"ab": 1}, "`ab` must not be there"),
    (False, 1, "the value must not be there, got a number"),
    ({"not": {"type": "null"}}, None, 'the value must not fit {"type":"null"}, got null'),
    ({"properties": {"a": False}}, {"a": 1}, "`a` must not be there"),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "the value lacks what goes with it: `b` with `a`"),
    ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "`ab` has a name that does not fit: it must have at most 1 character, got 2"),
    ({"unevaluatedProperties": False}, {"a": 1}, "the value has properties that nothing allows 'a' was unexpected"),
    ({"oneOf": [{"type": "integer"}, {"minimum": 3}]}, 5, "the value must fit exactly one of the alternatives, but 5 fits several"),
    ({"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}, 1, "the value must be text or a list, got a number"),
    ({"anyOf": [{"type": "null"}, {**obj(id={"type": "string"}), "required": ["id"]}]}, {"id": 1}, "`id` must be text, got a number"),
    ({"oneOf": [obj(kind={"const": "a"}, x={"type": "string"}), obj(kind={"const": "b"}, y={"type": "string"})]}, {"kind": "b", "x": 1, "y": 1}, "`y` must be text, got a number"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "text"), SAYINGS, ids=[text for *_, text in SAYINGS])
def test_a_misfit_says_what_was_expected_and_what_came(schema, value, text):
    assert texts(schema, value) == [text]


def test_a_misfit_has_the_path_of_what_is_there():
    shape = Shape(
        {
            **obj(items={"items": obj(n={"type": "integer"})}),
            "required": ["id"],
            "additionalProperties": False,
        }
    )
    found = shape.misfits({"items": [{"n": 1}, {"n": "x"}], "other": 1})
    assert {misfit.path for misfit in found} == {(), ("items", 1, "n"), ("other",)}


def test_misfits_stop_at_the_limit():
    assert len(Shape({"items": {"type": "string"}}).misfits(list(range(100)), limit=3)) == 3


def test_a_boolean_is_no_number_and_a_float_may_be_whole():
    assert texts({"type": "integer"}, 1.0) == []
    assert texts({"type": "integer"}, False) != []
    assert texts({"enum": [1]}, 1.0) == []
    assert texts({"enum": [1]}, True) != []


def test_multiples_are_counted_as_written():
    assert texts({"multipleOf": 0.1}, 0.3) == []
    assert texts({"multipleOf": 0.01}, 19.99) == []


@pytest.mark.parametrize("deep", [True, False], ids=["jsonschema's part", "the closures"])
def test_formats_are_asserted_and_unknown_ones_are_remarks(deep):
    schema = {"format": "uuid", **({"not": {"type": "null"}} if deep else {})}
    assert texts(schema, "x") != []
    assert texts(schema, "2eb8aa08-aa98-11ea-b4aa-73b441d16380") == []
    assert texts(schema, 5) == []
    assert texts({**schema, "format": "colour"}, "x") == []


def test_an_expression_of_another_dialect_is_not_judged():
    assert texts({"pattern": r"^\p{L}$"}, "1") == []
    assert texts({"pattern": r"^\p{L}$", "not": {"type": "null"}}, "1") == []
    assert texts({"patternProperties": {r"^\p{L}": True}, "unevaluatedProperties": False}, {"a": 1}) == []


# -- hostile schemas and values ---------------------------------------------------------------------


def chain(keyword, last, levels=40):
    doubled = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n - 1}"}] * 2} for n in range(1, levels)}
    return {"$defs": {"a0": last, **doubled}, "$ref": f"#/$defs/a{levels - 1}"}


@pytest.mark.parametrize(
    ("schema", "value", "path"),
    [
        (obj(x={"pattern": RUNAWAY}), {"x": LONG}, ("x",)),
        ({"patternProperties": {RUNAWAY: {"type": "string"}}}, {LONG: 1}, ()),
        ({"patternProperties": {RUNAWAY: True}, "additionalProperties": False}, {LONG: 1}, ()),
        ({"patternProperties": {RUNAWAY: True}, "unevaluatedProperties": False}, {LONG: 1}, ()),
        ({"unevaluatedProperties": False, "$ref": "#/$defs/a", "$defs": {"a": {"patternProperties": {RUNAWAY: True}}}}, {LONG: 1}, ()),
        ({"propertyNames": {"pattern": RUNAWAY}}, {LONG: 1}, ()),
        ({"items": {"pattern": RUNAWAY}}, [LONG] * 1000, (0,)),
        ({"not": {"pattern": RUNAWAY}}, LONG, ()),
        ({"anyOf": [{"pattern": RUNAWAY}, {"type": "string"}], "not": {"type": "null"}}, LONG, ()),
        ({"$ref": "#/x", "x": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": RUNAWAY}}, LONG, ()),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"n": {"$ref": "#"}, "p": {"pattern": RUNAWAY}}}, {"n": {"p": LONG}}, ("n", "p")),
    ],
)  # fmt: skip
def test_no_search_runs_away_wherever_it_stands(schema, value, path):
    assert Shape(schema).misfits(value) == [
        Misfit(path, f"{wording.in_path_form(path)} took too long to compare with `{RUNAWAY}`")
    ]


@pytest.mark.parametrize(
    ("keyword", "value"), [("allOf", "x"), ("allOf", 1), ("anyOf", 1), ("oneOf", "x"), ("oneOf", 1)]
)
def test_a_schema_that_doubles_at_each_level_is_refused(keyword, value):
    assert texts(chain(keyword, {"type": "string"}), value)[-1].endswith("the schema multiplies itself")


def test_a_bomb_with_unevaluated_properties_is_refused():
    schema = {**chain("allOf", {"type": "object"}), "unevaluatedProperties": False}
    assert "multiplies itself" in texts(schema, {"x": 1})[-1]


def test_an_honest_large_value_is_no_bomb():
    row = {"$ref": "#/$defs/row"}
    schema = {
        "type": "array",
        "items": row,
        "$defs": {"row": obj(id={"type": "integer"}, name={"type": "string"})},
    }
    assert texts(schema, [{"id": n, "name": f"name {n}"} for n in range(6000)]) == []


@pytest.mark.parametrize(
    "schema", [{"$ref": "#"}, {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}]
)
def test_a_reference_to_itself_is_a_misfit(schema):
    assert texts(schema, 1) == ["the schema cannot be used: it leads around and around"]


def test_a_recursive_schema_judges_a_recursive_value():
    tree = {**obj(left={"$ref": "#"}, n={"type": "integer"})}
    assert texts(tree, {"left": {"left": {"n": 1}}}) == []
    assert texts(tree, {"left": {"left": {"n": "x"}}}) == ["`left.left.n` must be a whole number, got text"]


@pytest.mark.parametrize("schema", [{"type": "array", "items": {"$ref": "#"}}, {"not": {}}, {"const": 1}, {"uniqueItems": True, "maxItems": 0}])  # fmt: skip
def test_a_value_too_deep_is_a_misfit(schema):
    value = []
    for _ in range(3000):
        value = [value]
    assert texts(schema, value) == ["the value is nested deeper than 64 levels"]


def test_a_constant_too_deep_for_python_is_a_misfit():
    value = []
    for _ in range(3000):
        value = [value]
    assert texts({"const": value}, 1) != []


def test_many_different_objects_are_compared_in_one_pass():
    rows = [{"a": n, "b": [n]} for n in range(30_000)]
    assert texts({"uniqueItems": True}, rows) == []
    assert texts({"uniqueItems": True}, [*rows, {"b": [7], "a": 7}])[0].endswith(
        "items 7 and 30000 are equal"
    )


def test_nothing_is_ever_fetched():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/s"
        for schema in (
            {"$ref": url},
            {"$dynamicRef": url},
            {"$id": url, "$ref": "other"},
            {"$schema": url, "not": {"$ref": url + "#a"}},
        ):
            assert "ref-unresolved" in {flaw.slug for flaw in flaws(schema)}
            assert "is not in it" in texts(schema, 1)[0]
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    "schema",
    [None, 5, "x", [1], {"type": "any"}, {"items": [{}]}, {"required": 5}, {"properties": {"a": "string"}}, {"$ref": 5}, {"$id": 5, "$ref": "#/a"}],
)  # fmt: skip
def test_what_is_no_schema_is_a_misfit_that_says_why(schema):
    value = [{}] if isinstance(schema, dict) and "items" in schema else {"a": 1}
    (said,) = texts(schema, value)
    assert said == f"the schema cannot be used: {flaws(schema)[0].text}"


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1, 2}, b"x", 10**5000], ids=["nan", "inf", "set", "bytes", "huge"]
)
@pytest.mark.parametrize("schema", [{"type": "string"}, {"multipleOf": 0.5, "minimum": 1e400}, {"enum": [1]}])
def test_what_is_no_json_never_raises(schema, value):
    assert all(isinstance(misfit, Misfit) for misfit in Shape(schema).misfits(value))


# -- defaults, names, texts -------------------------------------------------------------------------


def test_defaults_are_filled_in_at_any_depth_and_nothing_else_changes():
    schema = obj(
        tone={"default": "friendly"},
        page=obj(size={"default": 10}),
        rows={"items": obj(n={"default": 0})},
        pair={"prefixItems": [obj(a={"default": 1})], "items": obj(b={"default": 2})},
        there={"default": 1},
    )
    value = {"page": {}, "rows": [{}, {"n": 5}, 7], "pair": [{}, {}], "there": None, "more": {"x": [1]}}
    before = json.dumps(value)
    filled = Shape(schema).fill(value)
    assert filled == {
        "page": {"size": 10}, "rows": [{"n": 0}, {"n": 5}, 7], "pair": [{"a": 1}, {"b": 2}],
        "there": None, "more": {"x": [1]}, "tone": "friendly",
    }  # fmt: skip
    assert json.dumps(value) == before
    assert filled["more"]["x"] is not value["more"]["x"]


def test_a_default_is_filled_in_itself_and_is_a_copy():
    schema = obj(page={**obj(size={"default": 10}), "default": {"tags": []}})
    filled = Shape(schema).fill({})
    assert filled == {"page": {"tags": [], "size": 10}}
    filled["page"]["tags"].append(1)
    assert Shape(schema).fill({}) == {"page": {"tags": [], "size": 10}}


def test_defaults_are_found_through_references():
    schema = {"$ref": "#/$defs/a", "$defs": {"a": obj(n={"default": 1}, b={"$ref": "#/$defs/a"})}}
    assert Shape(schema).fill({"b": {}}) == {"n": 1, "b": {"n": 1}}


def test_a_default_that_leads_to_itself_ends():
    schema = obj(next={"$ref": "#", "default": {}})
    assert Shape(schema).fill({}) == {"next": {}}


@pytest.mark.parametrize("schema", [True, None, [], {"properties": []}, {"$ref": "#"}, {"prefixItems": 5}, {"properties": {"a": "x"}}])  # fmt: skip
@pytest.mark.parametrize("value", [{}, [1], "x", None])
def test_filling_by_what_is_no_schema_changes_nothing(schema, value):
    assert Shape(schema).fill(value) == value


def test_filling_bears_a_value_that_is_too_deep():
    value = []
    for _ in range(3000):
        value = [value]
    filled, depth = Shape(True).fill(value), 0
    while filled:
        filled, depth = filled[0], depth + 1
    assert depth == 3000


def test_the_properties_of_a_root():
    assert properties(obj(a={})) == {"a": {}}
    assert properties({"$ref": "#/$defs/a", "$defs": {"a": obj(b={})}}) == {"b": {}}
    for nothing in (True, {}, {"properties": []}, {"$ref": "#"}, {"$ref": "#/nowhere"}, {"$ref": 5}, None):
        assert properties(nothing) == {}


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("arguments", "arguments do not fit: `id` is required; `amount` must be a number, got text"),
        ("the arguments of `refund`", "the arguments of `refund` do not fit: "),
        ("the answer", "the answer does not fit: "),
        ("what `done` answers", "what `done` answers does not fit: "),
    ],
)
def test_misfits_are_explained_in_one_text(what, text):
    shape = Shape({**obj(amount={"type": "number"}), "required": ["id"]})
    misfits = sorted(shape.misfits({"amount": "x"}), key=lambda misfit: len(misfit.path))
    assert explain(misfits, what).startswith(text)
    assert explain([], what) == ""


def test_ordinary_schemas_and_values_do_not_import_jsonschema():
    script = """
import sys
from yaoci.flaws import flaws
from yaoci.schemas import Shape
schema = {"type": "object", "required": ["id"], "additionalProperties": False, "properties": {
    "id": {"type": "string", "pattern": "^A[0-9]+$", "description": "A number."},
    "to": {"anyOf": [{"type": "string", "format": "email"}, {"type": "null"}], "default": None},
    "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True, "maxItems": 3},
    "n": {"type": "integer", "minimum": 1, "default": 5}}}
assert flaws(schema, parameters=True) == []
assert flaws({"type": "strng", "$ref": "#/$defs/a"}) != []
assert Shape(schema).misfits({"id": "A42", "to": "a@b.c", "tags": ["a"], "n": 3}) == []
print(sorted({"jsonschema", "referencing", "subprocess"} & set(sys.modules)))
assert Shape(schema).misfits({}) != []
print("jsonschema" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(Path(schemas.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("[]\nTrue\n", "")
