"""Y207: a wire that no file of models/ speaks."""

from collections.abc import Iterable
from typing import Final

from ..diagnostics import Code, did_you_mean
from ..endpoints import wires
from ..marks import Ref
from ..rule import Finding, Rule, View
from ..spec import Node


def _see(node: Node, view: View) -> Iterable[Finding]:  # noqa: ARG001 - the signature of a rule
    if node.value not in wires():
        yield Finding(node.path, f"no wire is called `{node.value}`", did_you_mean(node.value, wires()))


RULE: Final = Rule(
    code=Code("Y207", "unknown-wire", "error", "unknown API"),
    about="""A provider's `api` names the protocol it speaks; `openai-chat` is what most servers do.""",
    wants=(Ref("wire"),),
    see=_see,
    wrong={"yaoci.yaml": "providers:\n  box: {api: openai, base_url: 'http://127.0.0.1:1/v1'}\n"},
    right={"yaoci.yaml": "providers:\n  box: {api: openai-chat, base_url: 'http://127.0.0.1:1/v1'}\n"},
)
