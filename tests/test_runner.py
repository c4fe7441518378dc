"""The door: whole runs, their keys, their kills and resumes, and their streams."""

import asyncio
from contextlib import suppress

import pytest

from yaoci import Failed, Message, Runner, UsageError
from yaoci.contracts import Delta
from yaoci.errors import Diverged, Superseded
from yaoci.messages import merge
from yaoci.models.scripted import Scripted
from yaoci.stores.memory import MemoryJournal
from yaoci.stream import BEHIND

from .project import loaded, project

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


async def read_all(events, kinds):
    async for event in events:
        kinds.append(event.kind)


def stream(registry, script, *args, **more):
    return asyncio.run(events_of(runner(registry, script), *args, **more))


async def until(condition):
    """Let others run until something holds that they bring about."""
    while not condition():  # noqa: ASYNC110 - what is waited for has no event to set
        await asyncio.sleep(0)


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
        outcome = await runner(registry, ["hi"], journal=journal).call(
            "a", "go", callback="shop.over", run="r"
        )
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


def test_a_run_that_is_resumed_with_another_input_ends_the_leg(tmp_path):
    registry, journal = project(tmp_path, {"assistants/a.yaml": TALKER}), MemoryJournal()

    async def main():
        await runner(registry, ["hi"], journal=journal).call("a", "one", run="r")
        with pytest.raises(Diverged, match="t was recorded for another request"):
            await runner(registry, ["hi"], journal=journal).call("a", "two", run="r")

    asyncio.run(main())


def test_a_time_out_is_the_same_in_a_later_leg(tmp_path):
    registry, journal = project(tmp_path, WAITS), MemoryJournal()
    late = {"name": "w.wait", "timeout": "10ms"}

    async def main():
        running = runner(registry, ["hi", "hi"], journal=journal)
        texts = []
        for _ in range(2):
            with pytest.raises(Failed) as caught:
                await running.call("w.never", callback=late, run="r")
            texts.append(caught.value.failure)
        return texts

    live, replayed = asyncio.run(main())
    assert live == replayed
    assert log_of(tmp_path) == ["hook", "begun", "cancelled"]


def test_an_outcome_has_its_error_on_a_later_leg_too(tmp_path):
    registry = project(tmp_path, {
        "assistants/a.yaml": "model: local\nhooks: {fail: f}\nmethods: {f: {value: {then: answer, message: sorry}}}\n",
    })  # fmt: skip
    journal = MemoryJournal()

    async def main():
        running = runner(registry, [[{"fail": {"kind": "auth", "message": "no key"}}]], journal=journal)
        return [(await running.call("a", "hi", run="r")).error for _ in range(2)]

    live, replayed = asyncio.run(main())
    assert live == replayed
    assert (live.kind, live.text) == ("auth", "no key")


def test_what_a_closed_record_used_counts_on_a_later_leg(tmp_path):
    registry = project(tmp_path, {
        **SHOP,
        "assistants/asks.yaml": "model: second\nlimits: {calls: 6}\n",
        "processes/ask.yaml": """
            methods:
              all:
                steps:
                  - {process: flow}
                  - {process: fails, on_error: skip}
                  - {assistant: writer, input: c, timeout: 9s}
                  - {assistant: asks, input: d}
              flow: {steps: [{assistant: writer, input: a}]}
              fails: {steps: [{assistant: asks, input: b}, {fail: no}]}
            """,
    })  # fmt: skip
    counts = []

    async def main():
        for at in range(1, 40):  # past the last entry it is not killed at all
            journal = Mortal(at, kept=True)
            running = Runner(registry, models={"second": ByRound(*WRITER)}, journal=journal)
            with suppress(Killed):
                await running.call("ask.all", run="r")
            journal.revive()
            counts.append((await running.call("ask.all", run="r")).usage)

    asyncio.run(main())
    assert len(set(counts)) == 1
    assert counts[0].output > 0


def test_calls_of_a_closed_record_count_on_a_later_leg(tmp_path):
    registry = project(tmp_path, {
        "yaoci.yaml": "limits: {calls: 2}\n",
        "assistants/a.yaml": TALKER,
        "processes/p.yaml": """
            methods:
              all: {steps: [{process: two}, {assistant: a, input: c}]}
              two: {steps: [{assistant: a, input: a}, {assistant: a, input: b}]}
            """,
    })  # fmt: skip

    async def main():
        failures = []
        journal = Mortal(5, kept=True)  # t/steps.0 is closed
        for _ in range(2):
            try:
                await runner(registry, ["1", "2", "3"], journal=journal).call("p.all", run="r")
            except Killed:
                journal.revive()
            except Failed as error:
                failures.append(error.failure)
        return failures, await keys(journal)

    (failure,), kept = asyncio.run(main())
    assert "t/steps.0" in kept
    assert (failure.kind, "`limits.calls` is used up (yaoci.yaml:1)" in failure.text) == ("limit", True)


