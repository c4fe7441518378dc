import pytest

from yaoci.expressions import MAX_NESTING, TemplateProblem
from yaoci.templating import expression_uses, uses


def shown(found):
    return [".".join(use.path) + ("?" if use.guarded else "") for use in found]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{ a.b + c['d'].e[0] }}", ["a.b", "c.d.e.0"]),
        ("{{ a[b.c].d }}", ["b.c", "a"]),
        ("{{ a.name.upper() }}", ["a.name"]),
        ("{{ a.b | map(attribute='x') | join(c) }}", ["a.b", "c"]),
        ("{% set x = a %}{{ x.y }}{{ a }}", ["a", "a"]),
        (
            "{% for k, v in a | items if v.z %}{{ k }}{{ v.x }}{{ loop.index }}{{ b }}{% endfor %}{{ v }}",
            ["a", "b", "v"],
        ),
        ("{% with x = a %}{{ x }}{% endwith %}{{ x }}", ["a", "x"]),
        ("{% set x %}{{ a }}{% endset %}{{ x }}", ["a"]),
        ("{% filter upper %}{{ a }}{% endfilter %}", ["a"]),
        ("{{ range(a) | list }}{{ null }}{{ dict(x=b) }}", ["a", "b"]),
        ("{% raw %}{{ a }}{% endraw %}{{ b }}", ["b"]),
    ],
)
def test_the_names_of_the_caller_are_found_and_the_texts_own_are_not(text, names):
    assert shown(uses(text)) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{ a.b | default(c) }}", ["a.b?", "c"]),
        ("{{ (a or b) | d('') }}", ["a", "b"]),
        (
            "{% if a.b is defined %}{{ a.b.c }}{{ a }}{% else %}{{ a.b }}{% endif %}",
            ["a.b?", "a.b.c?", "a?", "a.b"],
        ),
        (
            "{% if a is not defined %}{{ a }}{% elif b is defined %}{{ a }}{{ b }}{% endif %}",
            ["a?", "a", "b?", "a?", "b?"],
        ),
        ("{{ a if b is undefined else b.c }}", ["b?", "a", "b.c?"]),
        ("{{ a is defined and a.b and not c }}", ["a?", "a.b?", "c"]),
        ("{{ a is undefined or a.b }}", ["a?", "a.b?"]),
        ("{{ a is defined or a.b }}", ["a?", "a.b"]),
        ("{{ x if a is defined and not b is undefined else a }}", ["a?", "b?", "x", "a"]),
        ("{{ ab if a is defined }}", ["a?", "ab"]),
    ],
)
def test_a_use_is_guarded_where_the_text_copes_with_its_absence(text, names):
    assert shown(uses(text)) == names


def test_lines_count_from_one_within_the_text():
    found = uses("a\n{{ a + 1 }}\n{% if b %}\n\n{{ c }}{% endif %}")
    assert [(use.path, use.line) for use in found] == [(("a",), 2), (("b",), 3), (("c",), 5)]


RAW = "braces that are text stand between `{% raw %}` and `{% endraw %}`"


