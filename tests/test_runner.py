"""The door: whole runs, their keys, their kills and resumes, and their streams."""

import asyncio

import pytest

from yaoci import Failed, Runner
from yaoci.models.scripted import Scripted
from yaoci.stores.memory import MemoryJournal

from .project import project

TALKER = "model: local\n"


def runner(registry, script=(), **more):
    return Runner(registry, models={"local": Scripted(list(script))}, **more)


def call(registry, script, target, *args, **more):
    return asyncio.run(runner(registry, script).call(target, *args, **more))


def failure(registry, script, target, *args, **more):
    with pytest.raises(Failed) as caught:
        call(registry, script, target, *args, **more)
    return caught.value.failure


async def events_of(running, *args, **more):
    async with running.stream(*args, **more) as stream:
        return [event async for event in stream]


def stream(registry, script, *args, **more):
    return asyncio.run(events_of(runner(registry, script), *args, **more))


async def keys(journal, run="r"):
    found = await journal.load(await journal.claim(run))
    return [key for key, entry in found.items()]


# -- the grammar of keys -------------------------------------------------------------------------------

EVERYTHING = {
    "assistants/first/assistant.yaml": """
        model: local
        tools: [shop.find, {assistant: second}, shop.flow]
        hooks:
          create: [note, note]
          tool: note
          result: note
          done: [note, {name: over, when: event.rounds == 3}]
        methods:
          note: {value: noted}
          over: {value: {then: next, assistant: third}}
        """,
    "yaoci.yaml": "models: {slow: local}\n",
    "assistants/second.yaml": """
        model: local
        description: Talks about anything.
        hooks: {done: note}
        methods: {note: {python: note, effect: read}}
        """,
    "assistants/second.py": "def note(message):\n    return 1\n",
    "assistants/third.yaml": """
        model: [local, slow]
        hooks: {fail: sorry, done: note}
        methods: {note: {value: 1}, sorry: {value: {then: answer, message: sorry}}}
        """,
    "processes/shop.yaml": """
        methods:
          find: {description: Finds., value: found, parameters: {type: object, properties: {id: {type: string}}}}
          flow:
            description: Flows.
            steps:
              - {process: find, args: [A1]}
              - {process: twice, timeout: 9s}
              - {assistant: second, input: hi, callback: find}
          twice: {python: twice, effect: read}
        """,
    "processes/shop.py": """
        async def twice(context):
            await context.process("find", ["A1"])
            await context.process("find", ["A2"], key="named")
            return (await context.call("second", "hello", callback="find")).text
        """,
}

SCRIPT = [
    [{"call": {"shop_find": {"id": "A1"}, "second": {"input": "hi"}}}],  # first: round 0
    "I am second",
    [{"call": {"shop_flow": {}}}],  # round 1
    "called from python",
    "called from a step",
    "I am first",  # round 2, and over to third, whose models both fail
    [{"fail": {"kind": "overloaded"}}],
]


