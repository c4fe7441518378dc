"""Y308: a `then: next` that leads nowhere, or with arguments that its target does not take."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from ..arguments import Args, judge
from ..definitions import Method
from ..diagnostics import Code, did_you_mean, nearest
from ..registry import ASSISTANTS, INPUT, full_name
from ..rule import Finding, Rule, View
from ..source import Span
from ..spec import Node
from ..templating import has_template
from ..thens import Said, written
from ..values import Path


def _see(node: Node, view: View) -> Iterable[Finding]:
    name = full_name(str(node.path[-1]), view.owner, view.kind == "assistant")
    if name not in view.callbacks:
        return  # its result is data, where `then` is a word like any other
    for said in written(node.value):
        keys = [key for key in ("assistant", "process") if key in said.fields]
        if said.then == "next" and len(keys) == 1:
            yield from _judge(said, keys[0], (*node.path, *said.path), view)


def _judge(said: Said, key: str, path: Path, view: View) -> Iterator[Finding]:
    name = said.fields[key]
    if not isinstance(name, str) or has_template(name):
        return
    if key == "assistant":
        if name not in view.assistants:
            yield _unknown_assistant(name, (*path, key), view)
        else:
            yield from _arguments(said, name, ASSISTANTS + name, path, view)
    elif "." in name or ":" in name or view.kind == "assistant":
        # elsewhere a dotless name is a method of the assistant whose hook it is
        yield from _unknown_process(name, (*path, key), view) or _arguments(said, name, name, path, view)


def _unknown_assistant(name: str, path: Path, view: View) -> Finding:
    near = nearest(name, view.assistants)
    help = did_you_mean(name, view.assistants)
    if (bare := name.removeprefix(ASSISTANTS)) in view.assistants:
        help = f"write `assistant: {bare}`"
    elif name in view.processes:
        help = f"`{name}` is a process: write `process: {name}`"
    return Finding(path, f"no assistant is called `{name}`", help, related=_here(near, view.assistants))


def _unknown_process(name: str, path: Path, view: View) -> list[Finding]:
    owner = name.rpartition(":" if ":" in name else ".")[0]
    full = full_name(name, view.owner, view.kind == "assistant")
    if (
        full in view.processes
        or (owner or view.owner) in view.broken
        or name.removeprefix(ASSISTANTS) in view.broken
    ):
        return []
    if not owner:
        help = f"`{name}` is an assistant: write `assistant: {name}`" if name in view.assistants else ""
        return [Finding(path, f"this file has no method `{name}`", help or did_you_mean(name, view.methods))]
    near = nearest(name, view.processes)
    help = f"did you mean `{near}`?" if near else ""
    return [Finding(path, f"no process is called `{name}`", help, related=_here(near, view.processes))]


def _here(near: str | None, known: Mapping[str, Span]) -> tuple[tuple[str, Span], ...]:
    return ((f"`{near}` is here", known[near]),) if near else ()


def _arguments(said: Said, name: str, full: str, path: Path, view: View) -> Iterator[Finding]:
    target, args = view.target(full), said.fields.get("args")
    if target is None or (args is not None and not isinstance(args, Mapping | list | tuple)):
        return  # a template gives them in a run
    given = cast("Args", args) if args else ()
    if target.parameters is INPUT:
        if given:
            help = "say it in `input`, or declare its `parameters`"
            yield Finding((*path, "args"), f"`{name}` takes no arguments", help)
        return
    for misfit in judge(given, target, name):
        at = (*path, "args", *misfit.path) if "args" in said.fields else path
        yield Finding(at, misfit.label, misfit.help, misfit.on)


RULE: Final = Rule(
    code=Code("Y308", "next-target", "error", "a hand-over that cannot be made"),
    about="""`then: next` names an `assistant` by its id, or a `process` by its name; its `args` go to the `parameters`
of what it names.""",
    wants=(Method,),
    see=_see,
    wrong={
        "assistants/a.yaml": """\
model: local
hooks: {done: pass_on}
methods:
  pass_on: {value: {then: next, assistant: oters}}
""",
        "assistants/others.yaml": "model: local\n",
    },
    right={
        "assistants/a.yaml": """\
model: local
hooks: {done: pass_on}
methods:
  pass_on: {value: {then: next, assistant: others}}
""",
        "assistants/others.yaml": "model: local\n",
    },
)
