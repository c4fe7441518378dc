"""`steps`: flows."""

import asyncio

import pytest

from yaoci import Failed, Runner
from yaoci.models.scripted import Scripted

from ..project import project

FLOWS = {
    "processes/p.yaml": """
        methods:
          echo: {parameters: {type: object, properties: {x: {}}}, value: "{{ args.x }}"}
          last: {steps: [{process: echo, args: [1]}, {process: p.echo, args: {x: 2}}]}
          empty: {steps: []}
          early: {steps: [{return: {n: 1}}, {fail: never}]}
          null_return: {steps: [{process: echo, args: [1]}, {return: null}]}
          named:
            parameters: {type: object, properties: {go: {type: boolean}}}
            steps:
              - {id: a, process: echo, args: [[1, 2]]}
              - {id: b, when: args.go, process: echo, args: ["{{ steps.a }}"]}
              - {return: {a: "{{ steps.a }}", b: "{{ steps.b is defined }}"}}
          sets:
            steps:
              - {set: {x: 1, y: {z: [2]}}}
              - {set: {x: "{{ shared.x + 1 }}"}}
              - {process: reads}
          reads: {value: "{{ shared.x }} {{ shared.y.z }}"}
          fails: {steps: [{fail: "no {{ args.what }}"}], parameters: {type: object, properties: {what: {type: string}}}}
          skips:
            steps:
              - {id: a, process: fails, args: [tea], on_error: skip}
              - {return: "{{ steps.a is defined }}"}
          stops: {steps: [{process: fails, args: [tea]}, {return: never}]}
          slow: {steps: [{process: waits, timeout: 10ms}]}
          slow_skip: {steps: [{process: waits, timeout: 10ms, on_error: skip}, {return: went on}]}
          waits: {python: waits, effect: read}
          sends:
            steps:
              - {send: "hello {{ context.run }}"}
              - {send: {type: table, props: {rows: [1]}}}
              - {return: sent}
          bad_send: {steps: [{send: {txt: x}}]}
          calls: {steps: [{id: said, assistant: a, input: hi, callback: shout}, {return: "{{ steps.said }}"}]}
          shout: {value: {then: replace, message: "{{ message.text }}!"}}
          wrong_when: {steps: [{when: args.x.y, return: 1}], parameters: {type: object, properties: {x: {}}}}
        """,
    "processes/p.py": "import asyncio\n\n\nasync def waits():\n    await asyncio.Event().wait()\n",
    "assistants/a.yaml": "model: local\n",
}


@pytest.fixture
def registry(tmp_path):
    return project(tmp_path, FLOWS)


def run(registry, name, *script, **more):
    runner = Runner(registry, models={"local": Scripted(list(script))})
    return asyncio.run(runner.call(f"p.{name}", **more)).output


def failure(registry, name, **more):
    with pytest.raises(Failed) as caught:
        run(registry, name, **more)
    return caught.value.failure


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("last", 2), ("empty", None), ("early", {"n": 1}), ("null_return", None), ("sets", "2 [2]"), ("skips", False),
        ("slow_skip", "went on"), ("sends", "sent"),
    ],
)  # fmt: skip
def test_the_result_is_what_return_says_else_the_last_steps(registry, name, result):
    assert run(registry, name) == result


@pytest.mark.parametrize(("go", "defined"), [(True, True), (False, False)])
def test_a_steps_result_has_its_name_and_a_skipped_step_has_none(registry, go, defined):
    assert run(registry, "named", args=[go]) == {"a": [1, 2], "b": defined}


def test_a_failing_step_fails_the_flow_at_its_place(registry):
    failed = failure(registry, "stops")
    assert (failed.kind, failed.text, failed.place) == ("failed", "no tea", "processes/p.yaml:20")


def test_a_step_that_takes_too_long_fails(registry):
    failed = failure(registry, "slow")
    assert failed.kind == "timeout"
    assert "0.01 s" in failed.text


def test_a_condition_that_cannot_be_told_fails_at_its_step(registry):
    failed = failure(registry, "wrong_when", args=[{}])
    assert (failed.kind, failed.place) == ("template", "processes/p.yaml:37")


def test_what_is_no_message_is_not_sent(registry):
    assert "no field `txt`" in failure(registry, "bad_send").text


def test_an_assistant_is_called_and_its_callback_with_the_answer(registry):
    assert run(registry, "calls", "hello") == "hello!"


def test_messages_and_ends_of_steps_are_told(registry):
    async def main():
        async with Runner(registry).stream("p.sends", run="r") as stream:
            return [event async for event in stream]

    events = asyncio.run(main())
    sent = [event.message for event in events if event.kind == "message"]
    assert [(message.type, message.text, message.done) for message in sent] == [
        ("text", "hello r", True), ("table", "", True)
    ]  # fmt: skip
    assert len({message.id for message in sent}) == 2
    ended = [(event.key, event.place, event.data["ok"]) for event in events if event.kind == "step_ended"]
    assert ended == [(f"t/steps.{n}", f"processes/p.yaml:{31 + n}", True) for n in range(3)]


def test_the_effect_is_the_strongest_of_the_parts(tmp_path):
    registry = project(tmp_path, {
        "processes/p.yaml": """
            methods:
              value: {value: 1}
              idem: {value: 1, effect: idempotent}
              write: {value: 1, effect: write}
              a: {steps: [{process: value}, {return: 1}]}
              b: {steps: [{process: value}, {process: idem}]}
              c: {steps: [{process: write}, {process: b}]}
              d: {steps: [{process: c}]}
              e: {steps: [{send: hi}]}
              f: {steps: [{set: {x: 1}}]}
              g: {steps: [{process: g}, {process: idem}]}
              h: {steps: [{process: write}], effect: read}
            """,
    })  # fmt: skip
    assert "".join(f"{id}:{registry.process('p.' + id).effect[0]} " for id in "abcdefgh") == (
        "a:r b:i c:w d:w e:w f:w g:i h:r "
    )
