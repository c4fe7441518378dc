"""Sync functions in threads of their own, left behind where they are given up."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from .errors import Failed

MAX_LEFT: Final = 32
"""So many threads may be left behind, running what was given up, before new calls fail."""


class _Left:
    """Counts the threads that were left behind."""

    count = 0
    lock = threading.Lock()


class _Thread:
    """One call in a daemon thread of its own, so that neither a pool nor the end of the process waits for it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._work = work
        self._ended = False
        self._left = False

    def start(self) -> None:
        threading.Thread(target=self._body, name="yaoci-process", daemon=True).start()

    def leave(self) -> None:
        """Count the thread as left behind until it ends."""
        with _Left.lock:
            if not self._ended:
                self._left = True
                _Left.count += 1

    def _body(self) -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = self._work()
        except (StopIteration, KeyboardInterrupt, SystemExit) as caught:  # a future cannot carry them
            error = RuntimeError(f"{type(caught).__name__}: {caught}").with_traceback(caught.__traceback__)
        except BaseException as caught:  # noqa: BLE001 - it is handed on to the caller
            error = caught
        with _Left.lock:
            self._ended = True
            _Left.count -= self._left
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, value, error)

    def _settle(self, value: Any, error: BaseException | None) -> None:
        if self.future.cancelled():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(value)


async def in_thread(work: Callable[[], Any]) -> Any:
    """Run `work` in a thread and return its result; given up, it is left behind."""
    if _Left.count >= MAX_LEFT:
        raise Failed.of("limit", f"{MAX_LEFT} calls that were given up are still running; no new one starts")
    thread = _Thread(work)
    thread.start()
    try:
        return await thread.future
    except asyncio.CancelledError:
        thread.leave()
        raise
