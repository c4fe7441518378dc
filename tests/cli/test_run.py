import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import yaoci
from yaoci.cli import main

FILES = {
    "yaoci.yaml": """\
providers: {test: {api: scripted}}
models: {any: {use: test/any, file: script.yaml}}
default_model: any
""",
    "script.yaml": "script: [{call: {goods_weigh: {id: G1}}}, It weighs 5 kg.]\n",
    "assistants/clerk.yaml": """\
description: Answers customers about goods, politely and briefly.
tools: [goods.weigh]
methods: {sign: {value: {then: replace, message: "{{ message.text }} Yours."}}}
""",
    "assistants/sorry.yaml": """\
description: Answers nothing at all, for its model is not there.
model: test/none
hooks: {fail: sorry}
methods: {sorry: {value: {then: answer, message: Sorry.}}}
""",
    "processes/goods.yaml": """\
methods:
  weigh:
    description: Tells how much a good weighs. Use it for questions about weight.
    parameters: {type: object, properties: {id: {type: string}}, required: [id]}
    effect: read
    python: weigh
  label:
    parameters:
      type: object
      properties:
        tags: {type: array, items: {type: string}}
        sizes: {type: array, items: {type: integer}}
        box: {type: object}
    value: "{{ args }}"
  lose: {python: lose}
""",
    "processes/goods.py": """\
import threading

from yaoci import Failed

print("imported")


def weigh(id: str):
    other = threading.Thread(target=print, args=["from a thread"])
    other.start()
    other.join()
    print("weighing", id)
    return 5


def lose():
    raise Failed.of("missing", "the good is lost")
""",
}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A project whose model says what a script says, in whose folder the test stands."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(command, cwd, **environ):
    """Run a line of a shell, in which `yaoci` is the command line."""
    path = str(Path(yaoci.__file__).parents[1])
    line = f'yaoci() {{ "{sys.executable}" -m yaoci "$@"; }}; {command}'
    env = {**os.environ, "PYTHONPATH": path, **environ}
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=env, cwd=cwd, check=False)


# -- output -------------------------------------------------------------------------------------------------


def test_what_the_project_prints_goes_to_stderr_and_the_answer_alone_to_stdout(shop, capsys):
    assert main(["run", "clerk", "G1?"]) == 0
    assert capsys.readouterr() == ("It weighs 5 kg.\n", "imported\nfrom a thread\nweighing G1\n")
    assert main(["call", "goods.weigh", "--arg", "id=G1"]) == 0
    assert capsys.readouterr().out == "5\n"
    print("restored")
    assert capsys.readouterr().out == "restored\n"


def test_a_failure_is_json_on_stdout_too_where_json_is_asked_for(shop, capsys):
    assert main(["call", "goods.lose", "-o", "json"]) == 3
    out, err = capsys.readouterr()
    place = "processes/goods.yaml:15"
    error = {"kind": "missing", "message": "the good is lost", "place": place}
    assert json.loads(out) == {"v": 1, "state": "failed", "error": error}
    assert err.endswith(f"error[missing]: the good is lost\n --> {place}\n")


