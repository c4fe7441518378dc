import asyncio
import json
import logging
import subprocess
import sys
import traceback
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from yaoci.contracts import Endpoint
from yaoci.errors import RETRYABLE, Failed
from yaoci.sse import MAX_EVENT, Event
from yaoci.transport import Channel, kind_of, retry_after

KEY = "sk-test-0123456789abcdef"
SSE = {"content-type": "text/event-stream"}


def endpoint(**changes):
    settings = {"base_url": "http://p.test/v1", "key": KEY, "key_name": "P_API_KEY", **changes}
    return Endpoint(provider="p", model="m", api="openai-chat", **settings)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def ask(channel, body=None, last=None):
    try:
        async with aclosing(
            channel.post("/chat", body or {}, {"authorization": f"Bearer {KEY}"}, last=last)
        ) as events:
            return [event async for event in events]
    finally:
        await channel.close()


async def broken(channel):
    """Return what came of an answer, and how it failed."""
    seen = []
    try:
        async with aclosing(channel.post("/chat", {}, {})) as events:
            async for event in events:
                seen.append(event.data)  # noqa: PERF401 - what came before the failure counts
    except Failed as failed:
        return seen, failed
    finally:
        await channel.close()
    raise AssertionError(seen)


def answer(response, **changes):
    transport = httpx.MockTransport(response if callable(response) else lambda _: response)
    return asyncio.run(ask(Channel(endpoint(**changes), transport)))


def failure(response, **changes):
    with pytest.raises(Failed) as caught:
        answer(response, **changes)
    error = caught.value
    assert error.__context__ is None
    assert KEY not in repr(error) + str(error) + repr(error.failure) + "".join(
        traceback.format_exception(error)
    )
    return error.failure


def raising(error):
    def handler(request):
        raise error

    return handler


class Chunks(httpx.AsyncByteStream):
    def __init__(self, *chunks):
        self.chunks, self.closed = chunks, False

    async def __aiter__(self):
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    async def aclose(self):
        self.closed = True


# -- what is sent


def test_importing_the_module_imports_neither_httpx_nor_asyncio():
    code = "import sys, yaoci.transport; print([n for n in ('httpx', 'asyncio', 'ssl') if n in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_a_request_goes_to_the_path_below_the_base_url_with_key_and_body():
    seen = []

    def handler(request):
        seen.append(request)
        return httpx.Response(200, json={})

    changes = {"base_url": "http://p.test/v1/?version=2", "headers": {"X-Team": "a", "User-Agent": "me"}}
    asyncio.run(ask(Channel(endpoint(**changes), httpx.MockTransport(handler)), {"a": "你好"}))
    (request,) = seen
    assert (request.method, str(request.url)) == ("POST", "http://p.test/v1/chat?version=2")
    assert json.loads(request.content) == {"a": "你好"}
    wanted = {
        "authorization": f"Bearer {KEY}",
        "x-team": "a",
        "user-agent": "me",
        "content-type": "application/json",
    }
    assert wanted.items() <= dict(request.headers).items()


def test_text_that_utf8_cannot_hold_is_sent_replaced():
    sent = []
    transport = httpx.MockTransport(
        lambda request: (sent.append(request.content), httpx.Response(200, json={}))[1]
    )
    asyncio.run(ask(Channel(endpoint(), transport), {"a": "\ud83d"}))
    assert json.loads(sent[0]) == {"a": "\ufffd"}


@pytest.mark.parametrize("url", ["", "p.test/v1", "ftp://p.test", "http://[bad", "http://p.test:port/v1"])
def test_a_base_url_that_is_no_web_address_is_a_bad_request(url):
    found = failure(httpx.Response(200, json={}), base_url=url)
    assert found.kind == "bad_request"
    assert "base_url" in found.text


def test_a_key_with_a_line_break_is_named_by_its_variable_and_not_shown():
    async def run():
        channel = Channel(endpoint(), httpx.MockTransport(lambda _: httpx.Response(200, json={})))
        async with aclosing(channel.post("/chat", {}, {"authorization": f"Bearer {KEY}\nx"})) as events:
            await anext(events)

    with pytest.raises(Failed, match="P_API_KEY has a character that a header cannot carry") as caught:
        asyncio.run(run())
    assert caught.value.failure.kind == "auth"
    assert KEY not in repr(caught.value)


