import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yaoci.contracts import Delta, Example, Function, ModelRequest
from yaoci.messages import FunctionCall, Message
from yaoci.prompted import ANSWER, LONGEST, Reader, Step, Unescaper, step
from yaoci.values import clean

FIND = Function(
    id="orders_find",
    description="Finds one order by its number. Use it whenever the customer names an order.",
    parameters={
        "type": "object",
        "properties": {"id": {"type": "string", "pattern": "^A[0-9]+$", "description": "Order number."}},
        "required": ["id"],
    },
    examples=(
        Example(
            ask="Find A5.",
            args={"id": "A5"},
            result={"id": "A5", "status": "packing"},
            answer="It is being packed.",
        ),
        Example(ask="Hello!", answer="Hello! What is your order number?"),
    ),
    effect="read",
)
SYSTEM = Message(role="system", text="You are the helpdesk.")
RETURNS = {
    "type": "object",
    "properties": {"status": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["status"],
}


def user(text):
    return Message(role="user", text=text)


def said(text):
    return Message(role="assistant", text=text)


def called(arguments, result):
    call = FunctionCall(id="call_0", name="orders_find", arguments=arguments)
    return (
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", tool_call_id="call_0", name="orders_find", text=result),
    )


def asked(*messages, functions=(FIND,), brief=False, **fields):
    return step(ModelRequest(model="local", messages=messages, functions=functions, **fields), brief=brief)


def tools(schema):
    branches = schema.get("anyOf", [schema])
    return ["answer" if "answer" in b["properties"] else b["properties"]["tool"]["const"] for b in branches]


def lines(found):
    return [f"{chat['role']}: {chat['content']}" for chat in found.messages]


def read(found, text, size=None, finish="stop"):
    """Return the answer that is read from `text` in pieces of `size`, and the deltas at its end."""
    reader, out = Reader(found), ""
    for start in range(0, len(text), size or max(len(text), 1)):
        out += reader.feed(text[start : start + (size or len(text))])
    last = reader.end(finish)
    assert [delta.finish is None for delta in last] == [True] * (len(last) - 1) + [False]
    return out + "".join(delta.text for delta in last), last, reader


# -- what is sent


def test_a_question_is_sent_after_dialogues_that_show_a_call():
    assert lines(asked(SYSTEM, user("Where is A42?"))) == [
        (
            "system: You are the helpdesk.\nTools:\norders_find(id): Finds one order by its number.\n"
            'Reply with JSON: {"tool": name, "arguments": {...}} to call a tool, or {"answer": text}.'
        ),
        "user: Hello!",
        'assistant: {"answer": "Hello! What is your order number?"}',
        "user: Find A5.",
        'assistant: {"tool": "orders_find", "arguments": {"id": "A5"}}',
        'user: Result of orders_find: {"id": "A5", "status": "packing"}',
        'assistant: {"answer": "It is being packed."}',
        "user: Where is A42?",
    ]


def test_without_anything_to_call_only_the_examples_without_a_call_are_shown():
    found = asked(SYSTEM, user("Where is my order?"))
    assert lines(found)[1:] == [
        "user: Hello!",
        'assistant: {"answer": "Hello! What is your order number?"}',
        "user: Where is my order?",
    ]
    assert tools(found.schema) == ["answer"]


def test_a_result_is_sent_as_the_examples_show_it():
    found = asked(SYSTEM, user("Where is A42?"), *called('{"id":"A42"}', '{"error":"no order A42"}'))
    assert lines(found)[-3:] == [
        "user: Where is A42?",
        'assistant: {"tool": "orders_find", "arguments": {"id": "A42"}}',
        'user: Result of orders_find: {"error": "no order A42"}',
    ]
    assert tools(found.schema) == ["answer"]


def test_a_due_call_comes_before_any_answer():
    assert tools(asked(user("Where is A42?")).schema) == ["orders_find"]
    assert tools(asked(user("Where is A42?"), options={"tool_choice": "auto"}).schema) == [
        "orders_find",
        "answer",
    ]


def test_the_answer_to_an_earlier_number_is_left_to_the_model():
    assert tools(asked(user("I have A42."), said("What of it?"), user("Where is it?")).schema) == [
        "orders_find",
        "answer",
    ]


def test_required_wants_a_call_once_and_none_wants_no_call():
    earlier = (user("I have A42."), said("What of it?"), user("Where is it?"))
    assert tools(asked(*earlier, options={"tool_choice": "required"}).schema) == ["orders_find"]
    done = called('{"id": "A42"}', "{}")
    assert tools(asked(*earlier, *done, options={"tool_choice": "required"}).schema) == ["answer"]
    none = asked(user("Where is A42?"), options={"tool_choice": "none"})
    assert (tools(none.schema), "user: Find A5." in lines(none)) == (["answer"], False)


def test_examples_once_shown_stay_for_the_conversation():
    first = asked(SYSTEM, user("Where is A42?"))
    later = asked(
        SYSTEM, user("Where is A42?"), *called('{"id":"A42"}', "{}"), said("Here."), user("Thanks!")
    )
    assert lines(later)[: len(lines(first))] == lines(first)
    assert lines(later)[-2:] == ['assistant: {"answer": "Here."}', "user: Thanks!"]


def test_brief_leaves_earlier_turns_out_where_a_call_is_due():
    before = (SYSTEM, user("Hi"), said("How can I help?"))
    done = called('{"id":"A42"}', '{"status":"lost"}')
    assert "user: Hi" not in lines(asked(*before, user("Where is A42?"), brief=True))
    assert "user: Hi" not in lines(asked(*before, user("Where is A42?"), *done, brief=True))
    assert "user: Hi" in lines(asked(*before, user("Where is A42?")))
    assert "user: Hi" in lines(asked(*before, user("Where is it?"), brief=True))


def test_several_calls_of_one_answer_are_told_one_after_the_other():
    calls = tuple(
        FunctionCall(id=i, name="orders_find", arguments=json.dumps({"id": i})) for i in ("A1", "A2")
    )
    results = [
        Message(role="tool", tool_call_id=i, name="orders_find", text=json.dumps(i)) for i in ("A1", "A2")
    ]
    found = asked(user("A1 and A2?"), Message(role="assistant", tool_calls=calls), *results)
    assert lines(found)[-4:] == [
        'assistant: {"tool": "orders_find", "arguments": {"id": "A1"}}',
        'user: Result of orders_find: "A1"',
        'assistant: {"tool": "orders_find", "arguments": {"id": "A2"}}',
        'user: Result of orders_find: "A2"',
    ]


def test_a_result_that_is_no_json_is_told_as_text():
    assert lines(asked(user("A1?"), *called("no json", "gone")))[-2:] == [
        'assistant: {"tool": "orders_find", "arguments": {}}',
        'user: Result of orders_find: "gone"',
    ]


def test_without_functions_a_conversation_is_sent_as_it_is():
    found = asked(SYSTEM, user("Hi"), said("Hello"), user("Bye"), functions=())
    assert lines(found) == ["system: You are the helpdesk.", "user: Hi", "assistant: Hello", "user: Bye"]
    assert found.schema is None
    assert lines(asked(user("Hi"), functions=())) == ["user: Hi"]


def test_a_wanted_form_is_told_and_held_to():
    found = asked(SYSTEM, user("Hi"), functions=(), schema=RETURNS)
    assert lines(found)[0].endswith('\nReply with JSON: {"status": string, "days": integer}.')
    assert found.schema["properties"]["days"] == {"type": "integer"}
    assert found.schema["additionalProperties"] is False
    assert lines(asked(user("Hi"), functions=(), schema={"enum": [1, 2]}))[0].endswith(
        'JSON: {"enum":[1,2]}.'
    )


def test_a_wanted_form_takes_the_place_of_the_answer():
    done = called('{"id":"A42"}', "{}")
    found = asked(user("Where is A42?"), *done, schema=RETURNS)
    assert "status" in found.schema["properties"]
    found = asked(user("A42"), said("{}"), user("And?"), schema=RETURNS)
    assert [list(branch["properties"]) for branch in found.schema["anyOf"]] == [
        ["tool", "arguments"],
        ["status", "days"],
    ]
    assert "assistant: {}" in lines(found)


def test_references_of_a_wanted_form_hold_in_a_union():
    returns = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "integer"}},
    }
    found = asked(user("A42"), said("{}"), user("And?"), schema=returns)
    for schema, branch in (
        (found.schema, found.schema["anyOf"][1]),
        (found.alone().schema, found.alone().schema),
    ):
        *_, name, last = branch["properties"]["a"]["$ref"].removeprefix("#/$defs/").split("/")
        assert name == "$defs"
        assert schema["$defs"]["="]["$defs"][last] == {"type": "integer"}


