import asyncio
import json
from contextlib import aclosing

import pytest

from yaoci.contracts import CallDelta, Delta, Endpoint, ModelRequest, Usage
from yaoci.errors import Failed, Failure
from yaoci.messages import FunctionCall, Message
from yaoci.models.scripted import MODEL, Scripted

ASKED = ModelRequest(model="m", messages=(Message(role="user", text="hello you"),))


async def collect(model, request=ASKED):
    async with aclosing(model.stream(request)) as deltas:
        return [delta async for delta in deltas]


def read(model, request=ASKED):
    return asyncio.run(collect(model, request))


def failure(model):
    with pytest.raises(Failed) as caught:
        read(model)
    return caught.value.failure


def calls_of(deltas):
    calls = {}
    for delta in deltas:
        if delta.call:
            index, *texts = delta.call
            calls[index] = [old + new for old, new in zip(calls.get(index, ["", "", ""]), texts, strict=True)]
    return [tuple(calls[index]) for index in range(len(calls))]


@pytest.mark.parametrize(
    "turn", ["Hello dear world", {"say": "Hello dear world"}, [{"say": "Hello dear world"}]]
)
def test_a_text_is_said_by_the_word(turn):
    assert [delta.text for delta in read(Scripted([turn]))] == ["Hello ", "dear ", "world", ""]


@pytest.mark.parametrize("text", ["", " ", "\n a\n\n b ", "天气很好，今天出去走走吧。", "a" * 30])
def test_no_letter_of_a_text_is_lost(text):
    deltas = read(Scripted([text]))
    assert "".join(delta.text for delta in deltas) == text
    assert all(len(delta.text.strip()) <= 8 for delta in deltas)


def test_a_value_is_said_as_json():
    assert "".join(delta.text for delta in read(Scripted([{"say": {"a": [1]}}]))) == '{"a":[1]}'


def test_the_last_piece_tells_the_end_the_model_and_rough_usage():
    assert read(Scripted(["Hi"]))[-1] == Delta(
        finish="stop", usage=Usage(input=3, output=1), model="scripted"
    )


def test_pieces_are_said_as_they_are_cut():
    assert [delta.text for delta in read(Scripted([{"delta": ["Hel", "lo wor", "ld"]}]))][:-1] == [
        "Hel",
        "lo wor",
        "ld",
    ]


def test_a_turn_thinks_says_and_calls_in_this_order():
    deltas = read(Scripted([{"call": {"find": {"q": "x"}, "add": None}, "say": "Look.", "reason": "Hm."}]))
    assert deltas[:-1] == [
        Delta("", "Hm."), Delta("Look."),
        Delta(call=CallDelta(0, "call_1", "find")), Delta(call=CallDelta(0, "", "", '{"q"')), Delta(call=CallDelta(0, "", "", ':"x"}')),
        Delta(call=CallDelta(1, "call_2", "add")), Delta(call=CallDelta(1, "", "", "{")), Delta(call=CallDelta(1, "", "", "}")),
    ]  # fmt: skip
    assert deltas[-1].finish == "tool_calls"


def test_steps_of_a_turn_come_one_after_the_other():
    deltas = read(Scripted([[{"call": {"f": {}}}, {"say": "and"}, {"call": {"f": {"n": 2}}}]]))
    assert calls_of(deltas) == [("call_1", "f", "{}"), ("call_2", "f", '{"n":2}')]
    assert [delta.text for delta in deltas if delta.text] == ["and"]


def test_arguments_that_are_text_are_passed_on_as_they_are():
    assert calls_of(read(Scripted([{"call": {"f": '{"x": "y "z""}'}}]))) == [
        ("call_1", "f", '{"x": "y "z""}')
    ]


def test_ids_of_calls_are_new_in_the_conversation():
    before = Message(
        role="assistant",
        tool_calls=(FunctionCall(id="call_1", name="f"), FunctionCall(id="call_3", name="f")),
    )
    request = ModelRequest(model="m", messages=(before,))
    calls = calls_of(read(Scripted([{"call": {"f": {}, "g": {}}}]), request))
    assert [call[0] for call in calls] == ["call_2", "call_4"]


