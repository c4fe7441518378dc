"""`python: fn`: a function of the Python file beside the YAML, sync or async."""

import concurrent.futures
import functools
import importlib.util
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterator, Mapping, MutableMapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, NamedTuple, TypeVar, cast

from ..contracts import Effect, Handler, Host
from ..errors import Failed, UsageError
from ..marks import Doc, Form, Ref
from ..messages import Message
from ..values import Json

if TYPE_CHECKING:  # `check` reads this file and runs nothing
    import asyncio

MAX_LEFT: Final = 32
"""So many threads may be left behind, running what was given up, before new calls fail."""

GRACE: Final = 1.0
"""Seconds that what a function began may take to end, once it is given up."""

_FILLED: Final = ("message", "event", "context")

T = TypeVar("T")


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
        shown = (FilePath(host.place.rpartition(":")[0]).parent / file.name).as_posix()
        try:
            function = await _function(file, spec.python)
        except SyntaxError as error:
            where = shown if error.filename == str(file) else str(error.filename)
            raise Failed.of(
                "exception", f"{shown} cannot be read: {error.msg}", place=f"{where}:{error.lineno}"
            ) from error
        except Failed:
            raise
        except Exception as error:
            raise _failure(error, str(file), shown, shown) from error
        return await _invoke(function, args, host, str(file), shown, spec.python)


async def call(function: Callable[..., Any], args: Json, host: Host, name: str) -> Json:
    """Call a function that is given as a callback: `fn(message, *args)`, or with keywords where `args` is a mapping.

    `message`, `event` and `context` go to the parameters of that name. Raises Failed of kind
    `exception` for what it raises.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    file = code.co_filename if code else ""
    return await _invoke(_described(function, callback=True), args, host, file, file, name)


async def _invoke(function: "_Function", args: Json, host: Host, file: str, shown: str, name: str) -> Json:
    context = Context(host)
    try:
        if function.is_async:
            arguments = function.fill(args, host, context)
            return _plain(await function.call(*arguments.args, **arguments.kwargs))
        import asyncio

        arguments = function.fill(args, host, BlockingContext(context, asyncio.get_running_loop()))
        value = await _in_thread(lambda: function.call(*arguments.args, **arguments.kwargs))
        return _plain(await value if inspect.isawaitable(value) else value)
    except Failed:
        raise
    except (Exception, SystemExit) as error:  # a function must not end the process
        raise _failure(error, file, shown, name) from error
    finally:
        await context.end()


def _plain(value: Any) -> Json:
    """Return a result with its messages as JSON: alone, in a list, or in a mapping with `then`."""
    if isinstance(value, Message):
        return value.to_json()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict) and "message" in value:
        said = cast("dict[str, Any]", value)
        return {**said, "message": _plain(said["message"])}
    return cast("Json", value)


def _failure(error: BaseException, file: str, shown: str, name: str) -> Failed:
    """Return an exception as a failure whose place is the last line of the user's own file, if it got there."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Failed.of("exception", f"`{name}` raised {text}", place=f"{shown}:{lines[-1]}" if lines else "")


# -- finding the function ----------------------------------------------------------------------------------


class _Function(NamedTuple):
    call: Callable[..., Any]
    signature: inspect.Signature
    is_async: bool
    text_message: bool
    first: bool
    """Whether the message is the first argument, since no parameter has its name."""

    def fill(self, args: Json, host: Host, context: Any) -> inspect.BoundArguments:
        """Bind the arguments, by name or in order, and what the runner fills where they do not say it.

        Raises Failed of kind `bad_args` where they do not suit the function.
        """
        named = dict(cast("dict[str, Any]", args)) if isinstance(args, dict) else {}
        rest = [] if isinstance(args, dict) else list(cast("list[Any]", args or []))
        if self.first:
            rest.insert(0, self._filled("message", host, context))
        for name in _FILLED:
            if name in self.signature.parameters and name not in named:
                named[name] = self._filled(name, host, context)
        positional = self._in_order(rest, named)
        try:
            return self.signature.bind(*positional, **named)
        except TypeError as error:
            raise Failed.of("bad_args", f"`{_name_of(self.call)}`: {error}") from None

    def _in_order(self, rest: list[Any], named: dict[str, Any]) -> list[Any]:
        """Return what is bound in order: `rest`, with what is `named` taken out of it where its turn comes."""
        if not rest:
            return []
        positional: list[Any] = []
        for name, parameter in self.signature.parameters.items():
            if parameter.kind not in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD} or not rest:
                break
            positional.append(named.pop(name) if name in named else rest.pop(0))
        return positional + rest

    def _filled(self, name: str, host: Host, context: Any) -> Any:
        if name == "context":
            return context
        if name == "event":
            return deepcopy(host.event)
        message = host.message
        return (message.text if message else "") if self.text_message else deepcopy(message)


