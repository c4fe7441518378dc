import re

import pytest

from yaoci import offers
from yaoci.contracts import Example, Function
from yaoci.offers import Call, Offer, Said, grounded, offer, whole
from yaoci.patterns import PatternTimeout

ORDER = "^A[0-9]+$"


def function(
    name="orders_find", required=("id",), description="Finds one order.", effect="read", asks=(), **properties
):
    properties = properties or {"id": {"type": "string", "pattern": ORDER}}
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    examples = tuple(Example(ask=ask, answer="Well.") for ask in asks)
    return Function(id=name, description=description, parameters=parameters, effect=effect, examples=examples)


def offered(functions, *texts, calls=(), choice=None) -> Offer:
    return offer(functions, Said(texts=texts, calls=calls), choice, {})


def arguments(branch):
    return branch["properties"]["arguments"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Where is order A42?", ("A42",)),
        ("where is a42, please", ("A42",)),
        ("订单A42在哪里？", ("A42",)),
        ("A42, then A7. And A42 again!", ("A42", "A7")),
        ("(#A42)", ("A42",)),
        ("Where is order 42?", ()),
        ("", ()),
    ],
)
def test_grounded_finds_what_the_pattern_fits(text, found):
    assert grounded(text, ORDER) == found


def test_grounded_takes_lower_case_where_the_pattern_wants_it():
    assert grounded("Look up ABC", "^[a-z]{3}$") == ("abc",)


def test_words_of_other_scripts_are_tried_when_nothing_else_fits():
    assert grounded("去 北京 吧", "^北京$") == ("北京",)


@pytest.mark.parametrize("error", [PatternTimeout("too long"), re.error("not a pattern")])
def test_a_pattern_that_cannot_be_judged_finds_nothing(monkeypatch, error):
    def fail(pattern, text):
        raise error

    monkeypatch.setattr(offers, "search", fail)
    assert grounded("A42", ORDER) == ()


def test_a_required_argument_may_only_be_what_the_user_wrote():
    (branch,) = offered([function()], "Where are A42 and a7?").branches
    assert branch["properties"]["tool"] == {"const": "orders_find"}
    assert arguments(branch)["properties"] == {"id": {"enum": ["A42", "A7"]}}
    assert arguments(branch)["additionalProperties"] is False


def test_without_a_fitting_word_nothing_is_offered_or_shown():
    assert offered([function()], "Where is my order?") == Offer(shown=[], branches=[], due=False)


def test_earlier_words_are_used_where_the_last_hold_nothing():
    (branch,) = offered([function()], "Where is it?", "It is A42.", "Not A7!").branches
    assert arguments(branch)["properties"]["id"] == {"enum": ["A42"]}


def test_the_last_words_go_before_earlier_ones():
    (branch,) = offered([function()], "And A7?", "Where is A42?").branches
    assert arguments(branch)["properties"]["id"] == {"enum": ["A7"]}


def test_what_was_called_in_this_turn_is_not_offered_again():
    found = offered([function()], "Where are A42 and A7?", calls=[Call(1, "orders_find", {"id": "A42"})])
    assert arguments(found.branches[0])["properties"]["id"] == {"enum": ["A7"]}
    calls = [Call(1, "orders_find", {"id": "A42"}), Call(1, "orders_find", {"id": "A7"})]
    found = offered([function()], "Where are A42 and A7?", calls=calls)
    assert (found.branches, len(found.shown)) == ([], 1)


def test_what_was_called_in_an_earlier_turn_is_offered_again_only_if_said_again():
    call = Call(1, "orders_find", {"id": "A42"})
    assert offered([function()], "Thanks!", "Where is A42?", calls=[call]).branches == []
    assert len(offered([function()], "And A42 now?", "Where is A42?", calls=[call]).branches) == 1


def test_an_optional_argument_that_nothing_fits_is_left_out():
    patterned = {"type": "string", "pattern": "^C[0-9]+$"}
    one = function(required=(), name="find", customer=patterned, days={"type": "integer"})
    (branch,) = offered([one], "What is new?").branches
    assert arguments(branch)["properties"] == {"days": {"type": "integer"}}
    (branch,) = offered([one], "What is new for c3?").branches
    assert arguments(branch)["properties"]["customer"] == {"enum": ["C3"]}


def test_with_two_patterned_arguments_all_values_stay_until_none_is_left():
    one = function(required=("a", "b"), a={"pattern": "^A[0-9]$"}, b={"pattern": "^B[0-9]$"})
    calls = [Call(1, "orders_find", {"a": "A1", "b": "B1"})]
    (branch,) = offered([one], "A1 B1 B2", calls=calls).branches
    assert arguments(branch)["properties"] == {"a": {"enum": ["A1"]}, "b": {"enum": ["B1", "B2"]}}
    calls.append(Call(1, "orders_find", {"a": "A1", "b": "B2"}))
    assert offered([one], "A1 B1 B2", calls=calls).branches == []


