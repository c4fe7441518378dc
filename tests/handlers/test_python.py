"""`python`: functions of a project, sync and async, and the context they get."""

import asyncio
import threading
from textwrap import dedent

import pytest

from yaoci import Failed, Message, Runner, contexts, engine, threads
from yaoci.errors import UsageError
from yaoci.models.scripted import Scripted
from yaoci.stores.memory import MemoryJournal

from ..project import loaded, project


def module(folder, text, more=None):
    """Return a project whose `processes/p.py` is `text`; `more` are further files."""
    head = "import asyncio\nfrom yaoci import Failed, Message, process\n\nLOG = []\n\n"
    return project(folder, {"processes/p.py": head + dedent(text), **(more or {})})


def log_of(folder):
    found = loaded(folder / "processes/p.py")
    return found.LOG if found else []


async def until(condition):
    """Let threads run until something holds that they bring about."""
    while not condition():  # noqa: ASYNC110 - what is waited for has no event of the loop to set
        await asyncio.sleep(0.001)


def run(registry, name, *script, journal=None, **more):
    runner = Runner(registry, models={"local": Scripted(list(script))}, journal=journal)
    return asyncio.run(runner.call(name, **more)).output


def failure(registry, name, **more):
    with pytest.raises(Failed) as caught:
        run(registry, name, **more)
    return caught.value.failure


# -- calling ---------------------------------------------------------------------------------------------


def test_sync_functions_run_in_a_thread_of_their_own_and_async_ones_on_the_loop(tmp_path):
    registry = module(tmp_path, """
        import threading

        @process
        def sync() -> str:
            "Tells its thread."
            return threading.current_thread().name

        @process
        async def on_loop() -> bool:
            "Tells its thread."
            return threading.current_thread() is threading.main_thread()

        @process
        def awaitable():
            "Gives what is awaited."
            return asyncio.sleep(0, "slept")
        """)  # fmt: skip
    assert run(registry, "p.sync") == "yaoci-process"
    assert run(registry, "p.on_loop") is True
    assert run(registry, "p.awaitable") == "slept"


SIGNATURES = {
    "processes/q.yaml": """
        methods:
          plain: {python: plain}
          some: {python: some}
          keywords: {python: keywords}
          anything: {python: anything}
          filled: {python: filled}
          text: {python: text}
          mutating: {python: mutating}
          own_message: {python: own_message}
        """,
    "processes/q.py": """
        def plain(a, b=2): return [a, b]
        def some(a, *rest): return [a, *rest]
        def keywords(*, a, b=2): return [a, b]
        def anything(*args, **kwargs): return [list(args), kwargs]
        def filled(a, message, context, event, b=2): return [a, message, context.run, event, b]
        def text(message: str): return [type(message).__name__]
        def mutating(a: list): a.append(1); return a
        def own_message(message, a=1): return [message, a]
        """,
}


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("plain", {"a": 1}, [1, 2]), ("plain", [1], [1, 2]), ("plain", [1, 3], [1, 3]), ("plain", {"b": 1, "a": 0}, [0, 1]),
        ("some", [1, 2, 3], [1, 2, 3]), ("keywords", {"a": 1}, [1, 2]), ("keywords", [5], [5, 2]),
        ("anything", [1, "x"], [[1, "x"], {}]), ("anything", {"a": 1}, [[], {"a": 1}]), ("anything", {}, [[], {}]),
        ("filled", [1], [1, None, "r", None, 2]), ("filled", [1, 5], [1, None, "r", None, 5]),
        ("filled", {"a": 1, "b": 3}, [1, None, "r", None, 3]), ("text", {}, ["str"]), ("mutating", [[0]], [0, 1]),
        ("own_message", {"message": "mine"}, ["mine", 1]), ("own_message", [5], [None, 5]),
    ],
)  # fmt: skip
def test_arguments_are_bound_by_name_or_in_order_and_the_rest_is_filled(tmp_path, name, args, result):
    assert run(project(tmp_path, SIGNATURES), f"q.{name}", args=args, run="r") == result


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("plain", {}),
        ("plain", [1, 2, 3]),
        ("plain", {"a": 1, "c": 1}),
        ("some", []),
        ("some", {"b": 1}),
        ("filled", []),
    ],
)
def test_arguments_that_do_not_suit_are_told(tmp_path, name, args):
    failed = failure(project(tmp_path, SIGNATURES), f"q.{name}", args=args)
    assert failed.kind == "bad_args"
    assert name in failed.text


def test_a_function_cannot_spoil_what_others_see(tmp_path):
    registry = module(tmp_path, """
        @process
        def spoil(rows: list = [1]) -> list:
            "Adds to what it was given."
            rows.append(2)
            return rows
        """)  # fmt: skip
    rows = [0]
    assert run(registry, "p.spoil", args=[rows]) == [0, 2]
    assert rows == [0]
    assert [run(registry, "p.spoil"), run(registry, "p.spoil")] == [[1, 2], [1, 2]]


