import subprocess
import sys

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from yaoci.expressions import parse, program
from yaoci.templating import (
    RenderError,
    TemplateProblem,
    Use,
    _compared,
    _defaulted,
    _quick,
    _quick_expression,
    evaluate,
    expression_uses,
    has_template,
    render,
    uses,
)
from yaoci.values import compact

NAMES = {
    "args": {
        "city": "京都",
        "amount": 80,
        "paid": True,
        "items": [1, 2],
        "keys": "k",
        "none": None,
        "to": {"a": [1]},
    },
    "vars": {"shop": "ACME"},
}


def test_a_text_without_braces_is_no_template_and_stays_the_same_object():
    text = "100 % {a} # no {template"
    assert not has_template(text)
    assert render(text, {}) is text
    assert uses(text) == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ args.amount }}", 80),
        (" \n{{args.to}}\n", {"a": [1]}),
        ("{{ args.amount + 1 }}\n", 81),
        ("{{ args.amount > 50 }}", True),
        ("{{ args.none }}", None),
        ("{{ null }}", None),
        ("{{ {'a': [true, false, null]} }}", {"a": [True, False, None]}),
        ("{{ args['items'] | map('string') }}", ["1", "2"]),
        ("{{ range(3) }}", [0, 1, 2]),
        ("{{ '12' }}", "12"),
        ("{{ args.city, args.amount }}", ["京都", 80]),
        ("{{ 'a' if args.paid }}", "a"),
        ("{{ 'a' if not args.paid }}", None),
    ],
)
def test_a_text_that_is_one_expression_keeps_its_type(text, value):
    assert render(text, NAMES) == value
    assert compact(render(text, NAMES)) == compact(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ args.city }} {{ args.amount }}\n", "京都 80\n"),
        ("{{ args.paid }}/{{ args.none }}/{{ args.to }}", 'true//{"a":[1]}'),
        ("{{ args.city | upper }}: {{ args | tojson }}", None),
        ("{{ args.city ~ args.paid ~ args.none ~ args.to }}!", '京都true{"a":[1]}!'),
        ("{{ [1, null, true] | join('-') }}!", "1--true!"),
        ("{{ {'城': '京'} | tojson(1) }}!", '{\n "城": "京"\n}!'),
        ("{% if args.paid %}yes{% else %}no{% endif %}", "yes"),
        ("{% for i in args.to.a %}{{ loop.index }}:{{ i }}{% endfor %}", "1:1"),
        ("{% set x = args.amount * 2 %}{{ x }}", "160"),
        ("{% raw %}{{ args }} {# x #}{% endraw %} {{ args.amount }}", "{{ args }} {# x #} 80"),
        ("{{- args.amount -}} x", "80x"),
        ("a\n\n{{ args.amount }}\n\n", "a\n\n80\n\n"),
        ("{{ args.amount }}}", "80}"),
    ],
)
def test_any_other_template_becomes_a_text(text, value):
    if value is None:
        value = f"京都: {compact(NAMES['args'])}"
    assert render(text, NAMES) == value


def test_texts_in_lists_and_mappings_are_filled_in_and_keys_are_not():
    value = {"{{ a }}": ["{{ args.amount }}", 1, None, {"x": "no {{ args.city }}"}]}
    assert render(value, NAMES) == {"{{ a }}": [80, 1, None, {"x": "no 京都"}]}


def test_a_value_is_never_a_template():
    assert render("<{{ args.x }}>", {"args": {"x": "{{ args.y }}"}}) == "<{{ args.y }}>"
    assert render("{{ args.x }}", {"args": {"x": "{{ 1 + 1 }}"}}) == "{{ 1 + 1 }}"


def test_a_result_shares_nothing_with_the_names():
    names = {"args": {"to": {"a": [1]}}}
    for text in ("{{ args.to }}", "{{ args.to or 1 }}"):
        render(text, names)["a"].append(2)
    assert names == {"args": {"to": {"a": [1]}}}


@pytest.mark.parametrize("key", ["items", "keys", "get", "values", "pop", "update"])
def test_a_name_on_a_mapping_is_its_key_and_never_a_method(key):
    assert render(f"{{{{ args.{key} }}}}", {"args": {key: 7}}) == 7
    assert render(f"{{{{ args.{key} + 0 }}}}", {"args": {key: 7}}) == 7
    with pytest.raises(RenderError, match=f"args.{key} is not there"):
        render(f"{{{{ args.{key} ~ '' }}}}", {"args": {"a": 1}})


