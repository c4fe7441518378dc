"""Regular expressions that cannot run away: a bound on the work each can make, and a helper process beyond it.

JSON Schema's expressions are ECMA-262's, and anybody may have written them. Each is translated to
Python's dialect, and a bound on the work it can make is read from its syntax tree. Within the bound
plain `re` searches; beyond it a helper process does, which ends itself after LIMIT seconds.
"""

import atexit
import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from subprocess import Popen

LIMIT = 0.1
"""How long a search that could run away may take, in seconds of the helper's CPU."""

MAX_PATTERN = 10_000
"""How long an expression may be, in characters."""

_FREE_STEPS = 1_000_000  # about 30 ms of `re`
_STEPS_A_CHARACTER = 20


class PatternTimeout(Exception):  # noqa: N818 - it says what happened
    """A search took longer than LIMIT, or there is no way here to stop it in time."""


class Fault(NamedTuple):
    """Why an expression cannot be used: `bad-regex`, or `regex-dialect` for what ECMA has and `re` has not."""

    slug: str
    text: str
    help: str


def search(pattern: str, text: str) -> bool:
    """Return True if `pattern`, read as ECMA-262's, is found anywhere in `text`.

    Works in any thread and in a forked process. Raises PatternTimeout, and re.error for
    a pattern that does not compile.
    """
    known = _known(pattern)
    if known.affordable(len(text)):
        return known.compiled.search(text) is not None
    return _helper(os.getpid()).search(known.compiled.pattern, text)


def surely(pattern: str, text: str) -> bool:
    """Return True if `pattern` is found in `text` and that is cheap to tell; False says nothing.

    Raises re.error for a pattern that does not compile.
    """
    known = _known(pattern)
    return known.affordable(len(text)) and known.compiled.search(text) is not None


def fault(pattern: str) -> Fault | None:
    """Return why `pattern` cannot be used, or None if it can."""
    try:
        _known(pattern)
    except re.error as error:
        if _ECMA_ONLY.search(pattern) or "look-behind" in error.msg:
            return Fault(
                "regex-dialect",
                f"`{pattern}` is of a dialect that is not understood here: {error.msg}",
                "write the characters out, as in `[A-Za-z]`; until then the expression is not checked",
            )
        hint = "`*` and `+` repeat what stands before them; any text at all is `.*`"
        return Fault(
            "bad-regex",
            f"`{pattern}` is no regular expression: {error.msg}",
            hint if "repeat" in error.msg else "",
        )
    return None


_ECMA_ONLY = re.compile(r"\\[pP]\{|\\u\{|\\c[A-Za-z]|\[\^?\](?![^\[]*\])")


# -- from ECMA-262 to `re` --------------------------------------------------------------------------

