"""A turn: its hooks, its rounds, its tools, its answer."""

import asyncio
import json

import pytest

from yaoci import Failed, Message, Runner
from yaoci.contracts import Delta
from yaoci.models.scripted import Scripted

from .project import loaded, project

SHOP = {
    "processes/shop.yaml": """
        methods:
          find:
            description: Finds one order by its number. Use it whenever an order is named.
            parameters:
              type: object
              properties: {id: {type: string, pattern: "^A[0-9]+$"}, most: {type: integer, default: 5}}
              required: [id]
            value: "found {{ args.id }} {{ args.most }}"
          charge:
            description: Charges for one order. Use it when the customer wants to pay.
            parameters: {type: object, properties: {id: {type: string}}}
            effect: write
            value: {charged: "{{ args.id }}"}
          broken: {description: Breaks always. Use it never., effect: read, steps: [{fail: it broke}]}
          wrong: {description: Gives what it should not. Use it never., returns: {type: integer}, value: text}
        """,
}
TOOLS = "[shop.find, shop.charge, shop.broken, shop.wrong]"


def assistant(text, more=None, **files):
    """Return the files of a project with the shop and one assistant `a`, whose file goes on with `text`."""
    return {"assistants/a.yaml": f"model: local\ntools: {TOOLS}\n" + text, **SHOP, **(more or {}), **files}


class Ran:
    """A run that ended: its outcome or failure, what the model was asked, its events."""

    def __init__(self, registry, script, target="a", input="go", models=None, **more):
        self.model = Scripted(list(script))
        self.events, self.outcome, self.failure = [], None, None
        asyncio.run(
            self.run(Runner(registry, models={"local": self.model, **(models or {})}), target, input, more)
        )

    async def run(self, runner, target, input, more):
        async with runner.stream(target, input, **more) as stream:
            try:
                async for event in stream:
                    self.events.append(event)
                self.outcome = stream.outcome
            except Failed as error:
                self.failure = error.failure

    @property
    def text(self):
        assert self.outcome, self.failure
        return self.outcome.message.text

    def of(self, kind):
        return [event for event in self.events if event.kind == kind]

    @property
    def settled(self):
        return [event.message.text for event in self.of("message") if event.message.done]

    def results(self, round=1):
        """What the model read as results of its calls, in order, when it was asked for the `round`th time after."""
        messages = self.model.requests[round].messages
        last = max(i for i, message in enumerate(messages) if message.role == "assistant")
        return [json.loads(message.text) for message in messages[last + 1 :] if message.role == "tool"]


def calling(*calls):
    """Return a scripted turn that makes these calls, also several of one function."""
    return [{"call": {name: args}} for name, args in calls]


FIND = {"call": {"shop_find": {"id": "A1"}}}


# -- the order of things -----------------------------------------------------------------------------------


def test_prompts_then_the_input_then_calls_and_results_go_to_the_model(tmp_path):
    registry = project(tmp_path, assistant("""
vars: {shop: ACME}
parameters: {type: object, properties: {tone: {type: string, default: friendly}}}
prompts:
  - {content: "You answer for {{ vars.shop }}, {{ args.tone }}."}
  - {content: "Never.", when: args.tone == 'rude'}
  - {role: user, content: Hello}
  - {role: assistant, content: "Hello!"}
options: {temperature: 0.5}
"""))  # fmt: skip
    ran = Ran(registry, [[{"say": "Let me see."}, FIND], "There."], options={"max_tokens": 9})
    first, second = ran.model.requests
    assert [(m.role, m.text) for m in first.messages] == [
        ("system", "You answer for ACME, friendly."), ("user", "Hello"), ("assistant", "Hello!"), ("user", "go"),
    ]  # fmt: skip
    assert first.options == {"temperature": 0.5, "max_tokens": 9}
    assert [f.id for f in first.functions] == ["shop_find", "shop_charge", "shop_broken", "shop_wrong"]
    called, result = second.messages[4:]
    assert (called.role, called.text, [call.name for call in called.tool_calls]) == (
        "assistant",
        "Let me see.",
        ["shop_find"],
    )
    assert (result.role, result.tool_call_id, result.text) == (
        "tool",
        called.tool_calls[0].id,
        '{"text":"found A1 5"}',
    )
    assert ran.text == "There."
    assert ran.settled == ["Let me see.", "There."]
    assert [event.kind for event in ran.events if event.kind != "message"] == [
        "run_started", "turn_started", "model_started", "model_ended", "tool_started", "tool_ended",
        "model_started", "model_ended", "run_ended",
    ]  # fmt: skip
    assert [event.seq for event in ran.events] == list(range(1, len(ran.events) + 1))


LOOK = "SEEN = []\ndef look(message, event):\n    SEEN.append((message.role, message.text, event))\n"


