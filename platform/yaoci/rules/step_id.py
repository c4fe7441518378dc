"""Y306: two steps of one list with the same id."""

from collections.abc import Iterable
from typing import Final

from ..definitions import Step
from ..diagnostics import Code
from ..rule import Finding, Rule, View
from ..spec import Node
from ..values import at


def _see(node: Node, view: View) -> Iterable[Finding]:
    id: str = node.value.id
    *around, index = node.path
    steps = at(view.value, tuple(around))
    if not id or not isinstance(steps, list) or not isinstance(index, int):
        return
    for before in range(index):
        if at(steps, (before, "id")) == id:
            related = (("the other one", view.span((*around, before, "id"))),)
            yield Finding(
                (*node.path, "id"),
                f"`{id}` is the id of step {before + 1} already",
                "rename one of them",
                related=related,
            )
            return


RULE: Final = Rule(
    code=Code("Y306", "step-id", "error", "two steps have the same id"),
    about="""A step's `id` names its result, `steps.<id>`, and so belongs to one step of its list.""",
    wants=(Step,),
    see=_see,
    wrong={"processes/p.yaml": "methods:\n  run: {steps: [{id: a, send: hello}, {id: a, send: bye}]}\n"},
    right={"processes/p.yaml": "methods:\n  run: {steps: [{id: a, send: hello}, {id: b, send: bye}]}\n"},
)