_SPACE = r" \t\n\r\f\v\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_OUTSIDE = re.compile(r"\\k<\w*>|\\.|\(\?<(?![=!])|\[\^?\]?|.", re.DOTALL)
_INSIDE = re.compile(r"\\.|.", re.DOTALL)
_SAME_OUTSIDE = {"$": r"\Z", r"\s": f"[{_SPACE}]", r"\S": f"[^{_SPACE}]", "(?<": "(?P<"}
_SAME_INSIDE = {r"\s": _SPACE, "[": r"\[", "&": r"\&", "|": r"\|", "~": r"\~"}


def _python(pattern: str) -> str:
    """Return `pattern` so that `re` with its ASCII flag means by it what ECMA-262 does."""
    out: list[str] = []
    at, inside = 0, False
    while at < len(pattern):
        found = (_INSIDE if inside else _OUTSIDE).match(pattern, at)
        token = found.group() if found else pattern[at]
        at += len(token)
        if inside:
            inside = token != "]"  # noqa: S105 - a piece of an expression
            out.append(_SAME_INSIDE.get(token, token))
        elif token.startswith(r"\k<"):
            out.append(f"(?P={token[3:-1]})")
        else:
            inside = token.startswith("[")
            out.append(_SAME_OUTSIDE.get(token, token))
    return "".join(out)


@lru_cache(maxsize=1024)
def _known(pattern: str) -> "_Known":
    if len(pattern) > MAX_PATTERN:
        raise re.error(f"longer than {MAX_PATTERN:,} characters")
    python = _python(pattern)
    try:
        compiled = re.compile(python, re.ASCII)
    except re.error as error:
        raise re.error(error.msg) from None
    except (OverflowError, RecursionError, FutureWarning) as error:
        raise re.error(str(error) or "too complex") from None
    return _Known(compiled, _work(python, len(pattern)))


class _Known(NamedTuple):
    compiled: re.Pattern[str]
    work: "_Work | None"

    def affordable(self, length: int) -> bool:
        """True if a search in a text of `length` characters surely ends soon."""
        return self.work is not None and self.work.steps(length) <= _FREE_STEPS + _STEPS_A_CHARACTER * length


# -- how much work an expression can make -----------------------------------------------------------
#
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


class _Work(NamedTuple):
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


def _work(python: str, size: int) -> _Work | None:
    """Return a bound on the work of a translated expression, or None if there is none."""
    try:
        # `re` has no public way to its syntax tree; one that looks different is an expression not known
        tree: Any = importlib.import_module("re._parser").parse(python, re.ASCII)
        if tree.state.flags & ~(re.ASCII | re.UNICODE):
            return None
        items = _shortened(list(tree))
        factor, degree = _ways(items, _END)
        width = sum(_width(op, arg)[1] for op, arg in items)
        return _Work(factor, degree, width, size, _anchored(items))
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


# -- the helper process -----------------------------------------------------------------------------

# It limits itself, so that a runaway search ends also where the parent is gone. CPU time, where the
# system can measure it, is just to a busy machine; elsewhere a watchdog looks at the clock.
_HELPER = """
import faulthandler, os, re, signal, sys
limit = float(sys.argv[1])
if hasattr(signal, "setitimer"):
    def arm(): signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    def disarm(): signal.setitimer(signal.ITIMER_VIRTUAL, 0)
else:
    nowhere = open(os.devnull, "w")
    def arm(): faulthandler.dump_traceback_later(limit, exit=True, file=nowhere)
    disarm = faulthandler.cancel_dump_traceback_later
read, write = sys.stdin.buffer.read, sys.stdout.buffer.write
while len(head := read(8)) == 8:
    sizes = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")
    pattern, text = (read(size).decode("utf-8", "surrogatepass") for size in sizes)
    compiled = re.compile(pattern, re.ASCII)
    arm()
    found = compiled.search(text)
    disarm()
    write(b"n" if found is None else b"y")
    sys.stdout.buffer.flush()
"""


@cache
def _helper(pid: int) -> "_Helper":
    return _Helper(pid)


class _Helper:
    """A process that searches for us, started at the first search and again after each that was stopped."""

    __slots__ = ("_lock", "_pid", "_process")

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._lock = Lock()
        self._process: Popen[bytes] | None = None

    def search(self, pattern: str, text: str) -> bool:
        """Return True if `pattern`, in Python's dialect, is found; raise PatternTimeout."""
        parts = [part.encode("utf-8", "surrogatepass") for part in (pattern, text)]
        asked = b"".join([*(len(part).to_bytes(4, "big") for part in parts), *parts])
        with self._lock:
            try:
                answer = self._asked(asked)
            except OSError as error:
                self._stop()
                raise PatternTimeout(f"nothing could be started to search with: {error}") from None
            except BaseException:
                self._stop()  # an answer may still be on its way: the next one must not take it for its own
                raise
            if not answer:
                self._stop()
                raise PatternTimeout("the search took too long")
        return answer == b"y"

    def _asked(self, asked: bytes) -> bytes:
        process = self._process
        if process is None or process.poll() is not None:
            self._stop()
            process = self._process = _started(self.close)
        if process.stdin is None or process.stdout is None:
            return b""
        process.stdin.write(asked)
        process.stdin.flush()
        return process.stdout.read(1)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            atexit.unregister(self.close)
            process.kill()
            process.communicate()

    def close(self) -> None:
        """End the process, if it runs and is ours: a fork has a copy of this object, but not of the process."""
        if self._pid == os.getpid():
            with self._lock:
                self._stop()


def _started(close: Callable[[], None]) -> "Popen[bytes]":
    from subprocess import DEVNULL, PIPE, Popen

    command = [sys.executable, "-I", "-S", "-c", _HELPER, str(LIMIT)]
    # a session of its own: Ctrl-C is for us, and we end the helper
    process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True)  # noqa: S603 - our own text
    atexit.register(close)
    return process