def test_what_was_said_until_a_failure_is_known_to_a_later_leg(tmp_path):
    registry = project(tmp_path, {
        "assistants/a.yaml": """
            model: local
            hooks: {fail: sorry}
            methods: {sorry: {value: {then: answer, message: "cut: {{ event.partial }}"}}}
            """,
    })  # fmt: skip
    journal = Mortal(2, kept=False)
    script = [[{"say": "Half a"}, {"fail": {"kind": "stream_cut"}}]]

    async def main():
        running = runner(registry, script, journal=journal)
        with pytest.raises(Killed):
            await running.call("a", "hi", run="r")
        journal.revive()
        return (await running.call("a", "hi", run="r")).output

    assert asyncio.run(main()) == "cut: Half a"


def test_a_leg_that_is_overtaken_ends_its_tools_with_it(tmp_path):
    registry = project(tmp_path, {
        "assistants/a.yaml": "model: local\ntools: [w.wait, w.soon]\n",
        "processes/w.py": WAITS["processes/w.py"] + """
        @process(effect="read")
        async def soon():
            "Ends once the other has begun."
            while "begun" not in LOG:
                await asyncio.sleep(0)
            LOG.append("soon")
        """,
    })  # fmt: skip

    class Overtaken(MemoryJournal):
        async def write(self, leg, entry):
            if "soon" in log_of(tmp_path):
                await self.claim(leg.run)
            await super().write(leg, entry)

    async def main():
        running = runner(registry, [[{"call": {"w_wait": {}, "w_soon": {}}}]], journal=Overtaken())
        with pytest.raises(Superseded):
            await running.call("a", "hi", run="r")
        assert log_of(tmp_path) == ["begun", "soon", "cancelled"]

    asyncio.run(main())


# -- the door ------------------------------------------------------------------------------------------


def test_an_assistant_gives_its_message_text_and_usage(tmp_path):
    registry = project(tmp_path, {"assistants/a.yaml": TALKER})
    outcome = call(registry, ["hello"], "a", "hi", run="r1")
    assert (outcome.state, outcome.run, outcome.output, outcome.message.text) == (
        "done",
        "r1",
        "hello",
        "hello",
    )
    assert outcome.usage.output > 0
    assert call(registry, ["hello"], "assistants.a", Message(text="hi")).output == "hello"
    first, second = (call(registry, ["hello"], "a", ["one", {"text": "two"}]).run for _ in range(2))
    assert first != second


def test_a_process_gives_its_result_with_arguments_by_name_or_in_order(tmp_path):
    registry = project(tmp_path, ADD)
    for args in ({"a": 1, "b": 2}, [1, 2], (1, 2), {"b": 2, "a": 1}):
        assert call(registry, [], "p.add", args=args).output == [1, 2]
    assert call(registry, [], "p.add", args=[1]).output == [1, 7]


ADD = {
    "processes/p.yaml": """
        methods:
          add:
            parameters:
              type: object
              properties: {a: {type: integer}, b: {type: integer, default: 7}}
              required: [a]
            value: ["{{ args.a }}", "{{ args.b }}"]
        """,
    "assistants/a.yaml": """
        model: local
        parameters: {type: object, properties: {tone: {enum: [kind, short]}, n: {type: integer, default: 3}}}
        prompts: [{content: "{{ args }}"}]
        """,
}


@pytest.mark.parametrize(
    "args", [{}, [], None, [1, 2, 3], {"a": "1"}, {"a": object()}, {"a": float("nan")}, {1: 2}]
)
def test_arguments_that_do_not_fit_are_told(tmp_path, args):
    assert failure(project(tmp_path, ADD), [], "p.add", args=args).kind == "bad_args"


def test_an_assistant_takes_arguments_by_name_or_in_order(tmp_path):
    registry = project(tmp_path, ADD)
    for args in ({"tone": "kind"}, ["kind"]):
        running = runner(registry, ["hi"])
        asyncio.run(running.call("a", "hi", args=args))
        assert running._given["local"].requests[0].messages[0].text == '{"tone":"kind","n":3}'
    assert failure(registry, [], "a", "hi", args={"tone": "rude"}).kind == "bad_args"
    assert failure(registry, [], "a", "hi", args=["kind", 1, 2]).kind == "bad_args"
    assert failure(registry, [], "a", "hi", args={"tone": object()}).kind == "bad_args"


