"""Steps, scopes, joins and sleeps: what is recorded, what runs again, and what never does."""

import asyncio
import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yaoci import engine as engine_module
from yaoci.contracts import Branch
from yaoci.engine import Engine, Late
from yaoci.errors import Diverged, Failed, Failure, Superseded
from yaoci.stores.memory import MemoryJournal
from yaoci.values import MAX_BYTES

START = datetime(2026, 3, 1, tzinfo=UTC)


def leg(journal, run="r", clock=lambda: START):
    return Engine.open(journal, run, clock)


async def entries(journal, run="r"):
    return dict(await journal.load(await journal.claim(run)))


def giving(value, seen=None):
    async def act():
        if seen is not None:
            seen.append(value)
        return value

    return act


def failing(kind="failed", text="no"):
    async def act():
        raise Failed.of(kind, text)

    return act


def never(seen):
    async def act():
        seen.append("ran")
        await asyncio.Event().wait()

    return act


async def failure_of(awaitable):
    with pytest.raises(Failed) as caught:
        await awaitable
    return caught.value.failure


# -- any program, killed anywhere ----------------------------------------------------------------------


class Killed(BaseException):
    """The process is gone."""


class Mortal:
    """A journal whose process dies at its nth write: before it is kept, or just after."""

    def __init__(self, inner, at, *, kept):
        self.inner, self.left, self.kept, self.dead = inner, at, kept, False

    claim = property(lambda self: self.inner.claim)
    load = property(lambda self: self.inner.load)

    async def write(self, leg, entry):
        if self.dead:
            raise Killed
        self.left -= 1
        if self.left == 0:
            self.dead = True
            if self.kept:
                await self.inner.write(leg, entry)
            raise Killed
        await self.inner.write(leg, entry)


class World:
    """What the steps of a program do to things outside; it notices what must not happen."""

    def __init__(self):
        self.done = {}
        self.alive = lambda: True
        self.recorded = {}

    async def touch(self, key, effect):
        if not self.alive():
            raise Killed
        assert key not in self.recorded, f"{key} has its result and ran again"
        self.done[key] = self.done.get(key, 0) + 1
        assert effect != "write" or self.done[key] == 1, f"the write {key} ran twice"


async def play(engine, world, op, key):
    """Run a program, and return what comes of it."""
    kind, *rest = op
    if kind == "step":
        return await play_step(engine, world, key, *rest)
    if kind == "sleep":
        return (await engine.sleep(key, 0)).value
    if kind == "catch":
        try:
            return await play(engine, world, rest[0], f"{key}/0")
        except Failed as error:
            return error.failure.kind
    works = [lambda op=op, i=i: play(engine, world, op, f"{key}/{i}") for i, op in enumerate(rest[0])]
    if kind == "scope":

        async def body():
            return [await work() for work in works]

        return (await engine.scope(key, body, asked=None)).value
    if kind == "gather":  # as a Python function would

        async def together():
            found = await asyncio.gather(*(work() for work in works), return_exceptions=True)
            for one in found:
                if isinstance(one, BaseException):
                    raise one
            return found

        return (await engine.scope(key, together, asked=None)).value
    return await play_join(engine, works, key, kind)


async def play_step(engine, world, key, effect, fails, turns):
    async def act():
        await world.touch(key, effect)
        for _ in range(turns):
            await asyncio.sleep(0)
        if fails:
            raise Failed.of("failed", f"no {key}")
        return (key, turns)

    return (await engine.step(key, act, effect=effect, asked=[effect, turns])).value


async def play_join(engine, works, key, until):
    branches = await engine.join(key, works, until=until, limit=2 if len(works) > 3 else None)
    if until == "all" or all(branch.state == "failed" for branch in branches):
        for branch in branches:
            if branch.failure:
                raise Failed(branch.failure)
        return [branch.value for branch in branches]
    decided = next(branch for branch in branches if branch.state != "dropped")
    if decided.failure:
        raise Failed(decided.failure)
    return decided.value


async def outcome(engine, world, program):
    try:
        return await play(engine, world, program, "t")
    except Failed as error:
        return f"failed: {error.failure.text}"


async def run_leg(journal, world, program, mortal=None):
    """Run one leg to its end, or to its death; the world knows what the leg found recorded."""
    known = await entries(journal)
    world.recorded = {key for key, entry in known.items() if entry.state in {"done", "failed"}}
    world.alive = (lambda: not mortal.dead) if mortal else (lambda: True)
    try:
        return await outcome(await leg(mortal or journal), world, program)
    except Killed:
        return None


