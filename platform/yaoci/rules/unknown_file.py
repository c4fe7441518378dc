"""Y205: a prompt file that is not there, or not in the project."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ..diagnostics import Code, did_you_mean
from ..marks import Ref
from ..rule import Finding, Rule, View
from ..source import Problem, Unreadable
from ..spec import Node
from ..written import read_prompt


def _see(node: Node, view: View) -> Iterable[Finding]:
    try:
        read_prompt(node.value, view.path, view.root)
    except Unreadable as error:
        for problem in error.problems:
            yield _finding(problem, node, view)


def _finding(problem: Problem, node: Node, view: View) -> Finding:
    label, help, span = problem.label, problem.help, problem.span
    if problem.slug == "missing-file":
        label = f"there is no file `{span.file}` beside this one"
        path = view.path.parent / node.value
        help = did_you_mean(path.name, _files(path.parent), few=4)
    elif problem.slug == "not-text":
        label = f"{span.file}:{span.line}: {label}"
        help = "remove it; a prompt is plain text"  # and not YAML, which has escapes
    elif problem.slug in {"not-utf8", "two-byte-order-marks"}:
        label = f"{span.file}:{span.line}: {label}"
    return Finding(node.path, label, help)


def _files(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir() if path.is_file()]
    except OSError:
        return []


RULE: Final = Rule(
    code=Code("Y205", "unknown-file", "error", "file not usable"),
    about="""A prompt's `file` is a path from the folder of the YAML file, to a UTF-8 text inside the project.""",
    wants=(Ref("file"),),
    see=_see,
    wrong={
        "assistants/a/assistant.yaml": "model: local\nprompts: [{file: promt.md}]\n",
        "assistants/a/prompt.md": "Be kind.",
    },
    right={
        "assistants/a/assistant.yaml": "model: local\nprompts: [{file: prompt.md}]\n",
        "assistants/a/prompt.md": "Be kind.",
    },
)
