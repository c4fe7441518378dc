"""What an author meant where the YAML parser gave up."""

import re
from collections.abc import Callable
from typing import Any, Final

import yaml

from .stops import Stop, stop_of
from .texts import Problem, Text, quote_help, shown
from .traps import (
    ODD_SPACES,
    TEMPLATES,
    VALUE_START,
    odd_space_problem,
    template_problem,
    too_deep_problem,
    wide_colon_problem,
)
from .values import MAX_DEPTH

_LONGEST_KEY = 1024  # of a key that is not announced by `? `
_ESCAPE_DIGITS: Final = {"\\x": 2, "\\u": 4, "\\U": 8}
_NO_SPACE: Final = re.compile(r"([\w-]+):((?!//)\S.*)")
_NO_SPACE_ITEM: Final = re.compile(r"-([^\s-].*)")
_ODD_INDENT = re.compile(f"[ \t]*([{ODD_SPACES}][ \t{ODD_SPACES}]*)")


def explain(text: Text, error: yaml.YAMLError, scan: Callable[[int], Callable[[], Any]]) -> Problem:
    """Return the problem behind the parser's `error`; `scan` returns what gives the tokens before an offset."""
    stop = stop_of(text, error, scan)
    if len(stop.brackets) > MAX_DEPTH:  # the parser has a limit of its own, and looks ahead
        return too_deep_problem(text, stop.brackets[MAX_DEPTH])
    for reading in (
        _odd_indent,
        _template,
        _tab,
        _quote,
        _character,
        _alias,
        _no_key,
        _bracket,
        _in_line,
        _colon,
        _block,
        _head,
    ):
        if problem := reading(stop):
            return problem
    words = stop.words or "it cannot go on"
    return stop.problem("syntax", stop.at, stop.at + 1, f"the YAML parser says: {words}")


def _odd_indent(stop: Stop) -> Problem | None:
    for offset in (stop.at, stop.since):
        begin, end = stop.text.bounds(stop.text.line(offset))
        if found := _ODD_INDENT.match(stop.source, begin, end):
            return odd_space_problem(stop.text, found.start(1), found.end(1))
    return None


def _template(stop: Stop) -> Problem | None:
    source = stop.source
    for begin in (*stop.brackets, *stop.flows, stop.at - 1, stop.at):
        if begin >= 0 and source.startswith(TEMPLATES, begin) and source[begin - 1 : begin] not in ("'", '"'):
            return template_problem(stop.text, begin)
    return None


def _tab(stop: Stop) -> Problem | None:
    here = stop.source[stop.at : stop.at + 1]
    lead = stop.source[stop.begin : stop.end]
    lead = lead[: len(lead) - len(lead.lstrip())]
    if here != "\t" and "tab" not in stop.words and not ("\t" in lead and stop.first):
        return None
    at = stop.at if here == "\t" else stop.begin + max(lead.find("\t"), 0)
    place = "in the indentation" if not stop.source[stop.begin : at].strip() else "behind the mark"
    return stop.problem("tab-indentation", at, at + 1, f"a tab stands {place}", "indent with spaces")


def _quote(stop: Stop) -> Problem | None:
    source, at, words = stop.source, stop.at, stop.words
    if "quoted scalar" in stop.context:
        if "unexpected" in words:
            sign = source[stop.since]
            label = f"the text that begins here has no closing `{sign}`"
            end, _, _ = stop.rest(stop.since)
            return stop.problem("unclosed-quote", stop.since, end, label, f"close it with `{sign}`")
        return _escape(stop, source.rfind("\\", 0, at + 1))
    ended = source[:at].rstrip(" \t")[-1:]
    if ended not in ("'", '"') or stop.first or source[stop.value] != ended:
        return None
    if "expected" not in words and not ("mapping values" in words and stop.value > stop.begin):
        return None
    end, _, _ = stop.rest(stop.value)
    if stop.text.line(stop.value) != stop.line:
        label = f"the text that begins here goes on to line {stop.line}, where its quote is closed"
        help_ = f"close it with `{ended}` where it ends"
        return stop.problem("unclosed-quote", stop.value, end, label, help_)
    label = f"the quotes end before {shown(source[at:end])}"
    return stop.problem("text-after-value", at, end, label, stop.quote(stop.value))


def _escape(stop: Stop, begin: int) -> Problem:
    escape = stop.source[begin : begin + 2]
    digits = _ESCAPE_DIGITS.get(escape)
    wants = f"wants {digits} hexadecimal digits" if digits else "is no escape that YAML knows"
    help_ = f"write `\\{escape}` for a backslash, or put the text in single quotes"
    return stop.problem("unknown-escape", begin, begin + 2, f"`{escape}` {wants}", help_)