steps = st.tuples(
    st.just("step"), st.sampled_from(["read", "write", "idempotent"]), st.booleans(), st.integers(0, 3)
)
programs = st.recursive(
    steps | st.just(("sleep",)),
    lambda inner: (
        st.tuples(
            st.sampled_from(["scope", "scope", "gather", "all", "any", "race"]),
            st.lists(inner, min_size=1, max_size=4),
        )
        | st.tuples(st.just("catch"), inner)
    ),
    max_leaves=9,
)


def races(op):
    kind, *rest = op
    if kind in {"any", "race"}:
        return True
    return any(races(inner) for part in rest if isinstance(part, list) for inner in part) or (
        kind == "catch" and races(rest[0])
    )


async def story(program):
    calm, calm_world = MemoryJournal(), World()
    answer = await run_leg(calm, calm_world, program)
    most = 2 * len(await entries(calm))  # a step is opened and ended
    kills = 0
    for kept, at in itertools.product((True, False), range(1, most + 1)):
        journal, world = MemoryJournal(), World()
        mortal = Mortal(journal, at, kept=kept)
        await run_leg(journal, world, program, mortal)
        kills += mortal.dead
        again = Mortal(journal, 1 + at % 3, kept=not kept)
        await run_leg(journal, world, program, again)
        final = await run_leg(journal, world, program)
        ran = dict(world.done)
        assert await run_leg(journal, world, program) == final
        assert world.done == ran, "replaying a finished journal ran something"
        unknown = any((e.value or {}).get("kind") == "unknown" for e in (await entries(journal)).values()
                      if e.state == "failed")  # fmt: skip
        if not unknown and not races(program):
            assert final == answer
            assert set(world.done) == set(calm_world.done)
    assert kills or not most


@settings(max_examples=60, deadline=None)
@given(program=programs)
def test_a_program_killed_anywhere_is_finished_without_doing_anything_twice(program):
    asyncio.run(story(program))


# -- steps -----------------------------------------------------------------------------------------------


def test_a_recorded_step_does_not_run_again():
    async def main():
        journal, seen = MemoryJournal(), []
        for _ in range(2):
            found = await (await leg(journal)).step("k", giving(5, seen), effect="read", asked={"a": 1})
            assert found.value == 5
            assert found.at == START
        assert seen == [5]

    asyncio.run(main())


def test_a_recorded_failure_is_raised_again_as_it_was():
    async def act():
        raise Failed(engine_module.Failure("rate_limit", "slow down", "a.yaml:3", 2.5, {"x": [1]}))

    async def main():
        journal = MemoryJournal()
        live = await failure_of((await leg(journal)).step("k", act, effect="read", asked=None))
        replayed = await failure_of((await leg(journal)).step("k", giving(1), effect="read", asked=None))
        assert live == replayed

    asyncio.run(main())


@pytest.mark.parametrize("make", [lambda: None, MemoryJournal])
def test_a_value_is_canonical_live_and_replayed(make):
    async def main():
        journal, found = make(), []
        for _ in range(2):
            act = giving({"pair": (1, "\ud83d"), "bytes": b"ab", "ok": True})
            found.append((await (await leg(journal)).step("k", act, effect="read", asked=None)).value)
        assert found == [{"pair": [1, "�"], "bytes": "YWI=", "ok": True}] * 2

    asyncio.run(main())


@pytest.mark.parametrize("make", [lambda: None, MemoryJournal])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), {1: 2}, object(), "x" * (MAX_BYTES + 1), {1, 2}])
def test_what_json_cannot_hold_is_a_bad_result(make, bad):
    async def main():
        engine = await leg(make())
        failure = await failure_of(engine.step("k", giving(bad), effect="write", asked=None))
        assert failure.kind == "bad_result"

    asyncio.run(main())


def test_another_request_at_a_recorded_key_ends_the_leg():
    async def main():
        journal = MemoryJournal()
        await (await leg(journal)).step("t/k", giving(1), effect="read", asked={"a": 1})
        with pytest.raises(Diverged, match="t/k"):
            await (await leg(journal)).step("t/k", giving(1), effect="read", asked={"a": 2})
        with pytest.raises(Diverged):
            await (await leg(journal)).scope("t/k", giving(1), asked={"a": 3})

    asyncio.run(main())


def test_a_request_is_compared_in_its_canonical_form():
    async def main():
        journal = MemoryJournal()
        await (await leg(journal)).step("k", giving(1), effect="read", asked={"a": (1,), "b": 2})
        await (await leg(journal)).step("k", giving(1), effect="read", asked={"a": [1], "b": 2})

    asyncio.run(main())


