import ast
import inspect
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaoci.pysource import Module, Parameter, PyProblem, description, parameters_schema, read


def one(text):
    module = read(text)
    assert module.problems == ()
    (function,) = module.functions.values()
    return function


@pytest.mark.parametrize(
    ("head", "marked"),
    [
        ("@process", True),
        ("@process()", True),
        ("@yaoci.process", True),
        ("@yaoci.process(effect='read')", True),
        ("import yaoci as y\n@y.process", True),
        ("from yaoci import process as p\n@p(name='x')", True),
        ("@cache\n@process", True),
        ("", False),
        ("@cache", False),
        ("@other.process", False),
        ("from elsewhere import process as p\n@p", False),
    ],
)
def test_a_function_marked_with_process_is_a_process(head, marked):
    assert one(f"{head}\ndef f(): ...").process is marked


def test_the_mark_tells_effect_and_name():
    function = one("@process(effect='read', name='查订单')\ndef f(): ...")
    assert (function.effect, function.display) == ("read", "查订单")
    function = one("@process(effect=None)\ndef f(): ...")
    assert (function.effect, function.display) == (None, "")


@pytest.mark.parametrize(
    ("mark", "column", "text", "help_"),
    [
        ("@process(effect='raed')", 17, "there is no effect `raed`", "did you mean `read`?"),
        ("@process(effect='zzz')", 17, "there is no effect `zzz`", "it is read, write or idempotent"),
        ("@process(nam='x')", 10, "`process` takes `effect` and `name`, not `nam`", ""),
        ("@process(**more)", 10, "`process` takes `effect` and `name`, not `**`", ""),
        ("@process(name='查', effect=effect())", 27, "`effect` is not a text that is written out", ""),
        ("@process(name=3)", 15, "`name` is not a text that is written out", ""),
    ],
)
def test_a_mark_that_cannot_be_read_is_a_problem_at_its_place(mark, column, text, help_):
    for source in (f"\n{mark}\ndef f(): ...", f"\n{mark}\ndef f(): ...".encode()):
        assert read(source).problems == (PyProblem(2, column, text, help_),)


def test_two_processes_of_one_name_are_a_problem():
    module = read("@process\ndef f(): ...\n@process\ndef f(): ...\n")
    assert [(problem.line, problem.text) for problem in module.problems] == [
        (4, "`f` is a process already, in line 2")
    ]


def test_only_functions_at_the_top_count():
    text = "def f():\n  def inner(): ...\nclass C:\n  def method(self): ...\nif 1:\n  def g(): ...\n"
    assert [*read(text).functions] == ["f"]


def test_a_function_knows_its_line_and_what_it_is():
    functions = read(
        "\ndef plain(): return lambda: (yield)\n"
        "async def later(): ...\n"
        "def pieces(): yield 1\n"
        "async def stream():\n  for x in y:\n    yield x\n"
        "def outer():\n  def inner(): yield 1\n"
    ).functions
    assert {name: (it.line, it.is_async, it.is_generator) for name, it in functions.items()} == {
        "plain": (2, False, False),
        "later": (3, True, False),
        "pieces": (4, False, True),
        "stream": (5, True, True),
        "outer": (8, False, False),
    }


def test_parameters_are_told_in_order_with_kind_default_and_description():
    function = one(
        "def f(a, /, b: Annotated[int, 'how many'], c=[1], *rest, d: str, e=None, g=now(), **more): ..."
    )
    assert function.parameters == (
        Parameter(name="a", schema={}, required=True),
        Parameter(name="b", schema={"type": "integer"}, required=True, description="how many"),
        Parameter(name="c", schema={}, required=False, default=[1], literal=True),
        Parameter(name="d", schema={"type": "string"}, required=True, kind="keyword"),
        Parameter(name="e", schema={}, required=False, default=None, literal=True, kind="keyword"),
        Parameter(name="g", schema={}, required=False, kind="keyword"),
    )
    assert (function.has_varargs, function.has_kwargs) == (True, True)


def test_the_schema_of_parameters_is_a_closed_object():
    function = one(
        "def f(message: str, id: Annotated[str, 'Order number.'], context, most: int = 3, "
        "why: str | None = None, how: str = None, when: int = now(), raw=b'x', event=None): ..."
    )
    assert parameters_schema(function) == {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Order number."},
            "most": {"type": "integer", "default": 3},
            "why": {"type": ["string", "null"], "default": None},
            "how": {"type": "string"},
            "when": {"type": "integer"},
            "raw": {},
        },
        "required": ["id"],
        "additionalProperties": False,
    }


