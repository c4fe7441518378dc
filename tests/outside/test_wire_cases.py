"""Recorded and reported answers of providers, read through the model: where the folder of cases is there."""

import asyncio
import json
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from yaoci.contracts import Endpoint, Function, ModelRequest, Usage
from yaoci.errors import RETRYABLE, Failed
from yaoci.messages import FunctionCall, Message
from yaoci.models.openai_chat import OpenAIChat

CASES = Path(__file__).resolve().parents[2] / ".." / "shared" / "cases"
KINDS = {"stream_truncated": "stream_cut"}
KEY = "sk-test-0123456789"


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def found():
    if not CASES.is_dir():
        return [pytest.param(None, marks=pytest.mark.skip(reason="the folder of cases is not there"))]
    folders = sorted([*CASES.glob("wire/*"), *CASES.glob("wire_reported/*")])
    return [pytest.param(f, id=f.name) for f in folders if load(f / "meta.json")["api"] == "openai-chat"]


needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="the folder of cases is not there")


class Pieces(httpx.AsyncByteStream):
    def __init__(self, body, size):
        self.body, self.size = body, size or max(len(body), 1)

    async def __aiter__(self):
        for start in range(0, len(self.body), self.size):
            yield self.body[start : start + self.size]


def model_for(folder, size=None):
    meta = load(folder / "meta.json")
    body = (folder / meta["body_file"]).read_bytes()
    dropped = {"transfer-encoding", "content-length", "content-encoding"}
    headers = {name: value for name, value in meta["headers"].items() if name.lower() not in dropped}
    answer = lambda _: httpx.Response(meta["status"], headers=headers, stream=Pieces(body, size))  # noqa: E731
    endpoint = Endpoint(
        provider="p", model="m", api="openai-chat", base_url="http://p.test/v1", key=KEY, key_name="P_API_KEY"
    )
    return OpenAIChat(endpoint, httpx.MockTransport(answer))


def refuse(word):
    raise ValueError(word)


def arguments(text):
    """Parse strictly, as whoever runs the call does: one object, or nothing."""
    try:
        value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


async def collect(model, request):
    """Put the deltas of one answer together."""
    out = {
        "text": "",
        "reasoning": "",
        "calls": {},
        "finish": None,
        "usage": None,
        "error": None,
        "model": "",
    }
    try:
        async with aclosing(model.stream(request)) as deltas:
            async for delta in deltas:
                out["text"] += delta.text
                out["reasoning"] += delta.reasoning
                out["finish"] = delta.finish or out["finish"]
                out["usage"] = delta.usage or out["usage"]
                out["model"] = delta.model or out["model"]
                if piece := delta.call:
                    call = out["calls"].setdefault(piece.index, {"id": "", "name": "", "raw": ""})
                    call["id"] += piece.id
                    call["name"] += piece.name
                    call["raw"] += piece.arguments
    except Failed as failed:
        out["error"], out["finish"] = failed.failure, "error"
    finally:
        await model.close()
    out["calls"] = [out["calls"][n] for n in range(len(out["calls"]))]
    return out


ASKED = ModelRequest(model="m", messages=(Message(role="user", text="hi"),))


def judge(got, expected):
    assert got["text"] == expected["text"]
    assert got["reasoning"] == (expected["reasoning"] or "")
    judge_end(got, expected)
    calls = expected["tool_calls"]
    assert [call["name"] for call in got["calls"]] == [call["name"] for call in calls]
    for call, wanted in zip(got["calls"], calls, strict=True):
        assert call["id"] == wanted["id"] if wanted["id"] else call["id"]
        assert (arguments(call["raw"]) is not None) == wanted["arguments_valid"]
        if wanted["arguments_valid"]:
            assert arguments(call["raw"]) == wanted["arguments"]
        if wanted["arguments_raw"] is not None:
            assert call["raw"] == wanted["arguments_raw"]
        call["raw"].encode()
    if wanted := expected.get("usage"):
        assert got["usage"] == Usage(
            input=wanted["input_incl_cache"], output=wanted["output"], cached=wanted["cached_input"],
            reasoning=wanted["reasoning"],
        )  # fmt: skip
    if expected.get("model") and got["error"] is None:
        assert got["model"] == expected["model"]


def judge_end(got, expected):
    finish_ok = expected.get("finish_reason_ok") or [expected["finish_reason"]]
    assert got["finish"] in {word or "stop" for word in finish_ok}
    wanted, error = expected.get("error"), got["error"]
    if wanted is None or (expected.get("error_optional") and error is None):
        assert error is None
        return
    kinds = {KINDS.get(kind, kind) for kind in (wanted["kind"], *wanted.get("kind_ok", ()))}
    assert error.kind in kinds
    assert (error.kind in RETRYABLE) == wanted["retryable"]
    if error.kind not in {"bad_response", "stream_cut"}:
        assert wanted["message"] in error.text
    assert KEY not in error.text


