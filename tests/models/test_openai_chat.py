import asyncio
import json
from contextlib import aclosing

import httpx
import pytest

from yaoci.contracts import CallDelta, Delta, Endpoint, Function, ModelRequest, Usage
from yaoci.errors import Failed
from yaoci.messages import Attachment, FunctionCall, Message
from yaoci.models.openai_chat import MODEL, OpenAIChat, body_of

KEY = "sk-test-0123456789abcdef"
ASKED = ModelRequest(model="m", messages=(Message(role="user", text="hi"),))
ENDPOINT = Endpoint(provider="p", model="m", api="openai-chat", base_url="http://p.test/v1", key=KEY)


class Chunks(httpx.AsyncByteStream):
    def __init__(self, chunks, error=None):
        self.chunks, self.error = chunks, error

    async def __aiter__(self):
        for chunk in self.chunks:
            yield chunk
        if self.error:
            raise self.error


def piece(delta=None, finish=None, **more):
    return {"model": "m-1", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def streamed(*chunks, done=True, error=None):
    texts = [c if isinstance(c, str) else json.dumps(c) for c in (*chunks, *(["[DONE]"] if done else []))]
    return httpx.Response(200, stream=Chunks([f"data: {text}\n\n".encode() for text in texts], error))


def whole(message, finish="stop", **more):
    return httpx.Response(
        200, json={"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}
    )


async def collect(response, request=ASKED):
    """Return the deltas, and the failure if it ended in one."""
    model, deltas, failure = OpenAIChat(ENDPOINT, httpx.MockTransport(lambda _: response)), [], None
    try:
        async with aclosing(model.stream(request)) as answer:
            async for delta in answer:
                deltas.append(delta)  # noqa: PERF401 - what came before a failure counts
    except Failed as failed:
        failure = failed.failure
    await model.close()
    return deltas, failure


def read(response, request=ASKED):
    deltas, failure = asyncio.run(collect(response, request))
    assert failure is None
    assert [delta.finish is not None for delta in deltas] == [False] * (len(deltas) - 1) + [True]
    return deltas


def fail(response):
    deltas, failure = asyncio.run(collect(response))
    assert failure is not None
    assert all(delta.finish is None for delta in deltas)
    return "".join(delta.text for delta in deltas), failure


def text_of(deltas):
    return "".join(delta.text for delta in deltas)


def calls_of(deltas):
    calls = {}
    for delta in deltas:
        if delta.call:
            index, *texts = delta.call
            calls[index] = [old + new for old, new in zip(calls.get(index, ["", "", ""]), texts, strict=True)]
    return [tuple(calls[index]) for index in range(len(calls))]


def call(name=None, arguments=None, **more):
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {**more, "function": function}


def streamed_calls(*pieces, finish="tool_calls"):
    deltas = [p if isinstance(p, list) else [p] for p in pieces]
    return streamed(*(piece({"tool_calls": delta}) for delta in deltas), piece(finish=finish))


# -- what is asked


def sent(request):
    seen = []
    transport = httpx.MockTransport(lambda r: (seen.append(r), streamed(piece(finish="stop")))[1])

    async def run():
        model = OpenAIChat(ENDPOINT, transport)
        async with aclosing(model.stream(request)) as deltas:
            assert [delta.finish async for delta in deltas] == ["stop"]
        await model.close()

    asyncio.run(run())
    return seen[0]


def test_a_request_is_a_stream_with_usage_under_the_key():
    request = sent(ASKED)
    assert str(request.url) == "http://p.test/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(request.content) == {
        "model": "m", "messages": [{"role": "user", "content": "hi"}],
        "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip


def test_without_a_key_none_is_sent():
    seen = []
    endpoint = Endpoint(provider="p", model="m", api="openai-chat", base_url="http://p.test/v1", key=" \n")
    transport = httpx.MockTransport(lambda r: (seen.append(r), streamed(piece(finish="stop")))[1])

    async def run():
        model = OpenAIChat(endpoint, transport)
        async with aclosing(model.stream(ASKED)) as deltas:
            assert [delta async for delta in deltas]
        await model.close()

    asyncio.run(run())
    assert "authorization" not in seen[0].headers


def test_messages_of_every_role_are_sent():
    messages = (
        Message(role="system", text="be brief"),
        Message(
            role="user",
            text="look",
            attachments=(Attachment(url="http://x.test/a.png", content_type="image/png"),),
        ),
        Message(
            role="assistant",
            text="",
            tool_calls=(FunctionCall(id="c1", name="find", arguments='{ "q": "x" }'),),
        ),
        Message(role="tool", tool_call_id="c1", name="find", text='{"n":1}'),
        Message(role="assistant", text="one"),
        Message(text="thanks"),
    )
    assert body_of(ModelRequest(model="m", messages=messages))["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [
            {"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "http://x.test/a.png"}},
        ]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{ "q": "x" }'}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"n":1}'},
        {"role": "assistant", "content": "one"},
        {"role": "user", "content": "thanks"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "carried"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('{"a": "x "y""}', "{}"),
        ('{"a": NaN}', "{}"),
        ("", "{}"),
        ("[1]", "{}"),
        ("null", "{}"),
        ('{"a":1}{"b":2}', "{}"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "{}"),
        ('{"a": "\\ud83d"}', '{"a":"\ufffd"}'),
    ],
)
def test_arguments_in_the_history_are_always_an_object(written, carried):
    message = Message(role="assistant", tool_calls=(FunctionCall(id="c", name="f", arguments=written),))
    body = body_of(ModelRequest(model="m", messages=(message,)))
    assert body["messages"][0]["tool_calls"][0]["function"]["arguments"] == carried


FIND = Function(id="find", description="Finds.", parameters={"type": "object"})


def test_functions_are_sent_as_tools_with_properties():
    function = {"name": "find", "description": "Finds.", "parameters": {"type": "object", "properties": {}}}
    body = body_of(ModelRequest(model="m", messages=(), functions=(FIND,)))
    assert body["tools"] == [{"type": "function", "function": function}]


def test_options_are_sent_under_the_names_of_the_wire():
    same = {"temperature": 0, "top_p": 0.5, "max_tokens": 9, "stop": ["x"], "seed": 1,
            "presence_penalty": 1, "frequency_penalty": -1}  # fmt: skip
    options = {
        **same,
        "parallel_tools": False,
        "tool_choice": "find",
        "reasoning": "low",
        "extra": {"top_k": 5},
    }
    body = body_of(ModelRequest(model="m", messages=(), functions=(FIND,), options=options))
    for name in ("model", "messages", "tools", "stream", "stream_options"):
        body.pop(name)
    choice = {"type": "function", "function": {"name": "find"}}
    other = {"parallel_tool_calls": False, "tool_choice": choice, "reasoning_effort": "low", "top_k": 5}
    assert body == {**same, **other}


def test_what_concerns_tools_is_left_out_without_tools():
    options = {"parallel_tools": True, "tool_choice": "required", "stop": (), "temperature": None}
    body = body_of(ModelRequest(model="m", messages=(), options=options))
    assert set(body) == {"model", "messages", "stream", "stream_options"}


@pytest.mark.parametrize("word", ["auto", "none", "required"])
def test_a_word_as_tool_choice_is_sent_as_it_is(word):
    body = body_of(ModelRequest(model="m", messages=(), functions=(FIND,), options={"tool_choice": word}))
    assert body["tool_choice"] == word


def test_extra_goes_over_everything_and_null_takes_away():
    options = {
        "max_tokens": 9,
        "extra": {"max_tokens": None, "max_completion_tokens": 9, "stream_options": None},
    }
    body = body_of(ModelRequest(model="m", messages=(), options=options))
    assert body == {"model": "m", "messages": [], "stream": True, "max_completion_tokens": 9}


def test_a_schema_is_sent_as_the_format_of_the_answer():
    schema = {"type": "object"}
    body = body_of(ModelRequest(model="m", messages=(), schema=schema))
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema},
    }


# -- what is answered


def test_text_comes_in_pieces_and_the_end_with_usage_and_model():
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    response = streamed(
        piece({"role": "assistant", "content": ""}), piece({"content": "Hel"}), piece({"content": "lo"}),
        piece(finish="stop"), {"model": "m-1", "choices": [], "usage": usage},
    )  # fmt: skip
    assert read(response) == [
        Delta("Hel"), Delta("lo"), Delta(finish="stop", usage=Usage(input=5, output=2), model="m-1"),
    ]  # fmt: skip


def test_a_plain_answer_reads_as_a_streamed_one():
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    message = {"content": "Hello", "reasoning": "hm", "tool_calls": [call("f", '{"a":1}', id="x")]}
    assert read(whole(message, "tool_calls", usage=usage, model="m-1")) == [
        Delta("", "hm"), Delta("Hello"), Delta(call=CallDelta(0, "x", "f")), Delta(call=CallDelta(0, "", "", '{"a":1}')),
        Delta(finish="tool_calls", usage=Usage(input=5, output=2), model="m-1"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("delta", "text", "reasoning"),
    [
        ({"reasoning_content": "hm"}, "", "hm"),
        ({"reasoning": "hm", "content": "a"}, "a", "hm"),
        ({"reasoning": "hm", "reasoning_content": "hm"}, "", "hm"),
        ({"reasoning": {"effort": "low"}, "content": "a"}, "a", ""),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, "", "hm"),
        ({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]}, "a", "hm"),
        ({"content": [{"type": "reference", "reference_ids": [1]}, {"type": "text", "text": "a"}]}, "a", ""),
        ({"content": None}, "", ""),
    ],
)
def test_text_and_thoughts_are_found_wherever_they_stand(delta, text, reasoning):
    for response in (streamed(piece(delta), piece(finish="stop")), whole(delta)):
        deltas = read(response)
        assert (text_of(deltas), "".join(d.reasoning for d in deltas)) == (text, reasoning)


@pytest.mark.parametrize(
    ("raw", "finish"),
    [("stop", "stop"), ("eos", "stop"), ("end_turn", "stop"), ("length", "length"), ("model_length", "length"),
     ("content_filter", "content_filter"), ("tool_calls", "stop"), ("", "stop"), (None, "stop"), ("STOP", "stop")],
)  # fmt: skip
def test_the_end_has_one_of_our_words(raw, finish):
    for response in (streamed(piece({"content": "a"}), piece(finish=raw)), whole({"content": "a"}, raw)):
        assert read(response)[-1].finish == finish


def test_a_choice_without_a_message_is_an_empty_answer():
    response = httpx.Response(200, json={"choices": [{"finish_reason": "content_filter", "index": 0}]})
    assert read(response) == [Delta(finish="content_filter")]


def test_a_refusal_is_text_and_the_end_says_so():
    deltas = read(streamed(piece({"refusal": "I can"}), piece({"refusal": "not."}), piece(finish="stop")))
    assert (text_of(deltas), deltas[-1].finish) == ("I cannot.", "refusal")


def test_a_second_choice_is_left_out():
    response = streamed(
        piece({"content": "a"}), {"choices": [{"index": 1, "delta": {"content": "b"}}]}, piece(finish="stop")
    )
    assert text_of(read(response)) == "a"


def test_a_last_chunk_that_repeats_the_whole_message_adds_nothing():
    last = {"choices": [{"index": 0, "delta": {}, "message": {"content": "ab"}, "finish_reason": "stop"}]}
    assert text_of(read(streamed(piece({"content": "a"}), piece({"content": "b"}), last))) == "ab"


def test_half_a_surrogate_pair_waits_for_its_other_half():
    response = streamed(piece({"content": "a\ud83c"}), piece({"content": "\udf0d"}), piece(finish="stop"))
    assert text_of(read(response)) == "a🌍"


def test_a_lone_surrogate_becomes_text_that_can_be_encoded():
    arguments = {"q": "\ud83d"}
    response = streamed(
        piece({"content": "\udf0d!"}),
        piece({"tool_calls": [call("f", arguments, id="a")]}),
        piece(finish="stop"),
    )
    deltas = read(response)
    assert text_of(deltas) == "\ufffd!"
    assert calls_of(deltas) == [("a", "f", '{"q": "\ufffd"}')]


# -- calls


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        # as it should be
        ([call("f", "", index=0, id="a"), call(None, '{"x"', index=0), call(None, ":1}", index=0)], [("a", "f", '{"x":1}')]),
        # interleaved
        ([call("f", '{"x":', index=0, id="a"), call("g", '{"y":', index=1, id="b"), call(None, "2}", index=1),
          call(None, "1}", index=0)], [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]),
        # all under one index
        ([call("f", '{"x":1}', index=0, id="a"), call("f", '{"x":2}', index=0, id="b")],
         [("a", "f", '{"x":1}'), ("b", "f", '{"x":2}')]),
        # under one index and interleaved
        ([call("f", '{"x":', index=0, id="a"), call("f", '{"y":', index=0, id="b"), call(None, "1}", index=0, id="a"),
          call(None, "2}", index=0, id="b")], [("a", "f", '{"x":1}'), ("b", "f", '{"y":2}')]),
        # no index
        ([call("f", '{"x":', id="a"), call(None, "1}"), call("g", "{}", id="b")], [("a", "f", '{"x":1}'), ("b", "g", "{}")]),
        # neither index nor id
        ([[call("f", '{"x":1}'), call("f", '{"x":2}')]], [("call_1", "f", '{"x":1}'), ("call_2", "f", '{"x":2}')]),
        ([call("f", '{"x":1}', id=None, index=0), call("f", '{"x":2}', id=None, index=0)],
         [("call_1", "f", '{"x":1}'), ("call_2", "f", '{"x":2}')]),
        # id and name with every piece
        ([call("f", "", index=0, id="0"), call("f", "{}", index=0, id="0")], [("0", "f", "{}")]),
        ([call("f", '{"x":', index=0, id=""), call("f", "1}", index=0, id="")], [("call_1", "f", '{"x":1}')]),
        # the id, or the name, comes later
        ([call("f", '{"x":', index=0), call(None, "1}", index=0, id="a")], [("call_1", "f", '{"x":1}')]),
        ([call(None, None, index=0, id="a"), call("f", "{}", index=0)], [("a", "f", "{}")]),
        # one id for two calls
        ([call("f", "{}", index=0, id="a"), call("g", "{}", index=1, id="a")], [("a", "f", "{}"), ("call_1", "g", "{}")]),
        # an id that is a number
        ([call("f", "{}", index=0, id=7)], [("7", "f", "{}")]),
        # arguments that are no text, or none
        ([call("f", {"x": 1}, index=0, id="a")], [("a", "f", '{"x": 1}')]),
        ([call("f", 42, index=0, id="a")], [("a", "f", "42")]),
        ([call("f", {"x": float("nan")}, index=0, id="a")], [("a", "f", '{"x": NaN}')]),
        ([call("f", None, index=0, id="a")], [("a", "f", "{}")]),
        ([call("f", "", index=0, id="a")], [("a", "f", "{}")]),
        # passed on as they are
        ([call("f", '{"x": "y "z""}', index=0, id="a")], [("a", "f", '{"x": "y "z""}')]),
        # an empty frame is no call
        ([call("", "", index=0, id="")], []),
    ],
)  # fmt: skip
def test_calls_are_told_apart_in_every_shape(pieces, calls):
    for finish in ("tool_calls", "stop", "function_call"):
        deltas = read(streamed_calls(*pieces, finish=finish))
        assert calls_of(deltas) == calls
        assert deltas[-1].finish == ("tool_calls" if calls else "stop")


def test_calls_of_a_plain_answer_are_told_apart_by_their_place():
    message = {
        "content": "",
        "tool_calls": [call("f", "{}", id="0"), call("f", "{}", id="0"), call("g", {"x": 1})],
    }
    assert calls_of(read(whole(message))) == [
        ("0", "f", "{}"),
        ("call_1", "f", "{}"),
        ("call_2", "g", '{"x": 1}'),
    ]


def test_a_made_up_id_is_new_in_the_conversation():
    before = Message(role="assistant", tool_calls=(FunctionCall(id="call_1", name="f"),))
    request = ModelRequest(model="m", messages=(before,))
    assert calls_of(read(streamed_calls(call("f", "{}")), request)) == [("call_2", "f", "{}")]


def test_the_older_form_of_a_call_is_a_call():
    response = streamed(piece({"function_call": {"name": "f", "arguments": '{"x"'}}),
                        piece({"function_call": {"arguments": ":1}"}}), piece(finish="function_call"))  # fmt: skip
    deltas = read(response)
    assert (calls_of(deltas), deltas[-1].finish) == ([("call_1", "f", '{"x":1}')], "tool_calls")
    assert read(whole({"content": "4", "function_call": {"name": "", "arguments": ""}}))[-1].finish == "stop"


def test_text_around_a_call_is_one_answer():
    response = streamed(
        piece({"content": "Let me "}), piece({"tool_calls": [call("f", "{}", index=0, id="a")]}),
        piece({"content": "look."}), piece(finish="tool_calls"),
    )  # fmt: skip
    deltas = read(response)
    assert (text_of(deltas), calls_of(deltas)) == ("Let me look.", [("a", "f", "{}")])


def test_a_call_cut_by_the_limit_of_tokens_stays_cut():
    deltas = read(
        streamed_calls(call("f", '{"x', index=0, id="a"), call("g", "", index=1, id="b"), finish="length")
    )
    assert (calls_of(deltas), deltas[-1].finish) == ([("a", "f", '{"x'), ("b", "g", "")], "length")


# -- usage


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3},
          "completion_tokens_details": {"reasoning_tokens": 2}}, Usage(input=9, output=4, cached=3, reasoning=2)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": None}, Usage(input=9, output=4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 3}, Usage(input=9, output=4, cached=3)),
        ({"prompt_tokens": 9, "completion_tokens": None}, Usage(input=9)),
        # counted beside the output
        ({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 20,
          "completion_tokens_details": {"reasoning_tokens": 7}}, Usage(input=9, output=11, reasoning=7)),
        ({}, None),
        (None, None),
    ],
)  # fmt: skip
def test_usage_is_read_as_providers_tell_it(told, usage):
    assert read(whole({"content": "a"}, usage=told))[-1].usage == usage
    assert read(streamed(piece({"content": "a"}), piece(finish="stop", usage=told)))[-1].usage == usage
    assert (
        read(streamed(piece({"content": "a"}), piece(finish="stop", x_groq={"usage": told})))[-1].usage
        == usage
    )


# -- faults and broken answers


@pytest.mark.parametrize(
    "response",
    [
        lambda: streamed(piece({"content": "a"}), piece(finish="stop"), done=False),
        lambda: streamed(piece({"content": "a"})),
        lambda: streamed(piece({"content": "a"}), {"choices": [], "usage": {"prompt_tokens": 1}}, done=False),
        lambda: streamed(
            piece({"content": "a"}), piece(finish="stop"), done=False, error=httpx.ReadError("")
        ),
    ],
)
def test_an_answer_is_whole_with_a_finish_reason_or_done_or_the_last_usage(response):
    deltas = read(response())
    assert (text_of(deltas), deltas[-1].finish) == ("a", "stop")


@pytest.mark.parametrize(
    "response",
    [
        lambda: streamed(piece({"content": "a"}), done=False),
        lambda: streamed(piece({"content": "a"}, finish=""), done=False),
        lambda: streamed(piece({"content": "a"}, usage={"prompt_tokens": 1}), done=False),
        lambda: streamed(piece({"content": "a"}), done=False, error=httpx.ReadError("")),
        lambda: httpx.Response(
            200, stream=Chunks([f"data: {json.dumps(piece({'content': 'a'}))}\n\ndata: {{".encode()])
        ),
    ],
)
def test_an_answer_that_just_ends_is_cut_after_what_came(response):
    text, failure = fail(response())
    assert (text, failure.kind) == ("a", "stream_cut")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"error": {"message": "sorry", "type": "server_error"}}, "server"),
        ({"error": {"message": "sorry", "type": "overloaded_error"}}, "overloaded"),
        ({"error": {"message": "sorry", "code": 429}}, "rate_limit"),
        ({"error": {"message": "sorry", "code": "content_filter", "status": 400}}, "content_filter"),
        (
            {"error": {"message": "sorry", "code": "tool_use_failed", "status_code": 400}},
            "tool_call_rejected",
        ),
        ({"choices": [{"index": 0, "error": {"message": "sorry", "code": 502}}]}, "server"),
        ({"error": "sorry"}, "server"),
    ],
)
def test_an_error_within_a_good_answer_is_a_failure_of_its_kind(error, kind):
    text, failure = fail(streamed(piece({"content": "a"}), error))
    assert (text, failure.kind, "sorry" in failure.text) == ("a", kind, True)
    assert fail(httpx.Response(200, json=error))[1] == failure


def test_an_event_called_error_is_one_without_saying_so_inside():
    body = b'event: error\ndata: {"message": "busy", "type": "overloaded_error"}\n\n'
    assert fail(httpx.Response(200, stream=Chunks([body])))[1].kind == "overloaded"


def test_an_error_after_the_finish_reason_is_no_success():
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    chunks = [
        piece({"content": "a"}),
        piece(finish="length"),
        {"error": {"code": 400, "message": "no"}, "usage": usage},
    ]
    deltas, failure = asyncio.run(collect(streamed(*chunks)))
    assert failure.kind == "bad_request"
    assert deltas == [Delta("a"), Delta(usage=Usage(input=5, output=2), model="m-1")]


@pytest.mark.parametrize(
    ("word", "kind"),
    [("error", "server"), ("abort", "server"), ("insufficient_system_resource", "overloaded")],
)
def test_a_finish_reason_that_says_it_broke_is_a_failure(word, kind):
    assert fail(streamed(piece({"content": "a"}), piece(finish=word))) == (
        "a",
        fail(whole({"content": ""}, word))[1],
    )
    assert fail(whole({"content": ""}, word))[1].kind == kind


@pytest.mark.parametrize(
    "response",
    [
        lambda: streamed("nonsense"),
        lambda: streamed("[1]"),
        lambda: streamed('{"a":' * 100_000),
        lambda: streamed({"choices": [None]}),
        lambda: streamed({"choices": 5}),
        lambda: streamed({"choices": {"a": 1}}),
        lambda: streamed(piece({"tool_calls": [call(5, "{}")]})),
        lambda: streamed(piece({"content": 5})),
        lambda: streamed(piece({"content": ["a"]})),
        lambda: streamed(piece({"tool_calls": ["a"]})),
        lambda: streamed(piece({"tool_calls": [{"function": "a"}]})),
        lambda: streamed(piece({"tool_calls": [call("f", "{}", index=[])]})),
        lambda: httpx.Response(200, json={"object": "list"}),
        lambda: httpx.Response(200, text='{"choices": ['),
        lambda: httpx.Response(200, text=""),
        lambda: httpx.Response(200, text="<html>"),
    ],
)
def test_what_is_no_answer_is_a_bad_response(response):
    assert fail(response())[1].kind == "bad_response"


def test_an_endpoint_makes_a_model_by_the_name_of_the_wire():
    assert MODEL.name == "openai-chat"
    assert MODEL(ENDPOINT).capabilities == {"text", "image", "tools", "schema"}
