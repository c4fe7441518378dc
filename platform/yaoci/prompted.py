"""The prompted-tools protocol: functions for a model that cannot call them by itself.

A request becomes chat messages that show what a call looks like (each function's example
dialogues), and a JSON Schema that the next answer is held to: one branch for each call that
can be made now, and one for the answer. The reader turns the JSON, as it grows, back into
text and calls.

What is done here was chosen by measuring a model of 135 million parameters:

- an example is a whole dialogue; those without a call come first;
- the examples of the most relevant function come last;
- a parameter with a `pattern` may only be what the user wrote; where a required one finds
  nothing, the function is not on offer, and without any on offer only the examples without
  a call are shown;
- where the user's last words hold all that a reading function has to know, it is called first;
- no call is made twice with the same arguments in a turn;
- examples once shown stay, so that a server can reuse what it knows of the beginning.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, cast

from .contracts import CallDelta, Delta, Finish, Function, ModelRequest
from .messages import Message
from .offers import LONGEST, Call, Said, closed, constraint, offer, properties, whole
from .values import Json, as_text, clean, compact, equal_key

ANSWER: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "minLength": 2, "maxLength": LONGEST}},
    "required": ["answer"],
    "additionalProperties": False,
}
"""The schema of a plain answer."""

Chat: TypeAlias = dict[str, str]
"""A chat message: its `role` (system, user, assistant) and its `content`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is sent for one request: chat messages, and the schema of the answer."""

    messages: tuple[Chat, ...]
    schema: Mapping[str, Json] | None = None
    """What the answer must fit; None asks for plain text."""
    structured: bool = False
    """True if the answer itself is JSON (the request has a schema), not a text within JSON."""
    final: Mapping[str, Json] | None = field(default=None, repr=False)
    """The schema of an answer without a call."""
    made: frozenset[Any] = frozenset()
    """The calls made in this turn."""
    number: int = 0
    """How many calls the conversation holds."""

    def alone(self) -> "Step":
        """Return the step with the answer alone on offer, for when a call was repeated."""
        return replace(self, schema=self.final)


def step(request: ModelRequest, *, brief: bool = False) -> Step:
    """Return what to send for `request`.

    Where the user's last words hold all that a function which only reads has to know, a call
    comes first; with `brief` the turns before are then left out, since a very small model
    would rather repeat its last answer than read the result.

    `options.tool_choice` is followed: `none`, `auto` (no call has to come first), `required` (one
    has to, where one can be made) or a function's id; all else in `options` is the wire's.
    """
    defs: dict[str, Json] = {}
    structured = request.schema is not None
    answer = _answer(request.schema, defs)
    final = whole([answer], defs)
    system = "\n\n".join(m.text for m in request.messages if m.role == "system" and m.text)
    if not request.functions:
        if structured:
            system = f"{system}\nReply with JSON: {_sketch(request.schema)}.".lstrip()
        said = _conversation(request.messages, wrapped=False)
        schema = final if structured else None
        return Step(messages=(*_system(system), *said), schema=schema, structured=structured, final=final)

    known = _said(request.messages)
    choice = request.options.get("tool_choice")
    offered = offer(request.functions, known, choice, defs)
    first = offered.due if choice is None else choice not in {"auto", "none"}
    branches = [*offered.branches]
    if not (branches and first and not known.made):
        branches.append(answer)
    recent = request.messages[_last(request.messages) :] if offered.due and brief else request.messages
    shots = _shots(offered.shown) if offered.shown else _shots(request.functions, calling=False)
    return Step(
        messages=(
            *_system((system + instructions(request.functions, request.schema)).lstrip()),
            *shots,
            *_conversation(recent, wrapped=not structured),
        ),
        schema=whole(branches, defs),
        structured=structured,
        final=final,
        made=frozenset((call.name, equal_key(call.args)) for call in known.made),
        number=len(known.calls),
    )


def _answer(schema: Json, defs: dict[str, Json]) -> Mapping[str, Json]:
    if schema is None:
        return ANSWER
    found = constraint(schema, "=", defs)  # no function has this id
    parts = properties(found)
    return closed(found, parts) if parts and "additionalProperties" not in found else found


def _said(messages: Sequence[Message]) -> Said:
    turn, calls = 0, list[Call]()
    for message in messages:
        turn += message.role == "user"
        calls += [Call(turn, call.name, _object(call.arguments)) for call in message.tool_calls]
    return Said(texts=[m.text for m in reversed(messages) if m.role == "user"], calls=calls)


def _last(messages: Sequence[Message]) -> int:
    return max((at for at, message in enumerate(messages) if message.role == "user"), default=0)


# -- what is sent -----------------------------------------------------------------------------------

_SENTENCE: Final = re.compile(r"(?<=\.)\s|[。\n]")


def instructions(functions: Sequence[Function], schema: Json = None) -> str:
    """Return what is added to the system prompt: the functions, and the form of an answer."""
    lines = [
        f"{f.id}({', '.join(properties(f.parameters))}): {_SENTENCE.split(f.description.strip())[0].rstrip('.')}."
        for f in functions
    ]
    answer = '{"answer": text}' if schema is None else _sketch(schema)
    reply = f'Reply with JSON: {{"tool": name, "arguments": {{...}}}} to call a tool, or {answer}.'
    return "\n".join(["\nTools:", *lines, reply])


def _sketch(schema: Json) -> str:
    """Return an object's schema as `{"name": type, …}`, any other as it is."""
    parts = [
        f"{_spaced(name)}: {as_text(cast('Mapping[str, Json]', part).get('type', 'value'))}"
        for name, part in properties(schema).items()
        if isinstance(part, Mapping)
    ]
    return "{" + ", ".join(parts) + "}" if parts else compact(schema)


