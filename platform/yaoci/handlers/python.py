"""`python: fn`: a function of the Python file beside the YAML, sync or async."""

import asyncio
import functools
import importlib.util
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Annotated, Any, ClassVar, Final, NamedTuple, cast

from ..contracts import Effect, Handler, Host
from ..errors import Failed, Failure
from ..messages import Message
from ..spec import Doc, Form, Ref
from ..values import Json

MAX_LEFT: Final = 32
"""So many threads may be left behind, running what was given up, before new calls fail."""

_FILLED: Final = ("message", "event", "context")


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
        file = cast("FilePath", host.python)
        try:
            function = await _function(file, spec.python)
            if function.is_async:
                arguments = function.fill(args, host, Context(host))
                return _plain(await function.call(*arguments.args, **arguments.kwargs))
            loop = asyncio.get_running_loop()
            arguments = function.fill(args, host, BlockingContext(host, loop))
            return _plain(await _in_thread(lambda: function.call(*arguments.args, **arguments.kwargs)))
        except Failed:
            raise
        except Exception as error:
            raise Failed(_failure(error, file, spec.python)) from error


def _plain(value: Any) -> Json:
    return value.to_json() if isinstance(value, Message) else value


def _failure(error: Exception, file: FilePath, name: str) -> Failure:
    """Return an exception as a failure whose place is the last line of the user's own file, if it got there."""
    if isinstance(error, SyntaxError):
        return Failure("exception", f"{file.name} cannot be read: {error.msg}", f"{file}:{error.lineno}")
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)
    ]
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    place = f"{file.parent.name}/{file.name}:{lines[-1]}" if lines else ""
    return Failure("exception", f"`{name}` raised {text}", place)


# -- finding the function ----------------------------------------------------------------------------------


class _Function(NamedTuple):
    call: Callable[..., Any]
    signature: inspect.Signature
    is_async: bool
    text_message: bool

    def fill(self, args: Json, host: Host, context: Any) -> inspect.BoundArguments:
        """Bind the arguments, by name or in order, and what the runner fills where they do not say it."""
        named = cast("dict[str, Json]", args) if isinstance(args, dict) else {}
        given: dict[str, Any] = {}
        for name in _FILLED:
            if name in self.signature.parameters and name not in named:
                given[name] = self._filled(name, host, context)
        if isinstance(args, dict):
            return self.signature.bind(**given, **named)
        rest = list(cast("list[Json]", args or []))
        positional: list[Any] = []
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional.extend(rest)
                rest = []
            elif parameter.kind is not parameter.KEYWORD_ONLY and (name in given or rest):
                positional.append(given.pop(name) if name in given else rest.pop(0))
        return self.signature.bind(*positional, *rest, **given)

    def _filled(self, name: str, host: Host, context: Any) -> Any:
        if name == "context":
            return context
        if name == "event":
            return deepcopy(host.event)
        message = host.message
        return (message.text if message else "") if self.text_message else message


async def _function(file: FilePath, name: str) -> _Function:
    stat = file.stat()
    found = _loaded.get((str(file), stat.st_mtime_ns, stat.st_size))
    if found is None:
        found = await _in_thread(lambda: _import(str(file), stat.st_mtime_ns, stat.st_size))
    return _inspected(found, name)


_loaded: Final[dict[tuple[str, int, int], Any]] = {}
_import_lock: Final = threading.Lock()


def _import(file: str, changed: int, size: int) -> Any:
    """Import a file of the project, once for each state of it."""
    with _import_lock:
        if (file, changed, size) not in _loaded:
            name = f"yaoci_project_{abs(hash(file)):x}_{FilePath(file).stem.replace('-', '_')}"
            spec = importlib.util.spec_from_file_location(name, file)
            if spec is None or spec.loader is None:
                raise Failed.of("missing", f"{file} cannot be imported")
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module  # dataclasses and pickles look their module up
            spec.loader.exec_module(module)
            _loaded[file, changed, size] = module
        return _loaded[file, changed, size]


@functools.lru_cache(maxsize=4096)
def _inspected(module: Any, name: str) -> _Function:
    function = getattr(module, name, None)
    if not callable(function):
        raise Failed.of("missing", f"{FilePath(module.__file__).name} has no function `{name}`")
    signature = inspect.signature(function, eval_str=False)
    message = signature.parameters.get("message")
    is_text = message is not None and message.annotation in (str, "str")
    return _Function(function, signature, inspect.iscoroutinefunction(function), is_text)


# -- threads -----------------------------------------------------------------------------------------------


class _Left:
    """Counts the threads that were left behind."""

    count = 0


