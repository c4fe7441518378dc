"""A turn of an assistant: `create`, prompts, rounds of model and tools, `returns`, `done`; and `fail`."""

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, NamedTuple, cast

from . import callbacks, toolbox
from .callbacks import Answer, Next, Stop
from .contracts import Delta, Key, Model, ModelRequest, Usage
from .definitions import Assistant, Options, text_of
from .derive import dump
from .endpoints import Choice
from .errors import RETRYABLE, Failed, Failure
from .host import Follower, Host, run_process
from .marks import Form
from .messages import FunctionCall, Message
from .registry import Unit
from .schemas import Shape, explain
from .spec import decode
from .toolbox import Toolbox, Wanted
from .tree import Tree
from .values import Json, as_text, canonical, compact

AT_ONCE: Final = 8
"""So many reading tools run at once."""

_MENDED: Final = RETRYABLE | {"auth", "permission", "not_found", "quota", "missing", "bad_response"}
"""Failures that another model of the list may not meet."""


class Ended(NamedTuple):
    """How a turn ended: the messages to show, and the value of `returns` or the text."""

    messages: tuple[Message, ...]
    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a `create` chain may change of how the model is asked."""

    form: ClassVar[Form] = Form("how the model is asked")
    options: Options
    model: tuple[str, ...]


class _Said(NamedTuple):
    """A model's whole answer."""

    text: str
    calls: tuple[FunctionCall, ...]
    finish: str
    usage: Usage


class _Ran(NamedTuple):
    """How a tool call ended."""

    call: FunctionCall
    wanted: Wanted | None
    value: Json = None
    failure: Failure | None = None
    ended: bool = False
    """Whether there is nothing to run any more."""