@pytest.mark.parametrize(
    ("character", "said"),
    [
        ("…", "`…`; is it a placeholder for the real one?"),
        ("\n", "a line break"),
        ("\x00", "U+0000; is it a "),
    ],
)
def test_the_character_that_a_key_cannot_have_is_named(character, said):
    async def run():
        channel = Channel(endpoint(), httpx.MockTransport(lambda _: httpx.Response(200, json={})))
        async with aclosing(channel.post("/chat", {}, {"authorization": f"Bearer sk{character}"})) as events:
            await anext(events)

    with pytest.raises(Failed) as caught:
        asyncio.run(run())
    assert f"P_API_KEY has a character that a header cannot carry: {said}" in caught.value.failure.text


def test_a_refusal_without_a_key_names_the_variable_that_is_not_set():
    found = failure(httpx.Response(401, json={"error": "who are you?"}), key="")
    assert found.text == "p answered 401: who are you? (`P_API_KEY` is not set, so no key was sent)"


def test_a_header_that_cannot_be_sent_is_named_and_not_shown():
    found = failure(httpx.Response(200, json={}), headers={"x-key": "geheim-é-12345"})
    assert (found.kind, "`x-key`" in found.text, "geheim" in found.text) == ("bad_request", True, False)


def test_a_proxy_that_is_no_address_is_said(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "nonsense://user:password@proxy")
    with pytest.raises(Failed, match="a proxy of the environment") as caught:
        asyncio.run(ask(Channel(endpoint())))
    assert "password" not in str(caught.value)


# -- what is answered


def test_events_are_passed_on_as_they_come_and_before_more_is_read():
    class OneByOne(httpx.AsyncByteStream):
        read = 0

        async def __aiter__(self):
            for n in range(3):
                OneByOne.read = n + 1
                yield f"data: {n}\n\n".encode()

    async def run():
        channel = Channel(endpoint(), httpx.MockTransport(lambda _: httpx.Response(200, stream=OneByOne())))
        async with aclosing(channel.post("/chat", {}, {})) as events:
            return [(event.data, OneByOne.read) async for event in events]

    assert asyncio.run(run()) == [("0", 1), ("1", 2), ("2", 3)]


@pytest.mark.parametrize("label", ["text/event-stream", "application/octet-stream", "application/json", ""])
def test_a_stream_is_read_as_one_whatever_its_label(label):
    stream = Chunks(*(bytes([b]) for b in b"\n: hi\n\ndata: a\n\n"))
    headers = {"content-type": label} if label else {}
    assert answer(httpx.Response(200, headers=headers, stream=stream)) == [Event("a")]
    assert stream.closed


@pytest.mark.parametrize("label", ["text/event-stream", "application/json", ""])
def test_a_plain_answer_is_one_event_with_the_whole_body(label):
    stream = Chunks(b"\xef\xbb", b"\xbf", b" \n", b'{"a":', b' "\xe4\xbd', b'\xa0"}\n')
    headers = {"content-type": label} if label else {}
    assert answer(httpx.Response(200, headers=headers, stream=stream)) == [Event('{"a": "你"}', "", "body")]


@pytest.mark.parametrize("text", ["", " \n", "x", "method=POST path=/", "<html>Welcome</html>"])
def test_an_answer_that_is_neither_says_where_it_came_from(text):
    found = failure(httpx.Response(200, text=text))
    assert found.kind == "bad_response"
    assert "http://p.test/v1" in found.text
    assert text.strip() in found.text


