"""Y208: `only` and `prefix` of a tool that is no group, or names in `only` that the group does not have."""

from collections.abc import Iterable
from typing import Final

from ..definitions import ProcessTool
from ..diagnostics import Code, did_you_mean
from ..rule import Finding, Rule, View
from ..spec import Node


def _see(node: Node, view: View) -> Iterable[Finding]:
    tool: ProcessTool = node.value
    group = tool.process.removesuffix(".*")
    if group == tool.process:
        for key in ("only", "prefix"):
            if getattr(tool, key):
                help = (
                    "it chooses among the methods of `processor.*`"
                    if key == "only"
                    else "the id of one tool is `id`"
                )
                yield Finding((*node.path, key), f"`{tool.process}` is one process, no group", help, "key")
    elif known := view.group(group):
        for index, name in enumerate(tool.only):
            if name not in known and group not in view.broken:
                yield Finding(
                    (*node.path, "only", index),
                    f"`{group}` has no method `{name}`",
                    did_you_mean(name, known),
                )
        if tool.id:
            help = "`prefix` is what all their ids begin with"
            yield Finding((*node.path, "id"), f"`{tool.process}` is more than one function", help, "key")


RULE: Final = Rule(
    code=Code("Y208", "tool-group", "error", "this does not go with the tool"),
    about="""`processor.*` offers all methods of a processor; `only` chooses among them, by their ids, and `prefix` is what
their function ids begin with. One process has neither, but an `id`.""",
    wants=(ProcessTool,),
    see=_see,
    wrong={
        "assistants/a.yaml": "model: local\ntools:\n  - {process: shop.*, only: [fnd]}\n",
        "processes/shop.yaml": "methods:\n  find: {value: 1, description: Finds an order by its number.}\n",
    },
    right={
        "assistants/a.yaml": "model: local\ntools:\n  - {process: shop.*, only: [find]}\n",
        "processes/shop.yaml": "methods:\n  find: {value: 1, description: Finds an order by its number.}\n",
    },
)
