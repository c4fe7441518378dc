"""Searches end, mean what ECMA-262 means, and formats tell what fits."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from yaoci import patterns
from yaoci.formats import FORMATS
from yaoci.patterns import PatternTimeout, fault, search, surely

RUNAWAY = [
    (r"^(a+)+$", "a" * 40 + "b"),
    (r"^(a|a)*$", "a" * 40 + "b"),
    (r"^(a|aa)+$", "a" * 60 + "b"),
    (r"(x+x+)+y", "x" * 40),
    (r"(a*)*b", "a" * 40),
    (r"^([a-zA-Z]+)*$", "a" * 40 + "!"),
    (r"^(\w+\s?)*$", "a" * 40 + "!"),
    (r"^(?=(a+)+$)", "a" * 40 + "b"),
    (r"^(?:(a+)+)\1$", "a" * 40 + "b"),
    (r"^\d*\d*\d*\d*\d*\d*x$", "1" * 400),
    (r"[a-z]+$", "a" * 300_000 + "1"),
]
ENDLESS_TEXT = [
    r"^A[0-9]+$",
    r"^[a-z0-9-]+(\.[a-z0-9-]+)*$",
    r"^(\d+)(,\d+)*$",
    r"^\d{4}-\d{2}-\d{2}$",
    r"^(red|green|blue)$",
    r"^https?://",
    r"[a-z]+",
    r"^v?\d+\.\d+\.\d+(-[\w.]+)?$",
    r"^[^@\s]+@[^@\s]+$",
]


@pytest.mark.parametrize(("pattern", "text"), RUNAWAY, ids=[pattern for pattern, _ in RUNAWAY])
def test_a_search_that_runs_away_is_stopped(pattern, text):
    with pytest.raises(PatternTimeout):
        search(pattern, text)
    assert not surely(pattern, text)


@pytest.mark.parametrize("pattern", ENDLESS_TEXT)
def test_a_linear_expression_needs_no_help_on_any_text(pattern):
    assert patterns._known(pattern).affordable(10_000_000)


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in RUNAWAY])
def test_a_runaway_expression_is_never_searched_for_here_in_a_long_text(pattern):
    assert not patterns._known(pattern).affordable(1_000_000)


def test_a_polynomial_expression_is_searched_for_here_while_the_text_is_short():
    known = patterns._known(r"^[^@\s]+@[^@\s]+\.[^@\s]+$")
    assert known.affordable(60)
    assert not known.affordable(100_000)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(?i)^A+$", "aa"),
        (r"^(a)\1$", "aa"),
        ("^(?:a?){200}$", "aaa"),
        ("^" + "(?:a|a|a|a)" * 25 + "$", "a" * 25),
        (r"(?:(?=.*\d).)+$", "a1"),
        ("(?>a+)b(?:aa?)*$", "ab"),
    ],
)
def test_what_has_no_known_bound_is_searched_for_by_the_helper(pattern, text):
    known = patterns._known(pattern)
    assert not known.affordable(100)
    assert search(pattern, text)


def test_an_alternative_of_anchored_expressions_is_anchored():
    assert patterns._known("(?:^a+b|^b+c)$").work.anchored
    assert not patterns._known("(?:^a+b|b+c)$").work.anchored


def test_the_helper_answers_yes_and_no_and_goes_on_after_it_was_stopped():
    assert search(r"^(a+)+$", "aaa")
    with pytest.raises(PatternTimeout):
        search(r"^(a+)+$", "a" * 40 + "b")
    assert not search(r"^(a+)+$", "b")
    assert search(r"^(客+)+$", "客客")


def test_the_helper_takes_lone_surrogates_and_long_texts():
    assert search(r"^(.+)+$", "\ud800")
    assert search(r"^(.+)+$", "x" * 1_000_000)


def test_searches_from_many_threads_do_not_mix_up_their_answers():
    texts = ["a" * n + ("b" if n % 2 else "") for n in range(1, 25)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: search(r"^(aa?)+$", text), texts))
    assert found == [not text.endswith("b") for text in texts]


def test_a_helper_that_died_is_started_again():
    assert search(r"^(a+)+$", "a")
    helper = patterns._helper(patterns.os.getpid())
    helper._process.kill()
    helper._process.wait()
    assert search(r"^(a+)+$", "a")


def test_without_a_program_to_start_the_search_is_refused(monkeypatch):
    monkeypatch.setattr(patterns.sys, "executable", "/nowhere/python")
    with pytest.raises(PatternTimeout, match="nothing could be started"):
        patterns._Helper(patterns.os.getpid()).search("a", "a")


FORKING = """
import os, sys
from yaoci.patterns import search
assert search("^(a+)+$", "a")
child = os.fork()
answers = [search("^(a+)+$", "a" * n + ("b" if child else "")) for n in range(1, 20)]
assert answers == [not child] * 19, answers
if child:
    assert os.waitpid(child, 0)[1] == 0
    assert search("^(a+)+$", "a")
