"""A turn of an assistant: `create`, prompts, rounds of model and tools, `returns`, `done`; and `fail`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, NamedTuple, cast

from . import callbacks
from .asking import Asker
from .callbacks import Answer, Next, Stop
from .contracts import Key
from .definitions import Assistant, Options, text_of
from .engine import Late, span
from .errors import Failed, Failure
from .host import Follower, Host
from .marks import Form
from .messages import Message
from .registry import Unit
from .schemas import Shape, explain
from .spec import decode
from .toolbox import no_constant, times
from .toolrounds import Answered, ToolRounds, stopped_with, text_of_all
from .tree import TIMEOUT, Tree
from .values import Json, as_text, canonical

LAST_WORDS: Final = 10.0
"""Seconds that `fail`, and `done` for its answer, may take once the deadline has passed."""


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
        self.rounds = rounds
        self.tools = ToolRounds(host, unit)
        self.asker = Asker(host, unit, self.tools.toolbox.functions, options)
        self.returns = Shape(self.assistant.returns) if self.assistant.returns is not None else None
        self.messages: list[Message] = []
        self.answers = 0
        self.failure: Failure | None = None
        """Why the turn failed, where `fail` answered."""

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
            try:
                return await self._fail_in_time(error, through_done=not begun_done)
            except Failed:
                await self.asker.cut()
                raise

    async def _in_time(self) -> Answered | Next:
        """Come to an answer before the deadline; past it, `fail` can still speak."""
        budget = self.host.budget
        seconds = budget.timeout
        if seconds is None:
            return await self._answer()
        whose = "`limits.timeout`" if seconds != TIMEOUT else "`limits.timeout`, where none is said"
        late = Failure(
            "timeout", f"the turn took longer than {span(seconds)}: {whose}", budget.bounds.of("timeout")
        )
        return await self.tree.engine.deadline(Key(f"{self.host.key}/time"), self._answer, seconds, late)

    async def _answer(self) -> Answered | Next:
        made = await self._create()
        if made is not None:
            return made
        self.messages = [*self._prompts(), *self.given]
        return await self._rounds()

    # -- create and prompts --------------------------------------------------------------------------

    async def _create(self) -> Answered | Next | None:
        links = self.unit.hooks.get("create", ())
        if not links:
            return None
        event = {
            "input": [m.to_json() for m in self.given], "options": dict(self.asker.options), "model": list(self.asker.models),
            "args": self.host.args,
        }  # fmt: skip
        chain = await self._chain("create", f"{self.host.key}/create", self.given[-1], event)
        self._change(cast("dict[str, Json]", chain.event))
        match chain.said:
            case Answer(value=messages):
                return Answered(messages, self._worth(messages), final=False)
            case Stop(messages=messages):
                return stopped_with(messages)
            case Next():
                return chain.said
            case _:
                return None

    def _change(self, now: Mapping[str, Json]) -> None:
        """Go on with what the `create` chain left of its event. Raises Failed where that cannot be."""
        given = callbacks.messages_of(now["input"]) or self.given
        self.given = tuple(m if m.role else replace(m, role="user") for m in given)
        self.host.message = self.given[-1]
        models = [now["model"]] if isinstance(now["model"], str) else now["model"]
        about = {"options": now["options"], "model": models}
        if troubles := decode(_Asked, about, {}).troubles:
            where = ".".join(str(step) for step in troubles[0].path)
            text = f"`create` left a wrong `{where}`: {troubles[0].label}"
            raise Failed.of("bad_result", text, place=self.unit.place(("hooks", "create")))
        self.asker.models, self.asker.options = tuple(models), now["options"]
        self.host.args = now["args"]
        self.host.forget()

    def _worth(self, messages: Sequence[Message]) -> Json:
        """Return the value of an answer that a hook gives: its text; with `returns`, the `data` it has."""
        data = messages[-1].data if messages and self.returns is not None else None
        return text_of_all(messages) if data is None else data

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

    async def _rounds(self) -> Answered | Next:
        budget = self.host.budget
        most = budget.rounds
        while True:
            number = self.rounds[0]
            if number >= most:
                why = f"the model was asked {times(most)} and has not answered: `limits.rounds` is used up"
                raise Failed.of("limit", why, place=budget.bounds.of("rounds"))
            self.rounds[0] += 1
            key = f"{self.host.key}/r{number}"
            said = await self.asker.ask(key, self.messages)
            if said.calls:
                if said.text and self.asker.live:
                    text = self._message(f"{self.tree.run}/{key}", said.text)
                    await self.asker.settle(replace(text, done=True))
                ended = await self.tools.run(key, said, self.messages)
                if ended is not None:
                    return ended
                continue
            value, wrong = self._value(said.text)
            if wrong:
                await self.asker.retract(key)
                self.messages += [Message(role="assistant", text=said.text), Message(role="user", text=wrong)]
                continue
            return Answered((self._message(f"{self.tree.run}/{key}", said.text, value),), value, final=False)

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
            value = canonical(json.loads(stripped, parse_constant=no_constant))
        except (ValueError, RecursionError):
            return None, "The answer is not JSON. Answer again, with JSON alone that fits the schema."
        if misfits := self.returns.misfits(value):
            return (
                None,
                f"{explain(misfits, 'the answer')}. Answer again, with JSON alone that fits the schema.",
            )
        return value, ""

    # -- done and fail -------------------------------------------------------------------------------

    async def _done(self, answered: Answered) -> Ended | Next:
        links = self.unit.hooks.get("done", ())
        messages, value = answered.messages, answered.value
        self.answers += 1
        if not links:
            return Ended(messages, value)
        event = {"value": value, "usage": self.asker.usage.to_json(), "rounds": self.rounds[0]}
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
            return text_of_all(messages)
        found = messages[-1].data if messages and messages[-1].data is not None else value
        if misfits := self.returns.misfits(found):
            raise Failed.of(
                "bad_result",
                explain(misfits, "what `done` answers"),
                place=self.unit.place(("hooks", "done")),
            )
        return found

    async def _fail_in_time(self, error: Failed, *, through_done: bool) -> Ended | Next:
        """Run `fail`, which may not take for ever once the deadline has passed."""
        if not isinstance(error, Late) or not self.unit.hooks.get("fail"):
            return await self._fail(error, through_done=through_done)
        text = f"{error.failure.text} (and then `fail` took longer than {span(LAST_WORDS)})"

        async def body() -> Ended | Next:
            return await self._fail(error, through_done=through_done)

        key = Key(f"{self.host.key}/fail/time")
        return await self.tree.engine.deadline(key, body, LAST_WORDS, error.failure._replace(text=text))

    async def _fail(self, error: Failed, *, through_done: bool) -> Ended | Next:
        """Run the `fail` chain; its answer goes through `done`, unless it was `done` that failed."""
        links = self.unit.hooks.get("fail", ())
        if not links:
            raise error
        failure = error.failure
        message = Message(role="assistant", type="error", text=failure.text, assistant_id=self.unit.id)
        event = {"error": failure.to_json(), "partial": self.asker.partial}
        try:
            chain = await self._chain("fail", f"{self.host.key}/fail", message, event)
        except Failed as second:
            raise Failed(failure._replace(text=f"{failure.text} (and then {second.failure.text})")) from error
        if not isinstance(chain.said, Answer | Next):
            raise error
        self.failure = failure
        text = "the turn failed, and `fail` answered"
        await self.host.note("note", {"text": text, "error": failure.to_json()})
        if isinstance(chain.said, Next):
            return chain.said
        messages = tuple(
            replace(
                self._message(m.id or f"{self.tree.run}/{self.host.key}/fail", m.text),
                type=m.type,
                props=m.props,
                data=m.data,
            )
            for m in callbacks.messages_of(chain.said.value)
        )
        answered = Answered(messages, self._worth(messages), final=False)
        return await self._done(answered) if through_done else Ended(messages, answered.value)

    async def _chain(self, hook: str, key: str, message: Message, event: Json) -> callbacks.Chain:
        return await callbacks.run(
            self.unit.hooks[hook], Follower(self.host, hook), hook, key, message, event
        )
