"""What does not fit, in words that a person or a model can act on."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .diagnostics import nearest
from .formats import FORMATS
from .keywords import NOUNS, is_list, is_number, is_text, kind_of, object_of
from .values import Json, Path, compact


class Misfit(NamedTuple):
    """A thing wrong with a value, at `path` within it."""

    path: Path
    text: str


def in_path_form(path: Path) -> str:
    """Return how to call the value at `path`: `items[0].id` in backticks."""
    out = ""
    for step in path:
        if isinstance(step, str) and re.fullmatch(r"[\w-]+", step):
            out += f".{step}" if out else step
        else:
            out += f"[{short(step)}]"
    return f"`{out}`" if out else "the value"


def short(value: Json) -> str:
    """Return a value as JSON, cut where it is long."""
    try:
        text = compact(value)
    except (TypeError, ValueError, RecursionError):
        text = kind_of(value)
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 - fits beside the rest of a line


def types_in_words(kind: Json) -> str:
    """Return what a `type` asks for, in words."""
    nouns = [NOUNS.get(name, str(name)) for name in (kind if is_list(kind) else [kind])]
    return nouns[0] if len(nouns) == 1 else f"{', '.join(nouns[:-1])} or {nouns[-1]}"


def misfits_in(error: Any) -> list[Misfit]:
    """Return an error of `jsonschema` in our words."""
    path = tuple(error.absolute_path)
    if error.validator == "required":
        known = object_of(object_of(error.schema).get("properties"))
        slip = nearest(error.message, (name for name in error.instance if name not in known))
        hint = f"; is `{slip}` meant for it?" if slip else ""
        return [Misfit(path, f"{in_path_form((*path, error.message))} is required{hint}")]
    if error.validator in {"anyOf", "oneOf"} and error.context:
        return _nearest_branch(error, path)
    return [Misfit(path, f"{in_path_form(path)} {sentence(error)}")]


def sentence(error: Any) -> str:
    """Return what an error says of the value, without its name."""
    words = _WORDS.get(error.validator)
    return words(error.validator_value, error.instance) if words else str(error.message)


def _nearest_branch(error: Any, path: Path) -> list[Misfit]:
    """Return what is wrong with the alternative that was most likely meant."""
    branches: dict[int, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    best = min(branches.values(), key=_distance)
    if not _distance(best)[0]:
        return [misfit for inner in best for misfit in misfits_in(inner)]
    kinds: dict[str, None] = {}
    for inner in error.context:
        if inner.validator == "type" and not inner.relative_path:
            named = inner.validator_value
            kinds |= dict.fromkeys(named if is_list(named) else [named])
    return [Misfit(path, f"{in_path_form(path)} {_said_type(list(kinds), error.instance)}")]


def _distance(errors: list[Any]) -> tuple[bool, bool, int]:
    """Return how far an alternative is from a value: of another type, with another tag, how many errors."""
    other_type = any(error.validator == "type" and not error.relative_path for error in errors)
    tagged = (error for error in errors if error.validator in {"const", "enum"})
    return other_type, any(len(error.relative_path) <= 1 for error in tagged), len(errors)


def _said_type(kind: Json, value: Json) -> str:
    if kind in ("integer", ["integer"]) and is_number(value):
        return f"must be a whole number, got {short(value)}"
    return f"must be {types_in_words(kind)}, got {kind_of(value)}"


def _said_enum(allowed: Json, value: Json) -> str:
    shown = ", ".join(map(short, allowed[:20])) + (", …" if len(allowed) > 20 else "")  # noqa: PLR2004 - a line or two
    near = nearest(value, filter(is_text, allowed)) if is_text(value) else None
    return f"must be one of {shown}; got {short(value)}" + (f", did you mean {short(near)}?" if near else "")


def _said_size(bound: str, one: str, many: str) -> Callable[[Json, Json], str]:
    return lambda size, value: f"must have at {bound} {size} {one if size == 1 else many}, got {len(value)}"


def _said_together(needs: Json, value: Json) -> str:
    pairs = [
        (given, name)
        for given, names in needs.items()
        if given in value
        for name in names
        if name not in value
    ]
    return "lacks what goes with it: " + ", ".join(f"`{name}` with `{given}`" for given, name in pairs)


_WORDS: dict[str | None, Callable[[Json, Json], str]] = {
    None: lambda _, value: f"must not be there, got {kind_of(value)}",
    "type": _said_type,
    "enum": _said_enum,
    "const": lambda wanted, value: f"must be {short(wanted)}, got {short(value)}",
    "minimum": lambda bound, value: f"must be at least {bound}, got {short(value)}",
    "maximum": lambda bound, value: f"must be at most {bound}, got {short(value)}",
    "exclusiveMinimum": lambda bound, value: f"must be more than {bound}, got {short(value)}",
    "exclusiveMaximum": lambda bound, value: f"must be less than {bound}, got {short(value)}",
    "multipleOf": lambda step, value: f"must be a multiple of {step}, got {short(value)}",
    "pattern": lambda pattern, value: f"must match `{pattern}`, got {short(value)}",
    "format": lambda name, value: f"must be {FORMATS[name].noun}, got {short(value)}",
    "minLength": _said_size("least", "character", "characters"),
    "maxLength": _said_size("most", "character", "characters"),
    "minItems": _said_size("least", "item", "items"),
    "maxItems": _said_size("most", "item", "items"),
    "minProperties": _said_size("least", "property", "properties"),
    "maxProperties": _said_size("most", "property", "properties"),
    "items": lambda _, value: f"has more items than it may, got {len(value)}",
    "unevaluatedItems": lambda _, value: f"has items that nothing allows, got {len(value)}",
    "contains": lambda part, _: f"must have an item that fits {short(part)}",
    "minContains": lambda count, _: f"must have at least {count} items that fit",
    "maxContains": lambda count, _: f"must have at most {count} items that fit",
    "dependentRequired": _said_together,
    "oneOf": lambda _, value: f"must fit exactly one of the alternatives, but {short(value)} fits several",
    "not": lambda other, value: f"must not fit {short(other)}, got {short(value)}",
}