@pytest.mark.parametrize("make", [lambda: None, MemoryJournal])
def test_results_are_canonical_and_messages_are_json(tmp_path, make):
    registry = module(tmp_path, """
        @process
        def pair():
            "Gives a pair."
            return (1, b"a", Message(text="x"))

        @process
        def said():
            "Gives what a callback says."
            return {"then": "replace", "message": [Message(text="x"), "y"]}

        @process
        def odd():
            "Gives what nobody can keep."
            return {1, 2}
        """)  # fmt: skip
    assert run(registry, "p.pair", journal=make()) == [1, "YQ==", {"text": "x"}]
    assert run(registry, "p.said", journal=make()) == {"then": "replace", "message": [{"text": "x"}, "y"]}
    failed = failure(registry, "p.odd", journal=make())
    assert (failed.kind, failed.place) == ("bad_result", "processes/p.py:18")


# -- failing ---------------------------------------------------------------------------------------------

FAILING = """
    def inner():
        raise KeyError("x")  # line 8

    @process
    def sync():
        "Fails."
        inner()

    @process
    async def on_loop():
        "Fails."
        await asyncio.sleep(0)
        raise ValueError("bad")  # line 19

    @process
    def bare():
        "Fails."
        assert False

    @process
    def failed():
        "Fails as it likes."
        raise Failed.of("missing", "no order", data={"id": 1})

    @process
    def exits():
        "Leaves."
        raise SystemExit(3)

    @process
    async def exits_too():
        "Leaves."
        raise SystemExit(3)

    @process
    def stops():
        "Is done."
        raise StopIteration(5)

    @process
    async def cancels():
        "Cancels itself."
        raise asyncio.CancelledError
    """


@pytest.mark.parametrize(
    ("name", "kind", "text", "line"),
    [
        ("sync", "exception", "`sync` raised KeyError: 'x'", 8),
        ("on_loop", "exception", "`on_loop` raised ValueError: bad", 19),
        ("bare", "exception", "`bare` raised AssertionError", 24),
        ("failed", "missing", "no order", 27),
        ("exits", "exception", "`exits` raised RuntimeError: SystemExit: 3", 34),
        ("exits_too", "exception", "`exits_too` raised SystemExit: 3", 39),
        ("stops", "exception", "`stops` raised RuntimeError: StopIteration: 5", 44),
        ("cancels", "exception", "what it waited for was cancelled", 47),
    ],
)
def test_what_a_function_raises_is_a_failure_at_the_line_of_its_file(tmp_path, name, kind, text, line):
    failed = failure(module(tmp_path, FAILING), f"p.{name}")
    assert (failed.kind, failed.text, failed.place) == (kind, text, f"processes/p.py:{line}")


def test_the_place_is_in_the_folder_of_the_yaml(tmp_path):
    registry = project(tmp_path, {
        "assistants/desk/assistant.yaml": "model: local\nmethods: {look: {python: look}}\n",
        "assistants/desk/assistant.py": "def look():\n    return 1 / 0\n",
        "processes/shop/p.yaml": "methods: {look: {python: look}}\n",
        "processes/shop/p.py": "def look():\n\n    return 1 / 0\n",
    })  # fmt: skip
    assert failure(registry, "desk:look").place == "assistants/desk/assistant.py:2"
    assert failure(registry, "shop.p.look").place == "processes/shop/p.py:3"


def test_a_file_that_fails_as_it_is_imported_is_told(tmp_path):
    registry = module(tmp_path, """
        @process
        def fine():
            "Never comes to run."

        import nothing_of_that_name
        """)  # fmt: skip
    failed = failure(registry, "p.fine")
    assert failed.kind == "exception"
    assert "ModuleNotFoundError" in failed.text
    assert failed.place == "processes/p.py:11"


def test_a_file_that_was_broken_since_is_told_and_a_mended_one_runs(tmp_path):
    text = "from yaoci import process\n@process\ndef fine():\n    'Says.'\n    return {}\n"
    file = tmp_path / "processes/p.py"
    registry = project(tmp_path, {"processes/p.py": text.format(1)})
    assert run(registry, "p.fine") == 1
    file.write_text("def fine(:\n")
    failed = failure(registry, "p.fine")
    assert "processes/p.py cannot be read" in failed.text
    assert failed.place == "processes/p.py:1"
    file.write_text(text.format("'another'"))
    assert run(registry, "p.fine") == "another"
    file.write_text("other = 1\n")
    assert failure(registry, "p.fine").text == "p.py has no function `fine`"
    file.unlink()
    assert "FileNotFoundError" in failure(registry, "p.fine").text


