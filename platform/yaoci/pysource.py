"""Functions of a Python file as its syntax tree tells them; the file is never imported."""

import ast
import inspect
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from .annotations import Annotations
from .values import Json, NotJsonError, canonical

Effect: TypeAlias = Literal["read", "idempotent", "write"]

FILLED: Final = ("message", "event", "context")
"""Parameters that the runner fills, and that no caller sees."""


class PyProblem(NamedTuple):
    """Something that keeps a file from being read; line and column count from 1."""

    line: int
    column: int
    text: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a function; `schema` is `{}` where its annotation says nothing that JSON can hold."""

    name: str
    schema: Json
    required: bool
    default: Json = None
    literal: bool = False
    """Its default is a value that the file writes out, and that `default` holds."""
    description: str = ""
    kind: Literal["positional", "keyword"] = "positional"


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function at the top of a file."""

    name: str
    line: int
    is_async: bool
    is_generator: bool
    parameters: tuple[Parameter, ...]
    doc: str
    """The docstring as it is written; `description` cleans it."""
    process: bool
    """It is marked with `@process`."""
    effect: Effect | None = None
    display: str = ""
    """What `@process(name=…)` calls it for people."""
    returns: Json | None = None
    """The schema of its result; None where the annotation tells none."""
    has_varargs: bool = False
    has_kwargs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """What a file holds. Of functions of one name the last counts, as in Python."""

    functions: Mapping[str, Function]
    problems: tuple[PyProblem, ...] = ()


