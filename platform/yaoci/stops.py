"""Where the YAML parser gave up: its words, the line as far as that, and the brackets that are still open there."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import yaml

from .texts import Problem, Span, Text, quote_help
from .traps import uncommented


class Stop(NamedTuple):
    """Where the parser gave up: its words, the offset, the offset it started from, and the line as far as that."""

    text: Text
    source: str
    words: str
    context: str
    at: int
    since: int
    line: int
    begin: int
    end: int
    brackets: list[int]
    """Where the brackets open that are still open there, from the outermost."""
    flows: list[int]
    """Where every mapping in braces begins on that line."""
    value: int
    """Where the last value before it begins."""

    @property
    def first(self) -> bool:
        """True if it is the first thing on its line."""
        return not self.source[self.begin : self.at].strip()

    def indent(self, offset: int) -> int:
        """Return the indentation of the line in which `offset` lies."""
        begin, end = self.text.bounds(self.text.line(offset))
        return end - begin - len(self.source[begin:end].lstrip())

    def problem(self, slug: str, begin: int, end: int, label: str, help: str = "") -> Problem:
        """Return a problem, which names the bracket or quote it began with if that is on another line."""
        related: tuple[tuple[str, Span], ...] = ()
        if self.brackets and self.text.line(self.brackets[-1]) != self.text.line(begin):
            opener = self.brackets[-1]
            related = (("opened here", self.text.span(opener, opener + 1)),)
        return self.text.problem(slug, begin, end, label, help, related=related)

    def rest(self, begin: int) -> tuple[int, str, str]:
        """Return the end of the value at `begin`, the value, and the line before it.

        A comment is no part of a value, nor is a comma or a bracket where brackets are around it.
        """
        first, stop = self.text.bounds(self.text.line(begin))
        value = uncommented(self.source[begin:stop])
        if any(bracket < begin for bracket in self.brackets):
            value = re.split(r"[,\]}]", value, maxsplit=1)[0].rstrip() or value
        return begin + len(value), value, self.source[first:begin]

    def quote(self, begin: int) -> str:
        """Return the advice to quote the value at `begin`."""
        _, value, before = self.rest(begin)
        sign = value[:1]
        if sign in ("'", '"') and len(value) > 1 and value.endswith(sign):
            value = value[1:-1]  # the quotes were meant to be around it all
        return quote_help("" if any(bracket < begin for bracket in self.brackets) else before, value)


def stop_of(text: Text, error: yaml.YAMLError, scan: Callable[[int], Callable[[], Any]]) -> Stop:
    """Return where the parser gave up with `error`; `scan` returns what gives the tokens before an offset."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    at = min(mark.index if mark else 0, len(text.text))
    context = getattr(error, "context_mark", None)
    line = text.line(at)
    begin, end = text.bounds(line)
    brackets, flows, value = _scanned(scan(at), begin)
    return Stop(
        text=text,
        source=text.text,
        words=str(getattr(error, "problem", None) or ""),
        context=str(getattr(error, "context", None) or ""),
        at=at,
        since=min(context.index if context else at, len(text.text)),
        line=line,
        begin=begin,
        end=end,
        brackets=brackets,
        flows=flows,
        value=value,
    )


def open_brackets(get: Callable[[], Any]) -> list[int]:
    """Return where the brackets open that are still open after the tokens that `get` gives, from the outermost."""
    return _scanned(get, 0)[0]


def _scanned(get: Callable[[], Any], begin: int) -> tuple[list[int], list[int], int]:
    """Return the open brackets, the braces that open from `begin` on, and where the last value begins."""
    brackets: list[int] = []
    flows: list[int] = []
    value = 0
    try:
        while (token := get()) is not None:
            kind, start = token.id, token.start_mark.index
            if kind in ("[", "{"):
                brackets.append(start)
                if kind == "{" and start >= begin:
                    flows.append(start)
            elif kind in ("]", "}") and brackets:
                value = brackets.pop()
            elif kind in ("<scalar>", "<alias>"):
                value = start
    except yaml.YAMLError:
        pass  # the text ends within a token
    return brackets, flows, value
