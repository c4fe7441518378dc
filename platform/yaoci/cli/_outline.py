"""What `yaoci show` tells as text: rows with pieces in styles, and each row's place dim at its right."""

import re
from collections.abc import Iterable, Iterator, Mapping
from json import dumps
from typing import Any, Final, NamedTuple, TypeAlias

from ..keywords import properties
from ..render import columns, visible, wrapped
from ..values import Json

_BOLD, _DIM, _CYAN, _BLUE, _GREEN, _YELLOW = "1", "2", "36", "1;34", "32", "33"
_EFFECTS: Final[Mapping[str, str]] = {"read": _GREEN, "idempotent": _CYAN, "write": _YELLOW}

_PLACE_AT: Final = 64
"""Places stand in this column at the latest; behind a longer row, right after it."""

_PLACE_ROOM: Final = 8
"""Columns that are kept free for a place such as `:120`."""

_WORD: Final = 24
"""A list of plain values of at most so many columns each is written in flow style, over several lines if need be."""

_SHORT: Final = 56
"""A mapping or a list of plain values with at most so many columns stands on one line."""

_Facts: TypeAlias = Mapping[str, Any]
_Part: TypeAlias = tuple[str, str]
"""A text and its style."""


class _Row(NamedTuple):
    parts: tuple[_Part, ...] = ()
    place: str = ""


def outline(kind: str, facts: _Facts, *, color: bool, width: int) -> str:
    """Return the facts of a `project`, `assistant`, `process` or `processor` as text of about `width` columns."""
    rows = {"project": _project, "assistant": _assistant, "process": _process, "processor": _processor}[kind]
    return "\n".join(_laid(list(rows(facts, width)), color, width))