async def _in_thread(work: Callable[[], Any]) -> Any:
    """Run `work` in a daemon thread of its own, so that neither a pool nor the end of the process waits for it."""
    if _Left.count >= MAX_LEFT:
        raise Failed.of("limit", f"{MAX_LEFT} calls that were given up are still running; no new one starts")
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.cancelled():
            _Left.count -= 1
        elif error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    def body() -> None:
        value, error = None, None
        try:
            value = work()
        except StopIteration as stop:  # a future cannot carry it
            error = RuntimeError(f"StopIteration: {stop}")
        except Exception as caught:  # noqa: BLE001 - it is handed on to the caller
            error = caught
        except BaseException as caught:  # noqa: BLE001 - a function must not end the process
            error = RuntimeError(f"{type(caught).__name__}: {caught}")
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    threading.Thread(target=body, name="yaoci-process", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        if future.cancelled():
            _Left.count += 1
        raise


# -- what a function may ask for ---------------------------------------------------------------------------


class Shared(MutableMapping[str, Json]):
    """`shared` of the run: values go in and come out as copies."""

    def __init__(self, host: Host) -> None:
        """Take the host of the call."""
        self._host = host

    def _values(self) -> Mapping[str, Json]:
        return cast("Mapping[str, Json]", self._host.names["shared"])

    def __getitem__(self, name: str) -> Json:
        """Return a copy of a value."""
        return deepcopy(self._values()[name])

    def __setitem__(self, name: str, value: Json) -> None:
        """Write a value."""
        self._host.set(name, value)

    def __delitem__(self, name: str) -> None:
        """Write null, since what was set stays known."""
        self._host.set(name, None)

    def __iter__(self) -> Iterator[str]:
        """Return the keys."""
        return iter(list(self._values()))

    def __len__(self) -> int:
        """Return how many keys there are."""
        return len(self._values())


class Context:
    """What an async function gets as `context`."""

    def __init__(self, host: Host) -> None:
        """Take the host of the call."""
        self._host = host
        self.shared = Shared(host)

    @property
    def run(self) -> str:
        """The run's id."""
        return self._host.run

    @property
    def key(self) -> str:
        """The same in every attempt of one call, different for every other call."""
        return f"{self._host.run}/{self._host.key}"

    @property
    def cancelled(self) -> bool:
        """True once the call is given up: a good place to stop."""
        return self._host.cancelled

    async def send(self, message: Json | Message) -> None:
        """Send a message to the user."""
        await self._host.send(message)

    async def process(self, name: str, args: Json = None, *, key: str = "") -> Json:
        """Run a process and return its result."""
        return await self._host.process(name, args, key=key or self._host.next_call())

    async def call(
        self, assistant: str, input: Json, callback: Any = None, options: Json = None, *, key: str = ""
    ) -> Message:
        """Call an assistant, run the callback with its answer, and return the last message."""
        return await self._host.call(assistant, input, callback, options, key=key)

    async def log(self, text: str, **data: Json) -> None:
        """Add a note to the run's events."""
        await self._host.note("note", {"text": text, **data})


class BlockingContext:
    """What a sync function gets as `context`: the same, each method waiting for its end."""

    def __init__(self, host: Host, loop: asyncio.AbstractEventLoop) -> None:
        """Take the host of the call, and the loop that the run is on."""
        self._context = Context(host)
        self._loop = loop
        self.shared = self._context.shared

    def _wait(self, work: Any) -> Any:
        if self.cancelled:
            work.close()
            raise Failed.of("cancelled", "the call was given up")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @property
    def run(self) -> str:
        """The run's id."""
        return self._context.run

    @property
    def key(self) -> str:
        """The same in every attempt of one call, different for every other call."""
        return self._context.key

    @property
    def cancelled(self) -> bool:
        """True once the call is given up: a good place to stop."""
        return self._context.cancelled

    def send(self, message: Json | Message) -> None:
        """Send a message to the user."""
        self._wait(self._context.send(message))

    def process(self, name: str, args: Json = None, *, key: str = "") -> Json:
        """Run a process and return its result."""
        return self._wait(self._context.process(name, args, key=key))

    def call(
        self, assistant: str, input: Json, callback: Any = None, options: Json = None, *, key: str = ""
    ) -> Message:
        """Call an assistant, run the callback with its answer, and return the last message."""
        return cast("Message", self._wait(self._context.call(assistant, input, callback, options, key=key)))

    def log(self, text: str, **data: Json) -> None:
        """Add a note to the run's events."""
        self._wait(self._context.log(text, **data))


HANDLER: Final[Handler[Python]] = PythonHandler()
