import json

import pytest

from yaoci.cli import main

FILES = {
    "yaoci.yaml": """\
models:
  fast: {use: openai/gpt-5-mini}
  small: local
providers:
  mine: {api: openai-chat, base_url: "http://me:hunter2@127.0.0.1/v1", key: MY_KEY, headers: {X-Token: hunter2}}
default_model: fast
""",
    "assistants/helpdesk/assistant.yaml": """\
name: 客服
description: Answers customers about their orders, politely.
options: {temperature: 0.2}
prompts:
  - file: prompt.md
  - content: |
      You answer for {{ vars.shop }}.

      Be brief.
vars: {shop: "ACME: all"}
tools:
  - shop.orders.find
  - {process: shop.orders.refund, id: refund}
  - look_up
hooks:
  create: prepare
  done:
    - audit.log
    - {name: audit.log, args: {level: 2}, when: event.rounds > 1, on_error: skip}
methods:
  prepare: {value: ok}
  look_up:
    description: Looks a word up in the glossary. Use it for abbreviations.
    parameters: {type: object, properties: {word: {type: string}}, required: [word]}
    value: "{{ args.word }}"
""",
    "assistants/helpdesk/prompt.md": "Be kind.\n",
    "assistants/quiet.yaml": """\
description: Returns what it found, as data that fits.
model: local
returns: {type: object}
""",
    "processes/shop/orders.yaml": """\
name: {en: Orders, zh-CN: 订单}
description: What customers bought.
methods:
  find:
    name: 查找
    description: |
      Find an order by its number, such as A42. Use it whenever a customer
      mentions an order.
    effect: read
    parameters:
      type: object
      properties:
        id: {type: string, description: The number on the receipt}
        limit: {type: integer, default: 10}
        state: {enum: [open, sent]}
        tags: {type: array, items: {type: string}}
      required: [id]
    returns: {type: object, properties: {id: {type: string}}}
    examples:
      - {ask: Where is A42?, args: {id: A42}, result: {id: A42}, answer: Here.}
    python: find
  refund:
    description: Pays an order back. Use it only when the customer has asked for it.
    parameters: {type: object, properties: {id: {type: string}}, required: [id]}
    steps:
      - {id: order, process: find, args: {id: "{{ args.id }}"}}
      - return: "{{ steps.order }}"
""",
    "processes/shop/orders.py": """\
raise SystemExit("show must not import this")


def find(id, limit=10, state=None, tags=()):
    return {"id": id}
""",
    "processes/audit.py": '''\
raise SystemExit("show must not import this")

from yaoci import process


@process
def log(message: str, level: int = 1) -> None:
    """Writes down what was said, for those who look later."""
''',
}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def shown(capsys, *args):
    """Return what `show` prints, its lines with single spaces."""
    assert main(["show", *args]) == 0, capsys.readouterr().err
    out, err = capsys.readouterr()
    assert err == ""
    return [" ".join(line.split()) for line in out.splitlines()]


