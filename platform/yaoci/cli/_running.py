"""What `run` and `call` share: a run, shown as it happens."""

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import AsyncIterator
from typing import Any, Final, TextIO, cast

import click

from .. import loops
from ..endpoints import problem
from ..errors import Failed, UsageError
from ..events import Event
from ..messages import Message
from ..registry import Registry
from ..runner import Runner
from ..stream import Outcome
from ..values import Json, as_text, compact
from ._terminal import Global, is_terminal

_READ: Final = frozenset({"text", "markdown", "error", "json"})
"""Types of messages that are the answer; the others are remarks."""
_WHEEL: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def runner(registry: Registry, model: str) -> Runner:
    """Return a runner, with `model` for every assistant if it names one. Raises UsageError where it is not known."""
    settings = registry.settings.definition if registry.settings else None
    if model and (wrong := problem(model, settings)):
        raise UsageError(": ".join(filter(None, wrong)))
    return Runner(registry, model=model)


def run(runner: Runner, given: Global, output: str, target: str, **request: Any) -> int:
    """Run a target and show it as `output` says; return the exit code. Raises Failed, UsageError.

    Meanwhile what the project's own code prints goes to stderr, from whatever thread: stdout is for the answer.
    """
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        return loops.run(_run(runner, given, out, output, target, request))


async def _run(
    runner: Runner, given: Global, out: TextIO, output: str, target: str, request: dict[str, Any]
) -> int:
    printer = _Lines(out) if output == "jsonl" else _Silent(out) if output == "json" else _Text(out, given)
    try:
        async with runner, runner.stream(target, **request) as stream:
            with printer:
                async for event in _ticking(stream, printer):
                    printer.show(event)
            outcome = stream.outcome
    except Failed as error:
        if output == "json":
            _print_json(out, {"v": 1, "state": "failed", "error": error.failure.to_json()})
        raise
    if output == "json":
        _print_json(out, _outcome(outcome))
    elif output == "text" and outcome.message is None:
        print(_pretty(outcome.output), file=out)
    return 0


def _print_json(out: TextIO, value: Json) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2), file=out, flush=True)


async def _ticking(stream: Any, printer: Any) -> AsyncIterator[Event]:
    """Yield events, and turn the wheel in between."""
    ticker = asyncio.ensure_future(_tick(printer)) if getattr(printer, "moves", False) else None
    try:
        async for event in stream:
            yield event
    finally:
        if ticker is not None:
            ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ticker


async def _tick(printer: Any) -> None:
    while True:
        await asyncio.sleep(0.1)
        printer.tick()


def _outcome(outcome: Outcome) -> dict[str, Json]:
    out: dict[str, Json] = {"v": 1, "run": outcome.run, "state": outcome.state, "output": outcome.output}
    if outcome.message is not None:
        out["message"] = outcome.message.to_json()
    if outcome.error is not None:
        out["error"] = outcome.error.to_json()
    return {**out, "usage": outcome.usage.to_json()}


def _pretty(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


class _Silent:
    """Shows nothing while the run goes on."""

    def __init__(self, out: TextIO) -> None:
        self.out = out

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, *_: object) -> None:
        """End."""

    def show(self, event: Event) -> None:
        """Take an event."""


class _Lines(_Silent):
    """One event a line, as JSON."""

    def show(self, event: Event) -> None:
        """Write the event."""
        print(compact(event.to_json()), file=self.out, flush=True)


class _Text(_Silent):
    """The answer on stdout as it comes; everything else on stderr."""

    def __init__(self, out: TextIO, given: Global) -> None:
        super().__init__(out)
        self.given = given
        self.live = is_terminal(out)
        self.moves = is_terminal(sys.stderr) and not given.quiet
        self.shown: dict[str, str] = {}
        self.open = ""
        self.waiting = ""
        self.wheel = itertools.cycle(_WHEEL)
        self.status = False

    def __exit__(self, *_: object) -> None:
        """Leave the terminal at the beginning of a line."""
        self._clear()
        self._end_line()

    def tick(self) -> None:
        """Turn the wheel while something is waited for."""
        if self.waiting and not self.open:
            sys.stderr.write(f"\r\x1b[2K{click.style(f'{next(self.wheel)} {self.waiting}', dim=True)}")
            sys.stderr.flush()
            self.status = True

    def show(self, event: Event) -> None:
        """Show what a person wants to see of an event."""
        data = cast("dict[str, Json]", event.data or {})
        match event.kind:
            case "model_loading":
                self.waiting = f"loading the model {data['model']} …"
            case "model_started":
                self.waiting = f"asking {data['model']} …"
            case "model_ended":
                self.waiting = ""
                self._clear()
            case "tool_started":
                self.waiting = f"{data['tool']} …"
                self._remark(f"→ {data['tool']} {compact(data['args'])}")
            case "tool_ended":
                self.waiting = ""
                self._tool_ended(data)
            case "callback_ended" if self.given.verbose:
                state = "" if data["ok"] else f" failed: {data['error']['message']}"
                self._remark(f"· {data['hook']}: {data['callback']}{state}  ({event.place})")
            case "note" if "error" in data:
                self._remark(f"✗ {data['text']}: {data['error']['message']}", always=True)
            case "note":
                self._remark(f"· {data['text']}")
            case "message" if event.message is not None:
                self._message(event.message)
            case _:
                pass

    def _tool_ended(self, data: dict[str, Json]) -> None:
        if not data["ok"]:
            self._remark(f"✗ {data['tool']}: {data['error']['message']}")
        elif self.given.verbose:
            self._remark(f"← {data['tool']} {compact(data['result'])}")

    def _message(self, message: Message) -> None:
        if message.type not in _READ:
            if not message.delta and message.text:
                self._remark(f"· {message.text}")
            return
        if message.delta:
            self._piece(message)
        elif message.done:
            self._settled(message)

    def _piece(self, message: Message) -> None:
        if not self.live:
            return
        self._clear()
        if message.new and self.shown.get(message.id):
            self._end_line()
            self._remark("— once more —")
        self.shown[message.id] = ("" if message.new else self.shown.get(message.id, "")) + message.text
        self.open = message.id
        self.out.write(message.text)
        self.out.flush()

    def _settled(self, message: Message) -> None:
        self._clear()
        before = self.shown.pop(message.id, None)
        if before is not None and before == message.text:
            self._end_line()
            return
        self._end_line()
        if before:
            self._remark("— replaced by —")
        if message.text:
            print(message.text, file=self.out, flush=True)
        elif message.data is not None:
            print(as_text(message.data), file=self.out, flush=True)

    def _end_line(self) -> None:
        if self.open:
            self.out.write("\n")
            self.out.flush()
            self.open = ""

    def _clear(self) -> None:
        if self.status:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self.status = False

    def _remark(self, text: str, *, always: bool = False) -> None:
        self._clear()
        if self.open and self.live:
            self._end_line()
        if always or self.moves or self.given.verbose:
            self.given.remark(text)