# -- the context -----------------------------------------------------------------------------------------

CONTEXT = """
    @process(effect="read")
    def add(a: int, b: int) -> int:
        "Adds."
        return a + b

    @process
    def sync(context):
        "Asks for everything."
        context.shared["list"] = [1]
        context.shared["list"].append(2)  # a copy: it changes nothing
        context.log("begun", text="so", step=1)
        context.send("hello")
        context.send(Message(type="table", props={"rows": []}))
        return work(context, context.process("add", [1, 2]), context.call("a", "hi", callback="p.shout"))

    @process
    async def on_loop(context):
        "Asks for everything."
        context.shared["list"] = [1]
        context.shared["list"].append(2)
        await context.log("begun", text="so", step=1)
        await context.send("hello")
        await context.send(Message(type="table", props={"rows": []}))
        return work(context, await context.process("add", [1, 2]), await context.call("a", "hi", callback="p.shout"))

    def work(context, three, message):
        context.shared["gone"] = 5
        del context.shared["gone"]
        return [
            three, message.text, context.run, context.key, context.cancelled, dict(context.shared), len(context.shared),
            "list" in context.shared, context.shared.get("x", "none"),
        ]

    @process
    def shout(message):
        "Shouts."
        return {"then": "replace", "message": message.text.upper()}

    @process
    def shared():
        "Gives what is shared."
    """


@pytest.mark.parametrize("name", ["sync", "on_loop"])
def test_the_context_offers_the_same_from_a_thread_and_on_the_loop(tmp_path, name):
    registry = module(tmp_path, CONTEXT, {"assistants/a.yaml": "model: local\n"})

    async def main():
        runner = Runner(registry, models={"local": Scripted(["hello"])})
        async with runner.stream(f"p.{name}", run="r") as stream:
            return [event async for event in stream], stream.outcome

    events, outcome = asyncio.run(main())
    shared = {"list": [1], "gone": None}
    assert outcome.output == [3, "HELLO", "r", "r/t", False, shared, 2, True, "none"]
    messages = [event.message for event in events if event.kind == "message"]
    assert [(message.type, message.text, message.done, message.role) for message in messages] == [
        ("text", "hello", True, "assistant"), ("table", "", True, "assistant"),
    ]  # fmt: skip
    assert len({message.id for message in messages}) == 2
    (note,) = [event for event in events if event.kind == "note"]
    assert (note.data, note.place) == (
        {"text": "begun", "data": {"text": "so", "step": 1}},
        registry.process(f"p.{name}").place,
    )


@pytest.mark.parametrize("name", ["sync", "on_loop"])
def test_what_the_context_is_asked_wrongly_fails_there(tmp_path, name):
    registry = module(tmp_path, """
        ASK = {
            "shared": lambda c: c.shared.update(x=object()),
            "huge": lambda c: c.shared.update(x="x" * 2_000_000),
            "send": lambda c: c.send({"txt": 1}),
            "process": lambda c: c.process("p.nothing"),
            "args": lambda c: c.process("p.sync", {"what": 5}),
            "call": lambda c: c.call("nobody", "hi"),
        }

        @process
        def sync(what: str, context):
            "Asks."
            ASK[what](context)

        @process
        async def on_loop(what: str, context):
            "Asks."
            found = ASK[what](context)
            if found is not None:
                await found
        """)  # fmt: skip
    kinds = {
        what: failure(registry, f"p.{name}", args=[what]).kind
        for what in ("shared", "huge", "send", "process", "args", "call")
    }
    assert kinds == {
        "shared": "bad_result", "huge": "bad_result", "send": "bad_result", "process": "missing", "args": "bad_args",
        "call": "missing",
    }  # fmt: skip


def test_two_hundred_nested_calls_do_not_wait_for_each_other(tmp_path):
    """Forty at once, each a thread that waits for a chain of five; no pool of threads runs out."""
    registry = module(tmp_path, """
        @process(effect="read")
        def down(n: int, context) -> int:
            "Goes down."
            return 1 + context.process("down", [n - 1]) if n > 1 else 1

        @process
        async def many(context) -> int:
            "Goes down many times at once."
            return sum(await asyncio.gather(*(context.process("down", [5]) for _ in range(40))))
        """)  # fmt: skip
    assert run(registry, "p.many") == 200


def test_a_blocking_context_does_not_wait_for_its_own_loop():
    async def main():
        class Host:
            cancelled = False

        context = contexts.BlockingContext(contexts.Context(Host()), asyncio.get_running_loop())
        with pytest.raises(UsageError, match="would wait for itself"):
            context.log("x")

    asyncio.run(main())


# -- ending ----------------------------------------------------------------------------------------------