def test_a_plain_answer_that_never_ends_is_refused():
    found = failure(httpx.Response(200, stream=Chunks(b"[", *[b" " * 2**20] * (MAX_EVENT // 2**20 + 1))))
    assert (found.kind, "16,777,216 bytes" in found.text) == ("bad_response", True)


def test_nothing_is_read_after_the_last_event():
    stream = Chunks(b"data: a\n\ndata: END\n\ndata: b\n\n", b"data: c\n\n")
    channel = Channel(endpoint(), httpx.MockTransport(lambda _: httpx.Response(200, stream=stream)))
    assert [event.data for event in asyncio.run(ask(channel, last="END"))] == ["a", "END"]


def test_leaving_early_closes_the_answer():
    stream = Chunks(b"data: a\n\n", b"data: b\n\n")

    async def run():
        channel = Channel(endpoint(), httpx.MockTransport(lambda _: httpx.Response(200, stream=stream)))
        async with aclosing(channel.post("/chat", {}, {})) as events:
            await anext(events)

    asyncio.run(run())
    assert stream.closed


# -- faults


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"message": "no", "type": "invalid_request_error", "code": None}, "bad_request"),
        (422, {"message": "no"}, "bad_request"),
        (400, {"code": "context_length_exceeded", "message": "too long"}, "context_length"),
        (400, {"code": 400, "type": "exceed_context_size_error", "message": "too long"}, "context_length"),
        (
            400,
            {"message": "This model's maximum context length is 4096 tokens", "code": 400},
            "context_length",
        ),
        (400, {"code": "content_filter", "message": "no"}, "content_filter"),
        (400, {"code": "tool_use_failed", "message": "no"}, "tool_call_rejected"),
        (400, {"status": "INVALID_ARGUMENT", "message": "API key not valid."}, "auth"),
        (400, {"type": "invalid_request_error", "message": "Your credit balance is too low"}, "quota"),
        (401, {"message": "no", "type": "invalid_request_error"}, "auth"),
        (402, {"message": "no"}, "quota"),
        (403, {"message": "no"}, "permission"),
        (404, {"message": "no", "code": "model_not_found"}, "not_found"),
        (408, {"message": "no"}, "timeout"),
        (413, {"message": "too many tokens a minute", "code": "rate_limit_exceeded"}, "rate_limit"),
        (429, {"message": "context length per minute", "type": "requests"}, "rate_limit"),
        (429, {"message": "no", "type": "insufficient_quota", "code": "insufficient_quota"}, "quota"),
        (500, {"message": "no"}, "server"),
        (502, {"message": "no"}, "server"),
        (503, {"message": "no"}, "overloaded"),
        (529, {"message": "no", "type": "overloaded_error"}, "overloaded"),
        (500, {"message": "no", "type": "overloaded_error"}, "overloaded"),
    ],
)
def test_a_fault_has_a_kind_by_code_status_and_text(status, error, kind):
    found = failure(httpx.Response(status, json={"error": error}))
    assert found.kind == kind
    assert error["message"] in found.text
    assert found.data["status"] == status


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("server_error", "server"), ("", "server"), ("authentication_error", "auth"), ("not_found_error", "not_found"),
        ("permission_error", "permission"), ("invalid_request_error", "bad_request"), ("timeout_error", "timeout"),
        ("overloaded_error", "overloaded"), ("UNAVAILABLE", "overloaded"), ("rate_limit_error", "rate_limit"),
    ],
)  # fmt: skip
def test_a_fault_without_a_status_has_a_kind_by_its_type(code, kind):
    assert kind_of(0, code, "something") == kind


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ({"error": {"message": "no", "code": 429}}, "rate_limit", "p answered 429: no"),
        ({"error": {"message": "no", "status_code": 503}}, "overloaded", "p answered 503: no"),
        ({"error": "just text"}, "server", "p: just text"),
        ({"message": "no", "type": "invalid_request_error"}, "bad_request", "p: no"),
        ([{"error": {"message": "no", "status": "RESOURCE_EXHAUSTED"}}], "rate_limit", "p: no"),
        ({"detail": [{"loc": ["body"]}]}, "server", 'p: [{"loc": ["body"]}]'),
        ({"error": {"odd": float("nan")}}, "server", 'p: {"odd": NaN}'),
        ("text", "server", "p: text"),
    ],
)
def test_error_objects_of_all_shapes_are_read(value, kind, text):
    found = Channel(endpoint()).fault(value).failure
    assert (found.kind, found.text) == (kind, text)


def test_a_refusal_that_is_not_json_is_shown():
    found = failure(httpx.Response(502, text="<h1>Bad Gateway</h1>"))
    assert (found.kind, found.text) == ("server", "p answered 502: <h1>Bad Gateway</h1>")


def test_a_refusal_without_a_body_is_named_by_its_status():
    assert failure(httpx.Response(503)).text == "p answered 503: Service Unavailable"


def test_a_refusal_whose_body_breaks_off_keeps_its_kind():
    stream = Chunks(b'{"error"', httpx.ReadError("gone"))
    assert failure(httpx.Response(429, stream=stream)).kind == "rate_limit"


def test_a_redirect_is_not_followed():
    found = failure(httpx.Response(302, headers={"location": "http://other.test/?token=x"}))
    assert (found.kind, found.text) == (
        "bad_response", "p: http://p.test/v1 points to 'http://other.test/'; is base_url right?",
    )  # fmt: skip


