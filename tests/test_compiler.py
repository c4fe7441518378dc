import os
import sys

import pytest

from yaoci import render
from yaoci.compiler import check, compile_project, load
from yaoci.diagnostics import DefinitionError

PROJECT = {
    "yaoci.yaml": "default_model: fast\nmodels: {fast: openai/gpt-5-mini}\n",
    "assistants/helpdesk/assistant.yaml": """\
name: Helpdesk
description: Answers customers about their orders.
prompts:
  - file: prompt.md
  - content: Be brief.
vars: {shop: ACME}
tools:
  - orders.find
  - {process: orders.refund, id: refund, limits: {calls: 1}}
  - look_up
  - assistant: translator
hooks:
  tool: {name: guard, args: [50], when: event.tool == 'refund'}
  done:
    - audit.log
    - name: polish
methods:
  guard:
    parameters: {type: object, properties: {most: {type: number}}}
    value: {then: refuse, reason: "Over {{ args.most }}."}
  look_up: {description: "Looks up a word in the shop's glossary.", value: "{{ vars.shop }}"}
  polish: {value: {then: replace, message: "{{ message.text }}"}}
""",
    "assistants/helpdesk/prompt.md": "You answer for {{ vars.shop }}.\n",
    "assistants/translator.yaml": "description: Translates between any two languages.\n",
    "processes/orders.yaml": """\
methods:
  find:
    description: Finds one order by its number.
    parameters: {type: object, properties: {id: {type: string}}, required: [id]}
    returns: {type: object}
    effect: read
    python: find
  refund: {description: Pays the price of an order back., python: refund}
  both:
    steps:
      - {process: find, args: {id: A1}}
      - {process: constant}
  constant: {value: 1}
  shown: {steps: [{process: constant}, {send: done}]}
""",
    "processes/orders.py": "raise RuntimeError('never imported')\n\ndef find(id: str): ...\n\ndef refund(id: str, *, context): ...\n",
    "processes/audit.py": '''\
from yaoci import process

open("/nowhere/at/all")


@process(effect="idempotent", name="Log")
def log(message, level: str = "low"):
    """Writes the answer to the log."""
''',
}


@pytest.fixture
def root(tmp_path):
    return written(tmp_path, PROJECT)


def written(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


@pytest.fixture
def registry(root):
    return load(root)


# -- check ------------------------------------------------------------------------------------------


def test_a_right_project_has_no_findings_and_counts_its_files(root):
    report = check(root)
    assert (report.findings, report.files, report.ok) == ((), 5, True)


def test_check_imports_nothing_of_the_project(root):
    before = set(sys.modules)
    check(root)
    assert [name for name in set(sys.modules) - before if "orders" in name or "audit" in name] == []


def test_all_findings_of_all_files_come_in_one_run(tmp_path):
    written(
        tmp_path,
        {
            "yaoci.yaml": "modles: {}\n",
            "assistants/a.yaml": "model: lcoal\ntools: [b.c]\n",
            "processes/p.yaml": "methods:\n  a: {value: 1\n",
            "processes/q.py": "def (:\n",
            "processes/r.yml": "",
        },
    )
    found = [(finding.code, finding.span.file) for finding in check(tmp_path).findings]
    assert found == [
        ("Y201", "assistants/a.yaml"),
        ("Y078", "processes/p.yaml"),
        ("Y030", "processes/q.py"),
        ("Y211", "processes/r.yml"),
        ("Y101", "yaoci.yaml"),
    ]


def test_findings_are_the_same_bytes_each_time(tmp_path):
    files = {
        f"assistants/a{n}.yaml": "model: x\ntools: [no.one, nobody]\nhooks: {done: {name: a.b, args: 3}}\n"
        for n in range(5)
    }
    written(tmp_path, files)
    first, second = render.json(check(tmp_path)), render.json(check(tmp_path))
    assert first == second
    assert first.count('"code"') == 25


def test_findings_come_by_place(tmp_path):
    written(tmp_path, {"assistants/b.yaml": "tools: [a.b]\nmodel: x\n", "assistants/a.yaml": "model: x\n"})
    assert [(f.span.file, f.span.line) for f in check(tmp_path).findings] == [
        ("assistants/a.yaml", 1), ("assistants/b.yaml", 1), ("assistants/b.yaml", 2),
    ]  # fmt: skip


def test_a_report_holds_the_texts_that_its_findings_show(tmp_path):
    written(tmp_path, {"processes/a.yaml": "methods: {b: {python: b}}\n", "processes/a.py": "def (:\n"})
    assert dict(check(tmp_path).sources) == {"processes/a.py": "def (:\n"}


def test_a_folder_called_as_a_file_and_a_broken_link_are_told_as_unreadable(tmp_path):
    (tmp_path / "assistants" / "a.yaml").mkdir(parents=True)
    (tmp_path / "assistants" / "b.yaml").symlink_to("gone.yaml")
    assert [(f.code, f.span.file) for f in check(tmp_path).findings] == [
        ("Y002", "assistants/a.yaml"), ("Y002", "assistants/b.yaml"),
    ]  # fmt: skip


def said(root):
    return [(f.code, f.span.file, f.label) for f in check(root).findings]


PROMPTED = "model: local\nprompts: [{file: prompt.md}]\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name here")
@pytest.mark.parametrize(
    ("name", "code", "at"),
    [
        ("yaoci.yaml", "Y002", "yaoci.yaml"),
        ("assistants/x.yaml", "Y002", "assistants/x.yaml"),
        ("assistants/a.py", "Y030", "assistants/a.py"),
        ("processes/q.py", "Y030", "processes/q.py"),
        ("assistants/prompt.md", "Y205", "assistants/a.yaml"),
    ],
)
def test_a_pipe_is_told_and_never_opened(tmp_path, name, code, at):
    written(tmp_path, {"assistants/a.yaml": PROMPTED, "processes/p.yaml": "methods: {b: {value: 1}}\n"})
    if "prompt" not in name:
        written(tmp_path, {"assistants/prompt.md": ""})
    os.mkfifo(tmp_path / name)
    shown = name.removeprefix("assistants/") if code == "Y205" else name
    assert said(tmp_path) == [(code, at, f"`{shown}` is no plain file")]


