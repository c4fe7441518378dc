"""Y305: a `then` that the hook of a callback does not take."""

from collections.abc import Iterable
from typing import Final

from ..definitions import Callback
from ..diagnostics import Code, listed
from ..registry import full_name
from ..rule import Finding, Rule, View
from ..spec import Node
from ..thens import MAY, THENS, point_of, written


def _see(node: Node, view: View) -> Iterable[Finding]:
    callback: Callback = node.value
    point = point_of(node.path)
    target, may = view.target(callback.name), MAY.get(point)
    if target is None or may is None:
        return
    place = view.processes[full_name(callback.name, view.owner, view.kind == "assistant")]
    wrong = dict.fromkeys(
        said.then for said in written(target) if said.then in THENS and said.then not in may
    )
    for then in wrong:
        what = "the callback of a call" if point == "callback" else f"`{point}`"
        label = f"`{callback.name}` says `then: {then}`, which {what} does not take"
        related = ((f"`{callback.name}` is here", place),)
        yield Finding(node.path, label, f"{what} takes {listed(may, 'or')}", related=related)


RULE: Final = Rule(
    code=Code("Y305", "then-not-here", "error", "this hook does not take that `then`"),
    about="""What a callback's result may do depends on the hook: `create` takes change, answer, next, stop; `tool` change,
answer, refuse, stop; `result` change, next, stop; `done` replace, next; `fail` answer, next; the callback of
a call replace, next, stop. All take fail.""",
    wants=(Callback,),
    see=_see,
    wrong={
        "assistants/a.yaml": """\
model: local
hooks: {done: guard}
methods:
  guard: {value: {then: refuse, reason: not today}}
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