def test_hooks_run_in_order_with_what_they_concern(tmp_path):
    registry = project(tmp_path, assistant("""
hooks: {create: [look, look], tool: look, result: look, done: look}
methods: {look: {python: look, effect: read}}
""", {"assistants/a.py": LOOK}))  # fmt: skip
    ran = Ran(registry, [FIND, "There."])
    create, again, tool, result, done = loaded(tmp_path / "assistants/a.py").SEEN
    assert create == again
    assert create[:2] == ("user", "go")
    assert create[2] == {
        "input": [{"text": "go", "role": "user"}],
        "options": {},
        "model": ["local"],
        "args": {},
    }
    about = {"id": "call_1", "tool": "shop_find", "process": "shop.find", "args": {"id": "A1", "most": 5}}
    assert tool == ("assistant", "", about)
    assert result == ("tool", '{"text":"found A1 5"}', {**about, "result": "found A1 5", "ok": True})
    assert done[:2] == ("assistant", "There.")
    assert done[2] == {"value": "There.", "usage": ran.outcome.usage.to_json(), "rounds": 2}


# -- create --------------------------------------------------------------------------------------------------


def create(tmp_path, said, more=""):
    return project(tmp_path, assistant(f"hooks: {{create: c}}\nmethods: {{c: {{value: {said}}}}}\n{more}"))


def test_create_changes_what_is_asked_and_how(tmp_path):
    said = "{then: change, input: [first, {text: second, role: assistant}], options: {temperature: 1}, args: {x: 5}}"
    ran = Ran(create(tmp_path, said, "prompts: [{content: '{{ args.x }}'}]"), ["hi"])
    (request,) = ran.model.requests
    assert [(m.role, m.text) for m in request.messages] == [
        ("system", "5"), ("user", "first"), ("assistant", "second"),
    ]  # fmt: skip
    assert request.options == {"temperature": 1}


def test_create_chooses_the_model(tmp_path):
    for said in ("other", "[other, local]"):
        other = Scripted(["from another"])
        ran = Ran(create(tmp_path, f"{{then: change, model: {said}}}"), [], models={"other": other})
        assert ran.text == "from another"


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("{then: change, input: 5}", "not a message"),
        ("{then: change, options: warm}", "options"),
        ("{then: change, options: {temprature: 1}}", "options.temprature"),
        ("{then: change, model: 5}", "model"),
        ("{then: change, model: [5]}", "model.0"),
        ("{then: change, model: lokal}", "no model is called `lokal`"),
    ],
)
def test_what_create_leaves_wrong_is_told(tmp_path, said, says):
    ran = Ran(create(tmp_path, said), [])
    assert says in ran.failure.text


def test_create_answers_instead_of_the_model_and_done_follows(tmp_path):
    registry = project(tmp_path, assistant("""
hooks: {create: c, done: d}
methods: {c: {value: {then: answer, message: [one, two]}}, d: {value: {then: replace, message: "{{ message.text }}!"}}}
"""))  # fmt: skip
    ran = Ran(registry, [])
    assert ran.model.requests == []
    assert ran.settled == ["one", "two!"]
    assert ran.outcome.output == "one\ntwo!"


def test_stop_in_create_ends_the_turn_without_done(tmp_path):
    registry = project(tmp_path, assistant("""
hooks: {create: c, done: d}
methods: {c: {value: {then: stop, message: closed}}, d: {value: {then: fail, error: not here}}}
"""))  # fmt: skip
    assert Ran(registry, []).text == "closed"


# -- tool calls ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("shop_fnid", {}, "there is no tool `shop_fnid`: did you mean `shop_find`?"),
        ("shop_find", "{", "not valid JSON"),
        ("shop_find", '{"id": NaN}', "NaN is not JSON"),
        ("shop_find", {"id": "B1"}, "`id`"),
        ("shop_find", '{"id": "A1", "x": ' + "[" * 90 + "]" * 90 + "}", "deeper"),
        ("shop_find", '"' + "x" * 1_100_000 + '"', "characters; at most"),
        ("shop_broken", {}, "it broke"),
        ("shop_wrong", {}, "the result of `shop.wrong`"),
    ],
    ids=["unknown", "unparsable", "nan", "mistyped", "deep", "huge", "failing", "misfit"],
)
def test_every_fault_of_a_call_is_a_result_that_the_model_reads(tmp_path, name, args, says):
    registry = project(tmp_path, assistant(""))
    ran = Ran(registry, [calling((name, args)), "I see."])
    (result,) = ran.results()
    assert list(result) == ["error"]
    assert says in result["error"]
    assert ran.text == "I see."
    assert ran.of("tool_ended")[0].data["ok"] is False


