"""Long chains of callbacks: CPU and memory of a link, and whether ten times the links cost ten times as much."""

import asyncio
import gc
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import projects
from table import Row
from turns import JOURNALS

from yaoci import Message, Runner, load


async def keep(message: Message) -> None:
    """Leave the message as it is."""


async def replace(message: Message) -> dict[str, Any]:
    """Put another message in its place."""
    return {"then": "replace", "message": {"text": message.text[:100] + "!"}}


LINKS: Mapping[str, Any] = {
    "async function": keep,
    "value template": {"name": "orders.echo", "args": ["{{ message.text }}"]},
    "replacing the message": replace,
}


def chains(rounds: int, sizes: tuple[int, int]) -> Iterator[Row]:
    """A chain of the smaller and of the larger size, in turn; then what the larger one keeps and takes at most."""
    small, large = sizes
    with tempfile.TemporaryDirectory() as scratch:
        registry = load(projects.talk(Path(scratch)))
        for kept, journal in JOURNALS.items():
            for what, link in LINKS.items():
                found: dict[int, list[float]] = {small: [], large: []}
                asyncio.run(_chain(Runner(registry, journal=journal()), link, small))
                for _ in range(rounds):
                    for size in sizes:
                        gc.collect()
                        begun = time.process_time()
                        asyncio.run(_chain(Runner(registry, journal=journal()), link, size))
                        found[size].append((time.process_time() - begun) / size)
                one, ten = (statistics.median(found[size]) for size in sizes)
                flat = statistics.median(b / a for a, b in zip(found[small], found[large], strict=True))
                yield Row("chains", f"{what}, {kept}, {small:,}", one * 1e6, "µs a link")
                yield Row(
                    "chains", f"{what}, {kept}, {large:,}", ten * 1e6, "µs a link", flat, f"{small:,}", 1.2
                )
                yield _memory(f"{what}, {kept}", Runner(registry, journal=journal()), link, large)


async def _chain(runner: Runner, link: Any, links: int) -> None:
    outcome = await runner.call("orders.answer", callback=[link] * links)
    if outcome.message is None or not outcome.message.text.startswith("done"):
        raise RuntimeError("the chain ended otherwise")


def _memory(what: str, runner: Runner, link: Any, links: int) -> Row:
    """Return what Python's own allocations peak at during a chain, for each link."""
    gc.collect()
    tracemalloc.start()
    asyncio.run(_chain(runner, link, links))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Row("chains", f"{what}, {links:,}: peak", peak / links / 1024, "KB a link", bar=1.0)
