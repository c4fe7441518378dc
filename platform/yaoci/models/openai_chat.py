"""Models behind the chat completions of OpenAI, which most providers and local servers speak."""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..contracts import CallDelta, Delta, Endpoint, Finish, Function, ModelRequest, Usage, Wire
from ..errors import Failed, Kind
from ..messages import Message
from ..sse import Event
from ..transport import Channel
from ..values import Json, canonical, clean, compact

if TYPE_CHECKING:
    import httpx

_DONE: Final = "[DONE]"
_NOTHING: Final[dict[str, Json]] = {}

_FINISH: Final[Mapping[str, Finish]] = {
    "stop": "stop", "length": "length", "tool_calls": "tool_calls", "function_call": "tool_calls",
    "content_filter": "content_filter", "max_tokens": "length", "model_length": "length",
}  # fmt: skip
"""Other words (`eos`, `end_turn`, an empty one) say that the model was done."""

_BROKEN: Final[Mapping[str, Kind]] = {
    "error": "server", "abort": "server", "insufficient_system_resource": "overloaded",
}  # fmt: skip
"""Words in the place of a finish reason that say there is no whole answer."""

_SAME: Final = ("temperature", "top_p", "max_tokens", "seed", "presence_penalty", "frequency_penalty")
"""Options that have the same name on the wire."""


