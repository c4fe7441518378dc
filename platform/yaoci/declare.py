"""Declaring a Python function as a process."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])


@overload
def process(function: F, /) -> F: ...
@overload
def process(
    *, name: str = "", effect: Literal["read", "write", "idempotent"] | None = None
) -> Callable[[F], F]: ...
def process(
    function: F | None = None,
    /,
    *,
    name: str = "",  # noqa: ARG001 - read from the source
    effect: str | None = None,  # noqa: ARG001 - read from the source
) -> F | Callable[[F], F]:
    """Mark a function of a Python file under processes/ as a process; it stays the function it is.

    `name` is what people see; `effect` (read, write, idempotent) is what it does to the world. The
    description is the docstring, the parameters are the annotations; all are read from the syntax
    tree, so that checking a project imports nothing of it.
    """
    if function is not None:
        return function

    def mark(marked: F) -> F:
        return marked

    return mark