def test_arguments_in_a_string_are_taken(tmp_path):
    ran = Ran(project(tmp_path, assistant("")), [calling(("shop_find", '"{\\"id\\": \\"A1\\"}"')), "ok"])
    assert ran.results() == [{"text": "found A1 5"}]


def test_a_call_that_was_cut_at_the_token_limit_does_not_run(tmp_path):
    ran = Ran(project(tmp_path, assistant("")), [[FIND, {"finish": "length"}], "ok"])
    assert "cut at the token limit" in ran.results()[0]["error"]
    assert ran.of("tool_started") == []


def test_a_call_that_fails_does_not_lose_its_siblings_and_results_keep_the_asked_order(tmp_path):
    calls = [("shop_charge", {"id": "A1"}), ("shop_broken", {}), ("shop_find", {"id": "A2"}), ("nothing", {})]
    ran = Ran(project(tmp_path, assistant("")), [calling(*calls), "ok"])
    charged, broken, found, unknown = ran.results()
    assert (charged, found) == ({"charged": "A1"}, {"text": "found A2 5"})
    assert broken == {"error": "it broke"}
    assert "no tool" in unknown["error"]
    assert [m.name for m in ran.model.requests[1].messages if m.role == "tool"] == [name for name, _ in calls]


OVERLAP = {
    "processes/w.py": """
        import asyncio
        from yaoci import process

        LOG = []
        MET = {}

        async def both(name):
            "Come back only when the other one runs as well."
            LOG.append(f"+{name}")
            MET.setdefault("event", asyncio.Event())
            if sum(line[0] == "+" and "r" in line for line in LOG) % 2 == 0:
                MET.pop("event").set()
            else:
                await MET["event"].wait()
            LOG.append(f"-{name}")

        @process(effect="read")
        async def r(n: int):
            "Reads."
            await both(f"r{n}")

        @process(effect="write")
        async def w(n: int):
            "Writes."
            LOG.append(f"+w{n}")
            await asyncio.sleep(0)
            LOG.append(f"-w{n}")
            return list(LOG)
        """,
}


def test_neighbours_that_read_run_at_once_and_a_write_alone_at_its_place(tmp_path):
    files = {**OVERLAP, "assistants/a.yaml": "model: local\ntools: [w.r, w.w]\n"}
    calls = [
        ("w_r", {"n": 1}),
        ("w_r", {"n": 2}),
        ("w_w", {"n": 3}),
        ("w_w", {"n": 4}),
        ("w_r", {"n": 5}),
        ("w_r", {"n": 6}),
    ]
    ran = Ran(project(tmp_path, files), [calling(*calls, ("w_w", {"n": 7})), "ok"])
    log = ran.results()[-1]
    assert set(log[:2]) == {"+r1", "+r2"}
    assert set(log[2:4]) == {"-r1", "-r2"}
    assert log[4:8] == ["+w3", "-w3", "+w4", "-w4"]
    assert set(log[8:10]) == {"+r5", "+r6"}
    assert log[12:] == ["+w7", "-w7"]


def tool(tmp_path, chain, methods, more=""):
    return project(tmp_path, assistant(f"hooks: {{tool: {chain}}}\nmethods: {{{methods}}}\n{more}"))


def test_a_tool_chain_changes_arguments_which_pass_the_schema_again(tmp_path):
    registry = tool(tmp_path, "g", "g: {value: {then: change, args: {id: A9}}}")
    assert Ran(registry, [FIND, "ok"]).results() == [{"text": "found A9 5"}]
    registry = tool(tmp_path, "g", "g: {value: {then: change, args: {id: B9}}}")
    assert "`id`" in Ran(registry, [FIND, "ok"]).results()[0]["error"]
    registry = tool(tmp_path, "g", "g: {value: {then: change, args: all}}")
    assert "shop_find" in Ran(registry, [FIND, "ok"]).results()[0]["error"]


def test_a_tool_chain_goes_on_with_the_changed_arguments(tmp_path):
    methods = (
        "g: {value: {then: change, args: {id: A9}}}, h: {value: {then: answer, result: '{{ event.args }}'}}"
    )
    assert Ran(tool(tmp_path, "[g, h]", methods), [FIND, "ok"]).results() == [{"id": "A9"}]


def test_a_tool_chain_answers_or_refuses_instead_of_the_tool(tmp_path):
    registry = tool(tmp_path, "g", "g: {value: {then: answer, result: [1]}}")
    ran = Ran(registry, [FIND, "ok"])
    assert ran.results() == [[1]]
    assert ran.of("tool_started") == []
    registry = tool(tmp_path, "g", "g: {value: {then: refuse, reason: not today}}")
    assert Ran(registry, [FIND, "ok"]).results() == [{"error": "not today"}]


