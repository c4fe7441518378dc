"""Configuration traps that people really ran into, each with its value or the line that an error must name."""

import json
from pathlib import Path

import pytest

from yaoci.source import Document, Unreadable, read

CASES = Path(__file__).resolve().parents[2] / ".." / "shared" / "cases" / "yaml"
EXPECTED = json.loads((CASES / "expected.json").read_bytes()) if CASES.is_dir() else {}

pytestmark = pytest.mark.skipif(not EXPECTED, reason="the cases from outside are not here")


def filled(value):
    """Return a value with the stand-ins of the cases replaced by what they stand for."""
    match value:
        case dict():
            return {name: filled(item) for name, item in value.items()}
        case list():
            return [filled(item) for item in value]
        case "INT5000":
            return "a number of 5,000 digits, which cannot be a value here"
        case "NEST40":
            nested = 1
            for _ in range(40):
                nested = [nested]
            return nested
        case "X200000":
            return "x" * 200_000
        case _:
            return value


@pytest.mark.parametrize("name", sorted(EXPECTED) or ["none"])
def test_the_case_has_its_value_or_its_error(name):
    case = EXPECTED[name]
    outcome: Document | Unreadable
    try:
        outcome = read(name, (CASES / f"{name}.yaml").read_bytes())
    except Unreadable as error:
        outcome = error
    if isinstance(outcome, Document):
        assert case["expect"] in ("value", "value_or_error")
        assert outcome.value == filled(case["value"])
    else:
        assert case["expect"] in ("error", "value_or_error")
        assert set(case.get("lines", ())) <= {problem.span.line for problem in outcome.problems}
        assert all(problem.label for problem in outcome.problems)