def test_the_end_may_be_written_down():
    deltas = read(Scripted([[{"call": {"f": '{"x'}}, {"finish": "length"}]]))
    assert (calls_of(deltas), deltas[-1].finish) == ([("call_1", "f", '{"x')], "length")


def test_a_failure_comes_after_what_was_said():
    model, seen = (
        Scripted([[{"say": "Well,"}, {"fail": {"kind": "overloaded", "message": "busy", "retry_after": 2}}]]),
        [],
    )

    async def run():
        async with aclosing(model.stream(ASKED)) as deltas:
            async for delta in deltas:
                seen.append(delta.text)  # noqa: PERF401 - what came before the failure counts

    with pytest.raises(Failed) as caught:
        asyncio.run(run())
    assert (seen, caught.value.failure) == (["Well,"], Failure("overloaded", "busy", "", 2))


def test_a_failure_without_a_message_says_its_kind():
    assert failure(Scripted([{"fail": {"kind": "server"}}])) == Failure("server", "the script says `server`")


def test_each_request_takes_the_next_turn_and_is_kept():
    model = Scripted(["one", {"fail": {"kind": "server"}}, "three"])
    other = ModelRequest(model="m", messages=())
    assert read(model)[0].text == "one"
    assert failure(model).kind == "server"
    assert read(model, other)[0].text == "three"
    assert model.requests == [ASKED, ASKED, other]


@pytest.mark.parametrize(("script", "have"), [([], "0 turns"), (["a"], "1 turn"), (["a", "b"], "2 turns")])
def test_a_script_that_is_used_up_says_so(script, have):
    model = Scripted(script)
    for _ in script:
        read(model)
    text = f"the script has {have}, and this is request {len(script) + 1}: add a turn"
    assert failure(model) == Failure("missing", text)


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        (5, "this one is 5"),
        (
            [5],
            "a step of turn 1 is text, or has one of reason, say, delta, call, fail, finish; this one is 5",
        ),
        ({}, "this one is {}"),
        ({"tell": "a"}, "has one of reason, say, delta, call, fail, finish, not `tell`"),
        ({"call": "find"}, "a mapping of function ids to arguments"),
        ({"delta": "find"}, "a list of texts"),
        ({"fail": "find"}, "with a kind of failure"),
        ({"fail": {"kind": "odd"}}, "with a kind of failure"),
        ({"finish": "odd"}, "is one of stop, length, tool_calls, content_filter, refusal, pause"),
    ],
)
def test_a_turn_of_another_shape_is_refused_with_what_it_may_be(turn, text):
    with pytest.raises(ValueError, match=text.replace("(", r"\(")):
        Scripted([turn])


def made_by(path):
    return MODEL(Endpoint(provider="s", model="m", api="scripted", file=str(path)))


def test_a_script_may_be_a_file_in_yaml(tmp_path):
    path = tmp_path / "script.yaml"
    path.write_text("script:\n  - Hi\n  - call: {find: {q: 天气}}\n    say: Look.\n", encoding="utf-8")
    model = made_by(path)
    assert read(model)[0].text == "Hi"
    assert calls_of(read(model)) == [("call_1", "find", '{"q":"天气"}')]
    assert f"{path} has 2 turns" in failure(model).text


def test_a_script_may_be_a_file_in_json(tmp_path):
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"script": [{"say": "Hi"}]}), encoding="utf-8")
    assert read(made_by(path))[0].text == "Hi"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "there is no file"), ("script: [", "script.yaml:1"), ("script: {a: 1}", "no list `script`"),
        ("other: []", "no list `script`"), ("script: [{tell: a}]", "not `tell`"), ("script: [5]", "turn 1"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_script_is_named(tmp_path, content, text):
    path = tmp_path / "script.yaml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    found = failure(made_by(path))
    assert found.kind == "missing"
    assert str(path) in found.text
    assert text in found.text


def test_a_wire_without_a_file_asks_for_one():
    assert failure(made_by("")) == Failure("missing", "no script: which `file` does the model read from?")


@pytest.mark.parametrize("script", ["hello", {"say": "hello"}, 5])
def test_turns_that_are_no_list_are_refused(script):
    with pytest.raises(ValueError, match="turns are a list, one for each request"):
        Scripted(script)