def test_the_key_is_masked_where_the_provider_repeats_it():
    found = failure(httpx.Response(401, json={"error": {"message": f"bad key {KEY}!", "code": f"x {KEY}"}}))
    assert found.text == "p answered 401: bad key ***! (the key comes from P_API_KEY)"
    assert found.data == {"status": 401, "code": "x ***"}


def test_secrets_in_headers_and_addresses_are_masked():
    changes = {
        "base_url": "http://user:password1@p.test/v1?sig=abcdef",
        "headers": {"api-key": "geheim-12345"},
    }
    found = failure(httpx.Response(404, text="no geheim-12345"), **changes)
    assert found.text == "p answered 404: no *** (asked http://p.test/v1 for `m`)"


def test_the_key_is_in_no_log(caplog):
    caplog.set_level(logging.DEBUG)
    answer(httpx.Response(200, json={}))
    assert "HTTP Request: POST http://p.test/v1/chat" in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (httpx.ConnectError(f"refused {KEY}"), "connection", "cannot connect to http://p.test/v1"),
        (httpx.ConnectTimeout(""), "timeout", "no connection to http://p.test/v1 within 10 s"),
        (httpx.ProxyError(KEY), "connection", "cannot ask http://p.test/v1: ProxyError"),
        (
            httpx.LocalProtocolError(f"Illegal header value b'Bearer {KEY}'"),
            "connection",
            "LocalProtocolError",
        ),
    ],
)
def test_what_httpx_raises_becomes_a_failure(error, kind, text):
    found = failure(raising(error))
    assert found.kind == kind
    assert text in found.text


@pytest.mark.parametrize("error", [httpx.ReadError(KEY), httpx.RemoteProtocolError(KEY)])
def test_a_stream_that_breaks_off_is_cut_after_its_events(error):
    stream = Chunks(b"data: a\n\n", error)
    channel = Channel(
        endpoint(), httpx.MockTransport(lambda _: httpx.Response(200, headers=SSE, stream=stream))
    )
    seen, failed = asyncio.run(broken(channel))
    assert (seen, failed.failure.kind, stream.closed) == (["a"], "stream_cut", True)
    assert failed.__context__ is None
    assert KEY not in str(failed)


def test_a_body_that_cannot_be_decompressed_is_a_bad_response():
    response = lambda _: httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Chunks(b"no gzip"))  # noqa: E731
    assert failure(response).kind == "bad_response"


def test_every_kind_of_lost_connection_may_be_tried_again():
    kinds = {failure(raising(error)).kind for error in (httpx.ConnectError(""), httpx.ConnectTimeout(""))}
    assert kinds <= RETRYABLE


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "350", "retry-after": "1"}, 0.35),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "later"}, None),
    ],
)
def test_a_wait_is_read_in_milliseconds_seconds_or_as_a_date(headers, seconds):
    assert retry_after(headers) == seconds


def test_a_date_to_wait_for_lies_that_far_ahead():
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    found = failure(httpx.Response(429, headers={"retry-after": date}, json={"error": {"message": "no"}}))
    assert found.retry_after == pytest.approx(3600, abs=60)


# -- connections


class Server:
    """A loopback server that plays a list of answers, one to each connection or request."""

    def __init__(self, *answers):
        self.answers, self.requests, self.connections = list(answers), 0, 0

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.tasks = set()
        return self

    async def __aexit__(self, *_):
        self.server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await asyncio.sleep(0)  # the loop closes the sockets

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        self.connections += 1
        try:
            while self.answers:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(h.split(b":")[1])
                    for h in head.split(b"\r\n")
                    if h.lower().startswith(b"content-length")
                )
                await reader.readexactly(length)
                self.requests += 1
                answer = self.answers.pop(0)
                if answer == "close":
                    return
                if answer == "wait":
                    await asyncio.sleep(60)
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                )
                for piece in answer:
                    if piece == "wait":
                        await asyncio.sleep(60)
                    writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    await writer.drain()
                writer.write(b"0\r\n\r\n")
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


async def data_of(channel, last=None):
    async with aclosing(channel.post("/chat", {}, {}, last=last)) as events:
        return [event.data async for event in events]


def test_a_connection_closed_before_the_first_byte_is_tried_once_more():
    async def run():
        async with Server([b"data: a\n\n"], "close", [b"data: b\n\n"]) as server:
            channel = Channel(endpoint(base_url=server.url))
            found = [await data_of(channel), await data_of(channel)]
            await channel.close()
            return found, server.requests

    assert asyncio.run(run()) == ([["a"], ["b"]], 3)


