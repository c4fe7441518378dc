import pytest
from jinja2.defaults import DEFAULT_FILTERS

from yaoci.sandbox import MAX_RANGE, MAX_TEXT, environment
from yaoci.templating import RenderError, evaluate, render

NAMES = {"t": "text", "l": [1, 2], "m": {"a": 1}, "big": 10**9, "long": "x" * (MAX_TEXT // 2)}


@pytest.mark.parametrize(
    "expression",
    [
        "'x' * big",
        "big * 'x'",
        "[1] * big",
        "9 ** big",
        "2 ** 14001",
        "(2 ** 9000) * (2 ** 9000)",
        "long + long + 'x'",
        "long ~ long ~ 'x'",
        "[long, long, 'x'] | join",
        "'%999999d' % 1",
        "'%*d' % (big, 1)",
        "'%99999s' | format(t)",
        "range(big)",
        "range(10 ** 30)",
        "t | center(big)",
        "t | indent(big)",
        "1.5 | round(big)",
        "[1] | batch(big, 0) | list",
        "[1] | slice(big) | list",
    ],
)
def test_a_huge_result_is_refused_before_it_is_made(expression):
    with pytest.raises(RenderError, match=r"limit|at most"):
        evaluate(expression, NAMES)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'x' * 3", "xxx"),
        ("2 ** 10", 1024),
        ("2 ** -1", 0.5),
        ("2 ** 0.5 > 1", True),
        ("3 * 1.5", 4.5),
        ("[1] + [2]", [1, 2]),
        ("'%5.2f' % 1.5", " 1.50"),
        ("'%s-%s' | format(t, 1)", "text-1"),
        ("7 % 4", 3),
        ("t | center(6)", " text "),
        ("1.55 | round(1, 'floor')", 1.5),
        ("[1, 2, 3] | batch(2) | list", [[1, 2], [3]]),
        ("m | attr('a')", 1),
        ("t | trim('t')", "ex"),
        ("l | count", 2),
    ],
)
def test_what_is_within_the_limits_is_as_in_jinja2(expression, value):
    assert evaluate(expression, NAMES) == value


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in range(9999) %}{{ long }}{% endfor %}",
        "{{ long }}{{ long }}x",
        "{% set s %}{% for a in range(9999) %}{{ long }}{% endfor %}{% endset %}",
    ],
)
def test_a_long_text_is_refused_while_it_is_made(text):
    with pytest.raises(RenderError, match="longer than the limit of 1,048,576 bytes"):
        render(text, NAMES)


def test_a_text_counts_as_bytes_of_utf_8():
    with pytest.raises(RenderError, match="longer than the limit"):
        render("{{ x }}!", {"x": "京" * (MAX_TEXT // 2)})


def test_a_long_value_that_only_passes_through_has_no_limit_here():
    assert render("{{ x }}", {"x": "y" * (2 * MAX_TEXT)}) == "y" * (2 * MAX_TEXT)


def test_all_loops_of_a_rendering_share_their_rounds():
    text = "{% for a in range(9000) %}{% for b in range(9000) %}{% endfor %}{% endfor %}"
    with pytest.raises(RenderError, match="the loops take more than 100,000 rounds"):
        render(text, {})
    assert len(render("{{ range(n) | list }}", {"n": MAX_RANGE})) == MAX_RANGE
    for _ in range(2):  # each rendering has rounds of its own
        assert render("{% for a in range(9000) %}{% endfor %}-", {}) == "-"


@pytest.mark.parametrize(
    "expression",
    [
        "t.__class__",
        "t['__class__']",
        "t | attr('__class__')",
        "l.append(1)",
        "l.sort()",
        "m.update({'b': 1})",
        "m.clear()",
        "t.format(1)",
        "t.center(9)",
        "t.zfill(9)",
        "range.__globals__",
        "[m] | map(attribute='__class__') | list",
        "(1).__class__",
        "null.__class__",
        "cycler(1)",
        "joiner()",
        "lipsum()",
    ],
)
def test_nothing_of_python_is_within_reach(expression):
    names = {"t": "text", "l": [2, 1], "m": {"a": 1}}
    with pytest.raises(RenderError, match=r"is not there|is unsafe"):
        evaluate(expression, names)
    assert names == {"t": "text", "l": [2, 1], "m": {"a": 1}}


def test_methods_of_texts_that_only_read_can_be_called():
    assert evaluate("t.upper().replace('X', 'x').split('x')", NAMES) == ["TE", "T"]
    assert evaluate("l.index(2)", NAMES) == 1


def test_no_filter_or_global_is_random_and_the_other_filters_are_jinja2s():
    assert set(DEFAULT_FILTERS) - set(environment().filters) == {"random"}
    assert set(environment().globals) == {"range", "dict", "namespace", "null"}


def test_the_environment_is_made_once():
    assert environment() is environment()


def test_a_filter_that_gives_its_items_piece_by_piece_gives_a_list():
    assert evaluate("l | map('string')", NAMES) == ["1", "2"]
    assert evaluate("[{'a': l | select('odd')}]", NAMES) == [{"a": [1]}]


def test_a_value_nested_too_deep_is_refused():
    deep = []
    for _ in range(70):
        deep = [deep]
    for expression in ("x", "[x]"):
        with pytest.raises(RenderError, match="nested deeper than 64 levels"):
            evaluate(expression, {"x": deep})


def test_marked_up_text_is_plain_text():
    assert type(evaluate("'<a>' | escape", {})) is str
    assert type(evaluate("['<a>' | safe]", {})[0]) is str