# -- what is read


def answering(**fields):
    return Step(messages=(), schema=ANSWER, final=ANSWER, **fields)


@pytest.mark.parametrize("size", [None, 1, 2, 3, 5])
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"answer": "Order A42 is on its way."}', "Order A42 is on its way."),
        ('{"answer":"Yes"}', "Yes"),
        ('{\n  "answer": "Yes"\n}\n', "Yes"),
        (r'{"answer": "a\"b\\c\/d\n\t\u00e9\ud83c\udf0d."}', 'a"b\\c/d\n\té🌍.'),
        ('{"answer": 42}', "42"),
        ('{"reply": "x"}', '{"reply": "x"}'),
        ("Hello {you}", "Hello {you}"),
    ],
)
def test_an_answer_is_read_however_it_is_cut(text, answer, size):
    found, last, _ = read(answering(), text, size)
    assert (found, last[-1].finish) == (answer, "stop")


def test_an_answer_comes_as_it_grows():
    reader = Reader(answering())
    assert [reader.feed(piece) for piece in ('{"ans', 'wer": "On ', "its", ' way."', "}")] == [
        "",
        "On ",
        "its",
        " way.",
        "",
    ]


@given(st.text(), st.integers(1, 5))
@example("\ud83d\ud83d\ude00", 1)
@example('🌍\\u"', 3)
def test_a_string_reads_back_as_it_was_written(text, size):
    written = json.dumps(text)[1:]
    unescaper = Unescaper()
    out = "".join(unescaper.feed(written[at : at + size]) for at in range(0, len(written), size))
    assert (out, unescaper.closed) == (clean(json.loads(json.dumps(text))), True)


