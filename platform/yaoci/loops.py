"""An event loop for one piece of work, which ends even where something left behind does not."""

import asyncio
import signal
import threading
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

T = TypeVar("T")

PATIENCE: Final = 1.0
"""Seconds that what is left behind may take to end, once the work has ended."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in a loop of its own, and return its result.

    As with `asyncio.run`, a first Ctrl-C cancels the work and raises KeyboardInterrupt, and a second
    one ends it where it is. But tasks that swallow their cancel are left behind after a second, where
    `asyncio.run` would wait for them without end.
    """
    loop = asyncio.new_event_loop()
    try:
        task = loop.create_task(work)
        with _interrupts(loop, task) as pressed:
            try:
                return loop.run_until_complete(task)
            except asyncio.CancelledError:
                if pressed:
                    raise KeyboardInterrupt from None
                raise
    finally:
        _close(loop)


@contextmanager
def _interrupts(
    loop: asyncio.AbstractEventLoop, task: "asyncio.Task[Any]"
) -> Generator[list[int], None, None]:
    """Let Ctrl-C cancel the task; yield the list of those that came. Only the main thread hears them."""
    pressed: list[int] = []

    def press(number: int, _: Any) -> None:
        pressed.append(number)
        if len(pressed) > 1:
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(task.cancel)

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """End what still runs, and close the loop; what does not end is not waited for."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=PATIENCE))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.set_exception_handler(_say_nothing)  # of tasks that are destroyed while they wait
    loop.close()


def _say_nothing(_: asyncio.AbstractEventLoop, about: dict[str, Any]) -> None:
    """Take note of what a loop that is closed complains about."""
