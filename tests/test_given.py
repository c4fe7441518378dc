"""What processes and assistants are given."""

import asyncio

import pytest

from yaoci import Failed, Runner
from yaoci.models.scripted import Scripted

from .project import project

FILES = {
    "assistants/a.yaml": """
        model: local
        description: Tells of a city. Use it for all.
        parameters: {type: object, properties: {city: {type: string, default: Berlin}}}
        prompts: [{content: "About {{ args.city }}."}]
        """,
    "assistants/asks.yaml": "model: local\ntools: [open.find, {assistant: a}]\n",
    "processes/p.py": """
        from yaoci import process

        @process(effect="read")
        def find(city: str = "Berlin"):
            "Finds. Use it for all."
            return city

        @process
        async def typo(context):
            "Calls wrongly."
            return await context.process("find", {"ctiy": "Bonn"})

        @process
        async def asks(context):
            "Calls an assistant as a process."
            return await context.process("assistants.a", {"city": "Bonn", "input": "hi"})
        """,
    "processes/open.yaml": """
        methods:
          find:
            description: Finds. Use it for all.
            parameters: {type: object, properties: {city: {type: string}}}
            value: "{{ args.city }}"
          any:
            parameters: {type: object, properties: {city: {}}, additionalProperties: true}
            value: "{{ args }}"
        """,
}


@pytest.fixture
def registry(tmp_path):
    return project(tmp_path, FILES)


def ran(registry, target, *script, **more):
    model = Scripted(list(script))
    outcome = asyncio.run(Runner(registry, models={"local": model}).call(target, **more))
    return outcome.output, model


@pytest.mark.parametrize(
    ("target", "more", "name"),
    [
        ("p.find", {"args": {"ctiy": "Bonn"}}, "p.find"),
        ("open.find", {"args": {"ctiy": "Bonn"}}, "open.find"),
        ("p.typo", {}, "p.find"),
        ("a", {"input": "hi", "args": {"ctiy": "Bonn"}}, "a"),
    ],
)
def test_an_unknown_argument_of_people_and_code_is_refused(registry, target, more, name):
    with pytest.raises(Failed) as caught:
        ran(registry, target, "hello", **more)
    failure = caught.value.failure
    assert failure.kind == "bad_args"
    assert failure.text == f"`{name}` has no parameter `ctiy`: did you mean `city`?"


def test_an_unknown_argument_of_a_model_is_let_be(registry):
    calls = {"call": {"open_find": {"city": "Bonn", "more": 1}, "a": {"city": "Köln", "more": 1}}}
    output, model = ran(registry, "asks", [calls], "of a", "done", input="go")
    assert output == "done"
    assert [message.text for message in model.requests[2].messages[-2:]] == [
        '{"text":"Bonn"}',
        '{"text":"of a"}',
    ]
    assert model.requests[1].messages[0].text == "About Köln."


def test_parameters_that_are_open_take_any_name(registry):
    assert ran(registry, "open.any", args={"other": 1})[0] == {"other": 1}


def test_an_assistant_as_a_process_is_told_its_input_besides_its_parameters(registry):
    output, model = ran(registry, "p.asks", "hello")
    assert output == "hello"
    assert [message.text for message in model.requests[0].messages] == ["About Bonn.", "hi"]
