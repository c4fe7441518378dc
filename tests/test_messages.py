"""Messages, their JSON, and how pieces come together."""

import itertools
import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaoci.messages import MESSAGE_FIELDS, Action, Attachment, FunctionCall, Mention, Message, merge
from yaoci.values import canonical

texts = st.text(st.characters(codec="utf-8"), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
calls = st.builds(FunctionCall, id=texts, name=texts, arguments=texts)
messages = st.builds(
    Message,
    id=texts,
    text=texts,
    type=st.sampled_from(["text", "error", "table"]),
    props=st.none() | st.dictionaries(texts, values, max_size=3),
    done=st.booleans(),
    new=st.booleans(),
    delta=st.booleans(),
    role=st.sampled_from(["", "user", "assistant", "tool", "system"]),
    name=texts,
    assistant_id=texts,
    data=values,
    hidden=st.booleans(),
    tool_call_id=texts,
    tool_calls=st.lists(calls, max_size=2).map(tuple),
    actions=st.lists(st.builds(Action, name=texts, payload=values), max_size=2).map(tuple),
    attachments=st.lists(st.builds(Attachment, name=texts, bytes=st.none() | st.integers(0, 9)), max_size=2).map(tuple),
    mentions=st.lists(st.builds(Mention, assistant_id=texts), max_size=2).map(tuple),
)  # fmt: skip


@given(texts, st.lists(st.integers(0, 12)), st.booleans())
def test_any_cutting_of_a_text_into_deltas_merges_to_the_whole(text, cuts, begins):
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    whole = None
    for index, (start, end) in enumerate(itertools.pairwise(places)):
        new = begins and index == 0
        whole = merge(whole, Message(id="m", role="assistant", text=text[start:end], delta=True, new=new))
    assert whole == Message(id="m", role="assistant", text=text)


@given(messages)
def test_a_message_is_read_back_from_its_json(message):
    assert Message.from_json(json.loads(json.dumps(message.to_json()))) == message


@given(messages)
def test_the_json_of_a_message_is_canonical_and_says_only_what_is_set(message):
    found = message.to_json()
    assert canonical(found) == found
    assert set(found) == {f.name for f in fields(Message) if getattr(message, f.name) != f.default}


@given(messages, messages)
def test_one_without_delta_stands_for_the_whole(old, new):
    for piece in (replace(new, delta=False), replace(new, new=True)):
        assert merge(old, piece) == replace(piece, new=False, delta=False) == merge(None, piece)


def test_a_delta_adds_texts_and_lists_merges_props_and_settles():
    call = FunctionCall(id="1", name="f", arguments="{}")
    whole = merge(
        None, Message(id="m", text="a", props={"x": 1, "y": 1}, tool_calls=(call,), new=True, delta=True)
    )
    piece = Message(
        id="m", text="b", props={"y": 2}, tool_calls=(call,), type="markdown", done=True, delta=True
    )
    assert merge(whole, piece) == Message(
        id="m", text="ab", props={"x": 1, "y": 2}, tool_calls=(call, call), done=True
    )


def test_new_starts_a_message_over():
    shown = merge(Message(id="m", text="wrong"), Message(id="m", new=True, delta=True))
    assert shown == Message(id="m")


def test_text_is_a_message_and_a_message_is_itself():
    assert Message.from_json("hi") == Message(text="hi")
    message = Message(text="hi", data=1)
    assert Message.from_json(message) is message


def test_a_text_that_is_a_value_is_taken_as_json():
    assert Message.from_json({"text": {"a": [1]}}).text == '{"a":[1]}'
    assert Message.from_json({"text": None, "id": None}) == Message()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (5, "text or a mapping, not int"),
        (None, "text or a mapping, not NoneType"),
        ({"txt": "a"}, "no field `txt`"),
        ({"role": "robot"}, "not `robot`"),
        ({"id": 5}, "`id` of a message is a str, not int"),
        ({"props": []}, "`props` of a message is a mapping, not list"),
        ({"done": "yes"}, "`done` of a message is a bool"),
        ({"tool_calls": [{"arguments": "{}"}]}, "lacks a field"),
        ({"tool_calls": "x"}, "`tool_calls` of a message is a list"),
        ({"attachments": [{"size": 1}]}, "a attachment has no field `size`"),
    ],
)
def test_what_is_no_message_is_told(value, says):
    with pytest.raises(ValueError, match=says):
        Message.from_json(value)


def test_the_fields_of_a_message_are_named_in_order():
    assert tuple(f.name for f in fields(Message)) == MESSAGE_FIELDS
