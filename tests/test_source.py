import json
import re
import string
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from yaoci import source
from yaoci.source import (
    CODES,
    MAX_ALIAS_NODES,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_NODES,
    Span,
    Unreadable,
    read,
    read_file,
)

PARSERS = [getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader]


@pytest.fixture(params=PARSERS, ids=["libyaml", "pure-python"])
def parser(request, monkeypatch):
    monkeypatch.setattr(source, "_PARSER", request.param)


def value(text, root="mapping"):
    return read("f.yaml", text.encode() if isinstance(text, str) else text, root=root).value


def problems(text, root="mapping"):
    with pytest.raises(Unreadable) as caught:
        read("f.yaml", text.encode() if isinstance(text, str) else text, root=root)
    return caught.value.problems


def only(text, root="mapping"):
    (problem,) = problems(text, root)
    return problem


# -- values -----------------------------------------------------------------------------------------------

SCALARS = [
    ("", None), ("~", None), ("null", None), ("Null", None), ("NULL", None), ("nULL", "nULL"),
    ("true", True), ("True", True), ("TRUE", True), ("tRUE", "tRUE"), ("false", False), ("False", False),
    ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("y", "y"),
    ("12", 12), ("012", 12), ("+7", 7), ("-3", -3), ("0o17", 15), ("0x1F", 31), ("0b10", "0b10"), ("1_000", "1_000"),
    ("1:30", "1:30"), ("22:22:22", "22:22:22"), ("2024-05-01", "2024-05-01"), ("1.10.0", "1.10.0"),
    ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("-1.5E-2", -0.015), (".", "."), ("1e", "1e"), ("-0x1", "-0x1"),
    ("=", "="), ("<<", "<<"), ("\n  -", [None]), ("a", "a"), ("a#b", "a#b"), ("a # b", "a"), ("'12'", "12"),
    ('"null"', "null"), ("! 12", "12"), ("!!str 12", "12"), ('!!int "7"', 7), ("!!float 3", 3.0), ("!!null ''", None),
    ("!!bool true", True), ("[a, b]", ["a", "b"]), ("{a: {b: }}", {"a": {"b": None}}), ("!!map {a: 1}", {"a": 1}),
    ("!!seq [1]", [1]), ("“x”", "“x”"), ("注意：看", "注意：看"), ("http://x:80/a?b=c", "http://x:80/a?b=c"),
    ("Hi {{ x }}", "Hi {{ x }}"), ("Hi {{ x }} # c", "Hi {{ x }}"), ('"\\ud83d\\ude00"', "😀"), ('"\\u4e2d\\x41"', "中A"),
    ("'\\ud83d'", "\\ud83d"), ('"a\\\\ud83d"', "a\\ud83d"), ("|\n  x\n  y", "x\ny\n"), (">-\n  x\n  y", "x y"),
    ("x\u2028y", "x\u2028y"), ("x\x85y # z\u2029", "x\x85y"), ("\ue000\u2028", "\ue000\u2028"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "meant"), SCALARS)
@pytest.mark.usefixtures("parser")
def test_a_value_is_read_as_yaml_1_2_core(written, meant):
    found = value(f"a: {written}\n")
    assert found == {"a": meant}
    assert type(found["a"]) is type(meant)


DOCUMENTS = [
    (
        "on: 1\n1: a\ntrue: b\nnull: c\n~: d\n!!int 2: e\n",
        {"on": 1, "1": "a", "true": "b", "null": "c", "~": "d", "2": "e"},
    ),
    ('{"a": "x\\/y"}', {"a": "x/y"}),
    ('{\n\t"a": {\n\t\t"b": 1\n\t},\n\t"c": [\n\t\t1\n\t]\n}', {"a": {"b": 1}, "c": [1]}),
    ("a: [\n\t1,\t2\n\t]\nb: [\t'x\ty'\t, # c\t]\n\tz z]\n", {"a": [1, 2], "b": ["x\ty", "z z"]}),
    ("\ufeffa: 1\r\nb: |\r\n  x\r\n  y\r\n", {"a": 1, "b": "x\ny\n"}),
    ("a: 1\rb: 2\r", {"a": 1, "b": 2}),
    ("%YAML 1.2\n---\na: 1\n...\n", {"a": 1}),
    ("a: &x {k: 1}\nb: *x\n", {"a": {"k": 1}, "b": {"k": 1}}),
    ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
    ("&k a: *k\n", {"a": "a"}),
    ("b: &b {x: 1, y: 1}\nc: {y: 2, <<: *b}\n", {"b": {"x": 1, "y": 1}, "c": {"x": 1, "y": 2}}),
    ("c:\n  <<: [{x: 1}, {x: 2, y: 2}]\n  z: 3\n", {"c": {"x": 1, "y": 2, "z": 3}}),
    ('x: {"<<": 5}\n', {"x": {"<<": 5}}),
    ("? a\n? b\n: c\n", {"a": None, "b": "c"}),
    ('"": 1\n', {"": 1}),
    ('"caf\u00e9": 1\n"cafe\u0301": 2\n', {"caf\u00e9": 1, "cafe\u0301": 2}),
    ("👩\u200d💻: 1\n", {"👩\u200d💻": 1}),
    ('"a\\u200bb": 1\n"\\ud83d\\ude00": {"\\ud83d\\ude01": 2}\n', {"a\u200bb": 1, "😀": {"😁": 2}}),
]


