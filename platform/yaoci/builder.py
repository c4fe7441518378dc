"""Making the registry of a project in which nothing is wrong."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path as FilePath
from typing import Any

from .contracts import Effect, Handler
from .definitions import Assistant, Callback, FilePrompt, Hooks, Method, Prompt
from .documents import File, assistant_method, handlers
from .registry import ASSISTANTS, Link, Process, Registry, Tool, Unit, full_name, link, offered
from .schemas import Shape
from .values import Json, Path, as_text
from .written import read_prompt


def build(root: FilePath, files: list[File], group: Callable[[str], list[str]]) -> Registry:
    """Return the registry of decoded files; `group` lists the methods of a processor."""
    return _Builder(root, files, group).registry()


def may_act(method: Method) -> bool:
    """Return whether a method, as a callback, might give a result with `then`.

    A declared `returns` that is no object says no, and so does a handler whose results are
    all written down without one; anything else might.
    """
    returns = method.returns
    if isinstance(returns, Mapping):
        kind = returns.get("type")
        return kind is None or "object" in (kind if isinstance(kind, list) else [kind])
    if hasattr(method.handler, "value"):
        return _acts(method.handler.value)
    if hasattr(method.handler, "steps"):
        return _flow_acts(method.handler.steps)
    return True


def _acts(value: Json) -> bool:
    """Return whether a written value has `then`, or is a template of which nothing is known."""
    if isinstance(value, Mapping):
        return "then" in value
    return isinstance(value, str) and value.strip().startswith("{{")


def _flow_acts(steps: tuple[Any, ...]) -> bool:
    for step in steps:
        if hasattr(step.action, "return_") and _acts(step.action.return_):
            return True
    last = steps[-1].action if steps else None
    return hasattr(last, "process") or hasattr(last, "assistant")


class _Builder:
    def __init__(self, root: FilePath, files: list[File], group: Callable[[str], list[str]]) -> None:
        self.root = root
        self.files = [file for file in files if file.found.kind != "settings"]
        self.settings = next((file for file in files if file.found.kind == "settings"), None)
        self.group = group
        self.methods: dict[str, tuple[Method, File, Path]] = {}
        self.effects: dict[str, Effect] = {}
        self.processes: dict[str, Process] = {}

    def registry(self) -> Registry:
        for file in self.files:
            if file.found.kind == "assistant":
                name = ASSISTANTS + file.found.id
                self.methods[name] = (assistant_method(file.found.id, file.definition), file, ())
            for id in file.method_names():
                method = file.method(id)
                if method is not None:
                    self.methods[_full(file, id)] = (method, file, ("methods", id))
        self.processes = {name: self._process(name) for name in self.methods}
        return Registry(
            root=self.root,
            settings=self._unit(self.settings) if self.settings else None,
            assistants={f.found.id: self._assistant(f) for f in self.files if f.found.kind == "assistant"},
            processors={f.found.id: self._unit(f) for f in self.files if f.found.kind != "assistant"},
            processes=self.processes,
            documents={f.found.shown: f.document for f in self._all() if f.document is not None},
            digest=self._digest(),
        )

    def _process(self, name: str) -> Process:
        method, file, path = self.methods[name]
        return Process(
            name=name,
            method=method,
            handler=_handler(method),
            effect=self._effect(name),
            file=file.found.shown,
            path=path,
            place=_place(file, path),
            owner=file.found.id,
            assistant=file.found.id if file.found.kind == "assistant" else "",
            parameters=None if method.parameters is None else Shape(method.parameters),
            returns=None if method.returns is None else Shape(method.returns),
            python=file.python_path,
        )

    def _effect(self, name: str) -> Effect:
        """Return what a process does to the world; of a cycle, what the rest of it does."""
        if name not in self.effects:
            self.effects[name] = "read"
            method, file, _ = self.methods[name]
            self.effects[name] = method.effect or _handler(method).effect(
                method.handler, lambda used: self._effect(_full(file, used))
            )
        return self.effects[name]

    def _unit(self, file: File) -> Unit[Any]:
        return Unit(
            id=file.found.id, file=file.found.shown, definition=file.definition, document=file.document,
            processes={id: self.processes[_full(file, id)] for id in file.method_names()},
        )  # fmt: skip

    def _assistant(self, file: File) -> Unit[Assistant]:
        assistant: Assistant = file.definition
        tools: dict[str, Tool] = {}
        for offer in offered(file.found.id, assistant, self.group):
            process = self.processes[offer.process]
            tools[offer.id] = Tool(
                function=process.function(offer.id), process=process, place=_place(file, offer.path),
                limits=offer.use.limits,
            )  # fmt: skip
        hooks = {f.name: self._chain(file, f.name) for f in fields(Hooks)}
        return Unit(
            id=file.found.id,
            file=file.found.shown,
            definition=assistant,
            document=file.document,
            processes={id: self.processes[_full(file, id)] for id in file.method_names()},
            tools=tools,
            hooks=hooks,
            prompts=tuple(self._prompt(file, prompt) for prompt in assistant.prompts),
            held=_held(assistant, hooks["done"]),
        )

    def _chain(self, file: File, hook: str) -> tuple[Link, ...]:
        callbacks: tuple[Callback, ...] = (
            getattr(file.definition.hooks, hook) if file.definition.hooks else ()
        )
        return tuple(
            link(callback, self.processes[_full(file, callback.name)], _place(file, ("hooks", hook, index)))
            for index, callback in enumerate(callbacks)
        )

    def _all(self) -> list[File]:
        return [*self.files, *filter(None, [self.settings])]

    def _digest(self) -> str:
        whole = hashlib.sha256()
        for file in self._all():
            for name, text in file.texts():
                whole.update(f"{name}\0{text}\0".encode())
            for prompt in file.definition.prompts if file.found.kind == "assistant" else ():
                whole.update(f"{self._prompt(file, prompt)}\0".encode())
        return whole.hexdigest()

    def _prompt(self, file: File, prompt: Prompt) -> str:
        if isinstance(prompt, FilePrompt):
            return read_prompt(prompt.file, file.found.path, self.root)
        return prompt.content


def _full(file: File, name: str) -> str:
    return full_name(name, file.found.id, file.found.kind == "assistant")


def _handler(method: Method) -> Handler[Any]:
    return handlers()[method.handler.form.tag]


def _place(file: File, path: Path) -> str:
    if file.document is not None:
        return file.document.place(path)
    function = file.python.functions.get(as_text(path[-1])) if file.python and path else None
    return f"{file.found.shown}:{function.line if function else 1}"


def _held(assistant: Assistant, done: tuple[Link, ...]) -> str:
    """Return why the text must wait until it is settled; nothing where it may stream."""
    if assistant.stream is not None:
        return "`stream: held`" if assistant.stream == "held" else ""
    if assistant.returns is not None:
        return "the answer must fit `returns`"
    for one in done:
        if one.process is not None and may_act(one.process.method):
            return f"`{one.name}` in `done` may change the answer ({one.place})"
    return ""
