"""The texts that are templates or expressions: those of a marked value, at any depth, and those of prompt files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

from .definitions import FilePrompt
from .marks import Expression
from .rule import View
from .spec import Node
from .templating import Use, expression_uses, uses
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
        if not node.value.raw and (text := _read(node.value.file, view)) is not None:
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


def _read(name: str, view: View) -> str | None:
    path = view.path.parent / name
    try:
        inside = path.resolve().is_relative_to(view.root.resolve())
        if not inside or not path.is_file() or path.stat().st_size > MAX_FILE:
            return None
        return path.read_text("utf-8-sig")
    except (OSError, ValueError):
        return None