@pytest.mark.parametrize(
    ("name", "code", "at"),
    [
        ("assistants/x.yaml", "Y002", "assistants/x.yaml"),
        ("assistants/a.py", "Y030", "assistants/a.py"),
        ("processes/q.py", "Y030", "processes/q.py"),
        ("assistants/prompt.md", "Y205", "assistants/a.yaml"),
        ("assistants/more", "Y021", "assistants/more"),
        ("processes", "Y021", "processes"),
    ],
)
@pytest.mark.parametrize("loops", [True, False])
def test_a_link_that_leads_to_itself_or_to_nothing_is_told(tmp_path, name, code, at, loops):
    written(tmp_path, {"assistants/a.yaml": PROMPTED})
    if "prompt" not in name:
        written(tmp_path, {"assistants/prompt.md": ""})
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(path.name if loops else "gone")
    assert [(code, file) for code, file, _ in said(tmp_path)] == [(code, at)]


@pytest.mark.parametrize("name", ["processes/q.py", "processes/p.py"])
def test_a_large_python_file_is_told_and_not_parsed(tmp_path, name):
    written(
        tmp_path, {"processes/p.yaml": "methods: {b: {value: 1}}\n", name: "def b(): ...\n" + "#" * 2**20}
    )
    (finding,) = check(tmp_path).findings
    assert (finding.code, finding.label) == ("Y030", f"`{name}` has 1.1 MB, 1 are allowed")
    assert finding.help == "move parts of it to modules that it imports"


@pytest.mark.parametrize("name", ["a\\0b", "x" * 300, "x/" * 3000])
def test_the_name_of_a_prompt_that_no_file_can_have_is_told(tmp_path, name):
    written(tmp_path, {"assistants/a.yaml": f'model: local\nprompts: [{{file: "{name}"}}]\n'})
    ((code, _, label),) = said(tmp_path)
    assert code == "Y205"
    assert "cannot be read" in label
    assert len(label) < 100


@pytest.mark.parametrize(
    ("data", "label"),
    [
        (b"Hi.\nA \0 here.", "prompt.md:2: the control character U+0000 cannot stand in a text"),
        ("Hello".encode("utf-16-le"), "prompt.md:1: the file is written in UTF-16"),
        ("Hello".encode("utf-16"), "prompt.md:1: the file is written in UTF-16"),
        (b"\nCaf\xe9 noir", "prompt.md:2: the byte 0xE9 is no UTF-8 here"),
        (b"#" * (2**20 + 1), "`prompt.md` has 1.1 MB, 1 are allowed"),
    ],
)
def test_a_prompt_that_is_no_text_is_told(tmp_path, data, label):
    written(tmp_path, {"assistants/a.yaml": PROMPTED})
    (tmp_path / "assistants" / "prompt.md").write_bytes(data)
    assert said(tmp_path) == [("Y205", "assistants/a.yaml", label)]


