"""Y402: a JSON Schema that is none, that can never fit, or that means something else than it says."""

from collections.abc import Iterable
from typing import Final

from ..diagnostics import Code
from ..flaws import flaws
from ..marks import Schema
from ..rule import Finding, Rule, View
from ..spec import Node

_ELSEWHERE: Final = frozenset({"array-without-items", "property-key", "regex-dialect"})
"""What is a schema all right, but not to every provider: the rule `schema-not-portable` tells these."""


def _see(node: Node, view: View) -> Iterable[Finding]:  # noqa: ARG001 - the signature of a rule
    for flaw in flaws(node.value, parameters=node.mark.parameters):
        if flaw.slug not in _ELSEWHERE:
            yield Finding(
                (*node.path, *flaw.path),
                flaw.text,
                flaw.help,
                "key" if flaw.slug == "unknown-keyword" else "value",
            )


RULE: Final = Rule(
    code=Code("Y402", "bad-schema", "error", "schema not usable"),
    about="""`parameters` and `returns` are JSON Schema 2020-12. They are judged whole: unknown keywords and types,
`required` names that no property has, bounds and defaults that cannot fit, references that lead nowhere.
The root of `parameters` is an object.""",
    wants=(Schema,),
    see=_see,
    wrong={
        "processes/shop.yaml": """\
methods:
  find:
    parameters: {type: object, properties: {id: {type: strin}}}
    value: 1
""",
    },
    right={
        "processes/shop.yaml": """\
methods:
  find:
    parameters: {type: object, properties: {id: {type: string}}}
    value: 1
""",
    },
)
