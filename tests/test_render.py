import json
import re
from textwrap import dedent

import pytest

from yaoci import render
from yaoci.diagnostics import Diagnostic, report
from yaoci.source import Span

ASSISTANT = "assistants/helpdesk.yaml"
ORDERS = "processes/orders.yaml"


def finding(span, label="", **more):
    given = {
        "code": "Y201",
        "slug": "unknown-process",
        "severity": "error",
        "summary": "unknown process",
        **more,
    }
    return Diagnostic(span=span, label=label, **given)


def shown(findings, sources, *, files=1, **options):
    return render.text(report(findings, files, sources), **options)


def snippet(text, column, end_column=None, *, label="here", width=100, line=1):
    """Return the source line and the line below it of one finding in a file of one text."""
    span = Span("a.yaml", line, column, line, end_column or column + 1)
    lines = shown([finding(span, label)], {"a.yaml": text}, width=width).splitlines()
    return lines[3], lines[4]


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_finding_names_the_place_shows_the_line_underlines_the_span_and_helps():
    source = "name: Helpdesk\ntools:\n  - order.find\n"
    one = finding(
        Span(ASSISTANT, 3, 5, 3, 15), "no process is called `order.find`", help="did you mean `orders.find`?"
    )
    assert shown([one], {ASSISTANT: source}, files=6) == dedent("""\
        error[Y201]: unknown process
         --> assistants/helpdesk.yaml:3:5
          |
        3 |   - order.find
          |     ^^^^^^^^^^ no process is called `order.find`
          |
          = help: did you mean `orders.find`?

        1 error in 6 files""")


def test_a_place_in_another_file_has_its_own_snippet_below():
    one = finding(
        Span(ASSISTANT, 12, 3, 12, 4), "not here", related=(("but here", Span(ORDERS, 2, 3, 2, 7)),)
    )  # fmt: skip
    sources = {ASSISTANT: "\n" * 11 + "- x\n", ORDERS: "methods:\n  find:\n"}
    assert shown([one], sources).splitlines()[1:-2] == [
        "  --> assistants/helpdesk.yaml:12:3",
        "   |",
        "12 | - x",
        "   |   ^ not here",
        "   |",
        "  ::: processes/orders.yaml:2:3",
        "   |",
        " 2 |   find:",
        "   |   ---- but here",
    ]


def test_places_in_the_same_file_share_one_snippet_in_the_order_of_lines():
    related = (("first", Span("a.yaml", 1, 1, 1, 2)), ("second", Span("a.yaml", 4, 1, 4, 2)))
    one = finding(Span("a.yaml", 6, 1, 6, 2), "third", related=related)
    assert shown([one], {"a.yaml": "a\nb\nc\nd\ne\nf\n"}).splitlines()[2:-2] == [
        "  |",
        "1 | a",
        "  | - first",
        "...",
        "4 | d",
        "  | - second",
        "5 | e",
        "6 | f",
        "  | ^ third",
    ]


def test_wide_characters_count_two_columns():
    assert snippet("客服: x", 5) == ("1 | 客服: x", "  |       ^ here")
    assert snippet("a: 客服", 4, 6)[1] == "  |    ^^^^ here"
    assert snippet("ａ: x", 4)[1] == "  |     ^ here"


def test_combining_characters_take_no_column():
    assert snippet("e\u0301: x", 5)[1] == "  |    ^ here"


def test_tabs_expand_to_the_next_stop():
    assert snippet("a\tb", 3) == ("1 | a   b", "  |     ^ here")


@pytest.mark.parametrize(
    ("character", "seen"),
    [
        ("\x00", "␀"),
        ("\x1b", "␛"),
        ("\x7f", "␡"),
        ("\u202e", "<U+202E>"),
        ("\u200b", "<U+200B>"),
        ("\x85", "<U+0085>"),
    ],
)
def test_characters_that_a_terminal_obeys_or_hides_are_made_visible(character, seen):
    line, under = snippet(f"a: {character}b", 5)
    assert line == f"1 | a: {seen}b"
    assert under == "  |    " + " " * len(seen) + "^ here"
    assert character not in shown([finding(Span("a.yaml", 1, 1, 1, 1), f"x{character}", help=character)], {})


