import os
import subprocess
import sys
from pathlib import Path

import pytest

import yaoci

HEAVY = {"httpx", "jinja2", "jsonschema", "asyncio"}


def loaded(*args, cwd=None):
    """Return the modules that `python ARGS` loads, and what it printed."""
    environ = {**os.environ, "PYTHONPATH": str(Path(yaoci.__file__).parents[1])}
    environ.pop("_YAOCI_COMPLETE", None)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *args],
        capture_output=True,
        text=True,
        env=environ,
        cwd=cwd,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}, done.stdout


@pytest.fixture(scope="module")
def bare():
    """What Python and click load by themselves."""
    return loaded("-c", "import click")[0]


def test_importing_the_package_loads_nothing_heavy():
    modules, _ = loaded("-c", "import yaoci")
    assert "yaoci" in modules
    assert not modules & {*HEAVY, "yaml", "click"}


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["-h"]])
def test_help_and_version_load_click_alone(args):
    modules, out = loaded("-m", "yaoci", *args)
    assert "yaoci" in out
    assert "click" in modules
    assert not modules & {*HEAVY, "yaml"}


def test_help_loads_nothing_of_the_package_but_the_command_line(bare):
    modules, out = loaded("-m", "yaoci", "--help")
    ours = {name for name in modules - bare if name.startswith("yaoci")}
    assert ours == {"yaoci", "yaoci.declare", "yaoci.version", "yaoci.cli", "yaoci.cli._terminal"}
    assert "check" in out


def test_check_loads_no_client_for_http(tmp_path):
    (tmp_path / "assistants").mkdir()
    (tmp_path / "assistants" / "neo.yaml").write_text(
        "description: Answers questions of all kinds.\nmodel: openai/gpt-5-mini\nprompts: [{content: 'Hi {{ args.input }}'}]\n",
        "utf-8",
    )
    modules, out = loaded("-m", "yaoci", "check", cwd=tmp_path)
    assert out.startswith("ok: 1 file")
    assert "yaoci.compiler" in modules
    assert not modules & {"httpx", "yaoci.runner"}