def _laid(rows: list[_Row], color: bool, width: int) -> Iterator[str]:
    """Yield rows as lines, their places in one column."""

    def paint(text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if color and style and text else text

    seen = [[(visible(text), style) for text, style in row.parts] for row in rows]
    widths = [sum(columns(text) for text, _ in parts) for parts in seen]
    room = min(_PLACE_AT, width - 2 - max((len(row.place) for row in rows), default=0))
    column = max((w for w, row in zip(widths, rows, strict=True) if row.place and w <= room), default=0)
    for parts, row, used in zip(seen, rows, widths, strict=True):
        line = "".join(paint(text, style) for text, style in parts)
        yield (
            f"{line}{' ' * max(column - used + 2, 2)}{paint(row.place, _DIM)}" if row.place else line.rstrip()
        )


# -- pages --------------------------------------------------------------------------------------------------


def _project(facts: _Facts, width: int) -> Iterator[_Row]:
    yield _Row((("project ", _DIM), (facts["root"], _BOLD)))
    if facts["assistants"]:
        yield from _section("assistants")
    for unit in facts["assistants"]:
        yield _Row((("  ", ""), *_named(unit)), unit["file"])
        yield from _list("models", [" → ".join(unit["models"])], width)
        yield from _list("tools", [", ".join(unit["functions"])], width)
        yield from _list(
            "hooks", [f"{hook}: {' → '.join(chain)}" for hook, chain in unit["hooks"].items()], width
        )
    if facts["processors"]:
        yield from _section("processors")
    for unit in facts["processors"]:
        yield _Row((("  ", ""), *_named(unit)), unit["file"])
        yield from _methods(unit["methods"], "    ", width)
    if not facts["assistants"] and not facts["processors"]:
        yield from (_Row(), _Row((("  no assistants and no processors", ""),)))
    yield from _models(facts)
    if facts["providers"]:
        yield from _section("providers")
    pad = max((columns(each["name"]) for each in facts["providers"]), default=0)
    for each in facts["providers"]:
        key = f"  key from {each['key']}" if each["key"] else ""
        told = f"{each['api']}  {each['base_url']}{key}"
        yield _Row((("  ", ""), *_padded(each["name"], pad), (told, "")), each["place"])


def _models(facts: _Facts) -> Iterator[_Row]:
    default = facts["default_model"]
    if facts["models"] or default:
        yield from _section("models")
    pad = max((columns(each["name"]) for each in facts["models"]), default=0)
    for each in facts["models"]:
        mark = "  default" if each["name"] == default else ""
        yield _Row(
            (("  ", ""), *_padded(each["name"], pad), (each["use"], ""), (mark, _GREEN)), each["place"]
        )
    if default not in {"", *(each["name"] for each in facts["models"])}:
        yield _Row((("  ", ""), (default, _BOLD), ("  default", _GREEN)))


def _processor(facts: _Facts, width: int) -> Iterator[_Row]:
    yield _Row((("processor ", _DIM), *_named(facts)), facts["file"])
    yield from _prose(facts["description"], "  ", width)
    yield from _section("methods")
    yield from _methods(facts["methods"], "  ", width)


def _assistant(facts: _Facts, width: int) -> Iterator[_Row]:
    yield _Row((("assistant ", _DIM), *_named(facts)), facts["file"])
    yield from _section("definition")
    yield from _yaml(facts["definition"], facts["places"], facts["file"], width)
    if facts["functions"]:
        yield from _section("functions")
    for each in facts["functions"]:
        call, target = (("  ", ""), *_call(each)), (_local(each["process"], facts["id"]), _CYAN)
        place = _near(each["place"], facts["file"])
        if sum(columns(text) for text, _ in (*call, target)) + 2 <= width - _PLACE_ROOM:
            yield _Row((*call, ("  ", ""), target), place)
        else:
            yield from (_Row(call, place), _Row((("      ", ""), target)))
        yield from _prose(_sentence(each["description"]), "      ", width)
    if facts["hooks"]:
        yield from _section("hooks")
        yield from _chains(facts)
    yield from _section("stream")
    because = facts["stream"]["because"]
    yield from _prose(
        f"held: {because}" if because else "live: text reaches the user as it comes", "  ", width
    )


def _process(facts: _Facts, width: int) -> Iterator[_Row]:
    title = f"  {facts['title']}" if facts["title"] else ""
    yield _Row((("process ", _DIM), (facts["name"], _BOLD), (title, "")), facts["place"])
    yield from _prose(facts["description"], "  ", width)
    yield from _section("effect")
    yield _Row((("  ", ""), (facts["effect"], _EFFECTS[facts["effect"]])))
    yield from _section("parameters")
    yield from _parameters(facts["parameters"], width)
    yield from _section("returns")
    if isinstance(facts["returns"], dict) and facts["returns"]:
        yield from _yaml(facts["returns"], {}, "", width)
    else:
        yield _Row((("  anything", ""),))
    yield from _section("handler")
    python = facts["python"]
    file = facts["place"].rpartition(":")[0]
    for row in _yaml(facts["handler"], facts["places"], file, width):
        yield row._replace(place=python) if python else row
    if facts["examples"]:
        yield from _section("examples")
    for each in facts["examples"]:
        arguments = _flow(each["args"]) if "args" in each else "no call"
        yield _Row(((f"  {each['ask']}", ""), (" → ", _DIM), (arguments, _CYAN)))
    if facts["offered"]:
        yield from _section("offered by")
    for each in facts["offered"]:
        yield _Row((("  ", ""), (each["assistant"], _BOLD), (f" as {each['function']}", "")), each["place"])


# -- pieces of pages ----------------------------------------------------------------------------------------


def _section(title: str) -> tuple[_Row, _Row]:
    return _Row(), _Row(((title, _BLUE),))


def _named(unit: _Facts) -> tuple[_Part, ...]:
    return ((unit["id"], _BOLD), (f"  {unit['name']}" if unit["name"] else "", ""))


def _padded(name: str, pad: int) -> tuple[_Part, _Part]:
    return (name, _BOLD), (" " * (pad - columns(name) + 2), "")


def _list(title: str, lines: list[str], width: int) -> Iterator[_Row]:
    lead = f"    {title:<6}  "
    text = "\n".join(lines)
    for line in wrapped(text, width - len(lead), cut=False) if text else []:
        yield _Row(((lead, _DIM), (line, "")))
        lead = " " * len(lead)


def _prose(text: str, pad: str, width: int) -> Iterator[_Row]:
    for line in wrapped(text.strip(), width - len(pad), cut=False) if text else []:
        yield _Row(((pad + line, ""),))


def _methods(methods: Iterable[_Facts], pad: str, width: int) -> Iterator[_Row]:
    for each in methods:
        yield _Row(((pad, ""), *_call(each)), each["place"])
        yield from _prose(_sentence(each["description"]), pad + "    ", width)


def _call(each: _Facts) -> tuple[_Part, ...]:
    """Return `id(needed, free?)  effect`."""
    schema: Json = each["parameters"] or {}
    names = ", ".join(
        name if name in schema.get("required", ()) else f"{name}?" for name in properties(schema)
    )
    return (each["id"], _BOLD), (f"({names})  ", ""), (each["effect"], _EFFECTS[each["effect"]])


def _chains(facts: _Facts) -> Iterator[_Row]:
    pad = max(map(len, facts["hooks"]))
    for hook, chain in facts["hooks"].items():
        for number, link in enumerate(chain, 1):
            notes = [_flow(link["args"])] if link["args"] else []
            notes += [f"when {_flow(link['when'])}"] if link["when"] is not None else []
            notes += ["a failure is skipped"] if link["on_error"] == "skip" else []
            lead = f"  {hook if number == 1 else '':<{pad}}  {number}. "
            note = "  " + ", ".join(notes) if notes else ""
            place = _near(link["target"] or link["place"], facts["file"])
            yield _Row(((lead, ""), (_local(link["name"], facts["id"]), _BOLD), (note, "")), place)


def _parameters(schema: Json, width: int) -> Iterator[_Row]:
    known = properties(schema or {})
    if not known:
        yield _Row((("  none", ""),))
        return
    pad = max(map(columns, known))
    for name, each in known.items():
        part: Json = each if each.__class__ is dict else {}
        default = f" = {_flow(part['default'])}" if "default" in part else ""
        need = "" if name in schema.get("required", ()) or default else "  optional"
        *kinds, last = wrapped(_kind(part), width - pad - 4, cut=False)
        lead: tuple[_Part, ...] = (("  ", ""), *_padded(name, pad))
        for line in kinds:
            yield _Row((*lead, (line, _CYAN)))
            lead = ((" " * (pad + 4), ""),)
        yield _Row((*lead, (last, _CYAN), (default, ""), (need, _DIM)))
        yield from _prose(str(part.get("description", "")), " " * (pad + 4), width)


def _kind(schema: Json) -> str:
    """Return in short what a JSON Schema takes: `string`, `list of integer`, `open | sent`."""
    if schema.__class__ is not dict:
        return "anything"
    if "enum" in schema:
        return " | ".join(map(_flow, schema["enum"]))
    if "const" in schema:
        return _flow(schema["const"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(map(_kind, schema[key]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    kind = schema.get("type", "anything")
    if kind == "array" and "items" in schema:
        return f"list of {_kind(schema['items'])}"
    return (" | ".join(kind) if kind.__class__ is list else str(kind)).replace("array", "list")


def _sentence(text: str) -> str:
    """Return the first sentence of a text."""
    first = re.split(r"(?<=[.!?])\s|(?<=[。！？])|\n\s*\n", text.strip(), maxsplit=1)[0]
    return " ".join(first.split())


def _local(name: str, id: str) -> str:
    return name.removeprefix(f"{id}:")


def _near(place: str, file: str) -> str:
    """Return a place without its file, where that is said already."""
    return place.removeprefix(file) if file else place


# -- values as YAML -----------------------------------------------------------------------------------------

_PLAIN: Final = re.compile(r"(?:[^\W\d_][^\n\t:#,\[\]{}\"]*|[0-9.]+(?:ms|[smhd]))(?<! )").fullmatch
_PLAIN_ALONE: Final = re.compile(r"[^\W\d_](?:[^\n\t:#\"]|:(?=\S)|(?<=\S)#)*(?<! )").fullmatch
_WORDS: Final = frozenset({"null", "true", "false"})


def _yaml(value: Json, places: Mapping[str, str], file: str, width: int) -> Iterator[_Row]:
    """Yield a mapping as YAML, each value with its place."""
    return _block(value, "  ", "  ", "", places, file, width)


def _block(
    value: Json, lead: str, pad: str, pointer: str, places: Mapping[str, str], file: str, width: int
) -> Iterator[_Row]:
    """Yield the entries of a mapping or a list; the first line begins with `lead`, the others with `pad`."""
    named = value.__class__ is dict
    for step, item in value.items() if named else enumerate(value):
        here = f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}"
        place = _near(places.get(here, ""), file)
        long = item.__class__ in {dict, list} and not _short(item)
        if named and long:
            yield _Row(((lead, _DIM), (f"{_flow(step)}:", _CYAN)), place)
            yield from _block(item, f"{pad}  ", f"{pad}  ", here, places, file, width)
        elif long:
            yield from _block(item, f"{lead}- ", f"{pad}  ", here, places, file, width)
        else:
            parts = ((lead, _DIM), (f"{_flow(step)}: ", _CYAN)) if named else ((f"{lead}- ", _DIM),)
            yield from _entry(parts, item, pad, place, width)
        lead = pad


def _entry(parts: tuple[_Part, ...], item: Json, pad: str, place: str, width: int) -> Iterator[_Row]:
    if not isinstance(item, str) or "\n" not in item:
        alone = isinstance(item, str) and _PLAIN_ALONE(item) and item not in _WORDS
        # YAML reads a line break within a value as the space that it stands for
        used = sum(columns(text) for text, _ in parts)
        room = width - _PLACE_ROOM - used
        first, *rest = _broken(item if alone else _flow(item), room, width - _PLACE_ROOM - len(pad) - 2)
        yield _Row((*parts, (first, "")), place)
        for line in rest:
            yield _Row(((f"{pad}  {line}", ""),))
        return
    yield _Row((*parts, ("|" if item.endswith("\n") else "|-", _DIM)), place)
    for line in item.removesuffix("\n").split("\n"):
        yield _Row(((f"{pad}  {line}", ""),))


def _broken(text: str, first: int, rest: int) -> list[str]:
    """Return a text in lines that are broken at spaces, the first of at most `first` columns."""
    if columns(text) <= first:
        return [text]
    head = wrapped(text, max(first, 8), cut=False)[0]
    below = text[len(head) :].lstrip()
    return [head, *wrapped(below, max(rest, 8), cut=False)] if below else [head]


def _short(value: Json) -> bool:
    """Return whether a mapping or a list stands well on one line."""
    items: list[Json] = list(value.values() if value.__class__ is dict else value)
    flat = all(item.__class__ not in {dict, list} and "\n" not in str(item) for item in items)
    words = value.__class__ is list and all(columns(_flow(item)) <= _WORD for item in items)
    return not items or (flat and (words or columns(_flow(value)) <= _SHORT))


def _flow(value: Json) -> str:
    """Return a value as YAML on one line."""
    if value.__class__ is dict:
        return "{" + ", ".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if value.__class__ is list:
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _PLAIN(value) and value not in _WORDS:
        return value
    return dumps(value, ensure_ascii=False)