def test_a_write_found_open_is_unknown_and_stays_so():
    async def main():
        journal, seen = MemoryJournal(), []
        with pytest.raises(Killed):
            await (await leg(Mortal(journal, 1, kept=True))).step(
                "k", giving(1, seen), effect="write", asked=None
            )
        for _ in range(2):
            engine = await leg(journal)
            failure = await failure_of(engine.step("k", giving(1, seen), effect="write", asked=None))
            assert failure.kind == "unknown"
        assert seen == []
        assert (await entries(journal))["k"].state == "failed"

    asyncio.run(main())


@pytest.mark.parametrize("effect", ["read", "idempotent"])
def test_what_may_be_repeated_leaves_no_open_entry(effect):
    async def main():
        journal = MemoryJournal()
        with pytest.raises(Killed):
            await (await leg(Mortal(journal, 1, kept=False))).step("k", giving(1), effect=effect, asked=None)
        assert await entries(journal) == {}
        assert (await (await leg(journal)).step("k", giving(2), effect=effect, asked=None)).value == 2

    asyncio.run(main())


def test_a_time_out_is_recorded_and_replayed_though_the_work_would_be_in_time():
    async def main():
        journal, seen = MemoryJournal(), []
        live = await failure_of(
            (await leg(journal)).step("k", never(seen), effect="read", asked=1, timeout=0.01)
        )
        assert live.kind == "timeout"
        assert "0.01 s" in live.text
        engine = await leg(journal)
        assert live == await failure_of(engine.step("k", giving(1, seen), effect="read", asked=1, timeout=9))
        assert seen == ["ran"]

    asyncio.run(main())


def test_a_write_that_takes_too_long_may_have_happened():
    async def main():
        engine = await leg(MemoryJournal())
        failure = await failure_of(engine.step("k", never([]), effect="write", asked=None, timeout=0.01))
        assert failure.kind == "unknown"

    asyncio.run(main())


def test_work_that_cancels_itself_has_failed_and_the_run_goes_on():
    async def act():
        raise asyncio.CancelledError

    async def main():
        for journal in (None, MemoryJournal()):
            engine = await leg(journal)
            assert (await failure_of(engine.step("k", act, effect="write", asked=None))).kind == "exception"

    asyncio.run(main())


def test_an_old_leg_is_fenced_at_its_next_write_and_the_new_one_goes_on():
    async def main():
        journal, seen = MemoryJournal(), []
        old = await leg(journal)
        await old.step("a", giving(1, seen), effect="write", asked=None)
        new = await leg(journal)
        with pytest.raises(Superseded):
            await old.step("b", giving(2, seen), effect="write", asked=None)
        assert seen == [1]
        await new.step("b", giving(3, seen), effect="write", asked=None)
        assert seen == [1, 3]

    asyncio.run(main())


# -- cancelling ------------------------------------------------------------------------------------------


async def cancelled_when(engine, started, act, **how):
    """Start a step, cancel it once `started` is set, and return when it is over."""
    task = asyncio.ensure_future(engine.step("k", act, asked=None, **how))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("ends", ["done", "failed"])
def test_a_cancel_in_the_tick_in_which_a_step_ended_does_not_lose_its_result(ends):
    async def main():
        journal, started = MemoryJournal(), asyncio.Event()

        async def act():
            started.set()
            await asyncio.sleep(0)  # the cancel is sent now
            if ends == "failed":
                raise Failed.of("failed", "no")
            return 7

        await cancelled_when(await leg(journal), started, act, effect="write")
        assert (await entries(journal))["k"].state == ends

    asyncio.run(main())


def test_a_cancel_waits_for_a_journal_that_is_writing():
    class Slow(MemoryJournal):
        async def write(self, leg, entry):
            writing.set()
            await gate.wait()
            await super().write(leg, entry)

    async def main():
        task = asyncio.ensure_future((await leg(journal)).step("k", giving(1), effect="read", asked=None))
        await writing.wait()
        task.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        assert not task.done()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await entries(journal))["k"].state == "done"

    gate, writing, journal = asyncio.Event(), asyncio.Event(), Slow()
    asyncio.run(main())


def test_a_running_write_may_finish_when_it_is_cancelled():
    async def main():
        journal, started = MemoryJournal(), asyncio.Event()

        async def act():
            started.set()
            for _ in range(9):
                await asyncio.sleep(0)
            return "charged"

        await cancelled_when(await leg(journal), started, act, effect="write")
        assert (await entries(journal))["k"].value == "charged"

    asyncio.run(main())


