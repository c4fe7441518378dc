"""`yaoci run` against a server that replays recorded answers of providers: where the folder of cases is there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from yaoci.cli import main

CASES = Path(__file__).resolve().parents[2] / ".." / "shared" / "cases"
KINDS = {"stream_truncated": "stream_cut"}


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def found():
    if not CASES.is_dir():
        return [pytest.param(None, marks=pytest.mark.skip(reason="the folder of cases is not there"))]
    return [
        pytest.param(folder, id=folder.name)
        for folder in sorted(CASES.glob("wire/*"))
        if load(folder / "meta.json")["api"] == "openai-chat"
    ]


@pytest.fixture
def project(tmp_path):
    """A project whose one assistant asks a provider once."""
    (tmp_path / "assistants").mkdir()
    text = "description: Says what the provider says.\nmodel: openai/m\nlimits: {rounds: 1}\n"
    (tmp_path / "assistants" / "echo.yaml").write_text(text, "utf-8")
    return tmp_path


@pytest.fixture
def replayed():
    """A function that serves a case on loopback and returns its port; the server ends with the test."""
    servers = []

    def serve(folder, *options):
        command = [sys.executable, str(CASES / "replay_server.py"), str(folder), "--life", "60", *options]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        servers.append(server)
        return int(server.stdout.readline().split()[1])

    yield serve
    for server in servers:
        server.kill()
        server.stdout.close()
        server.wait()


def events_of(project, port, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    code = main(["-C", str(project), "run", "echo", "hi", "-o", "jsonl"])
    out = capsys.readouterr().out
    return code, [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("folder", found())
def test_a_recorded_answer_comes_out_of_a_run_as_expected(folder, project, replayed, capsys, monkeypatch):
    expected = load(folder / "expected.json")
    code, events = events_of(project, replayed(folder), capsys, monkeypatch)
    deltas = [e["message"]["text"] for e in events if e["kind"] == "message" and e["message"].get("delta")]
    ended = next(e["data"] for e in events if e["kind"] == "model_ended")
    assert "".join(deltas) == expected["text"]
    wanted = expected.get("error")
    if wanted and not (expected.get("error_optional") and "error" not in ended):
        kinds = {KINDS.get(kind, kind) for kind in (wanted["kind"], *wanted.get("kind_ok", ()))}
        assert ended["error"]["kind"] in kinds
        assert events[-1]["data"]["error"]["kind"] == ended["error"]["kind"]
        assert code == 3
        return
    finishes = {word or "stop" for word in expected.get("finish_reason_ok") or [expected["finish_reason"]]}
    assert ended["finish"] in finishes
    calls = ended.get("calls", [])
    assert [call["name"] for call in calls] == [call["name"] for call in expected["tool_calls"]]
    for call, told in zip(calls, expected["tool_calls"], strict=True):
        assert call["id"] == told["id"] if told["id"] else call["id"]
        if told["arguments_valid"]:
            assert json.loads(call["arguments"] or "{}") == told["arguments"]
    if usage := expected.get("usage"):
        assert ended["usage"]["input"] == usage["input_incl_cache"]
        assert ended["usage"]["output"] == usage["output"]
        assert ended["usage"].get("cached", 0) == usage["cached_input"]
    assert code == (3 if calls or ended["finish"] == "content_filter" else 0)


def test_a_text_in_single_bytes_streams_whole(project, replayed, capsys, monkeypatch):
    if not CASES.is_dir():
        pytest.skip("the folder of cases is not there")
    folder = CASES / "wire" / "huggingface-chat-stream"
    _, events = events_of(project, replayed(folder, "--chunk", "1"), capsys, monkeypatch)
    assert events[-1]["data"]["output"] == load(folder / "expected.json")["text"]
