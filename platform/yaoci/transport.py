"""The one way to a provider: a request over httpx, the events of its answer, and its faults by kind."""

import base64
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from .contracts import Endpoint
from .errors import Failed, Failure, Kind
from .sse import MAX_EVENT, Event, EventReader, form_of
from .values import Json, clean, compact
from .version import __version__

if TYPE_CHECKING:
    import httpx

_MAX_ERROR = 256 * 1024
"""How much is read of an answer that only says what went wrong."""
_SHORTEST = 5
"""What is shorter is no secret but a word such as `none`, given to servers that want any key."""
_BAD, _BROKEN = 400, 500
_DRAIN = 0.1
"""Seconds for the rest of an answer whose last event came, so that its connection can be used again."""


# -- faults -----------------------------------------------------------------------------------------------

_CODES: Final[tuple[tuple[re.Pattern[str], Kind], ...]] = (
    (re.compile(r"context_length|context_size"), "context_length"),
    (re.compile(r"content_?filter|content_policy|responsibleai"), "content_filter"),
    (re.compile(r"tool_use_failed"), "tool_call_rejected"),
    (re.compile(r"insufficient_quota|insufficient_balance|billing"), "quota"),
    (re.compile(r"overloaded"), "overloaded"),
    (re.compile(r"rate_limit|too_many_requests|resource_exhausted"), "rate_limit"),
    (re.compile(r"api_key"), "auth"),
)
"""What a provider's own code or type says, where it is more exact than the status."""

_MESSAGES: Final[tuple[tuple[re.Pattern[str], Kind], ...]] = (
    (re.compile(r"context (length|window|size)|prompt is too long"), "context_length"),
    (re.compile(r"credit balance|insufficient (balance|credits|funds)"), "quota"),
    (re.compile(r"(incorrect|invalid) api key|api key not valid"), "auth"),
)
"""What only the text says, for a status of 400 or none."""

_STATUS: Final[dict[int, Kind]] = {
    401: "auth", 402: "quota", 403: "permission", 404: "not_found", 408: "timeout", 410: "not_found",
    429: "rate_limit", 503: "overloaded", 529: "overloaded",
}  # fmt: skip

_TYPES: Final[tuple[tuple[re.Pattern[str], Kind], ...]] = (
    (re.compile(r"authentication|unauthenticated"), "auth"),
    (re.compile(r"permission"), "permission"),
    (re.compile(r"not_?found"), "not_found"),
    (re.compile(r"invalid|unsupported|bad_?request"), "bad_request"),
    (re.compile(r"unavailable"), "overloaded"),
    (re.compile(r"timeout"), "timeout"),
)
"""What the type of an error says that came without a status, within a stream."""


def kind_of(status: int, code: str, message: str) -> Kind:
    """Return the kind of a provider's fault by status (0: none), code or type, and text."""
    code, message = code.lower(), message.lower()
    for pattern, kind in _CODES:
        if pattern.search(code):
            return kind
    if status in {0, 400, 413, 422}:
        for pattern, kind in _MESSAGES:
            if pattern.search(message):
                return kind
    if status in _STATUS:
        return _STATUS[status]
    if status >= _BAD:
        return "server" if status >= _BROKEN else "bad_request"
    for pattern, kind in _TYPES:
        if pattern.search(code):
            return kind
    return "server"


class _Said(NamedTuple):
    """What an error object says."""

    message: str
    code: str
    status: int


