"""The README and the documents: every file they show is right, every error real, every link leads somewhere.

A page's files are its fences whose first line is a comment with a path: `# assistants/helpdesk.yaml`.
Together they form a project, beside which stand those of the example's `processes/` that it names and
the page does not show; of a path that comes several times, the last one counts. A path line may
go on with `— wrong: Y101`: that file stands beside those above it, and has just these findings;
a fence of text after it that begins with `error[` is what `check` prints then. Lines `$ yaoci …` in a
fence `console` are run, and print what stands below them. Paths below platform/ and tests/ are files of
the package and of a test suite: they are put into a copy of the package, and the tests are run.
"""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from yaoci import render
from yaoci.cli import main
from yaoci.compiler import check
from yaoci.contracts import names_of
from yaoci.errors import KINDS, Exit
from yaoci.models.local import PACKAGE as PACKAGE_OF_WEIGHTS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "platform" / "yaoci"
DOCS = ROOT / "platform" / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"(?:#|<!--) ((?:[\w-]+/)*[\w-]+\.(?:yaml|py|md))(?: — wrong:((?: Y\d{3})+))?\b.*")
_MODULE = re.compile(r"^- `([\w/]+)` — (.+)$", re.MULTILINE)


class Fence(NamedTuple):
    """A fence of a page: its language and text, and the path and the codes of its first line."""

    line: int
    language: str
    text: str
    path: str = ""
    codes: tuple[str, ...] = ()


def fences(page):
    """Return the fences of a page; a Markdown file is what stands below its path line."""
    whole, out = page.read_text("utf-8"), []
    for match in _FENCE.finditer(whole):
        language, text = match.groups()
        first, _, rest = text.partition("\n")
        found = _PATH.fullmatch(first) if language in {"yaml", "python", "markdown", "diff"} else None
        path, codes = (found[1], tuple((found[2] or "").split())) if found else ("", ())
        text = rest if found and language in {"markdown", "diff"} else text
        out.append(Fence(whole.count("\n", 0, match.start()) + 1, language, text, path, codes))
    return out


def of_project(path):
    """Tell whether a path is one of a project, not of the package or a test suite."""
    return path == "yaoci.yaml" or path.startswith(("assistants/", "processes/"))


def write(folder, files, before=""):
    """Write a project, with those of the example's processes that it, or `before`, names and does not show itself."""
    shown = {path.rpartition(".")[0] for path in files}
    whole = "\n".join([before, *files.values()])
    for file in sorted((ROOT / "processes").glob("*.*")):
        if f"processes/{file.stem}" not in shown and re.search(rf"\b{file.stem}\.(?:\w|\*)", whole):
            files = {f"processes/{file.name}": file.read_text("utf-8"), **files}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def states(page):
    """Yield each fence of a page with the project's files as they are once it was read."""
    files = {}
    for fence in fences(page):
        if of_project(fence.path) and not fence.codes:
            files = {**files, fence.path: fence.text}
        yield fence, files


def named(pages, wanted):
    """Return the fences that are wanted as parameters of a test, each with the files shown up to it."""
    return [
        pytest.param(fence, files, id=f"{page.stem}:{fence.line}")
        for page in pages
        for fence, files in states(page)
        if wanted(fence)
    ]


# -- files --------------------------------------------------------------------------------------------------


def files_of(page):
    """Return the project's files that a page shows, as they are at its end."""
    return {f.path: f.text for f in fences(page) if of_project(f.path) and not f.codes}


@pytest.mark.parametrize("page", [*filter(files_of, PAGES)], ids=lambda page: page.stem)
def test_the_files_of_a_page_form_a_project_that_is_right(page, tmp_path):
    write(tmp_path, files_of(page))
    report = check(tmp_path)
    assert not report.findings, render.text(report)


@pytest.mark.parametrize(("fence", "files"), named(PAGES, lambda fence: fence.codes))
def test_a_wrong_file_has_just_the_findings_that_are_said(fence, files, tmp_path):
    write(tmp_path, {**files, fence.path: fence.text}, before="\n".join(files.values()))
    found = check(tmp_path).findings
    assert sorted(f.code for f in found) == sorted(fence.codes), render.text(check(tmp_path))


def told():
    """Return each wrong fence with the text fence behind it that shows what `check` prints."""
    out = []
    for page in PAGES:
        for (fence, files), (after, *_) in pairwise(states(page)):
            if fence.codes and after.text.startswith(("error[", "warning[", "advice[")):
                out.append(pytest.param(fence, files, after.text, id=f"{page.stem}:{after.line}"))
    return out


@pytest.mark.parametrize(("fence", "files", "text"), told())
def test_what_a_wrong_file_prints_is_what_check_prints(fence, files, text, tmp_path):
    write(tmp_path, {**files, fence.path: fence.text}, before="\n".join(files.values()))
    printed = render.text(check(tmp_path))
    findings, _, closing = printed.rpartition("\n\n")
    assert text.rstrip("\n") in {findings, printed}, closing


