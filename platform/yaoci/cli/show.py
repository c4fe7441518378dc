"""`yaoci show`: what a project defines, resolved, each part with its place."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from json import dumps
from typing import Any, Final

import click

from .. import pysource
from ..compiler import load
from ..definitions import Assistant, Processor, Settings, text_of
from ..derive import dump
from ..diagnostics import did_you_mean, listed
from ..errors import UsageError
from ..registry import Link, Process, Registry, Tool, Unit
from ..values import Json, Path
from ._outline import outline
from ._terminal import Command, Global, width_of

VERSION: Final = 1
"""The version of the JSON form."""

_HELP: Final = """Show what a project defines: all of it, or one assistant, process or processor, resolved.

Nothing is imported, called or fetched. No secret is shown: of a key, only its variable."""

_EXAMPLES: Final = """
yaoci show                        the whole project
yaoci show assistant/helpdesk     one assistant: its definition, functions and hooks
yaoci show process/orders.find    one process
yaoci show helpdesk -o json       a name alone does where it is clear
"""


@click.command(cls=Command, help=_HELP, epilog=_EXAMPLES)
@click.argument("name", required=False, default="", metavar="[[<kind>/]<name>]")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("text", "json")),
    metavar="<form>",
    default="text",
    help="text or json.",
)
@click.pass_obj
def command(given: Global, name: str, form: str) -> None:
    """Print what is asked for to stdout."""
    registry = load(given.start)
    kind, name = _named(registry, name) if name else ("project", "")
    facts = _FACTS[kind](registry, name)
    if form == "json":
        print(dumps({"version": VERSION, "kind": kind, **facts}, ensure_ascii=False, indent=2))
    else:
        print(outline(kind, facts, color=given.paints(sys.stdout), width=width_of(sys.stdout)))


def _named(registry: Registry, name: str) -> tuple[str, str]:
    """Return the kind and the name that `kind/name`, or a name alone, means. Raises UsageError."""
    known: Mapping[str, Mapping[str, Any]] = {
        "assistant": registry.assistants, "process": registry.processes, "processor": registry.processors,
    }  # fmt: skip
    kind, slash, rest = name.partition("/")
    if slash and kind not in known:
        raise UsageError(f"nothing is of the kind `{kind}`: {did_you_mean(kind, known)}")
    kinds = [kind] if slash else list(known)
    wanted = rest if slash else name
    found = [each for each in kinds if wanted in known[each]]
    if len(found) > 1:
        choices = listed([f"{each}/{name}" for each in found], "or")
        raise UsageError(f"`{name}` means {len(found)} things: write {choices}")
    if not found:
        what = f"no {kind}" if slash else "nothing"
        hint = _near(wanted, {each for kind in kinds for each in known[kind]})
        raise UsageError(f"{what} is called `{wanted}`: {hint}")
    return found[0], wanted


def _near(wanted: str, known: set[str]) -> str:
    """Return what to do about a name that is not there: what is like it, or at least where to look."""
    if hint := did_you_mean(wanted, known):
        return hint
    from difflib import get_close_matches

    near = get_close_matches(wanted, sorted(known), n=3, cutoff=0.3)
    if not near:
        return "`yaoci show` lists what there is"
    return f"the nearest {'is' if len(near) == 1 else 'are'} {listed(near)}; `yaoci show` lists all"


# -- facts: what is shown, as JSON ------------------------------------------------------------------------


def _project(registry: Registry, _: str) -> dict[str, Json]:
    return {
        "root": str(registry.root),
        "assistants": [_summary(registry, unit) for unit in registry.assistants.values()],
        "processors": [_processor(registry, id) for id in registry.processors],
        **_settings(registry.settings),
    }


def _summary(registry: Registry, unit: Unit[Assistant]) -> dict[str, Json]:
    return {
        "id": unit.id,
        "name": text_of(unit.definition.name),
        "file": unit.file,
        "models": list(_models(registry, unit)),
        "functions": list(unit.tools),
        "hooks": {
            hook: [link.name.removeprefix(f"{unit.id}:") for link in chain]
            for hook, chain in unit.hooks.items()
            if chain
        },
    }


def _settings(unit: Unit[Settings] | None) -> dict[str, Json]:
    if unit is None:
        return {"default_model": "", "models": [], "providers": []}
    settings = unit.definition
    return {
        "default_model": settings.default_model,
        "models": [
            {"name": name, "use": model.use, "place": unit.place(("models", name))}
            for name, model in settings.models.items()
        ],
        "providers": [
            {
                "name": name,
                "api": provider.api,
                "base_url": _without_secret(provider.base_url),
                "key": provider.key,
                "headers": list(provider.headers),
                "place": unit.place(("providers", name)),
            }
            for name, provider in settings.providers.items()
        ],
    }


def _processor(registry: Registry, id: str) -> dict[str, Json]:
    unit: Unit[Processor] = registry.processors[id]
    return {
        "id": id,
        "name": text_of(unit.definition.name),
        "description": text_of(unit.definition.description),
        "file": unit.file,
        "methods": [{"id": name, **_callable(process)} for name, process in unit.processes.items()],
    }


def _assistant(registry: Registry, id: str) -> dict[str, Json]:
    unit = registry.assistants[id]
    definition = _as_written(
        dump(replace(unit.definition, model=_models(registry, unit))), _written(unit, ())
    )
    places = dict(_places(unit, definition, ()))
    if registry.settings and not unit.definition.model:
        places["/model"] = registry.settings.place(("default_model",))
    return {
        "id": id,
        "name": text_of(unit.definition.name),
        "file": unit.file,
        "definition": definition,
        "places": places,
        "prompts": list(unit.prompts),
        "functions": [{"id": name, **_offer(tool)} for name, tool in unit.tools.items()],
        "hooks": {hook: [_link(link) for link in chain] for hook, chain in unit.hooks.items() if chain},
        "stream": {"mode": "held" if unit.held else "live", "because": unit.held},
    }


def _process(registry: Registry, name: str) -> dict[str, Json]:
    process = registry.processes[name]
    method = process.method
    unit = registry.assistants[process.owner] if process.assistant else registry.processors[process.owner]
    handler = _as_written(dump(method.handler), _written(unit, process.path))
    return {
        "name": name,
        "title": text_of(method.name),
        **_callable(process),
        "returns": method.returns,
        "handler": handler,
        "places": dict(_places(unit, handler, process.path)) if unit.document else {},
        "python": _python_place(process),
        "examples": [dump(example) for example in method.examples],
        "offered": [
            {"assistant": each.id, "function": tool.function.id, "place": tool.place}
            for each in registry.assistants.values() for tool in each.tools.values() if tool.process is process
        ],
    }  # fmt: skip


def _callable(process: Process) -> dict[str, Json]:
    return {
        "description": process.description,
        "effect": process.effect,
        "parameters": process.method.parameters,
        "place": process.place,
    }


def _offer(tool: Tool) -> dict[str, Json]:
    function = tool.function
    return {
        "description": function.description, "parameters": function.parameters, "effect": function.effect,
        "process": tool.process.name, "place": tool.place,
    }  # fmt: skip


def _link(link: Link) -> dict[str, Json]:
    return {
        "name": link.name, "args": dump(link.args), "when": link.when, "on_error": link.on_error,
        "timeout": link.timeout, "place": link.place, "target": link.process.place if link.process else "",
    }  # fmt: skip


def _models(registry: Registry, unit: Unit[Assistant]) -> tuple[str, ...]:
    default = registry.settings.definition.default_model if registry.settings else ""
    return unit.definition.model or ((default,) if default else ())


def _written(unit: Unit[Any], path: Path) -> Json:
    """Return what stands at `path` of a file; of a Python file, nothing."""
    value: Json = unit.document.value if unit.document is not None else None
    for step in path:
        value = _item(value, step)
    return value


def _as_written(value: Json, written: Json) -> Json:
    """Return a definition with its durations in the words of its file: `5s`, not 5.0."""
    if value.__class__ is float and isinstance(written, str):
        return written
    if value.__class__ is dict:
        return {key: _as_written(item, _item(written, key)) for key, item in value.items()}
    if value.__class__ is list:
        return [_as_written(item, _item(written, index)) for index, item in enumerate(value)]
    return value


def _item(value: Json, step: str | int) -> Json:
    """Return a part of what is written; one that stands where there may be several is the first of them."""
    if value.__class__ is dict:
        return value if step == 0 else value.get(step)
    if value.__class__ is list:
        return value[step] if isinstance(step, int) and step < len(value) else None
    return None


def _places(unit: Unit[Any], value: Json, path: Path, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yield the JSON pointer (RFC 6901) and the `file:line` of each part of a value that stands at `path`."""
    kind = value.__class__
    for step, item in value.items() if kind is dict else enumerate(value) if kind is list else ():
        inner = f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}"
        yield inner, unit.place((*path, step))
        yield from _places(unit, item, (*path, step), inner)


def _python_place(process: Process) -> str:
    """Return `file:line` of the function that carries a Python method; the file is read, never imported."""
    name = getattr(process.method.handler, "python", None)
    if process.python is None or not isinstance(name, str):
        return ""
    function = pysource.read(process.python.read_bytes()).functions.get(name)
    file = process.file.removesuffix(".yaml").removesuffix(".py") + ".py"
    return f"{file}:{function.line}" if function else ""


def _without_secret(url: str) -> str:
    return re.sub(r"(?<=://)[^/@\s{]*@", "***@", url)


_FACTS: Final[Mapping[str, Callable[[Registry, str], dict[str, Json]]]] = {
    "project": _project, "assistant": _assistant, "process": _process, "processor": _processor,
}  # fmt: skip
