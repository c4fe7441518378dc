"""Turns in process: CPU of one answer, whole or in pieces, without a tool and with one."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

import projects
from table import Row

from yaoci import Runner, load
from yaoci.contracts import CallDelta, Delta, Journal, ModelRequest, Usage
from yaoci.stores.memory import MemoryJournal

WORDS = [f"piece{n:02} " for n in range(25)]
TEXT = "".join(WORDS)

_END = Delta(finish="stop", usage=Usage(input=20, output=25), model="m")
_CALLED = Delta(finish="tool_calls", usage=Usage(input=20, output=9), model="m")


class Ready:
    """A model whose answers are ready: a call of its tool where it has one and has no result yet, then a text."""

    capabilities = frozenset({"text", "tools", "schema"})

    def __init__(self, pieces: Sequence[str] = (TEXT,)) -> None:
        """Take the pieces of its text."""
        self.answer = [*map(Delta, pieces), _END]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Yield the answer."""
        if request.functions and request.messages[-1].role != "tool":
            yield Delta(call=CallDelta(0, "call_1", request.functions[0].id, '{"id": "A42"}'))
            yield _CALLED
            return
        for delta in self.answer:
            yield delta

    async def close(self) -> None:
        """Do nothing."""


JOURNALS: Mapping[str, Callable[[], Journal | None]] = {
    "no journal": lambda: None,
    "memory journal": MemoryJournal,
}


def turns(batches: int, size: int) -> Iterator[Row]:
    """Answers one after the other, in batches; the median of the batches."""
    with tempfile.TemporaryDirectory() as scratch:
        registry = load(projects.talk(Path(scratch)))
        for kept, journal in JOURNALS.items():
            base = None
            for what, target, pieces, streamed in (
                ("text", "talker", [TEXT], False),
                ("text in 25 pieces, streamed", "talker", WORDS, True),
                ("one tool, async", "finder", [TEXT], False),
                ("one tool, async, in 25 pieces, streamed", "finder", WORDS, True),
                ("one tool, sync (a thread)", "waiter", [TEXT], False),
            ):
                runner = Runner(registry, models={"local": Ready(pieces)}, journal=journal())
                each = asyncio.run(_timed(_read if streamed else _call, runner, target, batches, size))
                base = base or each
                yield Row("turns", f"{what}, {kept}", each * 1e6, "µs CPU", each / base, f"text, {kept}")


async def _timed(
    act: Callable[[Runner, str], Awaitable[str]], runner: Runner, target: str, batches: int, size: int
) -> float:
    """Return seconds of CPU of one turn."""
    found: list[float] = []
    async with runner:
        for _ in range(batches + 1):
            begun = time.process_time()
            for _ in range(size):
                if await act(runner, target) != TEXT:
                    raise RuntimeError(f"`{target}` answered something else")
            found.append((time.process_time() - begun) / size)
    return statistics.median(found[1:])


async def _call(runner: Runner, target: str) -> str:
    return str((await runner.call(target, "Where is order A42?")).output)


async def _read(runner: Runner, target: str) -> str:
    async with runner.stream(target, "Where is order A42?") as events:
        return "".join([e.message.text async for e in events if e.message is not None and e.message.delta])
