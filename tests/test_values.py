"""Values: their canonical form, their text, and paths into them."""

import base64
import json
import math
from collections import OrderedDict
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaoci.values import (
    MAX_DEPTH,
    NotJsonError,
    as_text,
    at,
    canonical,
    clean,
    compact,
    equal_key,
    weighs_over,
)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9)
)
python_values = st.recursive(
    scalars | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(python_values)
def test_the_canonical_form_is_what_its_record_reads_back_as(value):
    found = canonical(value)
    assert json.loads(compact(found)) == found
    assert canonical(found) == found
    compact(found).encode()


def test_what_python_has_beside_json_is_made_json():
    class Pair(NamedTuple):
        a: int
        b: str

    class Level(IntEnum):
        HIGH = 3

    class Word(StrEnum):
        YES = "yes"

    given_value = {
        "tuple": (1, (2,)), "bytes": b"\x00\xff", "array": bytearray(b"a"), "named": Pair(1, "x"),
        "enum": [Level.HIGH, Word.YES], "proxy": MappingProxyType({"a": 1}), "ordered": OrderedDict(b=1),
        Word.YES: 1, "surrogate": "\ud83d", "pair": "\ud83d\ude00",
    }  # fmt: skip
    found = canonical(given_value)
    assert found == {
        "tuple": [1, [2]], "bytes": base64.b64encode(b"\x00\xff").decode(), "array": "YQ==", "named": [1, "x"],
        "enum": [3, "yes"], "proxy": {"a": 1}, "ordered": {"b": 1}, "yes": 1, "surrogate": "�", "pair": "😀",
    }  # fmt: skip
    assert [type(item) for item in found["enum"]] == [int, str]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (math.nan, "nan"), (-math.inf, "inf"), ({1: 2}, "key 1 is not text"), ({None: 1}, "not text"), ({1, 2}, "set"),
        (object(), "object"), (10**5000, "thousands of digits"), (1j, "complex"), ([{"a": [math.nan]}], "nan"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)  # fmt: skip
def test_what_json_cannot_hold_is_told(value, says):
    with pytest.raises(NotJsonError, match=says):
        canonical(value)


def nested(depth):
    value = 0
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_has_an_end():
    assert canonical(nested(MAX_DEPTH + 1)) == nested(MAX_DEPTH + 1)
    with pytest.raises(NotJsonError, match="deeper than 64"):
        canonical(nested(MAX_DEPTH + 2))
    loop = []
    loop.append(loop)
    with pytest.raises(NotJsonError, match="more than 500,000 values"):
        canonical(loop)


def test_a_canonical_value_shares_no_list_or_mapping_with_what_was_given():
    value = {"a": [{"b": []}]}
    found = canonical(value)
    found["a"][0]["b"].append(1)
    assert value == {"a": [{"b": []}]}


@given(st.text(st.characters(), max_size=9))
def test_cleaned_text_can_be_encoded_and_whole_text_stays(text):
    found = clean(text)
    found.encode()
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert found == text


def test_text_for_people_and_models():
    assert [as_text(value) for value in ("客服", None, 5, True, {"a": ["é", 1.5]})] == [
        "客服", "", "5", "true", '{"a":["é",1.5]}'
    ]  # fmt: skip


def test_equal_json_has_equal_keys():
    assert equal_key({"a": 1, "b": [1.0]}) == equal_key({"b": [1], "a": 1.0})
    different = [1, True, "1", None, [1], {"1": 1}, 0, False, 1.5, [], {}, ["l"], "l"]
    assert len({equal_key(value) for value in different}) == len(different)


@given(python_values.map(canonical))
def test_weight_tells_small_from_large(value):
    assert not weighs_over(value, 10_000)
    assert weighs_over([value, "x" * 10_000], 10_000)
    assert weighs_over({"x" * 10_000: value}, 10_000)


def test_paths_lead_into_values():
    value = {"a": [1, {"b": 2}]}
    assert [at(value, path) for path in ((), ("a", 1, "b"), ("a", -1), ("a", 2), ("a", "b"), ("x",), ("a", 0, 0))] == [
        value, 2, {"b": 2}, None, None, None, None
    ]  # fmt: skip


def test_values_that_are_shared_count_each_time():
    value = {"a": 1}
    for _ in range(60):
        value = {"a": value, "b": value}
    with pytest.raises(NotJsonError, match="more than 500,000 values"):
        canonical(value)


def test_a_class_of_the_users_own_that_breaks_is_no_json():
    class Odd(str):  # noqa: SLOT000 - as users write them
        def __str__(self):
            raise OSError

    with pytest.raises(NotJsonError, match="type Odd cannot be read: OSError"):
        canonical([Odd("x")])