@pytest.mark.parametrize(
    ("text", "told", "line"),
    [
        ("{{ args.citty }}", "args.citty is not there (there are: city, zip)", 1),
        ("a\n{{ args.citty | upper }}", "args.citty is not there (there are: city, zip)", 2),
        ("a\n{{ args.citty ~ 1 }}", "args.citty is not there (there are: city, zip)", 2),
        ("{{ [args.citty] }}", "args.citty is not there (there are: city, zip)", 1),
        ("{{ args.city.name }}", "args.city.name is not there (args.city is a text)", 1),
        ("{{ args.zip.a.b + 1 }}", "args.zip.a is not there (args.zip is null)", 1),
        ("{{ arg.city }}!", "arg is not there (there are: args, list)", 1),
        ("{{ list[0].nam + 1 }}", "list.0.nam is not there (there are: name)", 1),
        ("{{ list[7] }}", "list.7 is not there (list is a list)", 1),
        ("{% for i in list %}\n{{ i.nam }}{% endfor %}", "i.nam is not there (there are: name)", 2),
        ("{{ list | map(attribute='nam') | join }}", "nam is not there (there are: name)", 1),
    ],
)
def test_what_is_not_there_is_told_by_its_path_with_what_there_is(text, told, line):
    names = {"args": {"city": "x", "zip": None}, "list": [{"name": "n"}]}
    with pytest.raises(RenderError) as caught:
        render(text, names)
    assert (caught.value.text, caught.value.line) == (told, line)


def test_many_names_are_not_listed():
    with pytest.raises(RenderError) as caught:
        render("{{ args.x }}", {"args": {str(number): 1 for number in range(20)}})
    assert caught.value.text == "args.x is not there"


@pytest.mark.parametrize(
    "text",
    ["{{ args.a.b | default('d') }}", "{{ x | default('d') }}", "{{ x.y if x.y is defined else 'd' }}"],
)
def test_default_and_defined_cover_a_whole_path(text):
    assert render(text, {"args": {}}) == "d"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("args.amount > 50", True),
        (" args.amount\n", 80),
        ("true", True),
        ("False", False),
        ("null", None),
        ("args.none is null", True),
        ("args.city is matches('^京')", True),
        ("args.city is matches('東')", False),
        ("'git push -f' is glob('git push*')", True),
        ("args.x is defined and args.x.y", False),
        ({"a": "{{ x }}"}, {"a": "{{ x }}"}),
        (True, True),
        (None, None),
    ],
)
def test_a_bare_expression_gives_its_value_and_anything_else_stands_for_itself(expression, value):
    assert evaluate(expression, NAMES) == value


@pytest.mark.parametrize(
    ("text", "line"), [("a\n{{ 1 +", 2), ("{{ a | nope }}", 1), ("\n{% include 'x' %}", 2)]
)
def test_a_text_that_is_no_template_fails_to_render_at_its_line(text, line):
    with pytest.raises(RenderError) as caught:
        render(text, {})
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ args.city + 1 }}", "`+` does not go with a text and a number; `~` joins anything as text"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% for a in args.amount %}{% endfor %}", "a loop goes through a list, not a number"),
        ("{{ [] | first }}", "no first item, sequence was empty"),
        ("{{ args.amount | length }}", "object of type 'int' has no len()"),
        ("{{ args.amount | length }}!", "object of type 'int' has no len()"),
        ("{{ range }}", "a function is not data"),
        ("{{ {1: 2} }}", "the key 1 is not text"),
        ("{{ args | items | first | items }}", "`items` takes a mapping, not a list"),
    ],
)
def test_what_goes_wrong_with_values_is_told(text, told):
    with pytest.raises(RenderError) as caught:
        render(text, NAMES)
    assert caught.value.text == told


def test_a_number_that_json_cannot_hold_is_an_error_on_both_paths():
    for text in ("{{ args.x }}", "{{ args.x or 1 }}", "-{{ args.x }}"):
        with pytest.raises(RenderError, match="nan is not a JSON number"):
            render(text, {"args": {"x": float("nan")}})


def test_uses_tells_paths_and_lines_without_a_parser():
    found = uses("a {{ args.city }}\n{{ \n vars.shop | upper }}{{ args.city }}")
    assert found == (
        Use(("args", "city"), 1, guarded=False),
        Use(("vars", "shop"), 3, guarded=False),
        Use(("args", "city"), 3, guarded=False),
    )


def test_expression_uses_tells_paths_and_lines():
    assert expression_uses("\n args.city") == (Use(("args", "city"), 2, guarded=False),)
    assert expression_uses("true") == ()
    assert [use.path for use in expression_uses("args.a > vars.b")] == [("args", "a"), ("vars", "b")]


