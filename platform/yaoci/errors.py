"""What can go wrong in a run, as data and as exceptions; and the exit codes of the command line.

YaociError                 what a caller may catch
├── DefinitionError        the definitions are wrong (of `diagnostics`: it carries the report)
├── UsageError             asked for what does not exist, or in a wrong way
└── Failed                 a run failed (carries a Failure)

Left                       a leg ends without a result; a BaseException, so that no
├── Suspended              `except Exception` of a user's code can swallow it
├── Superseded
└── Diverged
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Literal, NamedTuple, TypeAlias, get_args

from .values import Json, clean

Kind: TypeAlias = Literal[
    # a request to a model
    "auth", "permission", "not_found", "bad_request", "context_length", "rate_limit", "quota", "overloaded",
    "server", "content_filter", "tool_call_rejected", "bad_response", "stream_cut", "timeout", "connection",
    # a call of a tool, a process or a callback
    "bad_args", "bad_result", "unknown_tool", "refused", "not_run", "repeated", "exception", "unknown",
    # a run
    "failed", "limit", "cancelled", "conflict", "missing", "template", "bug",
]  # fmt: skip
"""The closed set of what a failure can be. `failed` is an author's own `then: fail` or `fail:`."""

KINDS: frozenset[str] = frozenset(get_args(Kind))

RETRYABLE: frozenset[str] = frozenset(
    {"rate_limit", "overloaded", "server", "stream_cut", "timeout", "connection"}
)
"""Failures of a model request that the same request may well not meet again."""


MAX_TEXT = 4_000
"""How long the text of a failure may be; more of it is cut."""


class Failure(NamedTuple):
    """A failure as data: the only form that a flow, a model, an event or a journal sees."""

    kind: Kind
    text: str
    place: str = ""
    """`file:line` of the assistant, tool, step or callback that caused it."""
    retry_after: float | None = None
    """Seconds that a provider asked to wait."""
    data: Json = None

    def to_json(self) -> dict[str, Json]:
        """Return the failure as JSON, without what is unset: `{kind, message, place, …}`."""
        out: dict[str, Json] = {"kind": self.kind, "message": self.text}
        if self.place:
            out["place"] = self.place
        if self.retry_after is not None:
            out["retry_after"] = self.retry_after
        if self.data is not None:
            out["data"] = self.data
        return out

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> "Failure":
        """Return the failure that `to_json` wrote."""
        return cls(
            value["kind"],
            value["message"],
            value.get("place", ""),
            value.get("retry_after"),
            value.get("data"),
        )


class YaociError(Exception):
    """The root of what the package raises to its callers."""


class UsageError(YaociError):
    """The caller asked for something that does not exist, or in a way that cannot be."""


class Failed(YaociError):  # noqa: N818 - it reads as what happened: `raise Failed(...)`
    """A run, a step or a request failed; `failure` says how."""

    def __init__(self, failure: Failure | str) -> None:
        """Take the failure, whose text becomes the message; a text alone is one of kind `failed`."""
        known = failure if isinstance(failure, Failure) else Failure("failed", str(failure))
        super().__init__(known.text)
        self.failure = known

    @classmethod
    def of(cls, kind: Kind, text: str, *, place: str = "", data: Json = None) -> "Failed":
        """Return an exception for a new failure. Raises ValueError for a kind that is none of KINDS."""
        if kind not in KINDS:
            raise ValueError(_no_kind(str(kind)))
        text = clean(text)
        return cls(
            Failure(kind, text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} …", place, None, data)
        )


def _no_kind(kind: str) -> str:
    import difflib  # only where a kind is misspelt

    near = difflib.get_close_matches(kind.lower().replace("-", "_"), sorted(KINDS), n=1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    return f"no kind of failure is called `{kind}`: {hint}There are {', '.join(sorted(KINDS))}"


class Left(BaseException):
    """A leg of a run ends here without a result; no hook and no `on_error` sees it."""


class Suspended(Left):
    """The run waits for signals."""


class Superseded(Left):
    """A newer leg has the run."""


class Diverged(Left):
    """A key was recorded for another request than the one made now."""


class Exit(IntEnum):
    """What the process ends with."""

    OK = 0
    WRONG = 1
    """The definitions are wrong, or a case failed."""
    USAGE = 2
    FAILED = 3
    """The run failed."""
    PAUSED = 4
    NOTHING = 5
    """There was nothing to check or test."""
    BUG = 70
    INTERRUPTED = 130