def test_what_is_skipped_can_be_chosen():
    schema = parameters_schema(one("def f(message: str, x: int): ..."), skip=("x",))
    assert schema["properties"] == {"message": {"type": "string"}}


def test_a_function_that_takes_any_keyword_has_an_open_schema():
    assert parameters_schema(one("def f(**more): ...")) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("annotation", "stands"),
    [
        ("Literal['a', None]", True),
        ("Literal['a', 'b']", False),
        ("int | list[str] | None", True),
        ("list[int] | list[str]", False),
        ("Any", True),
        ("dict", False),
    ],
)
def test_a_default_of_none_is_told_where_the_annotation_takes_it(annotation, stands):
    schema = parameters_schema(one(f"def f(x: {annotation} = None): ..."))
    assert ("default" in schema["properties"]["x"]) is stands
    assert "required" not in schema


def test_a_schema_can_be_changed_without_changing_the_function():
    function = one("def f(x: int): ...")
    parameters_schema(function)["properties"]["x"]["type"] = "string"
    assert function.parameters[0].schema == {"type": "integer"}


@pytest.mark.parametrize(
    ("returns", "schema"),
    [("", None), ("-> Any", None), ("-> None", {"type": "null"}), ("-> 'list[int]'", {"type": "array", "items": {"type": "integer"}})],
)  # fmt: skip
def test_the_result_has_a_schema_where_its_annotation_says_something(returns, schema):
    assert one(f"def f() {returns}: ...").returns == schema


def test_the_description_is_the_docstring_without_its_indentation():
    assert (
        description(one('def f():\n    """Finds 京.\n\n    Use it:\n      - so\n    """'))
        == "Finds 京.\n\nUse it:\n  - so"
    )
    assert description(one("def f(): ...")) == ""


@pytest.mark.parametrize(
    ("text", "line", "column", "told"),
    [
        ("x = 1\ndef f(:", 2, 7, "Python does not understand this"),
        ("f(", 1, 2, "'(' was never closed"),
        ("if x:\npass", 2, 1, "expected an indented block after 'if' statement on line 1"),
        (b"# coding: nope\n", 1, 1, "unknown encoding: nope"),
    ],
)
def test_a_syntax_error_is_a_problem_at_its_place(text, line, column, told):
    (problem,) = read(text).problems
    assert (problem.line, problem.column, problem.text) == (line, column, told)
    assert problem.help == f"it is read as Python {sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.parametrize(
    "text", ["a\0b", b"\xff\xfe", "\udc80", "-" * 6000 + "1", "(" * 6000, "x" + ".x" * 200_000]
)
def test_a_text_that_python_cannot_read_is_a_problem_and_raises_nothing(text):
    module = read(text)
    assert module.functions == {}
    assert len(module.problems) == 1
    assert module.problems[0].text


def test_bytes_are_read_in_the_encoding_they_name():
    assert description(one(b"# coding: latin-1\ndef f():\n  '\xe9'")) == "é"
    assert one(b"\xef\xbb\xbfdef f(): ...").name == "f"


def test_an_odd_escape_in_a_text_is_no_matter():
    assert one("def f(): '\\d'").name == "f"


def test_nothing_of_the_file_is_run():
    assert one("raise SystemExit\ndef f(x=print(1 / 0)): ...").parameters[0].required is False


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=5))
def test_parameters_are_those_that_python_itself_sees(kinds):
    ordered = sorted(enumerate(kinds), key=lambda item: (item[1][0], not item[1][0] and item[1][1] > 1))
    plain = [f"p{number}" + ("=1" if kind > 1 else "") for number, (keyword, kind) in ordered if not keyword]
    named = [f"p{number}" + ("=1" if kind > 1 else "") for number, (keyword, kind) in ordered if keyword]
    text = f"def f({', '.join([*plain, *(['*', *named] if named else [])])}): ..."
    space = {}
    exec(compile(text, "f", "exec"), space)
    told = [(it.name, it.kind == "keyword", it.required) for it in one(text).parameters]
    assert told == [
        (it.name, it.kind is it.KEYWORD_ONLY, it.default is it.empty)
        for it in inspect.signature(space["f"]).parameters.values()
    ]


@given(st.text(max_size=40) | st.binary(max_size=40) | st.lists(
    st.sampled_from(["def f(", "x", ": int", " = 1", ", ", "):", " ...", "\n", "@process", "(", ")", "*", "/", "'", "["]), max_size=12,
).map("".join))  # fmt: skip
def test_any_text_is_read_or_a_problem(text):
    module = read(text)
    assert isinstance(module, Module)
    if not module.problems:
        ast.parse(text)
    for problem in module.problems:
        assert problem.line >= 1
        assert problem.column >= 1
