"""Journals in memory: as long as the process lives."""

import json
from collections.abc import Mapping
from typing import Final

from ..contracts import Entry, Journal, Key, Leg
from ..errors import Superseded
from ..values import compact


class MemoryJournal:
    """Keeps the entries of runs as text, so that what is read back is what a file would give back."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[Key, tuple[Entry, str]]] = {}
        self._legs: dict[str, int] = {}

    async def claim(self, run: str) -> Leg:
        """Return the next leg of `run`, which fences every earlier one."""
        self._legs[run] = self._legs.get(run, 0) + 1
        return Leg(run, self._legs[run])

    async def load(self, leg: Leg) -> Mapping[Key, Entry]:
        """Return what is recorded of the run."""
        found = self._entries.get(leg.run, {})
        return {key: entry._replace(value=json.loads(text)) for key, (entry, text) in found.items()}

    async def write(self, leg: Leg, entry: Entry) -> None:
        """Record `entry`. Raises Superseded where the leg is old, or the key has its result."""
        if self._legs.get(leg.run) != leg.number:
            raise Superseded(f"leg {leg.number} of run {leg.run} is not the last one")
        kept = self._entries.setdefault(leg.run, {})
        if entry.key in kept and kept[entry.key][0].state in {"done", "failed", "decided"}:
            raise Superseded(f"{entry.key} of run {leg.run} has its result")
        kept[entry.key] = (entry._replace(value=None), compact(entry.value))


STORE: Final[type[Journal]] = MemoryJournal