def test_a_write_that_is_cut_off_is_unknown_and_a_read_leaves_no_trace(monkeypatch):
    monkeypatch.setattr(engine_module, "GRACE", 0.01)

    async def main():
        for effect, state in (("write", "failed"), ("read", None)):
            journal, started = MemoryJournal(), asyncio.Event()

            async def act(started=started):
                started.set()
                await asyncio.Event().wait()

            await cancelled_when(await leg(journal), started, act, effect=effect)
            found = (await entries(journal)).get("k")
            assert (found and found.state) == state
            assert found is None or found.value["kind"] == "unknown"

    asyncio.run(main())


@pytest.mark.parametrize("make", [lambda: None, MemoryJournal])
def test_work_that_swallows_the_cancel_is_left_behind(make, monkeypatch):
    monkeypatch.setattr(engine_module, "GRACE", 0.05)

    async def main():
        journal = make()
        gate, started = asyncio.Event(), asyncio.Event()

        async def act():
            started.set()
            while not gate.is_set():
                try:
                    await gate.wait()
                except asyncio.CancelledError:
                    ended.append("swallowed")
            ended.append("late")

        engine = await leg(journal)
        await cancelled_when(engine, started, act, effect="read")
        assert ended == ["swallowed"]
        gate.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert ended == ["swallowed", "late"]
        assert journal is None or await entries(journal) == {}

    ended = []
    asyncio.run(main())


# -- scopes and deadlines --------------------------------------------------------------------------------


def test_a_closed_scope_is_never_entered_again():
    async def main():
        journal, seen = MemoryJournal(), []
        for _ in range(2):
            found = await (await leg(journal)).scope("s", giving((1, 2), seen), asked="x")
            assert found.value == [1, 2]
        assert len(seen) == 1

    asyncio.run(main())


def test_a_scope_that_failed_or_was_late_stays_so():
    async def main():
        journal, seen = MemoryJournal(), []
        for _ in range(2):
            engine = await leg(journal)
            late = await failure_of(engine.scope("late", never(seen), asked=None, timeout=0.01))
            failed = await failure_of(engine.scope("failed", failing(), asked=None))
            assert (late.kind, failed.kind) == ("timeout", "failed")
        assert seen == ["ran"]

    asyncio.run(main())


LATE = Failure("timeout", "the turn took too long", "a.yaml:3")


def test_a_deadline_records_only_that_it_passed():
    async def main():
        journal, seen = MemoryJournal(), []
        engine = await leg(journal)
        assert await engine.deadline("fine", giving(1, seen), 9, LATE) == 1
        assert (await failure_of(engine.deadline("own", failing(), 9, LATE))).kind == "failed"
        with pytest.raises(Late) as caught:
            await engine.deadline("late", never(seen), 0.01, LATE)
        assert caught.value.failure == LATE
        assert set(await entries(journal)) == {"late"}
        again = await leg(journal)
        with pytest.raises(Late) as caught:
            await again.deadline("late", giving(1, seen), 9, LATE)
        assert caught.value.failure == LATE
        assert seen == [1, "ran"]

    asyncio.run(main())


def test_a_deadline_within_is_not_taken_for_the_one_around_it():
    async def main():
        journal = MemoryJournal()
        engine = await leg(journal)

        async def body():
            return await engine.deadline("inner", never([]), 0.01, LATE)

        other = LATE._replace(text="the outer one")
        with pytest.raises(Failed) as caught:
            await engine.deadline("outer", body, 9, other)
        assert (type(caught.value), caught.value.failure) == (Failed, LATE)
        assert set(await entries(journal)) == {"inner"}

    asyncio.run(main())


def test_a_cancelled_scope_is_not_closed():
    async def main():
        journal, started = MemoryJournal(), asyncio.Event()

        async def body():
            started.set()
            await asyncio.Event().wait()

        for timeout in (None, 9):
            started.clear()
            task = asyncio.ensure_future((await leg(journal)).scope("s", body, asked=None, timeout=timeout))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await entries(journal) == {}

    asyncio.run(main())


# -- joins -------------------------------------------------------------------------------------------------


async def join(engine, acts, **how):
    def branch(index, act):
        async def run():
            return (await engine.step(f"j/p{index}", act, effect="read", asked=None)).value

        return run

    return await engine.join("j", [branch(i, act) for i, act in enumerate(acts)], **how)


