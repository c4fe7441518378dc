"""`yaoci check`: judge the definitions of a project, offline."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

import click

from .. import render
from ..compiler import check
from ..diagnostics import Report
from ..errors import Exit, UsageError
from ..loader import find, find_root
from ._terminal import Command, Global, say, width_of

_FORMS: Final = ("text", "json", "line")

_HELP: Final = """Judge the definitions of a project, offline: nothing is imported, called or fetched.

With paths, only what stands below them counts. Exits with 1 if something is wrong, with 5 if there
was nothing to check."""

_EXAMPLES: Final = """
yaoci check                        the project of this folder
yaoci check assistants/helpdesk    one assistant of it
yaoci -C shop check --strict       another project; warnings fail, too
yaoci check -o line                one line each, for editors
"""

_Places: TypeAlias = tuple[str, ...]
"""What of the project counts, as names of files and folders from its root; nothing is all of it."""


@click.command(cls=Command, help=_HELP, epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, metavar="[<path>]…")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(_FORMS),
    metavar="<form>",
    default="text",
    help="text, json or line.",
)
@click.option("--strict", is_flag=True, help="Warnings fail, too; advice does not.")
@click.pass_obj
def command(given: Global, paths: tuple[str, ...], form: str, strict: bool) -> int:
    """Print the report to stdout and return the exit code."""
    root, places = _asked(given, paths)
    if root != Path.cwd():
        given.remark(f"in {root}")
    report = _part(check(root), root, places)
    nothing = not report.files and not report.findings
    if not nothing or form == "json":
        _print(report, form, given)
    if nothing:
        where = " and ".join(f"`{place}`" for place in places) or f"`{root}`"
        say(given, "error", f"nothing to check: {where} holds no definitions")
        return Exit.NOTHING
    warned = strict and any(finding.severity == "warning" for finding in report.findings)
    return Exit.WRONG if warned or not report.ok else Exit.OK


def _asked(given: Global, paths: tuple[str, ...]) -> tuple[Path, _Places]:
    """Return the project and what of it is asked for. Raises UsageError."""
    if not paths:
        return find_root(_absolute(given.start)), ()
    roots: dict[Path, list[str]] = {}
    for path in paths:
        full = _absolute(given.start / path)
        root = _root_of(full, path)
        roots.setdefault(root, []).append(full.relative_to(root).as_posix())
    if len(roots) > 1:
        raise UsageError(
            f"these paths are of {len(roots)} projects; check one at a time: {', '.join(map(str, roots))}"
        )
    root, places = next(iter(roots.items()))
    return root, () if "." in places else tuple(places)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - takes `..` away and leaves links, as shells do


def _root_of(full: Path, path: str) -> Path:
    if not os.path.lexists(full):
        raise UsageError(f"there is no file or folder `{path}`")
    if full.is_dir():
        return find_root(full)
    try:
        return find_root(full.parent)
    except UsageError:
        raise UsageError(
            f"`{path}` is in no project: no folder above it has yaoci.yaml, assistants/ or processes/"
        ) from None


def _part(report: Report, root: Path, places: _Places) -> Report:
    """Return the report of what counts; what is said of the project as a whole always does."""
    if not places:
        return report

    def counts(name: str) -> bool:
        return any(name == place or name.startswith(place + "/") for place in places)

    files = [found.path.relative_to(root) for found in find(root).files]
    return replace(
        report,
        findings=tuple(f for f in report.findings if not f.span.file or counts(f.span.file)),
        files=sum(counts(f.as_posix()) or counts(f.with_suffix(".py").as_posix()) for f in files),
    )


def _print(report: Report, form: str, given: Global) -> None:
    if form == "json":
        print(render.json(report))
    elif form == "line":
        if report.findings:
            print(render.line(report))
    elif report.findings or not given.quiet:
        print(render.text(report, color=given.paints(sys.stdout), width=width_of(sys.stdout)))
