"""How often a regular expression can make a search go back: a bound on its work, read from its syntax tree."""

import importlib
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

# The number of ways in which a backtracking search can go through a text of n characters is at most
# `factor * (n + 1) ** degree`. A choice (one repeat more or not, this alternative or that) that the
# next character alone decides has one way: the wrong one dies at once. What may repeat without end
# must have one way inside, else the ways multiply with each round. Sets of characters are the bits
# of an integer: 128 for ASCII, one for all others together, one for the end of the text.

_ASCII = (1 << 128) - 1
_OTHER = 1 << 128
_END = 1 << 129
_MANY = 10**12
_WIDE = 1_000


class Work(NamedTuple):
    """What bounds the work of an expression: its ways, how much text it can take, its length."""

    factor: int
    degree: int
    width: int
    size: int
    anchored: bool

    def steps(self, length: int) -> int:
        """Return the most steps a search in `length` characters can take."""
        ways: int = self.factor * (length + 1) ** self.degree
        return ways * (min(self.width, length) + self.size) * (1 if self.anchored else length + 1)


class _EndlessError(Exception):
    """The ways cannot be bounded, or the tree has something that is not known here."""


def work_of(python: str, size: int) -> Work | None:
    """Return a bound on the work of an expression, or None if there is none.

    `python` is in the dialect of `re`, with its ASCII flag; `size` is its length as it was written.
    """
    try:
        # `re` has no public way to its syntax tree; one that looks different is an expression not known
        tree: Any = importlib.import_module("re._parser").parse(python, re.ASCII)
        if tree.state.flags & ~(re.ASCII | re.UNICODE):
            return None
        items = _shortened(list(tree))
        factor, degree = _ways(items, _END)
        width = sum(_width(op, arg)[1] for op, arg in items)
        return Work(factor, degree, width, size, _anchored(items))
    except (_EndlessError, ImportError, AttributeError, TypeError, ValueError, RecursionError):
        return None


def _shortened(items: list[Any]) -> list[Any]:
    """Return what decides: a repeat of one character at the very end never has to go on."""
    if items and str(items[-1][0]) in _REPEATS:
        op, (low, _, body) = items[-1]
        if len(body) == 1 and str(body[0][0]) in _CHARACTERS:
            return [*items[:-1], (op, (low, low, body))] if low else _shortened(items[:-1])
    return items


_CHARACTERS = frozenset({"LITERAL", "NOT_LITERAL", "ANY", "IN"})
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_ASSERTIONS = frozenset({"ASSERT", "ASSERT_NOT"})
_NO_REPEAT_END = 2**16


def _anchored(items: Sequence[Any]) -> bool:
    if not items:
        return False
    op, arg = items[0]
    if str(op) == "AT":
        return str(arg) in {"AT_BEGINNING", "AT_BEGINNING_STRING"}
    if str(op) == "BRANCH":
        return all(_anchored(branch) for branch in arg[1])
    return str(op) == "SUBPATTERN" and _anchored(arg[3])


def _width(op: Any, arg: Any) -> tuple[int, int]:
    """Return how many characters an item takes at least and at most."""
    name = str(op)
    if name in _CHARACTERS:
        return 1, 1
    if name == "AT" or name in _ASSERTIONS:
        return 0, 0
    if name == "BRANCH":
        widths = [branch.getwidth() for branch in arg[1]]
        return min(low for low, _ in widths), max(high for _, high in widths)
    if name in _REPEATS:
        low, high = arg[2].getwidth()
        return low * arg[0], high * arg[1]
    least, most = _inner(name, arg).getwidth()
    return least, most


def _inner(name: str, arg: Any) -> Any:
    """Return what a group holds."""
    if name == "SUBPATTERN" and not arg[1] and not arg[2]:
        return arg[3]
    if name == "ATOMIC_GROUP":
        return arg
    raise _EndlessError(name)


