"""The texts that are templates or expressions: those of a marked value, at any depth, and those of prompt files."""

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

from .definitions import FilePrompt
from .marks import Expression
from .rule import View
from .source import Unreadable, decoded, read_bytes
from .spec import Node
from .templating import Use, expression_uses, uses
from .texts import Text, shown
from .traps import not_text
from .values import Json, Path

MAX_FILE: Final = 1024 * 1024
"""How large a prompt file may be, in bytes."""


class Written(NamedTuple):
    """A text: where its YAML stands, and the prompt file that it comes from, if any."""

    path: Path
    text: str
    bare: bool = False
    """Whether it is a bare expression."""
    file: str = ""

    def uses(self) -> Sequence[Use]:
        """Return the names that it uses. Raises TemplateProblem."""
        return expression_uses(self.text) if self.bare else uses(self.text)

    def said(self, label: str, line: int) -> str:
        """Return a label that tells the place in a file of its own."""
        return f"{self.file}:{line}: {label}" if self.file else label


def texts(node: Node, view: View) -> Iterator[Written]:
    """Yield the texts of a node that carries Template or Expression, or of the file that a FilePrompt names.

    A file that cannot be read is told by another rule, and yields nothing.
    """
    if isinstance(node.value, FilePrompt):
        if node.value.raw:
            return
        try:
            text = read_prompt(node.value.file, view.path, view.root)
        except Unreadable:
            return
        yield Written((*node.path, "file"), text, file=node.value.file)
    elif isinstance(node.mark, Expression):
        if isinstance(node.value, str):
            yield Written(node.path, node.value, bare=True)
    else:
        yield from _deep(node.value, node.path)


def _deep(value: Json, path: Path) -> Iterator[Written]:
    if isinstance(value, str):
        yield Written(path, value)
    elif isinstance(value, Mapping):
        for key, part in cast("Mapping[str, Json]", value).items():
            yield from _deep(part, (*path, key))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(cast("Sequence[Json]", value)):
            yield from _deep(part, (*path, index))


def read_prompt(name: str, beside: pathlib.Path, root: pathlib.Path) -> str:
    """Return the text of a prompt file, named as seen from the file `beside`, its lines ended by LF.

    Raises Unreadable where it is no plain file, outside the project at `root`, too large, or no text.
    """
    path, short = beside.parent / name, shown(name)[1:-1]
    if not _inside(path, root):
        label = f"`{short}` is outside the project"
        raise Unreadable(
            (Text(short, "").problem("unreadable-file", 0, 0, label, "move it beside this file"),)
        )
    large = "a prompt is a text that a model reads whole"
    text = decoded(short, read_bytes(path, short, MAX_FILE, large))
    if problem := not_text(Text(short, text)):
        raise Unreadable((problem,))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _inside(path: pathlib.Path, root: pathlib.Path) -> bool:
    """Return whether a path stays in the project; a path that leads nowhere does, and reading it tells so."""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):  # too long; with a NUL; a link that leads to itself
        return True
