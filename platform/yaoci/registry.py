"""What a project compiles to: immutable, cross-checked, looked up by name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from .contracts import Effect, Example, Function, Handler
from .definitions import (
    Assistant,
    AssistantTool,
    Callback,
    Method,
    Processor,
    Settings,
    ToolLimits,
    ToolUse,
    text_of,
)
from .diagnostics import did_you_mean
from .errors import UsageError
from .schemas import Shape
from .source import Document
from .values import Json, Path

ASSISTANTS = "assistants."
"""What the process name of an assistant begins with."""

INPUT: Mapping[str, Json] = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "What is said to it."}},
    "required": ["input"],
}
"""The parameters of an assistant that declares none."""

NO_PARAMETERS: Mapping[str, Json] = {"type": "object", "properties": {}}
"""The parameters of a method that declares none, as a model sees them."""

UnitKind: TypeAlias = Literal["assistant", "processor", "settings"]
V = TypeVar("V")
D = TypeVar("D", Assistant, Processor, Settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """Something that can be run by name: a method of a processor or an assistant, or an assistant itself."""

    name: str
    """`orders.find`, `helpdesk:guard`, `assistants.neo`."""
    method: Method
    handler: Handler[Any]
    effect: Effect
    file: str
    path: Path
    place: str
    """`file:line` of its definition."""
    owner: str
    """The id of its processor or assistant."""
    assistant: str = ""
    """The assistant whose `vars` it sees, if any."""
    parameters: Shape | None = None
    returns: Shape | None = None
    python: FilePath | None = None
    """The Python file beside it."""

    @property
    def description(self) -> str:
        """What a model decides by."""
        return self.method.description

    @property
    def home(self) -> str:
        """What dotless names in it are looked up under: `orders.`, `helpdesk:`."""
        return home_of(self.owner, bool(self.assistant))

    def function(self, id: str) -> Function:
        """Return it as a model sees it, under a function id."""
        return Function(
            id=id,
            description=self.method.description.strip() or text_of(self.method.name),
            parameters=self.method.parameters or NO_PARAMETERS,
            examples=tuple(
                Example(ask=e.ask, args=e.args, result=e.result, answer=e.answer)
                for e in self.method.examples
            ),
            effect=self.effect,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A process under a function id, as one assistant offers it."""

    function: Function
    process: Process
    place: str
    limits: ToolLimits | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A callback that is bound to its target: one link of a chain."""

    name: str
    """The target's full name, `orders.find` or `helpdesk:guard`; for a Python function its own."""
    place: str
    process: Process | None = None
    function: Callable[..., Any] | None = None
    args: Json = ()
    when: Json = None
    on_error: Literal["fail", "skip"] = "fail"
    timeout: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit(Generic[D]):
    """One file of a project, compiled."""

    id: str
    file: str
    definition: D
    document: Document | None
    processes: Mapping[str, Process]
    """Its own methods, by id."""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """An assistant's tools, by function id."""
    hooks: Mapping[str, tuple[Link, ...]] = field(default_factory=dict[str, tuple[Link, ...]])
    """An assistant's chains, by hook."""
    prompts: tuple[str, ...] = ()
    """The texts of an assistant's prompts, files read."""
    held: str = ""
    """Why an assistant's text waits until it is settled; nothing if it streams."""

    def place(self, path: Path) -> str:
        """Return `file:line` of what stands at `path`."""
        return self.document.place(path) if self.document is not None else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """A project, compiled: the one owner that looks up assistants and processes by name."""

    root: FilePath
    settings: Unit[Settings] | None
    assistants: Mapping[str, Unit[Assistant]]
    processors: Mapping[str, Unit[Processor]]
    processes: Mapping[str, Process]
    """Every process, those of assistants' own methods as `id:method`."""
    documents: Mapping[str, Document]
    """The YAML files by the name they are shown by."""
    digest: str
    """The sha256 of all definitions."""

    def place(self, file: str, path: Path) -> str:
        """Return `file:line` of what stands at `path`."""
        document = self.documents.get(file)
        return document.place(path) if document is not None else file

    def assistant(self, id: str) -> Unit[Assistant]:
        """Return the assistant called `id`. Raises UsageError that names the nearest."""
        return self._find("assistant", self.assistants, id)

    def process(self, name: str) -> Process:
        """Return the process called `name`. Raises UsageError that names the nearest."""
        return self._find("process", self.processes, name)

    def resolve(self, name: str, home: str) -> Process:
        """Return what `name` leads to: a dotless name is a method of `home`, such as `orders.` or `helpdesk:`."""
        return self.process(name if "." in name or ":" in name else home + name)

    @staticmethod
    def _find(what: str, known: Mapping[str, V], name: str) -> V:
        try:
            return known[name]
        except KeyError:
            hint = did_you_mean(name, known)
            raise UsageError(f"no {what} is called `{name}`" + (f": {hint}" if hint else "")) from None


def home_of(owner: str, in_assistant: bool) -> str:
    """Return what the names of a file's methods begin with: `orders.` in a processor, `helpdesk:` in an assistant."""
    return f"{owner}:" if in_assistant else f"{owner}."


def full_name(name: str, owner: str, in_assistant: bool) -> str:
    """Return the full name of what `name` means in the file of `owner`."""
    if "." in name or ":" in name:
        return name
    return home_of(owner, in_assistant) + name


class Offered(NamedTuple):
    """One function that an assistant offers to its model."""

    id: str
    process: str
    path: Path
    """Of the tool's entry in the assistant's file."""
    use: ToolUse


def offered(id: str, assistant: Assistant, methods: Callable[[str], Iterable[str]]) -> list[Offered]:
    """Return the functions of an assistant's `tools`, in order; `methods` lists those of a processor."""
    out: list[Offered] = []
    for index, use in enumerate(assistant.tools):
        path = ("tools", index)
        if isinstance(use, AssistantTool):
            out.append(Offered(use.id or function_id(use.assistant), ASSISTANTS + use.assistant, path, use))
        elif use.process.endswith(".*"):
            group = use.process[:-2]
            prefix = function_id(group) + "_" if use.prefix is None else use.prefix
            names = [name for name in methods(group) if not use.only or name in use.only]
            out.extend(Offered(prefix + name, f"{group}.{name}", path, use) for name in names)
        else:
            name = full_name(use.process, id, in_assistant=True)
            out.append(Offered(use.id or function_id(use.process.rpartition(":")[2]), name, path, use))
    return out


def function_id(name: str) -> str:
    """Return the function id of a process or assistant that is given none: `_` for each dot."""
    return name.replace(".", "_")


def link(callback: Callback, process: Process, place: str) -> Link:
    """Return a callback bound to the process it names."""
    return Link(
        name=process.name, place=place, process=process, args=callback.args, when=callback.when,
        on_error=callback.on_error, timeout=callback.timeout,
    )  # fmt: skip
