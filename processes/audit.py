"""An audit trail: one line for each answer."""

import json
from pathlib import Path
from typing import Any

from yaoci import Message, process

TRAIL = Path(__file__).parent.parent / ".yaoci" / "audit.jsonl"


@process(name="审计 Audit line", effect="write")
def log(message: Message, event: dict[str, Any], context: Any) -> None:
    """Write one line about an answer. Use it in a `done` chain, for every answer that a customer gets."""
    line = {
        "run": context.run,
        "assistant": message.assistant_id,
        "answer": message.text,
        "rounds": event.get("rounds"),
    }
    TRAIL.parent.mkdir(exist_ok=True)
    with TRAIL.open("a", encoding="utf-8") as trail:
        trail.write(json.dumps(line, ensure_ascii=False) + "\n")
