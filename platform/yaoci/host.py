"""What a handler is run in: the names it sees, what it may ask for, and how a process is run."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, cast

from . import functions, given
from .arguments import known_names
from .callbacks import POINTS, Next
from .callbacks import read as read_said
from .contracts import Key
from .definitions import AssistantStep, text_of
from .errors import Failed, UsageError
from .events import EventKind
from .messages import Message
from .registry import ASSISTANTS, Link, Process
from .schemas import explain
from .templating import RenderError, evaluate, has_template, render
from .tree import Budget, Tree, keep
from .values import Json, Path, as_text


class Host:
    """One place in a run: of a process, a step of it, or the turn of an assistant."""

    __slots__ = (
        "_calls", "_names", "_path", "_place", "args", "budget", "callers", "cancelled", "event", "extra", "file", "home", "key",
        "message", "python", "tree", "unit", "visible",
    )  # fmt: skip

    def __init__(
        self, tree: Tree, key: str, *, file: str, path: Path, home: str, unit: str = "", args: Json = None,
        message: Message | None = None, event: Json = None, callers: tuple[str, ...] = (), visible: bool = True,
        budget: Budget | None = None, python: FilePath | None = None, extra: Mapping[str, Json] | None = None,
        place: str = "",
    ) -> None:  # fmt: skip
        """Take the place in the run tree (`key`) and in the files, and what is at hand there."""
        self.tree = tree
        self.key = Key(key)
        self.file = file
        self.home = home
        """What dotless names are looked up under."""
        self.unit = unit
        """The assistant whose `vars` are seen, if any."""
        self.args = args
        self.message = message
        self.event = event
        self.callers = callers
        """The assistants that are being called, from the outermost on."""
        self.visible = visible
        """Whether what is sent reaches the user."""
        self.budget = budget or tree.budget
        self.python = python
        self.cancelled = False
        self._path = path
        self._place = place  # where the file has no paths
        self.extra = extra
        self._names: dict[str, Json] | None = None
        self._calls = 0

    # -- where and what ------------------------------------------------------------------------------

    @property
    def run(self) -> str:
        """The run's id."""
        return self.tree.run

    @property
    def place(self) -> str:
        """`file:line` of what is being run."""
        return self._place or self.tree.registry.place(self.file, self._path)

    @property
    def names(self) -> Mapping[str, Json]:
        """The names that templates see here."""
        if self._names is None:
            self._names = self._make_names()
        self._names["now"] = self.tree.now()
        return self._names

    def _make_names(self) -> dict[str, Json]:
        tree = self.tree
        names: dict[str, Json] = {
            "args": self.args if self.args is not None else {},
            "context": {**tree.context, "key": f"{tree.run}/{self.key}"},
            "shared": tree.shared,
        }
        if self.unit:
            unit = tree.registry.assistants[self.unit]
            about, locale = unit.definition, str(tree.context["locale"] or "")
            names["vars"] = about.vars
            names["assistant"] = {
                "id": unit.id, "name": text_of(about.name, locale) or unit.id,
                "description": text_of(about.description, locale), "avatar": about.avatar,
            }  # fmt: skip
        if self.message is not None:
            names["message"] = _message_names(self.message)
        if self.event is not None:
            names["event"] = self.event
        if self.extra:
            names.update(self.extra)
        return names

    def child(self, part: str, path: Path, extra: Mapping[str, Json] | None = None) -> "Host":
        """Return a host for a part of this one, such as a step, at a path below it."""
        return Host(
            self.tree, f"{self.key}/{part}", file=self.file, path=(*self._path, *path), home=self.home,
            unit=self.unit, args=self.args, message=self.message, event=self.event, callers=self.callers,
            visible=self.visible, budget=self.budget, python=self.python, extra={**(self.extra or {}), **(extra or {})},
        )  # fmt: skip

    def forget(self) -> None:
        """Make the names anew, since the arguments changed."""
        self._names = None

    # -- templates -----------------------------------------------------------------------------------

    def render(self, template: Json) -> Json:
        """Return `template` with its expressions filled in. Raises Failed of kind `template`."""
        if isinstance(template, str) and not has_template(template):
            return template  # without making the names
        try:
            return render(template, self.names)
        except RenderError as error:
            raise Failed.of("template", error.text, place=self.place) from None

    def test(self, expression: Json) -> bool:
        """Return whether a bare expression holds. Raises Failed of kind `template`."""
        try:
            return bool(evaluate(expression, self.names))
        except RenderError as error:
            raise Failed.of("template", error.text, place=self.place) from None

    # -- doing ---------------------------------------------------------------------------------------

    async def process(self, name: str, args: Json, *, key: str = "") -> Json:
        """Run a process, or a method of the same file, and return its result. Raises Failed."""
        try:
            process = self.tree.registry.resolve(name, self.home)
        except UsageError as error:
            raise Failed.of("missing", str(error), place=self.place) from None
        at = f"{self.key}/{key}" if key else self.key
        return await run_process(self, process, args, at, message=self.message, event=self.event)

    async def assistant(self, step: AssistantStep, *, key: str = "") -> Json:
        """Call an assistant as a step says; return its checked `returns` value, else its text. Raises Failed."""
        given, args = self._given(step)
        called = await self.tree.assistant(
            self, step, given, args, step.callback, key=Key(f"{self.key}/{key}" if key else self.key)
        )
        return called.value

    def _given(self, step: AssistantStep) -> tuple[Json, Json]:
        """Return the input and the arguments of a call: where the step names none, those at hand."""
        args: Json = self.render(step.args) if step.args else {}
        if step.input is not None:
            return self.render(step.input), args
        own: Json = self.args
        mine = cast("dict[str, Json]", own) if isinstance(own, dict) else {}
        declared = self.tree.registry.assistant(step.assistant).definition.parameters
        if not step.args and declared is not None and self.home == f"{step.assistant}:" and not self._path:
            known = known_names(declared)
            args = mine if known is None else {name: mine[name] for name in mine if name in known}
        if "input" in mine:
            return mine["input"], args
        return (self.message if self.message is not None else as_text(mine)), args

    async def call(
        self,
        assistant: str,
        input: Json,
        callback: Any = None,
        options: Json = None,
        *,
        args: Json = None,
        key: str = "",
    ) -> Message:
        """Call an assistant, run the callback with its answer, and return the last message. Raises Failed."""
        at = Key(f"{self.key}/{key or self.next_call()}")
        step = AssistantStep(assistant=assistant)
        called = await self.tree.assistant(self, step, input, args or {}, callback, key=at, options=options)
        return called.message

    def next_call(self) -> str:
        """Return the key part of the next call that a function makes."""
        self._calls += 1
        return f"call.{self._calls - 1}"

    async def send(self, message: Json) -> None:
        """Send a message to the user. Raises Failed where it is none."""
        try:
            sent = Message.from_json(message)
        except ValueError as error:
            raise Failed.of("bad_result", f"this cannot be sent: {error}", place=self.place) from None
        if self.visible and not (sent.hidden or sent.silent):
            id = sent.id or f"{self.run}/{self.key}/{self.next_call()}"
            await self.note(
                "message", None, message=replace(sent, id=id, role=sent.role or "assistant", done=True)
            )

    def set(self, name: str, value: Json) -> None:
        """Write a key of `shared`."""
        self.tree.set(name, value)

    async def within(self, timeout: float | None, body: Callable[[], Awaitable[Json]]) -> Json:
        """Run `body`, which fails with `timeout` if it takes longer. Raises Failed."""
        if timeout is None:
            return await body()
        tree, outer = self.tree, self.budget
        self.budget = outer.counting()  # what `body` uses

        async def record(kept: Callable[[], Awaitable[Json]]) -> Json:
            found = await tree.engine.scope(Key(f"{self.key}/time"), kept, asked=timeout, timeout=timeout)
            return found.value

        try:
            return await keep(tree, self.budget, body, record)
        finally:
            self.budget = outer

    async def note(self, kind: EventKind, data: Json, *, message: Message | None = None) -> None:
        """Tell whoever listens that something happened here."""
        if self.tree.sink is not None:
            await self.tree.emit(kind, self.key, self.place, message=message, data=data)