@pytest.mark.parametrize(
    ("text", "told", "help_"),
    [
        ("{{ a && b }}", "`&&` is no operator", "write `and`"),
        ("{{ a || b }}", "`||` is no operator", "write `or`"),
        ("{{ !a }}", "`!` is no operator", "write `not x`"),
        ("{{ a = 1 }}", "`=` does not compare", "write `==`"),
        ("{% if a = 1 %}{% endif %}", "`=` does not compare", "write `==`"),
        ("{{ a === 1 }}", "`=` does not compare", "write `==`"),
        ("{{ a ? b : c }}", "`?` is no operator", "write `a if condition else b`"),
        ("{{ “a” }}", "a curly quote begins no text", "write a straight quote, `'`"),
        ("{{ a（1） }}", "`（` has no meaning in an expression", "write `(`"),
        ("{{ $a }}", "`$` has no meaning in an expression", RAW),
        ("{{ a", "`{{` is not closed", "end it with `}}`"),
        ("{% if a", "`{%` is not closed", "end it with `%}`"),
        ("{% if a %}", "`{% if %}` is not closed", "end it with `{% endif %}`"),
        ("{% iff a %}", "there is no tag `iff`", "there are for, if, set, with, filter and raw"),
        ("{{ }}", "an expression is missing or not finished", ""),
        ("{{ a + }}", "an expression is missing or not finished", ""),
        ("{{ a 'b' }}", "a string is not expected here", RAW),
        ('{{"a": 1}}', "`:` is not expected here", RAW),
        ("{{ a }} {# c #}", "there are no `{# #}` comments", "write a YAML comment outside of the text"),
        ("{{ a {# b #} }}", "`#` has no meaning in an expression", RAW),
        ("{# c {{ a }}", "there are no `{# #}` comments", "write a YAML comment outside of the text"),
        ("{{ a | uper }}", "there is no filter `uper`", "did you mean `upper`?"),
        ("{{ a | random }}", "there is no filter `random`", ""),
        ("{{ a is defned }}", "there is no test `defned`", "did you mean `defined`?"),
        (
            "{{ a is matches('(') }}",
            "`(` is no regular expression: missing ), unterminated subpattern",
            "",
        ),
        ("{% include 'a' %}", "`include` is not available in templates", ""),
        ("{% import 'a' as b %}", "`import` is not available in templates", ""),
        ("{% from 'a' import b %}", "`from` is not available in templates", ""),
        ("{% extends 'a' %}", "`extends` is not available in templates", ""),
        ("{% macro m() %}{% endmacro %}", "`macro` is not available in templates", ""),
        ("{% for a in b recursive %}{% endfor %}", "`recursive` loops are not available in templates", ""),
        ("{{ self.a }}", "`self` is no name in templates", ""),
        ("{{" + "(" * 3000 + ")" * 3000 + "}}", "the text is nested too deeply", "make it simpler"),
    ],
)
def test_a_wrong_template_is_told_with_what_to_write(text, told, help_):
    with pytest.raises(TemplateProblem) as caught:
        uses(text)
    assert (caught.value.text, caught.value.help) == (told, help_)


@pytest.mark.parametrize(
    ("text", "told", "help_"),
    [
        ("{{ a }}", "an expression has no braces around it", "write it without `{{` and `}}`"),
        ("a = 1", "`=` does not compare", "write `==`"),
        ("a && b", "`&&` is no operator", "write `and`"),
        ("yes please", "`please` is not expected here", "a text stands in quotes"),
        ("", "an expression is missing or not finished", ""),
        ("a }} b", "`}}` is not expected here", "a text stands in quotes"),
    ],
)
def test_a_wrong_expression_is_told_with_what_to_write(text, told, help_):
    with pytest.raises(TemplateProblem) as caught:
        expression_uses(text)
    assert (caught.value.text, caught.value.help) == (told, help_)


def test_a_problem_has_the_line_it_stands_in():
    with pytest.raises(TemplateProblem) as caught:
        uses("a\nb {{ c }}\n{{ d = 1 }}")
    assert caught.value.line == 3


def test_braces_of_comments_in_raw_and_in_texts_of_expressions_are_text():
    assert shown(uses("{% raw %}{# a #}{% endraw %}{{ '{# b #}' ~ c }}")) == ["c"]


def test_loops_nest_as_deep_as_the_limit_and_no_deeper():
    def nested(depth):
        return "{% for a in b %}" * depth + "{% endfor %}" * depth

    assert shown(uses(nested(MAX_NESTING) + nested(1))) == ["b"] * (MAX_NESTING + 1)
    with pytest.raises(TemplateProblem, match="loops nest more than 3 deep"):
        uses(nested(MAX_NESTING + 1))