def test_json_says_why_a_turn_failed_that_fail_answered(shop, capsys):
    assert main(["run", "sorry", "Hi", "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["state"], told["output"]) == ("done", "Sorry.")
    assert set(told["error"]) >= {"kind", "message", "place"}
    assert main(["run", "clerk", "Hi", "-o", "json"]) == 0
    assert "error" not in json.loads(capsys.readouterr().out)


def test_with_v_a_result_names_its_tool(shop, capsys):
    assert main(["-v", "run", "clerk", "G1?"]) == 0
    assert "\n← goods_weigh 5\n" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["--help", "check", "call goods.label", "call goods.lose -o json"])
def test_a_stdout_that_is_full_is_told_and_is_no_bug(shop, command, unbuffered):
    done = shell(f"yaoci {command} >/dev/full", shop, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 3
    assert done.stderr.removeprefix("imported\n") == (
        "error: cannot write to stdout: No space left on device\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="of POSIX shells")
@pytest.mark.parametrize("command", ["--help", "check", "call goods.label", "run clerk Hi -o jsonl"])
def test_a_stdout_that_is_closed_is_told_and_is_no_bug(shop, command):
    done = shell(f"yaoci {command} >&-", shop)
    assert done.returncode == 3
    assert done.stderr.endswith("error: cannot write to stdout: it is closed\n")


@pytest.mark.skipif(os.name == "nt", reason="of POSIX shells")
def test_a_closed_stderr_is_missed_by_nobody_and_a_closed_stdin_is_empty(shop):
    assert shell("yaoci call goods.weigh --arg id=G1 2>&-", shop).stdout == "5\n"
    done = shell("yaoci run clerk <&-", shop)
    assert (done.returncode, done.stderr) == (2, 'error: say something: yaoci run clerk "…"\n')


# -- what is asked ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["run", "clerk", "hi", "there"], 'put the text in quotes: yaoci run clerk "hi there"'),
        (["run", "clerk", " "], 'say something: yaoci run clerk "…"'),
        (
            ["run", "clerk", "hi", "--callback", "sgn"],
            "`--callback sgn`: no method or process is called so: did you mean `sign`?",
        ),
        (
            ["run", "clerk", "hi", "--callback", "goods.wigh"],
            "`--callback goods.wigh`: no method or process is called so: did you mean `goods.weigh`?",
        ),
        (["run", "process/goods.weigh"], "`goods.weigh` is a process: write `yaoci call goods.weigh --arg name=value`"),
        (["call", "goods.weigh", "id=G1"], "arguments go by name: write `--arg id=G1`"),
        (["call", "goods.weigh", "id=a b"], 'arguments go by name: write `--arg "id=a b"`'),
        (["call", "goods.weigh", "G1"], "arguments go by name: write `--arg id=G1`"),
        (["call", "goods.label", "red"], "arguments go by name: write `--arg <name>=red`"),
        (
            ["call", "goods.label", "--arg", "tags=a, b"],
            "`--arg tags=a, b`: `tags` is a list, written as JSON: `--arg 'tags=[\"a\", \"b\"]'`",
        ),
        (
            ["call", "goods.label", "--arg", "sizes=1,2"],
            "`--arg sizes=1,2`: `sizes` is a list, written as JSON: `--arg 'sizes=[1, 2]'`",
        ),
        (
            ["call", "goods.label", "--arg", "box=red"],
            "`--arg box=red`: `box` is an object, written as JSON, such as `--arg 'box={\"key\": \"value\"}'`",
        ),
        (["call", "assistant/clerk"], '`clerk` is an assistant: write `yaoci run clerk "…"`'),
    ],
)  # fmt: skip
def test_wrong_usage_says_what_to_write_and_runs_nothing(shop, capsys, args, said):
    assert main(args) == 2
    assert capsys.readouterr() == ("", f"error: {said}\n")


def test_an_empty_stdin_is_wrong_usage_unless_arguments_say_enough(shop, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    assert main(["run", "clerk"]) == 2
    assert capsys.readouterr().err == 'error: say something: yaoci run clerk "…"\n'


def test_what_stands_on_stdin_is_said(shop, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("G1 重?\n".encode())))
    assert main(["run", "clerk"]) == 0
    assert capsys.readouterr().out == "It weighs 5 kg.\n"


def test_the_kind_may_stand_before_a_name_as_for_show(shop, capsys):
    assert main(["run", "assistant/clerk", "G1?", "--callback", "sign", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["output"] == "It weighs 5 kg. Yours."
    assert main(["call", "process/goods.weigh", "--arg", "id=G1"]) == 0
    assert capsys.readouterr().out == "5\n"


def test_help_says_what_a_pipe_gets(capsys):
    assert main(["run", "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "In a pipe or a file stdout gets only text that is settled" in out