def test_the_keys_of_a_run_are_these(tmp_path):
    """The grammar of keys, version 1: another one makes kept runs unreadable."""
    registry = project(tmp_path, EVERYTHING)
    journal = MemoryJournal()

    async def main():
        running = Runner(
            registry, models={"local": Scripted(SCRIPT), "slow": Scripted([[{"fail": {"kind": "auth"}}]])},
            journal=journal,
        )  # fmt: skip
        outcome = await running.call("first", "go", callback=[len_of, "shop.find"], run="r")
        assert outcome.message.text == "sorry"
        return await keys(journal)

    def len_of(message):
        return len(message.text)

    assert asyncio.run(main()) == [
        "t/create.0", "t/create.1",
        "t/r0/model~0",
        "t/r0/tool.0/pre.0", "t/r0/tool.1/pre.0",
        "t/r0/tool.0",
        "t/r0/tool.1/t/r0/model~0", "t/r0/tool.1/t/done~0.0", "t/r0/tool.1/t", "t/r0/tool.1",
        "t/r0/tool.0/post.0", "t/r0/tool.1/post.0",
        "t/r1/model~0",
        "t/r1/tool.0/pre.0",
        "t/r1/tool.0/steps.0",
        "t/r1/tool.0/steps.1/call.0", "t/r1/tool.0/steps.1/named",
        "t/r1/tool.0/steps.1/call.1/r0/model~0", "t/r1/tool.0/steps.1/call.1/done~0.0",
        "t/r1/tool.0/steps.1/call.1", "t/r1/tool.0/steps.1/call.1/callback.0",
        "t/r1/tool.0/steps.1", "t/r1/tool.0/steps.1/time",
        "t/r1/tool.0/steps.2/r0/model~0", "t/r1/tool.0/steps.2/done~0.0", "t/r1/tool.0/steps.2",
        "t/r1/tool.0/steps.2/callback.0",
        "t/r1/tool.0",
        "t/r1/tool.0/post.0",
        "t/r2/model~0",
        "t/done~0.0", "t/done~0.1",
        "t/next.1/r3/model~0", "t/next.1/r3/model~1", "t/next.1/fail.0", "t/next.1/done~0.0",
        "t",
        "t/callback.0", "t/callback.1",
    ]  # fmt: skip


def test_a_hand_over_to_a_process_and_one_by_the_callback_have_keys_of_their_own(tmp_path):
    registry = project(tmp_path, {
        "assistants/a.yaml": """
            model: local
            hooks: {done: over}
            methods: {over: {value: {then: next, process: shop.last}}}
            """,
        "processes/shop.yaml": """
            methods:
              last: {value: the last word}
              over: {value: {then: next, process: shop.end}}
              end: {value: the end}
            """,
    })  # fmt: skip
    journal = MemoryJournal()

    async def main():
        outcome = await runner(registry, ["hi"], journal=journal).call("a", "go", callback="shop.over", run="r")
        return outcome.output, await keys(journal)

    assert asyncio.run(main()) == (
        "the end",
        ["t/r0/model~0", "t/done~0.0", "t/next", "t", "t/callback.0", "t/callback/next"],
    )


# -- killed anywhere, and resumed ----------------------------------------------------------------------


class Killed(BaseException):
    """The process is gone."""


class Mortal(MemoryJournal):
    """A journal whose process dies at its nth write, before or after it is kept; `revive` it for the next leg."""

    def __init__(self, at, *, kept):
        super().__init__()
        self.left, self.kept = at, kept
        self.dead = False

    def revive(self, at=0):
        self.left, self.dead = at, False

    async def write(self, leg, entry):
        self.left -= 1
        if self.dead or (self.left == 0 and not self.kept):
            self.dead = True
            raise Killed
        await super().write(leg, entry)
        if self.left == 0:
            self.dead = True
            raise Killed


class ByRound:
    """A model whose answer depends on what it was told alone, as a resumed one's does."""

    capabilities = frozenset({"text", "tools"})

    def __init__(self, *script):
        self.script = script

    async def stream(self, request):
        said = sum(message.role == "assistant" for message in request.messages)
        answer = Scripted([self.script[said]])
        async for delta in answer.stream(request):
            yield delta

    async def close(self):
        pass


