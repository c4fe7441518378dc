from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from yaoci.definitions import Assistant, Callback, Method, Processor, Settings
from yaoci.derive import dump, json_schema
from yaoci.documents import kinds
from yaoci.marks import (
    Between,
    Doc,
    Expression,
    Flat,
    Form,
    Many,
    Nullable,
    Ref,
    Seconds,
    Template,
    Words,
    hints,
    marks_of,
)
from yaoci.spec import MISSING_KEY, NO_TEMPLATE, ONE_OF, UNKNOWN_KEY, WRONG_TYPE, WRONG_VALUE, decode

ROOTS = (Assistant, Processor, Settings)


# -- decoder and schema -----------------------------------------------------------------------------


@cache
def validator(kind):
    return Draft202012Validator(json_schema(kind, kinds()))


def documents_of(annotation):
    """Draw what a definition's annotation lets stand, from the annotation itself."""
    marks = ()
    while get_origin(annotation) is Annotated:
        marks = (*marks, *marks_of(annotation))
        annotation = get_args(annotation)[0]
    plain = _plain(annotation, marks)
    return st.none() | plain if any(isinstance(mark, Nullable) for mark in marks) else plain


def _plain(annotation, marks):
    origin, args = get_origin(annotation), get_args(annotation)
    found = {type(mark): mark for mark in marks}
    if Seconds in found:
        return st.sampled_from(["250ms", "10s", "2.5m", "24h", "7d"])
    if Words in found:
        return st.from_regex(found[Words].pattern, fullmatch=True).filter(lambda text: len(text) < 20)
    if annotation is Any or Expression in found:
        return VALUES
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        item = documents_of(args[0])
        listed = st.lists(item, max_size=2)
        return listed | item.filter(lambda one: not isinstance(one, list)) if Many in found else listed
    if origin in {Mapping, dict}:
        return st.dictionaries(documents_of(args[0]), documents_of(args[1]), max_size=2)
    if origin is not None:
        members = [arg for arg in args if arg is not type(None)]
        return st.one_of(
            [_plain(m, marks) if get_origin(m) is not Annotated else documents_of(m) for m in members]
        )
    if is_dataclass(annotation):
        return st.deferred(lambda: record(annotation))
    if annotation is str:
        return WORDS
    if annotation is bool:
        return st.booleans()
    low, high = found.get(Between, (-1000, 1000))
    return st.integers(int(low), int(high))


WORDS = st.sampled_from(["a", "b.c", "新", "no", "10s", "x y"])
VALUES = st.none() | st.booleans() | st.integers(-9, 9) | WORDS | st.lists(WORDS, max_size=2)


@cache
def record(kind):
    required, optional = {}, {}
    flat = None
    for f in fields(kind):
        annotation = hints(kind)[f.name]
        mark = next((m for m in marks_of(annotation) if isinstance(m, Flat)), None)
        if mark:
            union = get_args(annotation)[0]
            flat = list(kinds()[mark.kinds].values()) if mark.kinds else list(get_args(union))
            continue
        with_default = f.default is not f.default_factory  # both are MISSING where there is none
        (optional if with_default else required)[f.name.rstrip("_")] = documents_of(annotation)
    own = st.fixed_dictionaries(required, optional=optional)
    if flat is None:
        return own
    return st.builds(lambda one, other: {**one, **other}, own, st.one_of([record(member) for member in flat]))


KEYS = st.sampled_from(
    ["name", "args", "when", "value", "model", "x-mine", "nmae", "steps", "process", "2", "{{x}}"]
)
ODD = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, -3, 2.5, 1e9, "", "{{ x }}", "on", "5 s", [], [None], {}, {"a": 1}])
)


@st.composite
def mutated(draw, kind):
    document = draw(record(kind))
    odd = ODD.map(deepcopy)  # a mutation may change what an earlier one put in
    for _ in range(draw(st.integers(0, 2))):
        spots = list(_spots(document))
        holder, key = draw(st.sampled_from(spots)) if spots else (document, None)
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace" if key is not None:
                holder[key] = draw(odd)
            case "remove" if isinstance(holder, dict) and key is not None:
                del holder[key]
            case _ if isinstance(holder, dict):
                holder[draw(KEYS)] = draw(odd)
            case _:
                holder.append(draw(odd))
    return document


