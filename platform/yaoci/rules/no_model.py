"""Y501: an assistant that names no model, where the project has no default."""

from collections.abc import Iterable
from typing import Final

from ..definitions import Assistant
from ..diagnostics import Code
from ..rule import Finding, Rule, View
from ..spec import Node


def _see(node: Node, view: View) -> Iterable[Finding]:
    written = isinstance(view.value, dict) and "model" in view.value
    default = view.settings_broken or (view.settings is not None and view.settings.default_model)
    if not node.value.model and not written and not default:
        yield Finding(node.path, "which model answers?", "add `model: local`, or `default_model` to yaoci.yaml")


RULE: Final = Rule(
    code=Code("Y501", "no-model", "error", "no model"),
    about="""An assistant needs a model: its own `model`, or the project's `default_model`.""",
    wants=(Assistant,),
    see=_see,
    wrong={"assistants/a.yaml": "description: Answers.\n"},
    right={"assistants/a.yaml": "description: Answers.\nmodel: local\n"},
)