def test_stop_in_a_tool_chain_runs_nothing_of_the_round(tmp_path):
    registry = tool(
        tmp_path, "{name: g, when: event.args.id == 'A2'}", "g: {value: {then: stop, message: enough}}"
    )
    ran = Ran(registry, [calling(("shop_charge", {"id": "A1"}), ("shop_find", {"id": "A2"}))])
    assert ran.text == "enough"
    assert ran.of("tool_started") == []


def test_a_tool_chain_that_fails_fails_the_turn(tmp_path):
    registry = tool(tmp_path, "g", "g: {steps: [{fail: guard is out}]}")
    failure = Ran(registry, [FIND]).failure
    assert failure.text == "the callback `a:g` of `tool` failed: guard is out"
    assert failure.place.startswith("assistants/a.yaml:")


def test_a_result_chain_changes_what_the_model_reads(tmp_path):
    registry = project(tmp_path, assistant("""
hooks: {result: [r, {name: r, when: "event.tool == 'shop_broken'"}]}
methods: {r: {value: {then: change, result: {was: "{{ event.result }}", ok: "{{ event.ok }}"}}}}
"""))  # fmt: skip
    ran = Ran(registry, [calling(("shop_find", {"id": "A1"}), ("shop_broken", {}), ("nothing", {})), "ok"])
    found, broken, unknown = ran.results()
    assert found == {"was": "found A1 5", "ok": True}
    assert broken == {"was": {"was": {"error": "it broke"}, "ok": False}, "ok": False}
    assert unknown["ok"] is False


def test_stop_in_a_result_chain_comes_after_all_have_their_result(tmp_path):
    registry = project(tmp_path, assistant("""
hooks: {result: {name: r, when: event.tool == 'shop_find'}}
methods: {r: {value: {then: stop, message: "{{ event.result }}"}}}
"""))  # fmt: skip
    ran = Ran(registry, [calling(("shop_find", {"id": "A1"}), ("shop_charge", {"id": "A2"}))])
    assert ran.text == "found A1 5"
    assert [event.data["tool"] for event in ran.of("tool_ended")] == ["shop_find", "shop_charge"]


def test_a_result_chain_hands_over_after_all_have_their_result(tmp_path):
    files = assistant("""
hooks: {result: {name: r, when: event.tool == 'shop_find'}}
methods: {r: {value: {then: next, assistant: b, input: "{{ event.result }}"}}}
""", {"assistants/b.yaml": "model: local\n"})  # fmt: skip
    ran = Ran(
        project(tmp_path, files),
        [calling(("shop_find", {"id": "A1"}), ("shop_charge", {"id": "A2"})), "of b"],
    )
    assert ran.text == "of b"
    assert ran.model.requests[1].messages[-1].text == "found A1 5"
    assert [event.data["ok"] for event in ran.of("tool_ended")] == [True, True]


def test_the_same_call_again_and_again_is_told_and_then_stopped(tmp_path):
    ran = Ran(project(tmp_path, assistant("limits: {rounds: 9}")), [FIND] * 5)
    assert ran.failure.kind == "limit"
    assert "5 times in a row" in ran.failure.text
    assert "the same call was just made" in ran.results(3)[0]["error"]
    assert len(ran.of("tool_started")) == 2


def test_a_tools_limit_is_a_result_and_the_runs_limit_a_failure(tmp_path):
    files = assistant("", {"assistants/a.yaml": """
        model: local
        tools: [{process: shop.charge, limits: {calls: 1}}]
        """})  # fmt: skip
    calls = [("shop_charge", {"id": "A1"}), ("shop_charge", {"id": "A2"})]
    ran = Ran(project(tmp_path, files), [calling(*calls), "ok"])
    assert "may be called once in a turn" in ran.results()[1]["error"]
    ran = Ran(project(tmp_path, assistant("limits: {calls: 2}")), [calling(*calls), "ok"])
    assert ran.failure.kind == "limit"
    assert "`limits.calls` is used up (assistants/a.yaml:" in ran.failure.text


def test_a_tool_that_takes_too_long_is_a_result(tmp_path):
    files = {
        "assistants/a.yaml": "model: local\ntools: [{process: w.slow, limits: {timeout: 10ms}}]\n",
        "processes/w.py": "import asyncio\nfrom yaoci import process\n@process(effect='read')\nasync def slow():\n"
        "    'Waits.'\n    await asyncio.Event().wait()\n",
    }
    assert Ran(project(tmp_path, files), [calling(("w_slow", {})), "ok"]).results() == [
        {"error": "it took longer than 0.01 s"}
    ]


# -- the answer ----------------------------------------------------------------------------------------------

RETURNS = "returns: {type: object, properties: {n: {type: integer}}, required: [n]}\n"