def test_the_lines_of_a_prompt_end_alike_and_its_byte_order_mark_is_left_out(tmp_path):
    written(tmp_path, {"assistants/a.yaml": PROMPTED})
    (tmp_path / "assistants" / "prompt.md").write_bytes(b"\xef\xbb\xbfHi.\r\nYou.\r")
    assert load(tmp_path).assistants["a"].prompts == ("Hi.\nYou.\n",)


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (
            {
                "assistants/a.yaml": "model: local\nvras: {b: 1}\nprompts: [{content: '{{ vars.b }} {{ vars.c }}'}]\n"
            },
            "Y101",
        ),
        (
            {
                "processes/p.yaml": """\
methods:
  a:
    parmeters: {type: object, properties: {x: {type: string}}}
    examples: [{ask: What?, args: {x: a}}]
    value: "{{ args.x }}"
  b: {steps: [{process: a, args: {x: b}}]}
"""
            },
            "Y101",
        ),
        (
            {
                "assistants/a.yaml": "model: local\nparmeters: {type: object, properties: {x: {type: string}}}\n",
                "processes/p.yaml": "methods: {b: {steps: [{assistant: a, args: {x: b}}]}}\n",
            },
            "Y101",
        ),
        (
            {
                "processes/p.yaml": """\
methods:
  a:
    parameters: {type: object, porperties: {x: {type: string}}, additionalProperties: false}
    returns: {type: object, porperties: {y: {type: string}}, additionalProperties: false}
    examples: [{ask: What?, args: {x: a}, result: {y: b}}]
    value: {y: "{{ args.x }}"}
  b: {steps: [{process: a, args: {x: b}}]}
"""
            },
            "Y402",
        ),
        (
            {
                "processes/p.yaml": """\
methods:
  a:
    parameters: {type: object, properties: {size: {type: string}}, required: [sizze]}
    examples: [{ask: What?, args: {size: a}}]
    value: "{{ args.size }}"
  b: {steps: [{process: a, args: {size: b}}]}
"""
            },
            "Y402",
        ),
    ],
    ids=["vars", "parameters", "of an assistant", "properties", "required"],
)
def test_a_slip_is_told_once_and_not_at_each_use(tmp_path, files, code):
    written(tmp_path, files)
    assert {finding.code for finding in check(tmp_path).findings} == {code}


def test_a_key_of_the_users_own_is_not_taken_for_a_slip(tmp_path):
    text = "model: local\nx-vars: {b: 1}\nprompts: [{content: '{{ vars.b }}'}]\n"
    written(tmp_path, {"assistants/a.yaml": text})
    assert [code for code, _, _ in said(tmp_path)] == ["Y603"]


def test_another_unknown_key_keeps_nothing_from_being_told(tmp_path):
    text = "model: local\nwelcom: Hi\nprompts: [{content: '{{ vars.b }}'}]\n"
    written(tmp_path, {"assistants/a.yaml": text})
    assert [code for code, _, _ in said(tmp_path)] == ["Y101", "Y603"]


def test_an_empty_project_is_right_and_holds_nothing(tmp_path):
    (tmp_path / "assistants").mkdir()
    registry, report = compile_project(tmp_path)
    assert registry is not None
    assert (report.ok, report.files, dict(registry.assistants), dict(registry.processes)) == (True, 0, {}, {})


def test_warnings_and_advice_stand_in_nobodys_way(tmp_path):
    written(
        tmp_path,
        {
            "assistants/a.yaml": "model: local\ntools: [p.list]\n",
            "processes/p.yaml": "methods:\n  list: {value: 1, parameters: {type: object, properties: {ids: {type: array}}}}\n",
        },
    )
    registry, report = compile_project(tmp_path)
    assert [finding.severity for finding in report.findings] == ["advice", "warning"]
    assert registry is not None


def test_load_raises_with_every_finding(tmp_path):
    written(tmp_path, {"assistants/a.yaml": "model: x\ntools: [b.c]\n"})
    with pytest.raises(DefinitionError) as caught:
        load(tmp_path)
    assert [finding.code for finding in caught.value.report.findings] == ["Y204", "Y201"]


# -- the registry -----------------------------------------------------------------------------------


def test_every_method_and_every_assistant_is_a_process(registry):
    assert sorted(registry.processes) == [
        "assistants.helpdesk", "assistants.translator", "audit.log", "helpdesk:guard", "helpdesk:look_up",
        "helpdesk:polish", "orders.both", "orders.constant", "orders.find", "orders.refund", "orders.shown",
    ]  # fmt: skip