def _spots(value):
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield value, key
        yield from _spots(part)


@pytest.mark.parametrize("kind", ROOTS)
def test_what_a_definition_says_of_itself_is_a_schema(kind):
    Draft202012Validator.check_schema(json_schema(kind, kinds()))


@pytest.mark.parametrize("kind", ROOTS)
def test_decoder_and_schema_accept_the_same_documents(kind):
    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(mutated(kind))
    def same(document):
        decoded = decode(kind, document, kinds())
        fits = validator(kind).is_valid(document)
        assert (not decoded.troubles) is fits, (decoded.troubles, document)

    same()


@pytest.mark.parametrize("kind", ROOTS)
def test_a_document_that_fits_becomes_a_definition_and_the_same_document_again(kind):
    @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(record(kind))
    def again(document):
        decoded = decode(kind, document, kinds())
        assert not decoded.troubles
        told = dump(decoded.value)
        assert decode(kind, _without_seconds(told, document), kinds()).value == decoded.value

    again()


def _without_seconds(told, document):
    """Put back the durations, which a definition holds as seconds."""
    if isinstance(told, dict) and isinstance(document, dict):
        return {key: _without_seconds(part, document.get(key, part)) for key, part in told.items()}
    if isinstance(told, list) and not isinstance(document, list):
        return [_without_seconds(part, document) for part in told]
    if isinstance(told, list):
        return [_without_seconds(part, other) for part, other in zip(told, document, strict=True)]
    return document if isinstance(told, float) and isinstance(document, str) else told


# -- troubles ---------------------------------------------------------------------------------------


def troubles(kind, value):
    return [(t.kind, t.path, t.on) for t in decode(kind, value, kinds()).troubles]


def test_every_misfit_is_reported_not_only_the_first():
    value = {"model": 3, "nmae": "a", "limits": {"rounds": 0, "timeout": "soon"}}
    assert troubles(Assistant, value) == [
        (WRONG_TYPE, ("model",), "value"),
        (UNKNOWN_KEY, ("nmae",), "key"),
        (WRONG_VALUE, ("limits", "rounds"), "value"),
        (WRONG_VALUE, ("limits", "timeout"), "value"),
    ]


def test_a_misspelt_kind_is_one_trouble():
    assert troubles(Method, {"valu": 1, "description": "a"}) == [(UNKNOWN_KEY, ("valu",), "key")]


def test_two_kinds_are_one_trouble_at_the_second():
    assert troubles(Method, {"python": "f", "value": 1}) == [(ONE_OF, ("value",), "key")]


def test_no_kind_is_told_of_the_whole():
    assert troubles(Method, {"description": "a"}) == [(ONE_OF, (), "value")]


def test_a_missing_key_is_told_of_what_holds_it():
    assert troubles(Processor, {}) == [(MISSING_KEY, (), "value")]


def test_a_bad_key_of_a_mapping_is_told_of_the_key():
    assert troubles(Processor, {"methods": {"a-b": {"value": 1}}}) == [
        (WRONG_VALUE, ("methods", "a-b"), "key")
    ]


def test_a_template_where_none_may_stand_is_told():
    assert troubles(Assistant, {"description": "I am {{ assistant.name }}"}) == [
        (NO_TEMPLATE, ("description",), "value")
    ]


def test_what_holds_a_bad_part_is_left_out_and_the_rest_is_kept():
    decoded = decode(Assistant, {"tools": ["a.b", 3], "tags": ["x"]}, kinds())
    assert decoded.value == Assistant(tags=("x",))


def test_a_broken_method_leaves_the_others():
    decoded = decode(Processor, {"methods": {"a": {"value": 1}, "b": {}}}, kinds())
    assert list(decoded.value.methods) == ["a"]


def test_what_lacks_a_needed_part_is_nothing():
    assert decode(Processor, {"name": "a"}, kinds()).value is None


def test_a_key_without_a_value_is_asked_for():
    (trouble,) = decode(Assistant, {"tools": None}, kinds()).troubles
    assert trouble.label == "this wants a list, and nothing stands here"