def test_all_lets_running_branches_end_when_one_fails():
    async def main():
        found = await join(await leg(None), [failing(), giving(2), failing("limit")], until="all")
        assert [branch.state for branch in found] == ["failed", "done", "failed"]
        assert found[1].value == 2
        assert found[2].failure.kind == "limit"
        assert await (await leg(None)).join("j", [], until="all") == []

    asyncio.run(main())


def test_any_takes_the_first_that_succeeds_and_race_the_first_that_ends():
    async def main():
        seen = []
        acts = [failing(), giving(2), never(seen)]
        found = await join(await leg(None), acts, until="any")
        assert found == [Branch("dropped"), Branch("done", 2), Branch("dropped")]
        found = await join(await leg(None), acts, until="race")
        assert [branch.state for branch in found] == ["failed", "dropped", "dropped"]
        found = await join(await leg(None), [failing(), failing("limit")], until="any")
        assert [branch.failure.kind for branch in found] == ["failed", "limit"]

    asyncio.run(main())


def test_the_winner_is_recorded_and_only_it_is_entered_on_a_replay():
    async def main():
        journal, seen = MemoryJournal(), []
        live = await join(await leg(journal), [never(seen), giving(2)], until="race")
        recorded = await entries(journal)
        assert recorded["j"].state == "decided"
        assert recorded["j"].value == 1
        again = await join(await leg(journal), [giving(1, seen), giving(2, seen)], until="race")
        assert again == live
        assert seen == ["ran"]

    asyncio.run(main())


def test_a_loser_starts_nothing_more_and_its_running_write_may_finish():
    async def main():
        journal, seen = MemoryJournal(), []
        engine, running = await leg(journal), asyncio.Event()

        async def charge():
            running.set()
            for _ in range(9):
                await asyncio.sleep(0)
            return "charged"

        async def loser():
            await engine.step("j/p0/0", charge, effect="write", asked=None)
            await engine.step("j/p0/1", giving("shipped", seen), effect="write", asked=None)

        async def winner():
            await running.wait()

        found = await engine.join("j", [loser, winner], until="race")
        assert [branch.state for branch in found] == ["dropped", "done"]
        assert (await entries(journal))["j/p0/0"].value == "charged"
        assert seen == []

    asyncio.run(main())


def test_at_most_so_many_branches_run_at_once():
    async def main():
        running, most = 0, []

        async def act():
            nonlocal running
            running += 1
            most.append(running)
            await asyncio.sleep(0)
            running -= 1

        await join(await leg(None), [act] * 7, until="all", limit=3)
        assert max(most) == 3

    asyncio.run(main())


@pytest.mark.parametrize("until", ["all", "any", "race"])
def test_a_leg_that_ends_in_one_branch_ends_the_others(until):
    async def main():
        journal, cut = MemoryJournal(), []
        engine, waiting = await leg(journal), asyncio.Event()

        async def long():
            try:
                waiting.set()
                await asyncio.Event().wait()
            finally:
                cut.append("cut")

        async def outdated():
            await waiting.wait()
            await journal.claim("r")
            return (await engine.step("j/p1", giving(1), effect="read", asked=None)).value

        with pytest.raises(Superseded):
            await engine.join("j", [long, outdated], until=until)
        assert cut == ["cut"]
        assert "j" not in await entries(journal)

    asyncio.run(main())


# -- time --------------------------------------------------------------------------------------------------


def test_a_sleep_that_was_begun_waits_only_for_what_is_left():
    async def main():
        journal, now = MemoryJournal(), [START]
        clock = lambda: now[0]  # noqa: E731
        task = asyncio.ensure_future((await leg(journal, clock=clock)).sleep("s", 3600))
        while "s" not in journal._entries.get("r", {}):  # noqa: ASYNC110 - the journal sets no event
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        now[0] += timedelta(hours=2)  # the time has passed while nothing ran
        await (await leg(journal, clock=clock)).sleep("s", 3600)
        assert (await entries(journal))["s"].state == "done"
        now[0] += timedelta(hours=9)
        assert (await (await leg(journal, clock=clock)).sleep("s", 3600)).at == START + timedelta(hours=2)

    asyncio.run(main())


def test_the_time_is_that_of_the_last_entry_live_and_replayed():
    async def main():
        journal, ticks = MemoryJournal(), itertools.count()
        clock = lambda: START + timedelta(minutes=next(ticks))  # noqa: E731
        engine = await leg(journal, clock=clock)
        first = await engine.step("a", giving(1), effect="read", asked=None)
        assert engine.heard == first.at
        again = await leg(journal, clock=clock)
        assert again.heard > first.at
        await again.step("a", giving(1), effect="read", asked=None)
        assert again.heard == first.at

    asyncio.run(main())
