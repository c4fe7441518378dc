"""What processes and assistants are given: input as messages, and arguments by name, judged before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from .arguments import FILLED, bind, known_names
from .callbacks import Next
from .definitions import Assistant
from .diagnostics import did_you_mean
from .errors import Failed, UsageError
from .keywords import properties
from .messages import Message
from .registry import ASSISTANTS, Process, Registry, Unit
from .schemas import Shape, explain
from .values import Json, as_text, canonical


def input_of(unit: Unit[Assistant], input: Json) -> tuple[Message, ...]:
    """Return what is said to an assistant as messages of the user. Raises Failed where there is nothing."""
    if isinstance(input, str) and input.strip():
        return (Message(role="user", text=input),)
    parts: Sequence[Json] = cast("Sequence[Json]", input) if isinstance(input, list | tuple) else [input]
    try:
        messages = [
            Message.from_json(part if isinstance(part, dict | Message) else as_text(part)) for part in parts
        ]
    except ValueError as error:
        raise Failed.of(
            "bad_args", f"the input of `{unit.id}` is no message: {error}", place=unit.place(())
        ) from None
    given = tuple(
        message if message.role == "user" else replace(message, role="user") for message in messages
    )
    if not any(message.text.strip() or message.attachments for message in given):
        raise Failed.of(
            "bad_args", f"there is nothing to answer: the input of `{unit.id}` is empty", place=unit.place(())
        )
    return given


def arguments_of(unit: Unit[Assistant], args: Json, text: str) -> Json:
    """Return an assistant's arguments, defaults filled in, if they fit its `parameters`. Raises Failed.

    A parameter `input` that nobody gave is what was said: `text`.
    """
    declared = unit.definition.parameters
    place = unit.place(("parameters",))
    try:
        given: Json = canonical(args or {})
        if declared is None:
            return cast("Json", given) if isinstance(given, dict) else {}
        bound = bind(given, declared)
    except ValueError as error:
        raise Failed.of("bad_args", f"`{unit.id}`: {error}", place=place) from None
    _known(bound, declared, unit.id, place)
    if "input" in properties(declared):
        bound = {"input": text, **bound}
    shape = Shape(declared)
    filled = shape.fill(bound)
    if misfits := shape.misfits(filled):
        raise Failed.of("bad_args", explain(misfits, f"the arguments of `{unit.id}`"), place=place)
    return filled


def fit(process: Process, args: Json, *, exact: bool = True) -> Json:
    """Return arguments by name, defaults filled in, if they fit. Raises Failed of kind `bad_args`.

    People and code mean what they name: `exact` refuses a name that the parameters do not list,
    where JSON Schema, by which models are judged, lets it be.
    """
    shape = process.parameters
    try:
        given = canonical(args if args is not None else {})
        found = given if shape is None else bind(given, shape.schema)
    except ValueError as error:
        raise Failed.of("bad_args", f"`{process.name}`: {error}", place=process.place) from None
    if shape is None:
        return found
    if exact:
        _known(found, shape.schema, process.name, process.place)
    filled = shape.fill(found)
    if misfits := shape.misfits({k: v for k, v in filled.items() if k not in _own_names(shape.schema)}):
        raise Failed.of(
            "bad_args", explain(misfits, f"the arguments of `{process.name}`"), place=process.place
        )
    return filled


def _known(args: Mapping[str, Json], schema: Json, name: str, place: str) -> None:
    """Make sure that arguments have names which the parameters list, where they list them all. Raises Failed."""
    known = properties(schema)
    for other in args.keys() - known.keys():
        told = other in FILLED or (other == "input" and name.startswith(ASSISTANTS))
        if not told and known_names(schema) is not None:
            hint = did_you_mean(other, known.keys() - args.keys())
            text = f"`{name}` has no parameter `{other}`" + (f": {hint}" if hint else "")
            raise Failed.of("bad_args", text, place=place)


def _own_names(schema: Json) -> frozenset[str]:
    """Return the names that the runner fills, as far as the schema does not declare them."""
    return frozenset({"message", "event", "context"} - set(schema.get("properties") or ()))


def admit(registry: Registry, said: Next, home: str, text: str) -> None:
    """Make sure that a hand-over leads somewhere, and that what it leads to takes what it is given. Raises Failed."""
    try:
        process = registry.resolve(said.target, home)
    except UsageError as error:
        raise Failed.of("missing", f"`then: next` leads nowhere: {error}") from None
    try:
        if not process.name.startswith(ASSISTANTS):
            fit(process, said.args)
            return
        unit = registry.assistant(process.owner)
        if said.input is not None:
            text = input_of(unit, said.input)[-1].text
        arguments_of(unit, said.args, text)
    except Failed as error:  # at fault is who hands over
        raise Failed(error.failure._replace(place="")) from error