def test_a_function_without_parameters_is_called_once_a_turn():
    clock = Function(id="now", description="Tells the time.", parameters={"type": "object"})
    assert len(offered([clock], "What time is it?").branches) == 1
    assert offered([clock], "What time is it?", calls=[Call(1, "now", {})]).branches == []
    assert len(offered([clock], "And now?", "What time is it?", calls=[Call(1, "now", {})]).branches) == 1


def test_the_most_relevant_function_comes_last():
    weather = function(
        name="weather_get",
        description="Tells the weather of a city.",
        required=("city",),
        city={"type": "string"},
    )
    orders = function()
    for both in ([orders, weather], [weather, orders]):
        assert offered(both, "Where is A42?").shown[-1] is orders
        assert offered(both, "How is the weather, and A42?", "").shown[-1] is orders
        assert offered(both, "How is the weather?", "I have A42.").shown[-1] is weather


def test_relevance_is_seen_in_chinese_too():
    time = function(name="a", description="现在几点", required=(), x={"type": "integer"})
    sky = function(name="b", description="查询天气", required=(), x={"type": "integer"})
    assert offered([sky, time], "今天天气怎么样").shown[-1] is sky


@pytest.mark.parametrize(
    ("texts", "effect", "due"),
    [
        (("Where is A42?",), "read", True),
        (("Where is A42?",), "write", False),
        (("Where is it?", "I have A42."), "read", False),
        (("Hello!",), "read", False),
    ],
)
def test_a_call_is_due_where_the_last_words_hold_what_a_reading_function_needs(texts, effect, due):
    assert offered([function(effect=effect)], *texts).due is due


def test_the_choice_narrows_what_is_offered():
    other = function(name="notes_list", required=(), n={"type": "integer"})
    both = [function(), other]
    assert [b["properties"]["tool"]["const"] for b in offered(both, "A1", choice="notes_list").branches] == [
        "notes_list"
    ]
    assert offered(both, "A1", choice="none") == Offer(shown=[], branches=[], due=False)


def test_text_that_a_model_makes_up_has_an_end():
    one = function(required=("city",), city={"type": "string"}, unit={"type": "string", "enum": ["C", "F"]})
    (branch,) = offered([one], "Weather in Rome?").branches
    assert arguments(branch)["properties"]["city"] == {"type": "string", "maxLength": offers.LONGEST}
    assert arguments(branch)["properties"]["unit"] == {"type": "string", "enum": ["C", "F"]}


def test_references_lead_to_the_function_s_own_definitions():
    parameters = {
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/place"}, "$ref": {"type": "integer"}},
        "$defs": {
            "place": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/place"}}]}
        },
    }
    defs = {}
    found = offer(
        [Function(id="go", description="Goes.", parameters=parameters)], Said(texts=["Go!"]), None, defs
    )
    schema = whole([*found.branches, {"type": "object"}], defs)
    assert arguments(schema["anyOf"][0])["properties"]["to"] == {"$ref": "#/$defs/go/$defs/place"}
    place = schema["$defs"]["go"]["$defs"]["place"]
    assert place["anyOf"][1]["items"] == {"$ref": "#/$defs/go/$defs/place"}


def test_data_within_a_schema_is_left_alone():
    data = {"pattern": "(?=a)", "$ref": "#/x"}
    one = function(required=(), x={"const": data}, y={"default": data, "type": "integer"})
    (branch,) = offered([one], "Hi").branches
    assert arguments(branch)["properties"] == {
        "x": {"const": data},
        "y": {"default": data, "type": "integer"},
    }


def test_patterns_beyond_a_constraint_are_left_to_the_check_of_arguments():
    one = function(
        required=(),
        x={"type": "array", "items": {"pattern": "^(?=a)b$"}},
        y={"items": {"pattern": "^(?:a)$"}},
    )
    (branch,) = offered([one], "Hi").branches
    assert arguments(branch)["properties"] == {
        "x": {"type": "array", "items": {}},
        "y": {"items": {"pattern": "^(?:a)$"}},
    }


def test_one_branch_stands_alone_and_several_are_a_union():
    assert whole([{"type": "object"}], {})["type"] == "object"
    assert whole([{"const": 1}, {"const": 2}], {})["anyOf"] == [{"const": 1}, {"const": 2}]
