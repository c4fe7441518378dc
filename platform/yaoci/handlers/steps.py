"""`steps: […]`: a flow, one step after the other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from ..contracts import Effect, Handler, Host
from ..definitions import AssistantStep, FailStep, ProcessStep, ReturnStep, SendStep, SetStep, Step
from ..errors import Failed
from ..marks import Doc, Form
from ..values import Json, as_text

_STRENGTH: Final[tuple[Effect, ...]] = ("read", "idempotent", "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A flow."""

    form: ClassVar[Form] = Form("a steps handler", tag="steps")
    steps: Annotated[tuple[Step, ...], Doc("What is done, in order; the last result is the flow's.")]


class _Ended(Exception):  # noqa: N818 - a return is no error
    """The flow ends here with a result."""

    def __init__(self, value: Json) -> None:
        super().__init__()
        self.value = value


class StepsHandler:
    """Runs a flow."""

    kind: ClassVar[str] = "steps"
    spec: ClassVar[type] = Steps
    nests: ClassVar[bool] = True

    def effect(self, spec: Steps, of: Callable[[str], Effect]) -> Effect:
        """Return the strongest effect of its parts."""
        found: list[Effect] = ["read", *(_effect(step, of) for step in spec.steps)]
        return max(found, key=_STRENGTH.index)

    async def invoke(self, spec: Steps, args: Json, host: Host) -> Json:
        """Return what `return` says, else the last step's result. Raises Failed of a step that fails."""
        results: dict[str, Json] = {}
        last: Json = None
        try:
            for index, step in enumerate(spec.steps):
                part = host.child(f"steps.{index}", ("steps", index), {"steps": results})
                ran, last = await _run(step, part)
                if step.id and ran:
                    results[step.id] = last
        except _Ended as end:
            return end.value
        return last


def _effect(step: Step, of: Callable[[str], Effect]) -> Effect:
    match step.action:
        case ProcessStep(process=name):
            return of(name)
        case AssistantStep() | SendStep() | SetStep():
            return "write"
        case _:
            return "read"


async def _run(step: Step, host: Host) -> tuple[bool, Json]:
    """Return whether the step ran to its end, and its result."""
    if step.when is not None and not host.test(step.when):
        return False, None
    try:
        result = await host.within(step.timeout, lambda: _act(step.action, host))
    except Failed as error:
        await host.note("step_ended", {"ok": False, "error": error.failure.to_json()})
        if step.on_error == "skip":
            return False, None
        raise
    except _Ended as end:
        await host.note("step_ended", {"ok": True, "result": end.value})
        raise
    await host.note("step_ended", {"ok": True, "result": result})
    return True, result


async def _act(action: Any, host: Host) -> Json:
    match action:
        case ProcessStep():
            return await host.process(action.process, host.render(action.args))
        case AssistantStep():
            return await host.assistant(action)
        case SetStep():
            values = host.render(action.set)
            for name, value in values.items():
                host.set(name, value)
            return values
        case SendStep():
            await host.send(host.render(action.send))
            return None
        case ReturnStep():
            raise _Ended(host.render(action.return_))
        case FailStep():
            raise Failed.of("failed", as_text(host.render(action.fail)), place=host.place)
        case _:
            raise TypeError(f"a step cannot be {action!r}: this is a bug in yaoci")


HANDLER: Final[Handler[Steps]] = StepsHandler()
