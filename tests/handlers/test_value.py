"""`value`: a result that is written down."""

import asyncio

import pytest

from yaoci import Failed, Runner

from ..project import project

FILES = {
    "processes/p.yaml": """
        methods:
          plain: {value: {days: [Mon, Sat], from: "09:00", none: null, zero: 0}}
          filled:
            parameters: {type: object, properties: {a: {}}}
            value: {whole: "{{ args.a }}", text: "<{{ args.a }}>", nested: [{key: "{{ args.a }}"}], "{{ key }}": 1}
          nothing: {value: null}
          broken: {value: "{{ args.a.b }}"}
          where: {value: "{{ context.key }} {{ context.run }}"}
        """,
}


@pytest.fixture
def registry(tmp_path):
    return project(tmp_path, FILES)


def run(registry, name, **more):
    return asyncio.run(Runner(registry).call(f"p.{name}", **more)).output


def test_what_is_written_is_the_result(registry):
    assert run(registry, "plain") == {"days": ["Mon", "Sat"], "from": "09:00", "none": None, "zero": 0}
    assert run(registry, "nothing") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (None, ""),
        ("a", "a"),
        ([1, {"b": "é"}], '[1,{"b":"é"}]'),
        (True, "true"),
        ("{{ args.a }}", "{{ args.a }}"),
    ],
)
def test_a_text_that_is_one_expression_keeps_the_type_and_data_is_no_template(registry, value, text):
    found = run(registry, "filled", args={"a": value})
    assert found["whole"] == value
    assert found["text"] == f"<{text}>"
    assert found["nested"] == [{"key": value}]
    assert found["{{ key }}"] == 1


def test_a_template_that_fails_is_told_with_its_place(registry):
    with pytest.raises(Failed) as caught:
        run(registry, "broken", args={"a": {}})
    assert caught.value.failure.kind == "template"
    assert caught.value.failure.place == "processes/p.yaml:8"
    assert "args.a" in caught.value.failure.text


def test_it_knows_where_it_is(registry):
    assert run(registry, "where", run="r") == "r/t r"


def test_it_only_reads(registry):
    assert {process.effect for process in registry.processes.values()} == {"read"}
