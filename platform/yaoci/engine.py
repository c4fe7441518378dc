"""The engine: steps, scopes, joins and sleeps over a journal of results addressed by key.

A key is a place in the run tree. A replay may take another schedule, but never another result:
results, decisions and times come from the journal. Without a journal the engine only runs what it
is given, and its values are the same: each result is made canonical before it counts.

The grammar of keys (version 1), joined by `/`:

    t  create.0  r2  model~0  tool.0  tool.0/pre  tool.0/post  done~0.1  fail.0  callback.0  next.1
    steps.3  [7]  #4  p1  call.0  process.0  time  sleep

A hook with the index of its link; a step, an item, a pass, a branch; a round; a call in the model's
order; an attempt `~n`; a call of a Python function by order, or by the key it was given.
"""

import asyncio
import functools
import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypeVar

from .contracts import Branch, Effect, Entry, Journal, Key, Leg, Recorded
from .errors import Diverged, Failed, Failure
from .values import MAX_BYTES, Json, NotJsonError, canonical, compact, weighs_over

CONTRACT: Final = 1
"""The version of keys and entries."""

GRACE: Final = 1.0
"""Seconds that cancelled work may take to end before it is left behind."""

Act = Callable[[], Awaitable[Json]]
T = TypeVar("T")


def utc_now() -> datetime:
    """Return the time now, with its zone."""
    return datetime.now(UTC)