"""


@pytest.mark.skipif(not hasattr(patterns.os, "fork"), reason="no fork on this system")
def test_a_forked_process_has_a_helper_of_its_own_and_leaves_its_parents_alone():
    done = subprocess.run(
        [sys.executable, "-c", FORKING],
        env={**patterns.os.environ, "PYTHONPATH": str(Path(patterns.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^A[0-9]+$", "A42\n", False),  # `$` is the end, not before a last newline
        (r"^\d$", "٣", False),  # digits are ASCII
        (r"^\w+$", "é", False),
        (r"\s", "\u3000", True),  # but white space is Unicode's
        (r"^\S$", "\u00a0", False),
        (r"^[\s]$", "\ufeff", True),
        (r"^(?<year>\d{4})-\k<year>$", "2026-2026", True),
        (r"^[[a]+$", "[a", True),
        (r"^[a&&b||c~~]+$", "a&|~", True),
        (r"^[^\]]$", "$", True),
        (r"^[$]$", "$", True),
        (r"^\$$", "$", True),
        (r"^a\/b$", "a/b", True),
        (r"b", "abc", True),
        (r"", "", True),
        (r"(?<=a)b", "ab", True),
    ],
)
def test_expressions_mean_what_they_mean_in_ecma_262(pattern, text, found):
    assert search(pattern, text) is found


@pytest.mark.parametrize(
    ("pattern", "slug", "text"),
    [
        ("^(abc", "bad-regex", "`^(abc` is no regular expression: missing ), unterminated subpattern"),
        ("*.txt", "bad-regex", "`*.txt` is no regular expression: nothing to repeat"),
        ("[a", "bad-regex", "`[a` is no regular expression: unterminated character set"),
        ("a\\", "bad-regex", "`a\\` is no regular expression: bad escape (end of pattern)"),
        ("a{99999999999}", "bad-regex", "`a{99999999999}` is no regular expression: the repetition number is too large"),
        (r"^\p{L}+$", "regex-dialect", r"`^\p{L}+$` is of a dialect that is not understood here: bad escape \p"),
        (r"\u{1F600}", "regex-dialect", None),
        (r"(?<=a+)b", "regex-dialect", None),
    ],
)  # fmt: skip
def test_what_does_not_compile_is_told_from_what_is_of_another_dialect(pattern, slug, text):
    found = fault(pattern)
    assert found is not None
    assert found.slug == slug
    assert text is None or found.text == text
    with pytest.raises(re.error):
        search(pattern, "a")


def test_a_glob_is_told_how_to_write_anything():
    assert "`.*`" in fault("*.txt").help


def test_a_nest_without_end_and_an_endless_expression_are_faults_not_crashes():
    assert fault("(" * 4000 + ")" * 4000).slug == "bad-regex"
    assert fault("a" * 10_001).text.endswith("longer than 10,000 characters")


def test_a_good_expression_has_no_fault():
    assert fault(r"^[a-z]+$") is None


FITS = {
    "date": ["2026-01-31", "2024-02-29"],
    "time": ["14:30:00Z", "23:59:60Z", "00:00:00.123+08:00", "14:30:00z"],
    "date-time": ["2026-01-31T14:30:00Z", "2026-01-31t14:30:00.5-03:30"],
    "duration": ["P1D", "PT36H", "P1Y2M3DT4H5M6S", "P4W", "PT0.5S"],
    "email": ["a@b.c", "o'neil+x@example.org", '"a b"@x'.replace(" ", "."), "a@[127.0.0.1]", "a@[IPv6:::1]"],
    "uri": [
        "https://example.org/a?b=c#d",
        "mailto:a@b.c",
        "urn:isbn:1",
        "http://[::1]:80/",
        "http://u:p@h:8/%20",
    ],
    "uuid": ["2EB8AA08-aa98-11ea-b4aa-73b441d16380"],
    "ipv4": ["127.0.0.1", "255.255.255.255"],
    "ipv6": ["::1", "fe80::1", "::ffff:1.2.3.4"],
}
MISFITS = {
    "date": ["2026-02-29", "2026-1-31", "20260131", "2026-01-31\n", "tomorrow", "2026-W01-1", "２026-01-31"],
    "time": ["14:30", "14:30:00", "24:00:00Z", "14:30:00+24:00", "14:30:61Z"],
    "date-time": ["2026-01-31", "2026-01-31 14:30:00Z", "2026-13-01T00:00:00Z", "2026-01-31T14:30:00"],
    "duration": ["P", "PT", "1D", "P1S", "P1DT", "P1D2M", "P1D\n"],
    "email": ["a", "@b", "a@", "a b@c", "a@b@c", ".a@b", "a..b@c", "a@-b.c", "a@b..c", "x" * 65 + "@b", "a@[::1]"],
    "uri": ["", "/a", "example.org", "http://a b", "http://客", "http://a:b/", "http://[::1", "http://x]", "a:%zz", "a:\\b"],
    "uuid": ["2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g"],
    "ipv4": ["256.0.0.1", "1.2.3", "01.2.3.4", "::1", "1.2.3.4/8"],
    "ipv6": ["127.0.0.1", "::1%eth0", ":::", "12345::"],
}  # fmt: skip


def test_the_tables_here_cover_every_format():
    assert set(FITS) == set(MISFITS) == set(FORMATS)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in FITS.items() for text in texts])
def test_a_format_takes(name, text):
    assert FORMATS[name].fits(text)


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in MISFITS.items() for text in texts]
)
def test_a_format_refuses(name, text):
    assert not FORMATS[name].fits(text)