async def _function(file: FilePath, name: str) -> _Function:
    stat = file.stat()  # noqa: ASYNC240 - a stat takes less than a thread
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
    return _described(function, callback=False)


def _described(function: Callable[..., Any], *, callback: bool) -> _Function:
    try:
        signature = inspect.signature(function, eval_str=False)
    except ValueError:  # some of C tell nothing
        signature = _ANY
    message = signature.parameters.get("message")
    first = _first(signature) if callback and message is None else None
    told = message or first
    is_text = told is not None and told.annotation in (str, "str")
    return _Function(function, signature, inspect.iscoroutinefunction(function), is_text, first is not None)


def _first(signature: inspect.Signature) -> inspect.Parameter | None:
    """Return the first parameter that arguments in order fill, if any."""
    for one in signature.parameters.values():
        if one.name not in _FILLED and one.kind not in {one.KEYWORD_ONLY, one.VAR_KEYWORD}:
            return one
    return None


_ANY: Final = inspect.signature(lambda *args, **kwargs: None)  # noqa: ARG005 - their names are the signature


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


# -- threads -----------------------------------------------------------------------------------------------


class _Left:
    """Counts the threads that were left behind."""

    count = 0
    lock = threading.Lock()


class _Thread:
    """One call in a daemon thread of its own, so that neither a pool nor the end of the process waits for it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        import asyncio

        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._work = work
        self._ended = False
        self._left = False

    def start(self) -> None:
        threading.Thread(target=self._body, name="yaoci-process", daemon=True).start()

    def leave(self) -> None:
        """Count the thread as left behind until it ends."""
        with _Left.lock:
            if not self._ended:
                self._left = True
                _Left.count += 1

    def _body(self) -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = self._work()
        except (StopIteration, KeyboardInterrupt, SystemExit) as caught:  # a future cannot carry them
            error = RuntimeError(f"{type(caught).__name__}: {caught}").with_traceback(caught.__traceback__)
        except BaseException as caught:  # noqa: BLE001 - it is handed on to the caller
            error = caught
        with _Left.lock:
            self._ended = True
            _Left.count -= self._left
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, value, error)

    def _settle(self, value: Any, error: BaseException | None) -> None:
        if self.future.cancelled():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(value)


async def _in_thread(work: Callable[[], Any]) -> Any:
    """Run `work` in a thread and return its result; given up, it is left behind."""
    if _Left.count >= MAX_LEFT:
        raise Failed.of("limit", f"{MAX_LEFT} calls that were given up are still running; no new one starts")
    thread = _Thread(work)
    thread.start()
    import asyncio

    try:
        return await thread.future
    except asyncio.CancelledError:
        thread.leave()
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
        self._running: set[asyncio.Task[Any]] = set()
        self.shared = Shared(host)

    async def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """Do what the function asks for, so that it ends with the function."""
        if self.cancelled:
            work.close()
            raise Failed.of("cancelled", "the call was given up")
        import asyncio

        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._running.add(task)
        try:
            return await work
        finally:
            self._running.discard(task)

    async def end(self) -> None:
        """Give up what the function began and did not wait for, and wait for its end."""
        self._host.cancelled = True
        if self._running:
            running = set(self._running)
            for task in running:
                task.cancel()
            import asyncio

            await asyncio.wait(running, timeout=GRACE)

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
        await self._do(self._host.send(message))

    async def process(self, name: str, args: Json = None, *, key: str = "") -> Json:
        """Run a process and return its result."""
        return await self._do(self._host.process(name, args, key=key or self._host.next_call()))

    async def call(
        self, assistant: str, input: Json, callback: Any = None, options: Json = None, *, key: str = ""
    ) -> Message:
        """Call an assistant, run the callback with its answer, and return the last message."""
        return await self._do(self._host.call(assistant, input, callback, options, key=key))

    async def log(self, text: str, **data: Json) -> None:
        """Add a note to the run's events."""
        await self._do(self._host.note("note", {"text": text, **data}))


class BlockingContext:
    """What a sync function gets as `context`: the same, each method waiting for its end."""

    def __init__(self, context: Context, loop: "asyncio.AbstractEventLoop") -> None:
        """Take what an async function would get, and the loop that the run is on."""
        self._context = context
        self._loop = loop
        self._thread = threading.get_ident()  # the loop's own
        self.shared = context.shared

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if threading.get_ident() == self._thread:
            work.close()
            raise UsageError(
                "this `context` waits, and would wait for itself: use it in the function's own thread"
            )
        if self.cancelled:
            work.close()
            raise Failed.of("cancelled", "the call was given up")
        try:
            import asyncio

            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except concurrent.futures.CancelledError:
            raise Failed.of("cancelled", "the call was given up") from None

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
        return self._wait(self._context.call(assistant, input, callback, options, key=key))

    def log(self, text: str, **data: Json) -> None:
        """Add a note to the run's events."""
        self._wait(self._context.log(text, **data))


HANDLER: Final[Handler[Python]] = PythonHandler()
