"""The door: a runner turns a request into an outcome, or into a stream of events."""

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self, cast

from . import contracts, endpoints, loops
from .calls import call_assistant, call_chain, links_of
from .contracts import Journal, Key, Loading, Model
from .definitions import AssistantStep, Options
from .diagnostics import did_you_mean
from .endpoints import Choice
from .engine import Engine, utc_now
from .errors import Failed, UsageError
from .host import Host, run_process
from .messages import Message
from .registry import ASSISTANTS, Process, Registry
from .spec import decode
from .stream import Outcome, Stream
from .tree import Bounds, Budget, Sink, Tree, bounds
from .values import Json, as_text


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
        Raises UsageError for a model that the project does not use, where none is chosen in a run.
        """
        if not isinstance(registry, Registry):  # pyright: ignore[reportUnnecessaryIsInstance]  # not all are typed
            raise UsageError(f"a runner takes a registry, not {registry!r}: pass `yaoci.load(...)`")
        _check_models(registry, models or (), model)
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
        return await self._run(_Request(target, input, args, callback, options, _context(context), run), None)

    def stream(
        self, target: str, input: Json = None, *, args: Json = None, callback: Any = None, options: Json = None,
        context: Mapping[str, Json] | None = None, run: str = "",
    ) -> AbstractAsyncContextManager["Stream"]:  # fmt: skip
        """Return what `async with` opens as a stream of events; leaving the block cancels the run and waits for it."""
        return self._stream(_Request(target, input, args, callback, options, _context(context), run))

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
        return loops.run(
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
                if self._in_code(name) is None:
                    await model.close()

    async def open_model(self, name: str, tell: Callable[[str], Awaitable[None]]) -> tuple[Choice, Model]:
        """Return where a model is, and the model, opened and loaded where it is not yet. Raises Failed.

        `tell` is awaited with the model's name before it is loaded, if that takes a while.
        """
        name = self._model or name
        if name not in self._open:
            given = self._in_code(name)
            if given is not None:
                endpoint = contracts.Endpoint(provider="", model=name, api="")
                self._open[name] = (Choice(name=name, endpoint=endpoint), given)
            else:
                settings = self.registry.settings.definition if self.registry.settings else None
                choice = endpoints.choose(name, settings, self.registry.root, self._environ)
                self._open[name] = (choice, endpoints.open_model(choice))
        choice, model = self._open[name]
        if isinstance(model, Loading) and model.loads:
            await tell(name)
            await model.prepare()
        return choice, model

    def _in_code(self, name: str) -> Model | None:
        """Return the model that was given under a name, or under what that name stands for in yaoci.yaml."""
        settings = self.registry.settings
        known = settings.definition.models.get(name) if settings else None
        return self._given.get(name) or (self._given.get(known.use) if known else None)

    # -- a run -----------------------------------------------------------------------------------------

    async def _run(self, request: "_Request", sink: Sink | None) -> Outcome:
        _check_request(request)
        target = self._target(request.target)
        run = request.run or secrets.token_hex(5)
        tree = Tree(
            run=run,
            registry=self.registry,
            engine=await Engine.open(self._journal, run, self._clock),
            budget=Budget(self._bounds(target)),
            assistant=call_assistant,
            context=request.context,
            sink=sink,
            source=self.open_model,
        )
        host = Host(tree, "t", file=target.file, path=target.path, home=target.home, args=request.args or {})
        self._users += 1
        try:
            await tree.emit("run_started", "", target.place, data={"target": target.name})
            try:
                outcome: Outcome = await self._launcher.run(lambda: self._leg(tree, host, target, request))
            except Failed as error:
                await tree.emit("run_ended", "", error.failure.place, data={"error": error.failure.to_json()})
                raise
            data = {"state": outcome.state, "output": outcome.output, "usage": outcome.usage.to_json()}
            if outcome.error is not None:
                data["error"] = outcome.error.to_json()
            await tree.emit("run_ended", "", target.place, data=data)
            return outcome
        finally:
            await self._release()

    def _bounds(self, target: Process) -> Bounds:
        """Return the limits of a whole run: the project's, and those of the assistant that is asked for."""
        own = self.registry.assistants[target.owner] if target.name.startswith(ASSISTANTS) else None
        return bounds(target.place, own, self.registry.settings)

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
            return Outcome(
                run=tree.run,
                message=called.message,
                output=called.value,
                usage=tree.usage,
                error=called.error,
            )
        if request.input is not None:
            raise UsageError(f"`{target.name}` is a process: it takes arguments, no input")
        links = links_of(tree, request.callback, target.home, target.place)
        value = await run_process(host, target, request.args or {}, "t")
        if not links:
            return Outcome(run=tree.run, output=value, usage=tree.usage)
        message = Message(role="assistant", text=as_text(value), data=value)
        last = await call_chain(
            host, links, "t", message, {"process": target.name, "value": value, "usage": {}}
        )
        return Outcome(
            run=tree.run,
            message=last.message,
            output=value if last.message is message else last.value,
            usage=tree.usage,
            error=last.error,
        )


def _check_models(registry: Registry, models: Iterable[str], model: str) -> None:
    """Make sure that models are given under names that the project uses. Raises UsageError.

    A `create` hook may choose any model, and a project that uses none mistakes none.
    """
    used = {name for unit in registry.assistants.values() for name in unit.definition.model}
    if registry.settings is not None:
        settings = registry.settings.definition
        used |= {settings.default_model, *settings.models, *(one.use for one in settings.models.values())}
    used -= {""}
    if not used or any(unit.hooks.get("create") for unit in registry.assistants.values()):
        return
    for name in models:
        if name not in used and name != model:
            hint = did_you_mean(name, used)
            raise UsageError(f"the project has no model `{name}`" + (f": {hint}" if hint else ""))


_CONTEXT: Final = ("user", "session", "locale", "metadata", "turn")
"""What a caller may say of a run."""


def _context(context: Any) -> dict[str, Json]:
    """Return what a run's `context` holds besides its own. Raises UsageError for what is not known there."""
    if context is None:
        return {}
    if not isinstance(context, Mapping):
        raise UsageError(f"`context` is a mapping, such as {{'user': …}}, not {context!r}")
    found = dict(cast("Mapping[str, Json]", context))
    for name in found:
        if name not in _CONTEXT:
            raise UsageError(f"`context` has no `{name}`: {did_you_mean(str(name), _CONTEXT)}")
    return found


def _check_request(request: "_Request") -> None:
    """Look at what a caller in code gives. Raises UsageError that says what was wanted."""
    wanted = (
        (request.target, str, "a target is the name of an assistant or a process"),
        (request.args, (Mapping, list, tuple), "`args` are a mapping or a list"),
        (request.options, Mapping, "`options` are a mapping, such as {'temperature': 0}"),
    )
    for value, kind, what in wanted:
        if value is not None and not isinstance(value, kind):
            raise UsageError(f"{what}, not {type(value).__name__}")
    for trouble in decode(Options, dict(request.options or {}), {}).troubles:
        raise UsageError(f"`options`: {trouble.label}" + (f" ({trouble.help})" if trouble.help else ""))


@dataclass(frozen=True, slots=True)
class _Request:
    target: str
    input: Json
    args: Json
    callback: Any
    options: Json
    context: dict[str, Json]
    run: str
