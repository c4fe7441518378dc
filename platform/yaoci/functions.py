"""Users' functions: importing a file of the project, binding arguments, calling, and what an exception becomes."""

import asyncio
import functools
import importlib.util
import inspect
import sys
import threading
import traceback
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path as FilePath
from typing import Any, Final, NamedTuple, cast

from .contexts import BlockingContext, Context
from .contracts import Host
from .errors import Failed, Left
from .messages import Message
from .threads import in_thread
from .values import Json

_OURS: Final = (Failed, Left, asyncio.CancelledError, KeyboardInterrupt)
"""What a function may let through: failures that are told already, and ends that are not its own."""

_FILLED: Final = ("message", "event", "context")


async def call_named(file: FilePath, name: str, args: Json, host: Host) -> Json:
    """Call a function of a file of the project. Raises Failed, of kind `exception` for what it raises."""
    shown = (FilePath(host.place.rpartition(":")[0]).parent / file.name).as_posix()
    try:
        function = await _function(file, name)
    except SyntaxError as error:
        where = shown if error.filename == str(file) else str(error.filename)
        raise Failed.of(
            "exception", f"{shown} cannot be read: {error.msg}", place=f"{where}:{error.lineno}"
        ) from error
    except _OURS:
        raise
    except BaseException as error:
        raise _failure(error, str(file), shown, shown) from error
    return await _invoke(function, args, host, str(file), shown, name)


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
            arguments = function.fill(args, host, context, name)
            return _plain(await function.call(*arguments.args, **arguments.kwargs))
        arguments = function.fill(args, host, BlockingContext(context, asyncio.get_running_loop()), name)
        value = await in_thread(lambda: function.call(*arguments.args, **arguments.kwargs))
        return _plain(await value if inspect.isawaitable(value) else value)
    except _OURS:
        raise
    except BaseException as error:  # a function must not end the run, nor the process
        raise _failure(error, file, shown, name) from error
    finally:
        await context.end()


def _plain(value: Any) -> Json:
    """Return a result with its messages as JSON: alone, in a list, or in a mapping with `then`."""
    if isinstance(value, Message):
        return value.to_json()
    if isinstance(value, list | tuple):
        return [_message(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict) and "message" in value:
        said = cast("dict[str, Any]", value)
        inner = said["message"]
        many = isinstance(inner, list | tuple)
        told = [_message(item) for item in cast("list[Any]", inner)] if many else _message(inner)
        return {**said, "message": told}
    return cast("Json", value)


def _message(value: Any) -> Json:
    return value.to_json() if isinstance(value, Message) else value


def _failure(error: BaseException, file: str, shown: str, name: str) -> Failed:
    """Return an exception as a failure whose place is the last line of the user's own file, if it got there."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    try:
        said = str(error)
    except BaseException:  # noqa: BLE001 - an exception of the user's own may do anything
        said = ""
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return Failed.of("exception", f"`{name}` raised {text}", place=f"{shown}:{lines[-1]}" if lines else "")


# -- finding the function ----------------------------------------------------------------------------------


class _Function(NamedTuple):
    call: Callable[..., Any]
    signature: inspect.Signature
    is_async: bool
    text_message: bool
    first: bool
    """Whether the message is the first argument, since no parameter has its name."""

    def fill(self, args: Json, host: Host, context: Any, called: str) -> inspect.BoundArguments:
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
            raise Failed.of("bad_args", f"`{called}`: {error}") from None

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
        if message is None or self.text_message:
            return message.text if message else ("" if self.text_message else None)
        # a message is frozen: only what it holds of foreign values can be changed
        loose = message.props is not None or message.data is not None or message.actions
        return deepcopy(message) if loose else message


async def _function(file: FilePath, name: str) -> _Function:
    stat = file.stat()  # noqa: ASYNC240 - a stat takes less than a thread
    found = _loaded.get((str(file), stat.st_mtime_ns, stat.st_size))
    if found is None:
        found = await in_thread(lambda: _import(str(file), stat.st_mtime_ns, stat.st_size))
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