@pytest.mark.parametrize("input", [None, "", "  \n", [], [""], {"text": " "}, {}])
def test_an_empty_input_is_refused(tmp_path, input):
    failed = failure(project(tmp_path, {"assistants/a.yaml": TALKER}), ["never"], "a", input)
    assert failed.kind == "bad_args"
    assert "there is nothing to answer" in failed.text


def test_an_attachment_is_something_to_answer(tmp_path):
    registry = project(tmp_path, {"assistants/a.yaml": TALKER})
    assert call(registry, ["seen"], "a", {"attachments": [{"url": "x.png"}]}).output == "seen"


def test_what_is_no_message_is_told(tmp_path):
    failed = failure(project(tmp_path, {"assistants/a.yaml": TALKER}), [], "a", {"txt": "x"})
    assert "no field `txt`" in failed.text


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("b", "no assistant is called `b`"),
        ("p.ad", "did you mean `p.add`?"),
        ("", "no assistant"),
        ("a:x", "no process"),
    ],
)
def test_a_target_that_is_not_there_is_a_wrong_use(tmp_path, target, says):
    with pytest.raises(UsageError) as caught:
        call(project(tmp_path, ADD), [], target, "hi")
    assert says in str(caught.value)


def test_a_process_takes_no_input(tmp_path):
    with pytest.raises(UsageError, match="takes arguments, no input"):
        call(project(tmp_path, ADD), [], "p.add", "hi")


def test_the_sync_door_opens_where_no_loop_runs(tmp_path):
    registry = project(tmp_path, ADD)
    assert runner(registry).call_sync("p.add", args=[1]).output == [1, 7]

    async def main():
        with pytest.raises(UsageError, match=r"await runner\.call"):
            runner(registry).call_sync("p.add", args=[1])

    asyncio.run(main())


def test_models_that_were_given_stay_open(tmp_path):
    class Closing(Scripted):
        async def close(self):
            closed.append(self)

    closed = []
    registry = project(tmp_path, {"assistants/a.yaml": TALKER})

    async def main():
        async with Runner(registry, models={"local": Closing(["1", "2"])}) as running:
            await running.call("a", "x")
            await running.call("a", "x")

    asyncio.run(main())
    assert closed == []


def test_another_model_can_be_used_for_every_assistant(tmp_path):
    registry = project(tmp_path, {"assistants/a.yaml": TALKER})
    running = Runner(registry, models={"other": Scripted(["of other"])}, model="other")
    assert asyncio.run(running.call("a", "hi")).output == "of other"


DESK = {
    "yaoci.yaml": "models: {desk: spare/big}\ndefault_model: spare/m\nproviders: {spare: {api: scripted}}\n",
    "assistants/a.yaml": "model: desk\n",
}


def test_a_model_that_the_project_does_not_use_is_told_with_the_nearest(tmp_path):
    registry = project(tmp_path, DESK)
    with pytest.raises(UsageError, match=r"the project has no model `dsk`: did you mean `desk`\?"):
        Runner(registry, models={"dsk": Scripted([])})
    for name in ("desk", "spare/big", "spare/m"):
        Runner(registry, models={name: Scripted([])})
    hooked = project(tmp_path, {"assistants/b.yaml": "hooks: {create: c}\nmethods: {c: {value: 1}}\n"})
    Runner(hooked, models={"chosen in a run": Scripted([])})


def test_a_model_may_be_given_under_what_its_name_stands_for(tmp_path):
    closed = []

    class Closing(Scripted):
        async def close(self):
            closed.append(1)

    running = Runner(project(tmp_path, DESK), models={"spare/big": Closing(["of code"])})
    assert asyncio.run(running.call("a", "hi")).output == "of code"
    assert closed == []


def test_a_runner_takes_a_registry():
    with pytest.raises(UsageError, match=r"not '\.': pass `yaoci\.load"):
        Runner(".")


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({"locle": "de"}, "`context` has no `locle`: did you mean `locale`?"),
        ({"run": "x"}, "`context` has no `run`"),
        ("de", "`context` is a mapping"),
    ],
)
def test_a_context_of_another_shape_is_told(tmp_path, context, says):
    running = runner(project(tmp_path, {"assistants/a.yaml": TALKER}), ["hi"])
    with pytest.raises(UsageError) as caught:
        asyncio.run(running.call("a", "hi", context=context))
    assert says in str(caught.value)
    with pytest.raises(UsageError):
        running.stream("a", "hi", context=context)