@pytest.mark.parametrize(("text", "meant"), DOCUMENTS)
@pytest.mark.usefixtures("parser")
def test_a_document_is_read_as_its_author_meant(text, meant):
    assert value(text) == meant


def test_a_merged_key_comes_first_and_the_written_one_wins():
    assert list(value("a: {<<: {x: 1, y: 2}, y: 3, w: 4}\n")["a"].items()) == [("x", 1), ("y", 3), ("w", 4)]


def test_any_root_may_stand_where_it_is_asked_for():
    assert value("- 1\n- 2\n", "any") == [1, 2]
    assert value("just text", "any") == "just text"
    assert value("~", "any") is None


# -- problems ---------------------------------------------------------------------------------------------

# text, slug, line, column, a part of the label, a part of the help
TRAPS = [
    # templates
    ("a: {{ x }}", "unquoted-template", 1, 4, "`{{ x }}` is read as a mapping", '`a: "{{ x }}"`'),
    ("a: {{ x }} y # c", "unquoted-template", 1, 4, "`{{ x }}`", '`a: "{{ x }} y"`'),
    ('a: {{ x | f("y", [1]) }}', "unquoted-template", 1, 4, "", """`a: '{{ x | f("y", [1]) }}'`"""),
    ("a: {{ x, y }}", "unquoted-template", 1, 4, "`{{ x, y }}`", '`a: "{{ x, y }}"`'),
    ("a: {% if x %}", "unquoted-template", 1, 4, "`{% if x %}`", '`a: "{% if x %}"`'),
    ("a: {# c #}\nb: 1", "unquoted-template", 1, 4, "`{# c #}`", '`a: "{# c #}"`'),
    ("a:\n  - {{ x }}", "unquoted-template", 2, 5, "", '`- "{{ x }}"`'),
    ("a:\n  {{ x }}", "unquoted-template", 2, 3, "", '`"{{ x }}"`'),
    ("a: [Hi {{ x }}, b]", "unquoted-template", 1, 8, "", '`"Hi {{ x }}"`'),
    ("a: {b: {{ x }}, c: 1}", "unquoted-template", 1, 8, "", '`b: "{{ x }}"`'),
    ("{{ x }}: 1", "unquoted-template", 1, 1, "", '`"{{ x }}"`'),
    ("a: {{ x", "unquoted-template", 1, 4, "`{{ x`", '`a: "{{ x"`'),
    ("a: Hi {{ x #y }}", "cut-template", 1, 11, "`Hi {{ x` is cut off", '`a: "Hi {{ x #y }}"`'),
    ("a: Hi {# n #}", "cut-template", 1, 11, "`Hi {# n`", '`a: "Hi {# n #}"`'),
    ("a: x\n  {{ y # z", "cut-template", 2, 7, "", "put the whole text in quotes"),
    # entries without a value
    (
        "a: {b: Finds orders, fast, x: 1}",
        "valueless-entry",
        1,
        22,
        "`fast` has no value",
        '`b: "Finds orders, fast"`',
    ),
    ("a: {b: one, two, three, x: 1}", "valueless-entry", 1, 13, "`two`", '`b: "one, two"`'),
    ("a: {type:string}", "valueless-entry", 1, 5, "`type:string`", "`type: string`"),
    ("a: {b}", "valueless-entry", 1, 5, "`b`", "write `b: …`"),
    ('a: {b: "x, y", z}', "valueless-entry", 1, 16, "`z`", "write `z: …`"),
    # tabs and other spaces
    ("a:\n\tb: 1", "tab-indentation", 2, 1, "a tab stands in the indentation", "indent with spaces"),
    ("a: 1\n\tb: 2", "tab-indentation", 2, 1, "in the indentation", ""),
    ('a: "x"\n\tb: 2', "tab-indentation", 2, 1, "in the indentation", ""),
    ("a:\n  -\tb", "tab-indentation", 2, 4, "behind the mark", ""),
    ("a: |\n\tx\n", "tab-indentation", 2, 1, "in the indentation", ""),
    ("a:\n\u00a0\u00a0b: 1", "odd-space", 2, 1, "U+00A0", "type ordinary spaces"),
    ("a: x\n\u00a0y\nb: 1", "odd-space", 2, 1, "a no-break space (U+00A0)", ""),
    ("a: 1\n\u3000b: 2", "odd-space", 2, 1, "a space (U+3000)", ""),
    ("my\u00a0key: 1", "odd-space", 1, 3, "U+00A0", ""),
    # characters that a plain text cannot begin with
    ("a: @home # c", "reserved-start", 1, 4, "cannot begin with `@`", '`a: "@home"`'),
    ("a: `ls`", "reserved-start", 1, 4, "a backtick", 'a: "`ls`"'),
    ("a: %d", "reserved-start", 1, 4, "`%`", '`a: "%d"`'),
    ("a: & b", "reserved-start", 1, 4, "`&`", '`a: "& b"`'),
    ("a: ,b", "reserved-start", 1, 4, "`,`", '`a: ",b"`'),
    ("a: ? b", "reserved-start", 1, 4, "`?`", '`a: "? b"`'),
    ("a: [@x, y]", "reserved-start", 1, 5, "`@`", '`"@x"`'),
    ("a: *.py", "unknown-alias", 1, 4, "the `*` makes `*.py` an alias", '`a: "*.py"`'),
    ("a: **/*.py", "unknown-alias", 1, 4, "`**/*.py`", '`a: "**/*.py"`'),
    ("a: *foo.py", "unknown-alias", 1, 4, "`*foo.py`", '`a: "*foo.py"`'),
    ("a: *nope", "unknown-alias", 1, 4, "no anchor `&nope`", '`a: "*nope"`'),
    ("a: [*.py, b]", "unknown-alias", 1, 5, "`*.py`", '`"*.py"`'),
    ("a: *nope x", "text-after-value", 1, 10, "`x`", '`a: "*nope x"`'),
    # quotes and colons
    ('a: "x" y', "text-after-value", 1, 8, "the quotes end before `y`", """`a: '"x" y'`"""),
    ("a: 'it's'", "text-after-value", 1, 8, "before `s'`", '`a: "it\'s"`'),
    ('a: "say "hi" now"', "text-after-value", 1, 10, "", """`a: 'say "hi" now'`"""),
    ('a: ["x" y]', "text-after-value", 1, 9, "before `y`", """`'"x" y'`"""),
    ('a: "x": y', "text-after-value", 1, 7, "before `: y`", ""),
    ("a: [x] y", "text-after-value", 1, 8, "`y`", '`a: "[x] y"`'),
    ("a: b: c", "colon-in-value", 1, 5, "cannot hold `: `", '`a: "b: c"`'),
    ("- a: b: c # d", "colon-in-value", 1, 7, "", '`- a: "b: c"`'),
    ("“name”: x", "curly-quotes", 1, 1, "U+201C", "write `name:`"),
    ("na\u200bme: 1", "invisible-character", 1, 1, "`na‹U+200B›me`", "write `name`"),
    ('"na\u2060me": 1', "invisible-character", 1, 1, "U+2060", ""),
    ("ab\u200dc: 1", "invisible-character", 1, 1, "U+200D", "write `abc`"),
    ("name：Neo", "wide-colon", 1, 5, "U+FF1A", "`name: Neo`"),
    ("名字：x", "wide-colon", 1, 3, "after `名字`", "`名字: x`"),
    ("name：Neo\nmodel: x", "wide-colon", 1, 5, "after `name`", ""),
    ("a: 1\n名字：x\nb: 2", "wide-colon", 2, 3, "after `名字`", "`名字: x`"),
    ("a:\n  model：x\nb: 1", "wide-colon", 2, 8, "after `model`", ""),
    ("a: {name：Neo, x: 1}", "wide-colon", 1, 9, "after `name`", ""),
    ('a: "\\d+"', "unknown-escape", 1, 5, "`\\d` is no escape", "`\\\\d`"),
    ('a: "\\uZZZZ"', "unknown-escape", 1, 5, "wants 4 hexadecimal digits", ""),
    ('a: "x \\ud83d"', "half-character", 1, 4, "`\\ud83d` is half of a pair", "the character itself"),
    # indentation
    (
        "a:\n    b: 1\n  c: 2",
        "wrong-indentation",
        3,
        3,
        "indented by 2, the lines it could belong to by 0 or 4",
        "",
    ),
    ("a: 1\n b: 2", "wrong-indentation", 2, 2, "indented by 1", "like the lines it belongs to"),
    ('a: "x"\n  y: 1', "wrong-indentation", 2, 3, "indented by 2", ""),
    ("a: x\n\n  y: 1", "wrong-indentation", 3, 3, "indented by 2", ""),
    ("a: 1\n- b", "wrong-indentation", 2, 1, "a list item stands among keys", ""),
    ("a:\n- b\nc", "missing-colon", 3, 1, "`c` has no `:`", ""),
    ("- a\nb: 1", "wrong-indentation", 2, 1, "a key stands among list items", ""),
    ("a: 1\nname\nb: 2", "missing-colon", 2, 1, "`name` has no `:`", "`key: value`"),
    ("name\nmodel: x", "missing-colon", 1, 1, "`name`", ""),
    # what is never closed
    ("a: [1, 2\nb: 3\n", "unclosed-bracket", 1, 4, "`[` is never closed", "close it with `]`"),
    ("a: {x: 1\n", "unclosed-bracket", 1, 4, "`{` is never closed", "`}`"),
    ("a: [1,\nb: [3]\nc: 4\n", "unclosed-bracket", 1, 4, "`[`", ""),
    ("a: [", "unclosed-bracket", 1, 4, "`[`", ""),
    ('a: "x\nb: 1\n', "unclosed-quote", 1, 4, 'no closing `"`', 'close it with `"`'),
    ("a: 'x\nb: 1\n", "unclosed-quote", 1, 4, "no closing `'`", ""),
    ('a: "x\nb: "y"\n', "unclosed-quote", 1, 4, "goes on to line 2", ""),
    # blocks and lists
    ("a: | text", "block-header", 1, 6, "behind `|`", '`a: "| text"`'),
    ("a: > 5", "block-header", 1, 6, "behind `>`", '`a: "> 5"`'),
    ("a: - b", "list-on-key-line", 1, 4, "behind its key", '`a: "- b"`'),
    # the rest of the syntax
    ("{a: 1]", "syntax", 1, 6, "`]` does not close the `{`", "`}` is needed"),
    ("a: [1, , 2]", "syntax", 1, 8, "before this comma", "remove it"),
    ("a: [- b]", "syntax", 1, 5, "an item with `-`", "commas"),
    ("a: [| b]", "reserved-start", 1, 5, "`|`", '`"| b"`'),
    ("a: |0\n  x", "block-header", 1, 4, "`|0` is no mark", "write `|` or `>`"),
    ("a: {b: 'x' 'y'}", "text-after-value", 1, 12, "before `'y'`", ""),
    (": x", "empty-key", 1, 1, "no key stands before this", ""),
    ("{: x}", "empty-key", 1, 2, "", ""),
    ("? [a]\n: b", "key-not-text", 1, 3, "a list stands where a key", "a key is a text"),
    ("? {a: 1}\n: b", "key-not-text", 1, 3, "a mapping", ""),
    ("a: &x 1\n*x : b", "key-not-text", 2, 1, "an alias", ""),
    (f"{'k' * 1100}: 1", "syntax", 1, 1, "1,024 characters", ""),
    # tags, aliases, merging, numbers
    ("a: !secret x", "unknown-tag", 1, 4, "`!secret` is no tag", "leave it out"),
    ("a: !!python/name:os.system", "unknown-tag", 1, 4, "`!!python/name:os.system`", ""),
    ("a: !a!b c", "unknown-tag", 1, 4, "`!a!b`", '`a: "!a!b c"`'),
    ("!x a: 1", "unknown-tag", 1, 1, "`!x`", ""),
    ("a: !!int abc", "tag-misfit", 1, 4, "`!!int` does not fit `abc`", "leave the tag out"),
    ("a: !!map [x]", "tag-misfit", 1, 4, "`!!map` does not fit a list", ""),
    ("a: &x\n  b: *x", "recursive-alias", 2, 6, "`*x` stands inside the value that `&x` names", ""),
    ("a: {<<: 5}", "merge-not-mapping", 1, 5, "neither a mapping nor a list of mappings", "`<<: *name`"),
    ("a: {<<: [{}, 5]}", "merge-not-mapping", 1, 5, "neither", ""),
    ("a: {<<: {}, <<: {}}", "duplicate-key", 1, 13, "`<<`", "`<<: [*first, *second]`"),
    ("a: " + "9" * 5000, "long-number", 1, 4, "5,000 digits", "in quotes"),
    ("a: 0x" + "f" * 4000, "long-number", 1, 4, "4,002 digits", ""),
    ("a: .nan", "not-finite", 1, 4, "`.nan` is no number that JSON can hold", '`".nan"`'),
    ("a: -.INF", "not-finite", 1, 4, "`-.INF`", ""),
    ("a: 1e999", "not-finite", 1, 4, "`1e999`", ""),
    # documents
    ("", "empty-file", 1, 1, "nothing is written", "`name: …`"),
    ("# only\n", "empty-file", 1, 1, "", ""),
    ("---\n", "empty-file", 1, 1, "the document is empty", ""),
    ("a: 1\n---\nb: 2\n", "several-documents", 2, 1, "a second document", "one in each file"),
    ("a: 1\n---\n", "several-documents", 2, 1, "", ""),
    ("a: 1\n...\nb: 2\n", "several-documents", 3, 1, "", ""),
    ("%YAML 1.1\n---\na: no", "yaml-version", 1, 1, "YAML 1.1", "remove this line"),
    ("%YAML 2.0\n---\na: no", "yaml-version", 1, 1, "", "remove this line"),
    ("- a\n- b\n", "root-not-mapping", 1, 1, "the file holds a list", "`name: …`"),
    ("just text", "root-not-mapping", 1, 1, "the file holds one text", ""),
    ("null", "root-not-mapping", 1, 1, "the file holds one value", ""),
    # bytes
    ("a: x\x07y", "not-text", 1, 5, "the control character U+0007", "`\\x07` in double quotes"),
    ("a: \ufffe", "not-text", 1, 4, "the character U+FFFE", "`\\ufffe`"),
    (b"a: 1\nb: \xe4\xbd", "not-utf8", 2, 4, "ends within a character", "UTF-8"),
    ("a: é\nb: ".encode() + b"\xe9!", "not-utf8", 2, 4, "the byte 0xE9", "UTF-8"),
    (b"\x89PNG\r\n\x1a\n\x00\x00", "not-utf8", 1, 1, "0x89", ""),
    (b"a: \x00\x01\xff", "not-text", 1, 4, "U+0000", "is this a text file?"),
    ("a: ä".encode("utf-16"), "not-utf8", 1, 1, "UTF-16", "UTF-8"),
    ("a: 1".encode("utf-16-le"), "not-utf8", 1, 1, "UTF-16", ""),
    ("a: 1".encode("utf-16-be"), "not-utf8", 1, 1, "UTF-16", ""),
    ("a: 1".encode("utf-32"), "not-utf8", 1, 1, "UTF-32", ""),
    ("\ufeff\ufeffa: 1", "two-byte-order-marks", 1, 1, "U+FEFF", "without"),
]


