"""What else a definition's class is good for: a JSON Schema for editors, and plain values again."""

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from .marks import (
    Between,
    Doc,
    Expression,
    Flat,
    Form,
    Many,
    Nullable,
    Seconds,
    Template,
    Words,
    hints,
    mark_of,
    marks_of,
)
from .spec import DURATION, FREE, Kinds, holds_templates
from .values import Json


def json_schema(kind: type, kinds: Kinds) -> Json:
    """Return a JSON Schema (2020-12) for what `decode` accepts as a `kind`, with descriptions."""
    found: dict[str, Json] = {}
    root = _schema_of(kind, kinds, found)
    for choice in found[kind.__name__].get("anyOf", [found[kind.__name__]]):
        choice["patternProperties"] = {f"^{FREE}": {}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **root, "$defs": found}


def _schema_of(annotation: Any, kinds: Kinds, found: dict[str, Json]) -> dict[str, Json]:
    marks = marks_of(annotation)
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    out = _bare_schema(annotation, marks, kinds, found)
    if doc := mark_of(marks, Doc):
        out = {**out, "description": doc.text}
    return out


def _bare_schema(
    annotation: Any, marks: tuple[Any, ...], kinds: Kinds, found: dict[str, Json]
) -> dict[str, Json]:
    if get_origin(annotation) is Annotated:
        return _bare_schema(get_args(annotation)[0], (*marks, *marks_of(annotation)), kinds, found)
    if mark_of(marks, Nullable) is not None:
        rest = tuple(mark for mark in marks if not isinstance(mark, Nullable))
        return {"anyOf": [_bare_schema(annotation, rest, kinds, found), {"type": "null"}]}
    origin, args = get_origin(annotation), get_args(annotation)
    if mark_of(marks, Seconds) is not None:
        return {"type": "string", "pattern": f"^{DURATION.pattern}$"}
    if annotation is Any or mark_of(marks, Expression) is not None:
        return {}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple:
        item = _schema_of(args[0], kinds, found)
        whole: dict[str, Json] = {"type": "array", "items": item}
        return (
            {"anyOf": [whole, {"not": {"type": "array"}, **item}]}
            if mark_of(marks, Many) is not None
            else whole
        )
    if origin in (Mapping, dict):
        return {
            "type": "object", "propertyNames": _schema_of(args[0], kinds, found),
            "additionalProperties": _bare_schema(args[1], marks, kinds, found)
            if holds_templates(args[1], marks)
            else _schema_of(args[1], kinds, found),
        }  # fmt: skip
    if origin in (Union, types.UnionType):
        members = [arg for arg in args if arg is not type(None)]
        parts = [_bare_schema(member, marks, kinds, found) for member in members]
        return parts[0] if len(parts) == 1 else {"anyOf": parts}
    if is_dataclass(annotation):
        return _record_schema(cast("type", annotation), kinds, found)
    if annotation is str:
        pattern = mark_of(marks, Words)
        out: dict[str, Json] = {"type": "string"}
        if pattern:
            out["pattern"] = f"^(?:{pattern.pattern})$"
        return out if mark_of(marks, Template) else {**out, "not": {"pattern": r"\{\{"}}
    if annotation is bool:
        return {"type": "boolean"}
    number: dict[str, Json] = {"type": "integer" if annotation is int else "number"}
    if bounds := mark_of(marks, Between):
        number |= {"minimum": bounds.low, "maximum": bounds.high}
    return number


def _record_schema(kind: type, kinds: Kinds, found: dict[str, Json]) -> dict[str, Json]:
    name, form = kind.__name__, cast("Form", kind.form)  # type: ignore[attr-defined]
    if name not in found:
        found[name] = {}
        found[name] = _object_schema(kind, form, kinds, found)
    return {"$ref": f"#/$defs/{name}"}


def _own(kind: type, kinds: Kinds, found: dict[str, Json]) -> tuple[dict[str, Json], list[str]]:
    properties: dict[str, Json] = {}
    required: list[str] = []
    for f in fields(kind):
        annotation = hints(kind)[f.name]
        if mark_of(marks_of(annotation), Flat):
            continue
        key = f.name.rstrip("_")
        properties[key] = _schema_of(annotation, kinds, found)
        if f.default is MISSING and f.default_factory is MISSING:
            required.append(key)
    return properties, required


def _object_schema(kind: type, form: Form, kinds: Kinds, found: dict[str, Json]) -> dict[str, Json]:
    properties, required = _own(kind, kinds, found)
    flat = next((f for f in fields(kind) if mark_of(marks_of(hints(kind)[f.name]), Flat)), None)
    choices: list[Json] = []
    if flat is None:
        choices.append(_closed(form, properties, required))
    else:
        annotation = hints(kind)[flat.name]
        mark = cast("Flat", mark_of(marks_of(annotation), Flat))
        union = get_args(annotation)[0]
        members = kinds[mark.kinds].values() if mark.kinds else get_args(union)
        for member in members:
            more, needed = _own(member, kinds, found)
            choices.append(_closed(cast("Any", member).form, {**properties, **more}, [*required, *needed]))
    if form.short:
        choices.append(properties[form.short])
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _closed(form: Form, properties: dict[str, Json], required: list[str]) -> dict[str, Json]:
    return {
        "title": form.what, "type": "object", "properties": properties, "required": required,
        "additionalProperties": False,
    }  # fmt: skip


def dump(definition: Any) -> Json:
    """Return a definition as plain values again, without what is at its default."""
    if is_dataclass(definition) and not isinstance(definition, type):
        out: dict[str, Json] = {}
        for f in fields(definition):
            item = getattr(definition, f.name)
            default = f.default_factory() if f.default_factory is not MISSING else f.default
            if item == default:
                continue
            if mark_of(marks_of(hints(type(definition))[f.name]), Flat):
                out.update(dump(item))
            else:
                out[f.name.rstrip("_")] = dump(item)
        return out
    if isinstance(definition, Mapping):
        return {key: dump(item) for key, item in cast("Mapping[str, Any]", definition).items()}
    if isinstance(definition, tuple | list):
        return [dump(item) for item in cast("Sequence[Any]", definition)]
    return definition
