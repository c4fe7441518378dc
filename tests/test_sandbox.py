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
        "{% set s %}{% for a in range(3) %}{{ long }}{% endfor %}{% endset %}",
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


def test_the_filters_are_those_of_jinja2_but_for_a_few():
    left_out = {"pprint", "random", "urlize", "wordwrap", "xmlattr"}
    assert set(DEFAULT_FILTERS) - set(environment().filters) == left_out
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


DOUBLED = "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}"
PAIRED = DOUBLED.replace("[ns.x, ns.x]", "(ns.x, ns.x)")
MAPPED = DOUBLED.replace("[ns.x, ns.x]", "{'a': ns.x, 'b': ns.x}").replace("range(60)", "range(50)")
MEGA = "('a' * 1000000)"


@pytest.mark.parametrize(
    "text",
    [
        "{{ ('a' * 40 ~ '!') is matches('^(a+)+$') }}",
        "{{ ['a' * 40 ~ '!'] | select('matches', '^(a+)+$') | list }}",
        DOUBLED + "{{ ns.x }}",
        DOUBLED + "{{ ns.x == ns.y }}",
        DOUBLED + "{{ ns.x < ns.y }}",
        DOUBLED + "{{ ns.x in [ns.y] }}",
        DOUBLED + "{{ ns.x is eq(ns.y) }}",
        DOUBLED + "{{ ns.x is upper }}",
        DOUBLED + "{{ [ns.x] | select('in', [ns.y]) | list }}",
        DOUBLED + "{{ [ns.x, ns.y] | sort }}",
        DOUBLED + "{{ [{'k': ns.x}, {'k': ns.y}] | max(attribute='k') }}",
        DOUBLED + "{{ {'a': ns.x, 'b': ns.y} | dictsort(by='value') }}",
        DOUBLED + "{{ [ns.x].index(ns.y) }}",
        DOUBLED + "{% for i in [ns.x, ns.y] %}{{ loop.changed(i) }}{% endfor %}",
        DOUBLED + "{{ ns.x | title }}",
        DOUBLED + "{{ ns.x | escape }}",
        DOUBLED + "{{ 'a' | replace(ns.x, '') }}",
        DOUBLED + "{{ '%s' % ns.x }}",
        DOUBLED + "{{ ns.x | tojson(2) }}",
        DOUBLED + "{{ ns.x ~ '' }}",
        DOUBLED + "{{ {'a': 1}[ns.x] }}",
        MAPPED + "{{ ns.x }}",
        MAPPED + "{{ ns.x == ns.y }}",
        PAIRED + "{{ {ns.x: 1} }}",
        PAIRED + "{{ dict([(ns.x, 1)]) }}",
        PAIRED + "{{ [ns.x] | unique | list }}",
        PAIRED + "{{ ns.x in {'a': 1} }}",
        "{{ [[1] * 1000] * 1000000 }}",
        "{{ [[1] * 1000] * 1000 }}",
        "{{ [[[1] * 1000] * 1000] * 1000 }}",
        "{{ (1,) * 100000000 }}",
        "{{ (('%(a)s' * 100000) % {'a': 'x' * 1000000}) | length }}",
        "{{ (('%(a)s' * 1000) % {'a': 'x' * 100000}) | length }}",
        "{{ ('%(a)9999d' * 100000) % {'a': 1} }}",
        "{{ ('%(a)9999d' * 1000) % {'a': 1} }}",
        "{{ '%(a)99999999999d' % {'a': 1} }}",
        "{{ '%(a(b))99999999999d' % {'a(b)': 1} }}",
        f"{{{{ {MEGA}.replace('a', 'b' * 1000000) }}}}",
        f"{{{{ {MEGA} | replace('a', 'b' * 1000000) }}}}",
        f"{{{{ {MEGA}.join(['a'] * 10000) }}}}",
        f"{{{{ ['a'] * 10000 | join({MEGA}) }}}}",
        "{{ range(10000) | map('replace', '1', 'b' * 1000000) | list }}",
        "{{ ('a\n' * 500000) | indent(9999) }}",
        f"{{{{ {MEGA} | wordwrap(1) }}}}",
        "{{ ([[1] * 1000] * 10000) | sum(start=[]) }}",
        "{% set ns = namespace(l=[]) %}{% for i in range(9999) %}{% set ns.l = ns.l + ['a' * 1000000] %}{% endfor %}",
        "{% set ns = namespace(l=[]) %}{% for i in range(99) %}{% for j in l * 99 %}{% set ns.l = ns.l + [1] %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(l=1) %}{% for i in range(9999) %}{% set ns.l = [ns.l, long[1:]] %}{% endfor %}",
        "{% set ns = namespace(l=1) %}{% for i in range(9999) %}{% set s %}"
        + "x" * 9999
        + "{% endset %}"
        + "{% set ns.l = [ns.l, s] %}{% endfor %}",
        "{{ 'a' is glob('[' * 10000) }}",
        f"{{{{ {MEGA} is glob('*a' * 400 ~ 'b') }}}}",
        f"{{{{ {MEGA}.strip('b' * 500000 ~ 'a') }}}}",
        f"{{{{ {MEGA} | trim('b' * 500000 ~ 'a') }}}}",
        f"{{{{ {MEGA}.rfind('b' ~ 'a' * 500000) }}}}",
        "{{ ('a ' * 500000).split() }}",
        "{{ ('a\n' * 500000).splitlines() }}",
        f"{{{{ {MEGA} | list }}}}",
        f"{{{{ {MEGA} | urlencode }}}}",
        "{{ ('<!---->' * 140000) | striptags }}",
        "{{ ('a ' * 500000) | title }}",
        f"{{{{ [{MEGA}] * 1000 | sort }}}}",
        "{{ range(9999) | map(attribute='a.' * 100000) | list }}",
        "{{ 1 | round(-1000000000) }}",
        "{{ ('f' * 1000000) | int(base=16) }}",
        "{{ (long | safe).ljust(10 ** 10) }}",
        "{% if range(9999) | select('eq', long) and range(9999) | select('in', [long] * 9999) %}{% endif %}",
    ],
)
def test_what_would_take_all_time_or_memory_ends_with_an_error(text):
    with pytest.raises(RenderError):
        render(text + "!", NAMES)
    with pytest.raises(RenderError):
        render(text, NAMES)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ ('a' * 40 ~ '!') is matches('^(a+)+$') }}", r"the search for `\^\(a\+\)\+\$` takes too long"),
        ("{{ 'a' is matches(t ~ '(') }}", r"`text\(` is no regular expression"),
        (DOUBLED + "{{ ns.x }}", "the result goes beyond the limit of 10,485,760 bytes"),
        (DOUBLED + "{{ ns.x == ns.y }}", "a comparison goes beyond the limit"),
        (
            f"{{{{ {MEGA}.replace('a', long) }}}}",
            "`replace` goes beyond the limit of 10,485,760 bytes",
        ),
        ("{{ ('a\n' * 500000) | indent(9999) }}", "`indent` goes beyond the limit"),
        (
            "{{ 'a' is glob('[' * 10000) }}",
            "the pattern of `glob` is longer than the limit of 1,000 characters",
        ),
        ("{{ '%s' * 9999 % t }}", "a layout with `%` is beyond the limit of 10,000 characters"),
        ("{{ '%d' % t }}", "`%d` does not go with its values: %d format: a real number is required, not str"),
        ("{{ 'inf' | float }}", "`float` takes a number that is finite and not too large"),
        ("{{ (1e308 * 10) | int }}", "`int` takes a number that is finite and not too large"),
        ("{{ ('1' * 5000) | int }}", "`int` takes a text of 3,500 characters at most"),
        ("{{ 10 ** 400 / 3 }}", "the result of `/` is a number beyond the limit"),
        ("{{ ['a', 1] | sum }}", "`sum` adds up numbers here, not a text"),
        ("{{ {l: 1} }}", "a key is a text, not a list"),
        ("{{ m[1:2] }}", r"a part as in `x\[1:2\]` is of a text or a list, not a mapping"),
    ],
)
def test_the_error_tells_what_is_too_much(text, told):
    with pytest.raises(RenderError, match=told):
        render(text, NAMES)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("t[1:3] ~ l[:1]", "ex[1]"),
        ("l[::-1]", [2, 1]),
        ("[[1], [2]] | sum(start=[])", [1, 2]),
        ("[{'a': 1.5}, {'a': 2}] | sum(attribute='a')", 3.5),
        ("'a b  c'.split()", ["a", "b", "c"]),
        ("'a,b,c'.rsplit(',', 1)", ["a,b", "c"]),
        ("'a,b,c'.split(',', maxsplit=1)", ["a", "b,c"]),
        ("'-'.join(['a', 'b'])", "a-b"),
        ("'aaa' | replace('a', 'b', 2)", "bba"),
        ("'aaa'.replace('a', 'b')", "bbb"),
        ("'a\nb' | indent(2)", "a\n  b"),
        ("'%(a)s: %(b)03d%%' % {'a': [1, null], 'b': 7}", "[1,null]: 007%"),
        ("'%s' % [[1]]", "[[1]]"),
        ("[{'k': 'b'}, {'k': 'A'}] | sort(attribute='k') | map(attribute='k') | list", ["A", "b"]),
        ("[3, 1, 3] | unique | list | last", 1),
        ("([{'k': 1, 'v': 2}] | groupby('k') | first).list | length", 1),
        ("{'b': 1, 'a': 2} | dictsort | first", ["a", 2]),
        ("dict([('a', 1)], b=2)", {"a": 1, "b": 2}),
        ("{1: 'one'}[1]", "one"),
        ("[1, 2] | map('string') == ['1', '2']", True),
        ("1 in l and 3 not in l and 'ex' in t", True),
        ("'42.5' | int", 42),
        ("'x' | int(7)", 7),
        ("'1.5' | float", 1.5),
        ("'<b>a</b>' | striptags", "a"),
        ("'a b' | urlencode", "a%20b"),
        ("'two words' | title ~ ('two words' | wordcount)", "Two Words2"),
        ("[5, 1] | select('gt', 3)", [5]),
        ("'ab' is upper", False),
    ],
)
def test_watched_filters_methods_and_operators_give_what_they_should(expression, value):
    assert evaluate(expression, NAMES) == value


def test_the_names_of_the_caller_cannot_be_changed_through_a_class():
    with pytest.raises(RenderError, match="is not there"):
        evaluate("dict.clear(m)", {"m": {"a": 1}})


def test_a_loop_over_many_rows_is_within_the_limits():
    rows = [{"name": f"n{number}", "age": number, "tags": ["a", "b"]} for number in range(2000)]
    text = (
        "{% for r in rows if r.age > 10 and 'a' in r.tags %}{{ r.name | upper }}: {{ r.age }}\n{% endfor %}"
    )
    assert len(render(text, {"rows": rows}).splitlines()) == 1989
    assert (
        len(render("{{ rows | sort(attribute='age') | rejectattr('age', 'lt', 5) | list }}", {"rows": rows}))
        == 1995
    )