@pytest.mark.parametrize(
    ("text", "slug", "line", "column", "label", "advice"),
    TRAPS,
    ids=[f"{n}-{t[1]}" for n, t in enumerate(TRAPS)],
)
@pytest.mark.usefixtures("parser")
def test_a_trap_gives_one_problem_that_says_what_and_where_and_what_to_do(
    text, slug, line, column, label, advice
):
    problem = only(text)
    assert (problem.slug, problem.span.line, problem.span.column) == (slug, line, column)
    assert label in problem.label
    assert advice in problem.help
    assert problem.span.file == "f.yaml"
    assert problem.span[1:3] <= problem.span[3:5]
    assert "\n" not in problem.label + problem.help
    assert CODES[problem.code][0] == slug


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="the parser in Python takes it")
def test_a_colon_before_a_bracket_wants_a_space():
    problem = only("a: {b:}")
    assert (problem.slug, problem.span.column) == ("syntax", 6)
    assert "without a space" in problem.label


def test_every_duplicate_names_both_places_and_reading_goes_on():
    first, second, third = problems("a: 1\nb: 2\na: 3\nc:\n  - {x: 1, x: 2}\n'b': 4\n")
    assert first.span == ("f.yaml", 3, 1, 3, 2)
    assert first.related == (("first written here", Span("f.yaml", 1, 1, 1, 2)),)
    assert "`a`" in first.label
    assert "line 1" in first.label
    assert second.span == ("f.yaml", 5, 12, 5, 13)
    assert third.related[0][1] == ("f.yaml", 2, 1, 2, 2)


