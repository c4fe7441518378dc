"""Streams: what runs cost that wait for a model, and what an event costs from the wire's bytes to the runner's reader."""

import asyncio
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import projects
from table import Row

from yaoci import Registry, Runner, load
from yaoci.contracts import Delta, Endpoint, ModelRequest
from yaoci.messages import Message
from yaoci.models.openai_chat import OpenAIChat
from yaoci.sse import EventReader

READ = 64 * 1024
ASKED = ModelRequest(model="m", messages=(Message(role="user", text="hi"),))
ENDPOINT = Endpoint(provider="p", model="m", api="openai-chat", base_url="http://p.test/v1", key="k")


# -- waiting -----------------------------------------------------------------------------------------------


class _Gated:
    """A model that answers when it is let."""

    capabilities = frozenset({"text", "tools", "schema"})

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.full = asyncio.Event()
        self.missing = 0

    def close_gate(self, runs: int) -> None:
        """Let nobody through; `full` is set when so many wait."""
        self.missing = runs
        self.gate.clear()
        self.full.clear()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        self.missing -= 1
        if not self.missing:
            self.full.set()
        await self.gate.wait()
        yield Delta("done")
        yield Delta(finish="stop")

    async def close(self) -> None:
        """Do nothing."""


def waiting(runs: int) -> Iterator[Row]:
    """So many runs at once, all in the model's stream."""
    with tempfile.TemporaryDirectory() as scratch:
        registry = load(projects.talk(Path(scratch)))
        each = asyncio.run(_waiting(registry, "finder", runs))
    yield Row("waiting", f"{runs:,} runs, a tool on offer", each, "KB a run", bar=32.0)


async def _waiting(registry: Registry, target: str, runs: int) -> float:
    model = _Gated()
    async with Runner(registry, models={"local": model}) as runner:

        async def one() -> None:
            async with runner.stream(target, "Where is order A42?") as events:
                async for _ in events:
                    pass

        async def gated(count: int) -> float:
            """Start runs, let them wait, return the memory, let them go."""
            model.close_gate(count)
            tasks = [asyncio.ensure_future(one()) for _ in range(count)]
            await model.full.wait()
            size = _resident()
            model.gate.set()
            await asyncio.gather(*tasks)
            return size

        await gated(20)
        gc.collect()
        before = _resident()
        return (await gated(runs) - before) / runs


def _resident() -> float:
    """Return this process's memory in KB."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


# -- from bytes to events ----------------------------------------------------------------------------------


def body(events: int) -> list[bytes]:
    """Return an answer as a provider streams it: each event some 340 bytes."""
    made: list[bytes] = []
    for n in range(events):
        chunk: dict[str, Any] = {
            "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG", "object": "chat.completion.chunk", "created": 1741570283,
            "model": "m-2025-04-14", "service_tier": "default", "system_fingerprint": "fp_fc9f1d7035", "usage": None,
            "choices": [{"index": 0, "delta": {"content": f" word{n % 1000}"}, "logprobs": None, "finish_reason": None}],
            "obfuscation": "x" * 30,
        }  # fmt: skip
        if n == events - 1:
            chunk["choices"][0] |= {"delta": {}, "finish_reason": "stop"}
        made.append(b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n")
    return [*made, b"data: [DONE]\n\n"]


class _Body(httpx.AsyncByteStream):
    def __init__(self, reads: Sequence[bytes]) -> None:
        self._reads = reads

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for read in self._reads:
            yield read


def _model(reads: Sequence[bytes]) -> OpenAIChat:
    headers = {"content-type": "text/event-stream"}
    return OpenAIChat(
        ENDPOINT, httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=_Body(reads)))
    )


def wire(rounds: int, events: int) -> Iterator[Row]:
    """One long answer, read as it comes in: by the wire alone, and through a run to the reader of its events."""
    pieces = body(events)
    whole = b"".join(pieces)
    texts = [piece[6:].decode() for piece in pieces[:-1]]
    base = _median(rounds, lambda: [json.loads(text) for text in texts]) / events
    yield Row("wire", f"json.loads of {len(whole) // len(pieces)} bytes", base * 1e6, "µs an event")
    with tempfile.TemporaryDirectory() as scratch:
        registry = load(projects.talk(Path(scratch)))
        for how, reads in (
            ("64 KB a read", [whole[at : at + READ] for at in range(0, len(whole), READ)]),
            ("one event a read", pieces),
        ):
            for what, act in (("bytes to deltas", _deltas), ("bytes to the runner's events", _events)):
                each = _median(rounds, partial(_ran, act, registry, reads, events)) / events
                yield Row("wire", f"{what}, {how}", each * 1e6, "µs an event", each / base, "json.loads")
    line = b"data: " + b"x" * (4 * 1024 * 1024)
    bits = [line[at : at + 64] for at in range(0, len(line), 64)]
    took = _median(rounds, lambda: [reader.feed(bit) for reader in [EventReader()] for bit in bits])
    yield Row("wire", "one line of 4 MB, 64 bytes a read", took, "s CPU", bar=0.2)


def _median(rounds: int, act: Callable[[], object]) -> float:
    """Return the median of the seconds of CPU that `act` takes."""
    found: list[float] = []
    for _ in range(rounds):
        begun = time.process_time()
        act()
        found.append(time.process_time() - begun)
    return statistics.median(found)


def _ran(
    act: Callable[[Registry, Sequence[bytes]], Coroutine[Any, Any, int]],
    registry: Registry,
    reads: Sequence[bytes],
    events: int,
) -> None:
    if asyncio.run(act(registry, reads)) != events - 1:  # the last one has no text
        raise RuntimeError("the answer came otherwise")


async def _deltas(_: Registry, reads: Sequence[bytes]) -> int:
    model, count = _model(reads), 0
    async with aclosing(model.stream(ASKED)) as deltas:
        async for delta in deltas:
            count += bool(delta.text)
    await model.close()
    return count


async def _events(registry: Registry, reads: Sequence[bytes]) -> int:
    count = 0
    async with Runner(registry, models={"local": _model(reads)}).stream("talker", "hi") as events:
        async for event in events:
            count += event.message is not None and event.message.delta
    return count