def _said(value: Json) -> _Said:
    """Read the shapes of error objects: `{error: {…}}`, `{error: text}`, `{message}`, `{detail}`, a list of one."""
    while value.__class__ is list and value:
        value = value[0]
    outer: dict[str, Json] = value if value.__class__ is dict else {"message": value}
    inner: Json = outer.get("error") or outer
    error: dict[str, Json] = inner if inner.__class__ is dict else {**outer, "message": inner}
    message: Json = next((error[name] for name in ("message", "detail", "msg") if error.get(name)), error)
    code = " ".join(v for name in ("type", "code", "status") if isinstance(v := error.get(name), str))
    numbers = (str(error.get(name)) for name in ("status_code", "status", "code"))
    status = next((int(n) for n in numbers if re.fullmatch(r"[45]\d\d", n)), 0)
    try:
        text = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    except RecursionError:
        text = "an error too deep to show"
    return _Said(text, code, status)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `retry-after-ms` or `retry-after` (a number or a date, RFC 9110, 10.2.3) asks for."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        if re.fullmatch(r"\d{1,15}(\.\d*)?", text := headers.get(name, "").strip()):
            return float(text) / unit
    if date := headers.get("retry-after"):
        from datetime import UTC, datetime
        from email.utils import parsedate_to_datetime

        with suppress(ValueError, OverflowError):
            then = parsedate_to_datetime(date)
            then = then if then.tzinfo else then.replace(tzinfo=UTC)
            return max(0.0, (then - datetime.now(UTC)).total_seconds())
    return None


# -- a channel to an endpoint -----------------------------------------------------------------------------


