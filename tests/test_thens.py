import pytest

from yaoci.definitions import Method
from yaoci.documents import kinds
from yaoci.spec import decode
from yaoci.thens import MAY, answered, point_of, taken, written


def thens(**handler):
    return list(written(decode(Method, handler, kinds()).value))


def test_a_value_and_each_return_of_a_flow_are_written_down():
    assert thens(value={"then": "stop"}) == [(("value",), "stop", {})]
    flow = [
        {"return": {"then": "answer"}, "when": "x"},
        {"send": "a"},
        {"return": {"then": "refuse", "reason": "no"}},
    ]
    assert thens(steps=flow) == [
        (("steps", 0, "return"), "answer", {}),
        (("steps", 2, "return"), "refuse", {"reason": "no"}),
    ]


@pytest.mark.parametrize(
    "value", [{"then": "{{ args.x }}"}, "{{ args.x }}", {"then": 1}, [{"then": "stop"}], None]
)
def test_what_is_known_only_in_a_run_or_is_no_such_mapping_is_not(value):
    assert thens(value=value) == []


def test_what_a_function_gives_is_not_known():
    assert thens(python="f") == []


def test_what_may_stand_beside_change_is_what_the_hook_lets_change():
    assert taken("change", "result") == ("result",)
    assert taken("change", "done") == ()
    assert taken("stop", "done") == ("message",)


def test_an_answer_is_a_result_at_tool_alone():
    assert {point: answered(point) for point in MAY if "answer" in MAY[point]} == {
        "create": "message", "tool": "result", "fail": "message",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "point"),
    [
        (("hooks", "done", 0), "done"),
        (("methods", "ask", "steps", 0, "callback"), "callback"),
        (("methods", "callback", "value"), ""),
        ((), ""),
    ],
)
def test_a_place_belongs_to_the_chain_it_stands_in(path, point):
    assert point_of(path) == point