def test_keys_that_become_one_as_text_are_duplicates():
    assert only("1: a\n'1': b\n").slug == "duplicate-key"
    assert only('"\\ud83d\\ude00": 1\n"😀": 2\n').slug == "duplicate-key"


def test_mistakes_of_several_kinds_are_found_in_one_pass():
    found = problems("a: 1\nb: {{ x }}\na: 3\nc: {d: e, f}\ng: !h i\nj: @k\n")
    assert [problem.slug for problem in found] == [
        "unquoted-template", "duplicate-key", "valueless-entry", "unknown-tag", "reserved-start",
    ]  # fmt: skip


def test_a_syntax_error_names_the_bracket_it_happened_in():
    problem = only("a: [x,\n  b c: d: e]\n")
    assert problem.related == (("opened here", Span("f.yaml", 1, 4, 1, 5)),)


def test_a_recursive_alias_names_its_anchor():
    assert only("a: &x\n  b: *x\n").related == (("the anchor stands here", Span("f.yaml", 1, 4, 1, 6)),)


def test_a_file_full_of_problems_is_left_after_a_hundred():
    assert len(problems("a: 1\n" * 5000)) == 100


def test_a_binary_file_is_one_problem_whatever_else_is_in_it():
    assert only("a: 1\na: 2\nb: @x\nc: \x01").slug == "not-text"


