"""Finding a project and its files, and what each of them is by its path."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from .diagnostics import Code, Diagnostic
from .errors import UsageError
from .source import Span

FileKind: TypeAlias = Literal["assistant", "processor", "python", "settings"]

SETTINGS: Final = "yaoci.yaml"
_YML_SETTINGS: Final = "yaoci.yml"
ASSISTANT: Final = "assistant.yaml"
"""The file of an assistant that has a folder of its own."""

MAX_FILES: Final = 20_000

BAD_ID: Final = Code("Y210", "bad-id", "error", "a file's name cannot be an id")
YML: Final = Code("Y211", "yml", "error", "files end in .yaml")
FOLDER: Final = Code("Y212", "folder-name", "warning", "a folder that is not read")
OUTSIDE: Final = Code("Y801", "outside-project", "error", "a link leads out of the project")
CLASH: Final = Code("Y209", "duplicate-id", "error", "two files have the same id")
NO_FOLDER: Final = Code("Y021", "unreadable-folder", "error", "folder cannot be read")
AROUND: Final = Code("Y802", "link-loop", "error", "a link leads around and around")
TOO_MANY: Final = Code("Y020", "too-many-files", "error", "too many files")

_SEGMENT: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_RESERVED: Final = ("assistants", "std")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file of the project: what it is, its id, where it is, and the name it is shown by."""

    kind: FileKind
    id: str
    path: Path
    shown: str


@dataclass(slots=True)
class Project:
    """A project's root and files; `findings` tells what is wrong with their names."""

    root: Path
    files: list[Found] = field(default_factory=list[Found])
    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])


def find_root(start: Path) -> Path:
    """Return the nearest folder upward with yaoci.yaml, assistants/ or processes/. Raises UsageError."""
    start = start.absolute()
    for folder in (start, *start.parents):
        if (folder / SETTINGS).is_file() or any(
            (folder / name).is_dir() for name in ("assistants", "processes")
        ):
            return folder
    meant = _meant(start)
    raise UsageError(
        f"no project here: {start} and the folders above have no yaoci.yaml, assistants/ or processes/"
        + (f"; {meant}" if meant else "")
    )


_MEANT: Final = {
    "assistant": "assistants", "agent": "assistants", "agents": "assistants",
    "process": "processes", "processor": "processes", "processors": "processes",
}  # fmt: skip
"""Names of folders that seem to be one of those that are read."""


def _meant(folder: Path) -> str:
    """Return what was meant where the folder of a project was named wrongly; nothing if nothing is there."""
    if (folder / _YML_SETTINGS).is_file():
        return f"there is a file `{_YML_SETTINGS}`: rename it to `{SETTINGS}`"
    for name, right in _MEANT.items():
        if _holds_yaml(folder / name):
            return f"there is a folder `{name}`: did you mean `{right}`?"
    return ""


def _holds_yaml(folder: Path) -> bool:
    try:
        return any(path.suffix in {".yaml", ".yml"} for path in folder.iterdir())
    except OSError:
        return False


def find(root: Path) -> Project:
    """Return the files of the project at `root`, sorted by path; reading none of them."""
    project = Project(root)
    settings = root / SETTINGS
    if os.path.lexists(settings) and _inside(project, settings):
        project.files.append(Found(kind="settings", id="", path=settings, shown=SETTINGS))
    if os.path.lexists(root / _YML_SETTINGS):
        _yml(project, root / _YML_SETTINGS)
    for name, right in _MEANT.items():
        if not os.path.lexists(root / right) and _holds_yaml(root / name):
            label = f"this folder is not read: did you mean `{right}`?"
            project.findings.append(Diagnostic.of(FOLDER, _top(name), label, f"rename it to `{right}`"))
    for name, take in (("assistants", _assistants), ("processes", _processes)):
        if not _leads_nowhere(project, root / name) and _inside(project, root / name):
            take(project, root / name, ())
    if len(project.files) > MAX_FILES:
        project.findings.append(
            Diagnostic.of(TOO_MANY, _top(""), f"{len(project.files)} files; at most {MAX_FILES} are read")
        )
        del project.files[MAX_FILES:]
    _clashes(project)
    return project


def _top(shown: str) -> Span:
    return Span(shown, 1, 1, 1, 1)