def test_it_is_tried_once_and_not_for_ever():
    async def run():
        async with Server("close", "close", [b"data: a\n\n"]) as server:
            channel = Channel(endpoint(base_url=server.url))
            with pytest.raises(Failed) as caught:
                await data_of(channel)
            await channel.close()
            return caught.value, server.requests

    error, requests = asyncio.run(run())
    assert (error.failure.kind, requests, error.__context__) == ("connection", 2, None)


def test_a_connection_is_used_again_after_the_last_event():
    async def run():
        async with Server(*[[b"data: a\n\n", b"data: END\n\n"]] * 3) as server:
            channel = Channel(endpoint(base_url=server.url))
            for _ in range(3):
                assert await data_of(channel, "END") == ["a", "END"]
            await channel.close()
            return server.connections

    assert asyncio.run(run()) == 1


def test_an_answer_that_is_held_open_after_its_last_event_does_not_keep_its_reader():
    async def run():
        async with Server([b"data: END\n\n", "wait"]) as server:
            channel = Channel(endpoint(base_url=server.url, timeout=30))
            found = await data_of(channel, "END")
            await channel.close()
            return found

    assert asyncio.run(run()) == ["END"]


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"idle_timeout": 0.05}, "was silent for 0.05 s"),
        ({"timeout": 0.05}, "no whole answer from"),
    ],
)
def test_a_stream_that_stalls_times_out(limits, text):
    async def run():
        async with Server([b"data: a\n\n", "wait"]) as server:
            return await broken(Channel(endpoint(base_url=server.url, **limits)))

    seen, error = asyncio.run(run())
    assert (seen, error.failure.kind, error.__context__) == (["a"], "timeout", None)
    assert text in error.failure.text


def test_the_time_a_reader_takes_is_no_silence():
    async def run():
        async with Server([b"data: a\n\n", b"data: b\n\n"]) as server:
            channel = Channel(endpoint(base_url=server.url, idle_timeout=0.5))
            seen = []
            async with aclosing(channel.post("/chat", {}, {})) as events:
                async for event in events:
                    seen.append(event.data)
                    await asyncio.sleep(0.6)
            await channel.close()
            return seen

    assert asyncio.run(run()) == ["a", "b"]


def test_an_answer_that_never_begins_times_out():
    async def run():
        async with Server("wait") as server:
            return await broken(Channel(endpoint(base_url=server.url, timeout=0.05)))

    seen, error = asyncio.run(run())
    assert (seen, error.failure.kind) == ([], "timeout")


def test_a_stream_that_never_stops_ends_with_the_time_of_the_request():
    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self):
            while True:
                yield b": still here\n\n"

    assert failure(httpx.Response(200, headers=SSE, stream=Endless()), timeout=0.05).kind == "timeout"


def test_nobody_listening_is_a_lost_connection():
    async def run():
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        return await ask(Channel(endpoint(base_url=f"http://127.0.0.1:{port}")))

    with pytest.raises(Failed, match="is it running") as caught:
        asyncio.run(run())
    assert caught.value.failure.kind == "connection"


def test_a_channel_serves_one_loop_after_another():
    channel = Channel(endpoint(), httpx.MockTransport(lambda _: httpx.Response(200, json={})))
    clients = []
    for _ in range(2):
        assert asyncio.run(data_of(channel)) == ["{}"]
        clients.append(channel._client)
    assert clients[0] is not clients[1]  # connections belong to the loop they were opened in
    asyncio.run(channel.close())
    assert asyncio.run(data_of(channel)) == ["{}"]


def test_a_secret_is_masked_before_a_text_is_cut():
    key = "sk-SECRETKEY-0123456789abcd"
    url = "http://user:PASS-word-1@p.test/v1?api_key=QUERY-secret-2"
    endpoint = Endpoint(
        provider="p", model="m", api="openai-chat", base_url=url, key=key, key_name="P_API_KEY"
    )
    channel = Channel(endpoint)
    for secret in (key, "PASS-word-1", "QUERY-secret-2", "dXNlcjpQQVNTLXdvcmQtMQ=="):
        for before in (1990, 1985, 490, 190):
            fault = channel.fault({"error": {"message": "x" * before + secret}}, 400)
            assert not any(secret[:n] in fault.failure.text for n in range(6, len(secret)))
            assert secret[:6] not in channel.excerpt("x" * 196 + secret, 200)