def read(text: str | bytes) -> Module:
    """Return the functions at the top of a Python file; what is wrong with it is a problem, never raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a user's text is not ours to tell
            tree = ast.parse(text)
    except SyntaxError as error:
        return Module(functions={}, problems=(_syntax_problem(error),))
    except ValueError as error:
        return Module(functions={}, problems=(PyProblem(1, 1, str(error), "save it as UTF-8 text"),))
    except (RecursionError, MemoryError):
        return Module(functions={}, problems=(PyProblem(1, 1, "it is nested too deeply", "make it simpler"),))
    return _Reader(tree, text).module()


def parameters_schema(function: Function, skip: Sequence[str] = FILLED) -> Json:
    """Return the JSON Schema (2020-12) of what a caller gives `function`, without the parameters `skip`."""
    properties: dict[str, Json] = {}
    required: list[str] = []
    for parameter in function.parameters:
        if parameter.name in skip:
            continue
        schema = dict(parameter.schema)
        if parameter.description:
            schema["description"] = parameter.description
        if parameter.required:
            required.append(parameter.name)
        elif parameter.literal and (parameter.default is not None or _takes_null(schema)):
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    out: dict[str, Json] = {"type": "object", "properties": properties}
    if required:
        out["required"] = required
    if not function.has_kwargs:
        out["additionalProperties"] = False
    return out


def description(function: Function) -> str:
    """Return the docstring of a function without its indentation."""
    return inspect.cleandoc(function.doc)


def _takes_null(schema: Mapping[str, Json]) -> bool:
    if "anyOf" in schema:
        return any(map(_takes_null, schema["anyOf"]))
    kinds = schema.get("type", "null")
    return ("null" in kinds if isinstance(kinds, list) else kinds == "null") and None in schema.get(
        "enum", (None,)
    )


def _syntax_problem(error: SyntaxError) -> PyProblem:
    said = error.msg or "invalid syntax"
    text = "Python does not understand this" if said == "invalid syntax" else said[:1].lower() + said[1:]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return PyProblem(
        max(error.lineno or 1, 1), max(error.offset or 1, 1), text, f"it is read as Python {version}"
    )


_Def: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class _Reader:
    """Reads one file: its imports of `process`, its classes and its functions."""

    def __init__(self, tree: ast.Module, text: str | bytes) -> None:
        self.tree = tree
        self.text = text
        self.problems: list[PyProblem] = []
        self.annotations = Annotations(tree)
        self.yields = ("yield" in text) if isinstance(text, str) else (b"yield" in text)
        self.marks = {"process"}
        self.packages = {"yaoci"}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "yaoci":
                self.marks.update(
                    name.asname for name in node.names if name.name == "process" and name.asname
                )
            elif isinstance(node, ast.Import):
                self.packages.update(
                    name.asname for name in node.names if name.name == "yaoci" and name.asname
                )

    def module(self) -> Module:
        functions: dict[str, Function] = {}
        for node in self.tree.body:
            if isinstance(node, _Def):
                if node.name in functions and functions[node.name].process:
                    self.problem(
                        node, f"`{node.name}` is a process already, in line {functions[node.name].line}"
                    )
                functions[node.name] = self.function(node)
        return Module(functions=functions, problems=tuple(self.problems))

    def function(self, node: _Def) -> Function:
        marks = [mark for mark in node.decorator_list if self.is_mark(mark)]
        effect, display = self.mark(marks[0]) if marks else (None, "")
        return Function(
            name=node.name,
            line=node.lineno,
            is_async=isinstance(node, ast.AsyncFunctionDef),
            is_generator=self.yields
            and any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in _within(node)),
            parameters=tuple(self.parameters(node.args)),
            doc=ast.get_docstring(node, clean=False) or "",
            process=bool(marks),
            effect=effect,
            display=display,
            returns=(self.annotations.schema(node.returns) or None) if node.returns else None,
            has_varargs=node.args.vararg is not None,
            has_kwargs=node.args.kwarg is not None,
        )

    def parameters(self, args: ast.arguments) -> Iterator[Parameter]:
        plain = [*args.posonlyargs, *args.args]
        without = len(plain) - len(args.defaults)
        for index, arg in enumerate(plain):
            yield self.parameter(
                arg, args.defaults[index - without] if index >= without else None, "positional"
            )
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            yield self.parameter(arg, default, "keyword")

    def parameter(
        self, arg: ast.arg, default: ast.expr | None, kind: Literal["positional", "keyword"]
    ) -> Parameter:
        schema = self.annotations.schema(arg.annotation)
        told = schema.pop("description", "")
        value, literal = _literal(default)
        return Parameter(
            name=arg.arg,
            schema=schema,
            required=default is None,
            default=value,
            literal=literal,
            description=told,
            kind=kind,
        )

    def is_mark(self, node: ast.expr) -> bool:
        node = node.func if isinstance(node, ast.Call) else node
        if isinstance(node, ast.Attribute):
            return (
                node.attr == "process" and isinstance(node.value, ast.Name) and node.value.id in self.packages
            )
        return isinstance(node, ast.Name) and node.id in self.marks

    def mark(self, node: ast.expr) -> tuple[Effect | None, str]:
        """Return effect and name that `@process(…)` tells."""
        told: dict[str, str] = {}
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            value, literal = _literal(keyword.value)
            if keyword.arg not in {"effect", "name"}:
                self.problem(keyword, f"`process` takes `effect` and `name`, not `{keyword.arg or '**'}`")
            elif not literal or not (isinstance(value, str) or value is None):
                self.problem(keyword.value, f"`{keyword.arg}` is not a text that is written out")
            elif keyword.arg == "effect" and value not in _EFFECTS:
                near = get_close_matches(value or "", [*filter(None, _EFFECTS)], 1)
                hint = f"did you mean `{near[0]}`?" if near else "it is read, write or idempotent"
                self.problem(keyword.value, f"there is no effect `{value}`", hint)
            else:
                told[keyword.arg] = value or ""
        return cast("Effect | None", told.get("effect") or None), told.get("name", "")

    def problem(self, node: Any, text: str, help_: str = "") -> None:
        line, column = node.lineno, node.col_offset
        source = self.text if isinstance(self.text, bytes) else self.text.encode()
        # A column of the tree counts bytes of UTF-8, a place counts characters.
        before = b"".join(source.splitlines()[line - 1 : line])[:column].decode("utf-8", "replace")
        self.problems.append(PyProblem(line, len(before) + 1, text, help_))


_EFFECTS: Final = ("read", "write", "idempotent", None)


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """Go through what belongs to a function itself, not to functions and classes in it."""
    todo = list(ast.iter_child_nodes(node))
    while todo:
        inner = todo.pop()
        yield inner
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(inner))


def _literal(node: ast.expr | None) -> tuple[Json, bool]:
    """Return the value that an expression writes out, and whether it does."""
    if node is None or (isinstance(node, ast.Constant) and isinstance(node.value, bytes)):
        return None, False
    try:
        return canonical(ast.literal_eval(node)), True
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, NotJsonError):
        return None, False
