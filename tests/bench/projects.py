"""Projects made up for benchmarks: assistants of 58 lines in which nothing is said twice, and a small one for turns."""

from pathlib import Path

SHARE = 5
"""So many assistants share a processor."""

_WORDS = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty", "knoll", "larch", "maple",
    "north", "ocean", "pearl", "quill", "ridge", "shore", "thorn", "upper", "vapor", "wharf", "yield", "zebra",
]  # fmt: skip

_ASSISTANT = """\
# The desk for {a} {b}, number {n}: one of many, and like no other.
name: Desk {n}
description: Answers questions about {a} and {b}. Use it for goods of shelf {n}; not for refunds.
model: local
options: {{temperature: 0.{d}, max_tokens: {tokens}}}
tags: [{a}, {b}{n}]
welcome: {{en: "Welcome to desk {n}, {a}!", de: "Willkommen am Tisch {n}, {b}!"}}
prompts:
  - content: |
      You are the {a} desk of {{{{ vars.shop }}}}. You know all about {b} of shelf {n}.
      Say how many pieces of {a} are left before you promise any.
  - content: "Speak as one does at {b} counters.{{% if context.locale %}} Answer in {{{{ context.locale }}}}.{{% endif %}}"
    role: system
vars:
  shop: {b} and sons {n}
  shelf: {n}
tools:
  - process: stock{p}.find
    limits: {{calls: {calls}, timeout: {calls}s}}
  - process: count
    id: count_{a}
hooks:
  create: prepare
  done:
    - {{name: note, args: ["{{{{ message.text }}}}"], when: event.rounds > {d}}}
  fail: sorry
methods:
  prepare:
    steps:
      - set: {{desk{n}: open}}
      - send: {{type: event, text: "desk {{{{ vars.shelf }}}} is open for {a}"}}
  count:
    description: Counts the pieces of {a} on shelf {n}. Use it before promising any; not for prices.
    parameters:
      type: object
      properties:
        kind: {{type: string, enum: [{a}, {b}, other{n}], description: Which of them to count.}}
        least: {{type: integer, minimum: {d}, maximum: {tokens}}}
      required: [kind]
      additionalProperties: false
    value: {{kind: "{{{{ args.kind }}}}", pieces: {n}}}
  note:
    parameters:
      type: object
      properties:
        text: {{type: string, maxLength: {tokens}}}
        tags: {{type: array, items: {{type: string, pattern: "^{a}-[0-9]+$"}}}}
      required: [text]
    steps:
      - id: found
        process: stock{p}.find
        args: {{id: {a}-{n}}}
      - when: args.tags is defined
        set: {{desk{n}: "{{{{ args.tags | length }}}} tags"}}
      - return: "shelf {n} has {{{{ steps.found.left }}}}"
  sorry:
    value: {{then: answer, message: "The {a} desk is closed. Please ask at desk {n} later."}}
limits: {{rounds: {calls}, timeout: {tokens}s}}
"""

_PROCESSOR = """\
name: Stock {n}
description: The stock of {a}, part {n}.
methods:
  find:
    description: Finds {a} number {n} by its id. Use it for one piece; not for lists.
    parameters:
      type: object
      properties: {{id: {{type: string, description: "Number, e.g. {a}-{n}."}}}}
      required: [id]
    effect: read
    value: {{id: "{{{{ args.id }}}}", left: {n}}}
  price:
    description: Tells what {a} of part {n} costs. Use it when asked for money; not for stock.
    parameters:
      type: object
      properties: {{id: {{type: string}}, pieces: {{type: integer, minimum: 1, maximum: {top}}}}}
      required: [id, pieces]
    steps:
      - {{id: piece, process: find, args: {{id: "{{{{ args.id }}}}"}}}}
      - return: "{{{{ args.pieces }}}} of {{{{ steps.piece.id }}}} in part {n}"
"""


def shop(folder: Path, assistants: int) -> int:
    """Write a project of so many assistants, with a processor for each five of them; return the number of files."""
    for kind in ("assistants", "processes"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for n in range(assistants):
        text = _ASSISTANT.format(
            n=n, a=_word(n), b=_word(n * 7 + 3), p=n // SHARE, d=n % 10, calls=n % 9 + 1, tokens=100 + n
        )
        (folder / "assistants" / f"desk{n}.yaml").write_text(text, "utf-8")
    processors = -(-assistants // SHARE)
    for n in range(processors):
        text = _PROCESSOR.format(n=n, a=_word(n * 3 + 1), top=50 + n)
        (folder / "processes" / f"stock{n}.yaml").write_text(text, "utf-8")
    return assistants + processors


def _word(n: int) -> str:
    return _WORDS[n % len(_WORDS)] + _WORDS[n // len(_WORDS) % len(_WORDS)]


TALK = {
    "assistants/talker.yaml": """\
description: Talks. Use it for all there is to say; not for orders.
model: local
prompts: [{content: "You are the helpdesk of ACME. You answer customers about their orders."}]
""",
    "assistants/finder.yaml": """\
description: Finds orders. Use it for questions about an order; not for talk.
model: local
prompts: [{content: "You are the helpdesk of ACME. You answer customers about their orders."}]
tools: [orders.find]
""",
    "assistants/waiter.yaml": """\
description: Finds orders the slow way. Use it for questions about an order; not for talk.
model: local
prompts: [{content: "You are the helpdesk of ACME. You answer customers about their orders."}]
tools: [orders.find_in_thread]
""",
    "processes/orders.yaml": """\
description: Orders, and what callbacks do.
methods:
  find: &find
    description: Finds one order by its number. Use it whenever an order is named; not for names.
    parameters:
      type: object
      properties: {id: {type: string, pattern: "^A[0-9]+$"}}
      required: [id]
    effect: read
    python: find
  find_in_thread: {<<: *find, python: find_in_thread}
  echo:
    parameters: {type: object, properties: {text: {type: string}}, required: [text]}
    value: {echo: "{{ args.text }}"}
  answer: {value: done}
""",
    "processes/orders.py": """\
async def find(id):
    return {"id": id, "status": "on its way", "carrier": "DHL"}


def find_in_thread(id):
    return {"id": id, "status": "on its way", "carrier": "DHL"}
""",
}
"""A project for turns and chains: file names and their texts."""


def talk(folder: Path) -> Path:
    """Write the project for turns and chains, and return its folder."""
    for name, text in TALK.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder
