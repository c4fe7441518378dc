"""What holds for every model, whatever is behind it.

A subject is one line in `SUBJECTS`: a function from what is to be answered to a model that
answers so; it skips what it cannot bring about.
"""

import asyncio
import json
from contextlib import aclosing
from typing import get_args

import httpx
import pytest

from yaoci.contracts import CallDelta, Endpoint, Finish, Function, ModelRequest, Usage, extension, names_of
from yaoci.errors import KINDS, Failed
from yaoci.messages import Message
from yaoci.models.openai_chat import OpenAIChat
from yaoci.models.scripted import Scripted

TEXT, CALLS, FAILURE = "text", "calls", "failure"
FUNCTIONS = tuple(
    Function(
        id=id_, description="Finds.", parameters={"type": "object", "properties": {"q": {"type": "string"}}}
    )
    for id_ in ("find", "seek")
)
ASKED = ModelRequest(model="m", messages=(Message(role="user", text="Find me A42."),), functions=FUNCTIONS)


# -- subjects


def scripted(answer):
    turn = {
        TEXT: {"reason": "hm", "say": "Hello, 世界 🌍"},
        CALLS: {"say": "Let me look.", "call": {"find": {"q": "世"}, "seek": {}}},
        FAILURE: [{"say": "Well,"}, {"fail": {"kind": "overloaded", "message": "busy"}}],
    }[answer]
    return Scripted([turn] * 9)


class Bytes(httpx.AsyncByteStream):
    def __init__(self, body):
        self.body = body

    async def __aiter__(self):
        for start in range(0, len(self.body), 5):
            yield self.body[start : start + 5]
            await asyncio.sleep(0)


def openai_chat(answer):
    def chunk(finish=None, **delta):
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    def call(index, arguments, **more):
        return chunk(tool_calls=[{"index": index, "function": {"arguments": arguments, **more}}])

    usage = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    chunks = {
        TEXT: [chunk(reasoning="hm"), chunk(content="Hello, "), chunk(content="世界 🌍"), chunk("stop"), usage],
        CALLS: [chunk(content="Let me look."), call(0, "", name="find"), call(0, '{"q":'), call(0, '"世"}'),
                call(1, "", name="seek"), chunk("tool_calls"), usage],
        FAILURE: [chunk(content="Well,"), {"error": {"message": "busy", "type": "overloaded_error"}}],
    }[answer]  # fmt: skip
    texts = [json.dumps(c, ensure_ascii=False) for c in chunks] + ["[DONE]"]
    body = "".join(f"data: {text}\n\n" for text in texts).encode()
    endpoint = Endpoint(
        provider="p", model="m", api="openai-chat", base_url="http://p.test/v1", key="sk-0123456789"
    )
    return OpenAIChat(endpoint, httpx.MockTransport(lambda _: httpx.Response(200, stream=Bytes(body))))


SUBJECTS = {"scripted": scripted, "openai-chat": openai_chat}


# -- what holds


@pytest.fixture(params=SUBJECTS)
def make(request):
    return SUBJECTS[request.param]


async def collect(model, request=ASKED):
    async with aclosing(model.stream(request)) as deltas:
        return [delta async for delta in deltas]


def read(make, answer):
    async def run():
        model = make(answer)
        try:
            return await collect(model)
        finally:
            await model.close()

    return asyncio.run(run())


@pytest.mark.parametrize("answer", [TEXT, CALLS])
def test_the_last_delta_and_no_other_has_the_end_and_the_usage(make, answer):
    *before, last = read(make, answer)
    assert before
    assert all(delta.finish is None and delta.usage is None for delta in before)
    assert last.finish in get_args(Finish)
    assert isinstance(last.usage, Usage)
    assert last.usage.input > 0
    assert last.usage.output > 0


@pytest.mark.parametrize("answer", [TEXT, CALLS])
def test_a_delta_before_the_last_brings_one_thing_that_can_be_encoded(make, answer):
    for delta in read(make, answer)[:-1]:
        brought = [thing for thing in (delta.text, delta.reasoning, delta.call) if thing]
        assert len(brought) == 1
        str(brought[0]).encode()


def test_a_text_comes_in_pieces(make):
    deltas = read(make, TEXT)
    assert len([delta for delta in deltas if delta.text]) > 1
    assert deltas[-1].finish == "stop"
    assert all(delta.call is None for delta in deltas)


def test_calls_are_counted_from_0_and_named_with_their_first_piece(make):
    deltas = read(make, CALLS)
    pieces = {}
    for delta in deltas:
        if delta.call is not None:
            pieces.setdefault(delta.call.index, []).append(delta.call)
    assert deltas[-1].finish == "tool_calls"
    assert list(pieces) == list(range(len(pieces)))
    for index, (first, *rest) in pieces.items():
        assert first.id
        assert first.name in {function.id for function in ASKED.functions}
        assert all(piece == CallDelta(index, "", "", piece.arguments) for piece in rest)
        assert isinstance(json.loads("".join(piece.arguments for piece in pieces[index])), dict)
    assert len({first.id for first, *_ in pieces.values()}) == len(pieces)


def test_a_fault_is_a_failure_after_what_was_read(make):
    async def run():
        model, seen = make(FAILURE), []
        try:
            async with aclosing(model.stream(ASKED)) as deltas:
                async for delta in deltas:
                    seen.append(delta)  # noqa: PERF401 - what came before the failure counts
        except Failed as failed:
            return seen, failed.failure
        finally:
            await model.close()
        raise AssertionError(seen)

    seen, failure = asyncio.run(run())
    assert failure.kind in KINDS
    assert failure.text
    assert all(delta.finish is None for delta in seen)


def test_an_answer_may_be_left_and_the_model_asked_again(make):
    async def run():
        model = make(TEXT)
        async with aclosing(model.stream(ASKED)) as deltas:
            await anext(deltas)
        again = await collect(model)
        await model.close()
        return again

    assert asyncio.run(run()) == read(make, TEXT)


def test_a_request_may_be_cancelled_and_the_model_asked_again(make):
    async def run():
        model = make(TEXT)
        task = asyncio.create_task(collect(model))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = await collect(model)
        await model.close()
        return again

    assert asyncio.run(run()) == read(make, TEXT)


def test_requests_at_one_time_do_not_mix(make):
    async def run():
        model = make(TEXT)
        answers = await asyncio.gather(*(collect(model) for _ in range(4)))
        await model.close()
        return answers

    assert asyncio.run(run()) == [read(make, TEXT)] * 4


def test_a_model_may_be_closed_before_it_was_asked_and_twice(make):
    async def run():
        model = make(TEXT)
        await model.close()
        await model.close()

    asyncio.run(run())


def test_a_model_tells_what_it_can(make):
    assert "text" in make(TEXT).capabilities
    assert make(TEXT).capabilities <= {"text", "image", "audio", "tools", "schema"}


@pytest.mark.parametrize("name", names_of("models"))
def test_every_wire_has_the_name_of_its_file_and_opens_nothing(name, tmp_path):
    wire = extension("models", name, "MODEL")
    assert wire.name == name.replace("_", "-")
    model = wire(
        Endpoint(
            provider="p", model="m", api=wire.name, base_url="http://127.0.0.1:9", file=str(tmp_path / "none")
        )
    )
    asyncio.run(model.close())