def test_halves_of_a_character_and_broken_escapes_become_replacements():
    unescaper = Unescaper()
    assert unescaper.feed(r"\ud83d and \udf0d, \ud83d\u0041, \uzzzz") == "\ufffd and \ufffd, \ufffdA, \ufffd"


def test_what_follows_the_closing_quote_is_passed_over():
    unescaper = Unescaper()
    assert (unescaper.feed('a"} more'), unescaper.feed("b")) == ("a", "")


@pytest.mark.parametrize("size", [None, 1, 4])
def test_a_call_is_handed_over_whole(size):
    text, last, reader = read(
        answering(number=3), '{"tool": "orders_find", "arguments": {"id": "A42"}}', size
    )
    assert (text, reader.repeated) == ("", False)
    assert last[0].call == (0, "call_3", "orders_find", '{"id":"A42"}')
    assert last[1] == Delta(finish="tool_calls")


def test_a_repeated_call_asks_for_an_answer_alone():
    weather = Function(
        id="weather", description="Tells the weather.", effect="read",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    )  # fmt: skip
    call = FunctionCall(id="call_0", name="weather", arguments='{"city": "Rome"}')
    made = (
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", tool_call_id="call_0", text="{}"),
    )
    found = asked(user("Weather in Rome?"), *made, functions=(weather,))
    assert tools(found.schema) == ["weather", "answer"]
    text, last, reader = read(found, '{"tool": "weather", "arguments": {"city": "Rome"}}')
    assert (text, len(last), reader.repeated) == ("", 1, True)
    assert tools(found.alone().schema) == ["answer"]
    assert found.alone().messages == found.messages
    assert read(found, '{"tool": "weather", "arguments": {"city": "Oslo"}}')[2].repeated is False


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"answer": "A42 is on', "A42 is on"),
        (r'{"answer": "A42 \ud83c', "A42 "),
        ('{"tool": "orders_find", "argu', ""),
        ('{"ans', ""),
        ("", ""),
    ],
)
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_an_answer_that_is_cut_says_so(text, answer, finish):
    found, last, _ = read(answering(), text, finish=finish)
    assert (found, last[-1].finish) == (answer, "length")


def test_an_answer_as_long_as_can_be_counts_as_cut():
    assert read(answering(), json.dumps({"answer": "x" * LONGEST}))[1][-1].finish == "length"
    assert read(answering(), json.dumps({"answer": "x" * (LONGEST - 1)}))[1][-1].finish == "stop"


@pytest.mark.parametrize("size", [None, 1, 3])
def test_a_wanted_form_is_passed_on_as_it_is(size):
    found = Step(messages=(), schema=RETURNS, structured=True)
    for text in ('{"status": "lost", "days": 2}', '{"answer": "a"}', "[1, 2]", '"text"'):
        assert read(found, text, size)[0] == text
    call = read(found, '{"tool": "orders_find", "arguments": {}}', size)
    assert (call[0], call[1][0].call.name) == ("", "orders_find")


def test_plain_text_is_passed_on_as_it_is():
    text, last, _ = read(Step(messages=()), '{"tool": 1}', 3, "length")
    assert (text, last) == ('{"tool": 1}', (Delta(finish="length"),))
