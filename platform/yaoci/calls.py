"""Calling an assistant: its turn, the hand-overs from it, and the callback of the call."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from . import callbacks
from .callbacks import Next, Stop
from .contracts import Key, Usage
from .definitions import Assistant, AssistantStep
from .derive import dump
from .errors import Failed, Failure, UsageError, YaociError
from .given import arguments_of, input_of
from .host import Follower, Host, run_process
from .messages import Message
from .registry import ASSISTANTS, Link, Unit, home_of
from .schemas import Shape, explain
from .tree import Budget, Called, Tree, bounds, keep
from .turn import Ended, Turn
from .values import Json, as_text


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
    given = input_of(unit, input)
    links = links_of(tree, callback, host.home, host.place) if callback is not None else ()
    asked = {**_options(step), **cast("dict[str, Json]", options or {})}

    budget = host.budget.counting() if tree.engine.durable else host.budget

    async def body() -> Json:
        visible = shown and host.visible
        turns = _Turns(host, unit, given, args, asked, callers, str(key), visible=visible, budget=budget)
        return _to_json(await turns.run())

    async def record(kept: Callable[[], Awaitable[Json]]) -> Json:
        what = (
            {"assistant": unit.id, "input": [m.to_json() for m in given], "args": args}
            if tree.engine.durable
            else None
        )
        return (await tree.engine.scope(key, kept, asked=what)).value

    called = _from_json(await keep(tree, budget, body, record))
    if not links:
        return called
    event = {"assistant": unit.id, "value": called.value, "usage": called.usage.to_json()}
    last = await call_chain(host, links, str(key), called.message, event)
    return last._replace(usage=called.usage, error=last.error or called.error)


def _to_json(called: Called) -> dict[str, Json]:
    out: dict[str, Json] = {
        "message": called.message.to_json(), "value": called.value, "usage": called.usage.to_json(),
    }  # fmt: skip
    return out if called.error is None else {**out, "error": called.error.to_json()}


def _from_json(found: Mapping[str, Json]) -> Called:
    error = Failure.from_json(found["error"]) if "error" in found else None
    return Called(Message.from_json(found["message"]), found["value"], Usage(**found["usage"]), error)


def _options(step: AssistantStep) -> dict[str, Json]:
    return cast("dict[str, Json]", dump(step.options)) if step.options is not None else {}


def links_of(tree: Tree, callback: Any, home: str, place: str) -> tuple[Link, ...]:
    """Return the chain that a callback of a call means. Raises Failed of kind `missing`."""
    try:
        return callbacks.bind(callback, tree.registry, home, place)
    except YaociError as error:
        raise Failed.of("missing", f"the callback cannot be called: {error}", place=place) from None


async def call_chain(host: Host, links: Sequence[Link], key: str, message: Message, event: Json) -> Called:
    """Run the callback of a call with its answer, and return its last message."""
    chain = await callbacks.run(
        links, Follower(host, "callback"), "callback", f"{key}/callback", message, event
    )
    if isinstance(chain.said, Next):
        return await _next(host, chain.said, f"{key}/callback/next", message)
    messages = chain.said.messages if isinstance(chain.said, Stop) and chain.said.messages else chain.messages
    last = messages[-1] if messages else replace(message, text="", hidden=True)
    value = (
        cast("dict[str, Json]", event)["value"]
        if last is message
        else (last.data if last.data is not None else last.text)
    )
    return Called(last, value, Usage())


async def _next(host: Host, said: Next, key: str, message: Message) -> Called:
    """Run what a callback of a call hands over to, and return its result as an answer."""
    if said.target.startswith(ASSISTANTS):
        step = AssistantStep(assistant=said.target.removeprefix(ASSISTANTS))
        given = said.input if said.input is not None else message
        called = await call_assistant(host, step, given, said.args or {}, None, key=Key(key))
        value, error = called.value, called.error
    else:
        process = host.tree.registry.resolve(said.target, host.home)
        value, error = await run_process(host, process, said.args or {}, key, message=message), None
    return Called(Message(role="assistant", text=as_text(value)), value, Usage(), error)


class _Turns:
    """A turn and the hand-overs from it: `next` takes the place of what is running, in this loop."""

    def __init__(
        self, host: Host, unit: Unit[Assistant], given: Sequence[Message], args: Json, options: Mapping[str, Json],
        callers: tuple[str, ...], key: str, *, visible: bool, budget: Budget,
    ) -> None:  # fmt: skip
        self.outer = host
        self.budget = budget
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
        self.error: Failure | None = None
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
        budget = self.budget
        if self.outer.callers or unit is not self.first:
            budget = Budget(bounds(unit.place(()), unit, tree.registry.settings), budget)
        host = Host(
            tree, key, file=unit.file, path=(), home=home_of(unit.id, in_assistant=True), unit=unit.id, args=arguments_of(unit, self.args, self.given[-1].text),
            message=self.given[-1], callers=self.callers, visible=self.visible, budget=budget,
        )  # fmt: skip
        await host.note("turn_started", {"assistant": unit.id})
        turn = Turn(host, unit, self.given, self.options, self.rounds)
        try:
            ended = await turn.run()
        finally:
            self.usage += turn.asker.usage
            self.error = turn.failure or self.error
        if isinstance(ended, Next):
            return ended
        return await self._settle(host, ended)

    async def _settle(self, host: Host, ended: Ended) -> Called:
        """Show what the turn ends with, settled."""
        shown = self.visible and self.tree.sink is not None
        for index, message in enumerate(ended.messages):
            if not shown or message.hidden:
                continue
            id = message.id or f"{self.tree.run}/{host.key}/{index}"
            settled = replace(message, id=id, role=message.role or "assistant", assistant_id=message.assistant_id or self.unit.id,
                              done=True, new=False, delta=False)  # fmt: skip
            await host.note("message", None, message=settled)
        last = (
            ended.messages[-1]
            if ended.messages
            else Message(role="assistant", hidden=True, assistant_id=self.unit.id)
        )
        return Called(last, ended.value, self.usage, self.error)

    async def _hand_over(self, said: Next, key: str) -> Called | None:
        """Make the target what runs next; a process runs at once, and its result is the answer."""
        tree = self.tree
        process = tree.registry.resolve(said.target, home_of(self.unit.id, in_assistant=True))
        self.budget.take_call(f"`{process.name}`", self.unit.place(("hooks",)))
        if process.name.startswith(ASSISTANTS):
            self.unit = tree.registry.assistant(process.owner)
            self.given = input_of(self.unit, said.input) if said.input is not None else self.given
            self.args = said.args or {}
            self.options = {}
            self.callers = (*self.callers[:-1], self.unit.id)
            return None
        host = Host(
            tree, f"{key}/next", file=self.unit.file, path=("hooks",), home=home_of(self.unit.id, in_assistant=True), unit=self.unit.id,
            callers=self.callers, visible=self.visible, budget=self.budget,
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