def test_the_answer_must_fit_returns_and_a_misfit_is_told_as_the_next_round(tmp_path):
    registry = project(tmp_path, assistant(RETURNS))
    ran = Ran(registry, ["not JSON", '{"n": "5"}', '{"n": NaN}', '```json\n{"n": 5}\n```'])
    assert ran.outcome.output == {"n": 5}
    assert ran.outcome.message.data == {"n": 5}
    told = [request.messages[-1] for request in ran.model.requests[1:]]
    assert [message.role for message in told] == ["user"] * 3
    assert "not JSON" in told[0].text
    assert "`n`" in told[1].text
    assert ran.model.requests[-1].messages[-2].text == '{"n": NaN}'
    assert ran.model.requests[0].schema["required"] == ["n"]
    assert len(ran.settled) == 1


def test_misfits_use_up_the_rounds(tmp_path):
    ran = Ran(project(tmp_path, assistant(RETURNS + "limits: {rounds: 2}\n")), ["no", "no"])
    assert ran.failure.kind == "limit"
    assert "asked 2 times" in ran.failure.text
    assert ran.failure.place.startswith("assistants/a.yaml:")


def test_a_model_that_cannot_keep_a_schema_is_told_it(tmp_path):
    class Plain(Scripted):
        capabilities = frozenset({"text"})

    plain = Plain(['{"n": 1}'])
    registry = project(tmp_path, assistant(RETURNS))
    Ran(registry, [], models={"local": plain})
    assert plain.requests[0].messages[0].role == "system"
    assert '"required":["n"]' in plain.requests[0].messages[0].text


def test_the_last_round_is_the_limit(tmp_path):
    ran = Ran(project(tmp_path, assistant("limits: {rounds: 2}\n")), [FIND, "There."])
    assert ran.text == "There."
    ran = Ran(
        project(tmp_path, assistant("limits: {rounds: 2}\n")), [FIND, calling(("shop_find", {"id": "A2"}))]
    )
    assert ran.failure.kind == "limit"


def done(tmp_path, said, more=""):
    return project(tmp_path, assistant(f"hooks: {{done: d}}\nmethods: {{d: {{value: {said}}}}}\n{more}"))


def test_done_replaces_the_answer_and_its_value(tmp_path):
    ran = Ran(done(tmp_path, "{then: replace, message: '{{ message.text }}!'}"), ["hi"])
    assert (ran.text, ran.outcome.output, ran.settled) == ("hi!", "hi!", ["hi!"])
    ran = Ran(done(tmp_path, "{then: replace, message: [a, b]}"), ["hi"])
    assert (ran.settled, ran.outcome.output) == (["a", "b"], "a\nb")


def test_a_hidden_answer_is_not_shown(tmp_path):
    ran = Ran(done(tmp_path, "{then: replace, message: null}"), ["hi"])
    assert ran.settled == []
    assert ran.outcome.message.hidden
    assert ran.outcome.output == ""


def test_what_done_puts_in_the_answers_place_must_fit_returns_too(tmp_path):
    said = "{then: replace, message: {text: five, data: {n: 5}}}"
    ran = Ran(done(tmp_path, said, RETURNS), ['{"n": 1}'])
    assert (ran.outcome.output, ran.text) == ({"n": 5}, "five")
    said = "{then: replace, message: {text: five, data: {n: five}}}"
    assert Ran(done(tmp_path, said, RETURNS), ['{"n": 1}']).failure.kind == "bad_result"
    ran = Ran(done(tmp_path, "{then: replace, message: only the text}", RETURNS), ['{"n": 1}'])
    assert (ran.outcome.output, ran.text) == ({"n": 1}, "only the text")


# -- failing -------------------------------------------------------------------------------------------------

BUSY = [[{"fail": {"kind": "overloaded", "message": "busy"}}]]


class Silent(Scripted):
    """A model that never answers."""

    async def stream(self, request):
        await asyncio.Event().wait()
        yield Delta()


def failing(tmp_path, hooks, methods, more="", **files):
    return project(tmp_path, assistant(f"hooks: {{{hooks}}}\nmethods: {{{methods}}}\n{more}", files))


def test_fail_answers_and_its_answer_goes_through_done(tmp_path):
    methods = "f: {value: {then: answer, message: 'sorry: {{ event.error.kind }} {{ message.text }}'}},"
    methods += "d: {value: {then: replace, message: '{{ message.text }}!'}}"
    ran = Ran(failing(tmp_path, "fail: f, done: d", methods), BUSY)
    assert ran.text == "sorry: overloaded busy!"
    assert ran.outcome.message.assistant_id == "a"


def test_an_answer_of_fail_does_not_go_through_the_done_that_failed(tmp_path):
    methods = "f: {value: {then: answer, message: '{{ event.error.message }}'}}, d: {steps: [{fail: no}]}"
    ran = Ran(failing(tmp_path, "fail: f, done: d", methods), ["hi"])
    assert ran.text == "the callback `a:d` of `done` failed: no"
    assert len([event for event in ran.of("callback_ended") if event.data["hook"] == "done"]) == 1