def _spaced(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _system(text: str) -> tuple[Chat, ...]:
    return ({"role": "system", "content": text},) if text else ()


def _user(text: str) -> Chat:
    return {"role": "user", "content": text}


def _assistant(value: Json) -> Chat:
    return {"role": "assistant", "content": value if isinstance(value, str) else _spaced(value)}


def _dialogue(name: str, args: Mapping[str, Json], result: Json) -> Iterator[Chat]:
    yield _assistant({"tool": name, "arguments": args})
    yield _user(f"Result of {name}: {_spaced(result)}")


def _shots(functions: Sequence[Function], *, calling: bool = True) -> Iterator[Chat]:
    for function in functions:
        for example in sorted(function.examples, key=lambda e: e.args is not None):
            if example.args is not None and not calling:
                continue
            yield _user(example.ask)
            if example.args is not None:
                yield from _dialogue(function.id, example.args, example.result)
            yield _assistant({"answer": example.answer})


def _conversation(messages: Sequence[Message], *, wrapped: bool) -> Iterator[Chat]:
    results = {message.tool_call_id: message.text for message in messages if message.role == "tool"}
    for message in messages:
        if message.role == "user":
            yield _user(message.text)
        elif message.role == "assistant":
            answered = [call for call in message.tool_calls if call.id in results]
            for call in answered:
                yield from _dialogue(call.name, _object(call.arguments), _parsed(results[call.id]))
            if message.text and not answered:
                yield _assistant({"answer": message.text} if wrapped else message.text)


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _object(text: str) -> dict[str, Json]:
    value = _parsed(text)
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


# -- reading the answer -----------------------------------------------------------------------------

_OPENING: Final = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_PLAIN: Final = re.compile(r'[^"\\]+')
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_SURROGATE: Final = re.compile(r"\\u[dD][89abAB]..(?:\\(?:u(?:[dD](?:[c-fC-F].{0,2})?)?)?)?$")


class Unescaper:
    """Read the inside of a JSON string that comes in pieces, cut anywhere."""

    def __init__(self) -> None:
        self._held = ""
        self.closed = False
        """True once the closing quote was read; what follows it is passed over."""

    def feed(self, piece: str) -> str:
        """Return the text that `piece` completes."""
        raw, self._held, out, at = self._held + piece, "", list[str](), 0
        while at < len(raw) and not self.closed:
            if plain := _PLAIN.match(raw, at):
                out.append(plain[0])
                at = plain.end()
            elif raw[at] == '"':
                self.closed = True
            else:
                end = at + _escape_length(raw[at : at + 12])
                if end > len(raw):
                    self._held = raw[at:]
                    break
                out.append(_unescaped(raw[at:end]))
                at = end
        return "".join(out)


def _escape_length(ahead: str) -> int:
    """Return how long the escape at the beginning is, or will be: two halves of a character are one escape."""
    if ahead[1:2] != "u":
        return 2
    return 12 if _SURROGATE.match(ahead) else 6


def _unescaped(escape: str) -> str:
    if escape[1] != "u":
        return _ESCAPES.get(escape[1], escape[1])
    try:
        return clean(cast("str", json.loads(f'"{escape}"')))
    except ValueError:
        return "\ufffd"


class Reader:
    """Read the answer to a step as it comes, into deltas."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._raw = ""
        self._mode: Literal["undecided", "whole", "answer", "text"] = "undecided" if step.schema else "text"
        self._string = Unescaper()
        self._length = 0
        self.repeated = False
        """True if, at the end, the answer was a call already made: ask again with `step.alone()`."""

    def feed(self, piece: str) -> str:
        """Return the text of the answer that `piece` completes."""
        if self._mode == "text":
            return piece
        if self._mode == "answer":
            return self._said(piece)
        self._raw += piece
        if self._mode == "undecided":
            return self._decide()
        return ""

    def _said(self, piece: str) -> str:
        text = self._string.feed(piece)
        self._length += len(text)
        return text

    def _decide(self) -> str:
        start = "".join(self._raw[:64].split())
        plain = not self._step.structured
        if plain and (opening := _OPENING.match(self._raw)):
            self._mode = "answer"
            return self._said(self._raw[opening.end() :])
        if start.startswith('{"tool":"'):
            self._mode = "whole"
        elif not '{"tool":"'.startswith(start) and not (plain and start.startswith("{")):
            self._mode = "text"  # JSON that the request asked for, or a server that follows no schema
            return self._raw
        return ""

    def end(self, finish: Finish) -> tuple[Delta, ...]:
        """Return what is left when the model has stopped because of `finish`, which the last delta carries."""
        if self._mode == "answer":
            cut = self._length >= LONGEST or not self._string.closed
            return (Delta(finish="length" if cut and finish == "stop" else finish),)
        if self._mode == "text":
            return (Delta(finish=finish),)
        value = _object(self._raw)
        name, args = value.get("tool"), value.get("arguments")
        if isinstance(name, str) and isinstance(args, dict):
            if (name, equal_key(args)) in self._step.made:
                self.repeated = True
                return (Delta(finish=finish),)
            call = CallDelta(0, f"call_{self._step.number}", name, compact(args))
            return Delta(call=call), Delta(finish="tool_calls")
        if value:
            text = as_text(value["answer"]) if value.keys() == {"answer"} else self._raw
            return Delta(text=text), Delta(finish=finish)
        # cut before it was whole: half a call is a text for nobody
        return (Delta(finish="length" if finish == "stop" else finish),)
