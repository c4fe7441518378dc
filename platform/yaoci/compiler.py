"""Documents to definitions to a registry: everything is judged in one pass, and all of it is reported."""

import functools
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path as FilePath
from typing import Any, Final

from . import contracts, documents
from .definitions import Assistant, Callback, Method, SetStep, Settings
from .diagnostics import DefinitionError, Diagnostic, Report, misspelt, report
from .documents import File, assistant_method
from .loader import find, find_root
from .marks import Form, Ref
from .registry import ASSISTANTS, Registry, full_name
from .rule import Finding, Kind, Rule
from .source import Span
from .thens import point_of
from .values import Path, at


def load(path: str | FilePath = ".") -> Registry:
    """Return the registry of the project that `path` is in. Raises DefinitionError with the report."""
    registry, found = compile_project(find_root(FilePath(path)))
    if registry is None:
        raise DefinitionError(found)
    return registry


def check(path: str | FilePath = ".") -> Report:
    """Return everything that is to be said of the project that `path` is in. Imports and calls nothing of it."""
    return _judged(find_root(FilePath(path)))[2]


def compile_project(root: FilePath) -> tuple[Registry | None, Report]:
    """Return the registry, or None where something is wrong, and the report."""
    from .builder import build  # which `check` does without

    files, names, found = _judged(root)
    return (build(root, files, names.group) if found.ok else None), found


def _judged(root: FilePath) -> tuple[list[File], "_Names", Report]:
    """Return the files of a project, their names, and the report."""
    project = find(root)
    files = [documents.read(found) for found in project.files]
    names = _Names(root, files)
    findings = [*project.findings, *(finding for file in files for finding in file.findings)]
    for file in files:
        findings += _judge(file, names)
    found = report(findings, len(files), {name: text for file in files for name, text in file.texts()})
    return files, names, found


class _Names:
    """All names of a project, taken from the plain values, so that a broken definition still has its name."""

    def __init__(self, root: FilePath, files: list[File]) -> None:
        self.root = root
        self.files = {
            file.found.id: file for file in files if file.found.kind not in {"settings", "assistant"}
        }
        settings = next((f for f in files if f.found.kind == "settings"), None)
        self.settings: Settings | None = settings.definition if settings else None
        self.settings_broken = settings is not None and bool(settings.definition is None or settings.findings)
        self.assistants: dict[str, Span] = {}
        self.processes: dict[str, Span] = {}
        self.owners: dict[str, File] = {}
        self.broken: set[str] = set()
        self.callbacks: dict[str, set[str]] = {}
        for file in files:
            if file.found.kind != "settings":
                self._add(file)
        self.shared = _shared(files)

    def _add(self, file: File) -> None:
        id, inside = file.found.id, file.found.kind == "assistant"
        if inside:
            self.assistants[id] = self.processes[ASSISTANTS + id] = file.span(())
            self.owners[ASSISTANTS + id] = file
        for name in file.method_names():
            full = full_name(name, id, inside)
            self.processes[full] = file.span(("methods", name), "key")
            self.owners[full] = file
        if file.broken:
            self.broken.add(id)
        for node in file.nodes:
            if node.mark is Callback.form:
                target = full_name(node.value.name, id, inside)
                self.callbacks.setdefault(target, set()).add(point_of(node.path))

    def group(self, id: str) -> list[str]:
        return list(self.files[id].method_names()) if id in self.files else []

    def method(self, full: str) -> Method | None:
        file = self.owners.get(full)
        if file is None or file.definition is None:
            return None
        whole = full.startswith(ASSISTANTS)
        id = full.rpartition(":" if ":" in full else ".")[2]
        kind, path = (Assistant, ()) if whole else (Method, ("methods", id))
        if misspelt(at(file.value, path), "parameters", [one.name for one in fields(kind)]):
            return None  # it is told where it stands, and what the method takes is not known
        return assistant_method(file.found.id, file.definition) if whole else file.method(id)


def _shared(files: list[File]) -> frozenset[str] | None:
    """Return the keys of `shared` that steps set; None where others may be set."""
    if any(file.python_path or file.findings for file in files):
        return None
    return frozenset(
        key for file in files for node in file.nodes if node.mark is SetStep.form for key in node.value.set
    )


class _View:
    """What a rule may look at."""

    def __init__(self, file: File, names: _Names) -> None:
        self._file = file
        self._names = names
        self.file = file.found.shown
        self.path = file.found.path
        self.owner = file.found.id
        self.kind: Final[Kind] = file.found.kind
        self.root = names.root
        self.value = file.value
        self.definition: Any = file.definition
        self.assistants: Mapping[str, Span] = names.assistants
        self.processes: Mapping[str, Span] = names.processes
        self.methods: Collection[str] = file.method_names()
        self.broken: Collection[str] = names.broken
        self.callbacks: Mapping[str, Collection[str]] = names.callbacks
        self.shared: Collection[str] | None = names.shared
        self.settings = names.settings
        self.settings_broken = names.settings_broken
        self.python = file.python
        self.has_python = file.python_path is not None

    def group(self, id: str) -> list[str]:
        return self._names.group(id)

    def target(self, name: str) -> Method | None:
        return self._names.method(full_name(name, self.owner, self.kind == "assistant"))

    def span(self, path: Path) -> Span:
        return self._file.span(path)


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Return all rules, in the order of their files."""
    return tuple(contracts.extension("rules", name, "RULE") for name in contracts.names_of("rules"))


@functools.cache
def _by_mark() -> Mapping[Any, tuple[Rule, ...]]:
    """Return the rules by what they want to see, so that each node is handed to just those that asked."""
    found: dict[Any, tuple[Rule, ...]] = {}
    for rule in rules():
        for want in rule.wants:
            key: Any = getattr(want, "form", want)
            found[key] = (*found.get(key, ()), rule)
    return found


def _judge(file: File, names: _Names) -> list[Diagnostic]:
    view, wanted = _View(file, names), _by_mark()
    out: list[Diagnostic] = []
    for node in file.nodes:
        key: Any = node.mark if isinstance(node.mark, Ref | Form) else node.mark.__class__
        for rule in wanted.get(key, ()):
            out.extend(_of_finding(file, rule, finding) for finding in rule.see(node, view))
    return out


def _of_finding(file: File, rule: Rule, finding: Finding) -> Diagnostic:
    span = file.span(finding.path, finding.on, finding.line)
    return Diagnostic.of(rule.code, span, finding.label, finding.help, finding.related)