def test_a_model_may_speak_in_lone_surrogates_and_the_run_goes_on(tmp_path):
    class Odd(Scripted):
        async def stream(self, request):
            yield Delta("a\ud83d")
            yield Delta(finish="stop")

    registry = project(tmp_path, {"assistants/a.yaml": TALKER})
    for journal in (None, MemoryJournal()):
        outcome = asyncio.run(Runner(registry, models={"local": Odd()}, journal=journal).call("a", "hi"))
        assert outcome.output == "a�"


# -- streams ---------------------------------------------------------------------------------------------

TOOL = "tools: [p.add]\n"


def shown(events):
    """Return the messages as a reader puts them together, by id, and what each was at each step."""
    whole, history = {}, {}
    for event in events:
        if event.kind == "message":
            id = event.message.id
            assert not (id in whole and whole[id].done), "a settled message was changed"
            whole[id] = merge(whole.get(id), event.message)
            history.setdefault(id, []).append(whole[id].text)
    return whole, history


@pytest.mark.parametrize(
    "pieces", [["Hello"], ["He", "llo"], ["客", "服", " ", "🌍"], ["a"] * 30, ["", "x", ""]]
)
def test_deltas_merge_to_the_settled_text(tmp_path, pieces):
    registry = project(tmp_path, {**ADD, "assistants/a.yaml": TALKER + TOOL})
    script = [[{"delta": ["Let me", " see."]}, {"call": {"p_add": {"a": 1}}}], [{"delta": pieces}]]
    whole, history = shown(stream(registry, script, "a", "hi", run="r"))
    assert [(id, message.text, message.done) for id, message in whole.items()] == [
        ("r/t/r0", "Let me see.", True),
        ("r/t/r1", "".join(pieces), True),
    ]
    assert history["r/t/r1"][-2] == history["r/t/r1"][-1]
    assert len(history["r/t/r1"]) == len([piece for piece in pieces if piece]) + 1


@pytest.mark.parametrize(
    ("more", "live"),
    [
        ("", True),
        ("stream: held", False),
        ("returns: {type: string}", False),
        ("returns: {type: string}\nstream: live", True),
        ("hooks: {done: d}\nmethods: {d: {value: {then: replace, message: x}}}", False),
        ("hooks: {done: d}\nmethods: {d: {value: {then: replace, message: x}}}\nstream: live", True),
        ("hooks: {done: d}\nmethods: {d: {value: {nothing: said}}}", True),
        ("hooks: {done: q.log}", False),
        ("hooks: {done: q.quiet}", True),
    ],
)
def test_text_is_held_where_it_may_still_change(tmp_path, more, live):
    files = {
        "assistants/a.yaml": TALKER + more,
        "processes/q.py": "from yaoci import process\n@process\ndef log(message):\n    'Logs.'\n"
        "@process\ndef quiet(message) -> None:\n    'Logs.'\n",
    }
    events = stream(project(tmp_path, files), [[{"delta": ['"He', 'llo"']}]], "a", "hi")
    messages = [event.message for event in events if event.kind == "message"]
    assert [message.delta for message in messages] == ([True, True, False] if live else [False])
    whole, _ = shown(events)
    assert all(message.done for message in whole.values())


def test_a_shown_text_that_does_not_count_is_started_over(tmp_path):
    registry = project(tmp_path, {"assistants/a.yaml": TALKER + "returns: {type: integer}\nstream: live\n"})
    whole, history = shown(stream(registry, ["no", "5"], "a", "hi", run="r"))
    assert history["r/t/r0"][-1] == ""
    assert whole["r/t/r1"].data == 5


def test_the_reader_sees_a_delta_before_the_model_is_asked_for_the_next(tmp_path):
    class Watching(Scripted):
        async def stream(self, request):
            for number in range(5):
                yield Delta(f"{number}")
                assert seen[-1] == f"{number}", "the model was asked before the reader saw the last piece"
            yield Delta(finish="stop")

    async def main():
        running = Runner(registry, models={"local": Watching()})
        async with running.stream("a", "hi") as events:
            async for event in events:
                if event.kind == "message":
                    seen.append(event.message.text)  # noqa: PERF401 - the model looks at it meanwhile

    seen = []
    registry = project(tmp_path, {"assistants/a.yaml": TALKER})
    asyncio.run(main())
    assert seen == ["0", "1", "2", "3", "4", "01234"]


