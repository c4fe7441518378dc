"""What is said in a run: messages, their parts, and how pieces of a message come together."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, TypeAlias, cast

from .values import Json, as_text

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCall:
    """A model's wish to have a function called; `arguments` is JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that goes with a message."""

    name: str = ""
    url: str = ""
    description: str = ""
    type: str = ""
    content_type: str = ""
    bytes: int | None = None
    created_at: str = ""
    file_id: str = ""
    chat_id: str = ""
    assistant_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An assistant named in a message."""

    assistant_id: str
    name: str = ""
    avatar: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something a host can offer to do: a button, a link."""

    name: str
    type: str = ""
    payload: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message, or a piece of one.

    A message with `delta` adds to the message of the same `id`; `new` begins one or starts
    it over; one without `delta` stands for the whole; `done` settles it. `data` carries the
    value of an assistant's `returns`. Fields that are unset are absent in JSON.
    """

    id: str = ""
    text: str = ""
    type: str = "text"
    props: Mapping[str, Json] | None = None
    done: bool = False
    new: bool = False
    delta: bool = False
    actions: tuple[Action, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    role: Role | Literal[""] = ""
    name: str = ""
    assistant_id: str = ""
    assistant_name: str = ""
    assistant_avatar: str = ""
    mentions: tuple[Mention, ...] = ()
    data: Json = None
    pending: bool = False
    hidden: bool = False
    retry: bool = False
    silent: bool = False
    tool_call_id: str = ""
    tool_calls: tuple[FunctionCall, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the message as JSON, without what is unset."""
        return _dump(self)

    @classmethod
    def from_json(cls, value: Json) -> "Message":
        """Return the message that `value` says: text, or a mapping of fields.

        Raises ValueError that names the field which is unknown or of the wrong type.
        """
        if isinstance(value, str):
            return cls(text=value)
        return cast("Message", _load(cls, value, "message"))


_PARTS: Final[dict[str, type]] = {
    "actions": Action, "attachments": Attachment, "mentions": Mention, "tool_calls": FunctionCall,
}  # fmt: skip
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,), "bool": (bool,), "int": (int,), "mapping": (dict,), "list": (list,),
}  # fmt: skip
_ROLES: Final = ("", "system", "user", "assistant", "tool")


def _shape(name: str, default: Any) -> str:
    if name in _PARTS:
        return "list"
    if name == "props":
        return "mapping"
    if name in {"data", "payload"}:
        return "any"
    if name == "bytes":
        return "int"
    return "bool" if isinstance(default, bool) else "str"


_FIELDS: Final[dict[type, dict[str, tuple[Any, str]]]] = {
    kind: {f.name: (f.default, _shape(f.name, f.default)) for f in fields(kind)}
    for kind in (Message, FunctionCall, Attachment, Mention, Action)
}

MESSAGE_FIELDS: Final[tuple[str, ...]] = tuple(_FIELDS[Message])
"""The names of a message's fields, in order."""


def _dump(value: Any) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for name, (default, _) in _FIELDS[type(value)].items():
        item = getattr(value, name)
        if item == default:
            continue
        out[name] = [_dump(part) for part in item] if name in _PARTS else item
    return out


def _load(kind: type, value: Json, what: str) -> Any:
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"a {what} is text or a mapping, not {type(value).__name__}")  # noqa: TRY004 - bad data
    known = _FIELDS[kind]
    found: dict[str, Any] = {}
    for name, item in cast("Mapping[str, Json]", value).items():
        if name not in known:
            raise ValueError(f"a {what} has no field `{name}`")
        shape = known[name][1]
        if item is None:
            continue
        if shape == "str" and name in {"text", "arguments"}:
            found[name] = as_text(item)
        elif shape == "list" and isinstance(item, list | tuple):
            found[name] = tuple(_load(_PARTS[name], part, name[:-1]) for part in cast("list[Json]", item))
        elif shape == "any" or isinstance(item, _TYPES[shape]):
            found[name] = item
        else:
            raise ValueError(f"`{name}` of a {what} is a {shape}, not {type(item).__name__}")
    if found.get("role", "") not in _ROLES:
        raise ValueError(f"a {what} has the role system, user, assistant or tool, not `{found['role']}`")
    try:
        return kind(**found)
    except TypeError:
        raise ValueError(f"a {what} lacks a field it needs") from None


def merge(whole: Message | None, piece: Message) -> Message:
    """Return the message after `piece` came in: the one place where deltas are put together."""
    if whole is None or piece.new or not piece.delta:
        return replace(piece, new=False, delta=False)
    changes: dict[str, Any] = {}
    for name, (default, _) in _FIELDS[Message].items():
        item = getattr(piece, name)
        if item == default or name in {"id", "new", "delta", "type"}:
            continue
        if name == "text":
            item = whole.text + item
        elif name in _PARTS:
            item = getattr(whole, name) + item
        elif name == "props":
            item = {**(whole.props or {}), **item}
        changes[name] = item
    return replace(whole, **changes)
