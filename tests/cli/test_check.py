import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import yaoci
from yaoci.cli import COMMANDS, main

GOOD = "description: Answers questions of all kinds, in any language.\nmodel: local\n"
BAD = f"{GOOD}tols: []\n"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A project of two assistants, one of them wrong, in whose folder the test stands."""
    write(tmp_path, {"assistants/good.yaml": GOOD, "assistants/bad.yaml": BAD})
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def shell(*args, cwd, **environ):
    """Run the command line in a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(Path(yaoci.__file__).parents[1]), **environ}
    return subprocess.run(
        [sys.executable, "-m", "yaoci", *args], capture_output=True, env=env, cwd=cwd, check=False
    )


# -- check ----------------------------------------------------------------------------------------------


def test_the_report_is_the_answer_and_goes_to_stdout(shop, capsys):
    assert main(["check"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("error[Y101]: unknown key\n --> assistants/bad.yaml:3:1\n")
    assert out.endswith("\n1 error in 2 files\n")
    assert err == ""


def test_a_clean_project_ends_with_0(shop, capsys):
    (shop / "assistants/bad.yaml").unlink()
    assert main(["check"]) == 0
    assert capsys.readouterr().out == "ok: 1 file\n"


def test_quiet_says_nothing_of_a_clean_project(shop, capsys):
    (shop / "assistants/bad.yaml").unlink()
    assert main(["-q", "check"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("path", "code", "counted"),
    [
        ("assistants/good.yaml", 0, 1), ("assistants/bad.yaml", 1, 1), ("assistants", 1, 2), (".", 1, 2),
        ("assistants/../assistants/good.yaml", 0, 1),
    ],
)  # fmt: skip
def test_with_a_path_only_what_is_below_it_counts(shop, capsys, path, code, counted):
    assert main(["check", path, "-o", "json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["counts"]["files"] == counted
    assert len(told["findings"]) == code


def test_several_paths_add_up(shop, capsys):
    write(shop, {"assistants/worse.yaml": BAD})
    assert main(["check", "assistants/good.yaml", "assistants/worse.yaml", "-o", "line"]) == 1
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["assistants/worse.yaml"]


def test_a_name_that_only_begins_like_the_path_is_not_below_it(shop):
    write(shop, {"assistants/go/x.yaml": GOOD, "assistants/goes/y.yaml": BAD})
    assert main(["check", "assistants/go"]) == 0


def test_the_python_behind_a_processor_counts_as_part_of_it(shop):
    write(
        shop,
        {
            "processes/orders.yaml": "methods:\n  find: {python: find}\n",
            "processes/orders.py": "def find(): ...\n",
        },
    )
    assert main(["check", "processes/orders.py"]) == 0
    write(shop, {"processes/orders.py": "def find(:\n"})
    assert main(["check", "processes/orders.py"]) == 1


def test_the_project_is_found_from_a_folder_inside_it_and_named_on_stderr(shop, monkeypatch, capsys):
    monkeypatch.chdir(shop / "assistants")
    assert main(["check"]) == 1
    out, err = capsys.readouterr()
    assert "--> assistants/bad.yaml:3:1" in out
    assert err == f"in {shop}\n"


def test_another_folder_can_be_named_and_paths_start_there(shop, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert main(["-C", str(shop), "check", "assistants/good.yaml"]) == 0


def test_lines_are_one_each_and_none_where_nothing_was_found(shop, capsys):
    assert main(["check", "-o", "line"]) == 1
    line = "assistants/bad.yaml:3:1: error[Y101]: `tols` is no key of an assistant (did you mean `tools`?)\n"
    assert capsys.readouterr().out == line
    assert main(["check", "-o", "line", "assistants/good.yaml"]) == 0
    assert capsys.readouterr().out == ""


def severities(monkeypatch, *found):
    """Let the project have findings of these severities, and nothing else."""
    from yaoci.cli import check
    from yaoci.diagnostics import Code, Diagnostic, report
    from yaoci.source import Span

    place = Span("assistants/good.yaml", 1, 1, 1, 1)
    findings = [Diagnostic.of(Code(f"Y90{i}", "x", severity, "x"), place) for i, severity in enumerate(found)]
    monkeypatch.setattr(check, "check", lambda root: report(findings, 2, {}))


@pytest.mark.parametrize(
    ("found", "plain", "strict"),
    [(["warning"], 0, 1), (["advice"], 0, 0), (["advice", "warning"], 0, 1), (["error"], 1, 1)],
)
def test_strict_fails_on_warnings_but_not_on_advice(shop, monkeypatch, found, plain, strict):
    severities(monkeypatch, *found)
    assert main(["check"]) == plain
    assert main(["check", "--strict"]) == strict


@pytest.mark.parametrize("args", [[], ["assistants"]])
def test_where_there_is_nothing_to_check_it_says_so_and_ends_with_5(tmp_path, monkeypatch, capsys, args):
    (tmp_path / "assistants").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["check", *args]) == 5
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: nothing to check: ")


def test_json_is_written_also_where_there_is_nothing(tmp_path, capsys):
    (tmp_path / "assistants").mkdir()
    assert main(["-C", str(tmp_path), "check", "-o", "json"]) == 5
    assert json.loads(capsys.readouterr().out)["counts"]["files"] == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["check", "nowhere.yaml"], "error: there is no file or folder `nowhere.yaml`\n"),
        (["-C", "nowhere", "check"], "error: `-C nowhere`: there is no such folder\n"),
        (["-C", "assistants/good.yaml", "check"], "error: `-C assistants/good.yaml`: this is no folder\n"),
    ],
)
def test_what_is_not_there_is_wrong_usage(shop, capsys, args, said):
    assert main(args) == 2
    assert capsys.readouterr() == ("", said)


def test_a_file_outside_of_any_project_is_wrong_usage(tmp_path, capsys):
    write(tmp_path, {"alone.yaml": GOOD})
    path = str(tmp_path / "alone.yaml")
    assert main(["check", path]) == 2
    assert capsys.readouterr().err.startswith(f"error: `{path}` is in no project: ")


def test_paths_of_two_projects_are_wrong_usage(shop, capsys):
    write(shop, {"examples/one/assistants/a.yaml": GOOD})
    assert main(["check", "examples/one", "assistants"]) == 2
    assert "of 2 projects; check one at a time" in capsys.readouterr().err
    assert main(["check", "examples/one"]) == 0


# -- the command line around it -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_examples(name, capsys):
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: yaoci {name} [options]")
    assert "\nExamples:\n  yaoci " in out
    assert "\x1b" not in out


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_in_a_narrow_terminal_an_example_says_what_it_is_for_below_the_command(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    assert main([*command, "--help"]) == 0
    lines = capsys.readouterr().out.split("Examples:\n")[1].split("\n\n")[0].splitlines()
    aims = [line for line in lines if line.startswith("      ")]
    assert aims
    assert all(line.startswith(("  yaoci", "  echo")) or line in aims for line in lines)
    assert all(len(line) <= 50 for line in aims)


def test_help_lists_each_command(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for name, about in COMMANDS.items():
        assert f"  {name}" in out
        assert about in out


def test_without_a_command_the_help_is_shown_as_wrong_usage(capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: yaoci")


def test_the_version_is_that_of_the_package(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"yaoci {yaoci.__version__}\n"


def test_the_options_of_the_group_may_stand_behind_the_command(shop, capsys):
    assert main(["-C", str(shop), "--color", "always", "check"]) == 1
    before = capsys.readouterr()
    assert main(["check", "-C", str(shop), "--color", "always"]) == 1
    assert capsys.readouterr() == before
    assert "\x1b[" in before.out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["chek"], "error: no command is called `chek`: did you mean `check`?\n"),
        (["check", "--strct"], "error: no option is called `--strct`: did you mean `--strict`?\n"),
        (["--colour", "never", "check"], "error: no option is called `--colour`: did you mean `--color`?\n"),
        (["check", "-C", "x"], "error: `-C x`: there is no such folder\n"),
        (["check", "-o", "jsn"], "error: `-o` / `--output`: `jsn` is not one of `text`, `json`, `line`\n"),
        (["show", "a", "b"], "error: got unexpected extra argument (b)\n"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_was_meant(capsys, args, said):
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(said)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("environ", "args", "coloured"),
    [
        ({}, [], True),
        ({"NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": ""}, [], True),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
        ({"CLICOLOR": "0"}, [], False),
        ({"TERM": "dumb"}, [], False),
        ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
    ],
)
def test_a_terminal_gets_colours_unless_told_otherwise(shop, monkeypatch, environ, args, coloured):
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main([*args, "check"]) == 1
    assert ("\x1b[" in sys.stdout.getvalue()) == coloured


@pytest.mark.parametrize(
    ("environ", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"CLICOLOR_FORCE": "1"}, True),
    ],
)
def test_a_pipe_gets_colours_only_where_they_are_forced(shop, monkeypatch, capsys, environ, coloured):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    main(["check"])
    main(["--help"])
    out = capsys.readouterr().out
    assert ("\x1b[31" in out or "\x1b[1;31" in out) == coloured
    assert ("\x1b[1mUsage" in out) == coloured


def test_wrong_definitions_stop_other_commands_with_the_errors_on_stderr(shop, capsys):
    assert main(["show"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error[Y101]: unknown key\n --> assistants/bad.yaml:3:1\n")


def failing(monkeypatch, error):
    from yaoci.cli import check

    def fail(root):
        raise error

    monkeypatch.setattr(check, "check", fail)


def test_a_failure_names_its_kind_and_place_and_ends_with_3(shop, monkeypatch, capsys):
    failing(
        monkeypatch, yaoci.Failed(yaoci.Failure("auth", "the key\x1b[2J is refused", "assistants/a.yaml:3"))
    )
    assert main(["check"]) == 3
    assert capsys.readouterr() == ("", "error[auth]: the key␛[2J is refused\n --> assistants/a.yaml:3\n")


def test_an_interrupt_ends_with_130(shop, monkeypatch, capsys):
    failing(monkeypatch, KeyboardInterrupt())
    assert main(["check"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_a_file_that_may_not_be_read_is_no_bug(shop, monkeypatch, capsys):
    failing(monkeypatch, PermissionError(13, "Permission denied", "secret.yaml"))
    assert main(["check"]) == 2
    assert capsys.readouterr().err == "error: `secret.yaml` cannot be used: permission denied\n"


def test_a_bug_ends_with_70_and_leaves_a_log_with_all_that_a_report_needs(
    shop, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    failing(monkeypatch, KeyError("客"))
    assert main(["check", "assistants/good.yaml"]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: this is a bug in yaoci: KeyError: '客'\n")
    assert "please report it" in err
    assert "Traceback" not in err
    (log,) = tmp_path.glob("yaoci-bug-*.log")
    assert f"log: {log}\n" in err
    text = log.read_text("utf-8")
    for part in (
        f"yaoci {yaoci.__version__}",
        "python 3.",
        "click ",
        "'assistants/good.yaml'",
        "Traceback",
        "KeyError",
    ):
        assert part in text


def test_with_v_the_traceback_of_a_bug_is_shown_too(shop, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    failing(monkeypatch, ZeroDivisionError())
    assert main(["-v", "check"]) == 70
    assert capsys.readouterr().err.startswith("Traceback")


def test_a_bug_without_a_place_for_a_log_shows_the_traceback(shop, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    failing(monkeypatch, ZeroDivisionError())
    assert main(["check"]) == 70
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert "no log could be written" in err


@pytest.mark.skipif(os.name == "nt", reason="of POSIX pipes")
def test_a_reader_that_goes_away_is_no_error(shop):
    write(shop, {f"assistants/a{i}.yaml": BAD * 40 for i in range(60)})  # more than a pipe holds
    env = {**os.environ, "PYTHONPATH": str(Path(yaoci.__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-m", "yaoci", "check"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=shop,
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize(
    "environ", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}]
)
def test_text_is_written_as_utf8_whatever_the_locale(shop, environ):
    write(shop, {"assistants/bad.yaml": f"{GOOD}名字: 客服\n"})
    done = shell("check", cwd=shop, **environ)
    assert done.returncode == 1
    assert "3 | 名字: 客服" in done.stdout.decode()
    assert done.stderr == b""


def test_completion_offers_the_commands(tmp_path):
    environ = {"_YAOCI_COMPLETE": "bash_complete", "COMP_WORDS": "yaoci ch", "COMP_CWORD": "1"}
    assert shell(cwd=tmp_path, **environ).stdout == b"plain,check\n"
