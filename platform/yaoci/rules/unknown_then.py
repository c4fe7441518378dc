"""Y304: a `then` that means nothing."""

from collections.abc import Iterable
from typing import Final

from ..definitions import Method
from ..diagnostics import Code, did_you_mean, listed
from ..registry import full_name
from ..rule import Finding, Rule, View
from ..spec import Node
from ..thens import THENS, written


def _see(node: Node, view: View) -> Iterable[Finding]:
    name = full_name(str(node.path[-1]), view.owner, view.kind == "assistant")
    if name not in view.callbacks:
        return  # its result is data, where `then` is a word like any other
    for said in written(node.value):
        if said.then not in THENS:
            help = did_you_mean(said.then, THENS, few=0) or f"it is one of {listed(THENS, 'or')}"
            yield Finding((*node.path, *said.path, "then"), f"`then: {said.then}` is not known", help)


RULE: Final = Rule(
    code=Code("Y304", "unknown-then", "error", "unknown `then`"),
    about="""The result of a callback acts when it is a mapping with `then`: replace, change, answer, refuse, next, stop or
fail. Any other result is recorded, and the message goes on unchanged.""",
    wants=(Method,),
    see=_see,
    wrong={
        "assistants/a.yaml": """\
model: local
hooks: {tool: guard}
methods:
  guard: {value: {then: refues, reason: not today}}
""",
    },
    right={
        "assistants/a.yaml": """\
model: local
hooks: {tool: guard}
methods:
  guard: {value: {then: refuse, reason: not today}}
""",
    },
)
