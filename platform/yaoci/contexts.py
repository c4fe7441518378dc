"""What a user's function gets as `context`: to send, to call, to share; for async and for sync functions."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any, Final, TypeVar, cast

from .contracts import Host
from .errors import Failed, UsageError
from .messages import Message
from .values import Json, NotJsonError, canonical

GRACE: Final = 1.0
"""Seconds that what a function began may take to end, once it is given up."""

T = TypeVar("T")


class Shared(MutableMapping[str, Json]):
    """`shared` of the run: values go in and come out as copies."""

    def __init__(self, host: Host) -> None:
        """Take the host of the call."""
        self._host = host

    def _values(self) -> Mapping[str, Json]:
        return cast("Mapping[str, Json]", self._host.names["shared"])

    def __getitem__(self, name: str) -> Json:
        """Return a copy of a value."""
        return deepcopy(self._values()[name])

    def __setitem__(self, name: str, value: Json) -> None:
        """Write a value. Raises Failed once the call is given up."""
        if self._host.cancelled:
            raise Failed.of("cancelled", "the call was given up")
        self._host.set(name, value)

    def __delitem__(self, name: str) -> None:
        """Write null, since what was set stays known."""
        self._host.set(name, None)

    def __iter__(self) -> Iterator[str]:
        """Return the keys."""
        return iter(list(self._values()))

    def __len__(self) -> int:
        """Return how many keys there are."""
        return len(self._values())


class Context:
    """What an async function gets as `context`."""

    def __init__(self, host: Host) -> None:
        """Take the host of the call."""
        self._host = host
        self._running: set[asyncio.Task[Any]] = set()
        self.shared = Shared(host)

    async def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """Do what the function asks for, so that it ends with the function."""
        if self.cancelled:
            work.close()
            raise Failed.of("cancelled", "the call was given up")
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._running.add(task)
        try:
            return await work
        finally:
            self._running.discard(task)

    async def end(self) -> None:
        """Give up what the function began and did not wait for, and wait for its end."""
        self._host.cancelled = True
        if self._running:
            running = set(self._running)
            for task in running:
                task.cancel()
                await asyncio.wait(running, timeout=GRACE)

    @property
    def run(self) -> str:
        """The run's id."""
        return self._host.run

    @property
    def key(self) -> str:
        """The same in every attempt of one call, different for every other call."""
        return f"{self._host.run}/{self._host.key}"

    @property
    def cancelled(self) -> bool:
        """True once the call is given up: a good place to stop."""
        return self._host.cancelled

    async def send(self, message: Json | Message) -> None:
        """Send a message to the user."""
        await self._do(self._host.send(message))

    async def process(self, name: str, args: Json = None, *, key: str = "") -> Json:
        """Run a process and return its result."""
        return await self._do(self._host.process(name, args, key=key or self._host.next_call()))

    async def call(
        self, assistant: str, input: Json, callback: Any = None, options: Json = None, *, key: str = ""
    ) -> Message:
        """Call an assistant, run the callback with its answer, and return the last message."""
        return await self._do(self._host.call(assistant, input, callback, options, key=key))

    async def log(self, text: str, /, **data: Json) -> None:
        """Add a note to the run's events: the text, and under `data` what comes with it."""
        try:
            told = canonical({"text": text, "data": data} if data else {"text": text})
        except NotJsonError as error:
            raise Failed.of("bad_args", f"this cannot be logged: {error}") from None
        await self._do(self._host.note("note", told))


class BlockingContext:
    """What a sync function gets as `context`: the same, each method waiting for its end."""

    def __init__(self, context: Context, loop: "asyncio.AbstractEventLoop") -> None:
        """Take what an async function would get, and the loop that the run is on."""
        self._context = context
        self._loop = loop
        self._thread = threading.get_ident()  # the loop's own
        self.shared = context.shared

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if threading.get_ident() == self._thread:
            work.close()
            raise UsageError(
                "this `context` waits, and would wait for itself: use it in the function's own thread"
            )
        if self.cancelled:
            work.close()
            raise Failed.of("cancelled", "the call was given up")
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except concurrent.futures.CancelledError:
            raise Failed.of("cancelled", "the call was given up") from None

    @property
    def run(self) -> str:
        """The run's id."""
        return self._context.run

    @property
    def key(self) -> str:
        """The same in every attempt of one call, different for every other call."""
        return self._context.key

    @property
    def cancelled(self) -> bool:
        """True once the call is given up: a good place to stop."""
        return self._context.cancelled

    def send(self, message: Json | Message) -> None:
        """Send a message to the user."""
        self._wait(self._context.send(message))

    def process(self, name: str, args: Json = None, *, key: str = "") -> Json:
        """Run a process and return its result."""
        return self._wait(self._context.process(name, args, key=key))

    def call(
        self, assistant: str, input: Json, callback: Any = None, options: Json = None, *, key: str = ""
    ) -> Message:
        """Call an assistant, run the callback with its answer, and return the last message."""
        return self._wait(self._context.call(assistant, input, callback, options, key=key))

    def log(self, text: str, /, **data: Json) -> None:
        """Add a note to the run's events: the text, and under `data` what comes with it."""
        self._wait(self._context.log(text, **data))