def test_keys_of_the_root_with_x_are_free_and_deeper_ones_are_not():
    assert troubles(Processor, {"x-parts": [1], "methods": {"a": {"value": 1, "x-b": 1}}}) == [
        (UNKNOWN_KEY, ("methods", "a", "x-b"), "key")
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("10s", 10), ("2m", 120), ("24h", 86400), ("7d", 604800), ("1.5s", 1.5)],
)
def test_durations_become_seconds(text, seconds):
    assert decode(Assistant, {"limits": {"timeout": text}}, kinds()).value.limits.timeout == seconds


@pytest.mark.parametrize("text", ["10", "s", "-1s", "10 s", "1h30m", 10, "١s"])
def test_what_is_no_duration_is_told(text):
    assert troubles(Assistant, {"limits": {"timeout": text}}) == [
        (WRONG_VALUE, ("limits", "timeout"), "value")
    ]


def test_true_is_no_number():
    assert troubles(Assistant, {"limits": {"rounds": True}}) == [(WRONG_TYPE, ("limits", "rounds"), "value")]


def test_the_text_of_a_yes_is_told_what_to_write():
    (trouble,) = decode(Assistant, {"mentionable": "yes"}, kinds()).troubles
    assert trouble.help == "write `true`"


@pytest.mark.parametrize("key", ["sk-s3cret", "s3cret/+==", " s3cret", 53, "{{ s3cret-x }}", ["s3cret"]])
def test_what_stands_for_a_variable_is_never_repeated(key):
    (trouble,) = decode(Settings, {"providers": {"a": {"api": "a", "key": key}}}, kinds()).troubles
    assert "s3cret" not in trouble.label + trouble.help
    assert "53" not in trouble.label + trouble.help


@pytest.mark.parametrize("key", ["$BOX_KEY", "${BOX_KEY}", "{{ env.BOX_KEY }}", "{{BOX_KEY}}", "env.BOX_KEY"])
def test_a_variable_that_is_written_as_elsewhere_is_told_its_name(key):
    (trouble,) = decode(Settings, {"providers": {"a": {"api": "a", "key": key}}}, kinds()).troubles
    assert trouble.help == "write `BOX_KEY`"


# -- nodes ------------------------------------------------------------------------------------------


def marked(kind, value, mark):
    return [(node.path, node.value) for node in decode(kind, value, kinds()).nodes if node.mark == mark]


def test_a_text_stands_for_the_short_field_at_the_same_place():
    (node,) = marked(Assistant, {"hooks": {"done": "audit.log"}}, Ref("callable"))
    assert node == (("hooks", "done"), "audit.log")


def test_one_value_that_stands_for_a_list_keeps_its_place():
    (node,) = marked(Assistant, {"hooks": {"done": {"name": "a.b", "args": [1]}}}, Template())
    assert node == (("hooks", "done", "args"), (1,))


def test_the_members_of_a_list_have_their_index():
    nodes = marked(Assistant, {"hooks": {"done": ["a.b", "c.d"]}}, Callback.form)
    assert [path for path, _ in nodes] == [("hooks", "done", 0), ("hooks", "done", 1)]


def test_null_for_a_callback_is_none():
    value = {"methods": {"a": {"steps": [{"assistant": "b", "callback": None}]}}}
    decoded = decode(Processor, value, kinds())
    assert (decoded.troubles, decoded.value.methods["a"].handler.steps[0].action.callback) == ([], None)


def test_values_of_a_mapping_of_templates_may_hold_them():
    value = {"providers": {"a": {"api": "openai-chat", "headers": {"x": "{{ env.X }}"}}}}
    assert troubles(Settings, value) == []


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    form: ClassVar[Form] = Form("a leaf")
    return_: Annotated[str, Doc("What is given back.")]


def test_a_field_may_be_a_word_of_python():
    assert decode(Leaf, {"return": "a"}, {}).value == Leaf(return_="a")


def test_descriptions_reach_the_schema():
    schema = json_schema(Leaf, {})
    assert schema["$defs"]["Leaf"]["properties"]["return"]["description"] == "What is given back."