# -- limits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opener", ["[", "{", "- ", "? ", "[{", "a: [", "{? "])
@pytest.mark.usefixtures("parser")
def test_thirty_thousand_nested_openers_end_in_a_message(opener):
    assert problems(opener * 30_000, "any")[-1].slug == "too-deep"


@pytest.mark.usefixtures("parser")
def test_as_many_levels_as_are_allowed_can_be_read():
    text = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    assert json.dumps(value(f"a: {text}")["a"]) == text
    assert only(f"a: [{text}]").slug == "too-deep"


def test_deep_blocks_are_too_deep_at_their_line():
    problem = only("".join(f"{' ' * level}a:\n" for level in range(500)))
    assert (problem.slug, problem.span.line) == ("too-deep", MAX_DEPTH + 1)


def test_values_are_counted():
    assert only("a: [" + "1," * (MAX_NODES + 1) + "]").slug == "too-many-values"
    assert only("".join(f"{n}: 1\n" for n in range(MAX_NODES + 1))).slug == "too-many-values"
    assert only("".join(f"a{n}: [" + "1," * 1000 + "]\n" for n in range(201))).slug == "too-many-values"


def test_aliases_are_counted_by_what_they_stand_for():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )
    assert only(bomb).slug == "alias-expansion"
    assert only(f"a: &a {'x' * 100_000}\nb: [{'*a, ' * 100}]").slug == "alias-expansion"
    many = MAX_ALIAS_NODES // 10
    assert len(value("a: &a {x: 1}\n" + "".join(f"b{n}: *a\n" for n in range(many)))) == many + 1


