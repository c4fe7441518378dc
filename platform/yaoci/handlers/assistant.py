"""`assistant: …`: a call to an assistant."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from ..contracts import Effect, Handler, Host
from ..definitions import AssistantStep
from ..marks import Doc, Form
from ..values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantCall:
    """A call to an assistant."""

    form: ClassVar[Form] = Form("an assistant handler", tag="assistant")
    assistant: Annotated[AssistantStep, Doc("The assistant, and what it is given.")]


class AssistantHandler:
    """Calls the assistant."""

    kind: ClassVar[str] = "assistant"
    spec: ClassVar[type] = AssistantCall
    nests: ClassVar[bool] = True

    def effect(self, spec: AssistantCall, of: Callable[[str], Effect]) -> Effect:
        """Return `write`: what a model will do is not known."""
        return "write"

    async def invoke(self, spec: AssistantCall, args: Json, host: Host) -> Json:
        """Return its checked `returns` value, else its text. Raises Failed."""
        return await host.assistant(spec.assistant, key="t")


HANDLER: Final[Handler[AssistantCall]] = AssistantHandler()