def _message_names(message: Message) -> dict[str, Json]:
    """Return a message as templates see it: `text` is there even where it is empty."""
    return {"text": "", **message.to_json()}


async def run_process(
    host: Host, process: Process, args: Json, key: str, *, message: Message | None = None, event: Json = None,
    timeout: float | None = None, exact: bool = True,
) -> Json:  # fmt: skip
    """Run a process below `host` and return its result, both checked against its schemas. Raises Failed.

    What nests runs as a scope, everything else as a step of the engine. With `exact` an argument
    that the parameters do not list is refused.
    """
    tree = host.tree
    fitting = given.fit(process, args, exact=exact)
    budget = host.budget.counting() if tree.engine.durable else host.budget
    inner = Host(
        tree, key, file=process.file, path=process.path, home=process.home, unit=process.assistant, args=fitting,
        message=message, event=event, callers=host.callers, visible=host.visible, budget=budget, python=process.python,
        place="" if process.file in tree.registry.documents else process.place,
    )  # fmt: skip
    spec, handler = process.method.handler, process.handler

    async def body() -> Json:
        return await handler.invoke(spec, fitting, inner)

    async def record(kept: Callable[[], Awaitable[Json]]) -> Json:
        asked = {"process": process.name, "args": fitting} if tree.engine.durable else None
        if handler.nests:
            found = await tree.engine.scope(Key(key), kept, asked=asked, timeout=timeout)
        else:
            found = await tree.engine.step(
                Key(key), kept, effect=process.effect, asked=asked, timeout=timeout
            )
        return found.value

    try:
        value = await keep(tree, budget, body, record)
    except Failed as error:
        if error.failure.place:
            raise
        raise Failed(error.failure._replace(place=process.place)) from error
    finally:
        inner.cancelled = True
    if process.returns is not None and (misfits := process.returns.misfits(value)):
        raise Failed.of(
            "bad_result", explain(misfits, f"the result of `{process.name}`"), place=process.place
        )
    return value