def facts(capsys, *args):
    assert main(["show", *args, "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_overview_lists_assistants_with_models_tools_and_hooks(shop, capsys):
    lines = shown(capsys)
    assert lines[0] == f"project {shop}"
    start = lines.index("assistants")
    assert lines[start + 1 : start + 8] == [
        "helpdesk 客服 assistants/helpdesk/assistant.yaml",
        "models fast",
        "tools shop_orders_find, refund, look_up",
        "hooks create: prepare",
        "done: audit.log → audit.log",
        "quiet assistants/quiet.yaml",
        "models local",
    ]


def test_the_overview_lists_processors_with_methods(shop, capsys):
    lines = shown(capsys)
    start = lines.index("processors")
    assert lines[start + 1 : start + 8] == [
        "audit processes/audit.py",
        "log(level?) write processes/audit.py:7",
        "Writes down what was said, for those who look later.",
        "shop.orders Orders processes/shop/orders.yaml",
        "find(id, limit?, state?, tags?) read processes/shop/orders.yaml:4",
        "Find an order by its number, such as A42.",
        "refund(id) read processes/shop/orders.yaml:22",
    ]


def test_the_overview_lists_models_and_where_they_are_reached(shop, capsys):
    lines = shown(capsys)
    start = lines.index("models")
    assert lines[start + 1 : start + 3] == [
        "fast openai/gpt-5-mini default yaoci.yaml:2",
        "small local yaoci.yaml:3",
    ]
    assert "mine openai-chat http://***@127.0.0.1/v1 key from MY_KEY yaoci.yaml:5" in lines


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_is_shown(shop, capsys, monkeypatch, form):
    monkeypatch.setenv("MY_KEY", "hunter2")
    assert main(["show", "-o", form]) == 0
    out = capsys.readouterr().out
    assert "MY_KEY" in out
    assert "hunter2" not in out


def test_a_project_without_anything_says_so(tmp_path, monkeypatch, capsys):
    (tmp_path / "assistants").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "no assistants and no processors" in shown(capsys)


def test_an_assistant_is_shown_as_yaml_with_the_line_of_each_value(shop, capsys):
    lines = shown(capsys, "assistant/helpdesk")
    assert lines[0] == "assistant helpdesk 客服 assistants/helpdesk/assistant.yaml"
    start = lines.index("definition")
    end = lines.index("functions")
    assert lines[start + 1 : end - 1] == [
        "name: 客服 :1",
        "description: Answers customers about their orders, politely. :2",
        "model: [fast] yaoci.yaml:6",
        "options: {temperature: 0.2} :3",
        "prompts: :4",
        "- {file: prompt.md} :5",
        "- content: | :6",
        "You answer for {{ vars.shop }}.",
        "",
        "Be brief.",
        'vars: {shop: "ACME: all"} :10',
        "tools: :11",
        "- {process: shop.orders.find} :12",
        "- {process: shop.orders.refund, id: refund} :13",
        "- {process: look_up} :14",
        "hooks: :15",
        "create: :16",
        "- {name: prepare} :16",
        "done: :17",
        "- {name: audit.log} :18",
        "- name: audit.log :19",
        "args: {level: 2} :19",
        "when: event.rounds > 1 :19",
        "on_error: skip :19",
        "methods: :20",
        "prepare: {value: ok} :21",
        "look_up: :22",
        "description: Looks a word up in the glossary. Use it for abbreviations. :23",
        "parameters: :24",
        "type: object :24",
        "properties: :24",
        "word: {type: string} :24",
        "required: [word] :24",
        'value: "{{ args.word }}" :25',
    ]


def test_the_definition_is_yaml_that_reads_back_as_it_was(shop, capsys):
    from yaoci.source import read

    assert main(["show", "helpdesk"]) == 0
    text = capsys.readouterr().out.split("definition\n")[1].split("\n\nfunctions")[0]
    lines = [line.rsplit("  ", 1)[0] if line.rstrip()[-1:].isdigit() else line for line in text.splitlines()]
    value = read("shown.yaml", "\n".join(lines).encode()).value
    assert value == facts(capsys, "helpdesk")["definition"]


def test_an_assistant_is_shown_with_its_functions_as_the_model_sees_them(shop, capsys):
    lines = shown(capsys, "helpdesk")
    start = lines.index("functions")
    assert lines[start + 1 : start + 7] == [
        "shop_orders_find(id, limit?, state?, tags?) read shop.orders.find :12",
        "Find an order by its number, such as A42.",
        "refund(id) read shop.orders.refund :13",
        "Pays an order back.",
        "look_up(word) read look_up :14",
        "Looks a word up in the glossary.",
    ]


def test_an_assistant_is_shown_with_the_chain_of_each_hook_and_where_its_links_lead(shop, capsys):
    lines = shown(capsys, "helpdesk")
    start = lines.index("hooks")
    assert lines[start + 1 : start + 4] == [
        "create 1. prepare :21",
        "done 1. audit.log processes/audit.py:7",
        "2. audit.log {level: 2}, when event.rounds > 1, a failure is skipped processes/audit.py:7",
    ]


def test_an_assistant_says_whether_it_streams_and_why_not(shop, capsys):
    assert shown(capsys, "helpdesk")[-2:] == ["stream", "live: text reaches the user as it comes"]
    assert shown(capsys, "quiet")[-2:] == ["stream", "held: the answer must fit `returns`"]


def test_a_process_is_shown_with_all_that_a_caller_wants_to_know(shop, capsys):
    assert shown(capsys, "process/shop.orders.find") == [
        "process shop.orders.find 查找 processes/shop/orders.yaml:4",
        "Find an order by its number, such as A42. Use it whenever a customer",
        "mentions an order.",
        "",
        "effect",
        "read",
        "",
        "parameters",
        "id string",
        "The number on the receipt",
        "limit integer = 10",
        "state open | sent optional",
        "tags list of string optional",
        "",
        "returns",
        "type: object",
        "properties:",
        "id: {type: string}",
        "",
        "handler",
        "python: find processes/shop/orders.py:4",
        "",
        "examples",
        "Where is A42? → {id: A42}",
        "",
        "offered by",
        "helpdesk as shop_orders_find assistants/helpdesk/assistant.yaml:12",
    ]


def test_the_steps_of_a_process_have_their_places(shop, capsys):
    lines = shown(capsys, "shop.orders.refund")
    start = lines.index("handler")
    assert lines[start + 1 : start + 6] == [
        "steps: :25",
        "- id: order :26",
        "process: find :26",
        'args: {id: "{{ args.id }}"} :26',
        '- {return: "{{ steps.order }}"} :27',
    ]


def test_an_assistant_can_be_shown_as_the_process_it_is(shop, capsys):
    lines = shown(capsys, "assistants.quiet")
    assert lines[0] == "process assistants.quiet assistants/quiet.yaml:1"
    assert "input string" in lines


def test_methods_of_assistants_are_processes(shop, capsys):
    assert shown(capsys, "helpdesk:prepare")[0].startswith("process helpdesk:prepare ")


def test_a_processor_is_shown_with_its_methods(shop, capsys):
    lines = shown(capsys, "processor/shop.orders")
    assert lines[:5] == [
        "processor shop.orders Orders processes/shop/orders.yaml",
        "What customers bought.",
        "",
        "methods",
        "find(id, limit?, state?, tags?) read processes/shop/orders.yaml:4",
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("assistant/helpdsk", "no assistant is called `helpdsk`: did you mean `helpdesk`?"),
        ("process/audit.lgo", "no process is called `audit.lgo`: did you mean `audit.log`?"),
        ("shop.order", "nothing is called `shop.order`: did you mean `shop.orders`?"),
        ("asistant/helpdesk", "nothing is of the kind `asistant`: did you mean `assistant`?"),
    ],
)
def test_a_name_that_means_nothing_is_wrong_usage(shop, capsys, name, said):
    assert main(["show", name]) == 2
    assert capsys.readouterr() == ("", f"error: {said}\n")


def test_a_name_like_no_other_is_answered_with_the_nearest_or_with_where_to_look(shop, capsys):
    assert main(["show", "shopkeeper"]) == 2
    assert capsys.readouterr().err == (
        "error: nothing is called `shopkeeper`: "
        "the nearest are `shop.orders`, `shop.orders.find` and `helpdesk`; `yaoci show` lists all\n"
    )
    assert main(["show", "电"]) == 2
    assert capsys.readouterr().err == ("error: nothing is called `电`: `yaoci show` lists what there is\n")


def test_durations_are_shown_as_they_are_written(shop, capsys):
    (shop / "assistants/quiet.yaml").write_text(
        "description: Returns what it found, as data that fits.\nmodel: local\n"
        "hooks: {done: {name: audit.log, timeout: 250ms}}\nlimits: {timeout: 2m}\n",
        "utf-8",
    )
    (shop / "processes/late.yaml").write_text(
        "methods: {a: {steps: [{process: b, args: {timeout: 5.0}, timeout: 5s}]}, b: {parameters: {type: object, properties: {timeout: {type: number}}}, value: 1}}\n",
        "utf-8",
    )
    lines = shown(capsys, "quiet")
    assert "- {name: audit.log, timeout: 250ms} :3" in lines
    assert "limits: {timeout: 2m} :4" in lines
    (step,) = facts(capsys, "late.a")["handler"]["steps"]
    assert (step["timeout"], step["args"]) == ("5s", {"timeout": 5.0})


def test_the_folder_of_another_project_is_shown_without_detours(shop, capsys):
    assert main(["-C", "assistants/../processes", "show"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"project {shop}"


def test_long_values_are_broken_at_spaces_and_read_back_as_they_were(shop, capsys, monkeypatch):
    from yaoci.source import read

    monkeypatch.setenv("COLUMNS", "50")
    kinds = [f"kind_{number}" for number in range(12)]
    (shop / "processes/long.yaml").write_text(
        f"methods: {{a: {{parameters: {{type: object, properties: {{kind: {{enum: {kinds}}}}}}},\n"
        f"  returns: {{enum: {kinds}, description: {'a text of many words ' * 4}}}, value: kind_1}}}}\n",
        "utf-8",
    )
    assert main(["show", "long.a"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 50
    for kind in kinds:
        assert (
            out.count(f"{kind} ") + out.count(f"{kind},") + out.count(f"{kind}]") + out.count(f"{kind}\n")
            >= 2
        )
    text = out.split("returns\n")[1].split("\n\nhandler")[0]
    assert read("shown.yaml", text.encode()).value == facts(capsys, "long.a")["returns"]


def test_a_name_that_means_two_things_asks_which(shop, capsys):
    (shop / "processes/helpdesk.yaml").write_text("methods:\n  a: {value: 1}\n", "utf-8")
    assert main(["show", "helpdesk"]) == 2
    said = "error: `helpdesk` means 2 things: write `assistant/helpdesk` or `processor/helpdesk`\n"
    assert capsys.readouterr().err == said
    assert shown(capsys, "processor/helpdesk")[0] == "processor helpdesk processes/helpdesk.yaml"


@pytest.mark.parametrize(
    ("args", "kind"),
    [([], "project"), (["quiet"], "assistant"), (["audit.log"], "process"), (["shop.orders"], "processor")],
)
def test_json_is_versioned_and_tells_its_kind(shop, capsys, args, kind):
    told = facts(capsys, *args)
    assert (told["version"], told["kind"]) == (1, kind)


def test_json_of_an_assistant_holds_what_the_text_leaves_out(shop, capsys):
    told = facts(capsys, "helpdesk")
    assert told["prompts"] == ["Be kind.\n", "You answer for {{ vars.shop }}.\n\nBe brief.\n"]
    assert told["places"]["/tools/1/id"] == "assistants/helpdesk/assistant.yaml:13"
    assert told["functions"][2]["parameters"]["required"] == ["word"]
    assert told["hooks"]["done"][1]["place"] == "assistants/helpdesk/assistant.yaml:19"
    assert told["stream"] == {"mode": "live", "because": ""}


def test_colours_change_nothing_but_the_escapes(shop, capsys):
    import re

    for name in ([], ["helpdesk"], ["shop.orders.find"]):
        assert main(["--color", "always", "show", *name]) == 0
        coloured = capsys.readouterr().out
        assert main(["show", *name]) == 0
        assert "\x1b[1m" in coloured
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == capsys.readouterr().out


def test_in_a_narrow_terminal_the_process_of_a_function_stands_below_it(shop, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    lines = shown(capsys, "helpdesk")
    start = next(n for n, line in enumerate(lines) if line.startswith("shop_orders_find(id, limit?"))
    assert lines[start + 1] == "shop.orders.find"
