"""Y901: a tool that a model cannot tell when to use."""

import unicodedata
from collections.abc import Iterable
from typing import Final

from ..definitions import ProcessTool
from ..diagnostics import Code
from ..registry import full_name
from ..rule import Finding, Rule, View
from ..spec import Node

_ENOUGH: Final = 20


def _see(node: Node, view: View) -> Iterable[Finding]:
    tool: ProcessTool = node.value
    group = tool.process.removesuffix(".*")
    if group == tool.process:
        names = {full_name(tool.process, view.owner, in_assistant=True): tool.process}
    else:
        own = [f"{group}.{name}" for name in view.group(group) if not tool.only or name in tool.only]
        names = {name: name for name in own}
    for name, said in names.items():
        target = view.target(name)
        if target is None or _length(target.description) >= _ENOUGH:
            continue
        what = "has hardly a description" if target.description.strip() else "has no description"
        help = "say in `description` what it does, when to use it and when not"
        yield Finding(
            node.path, f"`{said}` {what}", help, related=((f"`{said}` is here", view.processes[name]),)
        )


def _length(text: str) -> int:
    """Return the length of a text; a Chinese character says as much as several letters."""
    return sum(4 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text.strip())


RULE: Final = Rule(
    code=Code("Y901", "tool-description", "advice", "a tool without a useful description"),
    about="""The description is what a model decides by: what the tool does, when to use it and when not.""",
    wants=(ProcessTool,),
    see=_see,
    wrong={
        "assistants/a.yaml": "model: local\ntools: [shop.find]\n",
        "processes/shop.yaml": "methods:\n  find: {value: 1}\n",
    },
    right={
        "assistants/a.yaml": "model: local\ntools: [shop.find]\n",
        "processes/shop.yaml": "methods:\n  find: {value: 1, description: Finds an order by its number.}\n",
    },
)
