"""Each tests/cases/**/*.md is a project in fences, and in its last fence what `check` says of it."""

import re
from pathlib import Path

import pytest

from yaoci import render
from yaoci.compiler import compile_project

CASES = Path(__file__).parent / "cases"
FILE = re.compile(r"^`(?P<name>[^`\n]+)`:\n+```\w*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SAID = re.compile(r"```text\n(?P<said>.*?)```\n\Z", re.DOTALL)


def cases():
    return sorted(path.relative_to(CASES).as_posix() for path in CASES.rglob("*.md"))


@pytest.mark.parametrize("case", cases())
def test_a_project_is_told_what_its_case_says(case, tmp_path, request):
    path = CASES / case
    text = path.read_text("utf-8")
    for found in FILE.finditer(text):
        file = tmp_path / found["name"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(found["text"], "utf-8")
    said = render.text(compile_project(tmp_path)[1]) + "\n"
    expected = SAID.search(text)
    if request.config.getoption("--rewrite-golden"):
        before = text[: expected.start()] if expected else text.rstrip() + "\n\n"
        path.write_text(f"{before}```text\n{said}```\n", "utf-8")
    else:
        assert expected is not None, "the case has no last fence: run with --rewrite-golden"
        assert said == expected["said"]


def test_every_family_of_findings_has_cases():
    assert {case.partition("/")[0] for case in cases()} == {
        "callbacks", "models", "reading", "references", "shape", "templates", "tools",
    }  # fmt: skip