class Turn:
    """One turn of one assistant."""

    def __init__(
        self,
        host: Host,
        unit: Unit[Assistant],
        given: Sequence[Message],
        options: Mapping[str, Json],
        rounds: list[int],
    ) -> None:
        """Take the host of the turn, the assistant, the input, and the count of rounds, which a hand-over keeps."""
        self.host = host
        self.tree: Tree = host.tree
        self.unit = unit
        self.place = unit.place(())
        self.assistant = unit.definition
        self.given = tuple(given)
        self.options = options
        self.models: tuple[str, ...] = self.assistant.model
        self.rounds = rounds
        self.usage = Usage()
        self.toolbox = Toolbox(unit.tools)
        self.returns = Shape(self.assistant.returns) if self.assistant.returns is not None else None
        self.messages: list[Message] = []
        self.partial = ""
        self.live = host.visible and not unit.held
        self.answers = 0

    # -- the whole -----------------------------------------------------------------------------------

    async def run(self) -> Ended | Next:
        """Run the turn to its end. Raises Failed where it fails and `fail` does not answer."""
        begun_done = False
        try:
            ended = await self._in_time()
            if isinstance(ended, Next):
                return ended
            if ended.final:
                return Ended(ended.messages, ended.value)
            begun_done = True
            return await self._done(ended)
        except Failed as error:
            return await self._fail(error, through_done=not begun_done)

    async def _in_time(self) -> "_Answered | Next":
        """Come to an answer before the deadline; past it, `fail` can still speak."""
        seconds = self.host.budget.timeout
        if seconds is None:
            return await self._answer()
        try:
            return await self.tree.engine.deadline(Key(f"{self.host.key}/time"), self._answer, seconds)
        except Failed as error:
            place = error.failure.place or self.unit.place(("limits", "timeout"))
            raise Failed(error.failure._replace(place=place)) from error

    async def _answer(self) -> "_Answered | Next":
        made = await self._create()
        if made is not None:
            return made
        self.messages = [*self._prompts(), *self.given]
        return await self._rounds()

    # -- create and prompts --------------------------------------------------------------------------

    async def _create(self) -> "_Answered | Next | None":
        links = self.unit.hooks.get("create", ())
        if not links:
            return None
        event = {
            "input": [m.to_json() for m in self.given], "options": dict(self.options), "model": list(self.models),
            "args": self.host.args,
        }  # fmt: skip
        chain = await self._chain("create", f"{self.host.key}/create", self.given[-1], event)
        self._change(cast("dict[str, Json]", chain.event))
        match chain.said:
            case Answer(value=messages):
                return _Answered(messages, self._worth(messages), final=False)
            case Stop(messages=messages):
                return _stopped(messages)
            case Next():
                return chain.said
            case _:
                return None

    def _change(self, now: Mapping[str, Json]) -> None:
        """Go on with what the `create` chain left of its event. Raises Failed where that cannot be."""
        given = callbacks.messages_of(now["input"]) or self.given
        self.given = tuple(m if m.role else replace(m, role="user") for m in given)
        models = [now["model"]] if isinstance(now["model"], str) else now["model"]
        about = {"options": now["options"], "model": models}
        if troubles := decode(_Asked, about, {}).troubles:
            where = ".".join(str(step) for step in troubles[0].path)
            text = f"`create` left a wrong `{where}`: {troubles[0].label}"
            raise Failed.of("bad_result", text, place=self.unit.place(("hooks", "create")))
        self.models, self.options = tuple(models), now["options"]
        if now["args"] != self.host.args:
            self.host.args = now["args"]
            self.host.forget()

    def _worth(self, messages: Sequence[Message]) -> Json:
        """Return the value of an answer that a hook gives: its text; with `returns`, the `data` it has."""
        data = messages[-1].data if messages and self.returns is not None else None
        return _text(messages) if data is None else data

    def _prompts(self) -> list[Message]:
        out: list[Message] = []
        for index, (prompt, text) in enumerate(zip(self.assistant.prompts, self.unit.prompts, strict=True)):
            if prompt.when is not None and not self.host.test(prompt.when):
                continue
            raw = getattr(prompt, "raw", False)
            try:
                content = text if raw else as_text(self.host.render(text))
            except Failed as error:
                raise Failed(error.failure._replace(place=self.unit.place(("prompts", index)))) from None
            if content.strip():
                out.append(Message(role=prompt.role, text=content))
        return out

    # -- rounds --------------------------------------------------------------------------------------

    async def _rounds(self) -> "_Answered | Next":
        most = self.host.budget.rounds
        while True:
            number = self.rounds[0]
            if number >= most:
                raise Failed.of("limit", f"the model was asked {most} times and has not answered: `limits.rounds` is used up",
                                place=self.unit.place(("limits", "rounds")))  # fmt: skip
            self.rounds[0] += 1
            key = f"{self.host.key}/r{number}"
            said = await self._ask(key)
            if said.calls:
                ended = await self._tools(key, said)
                if ended is not None:
                    return ended
                continue
            value, wrong = self._value(said.text)
            if wrong:
                await self._retract(key)
                self.messages += [Message(role="assistant", text=said.text), Message(role="user", text=wrong)]
                continue
            return _Answered((self._message(f"{self.tree.run}/{key}", said.text, value),), value, final=False)

    def _message(self, id: str, text: str, value: Json = None) -> Message:
        about, locale = self.assistant, str(self.tree.context["locale"] or "")
        return Message(
            id=id, role="assistant", text=text, assistant_id=self.unit.id,
            assistant_name=text_of(about.name, locale), assistant_avatar=about.avatar,
            data=value if self.returns is not None else None,
        )  # fmt: skip

    def _value(self, text: str) -> tuple[Json, str]:
        """Return the value of an answer, and what the model is told where it does not fit `returns`."""
        if self.returns is None:
            return text, ""
        stripped = text.strip()
        if stripped.startswith("```"):
            stripped = stripped.strip("`").removeprefix("json")
        try:
            value = canonical(json.loads(stripped, parse_constant=toolbox.no_constant))
        except (ValueError, RecursionError):
            return None, "The answer is not JSON. Answer again, with JSON alone that fits the schema."
        if misfits := self.returns.misfits(value):
            return (
                None,
                f"{explain(misfits, 'the answer')}. Answer again, with JSON alone that fits the schema.",
            )
        return value, ""

    async def _retract(self, key: str) -> None:
        """Take back a text that was shown and does not count."""
        if self.live and self.partial:
            await self._show(
                key, Message(id=f"{self.tree.run}/{key}", new=True, delta=True, role="assistant")
            )
        self.partial = ""

    # -- the model -----------------------------------------------------------------------------------

    async def _ask(self, key: str) -> _Said:
        """Ask the models in order until one answers."""
        names = self.models or (
            self.tree.registry.settings.definition.default_model if self.tree.registry.settings else "",
        )
        for attempt, name in enumerate(names):
            try:
                return await self._attempt(Key(f"{key}/model~{attempt}"), key, name)
            except Failed as error:
                last = attempt == len(names) - 1
                if last or (self.partial and self.live) or error.failure.kind not in _MENDED:
                    raise
                await self.host.note(
                    "note",
                    {"text": f"`{name}` failed, the next model is asked", "error": error.failure.to_json()},
                )
        raise Failed.of("missing", f"`{self.unit.id}` names no model", place=self.place)

    async def _attempt(self, at: Key, key: str, name: str) -> _Said:
        budget = self.host.budget
        budget.need_tokens(self.place)
        place = self.unit.place(("model",))

        async def loading(name: str) -> None:
            await self.tree.emit("model_loading", at, place, data={"model": name})

        choice, model = await self.tree.source(name, loading)
        request = self._request(choice, model)
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

        try:
            found = (await self.tree.engine.step(at, act, effect="read", asked=asked, timeout=None)).value
        except Failed as error:
            failure, data = error.failure, cast("Mapping[str, Json] | None", error.failure.data)
            if data and "partial" in data:  # recorded, so that a later leg has it too
                self.partial, failure = str(data["partial"]), failure._replace(data=None)
            await self.tree.emit("model_ended", at, place, data={"model": name, "error": failure.to_json()})
            raise Failed(failure._replace(place=failure.place or place)) from error
        self.partial = found["text"]
        usage = Usage(**found["usage"])
        budget.take_tokens(usage)
        self.usage += usage
        self.tree.usage += usage
        data = {"model": found["model"] or name, "finish": found["finish"], "usage": found["usage"]}
        if found["calls"]:
            data["calls"] = found["calls"]
        await self.tree.emit("model_ended", at, place, data=data)
        if found["finish"] == "content_filter" and not found["calls"]:
            raise Failed.of("content_filter", "the provider withheld the answer", place=place)
        calls = tuple(FunctionCall(**call) for call in found["calls"])
        return _Said(found["text"], calls, found["finish"], usage)

    def _request(self, choice: Choice, model: Model) -> ModelRequest:
        options = {**_plain(choice.options), **_plain(self.assistant.options), **self.options}
        messages = self.messages
        schema = self.assistant.returns
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
            functions=self.toolbox.functions,
            options=options,
            schema=schema,
        )

    async def _stream(self, model: Model, request: ModelRequest, key: str) -> Json:
        """Read a model's answer to its end, showing its text as it comes; return the whole as JSON."""
        parts: list[str] = []
        thought: list[str] = []
        calls: dict[int, list[str]] = {}
        usage, finish, told = Usage(), "stop", ""
        id = f"{self.tree.run}/{key}"
        shown = self.live and self.tree.sink is not None
        async with aclosing(model.stream(request)) as deltas:
            async for delta in deltas:
                if delta.text:
                    if shown:
                        await self._show(key, Message(id=id, text=delta.text, delta=True, new=not parts, role="assistant",
                                                      assistant_id=self.unit.id if not parts else ""))  # fmt: skip
                    parts.append(delta.text)
                    self.partial += delta.text
                if delta.reasoning:
                    thought.append(delta.reasoning)
                if delta.call is not None:
                    _add_call(calls, delta)
                finish = delta.finish or finish
                usage = delta.usage or usage
                told = delta.model or told
        made = [
            {"id": id or f"call_{index + 1}", "name": name, "arguments": text}
            for index, (id, name, text) in sorted(calls.items())
        ]
        return {
            "text": "".join(parts), "reasoning": "".join(thought), "calls": made, "finish": finish,
            "usage": usage.to_json(), "model": told,
        }  # fmt: skip

    async def _show(self, key: str, message: Message) -> None:
        await self.tree.emit("message", key, self.place, message=message)

    # -- tools ---------------------------------------------------------------------------------------

    async def _tools(self, key: str, said: _Said) -> "_Answered | Next | None":
        """Run a round of tools, in three parts; return how the turn ends, or None to ask again."""
        calls = said.calls
        if said.text and self.live:
            await self._show(key, replace(self._message(f"{self.tree.run}/{key}", said.text), done=True))
        self.messages.append(Message(role="assistant", text=said.text, tool_calls=calls))
        ready: list[_Ran] = []
        stopped: _Answered | None = None
        for index, call in enumerate(calls):
            ran, stop = await self._before(f"{key}/tool.{index}", call, said)
            ready.append(ran)
            stopped = stopped or stop
            if stop is not None:
                break
        if stopped is not None:
            return stopped
        done = await self._run_all(key, ready)
        ended: _Answered | Next | None = None
        for index, ran in enumerate(done):
            text, end = await self._after(f"{key}/tool.{index}", ran)
            self.messages.append(
                Message(role="tool", tool_call_id=ran.call.id, name=ran.call.name, text=text)
            )
            ended = ended or end
        return ended

    async def _before(self, key: str, call: FunctionCall, said: _Said) -> tuple[_Ran, "_Answered | None"]:
        """Read a call, and run the `tool` chain for it: the first part."""
        try:
            if said.finish == "length":
                raise Failed.of("bad_args", "the answer was cut at the token limit before the call was whole")
            wanted = self.toolbox.read(call)
            self.toolbox.count(call, wanted)
        except Failed as error:
            if error.failure.data == "turn":
                raise
            return _Ran(call, None, failure=error.failure, ended=True), None
        links = self.unit.hooks.get("tool", ())
        if links:
            message = Message(role="assistant", text=said.text, tool_calls=(call,), assistant_id=self.unit.id)
            chain = await self._chain("tool", f"{key}/pre", message, _tool_event(call, wanted))
            match chain.said:
                case Answer(value=value):
                    return _Ran(call, wanted, value, ended=True), None
                case callbacks.Refuse(reason=reason):
                    return _Ran(call, wanted, failure=Failure("refused", reason), ended=True), None
                case Stop(messages=messages):
                    return _Ran(call, wanted, ended=True), _stopped(messages)
                case _:
                    pass
            changed = cast("dict[str, Json]", chain.event["args"])
            if changed != wanted.args:
                try:
                    wanted = wanted._replace(args=self.toolbox.fit(wanted.tool, changed))
                except Failed as error:
                    return _Ran(call, wanted, failure=error.failure, ended=True), None
        self.host.budget.take_call(f"`{call.name}`", wanted.tool.place)
        return _Ran(call, wanted), None

    async def _run_all(self, key: str, ready: Sequence[_Ran]) -> list[_Ran]:
        """Run the calls in the asked order: neighbours that read at once, a `write` alone; the second part."""
        done = list(ready)
        group: list[int] = []
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(index: int) -> None:
            async with gate:
                done[index] = await self._run_one(f"{key}/tool.{index}", ready[index])

        async def flush() -> None:
            if len(group) == 1:
                await one(group[0])
            elif group:
                await _together([one(index) for index in group])
            group.clear()

        for index, ran in enumerate(ready):
            if ran.ended or ran.wanted is None:
                continue
            if ran.wanted.tool.process.effect == "write":
                await flush()
                await one(index)
            else:
                group.append(index)
        await flush()
        return done

    async def _run_one(self, key: str, ran: _Ran) -> _Ran:
        """Run one call; its failure is its result, and never that of a sibling."""
        wanted = cast("Wanted", ran.wanted)
        tool = wanted.tool
        data = {
            "id": ran.call.id,
            "tool": tool.function.id,
            "process": tool.process.name,
            "args": wanted.args,
        }
        await self.tree.emit("tool_started", key, tool.place, data=data)
        limits = tool.limits
        try:
            value = await run_process(
                self.host,
                tool.process,
                wanted.args,
                key,
                timeout=limits.timeout if limits else None,
                message=self.given[-1],
            )
        except Failed as error:
            return ran._replace(failure=error.failure)
        return ran._replace(value=value)

    async def _after(self, key: str, ran: _Ran) -> tuple[str, "_Answered | Next | None"]:
        """Run the `result` chain for a call that ended, and return what the model reads; the third part."""
        ok = ran.failure is None
        value = ran.value if ran.failure is None else {"error": ran.failure.text}
        place = ran.wanted.tool.place if ran.wanted else self.unit.place(("tools",))
        links = self.unit.hooks.get("result", ())
        ended: _Answered | Next | None = None
        if links:
            text = toolbox.result_text(value)
            message = Message(role="tool", tool_call_id=ran.call.id, name=ran.call.name, text=text)
            event = {**_tool_event(ran.call, ran.wanted), "result": value, "ok": ok}
            chain = await self._chain("result", f"{key}/post", message, event)
            value = chain.event["result"]
            if isinstance(chain.said, Stop):
                ended = _stopped(chain.said.messages)
            elif isinstance(chain.said, Next):
                ended = chain.said
        data: dict[str, Json] = {"id": ran.call.id, "tool": ran.call.name, "ok": ok}
        data |= {"result": value} if ran.failure is None else {"error": ran.failure.to_json()}
        await self.tree.emit("tool_ended", key, place, data=data)
        return toolbox.result_text(value), ended

    # -- done and fail -------------------------------------------------------------------------------

    async def _done(self, answered: "_Answered") -> Ended | Next:
        links = self.unit.hooks.get("done", ())
        messages, value = answered.messages, answered.value
        self.answers += 1
        if not links:
            return Ended(messages, value)
        event = {"value": value, "usage": self.usage.to_json(), "rounds": self.rounds[0]}
        last = messages[-1] if messages else self._message("", "")
        chain = await self._chain("done", f"{self.host.key}/done~{self.answers - 1}", last, event)
        if isinstance(chain.said, Next):
            return chain.said
        after = (*messages[:-1], *chain.messages)
        if after != messages:
            value = self._replaced(after, value)
        return Ended(after, value)

    def _replaced(self, messages: tuple[Message, ...], value: Json) -> Json:
        """Return the value of messages that a `done` chain put in the answer's place."""
        if self.returns is None:
            return _text(messages)
        found = messages[-1].data if messages and messages[-1].data is not None else value
        if misfits := self.returns.misfits(found):
            raise Failed.of(
                "bad_result",
                explain(misfits, "what `done` answers"),
                place=self.unit.place(("hooks", "done")),
            )
        return found

    async def _fail(self, error: Failed, *, through_done: bool) -> Ended | Next:
        """Run the `fail` chain; its answer goes through `done`, unless it was `done` that failed."""
        links = self.unit.hooks.get("fail", ())
        if not links:
            raise error
        failure = error.failure
        message = Message(role="assistant", type="error", text=failure.text, assistant_id=self.unit.id)
        event = {"error": failure.to_json(), "partial": self.partial}
        try:
            chain = await self._chain("fail", f"{self.host.key}/fail", message, event)
        except Failed as second:
            raise Failed(failure._replace(text=f"{failure.text} (and then {second.failure.text})")) from error
        if isinstance(chain.said, Next):
            return chain.said
        if not isinstance(chain.said, Answer):
            raise error
        messages = tuple(
            replace(
                self._message(m.id or f"{self.tree.run}/{self.host.key}/fail", m.text),
                type=m.type,
                props=m.props,
                data=m.data,
            )
            for m in callbacks.messages_of(chain.said.value)
        )
        await self.host.note(
            "note", {"text": "the turn failed, and `fail` answered", "error": failure.to_json()}
        )
        answered = _Answered(messages, self._worth(messages), final=False)
        return await self._done(answered) if through_done else Ended(messages, answered.value)

    async def _chain(self, hook: str, key: str, message: Message, event: Json) -> callbacks.Chain:
        return await callbacks.run(
            self.unit.hooks[hook], Follower(self.host, hook), hook, key, message, event
        )