def test_tools_have_function_ids_in_the_order_of_the_file(registry):
    tools = registry.assistants["helpdesk"].tools
    assert [(id, tool.process.name) for id, tool in tools.items()] == [
        ("orders_find", "orders.find"), ("refund", "orders.refund"), ("look_up", "helpdesk:look_up"),
        ("translator", "assistants.translator"),
    ]  # fmt: skip


def test_a_tool_has_its_place_its_limits_and_what_a_model_sees(registry):
    tool = registry.assistants["helpdesk"].tools["refund"]
    assert tool.place == "assistants/helpdesk/assistant.yaml:9"
    assert tool.limits.calls == 1
    assert tool.function.description == "Pays the price of an order back."
    assert tool.function.parameters == {
        "type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": False,
    }  # fmt: skip


def test_an_assistant_as_a_tool_takes_one_text(registry):
    function = registry.assistants["helpdesk"].tools["translator"].function
    assert list(function.parameters["properties"]) == ["input"]
    assert function.description == "Translates between any two languages."


def test_hooks_are_bound_to_their_targets(registry):
    hooks = registry.assistants["helpdesk"].hooks
    assert [(one.name, one.place) for one in hooks["done"]] == [
        ("audit.log", "assistants/helpdesk/assistant.yaml:15"),
        ("helpdesk:polish", "assistants/helpdesk/assistant.yaml:16"),
    ]
    (guard,) = hooks["tool"]
    assert (guard.name, guard.args, guard.when) == ("helpdesk:guard", (50,), "event.tool == 'refund'")
    assert guard.place == "assistants/helpdesk/assistant.yaml:13"
    assert hooks["create"] == ()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("orders.find", "processes/orders.yaml:2"),
        ("orders.refund", "processes/orders.yaml:8"),
        ("helpdesk:look_up", "assistants/helpdesk/assistant.yaml:21"),
        ("audit.log", "processes/audit.py:7"),
        ("assistants.translator", "assistants/translator.yaml:1"),
    ],
)
def test_a_process_knows_where_it_is_written(registry, name, place):
    assert registry.process(name).place == place


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("orders.find", "read"),
        ("orders.refund", "write"),
        ("orders.constant", "read"),
        ("orders.both", "read"),
        ("orders.shown", "write"),
        ("audit.log", "idempotent"),
        ("helpdesk:guard", "read"),
        ("assistants.translator", "write"),
    ],
)
def test_an_effect_is_what_is_said_else_the_handlers_else_the_strongest_part(registry, name, effect):
    assert registry.process(name).effect == effect


def test_effects_of_flows_that_call_each_other_end(tmp_path):
    flows = "methods:\n  a: {steps: [{process: b}]}\n  b: {steps: [{process: a}, {process: p.c}]}\n  c: {python: c}\n"
    registry = load(written(tmp_path, {"processes/p.yaml": flows, "processes/p.py": "def c(): ...\n"}))
    assert [registry.process(f"p.{name}").effect for name in "abc"] == ["write", "write", "write"]


def test_prompts_are_read_from_their_files(registry):
    assert registry.assistants["helpdesk"].prompts == ("You answer for {{ vars.shop }}.\n", "Be brief.")


def test_text_waits_where_done_may_change_it_and_says_why(registry):
    assert "`audit.log` in `done` may change the answer" in registry.assistants["helpdesk"].held
    assert registry.assistants["translator"].held == ""


def test_a_method_sees_the_vars_of_its_assistant_alone(registry):
    assert (registry.process("helpdesk:guard").assistant, registry.process("orders.find").assistant) == (
        "helpdesk",
        "",
    )


def test_names_lead_where_the_file_says(registry):
    assert registry.resolve("guard", "helpdesk:").name == "helpdesk:guard"
    assert registry.resolve("find", "orders.").name == "orders.find"
    assert registry.resolve("audit.log", "helpdesk:").name == "audit.log"


def test_the_digest_follows_every_definition_python_too(root, tmp_path):
    digest = load(root).digest
    assert load(root).digest == digest
    (root / "processes" / "orders.py").write_text(
        "def find(id: str): ...\ndef refund(id: str): ...\n", "utf-8"
    )
    changed = load(root).digest
    assert changed != digest
    (root / "assistants" / "helpdesk" / "prompt.md").write_text("Other words.\n", "utf-8")
    assert load(root).digest != changed
