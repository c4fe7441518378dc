import pytest

from yaoci.arguments import bind, judge, known_names
from yaoci.definitions import Method
from yaoci.documents import kinds
from yaoci.spec import decode

TWO = {"type": "object", "properties": {"message": {}, "id": {"type": "string"}, "size": {"type": "integer"}}}


def method(parameters, **rest):
    value = {"value": 1, **rest} if "python" not in rest else rest
    if parameters is not None:
        value["parameters"] = parameters
    return decode(Method, value, kinds()).value


def told(args, parameters, **rest):
    return [(misfit.path, misfit.label) for misfit in judge(args, method(parameters, **rest), "m")]


def test_arguments_in_order_get_names_in_declared_order_without_what_the_runner_fills():
    assert bind(["A1", 2], TWO) == {"id": "A1", "size": 2}


def test_fewer_arguments_than_parameters_bind_the_first():
    assert bind(("A1",), TWO) == {"id": "A1"}


def test_arguments_by_name_stay_as_they_are():
    assert bind({"size": 1, "other": 2}, TWO) == {"size": 1, "other": 2}


def test_too_many_in_order_say_which_there_are():
    with pytest.raises(ValueError, match=r"it takes 2 arguments \(`id` and `size`\), not 3"):
        bind([1, 2, 3], TWO)


def test_parameters_behind_a_reference_are_bound_too():
    assert bind(["A1"], {"$ref": "#/$defs/p", "$defs": {"p": TWO}}) == {"id": "A1"}


@pytest.mark.parametrize(
    "args", [{"id": "A1"}, {"message": "m", "event": {}, "context": 1}, {}, ["A1", 2.0], []]
)
def test_arguments_that_fit(args):
    assert told(args, TWO) == []


def test_a_required_one_with_a_default_or_filled_by_the_runner_is_not_missed():
    parameters = {
        "type": "object", "properties": {"a": {"default": 1}, "event": {}}, "required": ["a", "event"],
    }  # fmt: skip
    assert told({}, parameters) == []


def test_values_with_templates_are_known_only_in_a_run():
    assert told({"size": "{{ args.x }}", "id": ["{{ x }}"]}, TWO) == []


def test_a_misfit_deep_in_an_argument_has_its_path():
    parameters = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
        "$defs": {"n": {"type": "integer"}},
    }
    assert told([[1, "two"]], parameters) == [((0, 1), "`a[1]` must be a whole number, got text")]


@pytest.mark.parametrize(
    "more",
    [
        {"additionalProperties": True},
        {"patternProperties": {"^x": {}}},
        {"anyOf": [{"required": ["id"]}, {}]},
    ],
)
def test_a_schema_that_leaves_its_names_open_knows_no_unknown_ones(more):
    assert told({"other": 1}, {**TWO, **more}) == []
    assert known_names({**TWO, **more}) is None


@pytest.mark.parametrize(
    "broken", [{"type": "array"}, {"type": "object", "properties": [1]}, {"properties": {"a": 3}}]
)
def test_a_broken_schema_judges_nothing(broken):
    assert told({"a": 1, "b": 2}, broken) == []


def test_a_function_whose_signature_is_not_known_takes_anything():
    assert told([1, 2, 3], None, python="f") == []


def test_a_method_without_parameters_takes_nothing():
    assert told([1], None) == [((), "`m` takes no arguments")]
    assert told([], None) == []


NEEDY = {"type": "object", "properties": {"by": {}, "at": {}}, "required": ["by"]}


def test_one_unknown_name_and_one_that_is_missing_are_one_mistake():
    (misfit,) = judge({"from": "x"}, method(NEEDY), "m")
    assert (misfit.path, misfit.help) == (("from",), "did you mean `by`?")


def test_of_two_unknown_names_neither_is_the_one_that_is_missing():
    assert [path for path, _ in told({"from": 1, "to": 2}, NEEDY)] == [("from",), ("to",), ()]