def _character(stop: Stop) -> Problem | None:
    sign = stop.source[stop.at : stop.at + 1]
    reserved = "cannot start any token" in stop.words and sign in "@`%|>"
    lost = "node content" in stop.words and sign and sign in ",]}" and not stop.brackets
    lonely = "mapping keys are not allowed" in stop.words
    if "anchor" in stop.context and "alphabetic" in stop.words:
        return _reserved(stop, stop.since)
    if "directive" in stop.context or "directive" in stop.words:
        return _reserved(stop, stop.since if stop.source[stop.since : stop.since + 1] == "%" else stop.begin)
    return _reserved(stop, stop.at) if reserved or lost or lonely else None


def _reserved(stop: Stop, at: int) -> Problem:
    end, _, _ = stop.rest(at)
    sign = stop.source[at : at + 1]
    name = "a backtick" if sign == "`" else f"`{sign}`"
    label = f"a text without quotes cannot begin with {name}"
    return stop.problem("reserved-start", at, end, label, stop.quote(at))


def _alias(stop: Stop) -> Problem | None:
    if "alias" not in stop.context:
        return None
    end, value, _ = stop.rest(stop.since)
    label = f"the `*` makes {shown(value)} an alias"
    return stop.problem("unknown-alias", stop.since, end, label, f"if it is text, {stop.quote(stop.since)}")


def _no_key(stop: Stop) -> Problem | None:
    sign = stop.source[: stop.at].rstrip()[-1:]
    if stop.source[stop.at : stop.at + 1] != ":" or "expected" not in stop.words or sign not in ("", *",{["):
        return None
    label, help_ = "no key stands before this `:`", "write one, or put a text in quotes"
    return stop.problem("empty-key", stop.at, stop.at + 1, label, help_)


def _bracket(stop: Stop) -> Problem | None:
    if not stop.brackets or not ("flow" in stop.context or "expected" in stop.words):
        return None
    opener = stop.brackets[-1]
    sign = stop.source[opener]
    closer = "]" if sign == "[" else "}"
    here = stop.source[stop.at : stop.at + 1]
    gone = stop.at >= len(stop.source.rstrip())
    moved_on = (
        stop.text.line(opener) < stop.line
        and stop.indent(stop.at) <= stop.indent(opener)
        and here not in "]}"
    )
    if gone or moved_on:
        return stop.text.problem(
            "unclosed-bracket", opener, opener + 1, f"`{sign}` is never closed", f"close it with `{closer}`"
        )
    if here and here in "]}":
        label = (
            f"`{here}` does not close the `{sign}`"
            if here != closer
            else f"something is missing before `{here}`"
        )
        return stop.problem("syntax", stop.at, stop.at + 1, label, f"`{closer}` is needed")
    if here == ":":
        label, help_ = "a `:` stands here without a space behind it", "write a space, or put a text in quotes"
        return stop.problem("syntax", stop.at, stop.at + 1, label, help_)
    if here == "-":
        label = f"an item with `-` cannot stand between `{sign}` and `{closer}`"
        return stop.problem(
            "syntax", stop.at, stop.at + 1, label, "part the items with commas, or quote a text"
        )
    if here == "," and "node content" in stop.words:
        return stop.problem("syntax", stop.at, stop.at + 1, "nothing stands before this comma", "remove it")
    end, value, _ = stop.rest(stop.at)
    label = f"a comma or `{closer}` is missing before {shown(value or here)}"
    return stop.problem(
        "syntax", stop.at, max(end, stop.at + 1), label, "a text that holds brackets or quotes needs quotes"
    )


def _in_line(stop: Stop) -> Problem | None:
    if "sequence entries are not allowed" in stop.words:
        end, value, before = stop.rest(stop.at)
        help_ = f"begin the list on the next line, or {quote_help(before, value)}"
        return stop.problem("list-on-key-line", stop.at, end, "a list cannot begin behind its key", help_)
    if "block scalar" in stop.context:
        end, value, before = stop.rest(stop.since)
        if "line break" in stop.words:
            help_ = f"begin the text on the next line, or {quote_help(before, value)}"
            return stop.problem(
                "block-header", stop.at, end, f"text stands behind `{stop.source[stop.since]}`", help_
            )
        label = f"{shown(value)} is no mark of a block of text"
        return stop.problem(
            "block-header", stop.since, end, label, "write `|` or `>`, with `-` or `+` at most"
        )
    return None


