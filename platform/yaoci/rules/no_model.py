"""Y501: an assistant that names no model, where the project has no default."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Final

from ..definitions import Assistant
from ..diagnostics import Code, nearest
from ..rule import Finding, Rule, View
from ..spec import Node

_KEYS: Final = frozenset(f.name for f in fields(Assistant))


def _see(node: Node, view: View) -> Iterable[Finding]:
    written = "model" in view.value
    default = view.settings_broken or (view.settings is not None and view.settings.default_model)
    meant = any(
        nearest(key, ("model",)) for key in view.value.keys() - _KEYS
    )  # an unknown key is told already
    if not node.value.model and not written and not default and not meant:
        yield Finding(
            node.path, "which model answers?", "add `model: local`, or `default_model` to yaoci.yaml"
        )


RULE: Final = Rule(
    code=Code("Y501", "no-model", "error", "no model"),
    about="""An assistant needs a model: its own `model`, or the project's `default_model`.""",
    wants=(Assistant,),
    see=_see,
    wrong={"assistants/a.yaml": "description: Answers.\n"},
    right={"assistants/a.yaml": "description: Answers.\nmodel: local\n"},
)
