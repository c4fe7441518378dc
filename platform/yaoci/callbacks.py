"""Callbacks: what a result says (`then`), and running a chain of links, one after the other, in a loop."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, assert_never, cast

from .definitions import Callback
from .diagnostics import did_you_mean, listed
from .errors import Failed, UsageError
from .messages import Message
from .registry import Link, Registry, link
from .spec import decode
from .thens import CHANGES, FIELDS, MAY, THENS, answered, taken
from .values import Json

# -- what a link says ----------------------------------------------------------------------------------


class Keep(NamedTuple):
    """Anything without `then`: it is recorded, and the message goes on unchanged."""


class Replace(NamedTuple):
    """Stands in the message's place for the rest of the chain; no messages: it is hidden."""

    messages: tuple[Message, ...]


class Change(NamedTuple):
    """Fields of `event` to go on with."""

    values: Mapping[str, Json]


class Answer(NamedTuple):
    """Instead of the model, or of the tool."""

    value: Json


class Refuse(NamedTuple):
    """The tool does not run; the model reads why."""

    reason: str


class Next(NamedTuple):
    """Something else takes the place of what is running."""

    target: str
    """`assistants.<id>` or a process, as it was written."""
    args: Json = None
    input: Json = None


class Stop(NamedTuple):
    """The turn ends here, with these messages; None: with what there is."""

    messages: tuple[Message, ...] | None = None


Said: TypeAlias = Keep | Replace | Change | Answer | Refuse | Next | Stop
"""What a result says; `then: fail` is the exception Failed."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place where chains stand: what a result may say there, and what of `event` it may change."""

    name: str
    may: frozenset[str]
    changes: frozenset[str] = frozenset()


POINTS: Final[Mapping[str, Point]] = {
    name: Point(name, frozenset(may), frozenset(CHANGES.get(name, ()))) for name, may in MAY.items()
}
"""The hooks of a turn, and `callback`, the chain of a call."""


def read(value: Json, point: Point) -> Said:
    """Return what a result says at a point. Raises Failed, of kind `bad_result` where it says it wrongly."""
    if not isinstance(value, dict) or "then" not in value:
        return Keep()
    said = cast("dict[str, Json]", value)
    then = said["then"]
    if not isinstance(then, str) or then not in FIELDS:
        hint = did_you_mean(str(then), FIELDS, few=0) or f"one of {listed(THENS, 'or')}"
        raise Failed.of("bad_result", f"`then: {then}` is not known: {hint}")
    if then not in point.may:
        raise Failed.of(
            "bad_result", f"`then: {then}` is not for `{point.name}`, where {_options(point)} may stand"
        )
    allowed = taken(then, point.name)
    for name in said:
        if name != "then" and name not in allowed:
            hint = did_you_mean(name, allowed, few=0) or f"it takes {listed(sorted(allowed))}"
            raise Failed.of("bad_result", f"`then: {then}` has no `{name}` at `{point.name}`: {hint}")
    return _said(then, said, point)


def _options(point: Point) -> str:
    return listed((name for name in THENS if name in point.may), "or")


def _said(then: str, said: Mapping[str, Json], point: Point) -> Said:
    match then:
        case "replace":
            return Replace(messages_of(said.get("message")))
        case "change":
            return Change({name: item for name, item in said.items() if name != "then"})
        case "answer":
            wanted = answered(point.name)
            if wanted not in said:
                raise Failed.of("bad_result", f"`then: answer` needs `{wanted}` at `{point.name}`")
            return Answer(said[wanted] if point.name == "tool" else messages_of(said[wanted]))
        case "refuse":
            return Refuse(str(said.get("reason") or "not allowed"))
        case "next":
            return _next(said)
        case "stop":
            return Stop(messages_of(said["message"]) if "message" in said else None)
        case _:
            raise Failed.of("failed", str(said.get("error") or "failed"))


def _next(said: Mapping[str, Json]) -> Next:
    targets = [name for name in ("assistant", "process") if isinstance(said.get(name), str)]
    if len(targets) != 1:
        raise Failed.of("bad_result", "`then: next` needs `assistant` or `process`, one of them")
    name = str(said[targets[0]])
    target = f"assistants.{name}" if targets[0] == "assistant" else name
    return Next(target, said.get("args"), said.get("input"))


def messages_of(value: Json) -> tuple[Message, ...]:
    """Return the messages that `value` says: text, a message, a list of them, or null for none. Raises Failed."""
    if value is None:
        return ()
    parts = cast("Sequence[Json]", value) if isinstance(value, list | tuple) else [value]
    try:
        return tuple(Message.from_json(part) for part in parts)
    except ValueError as error:
        raise Failed.of("bad_result", f"not a message: {error}") from None


# -- binding -------------------------------------------------------------------------------------------