def test_merging_is_counted_too():
    keys = ", ".join(f"k{n}: 1" for n in range(500))
    assert (
        only(f"a: &a {{{keys}}}\n" + "".join(f"m{n}: {{<<: *a}}\n" for n in range(30))).slug
        == "alias-expansion"
    )


def test_a_large_file_is_refused():
    problem = only(b"#" * (MAX_BYTES + 1))
    assert (problem.slug, "8 are allowed" in problem.label) == ("too-large", True)


# -- places -----------------------------------------------------------------------------------------------

PLACED = """\
# a comment
name: 客服 x
model:
  - openai/x   # first
  - {id: b, "opts": {t: 0.5}}
  -
empty:
base: &base
  deep: {leaf: 1}
  text: &text |
    one

    three
user:
  <<: *base
  own: *base
folded: >
  a
  b
quoted: "x
  y"
again: *text
"""


@pytest.fixture(params=PARSERS, ids=["libyaml", "pure-python"])
def placed(request, monkeypatch):
    monkeypatch.setattr(source, "_PARSER", request.param)
    return read("p.yaml", PLACED.encode())


@pytest.mark.parametrize(
    ("path", "key", "span"),
    [
        ((), (2, 1, 22, 13), (2, 1, 22, 13)),
        (("name",), (2, 1, 2, 5), (2, 7, 2, 11)),
        (("model",), (3, 1, 3, 6), (4, 3, 6, 4)),
        (("model", 0), (4, 5, 4, 13), (4, 5, 4, 13)),
        (("model", 1), (5, 5, 5, 30), (5, 5, 5, 30)),
        (("model", 1, "opts"), (5, 13, 5, 19), (5, 21, 5, 29)),
        (("model", 1, "opts", "t"), (5, 22, 5, 23), (5, 25, 5, 28)),
        (("model", 2), (6, 3, 6, 4), (6, 3, 6, 4)),
        (("empty",), (7, 1, 7, 6), (7, 1, 7, 6)),
        (("base", "text"), (10, 3, 10, 7), (10, 9, 13, 10)),
        (("user", "deep"), (9, 3, 9, 7), (9, 9, 9, 18)),
        (("user", "deep", "leaf"), (9, 10, 9, 14), (9, 16, 9, 17)),
        (("user", "own"), (16, 3, 16, 6), (16, 8, 16, 13)),
        (("user", "own", "deep", "leaf"), (9, 10, 9, 14), (9, 16, 9, 17)),
        (("quoted",), (20, 1, 20, 7), (20, 9, 21, 5)),
        (("nope", 3, "x"), (2, 1, 22, 13), (2, 1, 22, 13)),
        (("model", 1, "nope", 0), (5, 5, 5, 30), (5, 5, 5, 30)),
        (("user", "own", "nope"), (8, 1, 8, 5), (8, 7, 13, 10)),
    ],
)
def test_a_path_finds_its_key_and_its_value(placed, path, key, span):
    assert placed.key_span(path) == ("p.yaml", *key)
    assert placed.span(path) == ("p.yaml", *span)


