"""A round of tools, in three parts: what is asked is judged, then run, then what came of it is told."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Final, NamedTuple, cast

from . import callbacks, toolbox
from .asking import Said
from .callbacks import Answer, Next, Stop
from .definitions import Assistant
from .errors import Failed, Failure
from .host import Follower, Host, run_process
from .messages import FunctionCall, Message
from .registry import Unit
from .toolbox import Toolbox, Wanted
from .tree import Tree
from .values import Json

AT_ONCE: Final = 8
"""So many reading tools run at once."""


class Answered(NamedTuple):
    """How a turn comes to an answer: the messages, and the value of `returns` or the text."""

    messages: tuple[Message, ...]
    value: Json
    final: bool
    """Whether the turn ends here, without `done`."""


def stopped_with(messages: tuple[Message, ...] | None) -> Answered:
    """Return the answer that `then: stop` gives."""
    return Answered(messages or (), text_of_all(messages or ()), final=True)


def text_of_all(messages: Sequence[Message]) -> str:
    """Return the texts of messages, a line each."""
    return "\n".join(message.text for message in messages if message.text)


class _Ran(NamedTuple):
    """How a tool call ended."""

    call: FunctionCall
    wanted: Wanted | None
    value: Json = None
    failure: Failure | None = None
    ended: bool = False
    """Whether there is nothing to run any more."""


class ToolRounds:
    """Runs the tools of one turn, round after round."""

    def __init__(self, host: Host, unit: Unit[Assistant]) -> None:
        """Take the host of the turn and the assistant."""
        self.host = host
        self.tree: Tree = host.tree
        self.unit = unit
        self.toolbox = Toolbox(unit.tools)

    async def run(self, key: str, said: Said, messages: list[Message]) -> Answered | Next | None:
        """Run the calls of an answer and add their results to `messages`; return how the turn ends, or None to ask again."""
        calls = said.calls
        messages.append(Message(role="assistant", text=said.text, tool_calls=calls))
        ready: list[_Ran] = []
        stopped: Answered | None = None
        for index, call in enumerate(calls):
            ran, stop = await self._before(f"{key}/tool.{index}", call, said)
            ready.append(ran)
            stopped = stopped or stop
            if stop is not None:
                break
        if stopped is not None:
            return stopped
        done = await self._run_all(key, ready)
        ended: Answered | Next | None = None
        for index, ran in enumerate(done):
            text, end = await self._after(f"{key}/tool.{index}", ran)
            messages.append(Message(role="tool", tool_call_id=ran.call.id, name=ran.call.name, text=text))
            ended = ended or end
        return ended

    async def _before(self, key: str, call: FunctionCall, said: Said) -> tuple[_Ran, Answered | None]:
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
                    return _Ran(call, wanted, ended=True), stopped_with(messages)
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
                message=self.host.message,
                exact=False,  # a model's call is judged by JSON Schema alone
            )
        except Failed as error:
            return ran._replace(failure=error.failure)
        return ran._replace(value=value)

    async def _after(self, key: str, ran: _Ran) -> tuple[str, Answered | Next | None]:
        """Run the `result` chain for a call that ended, and return what the model reads; the third part."""
        ok = ran.failure is None
        value = ran.value if ran.failure is None else {"error": ran.failure.text}
        place = ran.wanted.tool.place if ran.wanted else self.unit.place(("tools",))
        links = self.unit.hooks.get("result", ())
        ended: Answered | Next | None = None
        if links:
            text = toolbox.result_text(value)
            message = Message(role="tool", tool_call_id=ran.call.id, name=ran.call.name, text=text)
            event = {**_tool_event(ran.call, ran.wanted), "result": value, "ok": ok}
            chain = await self._chain("result", f"{key}/post", message, event)
            value = chain.event["result"]
            if isinstance(chain.said, Stop):
                ended = stopped_with(chain.said.messages)
            elif isinstance(chain.said, Next):
                ended = chain.said
        data: dict[str, Json] = {"id": ran.call.id, "tool": ran.call.name, "ok": ok}
        data |= {"result": value} if ran.failure is None else {"error": ran.failure.to_json()}
        await self.tree.emit("tool_ended", key, place, data=data)
        return toolbox.result_text(value), ended

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


def _tool_event(call: FunctionCall, wanted: Wanted | None) -> dict[str, Json]:
    return {
        "id": call.id, "tool": call.name, "process": wanted.tool.process.name if wanted else None,
        "args": wanted.args if wanted else None,
    }  # fmt: skip