def bind(callback: Any, registry: Registry, home: str, place: str) -> tuple[Link, ...]:
    """Return the chain that a callback given in Python means; the five forms, or a list of them.

    None is no link; text a method of `home` (`orders.`, `helpdesk:`) or a process; a mapping `{name, args}` either, or a
    function, with arguments; a Callback as the YAML has it; a function or coroutine function itself.
    Raises UsageError for anything else, or a name that leads nowhere.
    """
    if callback is None:
        return ()
    if isinstance(callback, list | tuple):
        return tuple(
            one for item in cast("Sequence[Any]", callback) for one in bind(item, registry, home, place)
        )
    if isinstance(callback, str):
        callback = Callback(name=callback)
    elif isinstance(callback, dict):
        given = cast("dict[str, Any]", callback)
        function = given.get("name")
        if callable(function):
            return (_function(function, place, _decoded({**given, "name": _name_of(function)})),)
        callback = _decoded(given)
    if isinstance(callback, Callback):
        return (link(callback, registry.resolve(callback.name, home), place),)
    if callable(callback):
        return (_function(callback, place, Callback(name=_name_of(callback))),)
    raise UsageError(f"a callback is null, a name, `{{name, args}}`, a function or a list, not {callback!r}")


def _decoded(given: dict[str, Json]) -> Callback:
    found = decode(Callback, given, {})
    for trouble in found.troubles:
        where = f"`{trouble.path[0]}`" if trouble.path and trouble.on == "value" else ""
        raise UsageError(f"not a callback: {': '.join(filter(None, (where, trouble.label, trouble.help)))}")
    return cast("Callback", found.value)


def _function(function: Callable[..., Any], place: str, how: Callback) -> Link:
    return Link(
        name=how.name, place=_place_of(function) or place, function=function, args=how.args, when=how.when,
        on_error=how.on_error, timeout=how.timeout,
    )  # fmt: skip


def _name_of(function: Callable[..., Any]) -> str:
    name = str(getattr(function, "__qualname__", None) or type(function).__name__).rpartition("<locals>.")[2]
    if name != "<lambda>":
        return name
    file, _, line = _place_of(function).rpartition(":")
    return f"a function ({FilePath(file).name}:{line})"


def _place_of(function: Callable[..., Any]) -> str:
    try:
        code = inspect.unwrap(function).__code__
    except AttributeError:
        return ""
    return f"{code.co_filename}:{code.co_firstlineno}"


# -- running -------------------------------------------------------------------------------------------


class Carrier(Protocol):
    """What runs a link: the host at whose point the chain stands."""

    def holds(self, one: Link, message: Message, event: Json) -> bool:
        """Return whether the link's `when` holds."""
        ...

    def follow(self, one: Link, key: str, message: Message, event: Json) -> Awaitable[Json]:
        """Run the link's target and return its result. Raises Failed."""
        ...

    async def told(self, one: Link, key: str, ok: bool, value: Json) -> None:
        """Tell that the link ended."""
        ...


class Chain(NamedTuple):
    """How a chain ended: what was said last, the messages that go on, and the event with its changes."""

    said: Answer | Refuse | Next | Stop | None
    messages: tuple[Message, ...]
    event: Json


async def run(
    links: Sequence[Link], carrier: Carrier, point: str, key: str, message: Message, event: Json,
    allowed: frozenset[str] | None = None,
) -> Chain:  # fmt: skip
    """Run a chain: each link gets the message and event as the links before it left them.

    It is a loop: a chain of ten thousand works as one of two. Raises Failed of the link that fails,
    naming it and its place; `on_error: skip` goes on instead. `allowed` narrows what may be changed.
    """
    at = POINTS[point] if allowed is None else Point(point, POINTS[point].may, allowed)
    before: tuple[Message, ...] = ()
    hidden = False
    for index, one in enumerate(links):
        if one.when is not None and not carrier.holds(one, message, event):
            continue
        place = f"{key}.{index}"
        try:
            value = await carrier.follow(one, place, message, event)
            said = read(value, at)
        except Failed as error:
            await carrier.told(one, place, ok=False, value=error.failure.to_json())
            if one.on_error == "skip":
                continue
            raise named(error, one, point) from error
        await carrier.told(one, place, ok=True, value=value)
        match said:
            case Keep():
                pass
            case Replace(messages=messages):
                hidden = not messages
                if messages:
                    before, message = (*before, *messages[:-1]), _like(message, messages[-1])
            case Change(values=values):
                event = {**event, **values}
            case Answer() | Refuse() | Next() | Stop():
                return Chain(said, (*before, message), event)
            case _:
                assert_never(said)
    return Chain(None, before if hidden else (*before, message), event)


def _like(old: Message, new: Message) -> Message:
    """Return a message that stands in another's place, with its identity where it has none of its own."""
    return Message.from_json({
        **{name: getattr(old, name) for name in ("id", "role", "assistant_id", "assistant_name", "assistant_avatar")},
        **new.to_json(),
    })  # fmt: skip


def named(error: Failed, one: Link, point: str) -> Failed:
    """Return a link's failure with the callback's name in its text; the place that failed first is kept."""
    failure = error.failure
    return Failed(
        failure._replace(
            text=f"the callback `{one.name}` of `{point}` failed: {failure.text}",
            place=failure.place or one.place,
        )
    )