def test_a_place_is_file_and_line_of_the_key(placed):
    assert placed.place(("user", "own")) == "p.yaml:16"
    assert placed.place(("model", 1, "opts", "t")) == "p.yaml:5"
    assert placed.place(("nothing",)) == "p.yaml:2"


def test_a_line_of_a_block_is_found_in_the_file(placed):
    assert placed.line_of(("base", "text"), 1) == ("p.yaml", 11, 5, 11, 8)
    assert placed.line_of(("base", "text"), 3) == ("p.yaml", 13, 5, 13, 10)
    assert placed.line_of(("base", "text"), 99).line == 13
    assert placed.line_of(("again",), 3).line == 13


def test_a_line_of_any_other_text_is_where_the_text_begins(placed):
    assert placed.line_of(("folded",), 2).line == 17
    assert placed.line_of(("quoted",), 2) == placed.span(("quoted",))
    assert placed.line_of(("name",), 1) == placed.span(("name",))


def test_places_count_characters_and_line_breaks_of_every_kind():
    document = read("f", "\ufeff👋🏽: {b: 1}\r\nc: x\u2028y\rd: z\n".encode())
    assert document.key_span(("👋🏽", "b")) == ("f", 1, 6, 1, 7)
    assert document.span(("c",)) == ("f", 2, 4, 2, 7)
    assert document.key_span(("d",)).line == 3


def test_places_hold_where_the_text_was_not_parsed_as_it_stands():
    document = read("f", b'{\n\t"a": {\n\t\t"\\ud83d\\ude00": {"b": 2\n\t}}\n}')
    assert document.key_span(("a", "😀")) == ("f", 3, 3, 3, 17)
    assert document.span(("a", "😀", "b")) == ("f", 3, 25, 3, 26)


def test_the_document_keeps_its_name_and_its_text():
    document = read("x/y.yaml", b"\xef\xbb\xbfa: 1\r\n")
    assert (document.file, document.text) == ("x/y.yaml", "a: 1\r\n")


# -- files ------------------------------------------------------------------------------------------------


def test_a_file_is_read_under_the_name_to_show(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"a: 1\n")
    document = read_file(tmp_path / "a.yaml", "shown.yaml")
    assert (document.value, document.place(("a",))) == ({"a": 1}, "shown.yaml:1")


