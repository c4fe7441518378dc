"""What `run` and `call` share: arguments from the command line, and showing a run as it happens."""

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, cast

import click

from ..endpoints import problem
from ..errors import UsageError
from ..events import Event
from ..keywords import properties
from ..messages import Message
from ..registry import Process, Registry
from ..runner import Runner
from ..stream import Outcome
from ..values import Json, as_text, compact
from ._terminal import Global, is_terminal

OUTPUTS: Final = ("text", "json", "jsonl")
MAX_INPUT: Final = 1024 * 1024
"""The most that is read from stdin, in characters."""

_READ: Final = frozenset({"text", "markdown", "error", "json"})
"""Types of messages that are the answer; the others are remarks."""
_WHEEL: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def arguments(process: Process, pairs: Sequence[str], whole: str | None) -> Json:
    """Return the arguments that `--arg name=value` and `--args JSON` give. Raises UsageError.

    A value is taken as text where the parameter may be text, else read as JSON.
    """
    found: dict[str, Json] = {}
    if whole is not None:
        try:
            given: Json = json.loads(whole)
        except ValueError as error:
            raise UsageError(f"`--args` is not JSON: {error}") from None
        if not isinstance(given, dict):
            raise UsageError('`--args` wants a JSON object, such as \'{"id": "A42"}\'')
        found = cast("dict[str, Json]", given)
    known = properties(process.method.parameters or {})
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"`--arg {pair}`: write name=value")
        found[name] = _value(text, known.get(name))
    return found


def _value(text: str, schema: Json) -> Json:
    kind = cast("Mapping[str, Json]", schema).get("type") if isinstance(schema, Mapping) else None
    if kind is not None and "string" in (kind if isinstance(kind, list) else [kind]):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def given_input(text: str | None, given: Global) -> str:
    """Return what is said: the argument, or what stands on stdin. Raises UsageError for too much of it."""
    if text is not None and text != "-":
        return text
    if is_terminal(sys.stdin):
        if not given.interactive:
            raise UsageError("nothing to say: give the text as an argument or on stdin")
        given.remark("type your message, and end it with Ctrl-D")
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    read = sys.stdin.read(MAX_INPUT + 1)
    if len(read) > MAX_INPUT:
        raise UsageError(f"stdin has more than {MAX_INPUT} characters")
    return read.strip()


def runner(registry: Registry, model: str) -> Runner:
    """Return a runner, with `model` for every assistant if it names one. Raises UsageError where it is not known."""
    settings = registry.settings.definition if registry.settings else None
    if model and (wrong := problem(model, settings)):
        raise UsageError(": ".join(filter(None, wrong)))
    return Runner(registry, model=model)


def run(runner: Runner, given: Global, output: str, target: str, **request: Any) -> int:
    """Run a target and show it as `output` says; return the exit code. Raises Failed, UsageError."""
    return asyncio.run(_run(runner, given, output, target, request))


async def _run(runner: Runner, given: Global, output: str, target: str, request: dict[str, Any]) -> int:
    printer = _Lines() if output == "jsonl" else _Silent() if output == "json" else _Text(given)
    async with runner, runner.stream(target, **request) as stream:
        with printer:
            async for event in _ticking(stream, printer):
                printer.show(event)
        if output == "json":
            print(json.dumps(_outcome(stream.outcome), ensure_ascii=False, indent=2))
        elif output == "text" and stream.outcome.message is None:
            print(_pretty(stream.outcome.output))
    return 0


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
    return {**out, "usage": outcome.usage.to_json()}


def _pretty(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


class _Silent:
    """Shows nothing while the run goes on."""

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
        print(compact(event.to_json()), flush=True)


class _Text(_Silent):
    """The answer on stdout as it comes; everything else on stderr."""

    def __init__(self, given: Global) -> None:
        self.given = given
        self.live = is_terminal(sys.stdout)
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
            self._remark(f"← {compact(data['result'])}")

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
        sys.stdout.write(message.text)
        sys.stdout.flush()

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
            print(message.text, flush=True)
        elif message.data is not None:
            print(as_text(message.data), flush=True)

    def _end_line(self) -> None:
        if self.open:
            sys.stdout.write("\n")
            sys.stdout.flush()
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
