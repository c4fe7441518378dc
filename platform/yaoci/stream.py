"""What came of a run, and its events as they happen."""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from .contracts import Usage
from .errors import Failure, UsageError
from .events import Event
from .messages import Message
from .values import Json

BEHIND: Final = 256
"""So many events may wait for a reader before the run waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run that has an answer."""

    run: str
    state: Literal["done"] = "done"
    message: Message | None = None
    """The last message; of a process none, unless a callback made one."""
    output: Json = None
    """An assistant's checked `returns` value, else its text; a process's result."""
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    error: Failure | None = None
    """Why the turn failed, where its `fail` hook answered."""


class Stream:
    """The events of a run, as they happen. Iterating ends with the run, and raises Failed if it failed."""

    def __init__(self) -> None:
        self.task: asyncio.Future[Outcome]
        self._events: deque[Event] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._writers: deque[asyncio.Future[None]] = deque()

    @property
    def outcome(self) -> Outcome:
        """The outcome of a run that has ended. Raises Failed; UsageError before the end."""
        if not self.task.done():
            raise UsageError("the run has not ended yet: read its events first")
        return self.task.result()

    async def put(self, event: Event) -> None:
        """Take an event; wait where the reader is far behind. A waiting reader is served first."""
        while len(self._events) >= BEHIND:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._writers.append(waiter)
            await waiter
        self._events.append(event)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
            await asyncio.sleep(0)

    def wake(self, _: Any = None) -> None:
        """Let the reader look again."""
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def __aiter__(self) -> Self:
        """Return the stream itself."""
        return self

    async def __anext__(self) -> Event:
        """Return the next event."""
        while not self._events:
            if self.task.done():
                self.task.result()
                raise StopAsyncIteration
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        event = self._events.popleft()
        if self._writers and len(self._events) < BEHIND // 2:
            while self._writers:
                waiter = self._writers.popleft()
                if not waiter.done():
                    waiter.set_result(None)
        return event
