"""Callbacks: their forms, how their targets are called, and what their results say."""

import asyncio
import functools

import pytest

from yaoci import Failed, Message, Runner
from yaoci.callbacks import POINTS, THENS, bind, messages_of, read
from yaoci.errors import UsageError
from yaoci.models.scripted import Scripted

from .project import loaded, project

PLAIN = {"assistants/a.yaml": "model: local\n"}

TARGETS = {
    "assistants/a.yaml": """
        model: local
        methods:
          own: {value: {then: replace, message: "own {{ message.text }}"}}
        """,
    "processes/p.yaml": """
        methods:
          plain: {value: {then: replace, message: "plain {{ message.text }} {{ event.value }} {{ event.assistant }}"}}
          with_args:
            parameters: {type: object, properties: {b: {type: string}, a: {type: integer, default: 7}}}
            value: {then: replace, message: "{{ args.b }} {{ args.a }}"}
          log: {value: logged}
          none: {value: null}
          broken: {steps: [{fail: broken on purpose}]}
          show: {python: show, returns: {type: "null"}}
        """,
    "processes/p.py": """
        SEEN = []

        def show(message, event, context):
            SEEN.append((type(message).__name__, sorted(event), context.run))
        """,
}


@pytest.fixture
def registry(tmp_path):
    return project(tmp_path, TARGETS)


async def called(registry, callback, said="hi", **more):
    """Call the assistant with a callback, and return the outcome."""
    return await Runner(registry, models={"local": Scripted([said])}).call(
        "a", "go", callback=callback, **more
    )


def answer(registry, callback, said="hi"):
    return asyncio.run(called(registry, callback, said)).message.text


def failure(registry, callback):
    with pytest.raises(Failed) as caught:
        asyncio.run(called(registry, callback))
    return caught.value.failure


# -- the forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("callback", "text"),
    [
        (None, "hi"),
        ([], "hi"),
        ("p.plain", "plain hi hi a"),
        ("a:own", "own hi"),
        ({"name": "p.plain"}, "plain hi hi a"),
        ({"name": "p.with_args", "args": ["x"]}, "x 7"),
        ({"name": "p.with_args", "args": ["{{ message.text }}", 8]}, "hi 8"),
        ({"name": "p.with_args", "args": {"a": 9, "b": "{{ event.value }}"}}, "hi 9"),
        (["p.log", "a:own", ["a:own"]], "own own hi"),
        (["p.none", None], "hi"),
        ({"name": "p.plain", "when": "event.value == 'no'"}, "hi"),
        ({"name": "p.plain", "when": True}, "plain hi hi a"),
    ],
)
def test_a_callback_is_null_a_name_a_mapping_or_a_list(registry, callback, text):
    assert answer(registry, callback) == text


def test_a_name_without_a_dot_is_a_method_of_the_file_that_says_it(tmp_path):
    registry = project(tmp_path, {
        "assistants/a.yaml": """
            model: local
            hooks: {done: mine}
            methods: {mine: {value: {then: replace, message: "mine {{ message.text }}"}}}
            """,
        "processes/p.yaml": """
            methods:
              mine: {value: {then: replace, message: "of p"}}
              flow: {steps: [{assistant: a, input: x, callback: mine}]}
            """,
    })  # fmt: skip
    running = Runner(registry, models={"local": Scripted(["one", "two"])})
    assert asyncio.run(running.call("a", "go", callback="mine")).output == "mine mine one"
    assert asyncio.run(running.call("p.flow")).output == "of p"


async def plain_async(message):
    await asyncio.sleep(0)
    return {"then": "replace", "message": f"async {message.text}"}


class Callable:
    def __call__(self, message):
        return {"then": "replace", "message": f"object {message.text}"}

    def method(self, message):
        return {"then": "replace", "message": f"method {message.text}"}


def of_text(message: str):
    assert isinstance(message, str)
    return {"then": "replace", "message": message.upper()}


def first_is_text(answer: str):
    return {"then": "replace", "message": answer.upper()}


def filled(event, message, context):
    return {
        "then": "replace",
        "message": f"{message.text} {event['assistant']} {context.key.rpartition('/')[2]}",
    }


def kept_only(word, *, message, context):
    return {"then": "replace", "message": f"{word} {message.text} {context.cancelled}"}


def with_more(said, one, *rest, two="", **named):
    return {"then": "replace", "message": f"{said.text} {one} {rest} {two} {named}"}