def test_a_long_line_is_cut_around_the_span():
    text = "x" * 300 + "ERROR" + "y" * 300
    line, under = snippet(text, 301, 306, width=60)
    assert len(line) <= 60
    assert line.startswith("1 | …")
    assert line.endswith("…")
    assert line[under.index("^") : under.rindex("^") + 1] == "ERROR"


def test_a_span_at_the_end_of_a_long_line_shows_what_is_before_it():
    line, under = snippet("w " * 200 + "END", 401, 404, width=60)
    assert line[under.index("^") : under.rindex("^") + 1] == "END"
    assert 56 <= len(line) <= 60


def test_a_line_of_a_megabyte_is_shown_around_the_span_alone():
    line, under = snippet("a" * 500_000 + "!" + "b" * 500_000, 500_001)
    assert len(line) <= 100
    assert line[under.index("^")] == "!"


def test_a_span_longer_than_the_line_that_is_shown_is_underlined_as_far_as_it_goes():
    line, under = snippet("a" * 500, 1, 501, width=60)
    assert line.endswith("…")
    assert len(under) <= 60


def test_a_span_of_several_lines_is_underlined_on_its_first():
    one = finding(Span("a.yaml", 1, 4, 3, 2), "this")
    assert "  |    ^^ this" in shown([one], {"a.yaml": "a: |x\n  b\n c\n"}).splitlines()


def test_an_empty_span_and_one_behind_the_line_get_one_caret():
    assert snippet("abc", 2, 2)[1] == "  |  ^ here"
    assert snippet("abc", 9, 12)[1] == "  |    ^ here"


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r"])
def test_lines_end_as_the_reader_ends_them(break_):
    assert snippet(f"a\u2028b{break_}c", 1, line=2)[0] == "2 | c"


def test_a_label_that_does_not_fit_behind_stands_below_and_wraps():
    label = "a label of many words " * 5
    lines = shown([finding(Span("a.yaml", 1, 3, 1, 4), label)], {"a.yaml": "abcdef"}, width=60).splitlines()
    assert lines[4] == "  |   ^"
    assert lines[5].startswith("  |   a label of")
    assert all(len(line) <= 60 for line in lines)
    assert " ".join(" ".join(line[4:].split()) for line in lines[5:-2]) == label.strip()


def test_a_long_help_wraps_with_its_indentation():
    help_ = "word " * 40
    lines = shown([finding(Span("", 1, 1, 1, 1), help=help_)], {}, width=60).splitlines()[1:-2]
    assert lines[0].startswith("  = help: word")
    assert all(line.startswith("          word") and len(line) <= 60 for line in lines[1:])


def test_a_file_without_text_is_named_without_a_line():
    other = (("the other one", Span("assistants/A.yaml", 1, 1, 1, 1)),)
    one = finding(
        Span("assistants/a.yaml", 1, 1, 1, 1), "`a` is there already", help="rename one", related=other
    )
    assert shown([one], {"assistants/a.yaml": ""}).splitlines()[1:-2] == [
        " --> assistants/a.yaml",
        "  = `a` is there already",
        "  = the other one: assistants/A.yaml",
        "  = help: rename one",
    ]


def test_what_is_said_of_the_whole_project_has_no_arrow():
    assert shown([finding(Span("", 1, 1, 1, 1), "30000 files")], {}).splitlines()[:2] == [
        "error[Y201]: unknown process",
        "  = 30000 files",
    ]