def test_a_file_that_cannot_be_read_is_a_problem_and_no_os_error(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    for name, slug, label in [
        ("none", "missing-file", "there is no file `none`"),
        ("folder", "unreadable-file", "`folder` is a folder"),
        ("link", "unreadable-file", "a link to `nowhere`, which is not there"),
        ("loop", "unreadable-file", "`loop` cannot be read: too many levels"),
        ("large", "too-large", "8.1 MB, 8 are allowed"),
        ("with\0nul", "unreadable-file", "cannot be read: embedded null"),
        ("folder/x/y", "missing-file", "there is no file"),
    ]:
        with pytest.raises(Unreadable) as caught:
            read_file(tmp_path / name, name)
        (problem,) = caught.value.problems
        assert (problem.slug, problem.span) == (slug, (name, 1, 1, 1, 1))
        assert label in problem.label


def test_a_device_is_no_plain_file():
    with pytest.raises(Unreadable) as caught:
        read_file(Path("/dev/zero"), "zero")
    assert "no plain file" in caught.value.problems[0].label


# -- the table of codes -----------------------------------------------------------------------------------


def test_summaries_are_fixed_short_and_lower_case():
    slugs = [slug for slug, _ in CODES.values()]
    assert len(set(slugs)) == len(slugs)
    for code, (slug, summary) in CODES.items():
        assert re.fullmatch(r"Y0\d\d", code)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)
        assert not summary.endswith(".")
        assert "invalid" not in summary
        assert summary[0].islower() or summary.startswith("YAML")


def test_every_code_that_needs_no_file_or_size_has_a_trap():
    elsewhere = {
        "missing-file",
        "unreadable-file",
        "too-large",
        "too-deep",
        "too-many-values",
        "alias-expansion",
    }
    assert {slug for slug, _ in CODES.values()} == {trap[1] for trap in TRAPS} | elsewhere


def test_the_exception_tells_file_line_and_column():
    with pytest.raises(Unreadable, match=r"^f\.yaml:2:4: a text without quotes cannot begin with `@`$"):
        read("f.yaml", b"a: 1\nb: @x\n")


# -- properties -------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x7f"), max_size=30)
# YAML 1.1, which the dumper speaks, leaves texts such as 1e3 and 0o7 without quotes.
plain_texts = st.text(string.ascii_letters + " {}[]#:,'\"&*!|>%@`?-\n", max_size=30).filter(
    lambda text: not re.match(r"[-+.]?[0-9.]", text)
)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)


def values(strings):
    leaves = st.none() | st.booleans() | numbers | strings
    return st.dictionaries(
        strings,
        st.recursive(
            leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4)
        ),
        max_size=5,
    )


quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(values(texts), st.sampled_from([None, 1, "\t"]))
def test_json_is_read_as_what_it_says(data, indent):
    assert value(json.dumps(data, indent=indent)) == data


@quick
@given(values(plain_texts), st.booleans())
def test_dumped_yaml_is_read_as_what_it_says(data, flow):
    assert value(yaml.safe_dump(data, default_flow_style=flow)) == data


@quick
@given(values(texts))
def test_yaml_dumped_with_quotes_and_tags_is_read_as_what_it_says(data):
    assert value(yaml.safe_dump(data, default_style='"')) == data


def read_or_refused(data):
    found = ()
    try:
        document = read("f", data, root="any")
    except Unreadable as error:
        found = error.problems
    else:
        assert json.dumps(document.value, allow_nan=False).encode()
        return
    assert found
    for problem in found:
        assert problem.label
        assert (1, 1) <= problem.span[1:3] <= problem.span[3:5]


@quick
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    read_or_refused(data)


@settings(quick, max_examples=400)
@given(
    st.sampled_from(
        [PLACED, *(text for text, _, _, _, _, _ in TRAPS if isinstance(text, str) and len(text) < 200)]
    ),
    st.lists(
        st.tuples(
            st.integers(0, 300),
            st.sampled_from(
                [
                    *"\t\n \"'{}[],:#&*!|>%@`?-<~x0\\\r\u00a0\u2028：",
                    "{{",
                    "}}",
                    ": ",
                    "- ",
                    "\\ud83d",
                    "<<: ",
                ]
            ),
            st.integers(0, 3),
        ),
        max_size=6,
    ),
    st.sampled_from(PARSERS),
)
def test_mutated_yaml_is_read_or_refused(text, changes, parser):
    for at, piece, removed in changes:
        text = text[: at % (len(text) + 1)] + piece + text[at % (len(text) + 1) + removed :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_PARSER", parser)
        read_or_refused(text.encode())


@settings(quick, max_examples=200)
@given(st.text(st.sampled_from("ab:-?!&*|>'\"{}[]#%@`, \n\t\\<~1.")))
def test_texts_of_yaml_signs_are_read_or_refused(text):
    read_or_refused(text.encode())