@pytest.mark.parametrize(
    ("callback", "text"),
    [
        (lambda message: {"then": "replace", "message": "lambda " + message.text}, "lambda hi"),
        (lambda m: plain_async(m), "async hi"),  # noqa: PLW0108 - a lambda that gives a coroutine
        (plain_async, "async hi"),
        (functools.partial(with_more, one="p"), "hi p ()  {}"),
        (Callable(), "object hi"),
        (Callable().method, "method hi"),
        (of_text, "HI"),
        (first_is_text, "HI"),
        (filled, "hi a callback.0"),
        ({"name": filled}, "hi a callback.0"),
        ({"name": kept_only, "args": ["w"]}, "w hi False"),
        ({"name": kept_only, "args": {"word": "w"}}, "w hi False"),
        ({"name": with_more, "args": ["1", 2, 3]}, "hi 1 (2, 3)  {}"),
        ({"name": with_more, "args": {"one": 1, "two": "{{ event.value }}", "z": 3}}, "hi 1 () hi {'z': 3}"),
        ({"name": of_text, "when": "message.text == 'no'"}, "hi"),
        (lambda: None, "hi"),
        (lambda *all: {"then": "replace", "message": str(len(all))}, "1"),
    ],
)
def test_a_function_is_called_with_the_message_then_the_arguments(registry, callback, text):
    assert answer(registry, callback) == text


def test_what_a_function_may_do_with_messages(registry):
    from dataclasses import replace

    changed = lambda message: {"then": "replace", "message": replace(message, text="changed")}  # noqa: E731
    assert answer(registry, changed) == "changed"
    assert (
        answer(registry, lambda message: {"then": "replace", "message": [message, Message(text="2")]}) == "2"
    )
    assert answer(registry, lambda message: message) == "hi"


def test_a_builtin_is_a_callback_too(registry):
    seen = []
    assert answer(registry, seen.append) == "hi"
    assert [message.text for message in seen] == ["hi"]


def test_a_process_in_python_is_filled_by_name(registry):
    outcome = asyncio.run(called(registry, "p.show", run="run7"))
    assert outcome.message.text == "hi"
    assert loaded(registry.process("p.show").python).SEEN == [
        ("Message", ["assistant", "usage", "value"], "run7")
    ]


@pytest.mark.parametrize(
    ("callback", "says"),
    [
        (5, "a callback is null, a name"),
        ("p.plian", "did you mean `p.plain`?"),
        ({"args": [1]}, "name"),
        ({"name": "p.plain", "argz": []}, "argz"),
        ({"name": "p.plain", "on_error": "skipp"}, "`on_error`"),
        ({"name": "p.plain", "timeout": "soon"}, "`timeout`"),
        (["p.plain", {"name": 5}], "`name`"),
    ],
)
def test_what_is_no_callback_is_told_before_anything_is_asked(registry, callback, says):
    model = Scripted([])
    for target, input in (("a", "go"), ("p.log", None)):
        with pytest.raises(Failed) as caught:
            asyncio.run(Runner(registry, models={"local": model}).call(target, input, callback=callback))
        assert caught.value.failure.kind == "missing"
        assert says in caught.value.failure.text
    assert model.requests == []


def test_a_callback_that_leads_nowhere_is_a_wrong_use(registry):
    with pytest.raises(UsageError, match="no process is called"):
        bind("p.nothing", registry, "a", "here")


# -- what a result says ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, 5, "text", [], {}, {"than": "replace"}, [{"then": "replace"}]])
def test_a_result_without_then_says_nothing(registry, value):
    assert answer(registry, lambda: value) == "hi"


SAID = {
    "replace": {"message": "x"}, "change": {}, "answer": {"message": "x"}, "refuse": {"reason": "x"},
    "next": {"process": "p.log"}, "stop": {"message": "x"}, "fail": {"error": "x"},
}  # fmt: skip


@pytest.mark.parametrize("point", POINTS.values(), ids=list(POINTS))
@pytest.mark.parametrize("then", THENS)
def test_what_may_be_said_there_is_read_and_the_rest_is_refused(point, then):
    said = {"then": then, **SAID[then]}
    if then == "answer" and point.name == "tool":
        said = {"then": then, "result": "x"}
    if then == "fail":
        with pytest.raises(Failed, match=r"^x$"):
            read(said, point)
    elif then in point.may:
        assert type(read(said, point)).__name__.lower() == then
    else:
        with pytest.raises(
            Failed, match=f"`then: {then}` is not for `{point.name}`, where .*`fail`.* may stand"
        ):
            read(said, point)


