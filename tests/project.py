"""Small projects, written to a folder and compiled."""

from textwrap import dedent

from yaoci.compiler import compile_project
from yaoci.functions import _loaded


def project(folder, files):
    """Return the registry of a project that is written to `folder`: a mapping of file names to texts."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), "utf-8")
    registry, report = compile_project(folder)
    assert registry is not None, str(report)
    return registry


def loaded(path):
    """Return the module that the project's Python file at `path` was imported as, or None."""
    return next((module for (file, *_), module in _loaded.items() if file == str(path)), None)
