"""A run tree: what one request starts, with the budget, the shared values and the events of all of it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol, cast

from .contracts import Key, Usage
from .definitions import Assistant, AssistantStep, Limits, Settings
from .engine import Engine
from .errors import Failed, Failure
from .events import Event, EventKind
from .messages import Message
from .registry import Registry, Unit
from .values import MAX_BYTES, Json, NotJsonError, canonical, weighs_over

ROUNDS: Final = 8
DEPTH: Final = 8
CALLS: Final = 200
TIMEOUT: Final = 600.0
"""What holds where nothing is said: requests of a turn, nesting, calls of a run, seconds of a run."""


_BEFORE: Final = "$before"
"""Where a recorded failure keeps what was changed and used before it."""


class Sink(Protocol):
    """Where events go."""

    async def put(self, event: Event) -> None:
        """Take an event; wait where the reader is slow."""
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits, and where each of them is written."""

    limits: Limits
    places: Mapping[str, str]
    place: str
    """Of whom they limit: where one that nobody wrote is told."""

    def of(self, name: str) -> str:
        """Return `file:line` of a limit."""
        return self.places.get(name, self.place)


def bounds(place: str, *units: Unit[Assistant] | Unit[Settings] | None) -> Bounds:
    """Return the limits that files write, of each the tightest."""
    found: dict[str, Any] = {}
    places: dict[str, str] = {}
    for unit in units:
        limits = unit.definition.limits if unit is not None else None
        if unit is None or limits is None:
            continue
        for name in _LIMITS:
            value = getattr(limits, name)
            if value is not None and (name not in found or value < found[name]):
                found[name], places[name] = value, unit.place(("limits", name))
    return Bounds(Limits(**found), places, place)


_LIMITS: Final = tuple(f.name for f in fields(Limits))


def _said(*values: Any) -> list[Any]:
    return [value for value in values if value is not None]


class Budget:
    """What may still be used, shared by all that is started under it; a narrower one counts in the wider ones too.

    What nobody limits has a default: 8 rounds of a turn, 8 nested calls, 200 calls and ten minutes of a run.
    """

    __slots__ = ("bounds", "calls", "depth", "rounds", "taken", "timeout", "tokens", "usage", "wider")

    def __init__(self, bounds: Bounds, wider: "Budget | None" = None) -> None:
        """Take the limits."""
        top, limits = wider is None, bounds.limits
        self.calls = CALLS if limits.calls is None and top else limits.calls
        self.tokens = limits.tokens
        self.depth: int = min(_said(limits.depth, wider.depth if wider else None), default=DEPTH)
        self.rounds = limits.rounds or ROUNDS
        self.timeout = TIMEOUT if limits.timeout is None and top else limits.timeout
        self.bounds = bounds
        self.wider = wider
        self.taken = 0
        """The calls that were counted here."""
        self.usage = Usage()
        """The tokens that were counted here."""

    def counting(self) -> "Budget":
        """Return a budget that limits what this one does, and counts by itself what is used under it."""
        inner = Budget(self.bounds, self)
        inner.calls = inner.tokens = None
        inner.rounds, inner.timeout = self.rounds, self.timeout
        return inner

    def replayed(self, usage: Usage, calls: int) -> None:
        """Count what was used under a record that is not entered again."""
        if self.calls is not None:
            self.calls -= calls
        if self.tokens is not None:
            self.tokens -= usage.input + usage.output
        self.taken += calls
        self.usage += usage
        if self.wider is not None:
            self.wider.replayed(usage, calls)

    def take_call(self, what: str, place: str) -> None:
        """Count an assistant started or a tool called. Raises Failed of kind `limit`."""
        if self.calls is not None:
            if self.calls <= 0:
                raise Failed.of(
                    "limit",
                    f"no calls are left for {what}: `limits.calls` is used up ({self.bounds.of('calls')})",
                    place=place,
                )
            self.calls -= 1
        self.taken += 1
        if self.wider is not None:
            self.wider.take_call(what, place)

    def take_tokens(self, usage: Usage) -> None:
        """Count the tokens of a request."""
        if self.tokens is not None:
            self.tokens -= usage.input + usage.output
        self.usage += usage
        if self.wider is not None:
            self.wider.take_tokens(usage)

    def need_tokens(self, place: str) -> None:
        """Make sure that a request may be made. Raises Failed of kind `limit`."""
        if self.tokens is not None and self.tokens <= 0:
            where = self.bounds.of("tokens")
            raise Failed.of("limit", f"no tokens are left: `limits.tokens` is used up ({where})", place=place)
        if self.wider is not None:
            self.wider.need_tokens(place)


class Called(NamedTuple):
    """What a called assistant gave: its last message, its checked value or text, and what it used."""

    message: Message
    value: Json
    usage: Usage
    error: Failure | None = None
    """Why its turn failed, where `fail` answered."""