@pytest.mark.parametrize(
    ("point", "said", "says"),
    [
        ("done", {"then": "replaec"}, "did you mean `replace`?"),
        ("done", {"then": "xyz"}, "one of `replace`"),
        ("done", {"then": 5}, "`then: 5` is not known"),
        ("done", {"then": "replace", "mesage": "x"}, "`then: replace` has no `mesage` at `done`: did you mean `message`?"),
        ("tool", {"then": "change", "arg": {}}, "did you mean `args`?"),
        ("create", {"then": "change", "result": 1}, "it takes `args`, `input`, `model` and `options`"),
        ("tool", {"then": "answer", "message": "x"}, "needs `result` at `tool`"),
        ("fail", {"then": "answer"}, "needs `message` at `fail`"),
        ("done", {"then": "next"}, "needs `assistant` or `process`, one of them"),
        ("done", {"then": "next", "assistant": "a", "process": "p.log"}, "one of them"),
        ("done", {"then": "replace", "message": 5}, "not a message"),
        ("done", {"then": "replace", "message": {"txt": "x"}}, "no field `txt`"),
    ],
)  # fmt: skip
def test_a_result_that_says_it_wrongly_is_told_how(point, said, says):
    with pytest.raises(Failed) as caught:
        read(said, POINTS[point])
    assert says in caught.value.failure.text
    assert caught.value.failure.kind == "bad_result"


def test_messages_are_said_as_text_a_mapping_or_a_list():
    assert messages_of(None) == ()
    assert messages_of("a") == (Message(text="a"),)
    assert messages_of([{"type": "table", "props": {"rows": []}}, "b"]) == (
        Message(type="table", props={"rows": []}), Message(text="b")
    )  # fmt: skip


# -- chains --------------------------------------------------------------------------------------------


def saying(*values):
    """Return callbacks that give these results."""
    return [functools.partial(lambda *, value: value, value=value) for value in values]


def test_each_link_sees_what_the_ones_before_it_left(registry):
    seen = []

    def look(message):
        seen.append(message.text)

    chain = [look, *saying({"then": "replace", "message": "two"}), look, *saying("logged", None), look]
    assert answer(registry, chain) == "two"
    assert seen == ["hi", "two", "two"]


def test_a_message_in_anothers_place_keeps_its_identity(registry):
    def look(message):
        seen.append(message)

    seen = []
    asyncio.run(
        called(
            registry, [look, *saying({"then": "replace", "message": {"text": "x", "type": "markdown"}}), look]
        )
    )
    before, after = seen
    assert (after.id, after.assistant_id, after.role) == (before.id, "a", "assistant")
    assert (after.text, after.type) == ("x", "markdown")


def test_after_a_list_the_next_link_sees_its_last_message(registry):
    seen = []

    def look(message):
        seen.append(message.text)

    chain = [*saying({"then": "replace", "message": ["1", "2", "3"]}), look]
    assert answer(registry, chain) == "3"
    assert seen == ["3"]


def test_replace_with_null_hides(registry):
    outcome = asyncio.run(called(registry, saying({"then": "replace", "message": None})))
    assert outcome.message.hidden
    assert outcome.message.text == ""


def test_stop_leaves_out_the_rest_and_stop_without_a_message_keeps_what_there_is(registry):
    never = lambda: pytest.fail("it was left out")  # noqa: E731
    assert answer(registry, [*saying({"then": "stop", "message": "end"}), never]) == "end"
    assert answer(registry, [*saying({"then": "replace", "message": "x"}, {"then": "stop"}), never]) == "x"


def test_next_hands_over_to_a_process_or_an_assistant(registry):
    never = lambda: pytest.fail("it was left out")  # noqa: E731
    over = {"then": "next", "process": "p.with_args", "args": ["b", 1]}
    outcome = asyncio.run(called(registry, [*saying(over), never]))
    assert outcome.output == {"then": "replace", "message": "b 1"}
    running = Runner(registry, models={"local": Scripted(["first", "second"])})
    over = {"then": "next", "assistant": "a", "input": "again"}
    assert asyncio.run(running.call("a", "go", callback=saying(over))).output == "second"


def test_next_that_leads_nowhere_is_told(registry):
    failed = failure(registry, saying({"then": "next", "process": "p.lgo"}))
    assert failed.kind == "missing"
    assert "did you mean `p.log`?" in failed.text


def test_a_link_that_fails_is_named_with_its_place(registry):
    failed = failure(registry, ["p.log", "p.broken"])
    assert failed.text == "the callback `p.broken` of `callback` failed: broken on purpose"
    assert failed.place == "processes/p.yaml:9"

    def thrower(message):
        raise KeyError(message.text)

    failed = failure(registry, thrower)
    assert "thrower` raised KeyError: 'hi'" in failed.text
    assert failed.place == f"{__file__}:{thrower.__code__.co_firstlineno + 1}"


