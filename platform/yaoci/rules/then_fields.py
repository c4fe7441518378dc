"""Y307: what stands beside a `then` that does not take it, or that it lacks."""

from collections.abc import Iterable, Iterator
from typing import Final

from ..definitions import Method
from ..diagnostics import Code, did_you_mean, listed, nearest
from ..registry import full_name
from ..rule import Finding, Rule, View
from ..spec import Node
from ..thens import MAY, Said, answered, taken, written
from ..values import Path

_TARGETS: Final = ("assistant", "process")


def _see(node: Node, view: View) -> Iterable[Finding]:
    name = full_name(str(node.path[-1]), view.owner, view.kind == "assistant")
    points = sorted(view.callbacks.get(name, ()))
    for said in written(node.value):
        told: set[str] = set()
        for point in points:
            if said.then not in MAY.get(point, ()):
                continue  # told where the callback stands
            for finding in (*_too_many(said, point, node.path), *_missing(said, point, node.path)):
                if finding.label not in told:
                    told.add(finding.label)
                    yield finding


def _too_many(said: Said, point: str, method: Path) -> Iterator[Finding]:
    known = taken(said.then, point)
    where = f" at `{point}`" if said.then == "change" else ""
    for field in said.fields:
        if field not in known:
            help = did_you_mean(field, set(known) - said.fields.keys(), few=0) or f"it takes {listed(known)}"
            label = f"`then: {said.then}` has no `{field}`{where}"
            yield Finding((*method, *said.path, field), label, help, "key")


def _missing(said: Said, point: str, method: Path) -> Iterator[Finding]:
    if said.then == "answer":
        wanted: tuple[str, ...] = (answered(point),)
    elif said.then == "next":
        wanted = _TARGETS
    else:
        return
    misspelt = [field for field in said.fields if field not in taken(said.then, point)]
    if sum(field in said.fields for field in wanted) == 1 or any(
        nearest(field, wanted) for field in misspelt
    ):
        return
    if said.then == "next":
        label = "`then: next` needs `assistant` or `process`, one of them"
        yield Finding((*method, *said.path), label, "write `assistant: <id>` or `process: <name>`")
    else:
        label = f"`then: answer` needs `{wanted[0]}` at `{point}`"
        yield Finding((*method, *said.path), label, f"add `{wanted[0]}: …`")


RULE: Final = Rule(
    code=Code("Y307", "then-fields", "error", "fields do not fit the `then`"),
    about="""What stands beside `then`: replace and stop take `message`; answer `message`, or `result` at `tool`; refuse
`reason`; next `assistant` or `process`, `args` and `input`; fail `error`; change what the hook lets change:
`input`, `options`, `model` and `args` at `create`, `args` at `tool`, `result` at `result`.""",
    wants=(Method,),
    see=_see,
    wrong={
        "assistants/a.yaml": """\
model: local
hooks: {done: polish}
methods:
  polish: {value: {then: replace, mesage: "{{ message.text | trim }}"}}
""",
    },
    right={
        "assistants/a.yaml": """\
model: local
hooks: {done: polish}
methods:
  polish: {value: {then: replace, message: "{{ message.text | trim }}"}}
""",
    },
)
