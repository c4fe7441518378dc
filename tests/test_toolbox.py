"""A turn's tools: reading what a model asks for, counting it, and writing results."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaoci.errors import Failed
from yaoci.messages import FunctionCall
from yaoci.toolbox import MAX_ARGUMENTS, MAX_RESULT, Toolbox, arguments, result_text

from .project import project

FILES = {
    "assistants/a.yaml": """
        model: local
        tools:
          - shop.find
          - {process: shop.any, id: anything, limits: {calls: 2}}
        """,
    "processes/shop.yaml": """
        methods:
          find:
            description: Finds one order by its number. Use it whenever an order is named.
            parameters:
              type: object
              properties:
                id: {type: string, pattern: "^A[0-9]+$"}
                most: {type: integer, default: 5}
              required: [id]
            value: found
          any: {description: Takes anything at all. Use it for nothing., value: 1, parameters: {type: object}}
        """,
}


@pytest.fixture
def tools(tmp_path):
    return Toolbox(project(tmp_path, FILES).assistants["a"].tools)


def call(name="shop_find", text='{"id": "A1"}'):
    return FunctionCall(id="1", name=name, arguments=text)


def refused(work, *args):
    with pytest.raises(Failed) as caught:
        work(*args)
    return caught.value.failure


def test_the_functions_are_those_of_the_file_in_its_order(tools):
    assert [function.id for function in tools.functions] == ["shop_find", "anything"]


def test_a_call_is_read_with_its_defaults(tools):
    wanted = tools.read(call())
    assert wanted.tool.process.name == "shop.find"
    assert wanted.args == {"id": "A1", "most": 5}


@pytest.mark.parametrize(
    ("name", "says"),
    [("shop_fnid", "did you mean `shop_find`?"), ("", "`anything` and `shop_find`"), ("世", "there are")],
)
def test_an_unknown_tool_is_told_with_the_known_ones(tools, name, says):
    failure = refused(tools.read, call(name))
    assert failure.kind == "unknown_tool"
    assert f"there is no tool `{name}`" in failure.text
    assert says in failure.text


def test_where_there_are_no_tools_that_is_told():
    assert refused(Toolbox({}).read, call()).text == "there is no tool `shop_find`: there are none"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "id"),
        ('{"id": "B1"}', "id"),
        ('{"id": 5}', "id"),
        ('{"id": "A1", "most": "5"}', "most"),
        ('{"id": "A1", "most": true}', "most"),
    ],
)
def test_arguments_that_do_not_fit_are_told_by_name(tools, text, says):
    failure = refused(tools.read, call(text=text))
    assert failure.kind == "bad_args"
    assert f"`{says}`" in failure.text
    assert "`shop_find`" in failure.text
    assert failure.place == "assistants/a.yaml:4"


def test_changed_arguments_fit_or_are_told_whatever_they_are(tools):
    tool = tools.read(call()).tool
    assert tools.fit(tool, {"id": "A2"}) == {"id": "A2", "most": 5}
    for changed in ({"id": "x"}, {}, 5, None, "A1", ["A1"]):
        assert refused(tools.fit, tool, changed).kind == "bad_args"


# -- reading arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}), ("  \n", {}), ("null", {}), ("{}", {}), ('{"a": 1}', {"a": 1}), ('"{\\"a\\": 1}"', {"a": 1}),
        ('"  {}"', {}), ('{"a": "\\ud83d"}', {"a": "�"}), ('{"a": 1, "a": 2}', {"a": 2}), ('{"客": "服"}', {"客": "服"}),
        ('{"a": "' + "x" * 1000 + '"}', {"a": "x" * 1000}),
    ],
)  # fmt: skip
def test_arguments_are_one_object(text, value):
    assert arguments(text) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not valid JSON"), ('{"a": 1', "at character"), ("{'a': 1}", "not valid JSON"), ("{} {}", "not valid JSON"),
        ("[1]", "one JSON object"), ("5", "one JSON object"), ('"text"', "one JSON object"), ('"[1]"', "one JSON object"),
        ("true", "one JSON object"), ('{"a": NaN}', "NaN is not JSON"), ('{"a": -Infinity}', "-Infinity is not JSON"),
        ('{"a": 1e999}', "inf is not a JSON number"), ('{"a": ' + "9" * 5000 + "}", "digits"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", "deeper than 64"), ("[" * 100_000, "deep"),
        ('{"a":' * 100_000, "deep"), ('{"a": "' + "x" * MAX_ARGUMENTS + '"}', "characters; at most"),
    ],
    ids=lambda value: value[:12],
)  # fmt: skip
def test_what_is_no_object_is_told(text, says):
    failure = refused(arguments, text)
    assert failure.kind == "bad_args"
    assert says in failure.text
    assert len(failure.text) < 500


@given(st.text(max_size=30))
def test_whatever_a_model_writes_is_read_or_told(text):
    try:
        found = arguments(text)
    except Failed as error:
        found = error.failure.kind
    assert found == "bad_args" or isinstance(found, dict)


# -- counting --------------------------------------------------------------------------------------------


def counted(tools, *calls):
    """Count calls, and return for each what came of it."""
    out = []
    for one in calls:
        try:
            tools.count(one, tools.read(one))
            out.append("")
        except Failed as error:
            out.append(error.failure.kind)
    return out


def test_the_third_same_call_in_a_row_is_told_and_the_fifth_ends_the_turn(tools):
    assert counted(tools, *[call()] * 5) == ["", "", "repeated", "repeated", "limit"]


def test_the_failure_that_ends_the_turn_is_marked(tools):
    counted(tools, *[call()] * 4)
    failure = refused(tools.count, call(), tools.read(call()))
    assert failure.data == "turn"
    assert "5 times in a row" in failure.text


def test_same_is_by_value_and_another_call_between_starts_over(tools):
    first, second = call("anything", '{"a": 1, "b": [1]}'), call("anything", '{"b": [1.0], "a": 1}')
    assert tools.read(first) == tools.read(second)
    box = Toolbox({"anything": tools.read(first).tool, "shop_find": tools.read(call()).tool})
    assert counted(box, first, second, first) == ["", "", "repeated"]
    other = call(text='{"id": "A2"}')
    assert counted(box, call(), call(), other, call(), call(), call()) == ["", "", "", "", "", "repeated"]


def test_a_tools_own_limit_is_a_result_and_not_the_end(tools):
    calls = [call("anything", json.dumps({"n": n})) for n in range(4)]
    assert counted(tools, *calls) == ["", "", "limit", "limit"]
    failure = refused(tools.count, calls[0], tools.read(calls[0]))
    assert failure.data is None
    assert failure.text == "`anything` may be called 2 times in a turn, and was"
    assert failure.place == "assistants/a.yaml:5"


# -- results ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("free text", '{"text":"free text"}'), (None, "null"), (5, "5"), ([1, {"a": "é 客"}], '[1,{"a":"é 客"}]'),
        ({"a": 1}, '{"a":1}'), ({"error": "no"}, '{"error":"no"}'), ('{"a":1}', '{"text":"{\\"a\\":1}"}'), ("", '{"text":""}'),
    ],
)  # fmt: skip
def test_a_result_is_compact_json_and_free_text_is_wrapped(value, text):
    assert result_text(value) == text


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("begin" + "x" * MAX_RESULT + "end", "text"),
        ({"error": "begin" + "x" * MAX_RESULT + "end"}, "error"),
    ],
)
def test_a_long_text_is_cut_in_the_middle_with_a_note(value, name):
    found = json.loads(result_text(value))
    assert list(found) == [name]
    assert found[name].startswith("beginx")
    assert found[name].endswith("xend")
    assert " … 8 characters left out … " in found[name]
    assert len(found[name]) < MAX_RESULT + 100


def test_a_long_value_is_cut_as_its_json():
    found = json.loads(result_text({"rows": ["x" * 100] * 1000}))
    assert found["text"].startswith('{"rows":["xxx')
    assert found["text"].endswith('xxx"]}')
    assert "characters left out" in found["text"]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_what_just_fits_is_whole(more):
    whole = json.loads(result_text("x" * (MAX_RESULT + more)))["text"] == "x" * (MAX_RESULT + more)
    assert whole == (more <= 0)
