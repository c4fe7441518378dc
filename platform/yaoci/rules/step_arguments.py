"""Y302: arguments that do not fit the process of a step."""

from collections.abc import Iterable
from typing import Final

from ..arguments import judge
from ..definitions import ProcessStep
from ..diagnostics import Code
from ..rule import Finding, Rule, View
from ..spec import Node


def _see(node: Node, view: View) -> Iterable[Finding]:
    step: ProcessStep = node.value
    target = view.target(step.process)
    for misfit in judge(step.args, target, step.process) if target else ():
        yield Finding((*node.path, "args", *misfit.path), misfit.label, misfit.help, misfit.on)


RULE: Final = Rule(
    code=Code("Y302", "step-arguments", "error", "arguments do not fit the process"),
    about="""A step's `args` go to the `parameters` of the process it runs: a mapping by name, a list in declared order.""",
    wants=(ProcessStep,),
    see=_see,
    wrong={
        "processes/shop.yaml": """\
methods:
  find:
    parameters: {type: object, properties: {id: {type: string}}, required: [id]}
    value: "{{ args.id }}"
  first: {steps: [{process: find}]}
""",
    },
    right={
        "processes/shop.yaml": """\
methods:
  find:
    parameters: {type: object, properties: {id: {type: string}}, required: [id]}
    value: "{{ args.id }}"
  first: {steps: [{process: find, args: {id: A1}}]}
""",
    },
)
