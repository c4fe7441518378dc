"""What a rule is: what it asks to see, what it may look at, and what it finds."""

import pathlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from .definitions import Method, Settings
from .diagnostics import Code
from .pysource import Module
from .source import Span
from .spec import Node
from .values import Json, Path

Kind: TypeAlias = Literal["assistant", "processor", "python", "settings"]


class Finding(NamedTuple):
    """What a rule found, at a path of the file it was shown."""

    path: Path
    label: str
    help: str = ""
    on: Literal["key", "value"] = "value"
    related: tuple[tuple[str, Span], ...] = ()
    line: int = 0
    """Where the value is a text of several lines: the one that is meant, from 1; else 0."""


class View(Protocol):
    """What a rule may look at besides the node it is shown: the file, and the names of the project."""

    file: str
    """The file's name, from the project's folder."""
    path: pathlib.Path
    """Where it is."""
    owner: str
    """The id of the assistant or processor that it holds."""
    root: pathlib.Path
    """The project's folder."""
    value: Json
    """The whole file as plain values."""
    definition: Any
    """The file's definition; None where it could not be decoded."""
    assistants: Mapping[str, Span]
    """The ids of all assistants, broken ones too, and where they are."""
    processes: Mapping[str, Span]
    """The names of all processes, broken ones too, and where they are defined."""
    methods: Collection[str]
    """The methods of this file, broken ones too."""
    broken: Collection[str]
    """Ids whose files could not be read: nothing is to be said of what they hold."""
    callbacks: Mapping[str, Collection[str]]
    """The full names of what stands as a callback somewhere in the project, each with its hooks, or `callback`."""
    shared: Collection[str] | None
    """The keys of `shared` that steps set; None where Python, or what could not be read, may set others."""
    settings: Settings | None
    settings_broken: bool
    python: Module | None
    """The Python file beside this one, read but never imported."""
    has_python: bool
    """Whether there is one, even if it could not be read."""

    @property
    def kind(self) -> Kind:
        """What the file holds."""
        ...

    def group(self, id: str) -> list[str]:
        """Return the methods of a processor."""
        ...

    def target(self, name: str) -> Method | None:
        """Return the method that a name leads to from this file; None if there is none or it is broken."""
        ...

    def span(self, path: Path) -> Span:
        """Return where a path of this file is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a file of `rules/` ends in: `RULE`, which judges the nodes it asks for and never walks.

    `wants` lists what it is shown: a `Ref("model")`, a class of marks such as `Template`, or a
    definition class such as `Callback`. `wrong` and `right` are small projects, path to text,
    that are run as tests: every finding of `wrong` has this rule's code, `right` has none.
    """

    code: Code
    about: str
    wants: tuple[Any, ...]
    see: Callable[[Node, View], Iterable[Finding]]
    wrong: Mapping[str, str]
    right: Mapping[str, str]
