"""What a callback's result may say with `then`, where each may stand, and which ones a method writes down."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from .definitions import Method, ReturnStep, Step
from .templating import has_template
from .values import Json, Path

THENS: Final = ("replace", "change", "answer", "refuse", "next", "stop", "fail")
"""Everything that `then` may say."""

MAY: Final[Mapping[str, tuple[str, ...]]] = {
    "create": ("change", "answer", "next", "stop", "fail"),
    "tool": ("change", "answer", "refuse", "stop", "fail"),
    "result": ("change", "next", "stop", "fail"),
    "done": ("replace", "next", "fail"),
    "fail": ("answer", "next", "fail"),
    "callback": ("replace", "next", "stop", "fail"),
}
"""What may be said at each hook of a turn, and at `callback`, the chain of a call."""

CHANGES: Final[Mapping[str, tuple[str, ...]]] = {
    "create": ("input", "options", "model", "args"),
    "tool": ("args",),
    "result": ("result",),
}
"""What of its `event` a hook lets change."""

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "replace": ("message",),
    "change": (),
    "answer": ("message", "result"),
    "refuse": ("reason",),
    "next": ("assistant", "process", "args", "input"),
    "stop": ("message",),
    "fail": ("error",),
}
"""What may stand beside each `then`; beside `change` it is what the hook lets change."""


def taken(then: str, point: str) -> tuple[str, ...]:
    """Return what may stand beside a known `then` at a hook, or at `callback`."""
    return CHANGES.get(point, ()) if then == "change" else FIELDS[then]


def answered(point: str) -> str:
    """Return the field in which `then: answer` gives its answer at a hook."""
    return "result" if point == "tool" else "message"


def point_of(path: Path) -> str:
    """Return the hook whose callback a place belongs to, `callback` for that of a call, else nothing."""
    if path[:1] == ("hooks",):
        return str(path[1])
    return "callback" if "callback" in path[2:] else ""


class Said(NamedTuple):
    """A mapping with a known text as its `then`, and where it stands in its method."""

    path: Path
    then: str
    fields: Mapping[str, Json]
    """What stands beside it."""


def written(method: Method) -> Iterator[Said]:
    """Yield each mapping with `then` that a method's results are written down with.

    Those are the mappings of a `value` handler and of the `return` steps of a flow; what a
    template or a call gives is known only in a run.
    """
    handler: Any = method.handler
    if hasattr(handler, "value"):
        yield from _literal(handler.value, ("value",))
    steps: tuple[Step, ...] = getattr(handler, "steps", ())
    for index, step in enumerate(steps):
        if isinstance(step.action, ReturnStep):
            yield from _literal(step.action.return_, ("steps", index, "return"))


def _literal(value: Json, path: Path) -> Iterator[Said]:
    fields = dict(cast("dict[str, Json]", value)) if isinstance(value, dict) else {}
    then = fields.pop("then", None)
    if isinstance(then, str) and not has_template(then):
        yield Said(path, then, fields)