ENDING = """
    import threading

    GO, GONE = threading.Event(), threading.Event()

    @process(effect="read")
    def waits(context):
        "Waits in a thread."
        LOG.append("begun")
        GO.wait(20)
        LOG.append(("cancelled", context.cancelled))
        try:
            context.process("add")
        except Failed as error:
            LOG.append(error.failure.kind)
        finally:
            GONE.set()

    @process
    def add():
        "Adds to the log."
        LOG.append("added")

    @process(effect="read")
    async def hangs():
        "Waits for ever."
        LOG.append("hangs")
        try:
            await asyncio.Event().wait()
        finally:
            LOG.append("cut")

    @process(effect="read")
    def nested(context):
        "Waits for one that waits."
        try:
            context.process("hangs")
        except Failed as error:
            LOG.append(error.failure.kind)
        finally:
            GONE.set()

    @process(effect="read")
    async def stubborn(context):
        "Goes on when it is cancelled."
        LOG.append("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            while not context.cancelled:
                await asyncio.sleep(0)
        try:
            await context.process("add")
        except Failed as error:
            LOG.append(error.failure.kind)

    @process(effect="read")
    async def careless(context):
        "Begins more than it waits for."
        asyncio.ensure_future(context.process("hangs"))
        while "hangs" not in LOG:
            await asyncio.sleep(0)
        return "done"

    @process(effect="read")
    async def gathers(context):
        "Fails while another still runs."
        await asyncio.gather(context.process("hangs"), context.process("fails"))

    @process(effect="read")
    async def fails():
        "Fails once the other runs."
        while "hangs" not in LOG:
            await asyncio.sleep(0)
        raise ValueError("no")
    """


def test_a_thread_that_is_given_up_is_left_behind_and_can_do_nothing_more(tmp_path):
    registry = module(tmp_path, ENDING)
    left = threads._Left.count

    async def main():
        task = asyncio.ensure_future(Runner(registry).call("p.waits"))
        await until(lambda: "begun" in log_of(tmp_path))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert threads._Left.count == left + 1

    asyncio.run(main())
    found = loaded(tmp_path / "processes/p.py")
    found.GO.set()
    assert found.GONE.wait(20)
    assert found.LOG == ["begun", ("cancelled", True), "cancelled"]
    for thread in threading.enumerate():
        if thread.name == "yaoci-process":
            thread.join(20)
    assert threads._Left.count == left


def test_a_function_that_swallows_the_cancel_can_do_nothing_more(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "GRACE", 0.05)
    registry = module(tmp_path, ENDING)

    async def main():
        task = asyncio.ensure_future(Runner(registry).call("p.stubborn"))
        await until(lambda: "begun" in log_of(tmp_path))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: len(log_of(tmp_path)) > 1)

    asyncio.run(main())
    assert log_of(tmp_path) == ["begun", "cancelled"]


def test_so_many_threads_may_be_left_behind_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "MAX_LEFT", threads._Left.count)
    failed = failure(module(tmp_path, ENDING), "p.add")
    assert failed.kind == "limit"
    assert "no new one starts" in failed.text


def test_what_a_thread_waits_for_ends_with_it(tmp_path):
    registry = module(tmp_path, ENDING)

    async def main():
        task = asyncio.ensure_future(Runner(registry).call("p.nested"))
        await until(lambda: "hangs" in log_of(tmp_path))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert log_of(tmp_path)[:2] == ["hangs", "cut"]
        await until(loaded(tmp_path / "processes/p.py").GONE.is_set)

    asyncio.run(main())
    assert log_of(tmp_path) == ["hangs", "cut", "cancelled"]


def test_what_a_function_began_and_did_not_wait_for_ends_with_it(tmp_path):
    registry = module(tmp_path, ENDING)
    assert run(registry, "p.careless") == "done"
    assert log_of(tmp_path) == ["hangs", "cut"]


def test_a_failing_gather_leaves_nothing_running(tmp_path):
    registry = module(tmp_path, ENDING)
    assert "ValueError: no" in failure(registry, "p.gathers").text
    assert log_of(tmp_path) == ["hangs", "cut"]


def test_a_callback_may_be_a_function_with_a_context(tmp_path):
    registry = module(tmp_path, CONTEXT)

    def sync(message: Message, context):
        return {"then": "replace", "message": f"{message.text} {context.process('p.add', [1, 1])}"}

    async def on_loop(message, context):
        return {"then": "replace", "message": f"{message.text} {await context.process('p.add', [2, 2])}"}

    assert run(registry, "p.add", args=[1, 2], callback=[sync, on_loop]) == "3 2 4"


def test_a_function_may_do_what_it_likes_so_it_is_a_write(tmp_path):
    registry = module(tmp_path, CONTEXT)
    assert registry.process("p.shout").effect == "write"
    assert registry.process("p.add").effect == "read"