def test_a_text_of_dotted_paths_never_imports_jinja2():
    code = (
        "import sys; from yaoci.templating import render, uses, evaluate, expression_uses\n"
        "uses('a {{ b.c | upper }}'); render('a {{ b.c | tojson }}', {'b': {'c': [1]}})\n"
        "expression_uses('a.b'); evaluate('true', {})\n"
        "sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- the quick path and the parser agree -----------------------------------------------------------

WORDS = st.sampled_from(
    ["args", "city", "items", "x", "true", "not", "in", "self", "loop", "range", "值", "a²", "_p"]
)
PATHS = st.lists(WORDS, min_size=1, max_size=3).map(".".join)
FILTERS = st.sampled_from(
    ["", "", "|upper", " | lower", "| tojson", "|trim", "|length ", "|string", "|title", "|first"]
)
SPACE = st.sampled_from(["", " ", "\n", "\t "])
INLINE = st.sampled_from(["", " ", "\t "])
TEXTS = st.text(alphabet="ab {}|#%.\n-京", max_size=6)


def templates(space):
    slots = st.tuples(space, PATHS, space, FILTERS, space).map(lambda parts: "{{" + "".join(parts) + "}}")
    return st.lists(st.one_of(slots, slots, TEXTS), min_size=1, max_size=5).map("".join)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["city", "items", "x", "值"]), inner)
    ),
    max_leaves=6,
)
PLAIN = st.dictionaries(st.sampled_from(["args", "city", "x", "值", "loop"]), VALUES)


def outcome(call):
    try:
        return compact(call())
    except RenderError as error:
        return error.text, error.line


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(templates(SPACE))
def test_the_quick_path_and_the_parser_find_the_same_names(text):
    assume(has_template(text) and _quick(text) is not None)
    assert uses(text) == parse(text, bare=False).uses


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(templates(INLINE), PLAIN)
def test_the_quick_path_and_the_parser_render_the_same(text, names):
    assume(has_template(text) and _quick(text) is not None)
    assert outcome(lambda: render(text, names)) == outcome(lambda: program(text, bare=False).run(names))


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(PATHS, INLINE, PLAIN)
def test_the_quick_path_and_the_parser_agree_on_expressions(path, space, names):
    text = space + path + space
    assume(_quick_expression(text) is not None)
    assert expression_uses(text) == parse(text, bare=True).uses
    assert outcome(lambda: evaluate(text, names)) == outcome(lambda: program(text, bare=True).run(names))


OPERANDS = st.one_of(
    PATHS,
    st.sampled_from(
        ["a", "args.x", "'it'", '"q"', "12", "true", "null", "not", "in.b", "a.and", "range", "a.__class__", "a.items",
         "self.x", "loop"]
    ),
)  # fmt: skip
OPERATORS = st.sampled_from([" == ", "!=", " < ", "<=", ">=", " > ", " in ", " not in ", " is ", " is not "])


@given(st.sampled_from(["", "not "]), OPERANDS, OPERATORS, OPERANDS | st.just("defined"))
def test_names_of_comparisons_are_those_the_parser_finds(before, left, operator, right):
    text = f"{before}{left}{operator}{right}"
    quick = _compared(text)
    assert quick is None or tuple(quick) == tuple(parse(text, bare=True).uses)


@given(OPERANDS)
def test_the_name_of_a_path_with_a_default_is_what_the_parser_finds(path):
    text = f"{{{{ {path} | default('x y') }}}}"
    quick = _defaulted(text)
    assert quick is None or tuple(quick) == tuple(parse(text, bare=False).uses)


def test_simple_conditions_are_judged_without_the_parser():
    for text in (
        "event.args.id in args.closed",
        "shared.status == 'on its way'",
        "steps.order.expected is defined",
    ):
        assert _compared(text) is not None
    assert _defaulted("{{ steps.answer | default('A person will write to you.') }}") is not None


@given(st.text(alphabet="ab {}|#%.\n-京'\"()[]=!&~+*/\\,:0", max_size=30))
def test_any_text_is_a_template_or_a_told_problem(text):
    names = {"a": {"b": 1}}
    told = [problem_of(uses, text), problem_of(expression_uses, text)]
    told += [problem_of(render, text, names), problem_of(evaluate, text, names)]
    for problem in filter(None, told):
        assert str(problem)
        assert 1 <= problem.line <= text.count("\n") + 1


def problem_of(call, *args):
    try:
        call(*args)
    except (TemplateProblem, RenderError) as problem:
        return problem