def test_findings_are_separated_by_an_empty_line_and_counted_at_the_end():
    place = Span("a.yaml", 1, 1, 1, 2)
    found = [
        finding(place, str(i), severity=s)
        for i, s in enumerate(["error", "error", "warning", "advice", "advice"])
    ]
    text = shown(found, {"a.yaml": "a"}, files=3)
    assert text.count("\n\n") == 5
    assert text.endswith("\n\n2 errors, 1 warning, 2 pieces of advice in 3 files")


def test_without_an_error_the_last_line_says_ok():
    assert shown([], {}, files=6) == "ok: 6 files"
    assert shown([finding(Span("", 1, 1, 1, 1), severity="warning")], {}, files=1).endswith(
        "\nok: 1 file, 1 warning"
    )


def test_colours_add_escapes_and_nothing_else():
    related = (("here", Span(ORDERS, 1, 1, 1, 8)),)
    found = [
        finding(Span(ASSISTANT, 1, 1, 1, 5), "a", help="b", related=related, severity=s)
        for s in ("error", "warning", "advice")
    ]
    sources = {ASSISTANT: "name: 客服", ORDERS: "methods: {}"}
    coloured = shown(found, sources, color=True)
    assert plain(coloured) == shown(found, sources)
    for style in (
        "1;31merror[Y201]",
        "1;33mwarning[Y201]",
        "1;36madvice[Y201]",
        "1;31m^^^^ a",
        "1;34m------- here",
    ):
        assert f"\x1b[{style}" in coloured
    assert "\x1b" not in shown(found, sources)


def test_a_line_has_place_severity_code_what_and_what_to_do():
    one = finding(Span(ASSISTANT, 3, 5, 3, 15), "no process\nis called `x`", help="did you mean `y`?")
    two = finding(Span("", 1, 1, 1, 1))
    assert render.line(report([one, two], 2, {})).splitlines() == [
        ".:1:1: error[Y201]: unknown process",
        "assistants/helpdesk.yaml:3:5: error[Y201]: no process␊is called `x` (did you mean `y`?)",
    ]


def test_json_is_versioned_and_holds_everything():
    related = (("here", Span(ORDERS, 2, 3, 2, 7)),)
    one = finding(Span(ASSISTANT, 3, 5, 3, 15), "no process 订单", help="ask", related=related)
    text = render.json(report([one], 6, {}))
    assert "订单" in text
    assert json.loads(text) == {
        "version": 1,
        "ok": False,
        "counts": {"errors": 1, "warnings": 0, "advice": 0, "files": 6},
        "findings": [
            {
                "code": "Y201", "slug": "unknown-process", "severity": "error", "summary": "unknown process",
                "label": "no process 订单", "help": "ask",
                "file": ASSISTANT, "line": 3, "column": 5, "end_line": 3, "end_column": 15,
                "related": [
                    {"label": "here", "file": ORDERS, "line": 2, "column": 3, "end_line": 2, "end_column": 7}
                ],
            }
        ],
    }  # fmt: skip


def test_a_file_name_that_is_not_utf8_can_be_written():
    one = finding(Span("assistants/\udcff.yaml", 1, 1, 1, 1))
    for text in (render.json(report([one], 1, {})), render.line(report([one], 1, {})), shown([one], {})):
        text.encode()


def test_visible_keeps_letters_of_every_script():
    for text in ("客服", "עברית", "हिन्दी", "می\u200cخواهم", "é"):
        assert render.visible(text) == text
    assert render.visible("a\nb", breaks=True) == "a\nb"


def test_a_long_word_in_narrow_letters_stays_whole_where_it_may_not_be_cut():
    assert render.wrapped("to the_very_long_name now", 8, cut=False) == ["to", "the_very_long_name", "now"]
    assert render.wrapped("答复客户的问题", 8, cut=False) == ["答复客户", "的问题"]


def test_wrapped_lines_fit_and_lose_no_word():
    text = "一二三四五六七八九十" * 8 + " and some words behind"
    lines = render.wrapped(text, 30)
    assert all(render.columns(line) <= 30 for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
