"""The files of a project, read and decoded: each with its definition, its marked places, and what does not fit."""

import functools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Final, Literal, cast

from . import contracts, pysource
from .contracts import Handler
from .definitions import Assistant, AssistantStep, Method, Processor, Settings, text_of
from .diagnostics import Code, Diagnostic
from .loader import Found
from .registry import INPUT
from .source import CODES, Document, Problem, Span, Unreadable, read_bytes, read_file
from .spec import UNKNOWN_KEY, Node, Trouble, decode
from .texts import Text
from .values import Json, Path, as_text, at

PYTHON: Final = Code("Y030", "python-syntax", "error", "the Python file cannot be read")

MAX_PYTHON: Final = 1024 * 1024
"""How large a Python file may be, in bytes: reading more takes seconds."""

_PLAIN: Final = re.compile(r"[\w.+-]+")
"""A number, or true or false, as it is written."""

_TYPES: Final[Mapping[str, type]] = {"assistant": Assistant, "processor": Processor, "settings": Settings}


@functools.cache
def handlers() -> Mapping[str, Handler[Any]]:
    """Return the handlers by kind."""
    return {name: contracts.extension("handlers", name, "HANDLER") for name in contracts.names_of("handlers")}


@functools.cache
def kinds() -> Mapping[str, Mapping[str, type]]:
    """Return the open unions of definitions: what may stand as a method's handler."""
    return {"handlers": {kind: handler.spec for kind, handler in handlers().items()}}


