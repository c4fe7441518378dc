"""Models that say what a script says: for tests, for cases that run offline, and for trying things out."""

import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, cast, get_args

from ..contracts import CallDelta, Delta, Endpoint, Finish, Model, ModelRequest, Usage, Wire
from ..errors import KINDS, Failed, Failure
from ..values import Json, as_text, clean, compact

Turn: TypeAlias = str | Mapping[str, Json] | Sequence[Mapping[str, Json]]
"""The answer to one request: a text, a step, or steps one after the other.

A step has one or more of these keys, which come about in this order:

    reason: text               what the model thinks
    say: text                  what it says, in small pieces
    delta: [text, …]           what it says, in just these pieces
    call: {function id: args}  calls; args that are text are sent as they are, also when no JSON
    fail: {kind, message}      the request fails here; also `retry_after`
    finish: word               why it stopped, if not for the end or a call
"""

_STEPS: Final = ("reason", "say", "delta", "call", "fail", "finish")
_PIECE: Final = re.compile(r"\S{1,8}\s*|\s+")
_LETTERS: Final = 4
"""Letters to a token, roughly."""


class Scripted:
    """A model whose answers are written down: each request takes the next turn of the script."""

    capabilities: frozenset[str] = frozenset({"text", "image", "audio", "tools", "schema"})

    def __init__(self, script: Sequence[Turn] | None = None, *, file: str = "") -> None:
        """Take the turns, or a YAML or JSON file `{script: [turn, …]}` that the first request reads.

        Raises ValueError for what is no list, and for a turn of another shape.
        """
        self.requests: list[ModelRequest] = []
        """What it was asked, in order."""
        self._turns = None if script is None else _turns(script)
        self._file = file

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Yield the next turn in pieces. Raises Failed where the turn fails, or `missing` after the last."""
        import asyncio

        if self._turns is None:
            self._turns = _load(self._file)
        turns, number = self._turns, len(self.requests)
        self.requests.append(request)
        if number >= len(turns):
            have = f"{len(turns)} turn{'' if len(turns) == 1 else 's'}"
            where = self._file or "the script"
            raise Failed.of("missing", f"{where} has {have}, and this is request {number + 1}: add a turn")
        await asyncio.sleep(0)  # as with a model behind a wire, others get to run meanwhile
        taken = {call.id for message in request.messages for call in message.tool_calls}
        written = calls = 0
        finish: Finish | None = None
        for step in turns[number]:
            for delta in _deltas(step, calls, taken):
                written += len(delta.text) + len(delta.reasoning)
                if delta.call is not None:
                    calls = delta.call.index + 1
                    written += len(delta.call.name) + len(delta.call.arguments)
                yield delta
            finish = step.get("finish", finish)
        read = sum(len(message.text) for message in request.messages)
        usage = Usage(input=-(-read // _LETTERS), output=-(-written // _LETTERS))
        yield Delta(finish=finish or ("tool_calls" if calls else "stop"), usage=usage, model="scripted")

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


def _turns(script: Sequence[Turn]) -> list[list[Mapping[str, Json]]]:
    if not isinstance(script, list | tuple):
        raise ValueError(f"turns are a list, one for each request: write `[{script!r}]`")  # noqa: TRY004 - bad data
    turns: list[list[Mapping[str, Json]]] = []
    for number, turn in enumerate(script, 1):
        steps: Sequence[Any] = turn if isinstance(turn, list | tuple) else [turn]
        turns.append([_checked({"say": step} if isinstance(step, str) else step, number) for step in steps])
    return turns


def _checked(step: Any, number: int) -> Mapping[str, Json]:
    known = f"has one of {', '.join(_STEPS)}"
    if not isinstance(step, Mapping) or not step:
        raise ValueError(f"a step of turn {number} is text, or {known}; this one is {step!r}")
    found = cast("Mapping[str, Json]", step)
    if unknown := [name for name in found if name not in _STEPS]:
        raise ValueError(f"a step of turn {number} {known}, not `{unknown[0]}`")
    if not isinstance(found.get("call", {}), Mapping):
        what = f"`call` in turn {number} is a mapping of function ids to arguments"
        raise ValueError(what)  # noqa: TRY004 - one kind of error for all that is wrong in a script
    if not isinstance(found.get("delta", []), list | tuple):
        raise ValueError(f"`delta` in turn {number} is a list of texts")  # noqa: TRY004 - as above
    fail: Json = found.get("fail", {"kind": "failed"})
    if not isinstance(fail, Mapping) or cast("Mapping[str, Json]", fail).get("kind") not in KINDS:
        raise ValueError(f"`fail` in turn {number} is {{kind, message}}, with a kind of failure")
    if found.get("finish", "stop") not in get_args(Finish):
        raise ValueError(f"`finish` in turn {number} is one of {', '.join(get_args(Finish))}")
    return found


def _load(file: str) -> list[list[Mapping[str, Json]]]:
    from ..source import read_file
    from ..texts import Unreadable

    if not file:
        raise Failed.of("missing", "no script: which `file` does the model read from?")
    try:
        script = read_file(Path(file), file).value.get("script")
        if not isinstance(script, list):
            raise ValueError("the file has no list `script`")  # noqa: TRY004 - as above
        return _turns(cast("list[Turn]", script))
    except Unreadable as error:
        raise Failed.of("missing", f"no script: {error}") from None
    except ValueError as error:
        raise Failed.of("missing", f"no script: {file}: {error}") from None


def _deltas(step: Mapping[str, Json], calls: int, taken: set[str]) -> Iterator[Delta]:
    for piece in _PIECE.findall(clean(as_text(step.get("reason")))):
        yield Delta(reasoning=piece)
    for piece in _PIECE.findall(clean(as_text(step.get("say")))):
        yield Delta(piece)
    for piece in step.get("delta", ()):
        yield Delta(clean(as_text(piece)))
    for index, (name, args) in enumerate(step.get("call", {}).items(), calls):
        yield Delta(call=CallDelta(index, _id(index, taken), name))
        text = clean(args if isinstance(args, str) else compact({} if args is None else args))
        half = len(text) // 2
        for piece in filter(None, (text[:half], text[half:])):
            yield Delta(call=CallDelta(index, "", "", piece))
    if fail := step.get("fail"):
        text = fail.get("message") or f"the script says `{fail['kind']}`"
        raise Failed(Failure(fail["kind"], text, "", fail.get("retry_after")))


def _id(index: int, taken: set[str]) -> str:
    """Return an id that no other call of the conversation has, the same in every run."""
    number = index + 1
    while (made := f"call_{number}") in taken:
        number += 1
    taken.add(made)
    return made


class _Wire:
    """Makes a scripted model of an endpoint's `file`."""

    name = "scripted"

    def __call__(self, endpoint: Endpoint) -> Model:
        return Scripted(file=endpoint.file)


MODEL: Wire = _Wire()
