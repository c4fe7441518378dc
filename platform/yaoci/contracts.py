"""What the runner asks of the world: the Protocols, and the data that goes through them."""

import importlib
import pathlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    NewType,
    Protocol,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

from .definitions import AssistantStep
from .errors import Failure
from .events import EventKind
from .messages import Message
from .values import Json, Path

Key = NewType("Key", str)
"""A place in the run tree, such as `t/r2/tool.0~1/steps.3[7]/call.0`; one result each."""

Effect: TypeAlias = Literal["read", "idempotent", "write"]

Finish: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "refusal", "pause"]
"""Why a model stopped."""


# -- models ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """An example dialogue of a function: what is asked, the call it leads to (`args` None: no call), the answer."""

    ask: str
    args: Mapping[str, Json] | None = None
    result: Json = None
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function as a model sees it: an id, a description to decide by, a schema of parameters."""

    id: str
    description: str
    parameters: Mapping[str, Json]
    examples: tuple[Example, ...] = ()
    effect: Effect = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more requests; `input` counts cached ones too, `output` reasoning ones too."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum."""
        return Usage(
            input=self.input + other.input, output=self.output + other.output,
            cached=self.cached + other.cached, reasoning=self.reasoning + other.reasoning,
        )  # fmt: skip

    def to_json(self) -> dict[str, int]:
        """Return the counts that are not zero, and always `input` and `output`."""
        out = {"input": self.input, "output": self.output}
        if self.cached:
            out["cached"] = self.cached
        if self.reasoning:
            out["reasoning"] = self.reasoning
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request to a model: the conversation so far, the functions on offer, the options.

    Messages have the roles system, user, assistant (with `tool_calls`) and tool (with
    `tool_call_id`, `name` the function id, `text` the result as compact JSON).
    `schema`, where given, is a JSON Schema that the answer must fit.
    """

    model: str
    messages: tuple[Message, ...]
    functions: tuple[Function, ...] = ()
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])
    schema: Json = None


class CallDelta(NamedTuple):
    """A piece of a function call: `index` counts the calls of one answer; texts add up."""

    index: int  # type: ignore[assignment]  # hides a method of tuples that nobody calls here
    id: str = ""
    name: str = ""
    arguments: str = ""


class Delta(NamedTuple):
    """A piece of a model's answer. The last one has `finish` set, and `usage` where the provider told it."""

    text: str = ""
    reasoning: str = ""
    call: CallDelta | None = None
    finish: Finish | None = None
    usage: Usage | None = None
    model: str = ""
    """The name of the model that answered, as the provider tells it."""


class Model(Protocol):
    """A model behind some wire."""

    capabilities: frozenset[str]
    """Of `text image audio tools schema`."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Yield the answer in pieces; raise Failed. Read it under `contextlib.aclosing`."""
        ...

    async def close(self) -> None:
        """Let go of connections and memory."""
        ...


@runtime_checkable
class Loading(Protocol):
    """What a model offers besides that takes a while to be loaded before its first answer."""

    @property
    def loads(self) -> bool:
        """Whether it is still to be loaded. Raises Failed."""
        ...

    async def prepare(self) -> None:
        """Load it. Raises Failed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and how a model is reached: one provider's settings, resolved."""

    provider: str
    model: str
    api: str
    """The wire: the name of a module of `models/`, with dashes for underscores."""
    base_url: str = ""
    key: str = ""
    """The secret itself; never shown, logged or put into an exception."""
    key_name: str = ""
    """The variable the key comes from, for messages."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: float = 120.0
    """Seconds for a whole request."""
    connect_timeout: float = 10.0
    idle_timeout: float = 60.0
    """Seconds of silence within a stream."""
    file: str = ""
    """A file of weights, for `local`."""


class Wire(Protocol):
    """What a file of `models/` ends in: `MODEL`, which makes a model for an endpoint."""

    name: str

    def __call__(self, endpoint: Endpoint) -> Model:
        """Return a model; opens nothing yet."""
        ...


# -- the engine, and what it writes to ----------------------------------------------------------------


class Recorded(NamedTuple):
    """A result as its record reads back, live or replayed, and when it was recorded."""

    value: Json
    at: datetime


class Branch(NamedTuple):
    """How a branch of a join ended."""

    state: Literal["done", "failed", "dropped"]
    value: Json = None
    failure: Failure | None = None


class Entry(NamedTuple):
    """One line of a journal."""

    key: Key
    state: Literal["open", "due", "decided", "done", "failed"]
    value: Json
    asked: str
    """The hash of what was asked."""
    at: datetime


class Leg(NamedTuple):
    """One attempt to go on with a run; a higher number fences the lower ones."""

    run: str
    number: int


class Journal(Protocol):
    """Where the results of runs are kept, by key."""

    async def claim(self, run: str) -> Leg:
        """Return the next leg of `run`, which fences every earlier one."""
        ...

    async def load(self, leg: Leg) -> Mapping[Key, Entry]:
        """Return what is recorded of the run."""
        ...

    async def write(self, leg: Leg, entry: Entry) -> None:
        """Record `entry`; what is done or failed is never overwritten. Raises Superseded for an old leg."""
        ...


class Engine(Protocol):
    """Steps, scopes and joins over a journal: one run, one leg."""

    durable: bool

    async def step(
        self,
        key: Key,
        act: Callable[[], Awaitable[Json]],
        *,
        effect: Effect,
        asked: Json,
        timeout: float | None = None,
    ) -> Recorded:
        """Run a leaf once and record its result; return the recorded one if there is one. Raises Failed."""
        ...

    async def scope(self, key: Key, body: Callable[[], Awaitable[Json]], *, asked: Json) -> Recorded:
        """Run what holds steps, and close it with one entry; a closed scope is not entered again."""
        ...

    async def join(
        self,
        key: Key,
        branches: Sequence[Callable[[], Awaitable[Json]]],
        *,
        until: Literal["all", "any", "race"],
        limit: int | None = None,
    ) -> Sequence[Branch]:
        """Run branches at once, at most `limit`; see the language's `parallel`."""
        ...

    async def sleep(self, key: Key, seconds: float) -> Recorded:
        """Wait; the end is recorded first, so that a resumed run waits only for the rest."""
        ...


