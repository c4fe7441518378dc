"""Y204: a model, or the provider of one, that is not known."""

from collections.abc import Iterable
from typing import Final

from ..diagnostics import Code
from ..endpoints import endpoint_problem, problem
from ..marks import Ref
from ..rule import Finding, Rule, View
from ..spec import Node


def _see(node: Node, view: View) -> Iterable[Finding]:
    if view.settings_broken:
        return
    wrong = (problem if node.mark.to == "model" else endpoint_problem)(node.value, view.settings)
    if wrong and node.value:
        yield Finding(node.path, *wrong)


RULE: Final = Rule(
    code=Code("Y204", "unknown-model", "error", "unknown model"),
    about="""A model is `local` (the embedded one), `provider/model` for a provider of the catalogue or of
yaoci.yaml, or a name under `models` in yaoci.yaml.""",
    wants=(Ref("model"), Ref("endpoint")),
    see=_see,
    wrong={"assistants/a.yaml": "model: opnai/gpt-5-mini\n"},
    right={"assistants/a.yaml": "model: openai/gpt-5-mini\n"},
)
