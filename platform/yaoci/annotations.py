"""Type annotations of a Python file as JSON Schema, read from the syntax tree."""

import ast
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from .values import Json, canonical

Schema: TypeAlias = dict[str, Json]

MAX_NODES: Final = 5_000
"""How many parts of annotations are read of one file; beyond them an annotation says nothing."""

_SCALARS: Final[dict[str, str]] = {
    "str": "string", "int": "integer", "float": "number", "bool": "boolean", "None": "null", "NoneType": "null",
    "LiteralString": "string",
}  # fmt: skip
_KINDS: Final[dict[type, str]] = {str: "string", bool: "boolean", int: "integer", type(None): "null"}
_LISTS: Final = frozenset(
    {"list", "List", "Sequence", "MutableSequence", "Iterable", "Collection", "tuple", "Tuple"}
)
_MAPPINGS: Final = frozenset({"dict", "Dict", "Mapping", "MutableMapping"})
_WRAPPERS: Final = frozenset({"Required", "NotRequired", "ReadOnly", "Final", "InitVar"})


class Annotations:
    """The annotations of one file, with the classes and aliases at its top."""

    def __init__(self, tree: ast.Module) -> None:
        """Take the file's tree."""
        self._named: dict[str, ast.expr | ast.ClassDef] = {}
        self._within: list[str] = []
        self._left = MAX_NODES
        for node in tree.body:
            match node:
                case ast.ClassDef(name=name):
                    self._named[name] = node
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp() as value):
                    self._named[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    if _name(node.annotation) == "TypeAlias":
                        self._named[name] = value
                case _:
                    if type(node).__name__ == "TypeAlias":  # `type X = …`, since Python 3.12
                        alias: Any = node
                        self._named[alias.name.id] = alias.value

    def schema(self, node: ast.expr | None) -> Schema:
        """Return the schema of an annotation, a new one each time; `{}` where it says nothing to JSON.

        The text of `Annotated` is its description.
        """
        try:
            return self._schema(node)
        except RecursionError:
            return {}

    def _schema(self, node: ast.expr | None) -> Schema:
        self._left -= 1
        if node is None or self._left < 0:
            return {}
        match node:
            case ast.Constant(value=None):
                return {"type": "null"}
            case ast.Constant(value=str(text)):
                return self._quoted(text)
            case ast.Name() | ast.Attribute():
                return self._plain(node)
            case ast.BinOp(op=ast.BitOr()):
                return self._union([*_alternatives(node)])
            case ast.Subscript():
                return self._subscript(_name(node.value), _items(node.slice))
            case _:
                return {}

    def _quoted(self, text: str) -> Schema:
        try:
            return self._schema(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return {}

    def _plain(self, node: ast.Name | ast.Attribute) -> Schema:
        name = _name(node)
        named = self._named.get(name) if isinstance(node, ast.Name) else None
        if named is not None:
            return self._of_file(name, named)
        if name in _SCALARS:
            return {"type": _SCALARS[name]}
        return {"type": "array"} if name in _LISTS else {"type": "object"} if name in _MAPPINGS else {}

    def _of_file(self, name: str, node: ast.expr | ast.ClassDef) -> Schema:
        if name in self._within:  # it holds itself: what it holds of itself is left open
            return {}
        self._within.append(name)
        try:
            return self._class(node) if isinstance(node, ast.ClassDef) else self._schema(node)
        finally:
            self._within.pop()

    def _subscript(self, name: str, items: list[ast.expr]) -> Schema:
        first = items[0] if items else None
        if name == "Annotated":
            schema = self._schema(first)
            told = [item.value for item in items[1:] if isinstance(item, ast.Constant)]
            texts = [text for text in told if isinstance(text, str)]
            return {**schema, "description": texts[0]} if texts else schema
        if name == "Literal":
            return _enum(items)
        if name in {"Optional", "Union"}:
            return self._union([*items, ast.Constant(value=None)] if name == "Optional" else items)
        if name in _WRAPPERS:
            return self._schema(first)
        if name in {"tuple", "Tuple"}:
            return self._tuple(items)
        if name in _LISTS:
            return _holding("array", "items", self._schema(first))
        if name in _MAPPINGS:
            return _holding("object", "additionalProperties", self._schema(items[-1] if items else None))
        return {}

    def _tuple(self, items: list[ast.expr]) -> Schema:
        match items:
            case []:
                return {"type": "array", "maxItems": 0}
            case [item, ast.Constant(value=last)] if last is ...:
                return _holding("array", "items", self._schema(item))
            case _:
                parts = [self._schema(item) for item in items]
                return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}

    def _union(self, items: list[ast.expr]) -> Schema:
        """Return the schema of what fits one of `items`; a null goes into `type` and `enum` where it can."""
        parts: list[Schema] = []
        told = ""
        for item in items:
            part = self._schema(item)
            told = told or part.pop("description", "")
            if not part:
                return {"description": told} if told else {}
            parts.extend(part["anyOf"] if [*part] == ["anyOf"] else [part])
        whole = _merged([part for index, part in enumerate(parts) if part not in parts[:index]])
        return {**whole, "description": told} if told else whole

    def _class(self, node: ast.ClassDef) -> Schema:
        kind = self._kind(node)
        if not kind:
            return {}
        properties: dict[str, Json] = {}
        needed: dict[str, bool] = {}
        for base in node.bases:
            above = self._schema(base) if _name(base) in self._named else {}
            properties |= above.get("properties", {})
            needed |= {name: name in above.get("required", ()) for name in above.get("properties", ())}
        total = not any(key.arg == "total" and _is_false(key.value) for key in node.keywords)
        for name, field in _fields(node):
            properties[name] = self._schema(field.annotation)
            needed[name] = (
                _needed_of_dataclass(field)
                if kind == "dataclass"
                else _needed_of_typed_dict(field.annotation, total=total)
            )
        out: Schema = {"type": "object", "properties": properties}
        if required := [name for name in properties if needed[name]]:
            out["required"] = required
        if kind == "dataclass":
            out["additionalProperties"] = False  # a TypedDict may hold more, a dataclass cannot
        return out

    def _kind(self, node: ast.ClassDef) -> str:
        """Return `TypedDict` or `dataclass`, or nothing for any other class."""
        if any(
            _name(mark.func if isinstance(mark, ast.Call) else mark) == "dataclass"
            for mark in node.decorator_list
        ):
            return "dataclass"
        todo, seen = [node], {node.name}
        while todo:
            for base in map(_name, todo.pop().bases):
                above = self._named.get(base)
                if base == "TypedDict":
                    return base
                if isinstance(above, ast.ClassDef) and base not in seen:
                    seen.add(base)
                    todo.append(above)
        return ""


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _items(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """Return the parts of `A | B | C`, in order."""
    parts: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        parts.append(node.right)
        node = node.left
    return [node, *reversed(parts)]


def _holding(kind: str, keyword: str, inner: Schema) -> Schema:
    return {"type": kind, keyword: inner} if inner else {"type": kind}


def _enum(items: list[ast.expr]) -> Schema:
    try:
        values: list[Json] = [ast.literal_eval(item) for item in items]
        kinds = list(dict.fromkeys(_KINDS[type(value)] for value in values))
    except (ValueError, TypeError, KeyError):  # a member of an Enum, say
        return {}
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": canonical(values)}


def _types(schema: Schema) -> list[str]:
    return [schema["type"]] if isinstance(schema["type"], str) else schema["type"]


def _merged(parts: list[Schema]) -> Schema:
    """Return one schema for several; null goes into the `type` and `enum` of a single other one."""
    if all([*part] == ["type"] for part in parts):
        kinds = list(dict.fromkeys(kind for part in parts for kind in _types(part)))
        return {"type": kinds[0] if len(kinds) == 1 else kinds}
    null: Schema = {"type": "null"}
    others = [part for part in parts if part != null]
    if len(others) == len(parts) - 1 == 1 and isinstance(others[0].get("type"), str):
        other = others[0]
        more: Schema = {"enum": [*other["enum"], None]} if "enum" in other else {}
        return {**other, "type": [other["type"], "null"], **more}
    return parts[0] if len(parts) == 1 else {"anyOf": parts}


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, ast.AnnAssign]]:
    for field in node.body:
        match field:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                outer = _name(annotation.value if isinstance(annotation, ast.Subscript) else annotation)
                if outer not in {"ClassVar", "KW_ONLY"} and not _is_false(_field_options(field).get("init")):
                    yield name, field
            case _:
                pass


def _field_options(field: ast.AnnAssign) -> dict[str, ast.expr]:
    """Return the keywords of `dataclasses.field(…)`, where that is a field's value."""
    if isinstance(field.value, ast.Call) and _name(field.value.func) == "field":
        return {keyword.arg: keyword.value for keyword in field.value.keywords if keyword.arg}
    return {}


def _needed_of_dataclass(field: ast.AnnAssign) -> bool:
    if isinstance(field.value, ast.Call) and _name(field.value.func) == "field":
        return not {"default", "default_factory"} & {*_field_options(field)}
    return field.value is None


def _needed_of_typed_dict(annotation: ast.expr, *, total: bool) -> bool:
    while isinstance(annotation, ast.Subscript):
        name = _name(annotation.value)
        if name in {"Required", "NotRequired"}:
            return name == "Required"
        annotation = (
            _items(annotation.slice)[0] if name in {"Annotated", "ReadOnly"} else ast.Constant(value=...)
        )
    return total


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