def _entries(project: Project, folder: Path) -> list[os.DirEntry[str]]:
    """Return what a folder holds, sorted; names that begin with `.` or `_` aside."""
    try:
        with os.scandir(folder) as entries:
            return sorted((e for e in entries if not e.name.startswith((".", "_"))), key=lambda e: e.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        project.findings.append(Diagnostic.of(NO_FOLDER, _top(_shown(project, folder)), why))
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder to look into; one that is called as a file is read, and told, as one."""
    try:
        return entry.is_dir() and not entry.name.endswith((".yaml", ".yml", ".py"))
    except OSError:  # a link that leads to itself
        return False


def _leads_nowhere(project: Project, path: Path) -> bool:
    """Return whether, in place of a folder, there is a link to nothing or to itself; report it."""
    if not path.is_symlink() or path.exists():
        return False
    label = f"it is a link to `{path.readlink()}`, which leads nowhere"
    project.findings.append(Diagnostic.of(NO_FOLDER, _top(_shown(project, path)), label, "remove the link"))
    return True


def _may_enter(project: Project, path: Path) -> bool:
    """Return whether a folder stays in the project, and is not one of those around it; report it where not."""
    if not _inside(project, path):
        return False
    real = path.resolve()
    if not any(around.resolve() == real for around in path.parents):
        return True
    aim = path.readlink() if path.is_symlink() else real
    label = f"it leads to `{aim}`, which holds it"
    project.findings.append(Diagnostic.of(AROUND, _top(_shown(project, path)), label, "remove the link"))
    return False


def _inside(project: Project, path: Path) -> bool:
    """Return whether a link stays in the project; report it where it does not."""
    if not path.is_symlink() or not path.exists():
        return True  # a broken link is told by the reader
    if path.resolve().is_relative_to(project.root.resolve()):
        return True
    label = f"it leads to `{path.readlink()}`"
    project.findings.append(Diagnostic.of(OUTSIDE, _top(_shown(project, path)), label, "copy the file here"))
    return False


def _shown(project: Project, path: Path) -> str:
    return path.relative_to(project.root).as_posix()


def _good_id(project: Project, path: Path, parts: tuple[str, ...]) -> bool:
    shown = _shown(project, path)
    for part in parts:
        if not _SEGMENT.fullmatch(part):
            project.findings.append(
                Diagnostic.of(
                    BAD_ID,
                    _top(shown),
                    f"`{part}` would be part of the id",
                    "ids have letters, digits, `_` and `-`, and begin with a letter; `name` inside the file is what "
                    "people see, in any language",
                )
            )
            return False
    if parts and parts[0] in _RESERVED:
        project.findings.append(
            Diagnostic.of(BAD_ID, _top(shown), f"`{parts[0]}` is a reserved name", "rename it")
        )
        return False
    return True


def _yml(project: Project, path: Path) -> None:
    project.findings.append(
        Diagnostic.of(
            YML, _top(_shown(project, path)), "`.yml` is not read", f"rename it to `{path.stem}.yaml`"
        )
    )


def _assistants(project: Project, folder: Path, parts: tuple[str, ...], asset: bool = False) -> None:
    """Take the assistants below a folder; with `asset`, only folders with an assistant.yaml hold one."""
    entries = _entries(project, folder)
    own = bool(parts) and any(e.name == ASSISTANT for e in entries)
    for entry in entries:
        path = Path(entry.path)
        if _is_folder(entry):
            if _may_enter(project, path):
                _assistants(project, path, (*parts, entry.name), asset or own)
        elif own or asset:
            if own and entry.name == ASSISTANT:
                _take(project, "assistant", path, parts)
        elif entry.name.endswith(".yml"):
            _yml(project, path)
        elif entry.name.endswith(".yaml"):
            _take(project, "assistant", path, (*parts, entry.name.removesuffix(".yaml")))
        elif "." not in entry.name:
            _leads_nowhere(project, path)


def _processes(project: Project, folder: Path, parts: tuple[str, ...]) -> None:
    entries = _entries(project, folder)
    names = {e.name for e in entries}
    for entry in entries:
        path = Path(entry.path)
        stem, dot, suffix = entry.name.rpartition(".")
        if _is_folder(entry):
            if _may_enter(project, path):
                _processes(project, path, (*parts, entry.name))
        elif suffix == "yml":
            _yml(project, path)
        elif suffix == "yaml":
            _take(project, "processor", path, (*parts, stem))
        elif suffix == "py" and dot and f"{stem}.yaml" not in names:
            _take(project, "python", path, (*parts, stem))
        elif not dot:
            _leads_nowhere(project, path)


def _take(project: Project, kind: FileKind, path: Path, parts: tuple[str, ...]) -> None:
    if not (_good_id(project, path, parts) and _inside(project, path)):
        return
    if kind == "python" or _inside(project, path.with_suffix(".py")):
        project.files.append(Found(kind=kind, id=".".join(parts), path=path, shown=_shown(project, path)))


def _clashes(project: Project) -> None:
    seen: dict[tuple[bool, str], Found] = {}
    kept: list[Found] = []
    for found in project.files:
        key = (found.kind == "assistant", found.id.lower() if found.kind != "settings" else "")
        first = seen.setdefault(key, found) if found.kind != "settings" else found
        if first is found:
            kept.append(found)
            continue
        how = "" if first.id == found.id else ", which differs only in case"
        project.findings.append(
            Diagnostic.of(
                CLASH,
                _top(found.shown),
                f"`{found.id}` is there already{how}",
                "rename one of them",
                (("the other one", _top(first.shown)),),
            )
        )
    project.files[:] = kept