def test_when_fail_fails_the_first_error_is_told_with_the_second_as_its_note(tmp_path):
    ran = Ran(failing(tmp_path, "fail: f", "f: {steps: [{fail: worse}]}"), BUSY)
    assert ran.failure.kind == "overloaded"
    assert ran.failure.text == "busy (and then the callback `a:f` of `fail` failed: worse)"


def test_a_fail_hook_that_only_looks_leaves_the_failure_as_it_is(tmp_path):
    ran = Ran(failing(tmp_path, "fail: f", "f: {value: seen}"), BUSY)
    assert (ran.failure.kind, ran.failure.text) == ("overloaded", "busy")


def test_fail_runs_for_limits_and_deadlines(tmp_path):
    methods = "f: {value: {then: answer, message: '{{ event.error.kind }}'}}"
    ran = Ran(failing(tmp_path, "fail: f", methods, "limits: {rounds: 1}"), [FIND])
    assert ran.text == "limit"
    registry = failing(tmp_path, "fail: f", methods, "limits: {timeout: 20ms}")
    assert Ran(registry, [], models={"local": Silent()}).text == "timeout"


def test_a_deadline_names_its_limit_and_where_that_is_written(tmp_path):
    ran = Ran(project(tmp_path, assistant("limits: {timeout: 20ms}\n")), [], models={"local": Silent()})
    assert ran.failure.text == "the turn took longer than 0.02 s: `limits.timeout`"
    assert ran.failure.place == "assistants/a.yaml:3"
    files = assistant("limits: {timeout: 9s}\n", {"yaoci.yaml": "\n\nlimits: {timeout: 20ms}\n"})
    ran = Ran(project(tmp_path, files), [], models={"local": Silent()})
    assert ran.failure.place == "yaoci.yaml:3"


def test_a_used_up_limit_names_where_it_is_written(tmp_path):
    registry = project(tmp_path, assistant("", {"yaoci.yaml": "\nlimits: {rounds: 1}\n"}))
    ran = Ran(registry, [FIND])
    assert ran.failure.text == "the model was asked once and has not answered: `limits.rounds` is used up"
    assert ran.failure.place == "yaoci.yaml:2"


def test_fail_may_not_take_for_ever_after_a_deadline(tmp_path, monkeypatch):
    monkeypatch.setattr("yaoci.turn.LAST_WORDS", 0.02)
    python = "import asyncio\nasync def f():\n    await asyncio.Event().wait()\n"
    more = "limits: {timeout: 20ms}"
    registry = failing(tmp_path, "fail: f", "f: {python: f}", more, **{"assistants/a.py": python})
    ran = Ran(registry, [], models={"local": Silent()})
    assert ran.failure.kind == "timeout"
    assert ran.failure.text.endswith("`limits.timeout` (and then `fail` took longer than 0.02 s)")


def test_an_answer_of_fail_is_told_with_its_error(tmp_path):
    for said in ("{then: answer, message: sorry}", "{then: next, assistant: b}"):
        files = {"assistants/b.yaml": "model: local\n"}
        ran = Ran(failing(tmp_path, "fail: f", f"f: {{value: {said}}}", **files), [*BUSY, "of b"])
        assert (ran.outcome.state, ran.outcome.error.kind, ran.outcome.error.text) == (
            "done",
            "overloaded",
            "busy",
        )
        (note,) = ran.of("note")
        assert note.data == {
            "text": "the turn failed, and `fail` answered",
            "error": ran.outcome.error.to_json(),
        }
        assert ran.events[-1].data["error"] == ran.outcome.error.to_json()
    assert Ran(project(tmp_path, assistant("")), ["hi"]).outcome.error is None


def test_a_text_that_was_shown_ends_where_the_turn_fails(tmp_path):
    half = [[{"say": "Half a"}, {"fail": {"kind": "stream_cut"}}]]
    ran = Ran(project(tmp_path, assistant("")), half)
    pieces = [event.message for event in ran.of("message")]
    assert (pieces[-1].text, pieces[-1].done, pieces[-1].data) == ("Half a", True, {"cut": "failed"})
    assert {message.id for message in pieces} == {pieces[0].id}
    answered = failing(tmp_path, "fail: f", "f: {value: {then: answer, message: sorry}}")
    assert Ran(answered, half).settled == ["sorry"]
    assert Ran(project(tmp_path, assistant("stream: held\n")), half).of("message") == []


