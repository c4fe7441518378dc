import inspect
from collections import Counter
from pathlib import Path

import pytest

from yaoci import contracts, documents, loader, spec
from yaoci.compiler import compile_project, rules
from yaoci.diagnostics import Code
from yaoci.source import CODES

RULES = {rule.code.slug: rule for rule in rules()}
WORDS_ALONE = {"invalid", "error", "failed"}


def findings(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return compile_project(folder)[1].findings


@pytest.mark.parametrize("slug", RULES)
def test_every_finding_of_the_wrong_example_is_this_rules(slug, tmp_path):
    found = findings(tmp_path, RULES[slug].wrong)
    assert {finding.code for finding in found} == {RULES[slug].code.code}


@pytest.mark.parametrize("slug", RULES)
def test_the_right_example_has_nothing_to_be_said_of_it(slug, tmp_path):
    assert findings(tmp_path, RULES[slug].right) == ()


@pytest.mark.parametrize("slug", RULES)
def test_a_rule_says_what_it_is_about_in_sentences(slug):
    about = RULES[slug].about.strip()
    assert len(about) > 40
    assert about.endswith(".")


@pytest.mark.parametrize("slug", RULES)
def test_a_summary_is_lower_case_and_no_sentence(slug):
    summary = RULES[slug].code.summary
    assert summary[0].islower()
    assert not summary.endswith(".")
    assert summary not in WORDS_ALONE


def test_a_rule_has_the_name_of_its_file():
    names = [name.replace("_", "-") for name in contracts.names_of("rules")]
    assert names == [rule.code.slug for rule in rules()]


def test_a_rules_file_begins_with_its_code():
    for name in contracts.names_of("rules"):
        rule = contracts.extension("rules", name, "RULE")
        module = inspect.getmodule(rule.see)
        assert module is not None
        assert (module.__doc__ or "").startswith(f"{rule.code.code}: ")


def codes():
    of_modules = [
        code
        for module in (spec, loader, documents)
        for code in vars(module).values()
        if isinstance(code, Code)
    ]
    return [
        *((code, slug) for code, (slug, _) in CODES.items()),
        *{(code.code, code.slug) for code in of_modules},
        *((rule.code.code, rule.code.slug) for rule in rules()),
    ]


@pytest.mark.parametrize("part", [0, 1])
def test_codes_and_slugs_are_each_of_one_finding(part):
    assert [name for name, times in Counter(code[part] for code in codes()).items() if times > 1] == []


def test_a_code_tells_its_family():
    families = {
        "0": "reading",
        "1": "shape",
        "2": "references",
        "3": "callbacks",
        "4": "tools",
        "5": "models",
    }
    assert all(code[0] == "Y" and code[1:].isdecimal() and len(code) == 4 for code, _ in codes())
    assert {code[1] for code, _ in codes()} <= {*families, "6", "8", "9"}


def test_every_rule_is_seen_at_work_in_a_golden_case():
    told = "\n".join(path.read_text("utf-8") for path in (Path(__file__).parent / "cases").rglob("*.md"))
    assert [rule.code.code for rule in rules() if f"[{rule.code.code}]" not in told] == []