class Follower:
    """Runs the links of a chain below a host: what `callbacks.run` asks for."""

    def __init__(self, host: Host, point: str) -> None:
        """Take the host at whose point the chain stands."""
        self.host = host
        self.point = point

    def _seen(self, one: Link, message: Message, event: Json, key: str = "") -> Host:
        host = self.host
        return Host(
            host.tree, key or host.key, file=one.place.rpartition(":")[0], path=(), home=host.home, unit=host.unit,
            args=host.args, message=message, event=event, callers=host.callers, visible=host.visible, budget=host.budget,
            extra=host.extra,
        )  # fmt: skip

    def holds(self, one: Link, message: Message, event: Json) -> bool:
        """Return whether the link's `when` holds."""
        try:
            return self._seen(one, message, event).test(one.when)
        except Failed as error:
            raise Failed(error.failure._replace(place=one.place)) from None

    async def follow(self, one: Link, key: str, message: Message, event: Json) -> Json:
        """Run the link's target and return its result. Raises Failed, also where it hands over to nowhere."""
        value = await self._follow(one, key, message, event)
        if isinstance(value, dict) and cast("dict[str, Json]", value).get("then") == "next":
            said = read_said(value, POINTS[self.point])
            given.admit(self.host.tree.registry, cast("Next", said), self.host.home, message.text)
        return cast("Json", value)

    async def _follow(self, one: Link, key: str, message: Message, event: Json) -> Json:
        args: Json = one.args
        if not args and one.process is not None and one.process.name.startswith(ASSISTANTS):
            args = {"input": message.text}  # an assistant as a callback is told the message
        elif args:
            try:
                args = self._seen(one, message, event).render(args)
            except Failed as error:
                raise Failed(error.failure._replace(place=one.place)) from None
        if one.process is None:
            return await _call_function(self._seen(one, message, event, key), one, args)
        return await run_process(
            self.host, one.process, args or {}, key, message=message, event=event, timeout=one.timeout
        )

    async def told(self, one: Link, key: str, ok: bool, value: Json) -> None:
        """Tell that the link ended."""
        if self.host.tree.sink is not None:
            data = {"hook": self.point, "callback": one.name, "ok": ok, "result" if ok else "error": value}
            await self.host.tree.emit("callback_ended", key, one.place, data=data)


async def _call_function(host: Host, one: Link, args: Json) -> Json:
    """Call a Python function that was given as a callback, below `host`."""
    tree, function = host.tree, cast("Callable[..., Any]", one.function)
    host.budget = host.budget.counting()

    async def body() -> Json:
        return await functions.call(function, args, host, one.name)

    async def record(kept: Callable[[], Awaitable[Json]]) -> Json:
        asked = {"function": one.name, "args": args} if tree.engine.durable else None
        found = await tree.engine.step(host.key, kept, effect="write", asked=asked, timeout=one.timeout)
        return found.value

    return await keep(tree, host.budget, body, record)
