"""What a command line asks of `run` and `call`: names, arguments, a callback, and what is said."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from ..diagnostics import did_you_mean
from ..errors import UsageError
from ..keywords import properties
from ..registry import Process, Registry
from ..values import Json
from ._terminal import Global, is_terminal

MAX_INPUT: Final = 1024 * 1024
"""The most that is read from stdin, in characters."""


def arguments(process: Process, pairs: Sequence[str], whole: str | None) -> Json:
    """Return the arguments that `--arg name=value` and `--args JSON` give. Raises UsageError.

    A value is taken as text where the parameter may be text, else read as JSON.
    """
    found: dict[str, Json] = {}
    if whole is not None:
        try:
            given: Json = json.loads(whole)
        except ValueError as error:
            raise UsageError(f"`--args` is not JSON: {error}") from None
        if not isinstance(given, dict):
            raise UsageError('`--args` wants a JSON object, such as \'{"id": "A42"}\'')
        found = cast("dict[str, Json]", given)
    known = properties(process.method.parameters or {})
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"`--arg {pair}`: write name=value")
        found[name] = _value(name, text, known.get(name))
    return found


def _value(name: str, text: str, schema: Json) -> Json:
    part = _mapping(schema)
    kind = part.get("type")
    if kind is not None and "string" in (kind if isinstance(kind, list) else [kind]):
        return text
    try:
        return json.loads(text)
    except ValueError:
        pass
    if kind == "array":
        raise UsageError(
            f"`--arg {name}={text}`: `{name}` is a list, written as JSON: {_as_list(name, text, part)}"
        )
    if kind == "object":
        example = f'--arg \'{name}={{"key": "value"}}\''
        raise UsageError(
            f"`--arg {name}={text}`: `{name}` is an object, written as JSON, such as `{example}`"
        )
    return text


def _mapping(schema: Json) -> Mapping[str, Json]:
    """Return a schema that says something; of one that is true or false nothing."""
    return cast("Mapping[str, Json]", schema) if isinstance(schema, Mapping) else {}


def _as_list(name: str, text: str, schema: Mapping[str, Json]) -> str:
    """Return the `--arg` that was meant by items with commas between them."""
    items = [item.strip() for item in text.strip("[]").split(",")]
    plain = _mapping(schema.get("items")).get("type") in {"integer", "number", "boolean"}
    said = ", ".join(item if plain else json.dumps(item.strip("'\""), ensure_ascii=False) for item in items)
    return f"`--arg '{name}=[{said}]'`"


def bare(name: str) -> str:
    """Return a name without the kind before it: `assistant/helpdesk` is written as `show` takes it."""
    kind, slash, rest = name.partition("/")
    return rest if slash and kind in {"assistant", "process"} else name


def not_an_option(extra: Sequence[str], known: Iterable[str]) -> UsageError:
    """Return the error for arguments that stand alone: how they are written by name."""
    names = list(known)
    said = " ".join(f"--arg {_quoted(each if '=' in each else f'{_free(names)}={each}')}" for each in extra)
    return UsageError(f"arguments go by name: write `{said}`")


def _free(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "<name>"


def _quoted(text: str) -> str:
    return text if not set(text) & set(' \t\n"$`\\') else f'"{text}"'


def callback_of(registry: Registry, home: str, name: str | None) -> str | None:
    """Return the name given as `--callback`. Raises UsageError that names the nearest where it leads nowhere."""
    if name is None:
        return None
    full = name if "." in name or ":" in name else home + name
    if full in registry.processes:
        return name
    own = {each.removeprefix(home) for each in registry.processes if each.startswith(home)}
    hint = did_you_mean(name, {*own, *registry.processes}, few=12)
    raise UsageError(
        f"`--callback {name}`: no method or process is called so" + (f": {hint}" if hint else "")
    )


def given_input(text: str | None, given: Global, *, id: str, enough: bool) -> str:
    """Return what is said: the argument, or what stands on stdin.

    Where arguments are `enough` it may be nothing. Raises UsageError for nothing, and for too much.
    """
    said = _read_input(given, may_ask=not enough) if text is None or text == "-" else text
    if not said.strip() and not enough:
        raise UsageError(f'say something: yaoci run {id} "…"')
    return said


def _read_input(given: Global, *, may_ask: bool) -> str:
    if is_terminal(sys.stdin):
        if not (given.interactive and may_ask):
            return ""
        given.remark("type your message, and end it with Ctrl-D")
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    read = sys.stdin.read(MAX_INPUT + 1)
    if len(read) > MAX_INPUT:
        raise UsageError(f"stdin has more than {MAX_INPUT} characters")
    return read.strip()
