"""The door: a runner turns a request into an outcome, or into a stream of events."""

import asyncio
import os
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Literal, Self, cast

from . import callbacks, contracts, endpoints
from .arguments import bind
from .callbacks import Next, Stop
from .contracts import Journal, Key, Loading, Model, Usage
from .definitions import Assistant, AssistantStep, Limits
from .derive import dump
from .endpoints import Choice
from .engine import Engine, utc_now
from .errors import Failed, UsageError, YaociError
from .events import Event
from .host import Follower, Host, run_process
from .messages import Message
from .registry import ASSISTANTS, Link, Process, Registry, Unit, home_of
from .schemas import Shape, explain, properties
from .tree import Budget, Called, Sink, Tree, keep, tighter
from .turn import Ended, Turn
from .values import Json, as_text, canonical

BEHIND: Final = 256
"""So many events may wait for a reader before the run waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run that did not fail."""

    run: str
    state: Literal["done"] = "done"
    message: Message | None = None
    """The last message; of a process none, unless a callback made one."""
    output: Json = None
    """An assistant's checked `returns` value, else its text; a process's result."""
    usage: Usage = Usage()  # noqa: RUF009 - frozen


class Runner:
    """Runs the assistants and processes of a registry.

    Models are opened when first used, and closed when the last run that needs them ends; within
    `async with runner:` they stay open in between.
    """

    def __init__(
        self, registry: Registry, *, models: Mapping[str, Model] | None = None, model: str = "",
        journal: Journal | None = None, clock: Callable[[], datetime] = utc_now, environ: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Take the registry.

        `models` gives models by the names that YAML calls them; `model` names one to be used for
        every assistant; `journal` keeps results by key; `environ` stands for the environment.
        """
        self.registry = registry
        self._given = dict(models or {})
        self._model = model
        self._journal = journal
        self._clock = clock
        self._environ = os.environ if environ is None else environ
        self._open: dict[str, tuple[Choice, Model]] = {}
        self._users = 0
        self._launcher = contracts.extension("launchers", "inline", "LAUNCHER")

    # -- the door ------------------------------------------------------------------------------------

    async def call(
        self, target: str, input: Json = None, *, args: Json = None, callback: Any = None, options: Json = None,
        context: Mapping[str, Json] | None = None, run: str = "",
    ) -> Outcome:  # fmt: skip
        """Run an assistant or a process to its end.

        `input` is text, a message or a list of them, for an assistant; `args` are arguments by name
        or in order. `callback` is None, a name, `{name, args}`, a function or a list of them, called
        with the answer. Raises Failed; UsageError where the target is not known or the call cannot be.
        """
        return await self._run(
            _Request(target, input, args, callback, options, dict(context or {}), run), None
        )

    def stream(
        self, target: str, input: Json = None, *, args: Json = None, callback: Any = None, options: Json = None,
        context: Mapping[str, Json] | None = None, run: str = "",
    ) -> AbstractAsyncContextManager["Stream"]:  # fmt: skip
        """Return what `async with` opens as a stream of events; leaving the block cancels the run and waits for it."""
        return self._stream(_Request(target, input, args, callback, options, dict(context or {}), run))

    @asynccontextmanager
    async def _stream(self, request: "_Request") -> AsyncGenerator["Stream", None]:
        stream = Stream()
        stream.task = asyncio.ensure_future(self._run(request, stream))
        stream.task.add_done_callback(stream.wake)
        try:
            yield stream
        finally:
            if not stream.task.done():
                stream.task.cancel()
                await asyncio.wait({stream.task})
            if not stream.task.cancelled():
                stream.task.exception()

    def call_sync(
        self, target: str, input: Json = None, *, args: Json = None, callback: Any = None, options: Json = None,
        context: Mapping[str, Json] | None = None,
    ) -> Outcome:  # fmt: skip
        """Do what `call` does, from code that is not async. Raises UsageError inside a running loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise UsageError("call_sync cannot be used inside a running event loop: `await runner.call(...)`")
        return asyncio.run(
            self.call(target, input, args=args, callback=callback, options=options, context=context)
        )

    async def __aenter__(self) -> Self:
        """Keep models open until the block ends."""
        self._users += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the models."""
        await self._release()

    async def _release(self) -> None:
        self._users -= 1
        if not self._users:
            opened, self._open = list(self._open.items()), {}
            for name, (_, model) in opened:
                if name not in self._given:
                    await model.close()

    async def open_model(self, name: str, tell: Callable[[str], Awaitable[None]]) -> tuple[Choice, Model]:
        """Return where a model is, and the model, opened and loaded where it is not yet. Raises Failed.

        `tell` is awaited with the model's name before it is loaded, if that takes a while.
        """
        name = self._model or name
        if name not in self._open:
            if name in self._given:
                self._open[name] = (
                    Choice(name=name, endpoint=contracts.Endpoint(provider="", model=name, api="")),
                    self._given[name],
                )
            else:
                settings = self.registry.settings.definition if self.registry.settings else None
                choice = endpoints.choose(name, settings, self.registry.root, self._environ)
                model = endpoints.open_model(choice)
                if isinstance(model, Loading) and model.loads:
                    await tell(name)
                    await model.prepare()
                self._open[name] = (choice, model)
        return self._open[name]

    # -- a run -----------------------------------------------------------------------------------------

    async def _run(self, request: "_Request", sink: Sink | None) -> Outcome:
        target = self._target(request.target)
        run = request.run or secrets.token_hex(5)
        tree = Tree(
            run=run,
            registry=self.registry,
            engine=await Engine.open(self._journal, run, self._clock),
            budget=Budget(self._limits(target), target.place),
            assistant=call_assistant,
            context=request.context,
            sink=sink,
            source=self.open_model,
        )
        host = Host(
            tree, "t", file=target.file, path=target.path, home=target.home, args=request.args or {}
        )
        self._users += 1
        try:
            await tree.emit("run_started", "", target.place, data={"target": target.name})
            try:
                outcome: Outcome = await self._launcher.run(lambda: self._leg(tree, host, target, request))
            except Failed as error:
                await tree.emit("run_ended", "", error.failure.place, data={"error": error.failure.to_json()})
                raise
            data = {"state": outcome.state, "output": outcome.output, "usage": outcome.usage.to_json()}
            await tree.emit("run_ended", "", target.place, data=data)
            return outcome
        finally:
            await self._release()

    def _limits(self, target: Process) -> Limits:
        """Return the limits of a whole run: the project's, and those of the assistant that is asked for."""
        settings = self.registry.settings
        own = self.registry.assistants[target.owner].definition.limits if target.name.startswith(ASSISTANTS) else None
        return tighter(settings.definition.limits if settings else None, own)

    def _target(self, name: str) -> Process:
        if name in self.registry.assistants:
            return self.registry.process(ASSISTANTS + name)
        if name not in self.registry.processes:
            self.registry.process(name) if "." in name or ":" in name else self.registry.assistant(name)
        return self.registry.process(name)

    async def _leg(self, tree: Tree, host: Host, target: Process, request: "_Request") -> Outcome:
        if target.name.startswith(ASSISTANTS):
            step = AssistantStep(assistant=target.owner)
            called = await call_assistant(
                host,
                step,
                request.input,
                request.args or {},
                request.callback,
                key=Key("t"),
                options=request.options,
                shown=True,
            )
            return Outcome(run=tree.run, message=called.message, output=called.value, usage=tree.usage)
        if request.input is not None:
            raise UsageError(f"`{target.name}` is a process: it takes arguments, no input")
        links = _links(tree, request.callback, target.home, target.place)
        value = await run_process(host, target, request.args or {}, "t")
        if not links:
            return Outcome(run=tree.run, output=value, usage=tree.usage)
        message = Message(role="assistant", text=as_text(value), data=value)
        last = await _call_chain(
            host, links, "t", message, {"process": target.name, "value": value, "usage": {}}
        )
        return Outcome(
            run=tree.run,
            message=last.message,
            output=value if last.message is message else last.value,
            usage=tree.usage,
        )


@dataclass(frozen=True, slots=True)
class _Request:
    target: str
    input: Json
    args: Json
    callback: Any
    options: Json
    context: dict[str, Json]
    run: str


class Stream:
    """The events of a run, as they happen. Iterating ends with the run, and raises Failed if it failed."""

    def __init__(self) -> None:
        self.task: asyncio.Future[Outcome]
        self._events: deque[Event] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._writers: deque[asyncio.Future[None]] = deque()

    @property
    def outcome(self) -> Outcome:
        """The outcome of a run that has ended. Raises Failed; UsageError before the end."""
        if not self.task.done():
            raise UsageError("the run has not ended yet: read its events first")
        return self.task.result()

    async def put(self, event: Event) -> None:
        """Take an event; wait where the reader is far behind. A waiting reader is served first."""
        while len(self._events) >= BEHIND:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._writers.append(waiter)
            await waiter
        self._events.append(event)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
            await asyncio.sleep(0)

    def wake(self, _: Any = None) -> None:
        """Let the reader look again."""
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def __aiter__(self) -> Self:
        """Return the stream itself."""
        return self

    async def __anext__(self) -> Event:
        """Return the next event."""
        while not self._events:
            if self.task.done():
                self.task.result()
                raise StopAsyncIteration
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        event = self._events.popleft()
        if self._writers and len(self._events) < BEHIND // 2:
            while self._writers:
                waiter = self._writers.popleft()
                if not waiter.done():
                    waiter.set_result(None)
        return event


# -- calling an assistant --------------------------------------------------------------------------------


async def call_assistant(
    host: Host, step: AssistantStep, input: Json, args: Json, callback: Any, *, key: Key, options: Json = None,
    shown: bool = False,
) -> Called:  # fmt: skip
    """Call an assistant below `host`: its turn, the hand-overs from it, and the callback of the call. Raises Failed.

    With `shown` its messages reach the user; those of a nested call are for the caller alone.
    """
    tree = host.tree
    try:
        unit = tree.registry.assistant(step.assistant)
    except UsageError as error:
        raise Failed.of("missing", str(error), place=host.place) from None
    callers = (*host.callers, unit.id)
    if len(callers) > host.budget.depth:
        raise Failed.of(
            "limit", f"calls nest deeper than {host.budget.depth}: {' → '.join(callers)}", place=host.place
        )
    host.budget.take_call(f"`{unit.id}`", host.place)
    given = _input(unit, input)
    links = _links(tree, callback, host.home, host.place)
    asked = {**_options(step), **cast("dict[str, Json]", options or {})}

    async def body() -> Json:
        turns = _Turns(host, unit, given, args, asked, callers, str(key), visible=shown and host.visible)
        called = await turns.run()
        return {"message": called.message.to_json(), "value": called.value, "usage": called.usage.to_json()}

    async def record(kept: Callable[[], Awaitable[Json]]) -> Json:
        what = (
            {"assistant": unit.id, "input": [m.to_json() for m in given], "args": args}
            if tree.engine.durable
            else None
        )
        return (await tree.engine.scope(key, kept, asked=what)).value

    found = await keep(tree, body, record)
    called = Called(Message.from_json(found["message"]), found["value"], Usage(**found["usage"]))
    if not links:
        return called
    event = {"assistant": unit.id, "value": called.value, "usage": called.usage.to_json()}
    return (await _call_chain(host, links, str(key), called.message, event))._replace(usage=called.usage)


def _options(step: AssistantStep) -> dict[str, Json]:
    return cast("dict[str, Json]", dump(step.options)) if step.options is not None else {}


def _input(unit: Unit[Assistant], input: Json) -> tuple[Message, ...]:
    """Return what is said to an assistant as messages of the user. Raises Failed where there is nothing."""
    parts: Sequence[Json] = cast("Sequence[Json]", input) if isinstance(input, list | tuple) else [input]
    try:
        messages = [
            Message.from_json(part if isinstance(part, dict | Message) else as_text(part)) for part in parts
        ]
    except ValueError as error:
        raise Failed.of(
            "bad_args", f"the input of `{unit.id}` is no message: {error}", place=unit.place(())
        ) from None
    given = tuple(
        message if message.role == "user" else replace(message, role="user") for message in messages
    )
    if not any(message.text.strip() or message.attachments for message in given):
        raise Failed.of(
            "bad_args", f"there is nothing to answer: the input of `{unit.id}` is empty", place=unit.place(())
        )
    return given


def _links(tree: Tree, callback: Any, home: str, place: str) -> tuple[Link, ...]:
    try:
        return callbacks.bind(callback, tree.registry, home, place)
    except YaociError as error:
        raise Failed.of("missing", f"the callback cannot be called: {error}", place=place) from None


async def _call_chain(host: Host, links: Sequence[Link], key: str, message: Message, event: Json) -> Called:
    """Run the callback of a call with its answer, and return its last message."""
    chain = await callbacks.run(
        links, Follower(host, "callback"), "callback", f"{key}/callback", message, event
    )
    if isinstance(chain.said, Next):
        value = await _next(host, chain.said, f"{key}/callback/next", message)
        return Called(Message(role="assistant", text=as_text(value)), value, Usage())
    messages = chain.said.messages if isinstance(chain.said, Stop) and chain.said.messages else chain.messages
    last = messages[-1] if messages else replace(message, text="", hidden=True)
    value = (
        cast("dict[str, Json]", event)["value"]
        if last is message
        else (last.data if last.data is not None else last.text)
    )
    return Called(last, value, Usage())


async def _next(host: Host, said: Next, key: str, message: Message) -> Json:
    """Run what a callback of a call hands over to, and return its result."""
    if said.target.startswith(ASSISTANTS):
        step = AssistantStep(assistant=said.target.removeprefix(ASSISTANTS))
        given = said.input if said.input is not None else message
        called = await call_assistant(host, step, given, said.args or {}, None, key=Key(key))
        return called.value
    try:
        process = host.tree.registry.resolve(said.target, host.home)
    except UsageError as error:
        raise Failed.of("missing", f"`then: next` leads nowhere: {error}", place=host.place) from None
    return await run_process(host, process, said.args or {}, key, message=message)


class _Turns:
    """A turn and the hand-overs from it: `next` takes the place of what is running, in this loop."""

    def __init__(
        self, host: Host, unit: Unit[Assistant], given: Sequence[Message], args: Json, options: Mapping[str, Json],
        callers: tuple[str, ...], key: str, *, visible: bool,
    ) -> None:  # fmt: skip
        self.outer = host
        self.tree: Tree = host.tree
        self.unit = unit
        self.first = unit
        self.given = given
        self.args: Json = args
        self.options: Mapping[str, Json] = options
        self.callers = callers
        self.key = key
        self.rounds = [0]
        self.usage = Usage()
        self.visible = visible

    async def run(self) -> Called:
        """Run turns until one ends. Raises Failed."""
        number = 0
        while True:
            key = self.key if not number else f"{self.key}/next.{number}"
            ended = await self._turn(key)
            if isinstance(ended, Called):
                return self._fits(ended)
            number += 1
            other = await self._hand_over(ended, key)
            if other is not None:
                return self._fits(other)

    async def _turn(self, key: str) -> Called | Next:
        unit, tree = self.unit, self.tree
        budget = self.outer.budget
        if self.outer.callers or unit is not self.first:
            settings = tree.registry.settings
            limits = tighter(unit.definition.limits, settings.definition.limits if settings else None)
            budget = Budget(limits, unit.place(("limits",)), budget)
        host = Host(
            tree, key, file=unit.file, path=(), home=home_of(unit.id, in_assistant=True), unit=unit.id, args=_arguments(unit, self.args, self.given[-1].text),
            message=self.given[-1], callers=self.callers, visible=self.visible, budget=budget,
        )  # fmt: skip
        await host.note("turn_started", {"assistant": unit.id})
        turn = Turn(host, unit, self.given, self.options, self.rounds)
        try:
            ended = await turn.run()
        finally:
            self.usage += turn.usage
        if isinstance(ended, Next):
            return ended
        return await self._settle(host, ended)

    async def _settle(self, host: Host, ended: Ended) -> Called:
        """Show what the turn ends with, settled."""
        for index, message in enumerate(ended.messages):
            id = message.id or f"{self.tree.run}/{host.key}/{index}"
            settled = replace(message, id=id, role=message.role or "assistant", assistant_id=message.assistant_id or self.unit.id,
                              done=True, new=False, delta=False)  # fmt: skip
            if self.visible and not settled.hidden:
                await host.note("message", None, message=settled)
        last = (
            ended.messages[-1]
            if ended.messages
            else Message(role="assistant", hidden=True, assistant_id=self.unit.id)
        )
        return Called(last, ended.value, self.usage)

    async def _hand_over(self, said: Next, key: str) -> Called | None:
        """Make the target what runs next; a process runs at once, and its result is the answer."""
        tree, place = self.tree, self.unit.place(("hooks",))
        try:
            process = tree.registry.resolve(said.target, home_of(self.unit.id, in_assistant=True))
        except UsageError as error:
            raise Failed.of("missing", f"`then: next` leads nowhere: {error}", place=place) from None
        self.outer.budget.take_call(f"`{process.name}`", place)
        if process.name.startswith(ASSISTANTS):
            self.unit = tree.registry.assistant(process.owner)
            self.given = _input(self.unit, said.input) if said.input is not None else self.given
            self.args = said.args or {}
            self.options = {}
            self.callers = (*self.callers[:-1], self.unit.id)
            return None
        host = Host(
            tree, f"{key}/next", file=self.unit.file, path=("hooks",), home=home_of(self.unit.id, in_assistant=True), unit=self.unit.id,
            callers=self.callers, visible=self.visible, budget=self.outer.budget,
        )  # fmt: skip
        value = await run_process(host, process, said.args or {}, f"{key}/next", message=self.given[-1])
        return await self._settle(host, Ended((Message(role="assistant", text=as_text(value)),), value))

    def _fits(self, called: Called) -> Called:
        """Return what the caller asked for: after a hand-over too, the answer fits the first one's `returns`."""
        returns = self.first.definition.returns
        if (
            returns is not None
            and self.unit is not self.first
            and (misfits := Shape(returns).misfits(called.value))
        ):
            text = explain(misfits, f"what `{self.unit.id}` answered for `{self.first.id}`")
            raise Failed.of("bad_result", text, place=self.first.place(("returns",)))
        return called


def _arguments(unit: Unit[Assistant], args: Json, text: str) -> Json:
    """Return an assistant's arguments, defaults filled in, if they fit its `parameters`. Raises Failed.

    A parameter `input` that nobody gave is what was said.
    """
    declared = unit.definition.parameters
    try:
        given: Json = canonical(args or {})
        if declared is None:
            return cast("Json", given) if isinstance(given, dict) else {}
        bound = bind(given, declared)
    except ValueError as error:
        raise Failed.of("bad_args", f"`{unit.id}`: {error}", place=unit.place(("parameters",))) from None
    if "input" in properties(declared):
        bound = {"input": text, **bound}
    shape = Shape(declared)
    filled = shape.fill(bound)
    if misfits := shape.misfits(filled):
        raise Failed.of(
            "bad_args", explain(misfits, f"the arguments of `{unit.id}`"), place=unit.place(("parameters",))
        )
    return filled
