"""A conversation's tools: reading what a model asks for, and writing results so that it can act on them."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, NoReturn, cast

from .contracts import Function
from .diagnostics import did_you_mean
from .errors import Failed
from .messages import FunctionCall
from .registry import Tool
from .schemas import explain
from .values import Json, NotJsonError, canonical, compact, equal_key

MAX_ARGUMENTS: Final = 1024 * 1024
"""The longest arguments of a call that are read, in characters."""

MAX_RESULT: Final = 20_000
"""The longest result that a model is sent, in characters; the run's record keeps the whole."""

REPEATS_TOLD: Final = 3
"""The same call so often in a row is not run but answered with `repeated`."""

REPEATS_FAILED: Final = 5
"""The same call so often in a row ends the turn."""


class Wanted(NamedTuple):
    """A call that is understood: the tool, and arguments that fit its parameters, defaults filled in."""

    tool: Tool
    args: dict[str, Json]


class Toolbox:
    """The functions of one turn: owns the ids that the model sees, and counts what is asked."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        """Take the tools by function id."""
        self._tools = tools
        self._used: dict[str, int] = {}
        self._last: Any = None
        self._repeats = 0

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions as the model sees them."""
        return tuple(tool.function for tool in self._tools.values())

    def read(self, call: FunctionCall) -> Wanted:
        """Return the tool and its arguments. Raises Failed with a text that tells the model what was wrong."""
        tool = self._tools.get(call.name)
        if tool is None:
            hint = did_you_mean(call.name, self._tools, few=20) or "there are none"
            raise Failed.of("unknown_tool", f"there is no tool `{call.name}`: {hint}")
        return Wanted(tool, self.fit(tool, arguments(call.arguments)))

    @staticmethod
    def fit(tool: Tool, args: dict[str, Json]) -> dict[str, Json]:
        """Return arguments with defaults filled in, if they fit. Raises Failed of kind `bad_args`."""
        shape = tool.process.parameters
        if shape is None:
            return args
        filled: dict[str, Json] = shape.fill(args)
        if misfits := shape.misfits(filled):
            raise Failed.of(
                "bad_args", explain(misfits, f"the arguments of `{tool.function.id}`"), place=tool.place
            )
        return filled

    def count(self, call: FunctionCall, wanted: Wanted) -> None:
        """Count a call. Raises Failed of kind `repeated`, `limit` (of the turn: with `data` "turn") where it is one too many."""
        now = (call.name, equal_key(wanted.args))
        self._repeats = self._repeats + 1 if now == self._last else 1
        self._last = now
        if self._repeats >= REPEATS_FAILED:
            raise Failed.of("limit", f"the model called `{call.name}` {self._repeats} times in a row with the same arguments",
                            place=wanted.tool.place, data="turn")  # fmt: skip
        if self._repeats >= REPEATS_TOLD:
            raise Failed.of("repeated", "the same call was just made: use its result, or answer")
        used = self._used[call.name] = self._used.get(call.name, 0) + 1
        limits = wanted.tool.limits
        if limits is not None and limits.calls is not None and used > limits.calls:
            raise Failed.of("limit", f"`{call.name}` may be called {times(limits.calls)} in a turn, and was",
                            place=wanted.tool.place)  # fmt: skip


def times(number: int) -> str:
    """Return how often, in words."""
    return "once" if number == 1 else f"{number} times"


def arguments(text: str) -> dict[str, Json]:
    """Return the arguments that a model wrote as JSON. Raises Failed of kind `bad_args`.

    Nothing, and `null`, are no arguments; an object inside a JSON string is taken; of a key that
    comes twice the last one counts; NaN and infinities are not JSON.
    """
    if len(text) > MAX_ARGUMENTS:
        raise Failed.of(
            "bad_args", f"the arguments have {len(text)} characters; at most {MAX_ARGUMENTS} are read"
        )
    value = _parse(text) if text.strip() else None
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _parse(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Failed.of("bad_args", "the arguments must be one JSON object, such as {}")
    try:
        found: dict[str, Json] = canonical(value)
    except NotJsonError as error:
        raise Failed.of("bad_args", f"the arguments cannot be read: {error}") from None
    return found


def _parse(text: str) -> Json:
    try:
        return json.loads(text, parse_constant=no_constant)
    except ValueError as error:
        what = (
            f"{error.msg} at character {error.pos + 1}"
            if isinstance(error, json.JSONDecodeError)
            else str(error)
        )
        raise Failed.of(
            "bad_args", f"the arguments are not valid JSON ({what}): send one JSON object"
        ) from None
    except RecursionError:
        raise Failed.of("bad_args", "the arguments are nested too deep") from None


def no_constant(name: str) -> NoReturn:
    """Refuse what Python reads as JSON and nobody else does: NaN and infinities."""
    raise ValueError(f"{name} is not JSON")


def result_text(value: Json) -> str:
    """Return a result as a model reads it: compact JSON, free text as `{"text": …}`, long ones cut in the middle.

    A result that only tells an error keeps that form.
    """
    said = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
    if list(said) == ["error"] and isinstance(said["error"], str):
        return compact({"error": _cut(said["error"])})
    if isinstance(value, str):
        return compact({"text": _cut(value)})
    whole = compact(value)
    return whole if len(whole) <= MAX_RESULT else compact({"text": _cut(whole)})


def _cut(text: str) -> str:
    """Return `text`, without its middle where it is too long."""
    if len(text) <= MAX_RESULT:
        return text
    half = MAX_RESULT // 2
    return f"{text[:half]} … {len(text) - 2 * half} characters left out … {text[-half:]}"
