"""Measure the package: start-up, `check`, turns, chains, waiting runs, the wire, and the embedded model.

    python tests/bench/run.py [--quick] [NAME …]

runs all benchmarks, or those named, and prints one table. The package must be installed for this
Python, or `platform` be in PYTHONPATH. Nothing here asserts a time; the bars are what a change must
not make worse, and a row says OVER where one is missed.

How to read it:

- `figure` is a median. CPU means user and system time of the process; only where it says `wall`
  does the clock count. On a busy machine CPU is up by some 10 to 50 % and wall by anything.
- `ratio` is the figure over that of `base` in the same sitting: pair by pair for whole processes and
  chains. A busy machine moves it far less than it moves the figure, so bars are put on ratios where
  that can be.
- `bar` is the most that the ratio may be, or the figure where there is no ratio.
- `–` in the place of a figure is what this machine could not measure; `base` says why.

Each benchmark runs in a process of its own, so that none inherits the memory of another; `--quick`
does fewer rounds of smaller sizes: good for seeing that it works, not for quoting.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from table import Row, table


class Bench(NamedTuple):
    """A benchmark: a generator of rows, and what it is given to run for real, quickly, or just once."""

    module: str
    function: str
    full: Mapping[str, Any]
    quick: Mapping[str, Any]
    least: Mapping[str, Any]

    def rows(self, size: str) -> Iterator[Row]:
        """Run it at a size: `full`, `quick` or `least`."""
        rows: Iterator[Row] = getattr(import_module(self.module), self.function)(**getattr(self, size))
        return rows


BENCHES: Mapping[str, Bench] = {
    "startup": Bench("pairs", "startup", {"rounds": 21}, {"rounds": 7}, {"rounds": 1}),
    "check": Bench(
        "pairs", "check",
        {"rounds": 5, "sizes": (1, 200, 1000)}, {"rounds": 1, "sizes": (1, 50, 200)}, {"rounds": 1, "sizes": (1, 2, 3)},
    ),
    "turns": Bench("turns", "turns", {"batches": 15, "size": 20}, {"batches": 5, "size": 10}, {"batches": 1, "size": 1}),
    "chains": Bench(
        "chains", "chains",
        {"rounds": 3, "sizes": (1000, 10_000)}, {"rounds": 1, "sizes": (200, 2000)}, {"rounds": 1, "sizes": (1, 10)},
    ),
    "waiting": Bench("streams", "waiting", {"runs": 1000}, {"runs": 200}, {"runs": 5}),
    "wire": Bench("streams", "wire", {"rounds": 5, "events": 20_000}, {"rounds": 1, "events": 2000}, {"rounds": 1, "events": 5}),
    "embedded": Bench("pairs", "embedded", {"rounds": 3}, {"rounds": 1}, {"rounds": 1}),
}  # fmt: skip


def main(arguments: list[str]) -> int:
    """Run what is asked for; return the exit code: 2 for wrong usage."""
    names = [name for name in arguments if name != "--quick"]
    size = "quick" if "--quick" in arguments else "full"
    if unknown := [name for name in names if name not in BENCHES]:
        print(f"no benchmark is called {', '.join(unknown)}: there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name in names or BENCHES:
        print(f"{name} …", file=sys.stderr)
        rows += alone(name, size)
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    print(f"{table(rows)}\n\nPython {sys.version.split()[0]}, {os.cpu_count()} cores, load {load}")
    return 0


def alone(name: str, size: str) -> list[Row]:
    """Run a benchmark in a process of its own."""
    code = (
        f"import json, sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import run; "
        f"print(json.dumps(list(run.BENCHES[{name!r}].rows({size!r}))))"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return [Row(*row) for row in json.loads(done.stdout)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