def test_a_text_before_calls_is_settled_and_not_cut_when_the_turn_fails_later(tmp_path):
    registry = project(tmp_path, assistant("hooks: {tool: g}\nmethods: {g: {steps: [{fail: no}]}}\n"))
    ran = Ran(registry, [[{"say": "Let me see."}, FIND]])
    assert ran.failure.text.endswith("failed: no")
    assert [message.data for message in (event.message for event in ran.of("message")) if message.done] == [
        None
    ]


def test_fail_sees_what_was_said_until_then(tmp_path):
    methods = "f: {value: {then: answer, message: 'cut: {{ event.partial }}'}}"
    ran = Ran(failing(tmp_path, "fail: f", methods), [[{"say": "Half a"}, {"fail": {"kind": "stream_cut"}}]])
    assert ran.text == "cut: Half a"


# -- models in order -----------------------------------------------------------------------------------------


def two_models(tmp_path, more=""):
    files = assistant(more, {"yaoci.yaml": "models: {spare: local}\n"})
    files["assistants/a.yaml"] = files["assistants/a.yaml"].replace("model: local", "model: [local, spare]")
    return project(tmp_path, files)


def test_the_next_model_is_asked_for_a_fault_that_it_may_not_have(tmp_path):
    ran = Ran(two_models(tmp_path), BUSY, models={"spare": Scripted(["from spare"])})
    assert ran.text == "from spare"
    assert ran.of("note")[0].data["error"]["kind"] == "overloaded"


def test_a_fault_of_the_request_is_everyones(tmp_path):
    ran = Ran(two_models(tmp_path), [[{"fail": {"kind": "bad_request"}}]], models={"spare": Scripted(["no"])})
    assert ran.failure.kind == "bad_request"
    assert ran.failure.place == "assistants/a.yaml:1"


def test_a_text_that_was_shown_is_not_begun_again_by_another_model(tmp_path):
    script = [[{"say": "Half a"}, {"fail": {"kind": "stream_cut"}}]]
    ran = Ran(two_models(tmp_path), script, models={"spare": Scripted(["no"])})
    assert ran.failure.kind == "stream_cut"
    held = two_models(tmp_path, "stream: held\n")
    assert Ran(held, script, models={"spare": Scripted(["whole"])}).text == "whole"


# -- handing over --------------------------------------------------------------------------------------------


def over(tmp_path, said, more=None, to=""):
    text = f"hooks: {{done: d}}\nmethods: {{d: {{value: {said}}}}}\nvars: {{to: '{to}'}}\n"
    return project(tmp_path, assistant(text, {"assistants/b.yaml": "model: local\n", **(more or {})}))


def test_next_takes_the_place_of_what_is_running_with_the_users_message_or_its_input(tmp_path):
    ran = Ran(over(tmp_path, "{then: next, assistant: b}"), ["of a", "of b"])
    assert (ran.text, ran.outcome.message.assistant_id) == ("of b", "b")
    assert [m.text for m in ran.model.requests[1].messages] == ["go"]
    assert ran.settled == ["of b"]
    ran = Ran(over(tmp_path, "{then: next, assistant: b, input: '{{ message.text }}'}"), ["of a", "of b"])
    assert [m.text for m in ran.model.requests[1].messages] == ["of a"]


def test_next_to_a_process_makes_its_result_the_answer(tmp_path):
    ran = Ran(over(tmp_path, "{then: next, process: shop.charge, args: [A7]}"), ["hi"])
    assert ran.outcome.output == {"charged": "A7"}
    assert ran.settled == ['{"charged":"A7"}']


def test_next_that_leads_nowhere_is_told(tmp_path):
    ran = Ran(over(tmp_path, "{then: next, process: '{{ vars.to }}'}", to="shop.chrage"), ["hi"])
    assert ran.failure.kind == "missing"
    assert "did you mean `shop.charge`?" in ran.failure.text


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("{then: next, process: '{{ vars.to }}'}", "leads nowhere: no process is called `shop.chrage`"),
        (
            "{then: next, process: shop.find, args: {id: '{{ vars.to }}'}}",
            "the arguments of `shop.find` do not fit",
        ),
        ("{then: next, assistant: b, input: '{{ vars.none }}'}", "there is nothing to answer"),
    ],
)
@pytest.mark.parametrize("hook", ["create", "done", "result"])
def test_a_hand_over_that_cannot_be_fails_the_turn_that_says_it(tmp_path, hook, said, says):
    text = f"""
vars: {{to: shop.chrage, none: ''}}
hooks:
  {hook}: d
  fail: f
methods: {{d: {{value: {said}}}, f: {{value: {{then: answer, message: "sorry: {{{{ event.error.message }}}}"}}}}}}
"""
    script = [FIND, "hi"] if hook == "result" else ["hi"]
    ran = Ran(project(tmp_path, assistant(text, {"assistants/b.yaml": "model: local\n"})), script)
    assert ran.text.startswith(f"sorry: the callback `a:d` of `{hook}` failed: ")
    assert says in ran.text
    assert ran.outcome.error.place == "assistants/a.yaml:6"


