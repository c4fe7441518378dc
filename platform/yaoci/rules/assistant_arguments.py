"""Y303: arguments that do not fit the parameters of an assistant that is called."""

from collections.abc import Iterable
from typing import Final

from ..arguments import judge
from ..definitions import AssistantStep
from ..diagnostics import Code
from ..registry import ASSISTANTS, INPUT
from ..rule import Finding, Rule, View
from ..spec import Node


def _see(node: Node, view: View) -> Iterable[Finding]:
    step: AssistantStep = node.value
    target = view.target(ASSISTANTS + step.assistant)
    if target is None:
        return
    if target.parameters is INPUT:
        if step.args:
            help = "say it in `input`, or declare its `parameters`"
            yield Finding((*node.path, "args"), f"`{step.assistant}` takes no arguments", help)
        return
    for misfit in judge(step.args, target, step.assistant):
        yield Finding((*node.path, "args", *misfit.path), misfit.label, misfit.help, misfit.on)


RULE: Final = Rule(
    code=Code("Y303", "assistant-arguments", "error", "arguments do not fit the assistant"),
    about="""The `args` of a call to an assistant go to its `parameters`; what is said to it is `input`.""",
    wants=(AssistantStep,),
    see=_see,
    wrong={
        "assistants/a.yaml": "model: local\nparameters: {type: object, properties: {tone: {type: string}}}\n",
        "processes/talk.yaml": "methods:\n  ask: {steps: [{assistant: a, args: {tone: 3}}]}\n",
    },
    right={
        "assistants/a.yaml": "model: local\nparameters: {type: object, properties: {tone: {type: string}}}\n",
        "processes/talk.yaml": "methods:\n  ask: {steps: [{assistant: a, args: {tone: dry}}]}\n",
    },
)