# -- handlers, and what they may ask of the runner -----------------------------------------------------


class Host(Protocol):
    """What a handler may ask of the runner; `context` in a Python process offers much of the same."""

    cancelled: bool
    """True once the call is given up."""
    message: Message | None
    """The message a callback concerns."""
    event: Json
    """What happened, for a callback."""
    python: pathlib.Path | None
    """The Python file beside the definition."""
    key: Key
    """The place in the run tree."""

    @property
    def run(self) -> str:
        """The run's id."""
        ...

    @property
    def place(self) -> str:
        """`file:line` of what is being run."""
        ...

    @property
    def names(self) -> Mapping[str, Json]:
        """The names that templates see."""
        ...

    def child(self, part: str, path: Path, extra: Mapping[str, Json] | None = None) -> "Host":
        """Return a host for a part of this one, at a path below it, with more names."""
        ...

    def render(self, template: Json) -> Json:
        """Return `template` with its expressions filled in. Raises Failed of kind `template`."""
        ...

    def test(self, expression: Json) -> bool:
        """Return whether a bare expression holds. Raises Failed of kind `template`."""
        ...

    def next_call(self) -> str:
        """Return the key part of the next call that a function makes."""
        ...

    async def process(self, name: str, args: Json, *, key: str = "") -> Json:
        """Run a process, or a method of the same file, and return its result. Raises Failed."""
        ...

    async def assistant(self, step: AssistantStep, *, key: str = "") -> Json:
        """Call an assistant; return its checked `returns` value, else its text. Raises Failed."""
        ...

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
        ...

    async def send(self, message: Json) -> None:
        """Send a message to the user. Raises Failed where it is none."""
        ...

    def set(self, name: str, value: Json) -> None:
        """Write a key of `shared`."""
        ...

    async def within(self, timeout: float | None, body: Callable[[], Awaitable[Json]]) -> Json:
        """Run `body`, which fails with `timeout` if it takes longer. Raises Failed."""
        ...

    async def note(self, kind: EventKind, data: Json, *, message: Message | None = None) -> None:
        """Tell whoever listens that something happened here."""
        ...


S_contra = TypeVar("S_contra", contravariant=True)


class Handler(Protocol[S_contra]):
    """What a file of `handlers/` ends in: `HANDLER`, which carries methods of one kind."""

    kind: ClassVar[str]
    """The key in YAML."""
    spec: ClassVar[type]
    """The dataclass of what stands in YAML; its Form's tag is `kind`."""
    nests: ClassVar[bool]
    """Whether it holds steps of its own, and so runs as a scope."""

    def effect(self, spec: S_contra, of: Callable[[str], Effect]) -> Effect:
        """Return what it does to the world, when the method does not say; `of` tells it of a name it uses."""
        ...

    async def invoke(self, spec: S_contra, args: Json, host: Host) -> Json:
        """Return the result. Raises Failed."""
        ...


# -- finding extensions ---------------------------------------------------------------------------------


def names_of(folder: str) -> tuple[str, ...]:
    """Return the names of the extensions in a folder of the package, sorted; importing none of them."""
    here = pathlib.Path(__file__).parent / folder
    return tuple(sorted(p.stem for p in here.glob("*.py") if not p.stem.startswith("_")))


def extension(folder: str, name: str, constant: str) -> Any:
    """Return the typed constant that `folder/name.py` ends in."""
    module = importlib.import_module(f".{folder}.{name}", __package__)
    return getattr(module, constant)