class Engine:
    """One leg of one run: runs what has no result yet, and gives the recorded result of what has."""

    __slots__ = ("_entries", "_journal", "_leg", "clock", "durable", "heard")

    def __init__(
        self, journal: Journal | None = None, leg: Leg | None = None, entries: Mapping[Key, Entry] | None = None,
        *, clock: Callable[[], datetime] = utc_now,
    ) -> None:  # fmt: skip
        """Take the journal and the leg it gave, with what is recorded so far; none of them: no memory."""
        self._journal = journal
        self._leg = leg
        self._entries = dict(entries or {})
        self.clock = clock
        self.durable = journal is not None
        self.heard = clock()
        """The time of the last entry that was written or read: what `now` is."""

    @classmethod
    async def open(
        cls, journal: Journal | None, run: str, clock: Callable[[], datetime] = utc_now
    ) -> "Engine":
        """Return an engine for the next leg of `run`."""
        if journal is None:
            return cls(clock=clock)
        leg = await journal.claim(run)
        return cls(journal, leg, await journal.load(leg), clock=clock)

    async def step(
        self, key: Key, act: Act, *, effect: Effect, asked: Json, timeout: float | None = None
    ) -> Recorded:
        """Run a leaf once and return its canonical result, or the recorded one. Raises Failed, Diverged.

        A `write` is opened in the journal before it runs; found open by a later leg it is not run
        again, since it may have happened: its result is the failure `unknown`.
        """
        digest = self._digest(asked)
        found = self._recorded(key, digest)
        if found is not None and found.state != "open":
            return self._heard(_replayed(found))
        if found is not None:
            failure = Failure("unknown", "begun before an interruption; it may or may not have happened")
            await self._write(key, "failed", failure.to_json(), digest)
            raise Failed(failure)
        if effect == "write":
            await self._write(key, "open", None, digest)
        return await self._attempt(key, act, effect, digest, timeout)

    async def _attempt(
        self, key: Key, act: Act, effect: Effect, digest: str, timeout: float | None
    ) -> Recorded:
        task = asyncio.ensure_future(act())
        try:
            await _ended(task, timeout)
        except asyncio.CancelledError:
            await self._cut(key, task, effect, digest, timeout)
            raise
        if not task.done():
            await _leave(task)
            failure = Failure("timeout", f"it took longer than {span(timeout)}")
            if effect == "write":
                failure = Failure(
                    "unknown", f"it took longer than {span(timeout)}; it may or may not have happened"
                )
            await self._write(key, "failed", failure.to_json(), digest)
            raise Failed(failure)
        return await self._settle(key, task, digest)

    async def _settle(self, key: Key, task: "asyncio.Future[Json]", digest: str) -> Recorded:
        """Record how a task that is done has ended, and return its value or raise its failure."""
        try:
            value = _counted(_result(task))
        except Failed as error:
            await self._write(key, "failed", error.failure.to_json(), digest)
            raise
        return await self._write(key, "done", value, digest)

    async def _cut(
        self, key: Key, task: "asyncio.Future[Json]", effect: Effect, digest: str, timeout: float | None
    ) -> None:
        """End a step whose run is cancelled: a `write` may finish, and what has ended is recorded."""
        if effect == "write" and not task.done():
            await asyncio.wait({task}, timeout=timeout or GRACE)
        if not task.done():
            await _leave(task)
            if effect == "write":
                text = "cut off by a cancel; it may or may not have happened"
                await self._write(key, "failed", Failure("unknown", text).to_json(), digest)
        elif not task.cancelled() and isinstance(task.exception(), Failed | None):
            with suppress(Failed):  # it is recorded; here the cancel counts
                await self._settle(key, task, digest)

    async def scope(self, key: Key, body: Act, *, asked: Json, timeout: float | None = None) -> Recorded:
        """Run what holds steps and close it with one entry; a closed scope is never entered again.

        Past its deadline the body is cancelled, and the recorded result is the failure `timeout`.
        """
        if self._journal is None:
            return self._heard(Recorded(_counted(await _in_time(body, timeout)), self.clock()))
        digest = self._digest(asked)
        found = self._recorded(key, digest)
        if found is not None:
            return self._heard(_replayed(found))
        try:
            value = _counted(await _in_time(body, timeout))
        except Failed as error:
            await self._write(key, "failed", error.failure.to_json(), digest)
            raise
        return await self._write(key, "done", value, digest)

    async def deadline(self, key: Key, body: Callable[[], Awaitable[T]], seconds: float, late: Failure) -> T:
        """Run `body`, which holds recorded steps itself; only that it took too long is recorded.

        Raises Late, with the failure `late`, where it did; Failed for what fails within.
        """
        found = self._recorded(key, "")
        if found is not None:
            try:
                self._heard(_replayed(found))
            except Failed as error:
                raise Late(error.failure) from None
        try:
            return await _in_time(body, seconds)
        except Late:
            await self._write(key, "failed", late.to_json(), "")
            raise Late(late) from None

    async def join(
        self,
        key: Key,
        branches: Sequence[Act],
        *,
        until: Literal["all", "any", "race"],
        limit: int | None = None,
    ) -> Sequence[Branch]:
        """Run branches at once, at most `limit`, and return how each ended, in their order.

        `all` waits for every one, also when one fails; `any` ends with the first that succeeds,
        `race` with the first that ends: that decision is an entry before anything acts on it, and
        the others are cancelled and `dropped`. On a replay only the deciding branch is entered.
        """
        decided = self._entries.get(key)
        if decided is not None and until != "all":
            index = int(decided.value)
            out = [Branch("dropped") for _ in branches]
            out[index] = await _branch(branches[index])
            return out
        gate = asyncio.Semaphore(limit or max(1, len(branches)))

        async def gated(act: Act) -> Branch:
            async with gate:
                return await _branch(act)

        tasks = [asyncio.ensure_future(gated(act)) for act in branches]
        try:
            winner = await self._first(key, tasks, until)
        finally:
            await _end(tasks)
        if winner is None:
            return [task.result() for task in tasks]
        return [task.result() if i == winner else Branch("dropped") for i, task in enumerate(tasks)]

    async def _first(
        self, key: Key, tasks: Sequence["asyncio.Task[Branch]"], until: Literal["all", "any", "race"]
    ) -> int | None:
        """Wait for the branch that decides, and record it; None where all have ended and none did."""
        waiting = set(tasks)
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            ended = [(index, task.result()) for index, task in enumerate(tasks) if task in done]
            for index, branch in ended:
                if until == "race" or (until == "any" and branch.state == "done"):
                    await self._write(key, "decided", index, "")
                    return index
        return None

    async def sleep(self, key: Key, seconds: float) -> Recorded:
        """Wait. When it ends is recorded first, so that a later leg waits only for what is left."""
        found = self._recorded(key, "")
        if found is not None and found.state == "done":
            return self._heard(_replayed(found))
        if found is not None:
            due = datetime.fromisoformat(found.value)
        else:
            due = self.clock() + timedelta(seconds=seconds)
            await self._write(key, "due", due.isoformat(), "")
        await asyncio.sleep(max(0.0, (due - self.clock()).total_seconds()))
        return await self._write(key, "done", None, "")

    def _digest(self, asked: Json) -> str:
        if self._journal is None:
            return ""
        return hashlib.sha256(compact(canonical(asked)).encode()).hexdigest()

    def _recorded(self, key: Key, digest: str) -> Entry | None:
        found = self._entries.get(key)
        if found is not None and found.asked != digest:
            raise Diverged(f"{key} was recorded for another request than the one made now")
        return found

    async def _write(self, key: Key, state: Any, value: Json, digest: str) -> Recorded:
        at = self.clock()
        if self._journal is not None and self._leg is not None:
            entry = Entry(key, state, value, digest, at)
            await _whole(self._journal.write(self._leg, entry))
            self._entries[key] = entry
        return self._heard(Recorded(value, at))

    def _heard(self, found: Recorded) -> Recorded:
        self.heard = found.at
        return found


