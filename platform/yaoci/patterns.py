"""Regular expressions that cannot run away: searched for where that ends soon, else in a helper process.

JSON Schema's expressions are ECMA-262's, and anybody may have written them. Each is translated to
Python's dialect. Where its work is bounded, and the bound is low, plain `re` searches; elsewhere a
helper process does, which ends itself after LIMIT seconds.
"""

import atexit
import os
import re
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from .backtracking import Work, work_of

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
    return _Known(compiled, work_of(python, len(pattern)))


class _Known(NamedTuple):
    compiled: re.Pattern[str]
    work: Work | None

    def affordable(self, length: int) -> bool:
        """True if a search in a text of `length` characters surely ends soon."""
        return self.work is not None and self.work.steps(length) <= _FREE_STEPS + _STEPS_A_CHARACTER * length


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
