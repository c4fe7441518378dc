"""`assistant`: a method that calls an assistant."""

import asyncio

import pytest

from yaoci import Failed, Runner
from yaoci.models.scripted import Scripted

from ..project import project

FILES = {
    "assistants/a.yaml": """
        model: local
        parameters: {type: object, properties: {tone: {type: string, default: friendly}}}
        prompts: [{content: "Be {{ args.tone }}."}]
        options: {temperature: 0.5}
        """,
    "assistants/json.yaml": """
        model: local
        returns: {type: object, properties: {n: {type: integer}}, required: [n]}
        """,
    "processes/p.yaml": """
        methods:
          short: {assistant: a, parameters: {type: object, properties: {input: {type: string}}}}
          full:
            parameters: {type: object, properties: {what: {type: string}}}
            assistant:
              assistant: a
              input: "Tell me of {{ args.what }}"
              args: {tone: short}
              options: {temperature: 0, max_tokens: 5}
              callback: [shout, shout]
          shout: {value: {then: replace, message: "{{ message.text }}!"}}
          value: {assistant: {assistant: json, input: x}}
          whole: {assistant: a, parameters: {type: object, properties: {x: {}}}}
        """,
}


@pytest.fixture
def registry(tmp_path):
    return project(tmp_path, FILES)


def run(registry, name, *script, **more):
    model = Scripted(list(script))
    return asyncio.run(
        Runner(registry, models={"local": model}).call(f"p.{name}", **more)
    ).output, model.requests


def test_the_argument_input_is_what_is_said(registry):
    output, (request,) = run(registry, "short", "hello", args=["hi"])
    assert output == "hello"
    assert [message.text for message in request.messages] == ["Be friendly.", "hi"]
    assert request.options == {"temperature": 0.5}


def test_input_arguments_options_and_callback_are_the_steps_own(registry):
    output, (request,) = run(registry, "full", "hello", args=["tea"])
    assert output == "hello!!"
    assert [message.text for message in request.messages] == ["Be short.", "Tell me of tea"]
    assert request.options == {"temperature": 0, "max_tokens": 5}


def test_other_arguments_are_said_as_json(registry):
    _, (request,) = run(registry, "whole", "hello", args={"x": [1]})
    assert request.messages[-1].text == '{"x":[1]}'


def test_the_result_is_the_checked_value(registry):
    assert run(registry, "value", '{"n": 5}')[0] == {"n": 5}


def test_its_failure_is_told_with_the_place_in_the_assistant(registry):
    with pytest.raises(Failed) as caught:
        run(registry, "short", [{"fail": {"kind": "auth", "message": "no key"}}], args=["hi"])
    assert (caught.value.failure.kind, caught.value.failure.place) == ("auth", "assistants/a.yaml:2")


def test_it_is_a_write_since_nobody_knows_what_a_model_does(registry):
    assert registry.process("p.short").effect == "write"
    assert registry.process("assistants.a").effect == "write"


def test_its_messages_are_for_the_caller_alone(registry):
    async def main():
        async with Runner(registry, models={"local": Scripted(["hello"])}).stream(
            "p.short", args=["hi"]
        ) as stream:
            return [event.kind async for event in stream]

    kinds = asyncio.run(main())
    assert "message" not in kinds
    assert "turn_started" in kinds
