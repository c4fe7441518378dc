"""Y203: an id that no assistant has."""

from collections.abc import Iterable
from typing import Final

from ..diagnostics import Code, did_you_mean, nearest
from ..marks import Ref
from ..rule import Finding, Rule, View
from ..spec import Node


def _see(node: Node, view: View) -> Iterable[Finding]:
    name: str = node.value
    if name in view.assistants:
        return
    help = did_you_mean(name, view.assistants)
    if name in view.processes:
        help = f"`{name}` is a process: write `process: {name}`"
    near = nearest(name, view.assistants)
    related = ((f"`{near}` is here", view.assistants[near]),) if near else ()
    yield Finding(node.path, f"no assistant is called `{name}`", help, related=related)


RULE: Final = Rule(
    code=Code("Y203", "unknown-assistant", "error", "unknown assistant"),
    about="""An assistant's id comes from its path: assistants/support/triage.yaml is `support.triage`.""",
    wants=(Ref("assistant"),),
    see=_see,
    wrong={
        "assistants/a.yaml": "model: local\ntools:\n  - assistant: translater\n",
        "assistants/translator.yaml": "model: local\ndescription: Translates.\n",
    },
    right={
        "assistants/a.yaml": "model: local\ntools:\n  - assistant: translator\n",
        "assistants/translator.yaml": "model: local\ndescription: Translates.\n",
    },
)