class OpenAIChat:
    """A model that is asked by `POST /chat/completions`."""

    name: ClassVar[str] = "openai-chat"
    capabilities: frozenset[str] = frozenset({"text", "image", "tools", "schema"})

    def __init__(self, endpoint: Endpoint, transport: "httpx.AsyncBaseTransport | None" = None) -> None:
        """Take the endpoint, and an httpx transport in place of the network."""
        self._endpoint = endpoint
        self._channel = Channel(endpoint, transport)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Yield the answer in pieces, alike for a streamed and a plain one; raise Failed.

        Arguments of calls are passed on as the model wrote them. What was read of an
        answer that breaks off is yielded before Failed is raised.
        """
        answer = _Answer(request, self._channel)
        key = self._endpoint.key.strip()
        headers = {"authorization": f"Bearer {key}"} if key else {}
        try:
            async with aclosing(
                self._channel.post("/chat/completions", body_of(request), headers, last=_DONE)
            ) as events:
                async for event in events:
                    for delta in answer.read(event):
                        yield delta
        except Failed as failed:
            cut = failed.failure.kind in {"stream_cut", "timeout"}
            if not (cut and answer.finish is not None):  # only the usage, or `[DONE]`, is missing
                for delta in answer.rest():
                    yield delta
                raise
        for delta in answer.end():
            yield delta

    async def close(self) -> None:
        """Close the connections."""
        await self._channel.close()


# -- what is asked ----------------------------------------------------------------------------------------


def body_of(request: ModelRequest) -> dict[str, Json]:
    """Return the body of a request. In `extra`, null takes a field away."""
    options = request.options
    body: dict[str, Json] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.functions:
        body["tools"] = [_tool(function) for function in request.functions]
        body["parallel_tool_calls"] = options.get("parallel_tools")
        body["tool_choice"] = _choice(options.get("tool_choice"))
    if request.schema is not None:
        body["response_format"] = {
            "type": "json_schema", "json_schema": {"name": "answer", "schema": request.schema},
        }  # fmt: skip
    body["reasoning_effort"] = options.get("reasoning")
    body["stop"] = options.get("stop") or None
    body.update({name: options.get(name) for name in _SAME})
    body.update(options.get("extra") or {})
    return {name: value for name, value in body.items() if value is not None}


def _tool(function: Function) -> Json:
    # some providers refuse every function of a request that has one without `properties`
    parameters: dict[str, Json] = {"type": "object", "properties": _NOTHING, **function.parameters}
    told: Json = {"name": function.id, "description": function.description, "parameters": parameters}
    return {"type": "function", "function": told}


def _choice(choice: Json) -> Json:
    if choice is None or choice in {"auto", "none", "required"}:
        return choice
    return {"type": "function", "function": {"name": choice}}


def _message(message: Message) -> Json:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.text}
    if message.tool_calls:
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": _safe(c.arguments)}}
            for c in message.tool_calls
        ]
        return {"role": "assistant", "content": message.text or None, "tool_calls": calls}
    images = [
        {"type": "image_url", "image_url": {"url": a.url}}
        for a in message.attachments
        if a.url and (a.type == "image" or a.content_type.startswith("image/"))
    ]
    if images:
        text = [{"type": "text", "text": message.text}] if message.text else []
        return {"role": message.role or "user", "content": [*text, *images]}
    return {"role": message.role or "user", "content": message.text}


def _safe(arguments: str) -> str:
    """Return arguments that a server can parse: it reads the history again with every request."""
    try:
        value: Json = json.loads(arguments)
        if value.__class__ is not dict:
            return "{}"
        same: bool = canonical(value) == value
        return arguments if same else compact(canonical(value))
    except (ValueError, RecursionError):
        return "{}"


# -- what is answered -------------------------------------------------------------------------------------


class _Call:
    """A function call as it comes in: its place, what the provider calls it, what it is called here."""

    def __init__(self, index: int, given: str, made: str, name: str) -> None:
        self.index = index
        self.given = given
        self.id = made
        self.name = name
        self.parts: list[str] = []

    def whole(self) -> bool:
        """Tell whether the arguments are complete, so that what comes next belongs to another call."""
        try:
            return isinstance(json.loads("".join(self.parts)), dict)
        except (ValueError, RecursionError):
            return False


class _Answer:
    """Turns the chunks of one answer into deltas."""

    def __init__(self, request: ModelRequest, channel: Channel) -> None:
        self.finish: str | None = None
        self._channel = channel
        self._taken = {call.id for message in request.messages for call in message.tool_calls}
        self._calls: list[_Call] = []
        self._current: dict[Json, _Call] = {}
        self._given: dict[tuple[Json, str], _Call] = {}
        self._halves: dict[str, str] = {}
        self._usage: Usage | None = None
        self._model = ""
        self._refused = False
        self._ended = False

    # -- chunks

    def read(self, event: Event) -> Iterator[Delta]:
        """Yield the deltas of a chunk, or of a whole answer. Raises Failed for an error in it."""
        try:
            yield from self._read(event)
        except (AttributeError, TypeError, LookupError, RecursionError):
            text = f"sent a chunk of another shape: {self._channel.excerpt(event.data, 200)!r}"
            raise self._channel.failed("bad_response", text) from None

    def _read(self, event: Event) -> Iterator[Delta]:
        if event.data == _DONE:
            self._ended = True
            return
        try:
            chunk: Json = json.loads(event.data)
        except (ValueError, RecursionError):
            chunk = None
        if chunk.__class__ is not dict:
            if event.form == "cut":
                return
            raise self._channel.failed(
                "bad_response", f"sent what is no JSON object: {self._channel.excerpt(event.data, 200)!r}"
            )
        if event.name == "error" or chunk.get("error"):
            self._count(chunk)
            raise self._channel.fault(chunk)
        if model := chunk.get("model"):
            self._model = clean(str(model))
        choices = chunk.get("choices")
        self._count(chunk, last=not choices)
        if choices:
            yield from self._choice(choices[0])
        elif event.form == "body" and choices is None:
            raise self._channel.failed(
                "bad_response", f"sent no `choices`: {self._channel.excerpt(event.data, 200)!r}"
            )
        if event.form == "body":
            self._ended = True

    def _choice(self, choice: Json) -> Iterator[Delta]:
        if choice.get("index"):
            return  # a second answer, which nobody asked for
        if piece := choice.get("delta"):
            yield from self._piece(piece)
            for call in piece.get("tool_calls") or ():
                yield from self._call(call.get("index"), call.get("id"), call.get("function") or _NOTHING)
        elif piece is None and (whole := choice.get("message")):
            yield from self._piece(whole)
            for place, call in enumerate(whole.get("tool_calls") or ()):
                yield from self._call(place, call.get("id"), call.get("function") or _NOTHING)
        if choice.get("error"):
            raise self._channel.fault(choice)
        if finish := choice.get("finish_reason"):
            self.finish = str(finish)

    def _piece(self, piece: Json) -> Iterator[Delta]:
        reasoning = piece.get("reasoning_content") or piece.get("reasoning")
        if reasoning and isinstance(reasoning, str) and (text := self._joined("reasoning", reasoning)):
            yield Delta("", text)
        content = piece.get("content")
        if content.__class__ is list:
            yield from self._parts(content)
        elif content and (text := self._joined("text", content)):
            yield Delta(text)
        if (refusal := piece.get("refusal")) and (text := self._joined("text", refusal)):
            self._refused = True
            yield Delta(text)
        if called := piece.get("function_call"):
            yield from self._call(None, None, called)

    def _parts(self, parts: list[Json]) -> Iterator[Delta]:
        for part in parts:
            if part.get("type") == "thinking":
                thought = part.get("thinking")
                pieces: list[Json] = [thought] if isinstance(thought, str) else thought or []
                texts = (p if isinstance(p, str) else p.get("text") or "" for p in pieces)
                if text := self._joined("reasoning", "".join(texts)):
                    yield Delta("", text)
            elif text := self._joined("text", part.get("text") or ""):
                yield Delta(text)

    def _call(self, index: Json, given: Json, function: Json) -> Iterator[Delta]:
        given = "" if given is None else clean(str(given))
        name, arguments = clean(function.get("name") or ""), function.get("arguments")
        call = self._known(index, given, name)
        if call is None:
            if not (given or name):
                return  # an empty frame of a call, or a piece of none
            call = self._opened(index, given, name)
            yield Delta("", "", CallDelta(call.index, call.id, name))
        elif name and not call.name:
            call.name = name
            yield Delta("", "", CallDelta(call.index, "", name))
        if arguments is None:
            return
        # NaN passes here, and is refused like every text that is no JSON by whoever runs the call
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        if text and (text := self._joined(f"call {call.index}", text)):
            call.parts.append(text)
            yield Delta("", "", CallDelta(call.index, "", "", text))

    def _known(self, index: Json, given: str, name: str) -> _Call | None:
        """Return the call that a piece goes on with, None for a new one.

        Providers leave out ids or indices, give index 0 to all calls, or repeat id and
        name with every piece.
        """
        if (index, given) in self._given:
            return self._given[index, given]
        if index is None and not given:
            call = self._calls[-1] if self._calls else None
        else:
            call = self._current.get(index)
        if call is None or (given and call.given) or (name and call.whole()):
            return None
        return call

    def _opened(self, index: Json, given: str, name: str) -> _Call:
        """Begin a call, under an id that no other of this conversation has where the provider gave none."""
        made = given
        if not made or any(call.id == made for call in self._calls):
            taken = self._taken.union(call.id for call in self._calls)
            made = next(made for n in count(1) if (made := f"call_{n}") not in taken)
        call = _Call(len(self._calls), given, made, name)
        self._calls.append(call)
        self._current[index] = call
        if given:
            self._given[index, given] = call
        return call

    # -- the end

    def rest(self) -> Iterator[Delta]:
        """Yield what is known of an answer that broke off, beyond what was yielded."""
        if self._usage is not None:
            yield Delta(usage=self._usage, model=self._model)

    def end(self) -> Iterator[Delta]:
        """Yield the last deltas. Raises Failed if the answer is not whole."""
        raw = (self.finish or "").lower()
        if self.finish is None and not self._ended:
            yield from self.rest()
            raise self._channel.failed("stream_cut", "the answer broke off")
        if raw in _BROKEN:
            yield from self.rest()
            raise self._channel.failed(_BROKEN[raw], f"the provider gave up its answer ({raw})")
        finish: Finish = _FINISH.get(raw, "stop")
        if finish in {"stop", "tool_calls"}:
            finish = "tool_calls" if self._calls else "refusal" if self._refused else "stop"
        for call in self._calls:
            # a function without parameters may be called with nothing; a cut call stays as it is
            if finish == "tool_calls" and not call.parts:
                yield Delta(call=CallDelta(call.index, arguments="{}"))
        yield Delta(finish=finish, usage=self._usage, model=self._model)

    def _count(self, chunk: Json, *, last: bool = False) -> None:
        usage: Json = chunk.get("usage") or (chunk.get("x_groq") or _NOTHING).get("usage")
        if not usage:
            return
        self._usage = _usage(usage)
        # usage alone in a chunk is the end, where `[DONE]` is left out
        self._ended = self._ended or last

    def _joined(self, channel: str, text: str) -> str:
        """Return text that UTF-8 can hold; half a surrogate pair waits for its other half."""
        if half := self._halves.pop(channel, ""):
            text = half + text
        if text.isascii():
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            self._halves[channel] = text[-1]
            text = text[:-1]
        return clean(text)


def _usage(usage: Json) -> Usage:
    """Return the tokens, wherever providers tell of cached and reasoning ones."""
    into: Json = usage.get("prompt_tokens_details") or _NOTHING
    out: Json = usage.get("completion_tokens_details") or _NOTHING
    given, made = _number(usage.get("prompt_tokens")), _number(usage.get("completion_tokens"))
    reasoning = _number(out.get("reasoning_tokens"))
    if usage.get("total_tokens") == given + made + reasoning:  # counted beside the output, as xAI does
        made += reasoning
    cached: Json = (
        into.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens")
    )
    return Usage(input=given, output=made, cached=_number(cached), reasoning=reasoning)


def _number(value: Any) -> int:
    return max(0, value) if isinstance(value, int) else 0


MODEL: Wire = OpenAIChat