class CallAssistant(Protocol):
    """How an assistant is called from within the tree; the turn loop gives it."""

    def __call__(
        self,
        host: Any,
        step: AssistantStep,
        input: Json,
        args: Json,
        callback: Any,
        *,
        key: Key,
        options: Json = None,
    ) -> Awaitable[Called]:
        """Call an assistant below `host`. Raises Failed."""
        ...


class Tree:
    """One run: the registry, the engine, and what all its parts share."""

    __slots__ = (
        "_now",
        "assistant",
        "budget",
        "context",
        "engine",
        "log",
        "registry",
        "run",
        "seq",
        "shared",
        "sink",
        "source",
    )

    def __init__(
        self, *, run: str, registry: Registry, engine: Engine, budget: Budget, assistant: CallAssistant,
        context: Mapping[str, Json], sink: Sink | None, source: Any,
    ) -> None:  # fmt: skip
        """Take what a run needs; `source` opens models by name."""
        self.run = run
        self.registry = registry
        self.engine = engine
        self.budget = budget
        self.assistant = assistant
        self.context: dict[str, Json] = {
            "user": None, "session": "", "run": run, "turn": 0, "locale": "", "metadata": {}, "key": "", **context,
        }  # fmt: skip
        self.shared: dict[str, Json] = {}
        self.log: list[tuple[str, Json]] = []
        self.sink = sink
        self.source = source
        self.seq = 0
        self._now: tuple[datetime, dict[str, Json]] | None = None

    @property
    def usage(self) -> Usage:
        """Of all requests of the run."""
        return self.budget.usage

    def set(self, name: str, value: Json) -> None:
        """Write a key of `shared`. Raises Failed of kind `bad_result` for what JSON cannot hold."""
        try:
            kept = canonical(value)
        except NotJsonError as error:
            raise Failed.of("bad_result", f"`shared.{name}` cannot be kept: {error}") from None
        if weighs_over(kept, MAX_BYTES // 10):
            raise Failed.of("bad_result", f"`shared.{name}` is larger than 1 MiB")
        self.shared[name] = kept
        if self.engine.durable:
            self.log.append((name, kept))

    def now(self) -> dict[str, Json]:
        """Return the time as templates see it."""
        at = self.engine.heard.astimezone()
        if self._now is None or self._now[0] != at:
            self._now = (at, {
                "date": at.date().isoformat(), "time": at.strftime("%H:%M:%S"), "iso": at.isoformat(timespec="seconds"),
                "weekday": at.strftime("%A"), "zone": str(at.tzinfo), "unix": int(at.timestamp()),
            })  # fmt: skip
        return self._now[1]

    async def emit(
        self, kind: EventKind, key: str, place: str, *, message: Message | None = None, data: Json = None
    ) -> None:
        """Tell whoever listens that something happened."""
        if self.sink is None:
            return
        self.seq += 1
        at = self.engine.clock().isoformat(timespec="milliseconds")
        await self.sink.put(
            Event(
                run=self.run, seq=self.seq, kind=kind, key=key, place=place, at=at, message=message, data=data
            )
        )


async def keep(
    tree: Tree,
    budget: Budget,
    body: Callable[[], Awaitable[Json]],
    record: Callable[[Callable[[], Awaitable[Json]]], Awaitable[Json]],
) -> Json:
    """Run `body` inside a record of the engine, together with what it changes in `shared` and uses of `budget`.

    A replayed record changes `shared` and counts in `budget`, which `body` has for itself alone, as
    the live run did, also where it failed.
    """
    if not tree.engine.durable:
        return await record(body)
    ran = False

    async def kept() -> Json:
        nonlocal ran
        ran, start = True, len(tree.log)
        try:
            value = await body()
        except Failed as error:
            before = _before(tree, start, budget)
            if not before:
                raise
            data = {_BEFORE: before, "data": error.failure.data}
            raise Failed(error.failure._replace(data=data)) from error
        return {"value": value, **_before(tree, start, budget)}

    try:
        found = await record(kept)
    except Failed as error:
        said = error.failure.data
        data = cast("dict[str, Json]", said) if isinstance(said, dict) else {}
        if _BEFORE not in data:
            raise
        if not ran:
            _again(tree, budget, data[_BEFORE])
        raise Failed(error.failure._replace(data=data["data"])) from error
    if not ran:
        _again(tree, budget, found)
    return found["value"]


def _before(tree: Tree, start: int, budget: Budget) -> dict[str, Json]:
    """Return what a record keeps of what was changed in `shared` since `start`, and used of a budget of its own."""
    out: dict[str, Json] = {}
    if changed := dict(tree.log[start:]):
        out["shared"] = changed
    if budget.usage != Usage():
        out["usage"] = budget.usage.to_json()
    if budget.taken:
        out["calls"] = budget.taken
    return out


def _again(tree: Tree, budget: Budget, before: Mapping[str, Json]) -> None:
    for name, value in before.get("shared", {}).items():
        tree.set(name, value)
    budget.replayed(Usage(**before.get("usage", {})), before.get("calls", 0))
