"""Runs a leg in this process, at once."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

T = TypeVar("T")


class Inline:
    """Starts a leg where it is asked for, and waits for it."""

    async def run(self, leg: Callable[[], Awaitable[T]]) -> T:
        """Run the leg and return its outcome."""
        return await leg()


LAUNCHER: Final = Inline()
