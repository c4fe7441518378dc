import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import yaoci

PACKAGE = Path(yaoci.__file__).parent
SOURCES = Path(__file__).resolve().parents[1] / "platform"

# From the bottom up: a module imports only what stands before it. A folder stands for all its modules.
ORDER = """
    version declare loops values marks
    errors texts backtracking patterns formats shadow annotations sse
    traps stops faults reader messages events sandbox expressions templating
    source diagnostics
    spec derive definitions keywords acceptors wording judging flaws schemas pysource
    contracts render arguments thens rule written offers transport prompted contexts threads functions
    registry endpoints
    handlers models stores launchers rules catalogue
    loader documents builder
    compiler engine callbacks toolbox tree given host asking toolrounds turn calls stream
    runner
    cli
    __main__
""".split()  # noqa: SIM905 - a line for each layer

VAGUE = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc", "core"}


def name_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
INNER = sorted(MODULES.keys() - {"__init__"})


def top(name):
    return name.split(".", maxsplit=1)[0]


def imports(name):
    """Yield each import within the package: its line, and the module it is of; nothing for the root."""
    path = MODULES[name]
    folder = list(path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            start = folder[: len(folder) - node.level + 1]
            if node.module:
                yield node.lineno, ".".join([*start, node.module])
            else:
                for alias in node.names:
                    full = ".".join([*start, alias.name])
                    yield node.lineno, full if full in MODULES else ".".join(start)


def test_each_module_has_its_place_in_the_order():
    missing = {top(name) for name in INNER} - set(ORDER)
    assert not missing, (
        f"{sorted(missing)}: say in ORDER of tests/test_layers.py where it stands, behind all that it imports; "
        "and in the layers of the architecture, if it is a layer's main part"
    )


def test_the_order_names_only_what_is_there():
    gone = [name for name in ORDER if name not in {top(n) for n in INNER} and not (PACKAGE / name).is_dir()]
    assert not gone, f"{gone}: take it out of ORDER of tests/test_layers.py"
    assert len(ORDER) == len(set(ORDER))


@pytest.mark.parametrize("name", INNER)
def test_imports_point_down(name):
    for line, target in imports(name):
        where = f"{MODULES[name]}:{line}"
        assert target, f"{where}: it imports the package root; import the module itself"
        assert target in MODULES, f"{where}: there is no module `{target}`"
        if top(target) == top(name):
            continue
        assert ORDER.index(top(target)) < ORDER.index(top(name)), f"{where}: `{target}` stands above `{name}`"


@pytest.mark.parametrize("name", [name for name in INNER if "." in name])
def test_modules_of_a_folder_do_not_know_each_other(name):
    for line, target in imports(name):
        shared = target.rpartition(".")[2].startswith("_")
        assert top(target) != top(name) or shared, f"{MODULES[name]}:{line}: `{target}` is of the same folder"


def test_no_imports_go_in_a_circle():
    graph = {name: {target for _, target in imports(name)} for name in INNER}
    assert len(list(TopologicalSorter(graph).static_order())) >= len(INNER)


@pytest.mark.parametrize("name", list(MODULES))
def test_the_package_is_not_imported_by_its_name(name):
    for node in ast.walk(ast.parse(MODULES[name].read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        assert "yaoci" not in {top(each) for each in names}, (
            f"{MODULES[name]}:{node.lineno}: import it relatively"
        )


def test_no_module_has_a_vague_name():
    parts = {part.strip("_") for name in MODULES for part in name.split(".")}
    assert not parts & VAGUE


@pytest.mark.skipif(not SOURCES.is_dir(), reason="only where the source root is")
def test_the_source_root_holds_no_python_of_its_own_and_hides_no_standard_module():
    assert not list(SOURCES.glob("*.py"))
    code = "import platform, sys; assert platform.python_version(); print(platform.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {[str(SOURCES), str(SOURCES.parent)]!r}; {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not Path(done.stdout.strip()).is_relative_to(SOURCES.parent)
