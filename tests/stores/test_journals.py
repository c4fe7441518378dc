"""What holds for every journal. A subject is one line in `JOURNALS`: a function that makes an empty one."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from yaoci.contracts import Entry, Key
from yaoci.errors import Superseded
from yaoci.stores.memory import STORE, MemoryJournal

AT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
JOURNALS = {"memory": MemoryJournal}


@pytest.fixture(params=JOURNALS.values(), ids=list(JOURNALS))
def journal(request):
    return request.param()


def entry(key="t/r0", state="done", value=None, asked="h", at=AT):
    return Entry(Key(key), state, value, asked, at)


def test_the_store_of_the_folder_is_a_journal():
    assert STORE is MemoryJournal


def test_legs_of_a_run_are_counted_and_those_of_runs_are_apart(journal):
    async def main():
        legs = [await journal.claim(run) for run in ("a", "a", "b", "a")]
        assert [(leg.run, leg.number) for leg in legs] == [("a", 1), ("a", 2), ("b", 1), ("a", 3)]

    asyncio.run(main())


def test_a_new_run_has_nothing_recorded(journal):
    async def main():
        assert dict(await journal.load(await journal.claim("a"))) == {}

    asyncio.run(main())


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1.5, 2**62, "", "客服 🌍 \u0000 \u2028 \"'", [], {}, {"b": [1, {"a": None}], "a": "x"}],
)
@pytest.mark.parametrize("state", ["open", "due", "decided", "done", "failed"])
def test_what_is_written_is_read_back(journal, value, state):
    async def main():
        leg = await journal.claim("a")
        await journal.write(leg, entry(state=state, value=value))
        found = dict(await journal.load(await journal.claim("a")))
        assert found == {"t/r0": entry(state=state, value=value)}
        assert list(found["t/r0"].value or ()) == list(value or ()) if isinstance(value, dict) else True

    asyncio.run(main())


def test_what_was_written_is_not_changed_by_changing_the_value(journal):
    async def main():
        leg, value = await journal.claim("a"), {"list": [1]}
        await journal.write(leg, entry(value=value))
        value["list"].append(2)
        found = await journal.load(leg)
        found["t/r0"].value["list"].append(3)
        assert (await journal.load(leg))["t/r0"].value == {"list": [1]}

    asyncio.run(main())


def test_entries_keep_the_order_in_which_their_keys_came(journal):
    async def main():
        leg = await journal.claim("a")
        for key in ("t/b", "t/a", "t/c"):
            await journal.write(leg, entry(key, "open"))
        await journal.write(leg, entry("t/b", "done"))
        assert list(await journal.load(leg)) == ["t/b", "t/a", "t/c"]

    asyncio.run(main())


@pytest.mark.parametrize("first", ["open", "due"])
@pytest.mark.parametrize("then", ["done", "failed"])
def test_what_was_begun_gets_its_result(journal, first, then):
    async def main():
        leg = await journal.claim("a")
        await journal.write(leg, entry(state=first))
        await journal.write(leg, entry(state=then, value=1, at=AT + timedelta(seconds=1)))
        assert (await journal.load(leg))["t/r0"].state == then

    asyncio.run(main())


@pytest.mark.parametrize("first", ["done", "failed", "decided"])
@pytest.mark.parametrize("then", ["open", "done", "failed", "decided"])
def test_a_result_is_never_overwritten(journal, first, then):
    async def main():
        leg = await journal.claim("a")
        await journal.write(leg, entry(state=first, value=1))
        with pytest.raises(Superseded):
            await journal.write(leg, entry(state=then, value=2))
        assert (await journal.load(leg))["t/r0"].value == 1

    asyncio.run(main())


def test_an_older_leg_can_write_nothing_and_another_run_is_not_touched(journal):
    async def main():
        old, other = await journal.claim("a"), await journal.claim("b")
        new = await journal.claim("a")
        with pytest.raises(Superseded):
            await journal.write(old, entry("t/x"))
        await journal.write(new, entry("t/y"))
        await journal.write(other, entry("t/z"))
        assert list(await journal.load(new)) == ["t/y"]
        assert list(await journal.load(other)) == ["t/z"]

    asyncio.run(main())