def _counted(value: Any) -> Json:
    """Return a result in its canonical form. Raises Failed of kind `bad_result`."""
    try:
        value = canonical(value)
    except NotJsonError as error:
        raise Failed.of("bad_result", f"the result cannot be kept: {error}") from None
    if weighs_over(value, MAX_BYTES):
        raise Failed.of("bad_result", f"the result is larger than {MAX_BYTES // 1024 // 1024} MiB")
    return value


def _replayed(entry: Entry) -> Recorded:
    if entry.state == "failed":
        raise Failed(Failure.from_json(entry.value))
    return Recorded(entry.value, entry.at)


async def _branch(act: Act) -> Branch:
    try:
        return Branch("done", await act())
    except Failed as error:
        return Branch("failed", None, error.failure)


class Late(Failed):
    """The deadline of a scope or of a turn has passed, as against one within it."""


async def _in_time(body: Callable[[], Awaitable[T]], timeout: float | None) -> T:
    """Run `body`, which is cancelled and failed when it takes longer; its help is not relied on."""
    if timeout is None:
        return await body()
    task = asyncio.ensure_future(body())
    try:
        await _ended(task, timeout)
    except asyncio.CancelledError:
        await _leave(task)
        raise
    if task.done():
        try:
            return task.result()
        except Late as inner:  # of a deadline within: to this one it is a failure like any other
            raise Failed(inner.failure) from inner
    await _leave(task)
    raise Late(Failure("timeout", f"it took longer than {span(timeout)}"))


async def _ended(task: "asyncio.Future[Any]", timeout: float | None) -> None:
    """Wait until a task ends or the time is over: what `asyncio.wait` does for one task, at a third of the cost."""
    loop = task.get_loop()
    waiter: asyncio.Future[None] = loop.create_future()
    wake = functools.partial(_wake, waiter)
    timer = loop.call_later(timeout, wake) if timeout is not None else None
    task.add_done_callback(wake)
    try:
        await waiter
    finally:
        task.remove_done_callback(wake)
        if timer is not None:
            timer.cancel()


def _wake(waiter: "asyncio.Future[None]", _: object = None) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _result(task: "asyncio.Future[Json]") -> Json:
    """Return what a task that is done has given. Raises Failed also where it cancelled itself."""
    if task.cancelled():
        raise Failed.of("exception", "what it waited for was cancelled")
    return task.result()


async def _whole(write: Coroutine[Any, Any, None]) -> None:
    """Wait for a write to the journal; a cancel waits until it has ended."""
    task = asyncio.ensure_future(write)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        _noted(task)
        raise


async def _leave(task: "asyncio.Future[Any]") -> None:
    """Cancel a task and wait for it, but not for ever: code that swallows the cancel is left behind."""
    await _end([task])


def _noted(task: "asyncio.Future[Any]") -> None:
    """Take note of how a task ended that nobody waits for, so that asyncio does not complain."""
    if not task.cancelled():
        task.exception()


async def _end(tasks: Sequence["asyncio.Future[Any]"]) -> None:
    """Cancel what still runs, all at once, and leave behind what has not ended in time."""
    for task in tasks:
        task.cancel()
        task.add_done_callback(_noted)
    if tasks:
        await asyncio.wait(tasks, timeout=GRACE)


def span(seconds: float | None) -> str:
    """Return a time as people read it."""
    return f"{seconds or 0:g} s"