@pytest.mark.parametrize(
    ("fence", "files"), named(PAGES, lambda f: f.language in {"yaml", "python"} and not f.path)
)
def test_a_fragment_can_be_read(fence, files):
    if fence.language == "yaml":
        assert yaml.safe_load(fence.text) is not None
    else:
        compile(fence.text, "fence", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_fence_is_closed_and_names_its_language(page):
    text = page.read_text("utf-8")
    assert text.count("\n```") == 2 * len(fences(page))
    assert all(fence.language for fence in fences(page) if page.parent == DOCS)


# -- commands -----------------------------------------------------------------------------------------------


def commands(fence):
    """Return the commands of a console fence, each with what it prints."""
    parts = re.split(r"^\$ (.*)\n", fence.text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def asks(command):
    """Tell whether a command asks the embedded model; one that lacks its key asks nobody."""
    return command.startswith(("yaoci run", "yaoci -v run", "python ")) and "--model openai/" not in command


CONSOLES = named(PAGES, lambda fence: fence.language == "console")


@pytest.mark.parametrize(("fence", "files"), CONSOLES)
def test_a_command_prints_what_is_said(fence, files, tmp_path, monkeypatch, capfd):
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for command, expected in commands(fence):
        if command.startswith("yaoci ") and not asks(command):
            main(shlex.split(command)[1:])
            told = capfd.readouterr()
            assert told.err + told.out == expected, command


@pytest.mark.weights
@pytest.mark.parametrize(("fence", "files"), CONSOLES)
def test_what_is_asked_is_answered(fence, files, tmp_path, monkeypatch, capfd):
    for module in ("xllamacpp", PACKAGE_OF_WEIGHTS):
        if find_spec(module) is None:
            pytest.skip(f"`{module}` is not installed")
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    for command, _ in commands(fence):
        if command.startswith("yaoci ") and asks(command):
            code = main(shlex.split(command)[1:])
            told = capfd.readouterr()
            assert (code, bool(told.out.strip())) == (0, True), told.err


def shown_tests(page):
    """Return the names of the tests that a page shows."""
    return [f.path for f in fences(page) if f.path.startswith("tests/")]


@pytest.mark.parametrize("page", [*filter(shown_tests, PAGES)], ids=lambda page: page.stem)
def test_the_tests_that_a_page_shows_pass(page, tmp_path):
    shown = fences(page)
    shutil.copytree(PACKAGE, tmp_path / "platform/yaoci", ignore=shutil.ignore_patterns("__pycache__"))
    write(tmp_path / "project", files_of(page))
    for fence in shown:
        inside = fence.path.startswith("platform/")
        target = tmp_path / ("" if inside else "project") / fence.path
        if fence.language == "diff":
            patched(target, fence.text)
        elif fence.path and not fence.codes and not of_project(fence.path):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(fence.text, "utf-8")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "platform")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    ran = subprocess.run(
        [*command, *shown_tests(page)],
        cwd=tmp_path / "project",
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def patched(file, diff):
    """Put the lines that a diff adds behind the line that it shows before them."""
    text = file.read_text("utf-8")
    for match in re.finditer(r"^ (.*)\n((?:\+.*\n)+)", diff, re.MULTILINE):
        before, added = match[1] + "\n", re.sub(r"^\+", "", match[2], flags=re.MULTILINE)
        assert before in text, before
        text = text.replace(before, before + added, 1)
    file.write_text(text, "utf-8")


# -- what is said of the package ------------------------------------------------------------------------------


def modules():
    """Return each module of the package with the first sentence of its docstring."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        doc = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
        name = file.relative_to(PACKAGE).with_suffix("").as_posix()
        found[name] = " ".join(doc.split("\n\n")[0].split())
    return found


def test_the_list_of_modules_is_complete_and_current(request):
    page, known = DOCS / "architecture.md", modules()
    text = page.read_text("utf-8")
    if request.config.getoption("--rewrite-golden"):  # a new module finds its place by hand
        text = _MODULE.sub(lambda m: f"- `{m[1]}` — {known.get(m[1], m[2])}", text)
        page.write_text(text, "utf-8")
    listed = _MODULE.findall(text)
    assert len({name for name, _ in listed}) == len(listed)
    assert dict(listed) == known


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("assistants", ["openai-chat", "local", "scripted"]),
        ("processes", names_of("handlers")),
        ("processes", sorted(KINDS)),
        ("callbacks", ["create", "tool", "result", "done", "fail"]),
        ("contributing", ["handlers", "models", "stores", "rules", "cli"]),
    ],
)
def test_a_page_tells_of_every_kind(page, names):
    text = (DOCS / f"{page}.md").read_text("utf-8")
    assert [name for name in names if f"`{name}" not in text] == []


# -- links and the README ---------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_to_a_file_and_to_a_heading(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        file = (page.parent / name) if name else page
        assert file.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
            assert heading in slugs, target


def test_the_readme_and_the_help_tell_every_exit_code(capsys):
    ends = sorted({int(code) for code in Exit} - {Exit.PAUSED})
    told = re.findall(r"^\| (\d+) \| (.*) \|$", PAGES[0].read_text("utf-8"), re.MULTILINE)
    assert [int(code) for code, _ in told] == ends
    assert main(["--help"]) == 0
    listed = re.findall(r"^  (\d+) +(.*)$", capsys.readouterr().out, re.MULTILINE)
    assert listed == told


def test_every_page_is_named_in_the_readme():
    linked = set(re.findall(r"\]\((platform/docs/[^)#]+)", PAGES[0].read_text("utf-8")))
    assert linked == {page.relative_to(ROOT).as_posix() for page in PAGES[1:]}


def test_the_readme_has_one_command_that_runs_the_project_and_one_that_runs_the_tests():
    lines = PAGES[0].read_text("utf-8").splitlines()
    setups = [line for line in lines if line.startswith("python3 -m venv .venv && ")]
    assert [line.rpartition(" && ")[2] for line in setups] == [
        '.venv/bin/yaoci run helpdesk "Where is order A42?"',
        ".venv/bin/python -m pytest",
    ]