def _ways(items: Sequence[Any], after: int) -> tuple[int, int]:
    """Return factor and degree for a sequence, of which `after` may follow."""
    factor, degree = 1, 0
    for op, arg in reversed(items):
        more, higher = _choices(str(op), arg, after)
        factor, degree = factor * more, degree + higher
        if factor > _MANY:
            raise _EndlessError("factor")
        after = _first(str(op), arg) | (0 if _width(op, arg)[0] else after)
    return factor, degree


def _choices(name: str, arg: Any, after: int) -> tuple[int, int]:
    if name in _CHARACTERS or name == "AT":
        return 1, 0
    if name in _REPEATS:
        low, high, body = arg
        return _rounds(low, high, body, after)
    if name == "BRANCH":
        return _alternatives(arg[1], after)
    if name in _ASSERTIONS:
        factor, degree = _ways(arg[1], _END)
        width = arg[1].getwidth()[1]
        return (factor * (width + 1), degree) if width <= _WIDE else (factor, degree + 1)
    return _ways(_inner(name, arg), after)


def _alternatives(branches: Sequence[Any], after: int) -> tuple[int, int]:
    ways = [_ways(branch, after) for branch in branches]
    seen, decided = 0, True
    for branch in branches:
        begins = _begins(branch) | (0 if branch.getwidth()[0] else after)
        decided = decided and not seen & begins
        seen |= begins
    factors = [factor for factor, _ in ways]
    return max(factors) if decided else sum(factors), max(degree for _, degree in ways)


def _rounds(low: int, high: int, body: Any, after: int) -> tuple[int, int]:
    begins, empty = _begins(body), not body.getwidth()[0]
    factor, degree = _ways(body, begins | after)
    decided = not begins & after and not empty
    one_way = factor == 1 and degree == 0
    if high >= _NO_REPEAT_END:
        if empty or not one_way:
            raise _EndlessError("repeat")
        return 1, 0 if decided else 1
    ends = 1 if decided else high - low + 1
    if one_way:
        return ends, 0
    if high > _WIDE // 10:
        raise _EndlessError("repeat")
    return factor**high * ends, degree * high


def _begins(items: Sequence[Any]) -> int:
    """Return the characters a sequence can begin with."""
    found = 0
    for op, arg in items:
        found |= _first(str(op), arg)
        if _width(op, arg)[0]:
            break
    return found


def _first(name: str, arg: Any) -> int:
    if name in _CHARACTERS:
        return _characters(name, arg)
    if name == "AT":
        return _END if str(arg) in {"AT_END", "AT_END_STRING"} else 0
    if name in _ASSERTIONS:
        return 0
    if name in _REPEATS:
        return _begins(arg[2])
    if name == "BRANCH":
        found = 0
        for branch in arg[1]:
            found |= _begins(branch)
        return found
    return _begins(_inner(name, arg))


def _characters(name: str, arg: Any) -> int:
    if name == "LITERAL":
        return _characters("RANGE", (arg, arg))
    if name == "NOT_LITERAL":
        return _ASCII & ~_characters("LITERAL", arg) | _OTHER
    if name == "ANY":
        return _ASCII & ~(1 << 10) | _OTHER
    if name == "RANGE":
        low, high = arg
        below: int = (1 << min(low, 128)) - 1
        upto: int = (2 << min(high, 127)) - 1
        return upto & ~below | (_OTHER if high > 127 else 0)  # noqa: PLR2004 - ASCII
    if name == "CATEGORY":
        return _category(str(arg))
    found, negated = 0, False
    for op, inner in arg:
        if str(op) == "NEGATE":
            negated = True
        else:
            found |= _characters(str(op), inner)
    # all that are not ASCII are one bit, so its complement has them again
    return _ASCII & ~found | _OTHER if negated else found


@cache
def _category(name: str) -> int:
    signs = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
    kind = name.rsplit("_", 1)[-1]
    if kind not in signs:
        raise _EndlessError(name)
    fits = re.compile(signs[kind], re.ASCII)
    found = sum(1 << code for code in range(128) if fits.match(chr(code)))
    return _ASCII & ~found | _OTHER if "_NOT_" in name else found
