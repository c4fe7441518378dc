"""What a callback's result may say with `then`, where each may stand, and which ones a method writes down."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

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


def written(method: Method) -> Iterator[tuple[Path, str]]:
    """Yield each `then` that a method's results are written down with, and where it stands in the method.

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


def _literal(value: Json, path: Path) -> Iterator[tuple[Path, str]]:
    then = cast("dict[str, Json]", value).get("then") if isinstance(value, dict) else None
    if isinstance(then, str) and not has_template(then):
        yield (*path, "then"), then