SHOP = {
    "yaoci.yaml": "models: {second: local}\n",
    "assistants/clerk.yaml": """
        model: local
        tools: [shop.find, shop.price, shop.charge, {assistant: writer}, shop.flow, shop.broken]
        hooks: {create: shop.begin, result: shop.seen, done: [shop.seen, close]}
        methods:
          close: {steps: [{set: {closed: true}}, {return: {then: replace, message: "{{ message.text }} {{ shared }}"}}]}
        """,
    "assistants/writer.yaml": """
        model: second
        tools: [shop.find]
        description: Writes.
        """,
    "processes/shop.py": """
        from pathlib import Path
        from yaoci import Failed, process

        TRAIL = Path(__file__).parent.parent / "trail"

        def trail(context):
            with TRAIL.open("a") as file:
                file.write(context.key + "\\n")

        @process(effect="write")
        def begin(context) -> None:
            "Begins."
            trail(context)
            context.shared["begun"] = 1

        @process(effect="read")
        async def find(id: str, context) -> str:
            "Finds."
            trail(context)
            return "found " + id

        @process(effect="idempotent")
        def price(id: str, context) -> int:
            "Prices."
            trail(context)
            return 5

        @process
        def charge(id: str, context) -> str:
            "Charges."
            trail(context)
            context.shared["charged"] = id
            return "charged"

        @process(effect="read")
        def broken(context):
            "Breaks."
            trail(context)
            context.shared["broken"] = True
            raise Failed.of("missing", "it is not there")

        @process(effect="read")
        async def seen(context):
            "Sees."
            trail(context)

        @process(effect="idempotent")
        async def several(context) -> list:
            "Does several."
            trail(context)
            return [await context.process("find", {"id": "B"}), await context.process("charge", {"id": "C"}, key="c")]
        """,
    "processes/flows.yaml": """
        methods:
          all:
            steps:
              - {id: a, process: shop.several, timeout: 1m}
              - {process: shop.broken, on_error: skip}
              - {set: {flow: "{{ steps.a }}"}}
              - {return: "{{ shared }}"}
        """,
}
SHOP["assistants/clerk.yaml"] = SHOP["assistants/clerk.yaml"].replace("shop.flow", "flows.all")

CLERK = (
    [{"call": {"shop_find": {"id": "A"}, "shop_price": {"id": "A"}, "shop_charge": {"id": "A"}}}],
    [{"call": {"writer": {"input": "write"}, "flows_all": {}, "shop_broken": {}, "nothing": {}}}],
    "Done:",
)
WRITER = ([{"call": {"shop_find": {"id": "W"}}}], "written")


def resumed(registry, journal):
    running = Runner(registry, models={"local": ByRound(*CLERK), "second": ByRound(*WRITER)}, journal=journal)
    return running.call("clerk", "go", run="r", callback="shop.seen")


def test_a_run_killed_at_any_entry_goes_on_and_does_nothing_twice(tmp_path):
    registry = project(tmp_path, SHOP)
    trail = tmp_path / "trail"

    async def leg(journal):
        """Run a leg; return the outcome or None, and what it did."""
        before = dict(await journal.load(await journal.claim("r")))
        recorded = {f"r/{key}" for key, entry in before.items() if entry.state in {"done", "failed"}}
        trail.write_text("")
        try:
            done = await resumed(registry, journal)
            outcome = (done.message, done.output)
        except Failed as error:  # where the interruption hit what the run cannot do without
            outcome = (error.failure.kind, error.failure.text)
        except Killed:
            outcome = None
        did = trail.read_text().split()
        assert not recorded & set(did), "what has its result ran again"
        return outcome, did

    async def main():
        calm = Mortal(0, kept=True)
        undisturbed, did = await leg(calm)
        assert len(did) == len(set(did))
        writes = {key for key in did if key.endswith(("create.0", "r0/tool.2", "/c"))}
        assert len(writes) == 3
        entries = await calm.load(await calm.claim("r"))
        written = len(entries) + sum(f"r/{key}" in writes for key in entries)
        for kept in (True, False):
            for at in range(1, written + 1):
                journal = Mortal(at, kept=kept)
                first, done = await leg(journal)
                assert first is None
                journal.revive(1 + at % 5)
                done += (await leg(journal))[1]
                journal.revive()
                final, more = await leg(journal)
                done += more
                assert max(done.count(key) for key in writes) <= 1
                again, nothing = await leg(journal)
                assert nothing == []
                assert again == final
                found = (await journal.load(await journal.claim("r"))).values()
                if not any(e.state == "failed" and e.value["kind"] == "unknown" for e in found):
                    assert final == undisturbed
                    assert set(done) == set(did)

    asyncio.run(main())
