"""`value: …`: a template that renders to the result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from ..contracts import Effect, Handler, Host
from ..marks import Doc, Form, Template
from ..values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A result that is written down."""

    form: ClassVar[Form] = Form("a value handler", tag="value")
    value: Annotated[Any, Doc("The result; its texts may hold templates."), Template()]


class ValueHandler:
    """Renders the value."""

    kind: ClassVar[str] = "value"
    spec: ClassVar[type] = Value
    nests: ClassVar[bool] = False

    def effect(self, spec: Value, of: Callable[[str], Effect]) -> Effect:
        """Return `read`: nothing outside is touched."""
        return "read"

    async def invoke(self, spec: Value, args: Json, host: Host) -> Json:
        """Return the rendered value."""
        return host.render(spec.value)


HANDLER: Final[Handler[Value]] = ValueHandler()