def test_a_lambda_is_named_by_where_it_stands(registry):
    thrower = lambda message: message.nothing  # noqa: E731
    line = thrower.__code__.co_firstlineno
    failed = failure(registry, thrower)
    named = f"a function (test_callbacks.py:{line})"
    assert failed.text.startswith(
        f"the callback `{named}` of `callback` failed: `{named}` raised AttributeError"
    )
    failed = failure(registry, {"name": lambda: 1, "args": [1]})
    assert (failed.kind, "`a function (test_callbacks.py:" in failed.text) == ("bad_args", True)


def test_next_that_leads_nowhere_fails_the_callback_that_says_it(registry):
    over = {"then": "next", "process": "p.lgo"}
    failed = failure(registry, saying(over))
    assert failed.text.startswith("the callback `partial` of `callback` failed: `then: next` leads nowhere")
    chain = [{"name": one, "on_error": "skip"} for one in saying(over)]
    assert answer(registry, chain) == answer(registry, [])


def test_then_fail_fails(registry):
    failed = failure(registry, saying({"then": "fail", "error": "too rude"}))
    assert failed.kind == "failed"
    assert failed.text.endswith("failed: too rude")


def test_a_link_whose_failure_is_skipped_changes_nothing(registry):
    chain = [
        {"name": "p.broken", "on_error": "skip"},
        {"name": lambda: {"then": "again"}, "on_error": "skip"},
        "a:own",
    ]
    assert answer(registry, chain) == "own hi"


def test_a_link_that_takes_too_long_fails(registry):
    async def slow(message):
        await asyncio.Event().wait()

    failed = failure(registry, {"name": slow, "timeout": "10ms"})
    assert "0.01 s" in failed.text
    assert answer(registry, [{"name": slow, "timeout": "10ms", "on_error": "skip"}]) == "hi"


def test_wrong_arguments_are_told_and_where(registry):
    failed = failure(registry, {"name": "p.with_args", "args": [1, 2, 3]})
    assert failed.kind == "bad_args"
    assert "it takes 2 arguments (`b` and `a`), not 3" in failed.text
    failed = failure(registry, {"name": of_text, "args": [1, 2]})
    assert failed.kind == "bad_args"
    assert "too many positional arguments" in failed.text


@pytest.mark.parametrize("wrong", ["args: ['{{ event.value.x }}']", "when: event.value.x"])
def test_a_template_that_fails_is_told_at_the_callback(tmp_path, wrong):
    registry = project(tmp_path, {
        "assistants/a.yaml": """
            model: local
            hooks:
              done:
                - {name: mine, when: event.usage.output == 9, args: [1]}
                - {name: mine, WRONG}
            methods: {mine: {parameters: {type: object, properties: {x: {}}}, value: 1}}
            """.replace("WRONG", wrong),
    })  # fmt: skip
    with pytest.raises(Failed) as caught:
        asyncio.run(called(registry, None))
    assert caught.value.failure.place == "assistants/a.yaml:6"
    assert caught.value.failure.kind == "template"


def test_messages_and_events_are_copies(registry):
    def spoil(message, event):
        event["value"] = "spoilt"
        message.props["rows"].append(1)

    def look(message, event):
        seen.append((message.props, event["value"]))

    seen = []
    table = {"then": "replace", "message": {"type": "table", "props": {"rows": []}}}
    asyncio.run(called(registry, [*saying(table), spoil, look]))
    assert seen == [({"rows": []}, "hi")]


def test_a_chain_of_two_thousand_works_like_one_of_two(registry):
    seen = []

    async def count(message):
        seen.append(message.text)
        return {"then": "replace", "message": str(int(message.text) + 1)}

    assert asyncio.run(called(registry, [count] * 2000, said="0")).output == "2000"
    assert len(seen) == 2000


def test_a_callback_given_to_a_process_sees_its_result(registry):
    seen = []

    def look(message, event):
        seen.append((message.text, message.data, event))

    async def main():
        running = Runner(registry)
        kept = await running.call("p.log", callback=look)
        changed = await running.call("p.log", callback=lambda: {"then": "replace", "message": "new"})
        return kept, changed

    kept, changed = asyncio.run(main())
    assert kept.output == "logged"
    assert seen == [("logged", "logged", {"process": "p.log", "value": "logged", "usage": {}})]
    assert changed.output == "new"