async def _together(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run works at once; none of them fails, and where the leg ends in one the others end with it."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


class _Answered(NamedTuple):
    messages: tuple[Message, ...]
    value: Json
    final: bool
    """Whether the turn ends here, without `done`."""


def _stopped(messages: tuple[Message, ...] | None) -> _Answered:
    return _Answered(messages or (), _text(messages or ()), final=True)


def _text(messages: Sequence[Message]) -> str:
    return "\n".join(message.text for message in messages if message.text)


def _plain(options: Options | None) -> dict[str, Json]:
    return cast("dict[str, Json]", dump(options)) if options is not None else {}


def _asked(request: ModelRequest) -> Json:
    return {
        "model": request.model, "messages": [m.to_json() for m in request.messages],
        "functions": [f.id for f in request.functions], "options": dict(request.options),
    }  # fmt: skip


def _tool_event(call: FunctionCall, wanted: Wanted | None) -> dict[str, Json]:
    return {
        "id": call.id, "tool": call.name, "process": wanted.tool.process.name if wanted else None,
        "args": wanted.args if wanted else None,
    }  # fmt: skip


def _add_call(calls: dict[int, list[str]], delta: Delta) -> None:
    """Put a piece of a call with the pieces before it."""
    if delta.call is not None:
        known = calls.setdefault(delta.call.index, ["", "", ""])
        known[0] = known[0] or delta.call.id
        known[1] = known[1] or delta.call.name
        known[2] += delta.call.arguments
