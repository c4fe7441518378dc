"""`python: fn`: a function of the Python file beside the YAML, sync or async."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Annotated, ClassVar, Final, cast

from ..contracts import Effect, Handler, Host
from ..marks import Doc, Form, Ref
from ..values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """A function by name."""

    form: ClassVar[Form] = Form("a python handler", tag="python")
    python: Annotated[str, Doc("A function of the Python file with this file's name."), Ref("function")]


class PythonHandler:
    """Calls the function: async ones on the loop, sync ones each in a thread of its own."""

    kind: ClassVar[str] = "python"
    spec: ClassVar[type] = Python
    nests: ClassVar[bool] = False

    def effect(self, spec: Python, of: Callable[[str], Effect]) -> Effect:
        """Return `write`: what a function does is not known."""
        return "write"

    async def invoke(self, spec: Python, args: Json, host: Host) -> Json:
        """Return what the function returns. Raises Failed of kind `exception` for what it raises."""
        from ..functions import call_named  # it runs them, and `check` does without

        return await call_named(cast("FilePath", host.python), spec.python, args, host)


HANDLER: Final[Handler[Python]] = PythonHandler()