@pytest.mark.parametrize("size", [None, 1, 7, 1000])
@pytest.mark.parametrize("folder", found())
def test_a_recorded_answer_is_read_as_expected_however_it_is_cut(folder, size):
    judge(asyncio.run(collect(model_for(folder, size), ASKED)), load(folder / "expected.json"))


@needs_cases
def test_the_wait_a_provider_asks_for_is_passed_on():
    waits = {}
    for name in ("err-429-retry-after-ms", "err-429-retry-after-huge"):
        got = asyncio.run(collect(model_for(CASES / "wire_reported" / name), ASKED))
        waits[name] = got["error"].retry_after
    assert waits == {"err-429-retry-after-ms": 0.35, "err-429-retry-after-huge": 86400.0}


@pytest.fixture
def serve(monkeypatch, tmp_path):
    """Start the replay server for cases; return its model, and a way to the requests it saw."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    started = []

    def start(*arguments, **settings):
        log = tmp_path / "log"
        command = [
            sys.executable,
            str(CASES / "replay_server.py"),
            "--log",
            str(log),
            "--life",
            "60",
            *arguments,
        ]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(server)
        port = server.stdout.readline().split()[1]
        endpoint = Endpoint(
            provider="p",
            model="m",
            api="openai-chat",
            base_url=f"http://127.0.0.1:{port}/v1",
            key=KEY,
            **settings,
        )
        return OpenAIChat(endpoint), lambda: [json.loads(line) for line in log.read_text().splitlines()]

    yield start
    for server in started:
        server.kill()
        server.wait()
        server.stdout.close()


@needs_cases
@pytest.mark.parametrize(
    "name",
    ["wire/deepseek-chat-stream-reasoning", "wire/oai-chat-stream-tool2", "wire_reported/err-429-retry-after-ms",
     "wire/oai-chat-basic", "wire_reported/sse-cr-only"],
)  # fmt: skip
def test_a_served_answer_is_read_as_expected(serve, name):
    model, requests = serve(str(CASES / name), "--chunk", "100")
    judge(asyncio.run(collect(model, ASKED)), load(CASES / name / "expected.json"))
    assert [r["path"] for r in requests() if "path" in r] == ["/v1/chat/completions"]
    assert requests()[0]["headers"]["authorization"] == f"Bearer {KEY}"


@needs_cases
def test_a_connection_cut_within_a_stream_is_a_cut_stream(serve):
    model, _ = serve(str(CASES / "wire/deepseek-chat-stream-reasoning"), "--cut-after", "20000")
    got = asyncio.run(collect(model, ASKED))
    assert got["error"].kind == "stream_cut"
    assert got["reasoning"].startswith("Hmm, the user just said")


@needs_cases
def test_a_stalled_stream_is_a_timeout(serve):
    model, _ = serve(
        str(CASES / "wire/deepseek-chat-stream-reasoning"), "--stall-after", "20000", idle_timeout=0.3
    )
    got = asyncio.run(collect(model, ASKED))
    assert got["error"].kind == "timeout"
    assert "silent for 0.3 s" in got["error"].text
    assert got["reasoning"].startswith("Hmm, the user just said")


@needs_cases
def test_a_loop_of_two_requests_carries_the_call_and_its_result_back(serve):
    flow = CASES / "flows" / "openai-stream-tool"
    model, requests = serve(str(flow))
    recorded = [load(flow / f"turn{n}.request.json") for n in (1, 2)]
    functions = tuple(
        Function(id=t["function"]["name"], description=t["function"]["description"], parameters=t["function"]["parameters"])
        for t in recorded[0]["tools"]
    )  # fmt: skip
    first = tuple(Message(role=m["role"], text=m["content"]) for m in recorded[0]["messages"])
    result = recorded[1]["messages"][-1]["content"]

    async def loop():
        one = await collect(model, ModelRequest(model="gpt-4o", messages=first, functions=functions))
        call = FunctionCall(
            id=one["calls"][0]["id"], name=one["calls"][0]["name"], arguments=one["calls"][0]["raw"]
        )
        more = (
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", tool_call_id=call.id, text=result),
        )
        return one, await collect(
            model, ModelRequest(model="gpt-4o", messages=(*first, *more), functions=functions)
        )

    one, two = asyncio.run(loop())
    judge(one, load(flow / "turn1.expected.json"))
    judge(two, load(flow / "turn2.expected.json"))
    sent = [r["body"] for r in requests() if "body" in r]
    assert [sent[0]["messages"], sent[0]["tools"]] == [recorded[0]["messages"], recorded[0]["tools"]]
    assert sent[1]["messages"][-1] == recorded[1]["messages"][-1]
    carried = sent[1]["messages"][-2]
    assert carried["tool_calls"] == recorded[1]["messages"][-2]["tool_calls"]