def test_a_run_waits_for_a_slow_reader_and_nothing_is_lost(tmp_path):
    class Fast(Scripted):
        async def stream(self, request):
            for _ in range(3 * BEHIND):
                said.append("x")
                yield Delta("x")
            yield Delta(finish="stop")

    async def main():
        async with Runner(registry, models={"local": Fast()}).stream("a", "hi") as events:
            await until(lambda: len(said) >= BEHIND - 9)
            for _ in range(100):
                await asyncio.sleep(0)
            assert len(said) <= BEHIND
            return [event async for event in events]

    said = []
    registry = project(tmp_path, {"assistants/a.yaml": TALKER})
    events = asyncio.run(main())
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    whole, _ = shown(events)
    assert [message.text for message in whole.values()] == ["x" * 3 * BEHIND]


WAITS = {
    "assistants/a.yaml": """
        model: local
        tools: [w.wait]
        hooks: {fail: w.never, done: w.never}
        """,
    "processes/w.py": """
        import asyncio
        from yaoci import process

        LOG = []

        @process(effect="read")
        async def wait():
            "Waits."
            try:
                LOG.append("begun")
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0)
                LOG.append("cancelled")
                raise

        @process
        def never():
            "Notes that it ran."
            LOG.append("hook")
        """,
}


def log_of(folder):
    """Return what the Python of the project noted, as far as it was imported."""
    module = loaded(folder / "processes/w.py")
    return module.LOG if module else []


@pytest.mark.parametrize("make", [lambda: None, MemoryJournal])
@pytest.mark.parametrize(("target", "input"), [("a", "hi"), ("w.wait", None)])
def test_leaving_the_block_cancels_the_run_and_waits_and_no_hook_runs(tmp_path, target, input, make):
    async def main():
        running = runner(registry, [[{"call": {"w_wait": {}}}]], journal=make())
        async with running.stream(target, input):
            await until(lambda: log_of(tmp_path))
        return log_of(tmp_path)

    registry = project(tmp_path, WAITS)
    assert asyncio.run(main()) == ["begun", "cancelled"]


def test_cancelling_a_call_cancels_what_it_started(tmp_path):
    async def main():
        task = asyncio.ensure_future(runner(registry).call("w.wait"))
        await until(lambda: log_of(tmp_path))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return log_of(tmp_path)

    registry = project(tmp_path, WAITS)
    assert asyncio.run(main()) == ["begun", "cancelled"]


def test_a_failure_ends_the_stream_after_the_last_event(tmp_path):
    async def main():
        running, kinds = runner(registry, [[{"fail": {"kind": "auth", "message": "no key"}}]]), []
        async with running.stream("a", "hi") as events:
            with pytest.raises(UsageError, match="has not ended"):
                events.outcome  # noqa: B018 - asking is what is tested
            with pytest.raises(Failed, match="no key"):
                await read_all(events, kinds)
            for _ in range(2):
                with pytest.raises(Failed, match="no key"):
                    events.outcome  # noqa: B018 - as above
        return kinds

    registry = project(tmp_path, {"assistants/a.yaml": TALKER})
    assert asyncio.run(main())[-1] == "run_ended"


def test_what_the_reader_raises_leaves_the_block_as_it_is(tmp_path):
    async def main():
        async with runner(registry, ["hi"]).stream("a", "hi") as events:
            async for _ in events:
                raise KeyError("mine")

    registry = project(tmp_path, {"assistants/a.yaml": TALKER})
    with pytest.raises(KeyError, match="mine"):
        asyncio.run(main())


def test_a_wrong_use_ends_the_stream_too(tmp_path):
    async def main():
        async with runner(registry).stream("b", "hi") as events:
            await read_all(events, [])

    registry = project(tmp_path, {"assistants/a.yaml": TALKER})
    with pytest.raises(UsageError, match="no assistant is called `b`"):
        asyncio.run(main())


def test_events_say_where_they_come_from(tmp_path):
    registry = project(
        tmp_path, {**ADD, "assistants/a.yaml": TALKER + TOOL + "hooks: {done: {name: p.add, args: [1]}}\n"}
    )
    events = stream(
        registry, [[{"call": {"p_add": {"a": 1}}}], "hi"], "a", "hi", callback={"name": "p.add", "args": [1]}
    )
    places = {event.kind: event.place for event in events}
    assert places["tool_started"] == "assistants/a.yaml:2"
    assert places["model_started"] == "assistants/a.yaml:1"
    assert all(event.place for event in events)
