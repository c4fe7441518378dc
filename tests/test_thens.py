import pytest

from yaoci.definitions import Method
from yaoci.documents import kinds
from yaoci.spec import decode
from yaoci.thens import written


def thens(**handler):
    return list(written(decode(Method, handler, kinds()).value))


def test_a_value_and_each_return_of_a_flow_are_written_down():
    assert thens(value={"then": "stop"}) == [(("value", "then"), "stop")]
    flow = [{"return": {"then": "answer"}, "when": "x"}, {"send": "a"}, {"return": {"then": "refuse"}}]
    assert thens(steps=flow) == [
        (("steps", 0, "return", "then"), "answer"),
        (("steps", 2, "return", "then"), "refuse"),
    ]


@pytest.mark.parametrize(
    "value", [{"then": "{{ args.x }}"}, "{{ args.x }}", {"then": 1}, [{"then": "stop"}], None]
)
def test_what_is_known_only_in_a_run_or_is_no_such_mapping_is_not(value):
    assert thens(value=value) == []


def test_what_a_function_gives_is_not_known():
    assert thens(python="f") == []
