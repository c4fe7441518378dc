"""Y603: a name in a template or an expression that is not known where it stands."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Final, TypeAlias, cast

from ..arguments import known_names
from ..definitions import Assistant, FilePrompt
from ..diagnostics import Code, did_you_mean, listed, misspelt
from ..marks import Expression, Template
from ..messages import MESSAGE_FIELDS
from ..rule import Finding, Rule, View
from ..spec import Node
from ..templating import TemplateProblem
from ..thens import point_of
from ..values import Json, Path, at
from ..written import Written, texts

_Scope: TypeAlias = Mapping[str, Collection[str] | None]
"""The names that are known at a place, each with what it holds; None where that is not known."""

_CONTEXT: Final = ("user", "session", "run", "turn", "locale", "metadata", "key")
_NOW: Final = ("date", "time", "iso", "weekday", "zone", "unix")
_ABOUT: Final = ("id", "name", "description", "avatar")

_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "create": ("input", "options", "model", "args"),
    "tool": ("id", "tool", "process", "args"),
    "result": ("id", "tool", "process", "args", "result", "ok"),
    "done": ("value", "usage", "rounds"),
    "fail": ("error", "partial"),
    "callback": ("assistant", "value", "usage"),
}
"""What `event` holds, by hook; `callback` is the chain of a call."""

_ERROR: Final = ("kind", "message", "place", "retry_after", "data")
"""What `event.error` holds, at `fail`."""

_DECLARED: Final = ("args", "steps")
"""Names whose parts are written down: a test or a default copes with a value that is missing, not with an unknown name."""

_ELSEWHERE: Final[Mapping[str, str]] = {
    "steps": "the results of steps are known in the steps after them",
    "message": "it is what a callback concerns, known in methods and at hooks",
    "event": "it is what happened, known in methods and at hooks",
    "vars": "they are an assistant's, known in its own file",
    "assistant": "it is known in an assistant's own file",
    "env": "the environment is known in `providers` of yaoci.yaml alone",
    "input": "what a caller gives stands in `args`, what a user said in `message`",
    "session": "`context.session` is the id of the conversation; what is kept for a run is `shared`",
}
"""Names that are known somewhere else, or that people expect."""


def _see(node: Node, view: View) -> Iterable[Finding]:
    scope = _scope(node.path, view)
    for text in texts(node, view):
        yield from _judge(text, scope)


def _judge(text: Written, scope: _Scope) -> Iterator[Finding]:
    try:
        uses = text.uses()
    except TemplateProblem:
        return  # told by another rule
    told: set[tuple[str, ...]] = set()
    for use in uses:
        top, name = use.path[0], use.path[1] if len(use.path) > 1 else ""
        found: tuple[str, str] | None = None
        if top not in scope:
            found, name = (f"`{top}` is not known here", _help_top(top, scope)), ""
        elif name and not (use.guarded and top not in _DECLARED):
            found = _second(top, name, scope[top])
        part = next(iter(use.path[2:]), "")
        if part and not found and (top, name) == ("event", "error") and part not in _ERROR:
            found, name = (f"`event.error` has no `{part}`", did_you_mean(part, _ERROR)), part
        if found and (top, name) not in told:
            told.add((top, name))
            yield Finding(
                text.path, text.said(found[0], use.line), found[1], line=0 if text.file else use.line
            )


def _help_top(top: str, scope: _Scope) -> str:
    for holder in ("args", "vars", "steps", "shared"):
        if top in (scope.get(holder) or ()):
            return f"did you mean `{holder}.{top}`?"
    return _ELSEWHERE.get(top) or did_you_mean(top, scope, few=0) or f"known here: {listed(sorted(scope))}"


def _second(top: str, name: str, known: Collection[str] | None) -> tuple[str, str] | None:
    if known is None or name in known:
        return None
    if top == "shared":
        help = (
            did_you_mean(name, known, few=0)
            or f"set it in a step before; if it may be missing: `shared.{name} | default('')`"
        )
        return f"no step sets `shared.{name}`", help
    if top == "steps":
        return f"no step before this one has the id `{name}`", did_you_mean(name, known)
    if not known:
        return f"`{top}` has no `{name}`", f"there are no `{top}` here"
    return f"`{top}` has no `{name}`", did_you_mean(name, known, few=12)


# -- what is known where -----------------------------------------------------------------------------------


def _scope(path: Path, view: View) -> _Scope:
    if view.kind == "settings":
        return {"env": None}
    scope: dict[str, Collection[str] | None] = {"context": _CONTEXT, "now": _NOW, "shared": view.shared}
    if view.kind == "assistant":
        slip = misspelt(view.value, "vars", [one.name for one in fields(Assistant)])  # told where it stands
        scope |= {"vars": None if slip else _keys(view.value, ("vars",)), "assistant": _ABOUT}
    scope["args"] = _args(path, view)
    point = point_of(path)
    if point or path[0] == "methods":
        scope |= {"message": MESSAGE_FIELDS, "event": _EVENTS.get(point)}
    if "steps" in path:
        scope["steps"] = _steps(path[: path.index("steps") + 2], view)
    return scope


def _args(path: Path, view: View) -> Collection[str] | None:
    owner = path[:2] if path[0] == "methods" else ()
    return known_names(at(view.value, (*owner, "parameters")))


def _keys(value: Json, path: Path) -> Collection[str] | None:
    found = at(value, path)
    if found is None:
        return ()
    return tuple(cast("dict[str, Json]", found)) if isinstance(found, dict) else None


def _steps(path: Path, view: View) -> Collection[str]:
    """Return the ids of the steps before the one at `path`."""
    *around, index = path
    before = range(index) if isinstance(index, int) else ()
    ids = [at(view.value, (*around, number, "id")) for number in before]
    return [id for id in ids if isinstance(id, str)]


RULE: Final = Rule(
    code=Code("Y603", "unknown-name", "error", "unknown name in a template"),
    about="""Templates see `args` (methods, prompts and hooks), `message` and `event` (methods and hooks), `steps` (in steps,
those before), `vars` and `assistant` (in an assistant's file), `context`, `shared` and `now` (everywhere), and
`env` (providers in yaoci.yaml). What may be missing wants `default(…)` or a test `is defined`.""",
    wants=(Template, Expression, FilePrompt),
    see=_see,
    wrong={
        "processes/p.yaml": """\
methods:
  hi:
    parameters: {type: object, properties: {city: {type: string}}}
    value: "Hello {{ args.citty }}"
""",
    },
    right={
        "processes/p.yaml": """\
methods:
  hi:
    parameters: {type: object, properties: {city: {type: string}}}
    value: "Hello {{ args.city }}"
""",
    },
)
