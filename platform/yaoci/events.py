"""What a run emits while it goes on."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from .messages import Message
from .values import Json

EventKind: TypeAlias = Literal[
    "run_started", "turn_started", "model_loading", "model_started", "model_ended", "message",
    "tool_started", "tool_ended", "callback_ended", "step_ended", "note", "run_ended",
]  # fmt: skip

VERSION: Final = 1
"""The version of the JSON form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened in a run.

    `seq` counts up within the run; `key` is the place in the run tree; `place` is the
    `file:line` of the assistant, tool, step or callback that caused it; `at` is ISO 8601.
    Kind `message` carries a message or a piece of one; the others carry `data`.
    """

    run: str
    seq: int
    kind: EventKind
    key: str = ""
    place: str = ""
    at: str = ""
    message: Message | None = None
    data: Json = None

    def to_json(self) -> dict[str, Json]:
        """Return the event as JSON, without what is unset."""
        out: dict[str, Json] = {"v": VERSION, "run": self.run, "seq": self.seq, "kind": self.kind}
        for name in ("key", "place", "at"):
            if value := getattr(self, name):
                out[name] = value
        if self.message is not None:
            out["message"] = self.message.to_json()
        if self.data is not None:
            out["data"] = self.data
        return out
