"""Y301: arguments that do not fit the target of a callback."""

from collections.abc import Iterable
from typing import Final

from ..arguments import judge
from ..definitions import Callback
from ..diagnostics import Code
from ..registry import ASSISTANTS
from ..rule import Finding, Rule, View
from ..spec import Node


def _see(node: Node, view: View) -> Iterable[Finding]:
    callback: Callback = node.value
    target = view.target(callback.name)
    if callback.name.startswith(ASSISTANTS) and not callback.args:
        return  # it is told the message
    for misfit in judge(callback.args, target, callback.name) if target else ():
        yield Finding((*node.path, "args", *misfit.path), misfit.label, misfit.help, misfit.on)


RULE: Final = Rule(
    code=Code("Y301", "callback-arguments", "error", "arguments do not fit the callback"),
    about="""A callback's `args` go to its target's `parameters`: a mapping by name, a list in declared order. `message`,
`event` and `context` are filled by the runner, and need no argument.""",
    wants=(Callback,),
    see=_see,
    wrong={
        "assistants/a.yaml": """\
model: local
hooks:
  done: {name: note, args: {levl: high}}
methods:
  note:
    parameters: {type: object, properties: {level: {type: string}}}
    value: "{{ args.level }}"
""",
    },
    right={
        "assistants/a.yaml": """\
model: local
hooks:
  done: {name: note, args: [high]}
methods:
  note:
    parameters: {type: object, properties: {level: {type: string}}}
    value: "{{ args.level }}"
""",
    },
)
