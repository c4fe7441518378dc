"""Tool declarations of real servers, and with one defect each: where the folder of cases is there."""

import csv
import json
from pathlib import Path

import pytest

from yaoci.flaws import ERRORS, flaws

CASES = Path(__file__).resolve().parents[2] / ".." / "shared" / "cases" / "schemas"
ABSENT = pytest.mark.skip(reason="the folder of cases is not there")

# what is wrong with a tool but not with its schema, and so is for the rules about tools
ELSEWHERE = {"bad_name"}

# a root that is no object is one mistake and is told once, so `metaschema` does not stand beside it
SLUGS = {
    "metaschema": {"not-a-schema", "root-not-object"},
    "default_invalid": {"default-misfit"},
}


def broken():
    if not CASES.is_dir():
        return [pytest.param(None, marks=ABSENT)]
    with (CASES / "verdicts.tsv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines, delimiter="\t") if row["file"].startswith("broken/")]
    return [pytest.param(row, id=Path(row["file"]).stem) for row in rows]


def real():
    if not CASES.is_dir():
        return [pytest.param(None, marks=ABSENT)]
    files = sorted((CASES / "mcp").glob("*.json"))
    return [
        pytest.param(tool, id=f"{file.stem}-{tool['name']}")
        for file in files
        for tool in json.loads(file.read_text(encoding="utf-8"))["tools"]
    ]


@pytest.mark.parametrize("row", broken())
def test_a_schema_with_a_defect_gets_its_verdict(row):
    case = json.loads((CASES / row["file"]).read_text(encoding="utf-8"))
    found = flaws(case["tool"]["parameters"], parameters=True)
    kinds = {kind for kind in row["problems"].split(",") if kind} - ELSEWHERE
    verdict = row["verdict"] if kinds else "accept"
    slugs = {flaw.slug for flaw in found}

    assert verdict == ("reject" if slugs & ERRORS else "report" if slugs else "accept")
    for kind in kinds:
        assert slugs & SLUGS.get(kind, {kind.replace("_", "-")})


@pytest.mark.parametrize("tool", real())
def test_the_schemas_of_real_servers_are_fine(tool):
    assert flaws(tool["inputSchema"], parameters=True) == []
    assert flaws(tool.get("outputSchema", True)) == []
