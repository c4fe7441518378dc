"""What may stand in the annotations of a definition: marks that tell how a value is read and what it names."""

import functools
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin

T = TypeVar("T")


class Doc(NamedTuple):
    """What a key is for, in one sentence."""

    text: str


class Ref(NamedTuple):
    """The name of something: `callable assistant model function file`."""

    to: str


class Template(NamedTuple):
    """A value whose texts may hold templates, at any depth."""

    text_only: bool = False


class Expression(NamedTuple):
    """A bare expression; a value that is not text stands for itself."""


class Schema(NamedTuple):
    """A JSON Schema of the user's; `parameters` ones have an object at their root."""

    parameters: bool = False


class Many(NamedTuple):
    """One value stands for a list of one."""


class Nullable(NamedTuple):
    """`null` may be written; elsewhere an entry without a value is told."""


class Flat(NamedTuple):
    """The keys of a tagged union stand among the keys of this mapping; `kinds` names an open union."""

    kinds: str = ""


class Seconds(NamedTuple):
    """A duration such as `250ms 10s 2m 24h 7d`, as seconds."""


class Between(NamedTuple):
    """A number between two bounds, both included."""

    low: float
    high: float


class Words(NamedTuple):
    """Text that fits a pattern; `what` says so in words."""

    pattern: str
    what: str
    variable: bool = False
    """It is the name of an environment variable; what stands there instead may be a secret, and is not repeated."""


class Form(NamedTuple):
    """How a dataclass is written, as its class variable `form`."""

    what: str
    """What it is called in messages."""
    tag: str = ""
    """The key that tells it from the other members of its union."""
    short: str = ""
    """The field that a plain text stands for."""


@functools.cache
def hints(kind: type) -> Mapping[str, Any]:
    """Return the annotations of a dataclass's fields, marks included."""
    return typing.get_type_hints(kind, include_extras=True)


def marks_of(annotation: Any) -> tuple[Any, ...]:
    """Return the marks of an annotation."""
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def mark_of(marks: Sequence[Any], kind: type[T]) -> T | None:
    """Return the mark of a kind among `marks`, or None."""
    return next((mark for mark in marks if isinstance(mark, kind)), None)
