"""What the public door looks like to a type checker: read by mypy and pyright, never run."""

from typing import Any, assert_type

import yaoci
from yaoci import Event, Message, Outcome, Registry, Report, Runner


def loading() -> None:
    assert_type(yaoci.load("."), Registry)
    report = yaoci.check(".")
    assert_type(report, Report)
    assert_type(report.ok, bool)
    assert_type([finding.span.line for finding in report.findings], list[int])


@yaoci.process
def add(a: int, b: int = 2) -> int:
    return a + b


@yaoci.process(name="加 Add", effect="read")
async def slowly(a: int) -> str:
    return str(a)


async def running(registry: Registry) -> None:
    assert_type(add(1), int)
    assert_type(await slowly(1), str)
    runner = Runner(registry)
    outcome = await runner.call("neo", "你好", callback="audit.log", options={"temperature": 0})
    assert_type(outcome, Outcome)
    assert_type(outcome.message, Message | None)
    async with runner.stream("neo", "你好") as events:
        async for event in events:
            assert_type(event, Event)
            assert_type(event.message, Message | None)
        assert_type(events.outcome, Outcome)


def from_sync_code(runner: Runner) -> None:
    def shout(message: Message) -> dict[str, Any]:
        return {"then": "replace", "message": message.text.upper()}

    outcome = runner.call_sync(
        "orders.find", args={"id": "A42"}, callback=[shout, {"name": "audit.log", "args": [1]}]
    )
    assert_type(outcome.usage.input, int)


def failing() -> None:
    try:
        yaoci.load(".")
    except yaoci.DefinitionError as error:
        assert_type(error.report, Report)
    except yaoci.Failed as error:
        assert_type(error.failure, yaoci.Failure)