def _colon(stop: Stop) -> Problem | None:
    source, at = stop.source, stop.at
    if "could not find expected ':'" in stop.words:
        return _without_colon(stop, stop.since)
    if "mapping values are not allowed" not in stop.words:
        return None
    if at - stop.begin > _LONGEST_KEY:
        label = "a key can have 1,024 characters at most"
        return stop.problem("syntax", stop.begin, at, label, "is this a text that needs quotes?")
    found = VALUE_START.match(source, stop.begin, at)
    if found and source[found.end() - 1] in " \t" and source[stop.begin : found.end()].rstrip().endswith(":"):
        end, value, before = stop.rest(found.end())
        return stop.problem(
            "colon-in-value",
            at,
            at + 1,
            f"a value without quotes cannot hold `{source[at : at + 1]} `",
            quote_help(before, value),
        )
    above = stop.line - 1
    while above > 1 and not source[slice(*stop.text.bounds(above))].strip():
        above -= 1
    if above >= 1:
        begin, end = stop.text.bounds(above)
        if problem := wide_colon_problem(stop.text, begin, end):
            return problem
        if not re.search(r":(?:\s|$)", source[begin:end]) and stop.indent(at) <= stop.indent(begin):
            return _without_colon(stop, begin)
    return _indentation(stop)


def _without_colon(stop: Stop, at: int) -> Problem:
    begin, end = stop.text.bounds(stop.text.line(at))
    if problem := wide_colon_problem(stop.text, begin, end):
        return problem
    begin += len(stop.source[begin:end]) - len(stop.source[begin:end].lstrip())
    end, value, _ = stop.rest(begin)
    if problem := _no_space_item(stop, begin, end, value):
        return problem
    if found := _NO_SPACE.fullmatch(value):
        help = f"a space is missing after the colon: `{found[1]}: {found[2]}`"
        return stop.problem("missing-colon", begin, end, f"{shown(value)} is one text", help)
    label = f"{shown(value)} has no `:` behind its key"
    return stop.problem(
        "missing-colon", begin, end, label, "write `key: value`; further lines of a text are indented"
    )


def _no_space_item(stop: Stop, begin: int, end: int, value: str) -> Problem | None:
    if not (dashed := _NO_SPACE_ITEM.fullmatch(value)):
        return None
    help_ = f"a space is missing after the dash: `- {dashed[1]}`"
    return stop.problem("syntax", begin, end, f"{shown(value)} is a text, and no list item", help_)


def _block(stop: Stop) -> Problem | None:
    if "block" not in stop.context or "expected" not in stop.words:
        return None
    if stop.first:
        return _indentation(stop)
    end, value, _ = stop.rest(stop.at)
    label = f"{shown(value)} stands behind a value that has ended"
    near = stop.text.line(stop.value) == stop.line
    help_ = stop.quote(stop.value) if near else "put the whole text in quotes"
    return stop.problem("text-after-value", stop.at, end, label, help_)


def _indentation(stop: Stop) -> Problem:
    indent = stop.indent(stop.at)
    begin = stop.begin + indent
    end, value, _ = stop.rest(begin)
    if problem := _no_space_item(stop, begin, end, value):
        return problem
    levels = _levels(stop, indent)
    if indent in levels and value.startswith("-"):
        label, help_ = "a list item stands among keys", "indent the list below its key, or give it one"
    elif indent in levels:
        label, help_ = (
            "a key stands among list items",
            "a list holds `- ` items only; is a line indented wrongly?",
        )
    else:
        told = " or ".join(str(level) for level in sorted(levels)) or "0"
        label = f"this line is indented by {indent}, the lines it could belong to by {told}"
        help_ = "indent it like the lines it belongs to"
    return stop.problem("wrong-indentation", begin, end, label, help_)


def _levels(stop: Stop, indent: int) -> set[int]:
    """Return the indentations of the lines above that are still open, as the text shows them."""
    levels: set[int] = set()
    least = 1 << 30
    for line in range(stop.line - 1, max(0, stop.line - 1000), -1):
        content = stop.source[slice(*stop.text.bounds(line))]
        here = len(content) - len(content.lstrip())
        if not content.strip() or content.lstrip().startswith("#") or here >= least:
            continue
        least = here
        levels.add(here)
        if here <= indent:
            break
    return levels


def _head(stop: Stop) -> Problem | None:
    if "document start" in stop.words:
        end, _, _ = stop.rest(stop.at)
        return stop.problem(
            "several-documents", stop.at, end, "a second document begins here", "keep one in each file"
        )
    if "incompatible" in stop.words:
        end, _, _ = stop.rest(stop.begin)
        return stop.problem("yaml-version", stop.begin, end, "only YAML 1.2 can be read", "remove this line")
    if "tag" in stop.context or "tag" in stop.words:
        end, value, before = stop.rest(stop.since)
        label = f"{shown(value.split(' ')[0])} is no tag that can be read"
        return stop.problem(
            "unknown-tag", stop.since, end, label, f"if it is text, {quote_help(before, value)}"
        )
    return None