def test_rounds_go_on_through_a_hand_over(tmp_path):
    files = {"assistants/b.yaml": f"model: local\ntools: {TOOLS}\nlimits: {{rounds: 3}}\n"}
    registry = over(tmp_path, "{then: next, assistant: b}", files)
    ran = Ran(registry, ["a", FIND, calling(("shop_find", {"id": "A2"}))])
    assert ran.failure.kind == "limit"
    assert len(ran.model.requests) == 3


@pytest.mark.parametrize("hook", ["create", "done"])
def test_a_ping_pong_of_hand_overs_ends(tmp_path, hook):
    def one(other):
        return f"""
            model: local
            hooks: {{{hook}: d}}
            methods: {{d: {{value: {{then: next, assistant: {other}}}}}}}
            limits: {{calls: 6, rounds: 100}}
            """

    files = {"assistants/a.yaml": one("b"), "assistants/b.yaml": one("a")}
    ran = Ran(project(tmp_path, files), ["hi"] * 100)
    assert ran.failure.kind == "limit"
    assert "`limits.calls` is used up" in ran.failure.text
    assert len(ran.model.requests) <= 7


def test_after_a_hand_over_the_answer_must_fit_the_returns_of_the_first(tmp_path):
    text = RETURNS + "hooks: {create: d}\nmethods: {d: {value: {then: next, assistant: b}}}\n"
    second = {"assistants/b.yaml": "model: local\n" + RETURNS}
    assert Ran(project(tmp_path, assistant(text, second)), ['{"n": 5}']).outcome.output == {"n": 5}
    second = {"assistants/b.yaml": "model: local\n"}
    ran = Ran(project(tmp_path, assistant(text, second)), ["words"])
    assert ran.failure.kind == "bad_result"
    assert "what `b` answered for `a`" in ran.failure.text


def test_fail_can_hand_over(tmp_path):
    methods = "f: {value: {then: next, assistant: b}}"
    registry = project(
        tmp_path,
        assistant(f"hooks: {{fail: f}}\nmethods: {{{methods}}}\n", {"assistants/b.yaml": "model: local\n"}),
    )
    assert Ran(registry, [*BUSY, "of b"]).text == "of b"


def test_calls_that_nest_too_deep_are_told_with_the_chain(tmp_path):
    def one(other):
        return f"model: local\ndescription: Calls on. Use it for all.\ntools: [{{assistant: {other}}}]\n"

    files = {
        "assistants/a.yaml": one("b"),
        "assistants/b.yaml": one("a"),
        "yaoci.yaml": "limits: {depth: 3}\n",
    }
    script = [[{"call": {name: {"input": "x"}}}] for name in "bab"]
    ran = Ran(project(tmp_path, files), [*script, "three", "two", "one"])
    assert ran.text == "one"
    told = json.loads(ran.model.requests[3].messages[-1].text)["error"]
    assert "nest deeper than 3: a → b → a → b" in told


def test_a_hand_over_goes_no_deeper(tmp_path):
    files = {
        "assistants/b.yaml": "model: local\ntools: [{assistant: c}]\n",
        "assistants/c.yaml": "model: local\ndescription: Helps. Use it for all.\n",
        "yaoci.yaml": "limits: {depth: 2}\n",
    }
    ran = Ran(
        over(tmp_path, "{then: next, assistant: b}", files), ["a", calling(("c", {"input": "x"})), "c", "b"]
    )
    assert ran.results(3) == [{"text": "c"}]


def test_hooks_of_an_assistant_run_also_where_it_is_a_tool_and_its_messages_stay_with_the_caller(tmp_path):
    files = {
        "assistants/a.yaml": "model: local\ntools: [{assistant: b}]\n",
        "assistants/b.yaml": """
            model: local
            description: Answers. Use it for all.
            hooks: {done: d}
            methods: {d: {value: {then: replace, message: "{{ message.text }}!"}}}
            """,
    }
    ran = Ran(project(tmp_path, files), [calling(("b", {"input": "x"})), "inner", "outer"])
    assert ran.results(2) == [{"text": "inner!"}]
    assert ran.settled == ["outer"]


def test_a_message_keeps_who_said_it(tmp_path):
    registry = project(tmp_path, assistant("name: {en: Desk, zh-CN: 客服}\navatar: pic.png\n"))
    for locale, name in (("", "Desk"), ("zh-CN", "客服"), ("zh", "客服")):
        said = Ran(registry, ["hi"], context={"locale": locale}).outcome.message
        assert said == Message(
            id=said.id, text="hi", role="assistant", assistant_id="a", assistant_name=name, assistant_avatar="pic.png",
        )  # fmt: skip
