import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yaoci.errors import Failed
from yaoci.sse import MAX_EVENT, Event, EventReader, form_of

NASTY = "你好 🌍 a\u2028b\u2029c\x85d é"


def read(body, size=None):
    reader, found = EventReader(), []
    for start in range(0, len(body), size or max(len(body), 1)):
        found += reader.feed(body[start : start + (size or len(body))])
    return found + reader.end()


@pytest.mark.parametrize("size", [None, 1, 2, 3, 7])
@pytest.mark.parametrize(
    ("body", "events"),
    [
        ("data: a\n\ndata: b\n\n", [Event("a"), Event("b")]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", [Event("a"), Event("b")]),
        ("data: a\r\rdata: b\r\r", [Event("a"), Event("b")]),
        ("data:a\n\ndata:  b\n\n", [Event("a"), Event(" b")]),
        ("data: {\ndata: }\n\n", [Event("{\n}")]),
        ("data\n\ndata: x\ndata\n\n", [Event(""), Event("x\n")]),
        ("event: e\ndata: a\n\n", [Event("a", "e")]),
        ("data: a\nevent: e\n\ndata: b\n\n", [Event("a", "e"), Event("b")]),
        ("event: e\n\ndata: a\n\n", [Event("a")]),
        (": ping\n\n:\nid: 1\nretry: 5\nwhat: ever\ndata: a\n\n", [Event("a")]),
        ("\ufeffdata: a\n\n", [Event("a")]),
        ("data: a\n\n\n\n\ndata: b\n\n\n", [Event("a"), Event("b")]),
        (f"data: {NASTY}\n\n", [Event(NASTY)]),
        ("data: a\n\ndata: b\n", [Event("a"), Event("b", "", "cut")]),
        ("data: a\n\ndata: b", [Event("a"), Event("b", "", "cut")]),
        ("data: a\n\nda", [Event("a")]),
        ("", []),
    ],
)
def test_events_are_read_however_the_bytes_are_cut(body, events, size):
    assert read(body.encode(), size) == events


@given(
    texts=st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    size=st.integers(1, 40),
)
@settings(deadline=None)
def test_what_is_written_as_events_is_read_as_events(texts, end, size):
    body = "".join(f"data: {text}{end}{end}" for text in texts).encode()
    assert [event.data for event in read(body, size)] == texts


def test_an_event_comes_with_its_last_line_end_and_not_later():
    reader = EventReader()
    assert reader.feed(b"data: a\r\n\r") == [Event("a")]
    assert reader.feed(b"\ndata: b\n\n") == [Event("b")]


def test_a_line_in_many_pieces_is_joined_once():
    class Counted(bytes):
        copied = 0

        def __radd__(self, other):
            Counted.copied += len(other)
            return bytes(other) + bytes(self)

    reader = EventReader()
    reader.feed(Counted(b"data: "))
    for _ in range(1000):
        assert reader.feed(Counted(b"x" * 64)) == []
    assert len(reader._parts) == 1001
    assert reader.feed(b"\n\n") == [Event("x" * 64_000)]
    assert Counted.copied == 0


def test_an_event_that_is_too_large_is_refused():
    reader = EventReader()
    half = b"x" * (MAX_EVENT // 2)
    reader.feed(b"data: " + half + b"\n")
    with pytest.raises(Failed) as caught:
        reader.feed(b"data: " + half)
    assert caught.value.failure.kind == "bad_response"


def test_many_events_and_comments_may_be_more_than_one_event():
    reader = EventReader()
    block = b": ping\n" * 100_000 + b"data: " + b"a" * 1_000_000 + b"\n\n"
    for _ in range(MAX_EVENT // 1_000_000 + 2):
        assert [len(event.data) for event in reader.feed(block)] == [1_000_000]


def test_bytes_that_are_not_utf8_are_replaced():
    assert read(b"data: a\xffb\n\n") == [Event("a\ufffdb")]


@pytest.mark.parametrize(
    ("head", "declared", "form"),
    [
        (b"", True, None),
        (b"\xef\xbb", True, None),
        (b'{"a"', True, "body"),
        (b"[", False, "body"),
        (b"\xef\xbb\xbf {", False, "body"),
        (b"da", False, None),
        (b"data: x", False, "events"),
        (b": ping", False, "events"),
        (b"event:", False, "events"),
        (b"denied by", False, "text"),
        (b"<html>", False, "text"),
        (b"retry: 1", False, "events"),
        (b"x", True, "events"),
    ],
)
def test_the_form_of_an_answer_is_seen_by_how_it_begins(head, declared, form):
    assert form_of(head, declared) == form
