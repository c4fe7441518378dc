"""Asking a model: the models in order until one answers, and its answer, shown as it comes."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Final, NamedTuple, cast

from .contracts import CallDelta, Function, Key, Model, ModelRequest, Usage
from .definitions import Assistant, Options
from .derive import dump
from .endpoints import Choice
from .errors import RETRYABLE, Failed
from .host import Host
from .messages import FunctionCall, Message
from .registry import Unit
from .tree import Tree
from .values import Json, compact

MAX_ANSWER: Final = 4_000_000
"""The longest answer that is read: characters of its text, reasoning and arguments."""

MAX_CALLS: Final = 128
"""The most calls of one answer that are read."""

_MENDED: Final = RETRYABLE | {"auth", "permission", "not_found", "quota", "missing", "bad_response"}
"""Failures that another model of the list may not meet."""


class Said(NamedTuple):
    """A model's whole answer."""

    text: str
    calls: tuple[FunctionCall, ...]
    finish: str
    usage: Usage


class Asker:
    """Asks the models of one turn, and shows what they say where that may stream."""

    def __init__(
        self, host: Host, unit: Unit[Assistant], functions: tuple[Function, ...], options: Mapping[str, Json]
    ) -> None:
        """Take the host of the turn, the assistant, the functions on offer, and options over the assistant's own."""
        self.host = host
        self.tree: Tree = host.tree
        self.unit = unit
        self.place = unit.place(())
        self.functions = functions
        self.options = options
        self.models: tuple[str, ...] = unit.definition.model
        self.usage = Usage()
        self._told: list[str] = []
        self.unsettled = ""
        """The key of a text that was shown and is not settled yet."""
        self.live = host.visible and not unit.held

    @property
    def partial(self) -> str:
        """What the last request gave before it failed or ended."""
        return "".join(self._told)

    @partial.setter
    def partial(self, text: str) -> None:
        self._told = [text] if text else []

    async def ask(self, key: str, messages: Sequence[Message]) -> Said:
        """Ask the models in order until one answers."""
        names = self.models or (
            self.tree.registry.settings.definition.default_model if self.tree.registry.settings else "",
        )
        for attempt, name in enumerate(names):
            try:
                return await self._attempt(Key(f"{key}/model~{attempt}"), key, name, messages)
            except Failed as error:
                last = attempt == len(names) - 1
                if last or (self.partial and self.live) or error.failure.kind not in _MENDED:
                    raise
                await self.host.note(
                    "note",
                    {"text": f"`{name}` failed, the next model is asked", "error": error.failure.to_json()},
                )
        raise Failed.of("missing", f"`{self.unit.id}` names no model", place=self.place)

    async def _attempt(self, at: Key, key: str, name: str, messages: Sequence[Message]) -> Said:
        budget = self.host.budget
        budget.need_tokens(self.place)
        place = self.unit.place(("model",))

        async def loading(name: str) -> None:
            await self.tree.emit("model_loading", at, place, data={"model": name})

        choice, model = await self.tree.source(name, loading)
        request = self._request(choice, model, messages)
        asked = _asked(request) if self.tree.engine.durable else None
        await self.tree.emit("model_started", at, place, data={"model": name})
        self.partial = ""

        async def act() -> Json:
            try:
                return await self._stream(model, request, key)
            except Failed as error:
                if not self.partial:
                    raise
                raise Failed(error.failure._replace(data={"partial": self.partial})) from error
            except Exception as error:
                raise Failed.of(
                    "exception", f"the model `{name}` raised {type(error).__name__}: {error}"
                ) from error

        try:
            found = (await self.tree.engine.step(at, act, effect="read", asked=asked, timeout=None)).value
        except Failed as error:
            failure, data = error.failure, cast("Mapping[str, Json] | None", error.failure.data)
            if data and "partial" in data:  # recorded, so that a later leg has it too
                self.partial, failure = str(data["partial"]), failure._replace(data=None)
                self.unsettled = key
            await self.tree.emit("model_ended", at, place, data={"model": name, "error": failure.to_json()})
            raise Failed(failure._replace(place=failure.place or place)) from error
        self.partial = found["text"]
        self.unsettled = key if self.partial else ""
        usage = Usage(**found["usage"])
        budget.take_tokens(usage)
        self.usage += usage
        data = {"model": found["model"] or name, "finish": found["finish"], "usage": found["usage"]}
        if found["calls"]:
            data["calls"] = found["calls"]
        await self.tree.emit("model_ended", at, place, data=data)
        if found["finish"] == "content_filter" and not found["calls"]:
            raise Failed.of("content_filter", "the provider withheld the answer", place=place)
        calls = tuple(FunctionCall(**call) for call in found["calls"])
        return Said(found["text"], calls, found["finish"], usage)

    def _request(self, choice: Choice, model: Model, messages: Sequence[Message]) -> ModelRequest:
        options = {**_plain(choice.options), **_plain(self.unit.definition.options), **self.options}
        schema = self.unit.definition.returns
        if schema is not None and "schema" not in model.capabilities:
            messages = [
                Message(
                    role="system",
                    text=f"Answer with JSON alone that fits this JSON Schema: {compact(schema)}",
                ),
                *messages,
            ]
        return ModelRequest(
            model=choice.endpoint.model,
            messages=tuple(messages),
            functions=self.functions,
            options=options,
            schema=schema,
        )

    async def _stream(self, model: Model, request: ModelRequest, key: str) -> Json:
        """Read a model's answer to its end, showing its text as it comes; return the whole as JSON."""
        parts = self._told
        thought: list[str] = []
        calls: dict[int, _Call] = {}
        left = MAX_ANSWER
        usage, finish, told = Usage(), "stop", ""
        id = f"{self.tree.run}/{key}"
        shown = self.live and self.tree.sink is not None
        async with aclosing(model.stream(request)) as deltas:
            async for delta in deltas:
                left -= (
                    len(delta.text) + len(delta.reasoning) + (len(delta.call.arguments) if delta.call else 0)
                )
                if left < 0 or len(calls) > MAX_CALLS:
                    raise Failed.of(
                        "bad_response", "the answer is too long", data={"partial": self.partial[:1000]}
                    )
                if delta.text:
                    if shown:
                        await self.show(key, Message(id=id, text=delta.text, delta=True, new=not parts, role="assistant",
                                                      assistant_id=self.unit.id if not parts else ""))  # fmt: skip
                    parts.append(delta.text)
                    self.unsettled = key
                if delta.reasoning:
                    thought.append(delta.reasoning)
                if delta.call is not None:
                    _add_call(calls, delta.call)
                finish = delta.finish or finish
                usage = delta.usage or usage
                told = delta.model or told
        made = [
            {"id": call.id or f"call_{index + 1}", "name": call.name, "arguments": "".join(call.parts)}
            for index, call in sorted(calls.items())
        ]
        return {
            "text": "".join(parts), "reasoning": "".join(thought), "calls": made, "finish": finish,
            "usage": usage.to_json(), "model": told,
        }  # fmt: skip

    async def show(self, key: str, message: Message) -> None:
        """Let the user see a message, or a piece of one."""
        await self.tree.emit("message", key, self.place, message=message)

    async def retract(self, key: str) -> None:
        """Take back a text that was shown and does not count."""
        if self.live and self.partial:
            await self.show(key, Message(id=f"{self.tree.run}/{key}", new=True, delta=True, role="assistant"))
        self.partial = self.unsettled = ""

    async def settle(self, message: Message) -> None:
        """Let the user see a text whole that the turn goes on from."""
        if self.live:
            await self.show(self.unsettled, message)
        self.unsettled = ""

    async def cut(self) -> None:
        """End a text that was shown and that nothing will settle any more, since the turn failed."""
        if self.live and self.unsettled:
            id = f"{self.tree.run}/{self.unsettled}"
            await self.show(self.unsettled, Message(id=id, text=self.partial, role="assistant", done=True,
                                                    assistant_id=self.unit.id, data={"cut": "failed"}))  # fmt: skip
        self.unsettled = ""


def _plain(options: Options | None) -> dict[str, Json]:
    return cast("dict[str, Json]", dump(options)) if options is not None else {}


def _asked(request: ModelRequest) -> Json:
    return {
        "model": request.model, "messages": [m.to_json() for m in request.messages],
        "functions": [f.id for f in request.functions], "options": dict(request.options),
    }  # fmt: skip


class _Call:
    """A call as far as its pieces have come."""

    __slots__ = ("id", "name", "parts")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.parts: list[str] = []


def _add_call(calls: dict[int, _Call], delta: CallDelta) -> None:
    """Put a piece of a call with the pieces before it."""
    known = calls.get(delta.index)
    if known is None:
        known = calls[delta.index] = _Call()
    known.id = known.id or delta.id
    known.name = known.name or delta.name
    known.parts.append(delta.arguments)