class Channel:
    """The connections to one endpoint; opened by the first request, in the loop that runs it.

    Whatever it raises is Failed, holds no secret of the endpoint, and has no other
    exception behind it that could hold one.
    """

    def __init__(self, endpoint: Endpoint, transport: "httpx.AsyncBaseTransport | None" = None) -> None:
        """Take the endpoint, and an httpx transport in place of the network."""
        self._endpoint = endpoint
        self._transport = transport
        self._client: httpx.AsyncClient | None = None
        self._loop: Any = None
        self._where = _shown(endpoint.base_url)
        secrets = _secrets_of(endpoint)
        self._secrets = sorted((s for s in secrets if len(s) >= _SHORTEST), key=len, reverse=True)

    async def post(
        self, path: str, body: Json, headers: Mapping[str, str], *, last: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """Send `body` to `path` of the base URL and yield the events of the answer as they come.

        A plain JSON answer is one event of the form `body`. After the event whose data is
        `last` nothing more is read. The endpoint's headers go over `headers`. Raises Failed
        for every fault; read it under `contextlib.aclosing`.
        """
        import asyncio

        deadline = asyncio.get_running_loop().time() + self._endpoint.timeout
        response = await self._send(path, body, headers, deadline)
        try:
            chunks = response.aiter_bytes()
            if not response.is_success:
                raise await self._refused(response, chunks, deadline)
            declared = response.headers.get("content-type", "").startswith("text/event-stream")
            head: bytes = b""
            while (form := form_of(head, declared)) is None:
                if (chunk := await self._next(chunks, deadline)) is None:
                    break
                head = (head + chunk).lstrip()
            if form != "events":
                yield await self._body(head, chunks, deadline, is_json=form == "body")
                return
            reader = EventReader()
            events = reader.feed(head)
            while True:
                for event in events:
                    yield event
                    if event.data == last:
                        await _drain(chunks)
                        return
                if (chunk := await self._next(chunks, deadline)) is None:
                    break
                events = reader.feed(chunk)
            for event in reader.end():
                yield event
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        import asyncio

        client, self._client = self._client, None
        # connections of a loop that has ended went with it, and cannot be closed in another
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    def failed(self, kind: Kind, text: str) -> Failed:
        """Return an exception that names the provider, without its secrets."""
        return Failed(Failure(kind, self._masked(f"{self._endpoint.provider}: {text}")))

    def fault(self, value: Json, status: int = 0, headers: Mapping[str, str] | None = None) -> Failed:
        """Return an exception for an error object of the provider's, however it came.

        `status` is that of the answer, or 0 within a good one.
        """
        said, endpoint = _said(value), self._endpoint
        status = status or said.status
        kind = kind_of(status, said.code, said.message)
        text = f"{endpoint.provider} answered {status}: " if status else f"{endpoint.provider}: "
        text += self.excerpt(said.message.strip(), 2000) or "no reason given"
        if kind == "auth" and endpoint.key_name:
            name = endpoint.key_name
            text += (
                f" (the key comes from {name})"
                if endpoint.key
                else f" (`{name}` is not set, so no key was sent)"
            )
        elif kind == "not_found":
            text += f" (asked {self._where} for `{endpoint.model}`)"
        data = {"status": status, "code": self._masked(said.code)} if status or said.code else None
        return Failed(Failure(kind, self._masked(text), "", retry_after(headers or {}), data))

    def excerpt(self, text: str, most: int) -> str:
        """Return the beginning of what a provider sent, without its secrets: they are masked before it is cut."""
        return self._masked(text)[:most]

    # -- within

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return clean(text)

    def _url(self, path: str) -> str:
        """Return the address of `path`; a query of the base URL stays behind it."""
        base = urlsplit(self._endpoint.base_url)
        return urlunsplit(base._replace(path=base.path.rstrip("/") + path))

    def _request(
        self, path: str, body: Json, headers: Mapping[str, str]
    ) -> "tuple[httpx.AsyncClient, httpx.Request]":
        """Return the open client and the request. Raises Failed where one of the settings cannot be used."""
        import asyncio

        import httpx

        whole = {
            "accept": "text/event-stream, application/json", "accept-encoding": "identity",
            "content-type": "application/json", "user-agent": f"yaoci/{__version__}",
            **{name.lower(): value for name, value in (*headers.items(), *self._endpoint.headers.items())},
        }  # fmt: skip
        for name, value in whole.items():
            if not (name + value).isascii() or not (name + value).isprintable():
                source = self._endpoint.key_name if name == "authorization" else ""
                raise self.failed(
                    "auth" if source else "bad_request",
                    f"{source or f'the header `{name}`'} has a character that a header cannot carry: "
                    + _named_character(name + value),
                )
        content = clean(compact(body)).encode()
        loop = asyncio.get_running_loop()
        problem = "has no http:// or https:// address in base_url"
        try:
            if self._client is None or self._loop is not loop:
                timeout = httpx.Timeout(None, connect=self._endpoint.connect_timeout)
                self._client = httpx.AsyncClient(transport=self._transport, timeout=timeout)
                self._loop = loop
            if self._endpoint.base_url.startswith(("http://", "https://")):
                url = self._url(path)
                return self._client, self._client.build_request("POST", url, content=content, headers=whole)
        except ImportError as error:
            problem = f"cannot be reached through the proxy of the environment: {error}"
        except (ValueError, httpx.InvalidURL):
            problem = "cannot be reached: the base_url, or a proxy of the environment, is no address"
        raise self.failed("bad_request", problem)

    async def _send(
        self, path: str, body: Json, headers: Mapping[str, str], deadline: float, *, again: bool = True
    ) -> "httpx.Response":
        """Return the answer's beginning, asking once more where a kept connection turns out to be closed."""
        import asyncio

        import httpx

        fault: Failed | None = None
        where, patience = self._where, self._endpoint.connect_timeout
        client, request = self._request(path, body, headers)
        try:
            async with asyncio.timeout_at(deadline):
                return await client.send(request, stream=True)
        except TimeoutError:
            fault = self._late()
        except httpx.ConnectTimeout:
            fault = self.failed("timeout", f"no connection to {where} within {patience:g} s")
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            if not again:
                fault = self.failed("connection", f"{where} closed the connection without an answer")
        except httpx.ConnectError as error:
            fault = self.failed("connection", f"cannot connect to {where}; is it running? ({error})")
        except httpx.HTTPError as error:
            fault = self.failed("connection", f"cannot ask {where}: {type(error).__name__}")
        if fault is None:
            return await self._send(path, body, headers, deadline, again=False)
        raise fault  # outside of `except`: the exceptions of httpx hold the request, and with it the key

    def _late(self) -> Failed:
        return self.failed(
            "timeout", f"no whole answer from {self._where} within {self._endpoint.timeout:g} s"
        )

    async def _next(self, chunks: AsyncIterator[bytes], deadline: float) -> bytes | None:
        """Return the next bytes, None at the end. Only waiting counts as silence, not what a reader takes."""
        import asyncio

        import httpx

        now = asyncio.get_running_loop().time()
        silent = now + self._endpoint.idle_timeout
        if now >= deadline:  # a timer does not go off while there is always something to read
            raise self._late()
        try:
            async with asyncio.timeout_at(min(silent, deadline)):
                return await anext(chunks, None)
        except TimeoutError:
            idle = f"{self._where} was silent for {self._endpoint.idle_timeout:g} s"
            fault = self.failed("timeout", idle) if silent < deadline else self._late()
        except httpx.DecodingError:
            fault = self.failed("bad_response", f"{self._where} sent what cannot be decompressed")
        except httpx.HTTPError as error:
            fault = self.failed(
                "stream_cut", f"{self._where} broke off its answer: {str(error) or type(error).__name__}"
            )
        raise fault  # outside of `except`, as above

    async def _whole(self, head: bytes, chunks: AsyncIterator[bytes], deadline: float, limit: int) -> bytes:
        parts, size = [head], len(head)
        while size <= limit and (chunk := await self._next(chunks, deadline)) is not None:
            parts.append(chunk)
            size += len(chunk)
        return b"".join(parts)

    async def _body(
        self, head: bytes, chunks: AsyncIterator[bytes], deadline: float, *, is_json: bool
    ) -> Event:
        """Return an answer that is no stream, if it may be JSON."""
        whole = await self._whole(head, chunks, deadline, MAX_EVENT if is_json else _MAX_ERROR)
        text = whole.decode("utf-8-sig", "replace").strip()
        if not text:
            raise self.failed("bad_response", f"{self._where} answered with nothing")
        if not is_json:
            raise self.failed(
                "bad_response",
                f"{self._where} answered with what is not JSON; is base_url right? {self.excerpt(text, 200)!r}",
            )
        if len(whole) > MAX_EVENT:
            raise self.failed("bad_response", f"{self._where} answered with more than {MAX_EVENT:,} bytes")
        return Event(text, "", "body")

    async def _refused(
        self, response: "httpx.Response", chunks: AsyncIterator[bytes], deadline: float
    ) -> Failed:
        """Return the fault of an answer whose status is no success, also where its text cannot be read to the end."""
        if response.is_redirect:
            to = response.headers.get("location", "")
            return self.failed(
                "bad_response", f"{self._where} points to {to.partition('?')[0]!r}; is base_url right?"
            )
        body = b""
        with suppress(Failed):
            body = await self._whole(b"", chunks, deadline, _MAX_ERROR)
        text = body.decode("utf-8", "replace").strip()
        try:
            value: Json = json.loads(text)
        except (ValueError, RecursionError):
            value = self.excerpt(text, 500) or response.reason_phrase
        return self.fault(value, response.status_code, response.headers)


def _secrets_of(endpoint: Endpoint) -> set[str]:
    """Return what of an endpoint no text may show, as it is and as an address or a header spells it."""
    found = {endpoint.key.strip()}
    for name, value in endpoint.headers.items():
        if re.search(r"key|token|auth|secret|cookie", name.lower()):
            found |= {value.strip(), value.strip().rpartition(" ")[2]}
    try:
        base = urlsplit(endpoint.base_url)
        user, password = unquote(base.username or ""), unquote(base.password or "")
    except ValueError:  # no address at all; that is told where it is used
        return found
    if password:
        found |= {password, base64.b64encode(f"{user}:{password}".encode()).decode()}
    found |= {value for _, value in parse_qsl(base.query)}
    return found | {quote(secret, safe="") for secret in found}


def _named_character(text: str) -> str:
    """Return the first character of a text that no header carries, and what it may be."""
    found = next(c for c in text if not (c.isascii() and c.isprintable()))
    if found in "\r\n":
        return "a line break"
    shown = f"`{found}`" if found.isprintable() else f"U+{ord(found):04X}"
    return f"{shown}; is it a placeholder for the real one?"


def _shown(url: str) -> str:
    """Return an address for people: without user, password and query."""
    with suppress(ValueError):
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return "its base_url"


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read to the end if that is near: only then is the connection kept."""
    import asyncio

    import httpx

    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(_DRAIN):
            while await anext(chunks, None) is not None:
                pass
