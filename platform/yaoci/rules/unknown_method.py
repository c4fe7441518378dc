"""Y202: a name without a dot that no method of the file has."""

from collections.abc import Iterable
from typing import Final

from ..diagnostics import Code, did_you_mean
from ..marks import Ref
from ..rule import Finding, Rule, View
from ..spec import Node


def _see(node: Node, view: View) -> Iterable[Finding]:
    name: str = node.value
    if "." in name or ":" in name or name in view.methods or view.owner in view.broken:
        return
    dotted = [known for known in view.processes if known.rpartition(".")[2] == name and ":" not in known]
    if len(dotted) == 1:
        help = f"did you mean the process `{dotted[0]}`?"
    else:
        help = (
            did_you_mean(name, view.methods)
            or "add it under `methods`, or write the name of a process, with its dot"
        )
    yield Finding(node.path, f"this file has no method `{name}`", help)


RULE: Final = Rule(
    code=Code("Y202", "unknown-method", "error", "unknown method"),
    about="""A name without a dot is a method of the same file, under `methods`. A name with a dot is a process.""",
    wants=(Ref("callable"), Ref("tool")),
    see=_see,
    wrong={
        "assistants/a.yaml": "model: local\nhooks: {done: notfy}\nmethods:\n  notify: {value: null}\n",
    },
    right={
        "assistants/a.yaml": "model: local\nhooks: {done: notify}\nmethods:\n  notify: {value: null}\n",
    },
)