@dataclass(slots=True)
class File:
    """A file of the project, as far as it could be read."""

    found: Found
    text: str = ""
    document: Document | None = None
    definition: Any = None
    nodes: list[Node] = field(default_factory=list[Node])
    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])
    python: pysource.Module | None = None
    """The Python beside it, or that it is; None where there is none or it cannot be read."""
    python_path: FilePath | None = None
    python_text: str = ""

    @property
    def value(self) -> Json:
        """The file as plain values; None where it could not be read."""
        return self.document.value if self.document else None

    def span(self, path: Path, on: Literal["key", "value"] = "value", line: int = 0) -> Span:
        """Return where `path` is; with `line`, that line of the text that stands there."""
        if self.document is None:
            function = (
                self.python.functions.get(as_text(path[1]))
                if self.python and path[:1] == ("methods",)
                else None
            )
            first = function.line if function else 1
            return Span(self.found.shown, first, 1, first, 1)
        if line > 1:
            return self.document.line_of(path, line)
        return self.document.key_span(path) if on == "key" else self.document.span(path)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield the texts it is read from, each with the name it is shown by."""
        if self.text:
            yield self.found.shown, self.text
        if self.python_text:
            yield self.found.shown.removesuffix(".yaml").removesuffix(".py") + ".py", self.python_text

    @property
    def broken(self) -> bool:
        """Whether it is not known which methods it has: nothing is to be said of names that lead into it."""
        if self.found.kind == "python" or self.document is None:
            return self.python is None
        if isinstance(self.value.get("methods"), dict):
            return False
        # what is told already may be how `methods` was meant
        return "methods" in self.value or any(finding.code == UNKNOWN_KEY.code for finding in self.findings)

    def method_names(self) -> tuple[str, ...]:
        """Return the ids of its methods, broken ones too."""
        if self.found.kind == "python":
            return tuple(self.definition.methods) if self.definition else ()
        methods = at(self.value, ("methods",))
        return tuple(cast("dict[str, Json]", methods)) if isinstance(methods, dict) else ()

    def method(self, name: str) -> Method | None:
        """Return a method, with the signature of its Python function where it has none of its own."""
        method: Method | None = self.definition.methods.get(name) if self.definition else None
        return with_signature(method, self.python) if method else None


def read(found: Found) -> File:
    """Read and decode one file of the project."""
    file = File(found)
    if found.kind == "python":
        _read_python(file, found.path, found.shown)
        if file.python is not None:
            file.definition = _python_processor(file.python)
        return file
    try:
        file.document = read_file(found.path, found.shown)
    except Unreadable as error:
        file.findings = [_of_problem(problem) for problem in error.problems]
        file.text = _as_far_as_it_goes(found.path)
        return file
    file.text = file.document.text
    decoded = decode(_TYPES[found.kind], file.document.value, kinds())
    file.definition, file.nodes = decoded.value, decoded.nodes
    file.findings = [_of_trouble(file, trouble) for trouble in decoded.troubles]
    beside = found.path.with_suffix(".py")
    if found.kind != "settings" and os.path.lexists(beside):
        _read_python(file, beside, found.shown.removesuffix(".yaml") + ".py")
    return file


def _as_far_as_it_goes(path: FilePath) -> str:
    """Return the text of a file that cannot be read as YAML, to show what is said of it."""
    try:
        return read_bytes(path, "").decode("utf-8-sig", "replace")
    except Unreadable:
        return ""


def _read_python(file: File, path: FilePath, shown: str) -> None:
    file.python_path = path
    try:
        data = read_bytes(path, shown, MAX_PYTHON, "move parts of it to modules that it imports")
    except Unreadable as error:
        file.findings += [Diagnostic.of(PYTHON, p.span, p.label, p.help) for p in error.problems]
        return
    module = pysource.read(data)
    file.python_text = data.decode("utf-8-sig", "replace")
    for problem in module.problems:
        span = Span(shown, problem.line, problem.column, problem.line, problem.column + 1)
        file.findings.append(Diagnostic.of(PYTHON, span, problem.text, problem.help))
    if not module.problems:
        file.python = module


def _python_processor(module: pysource.Module) -> Processor:
    """Return what the `@process` functions of a Python file that stands alone declare."""
    python = kinds()["handlers"]["python"]
    methods = {
        name: Method(
            name=function.display,
            description=pysource.description(function),
            parameters=pysource.parameters_schema(function),
            returns=function.returns,
            effect=function.effect,
            handler=python(python=name),
        )
        for name, function in module.functions.items()
        if function.process
    }
    return Processor(methods=methods)


def with_signature(method: Method, python: pysource.Module | None) -> Method:
    """Return a method whose `parameters` and `description`, where it has none, are those of its Python function."""
    name = getattr(method.handler, "python", None)
    function = python.functions.get(name) if python and isinstance(name, str) else None
    if function is None or (method.parameters is not None and method.description):
        return method
    parameters = method.parameters
    if parameters is None and not (function.has_varargs or function.has_kwargs):
        parameters = pysource.parameters_schema(function)
    return Method(
        name=method.name, description=method.description or pysource.description(function), parameters=parameters,
        returns=method.returns, examples=method.examples, effect=method.effect, handler=method.handler,
    )  # fmt: skip


def assistant_method(id: str, assistant: Assistant) -> Method:
    """Return an assistant as a method that can be called."""
    return Method(
        name=assistant.name,
        description=text_of(assistant.description) or text_of(assistant.name),
        parameters=assistant.parameters or INPUT,
        returns=assistant.returns,
        effect="write",
        handler=kinds()["handlers"]["assistant"](assistant=AssistantStep(assistant=id)),
    )


def _of_problem(problem: Problem) -> Diagnostic:
    slug, summary = CODES[problem.code]
    return Diagnostic(
        code=problem.code, slug=slug, severity="error", summary=summary, span=problem.span, label=problem.label,
        help=problem.help, related=problem.related,
    )  # fmt: skip


def _of_trouble(file: File, trouble: Trouble) -> Diagnostic:
    span = file.span(trouble.path, trouble.on)
    help = trouble.help
    if trouble.quote and (written := _PLAIN.fullmatch(_written(file, span))):
        help += f': "{written[0]}"'
    return Diagnostic.of(trouble.kind, span, trouble.label, help)


def _written(file: File, span: Span) -> str:
    """Return the text of a place on one line; nothing for one of several."""
    begin, end = Text(file.found.shown, file.text).bounds(span.line)
    return file.text[begin:end][span.column - 1 : span.end_column - 1] if span.line == span.end_line else ""
