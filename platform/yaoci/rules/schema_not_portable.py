"""Y404: a schema that is right, but that not every provider takes."""

from collections.abc import Iterable
from typing import Final

from ..diagnostics import Code
from ..flaws import ERRORS, flaws
from ..marks import Schema
from ..rule import Finding, Rule, View
from ..spec import Node

_SLUGS: Final = frozenset({"array-without-items", "property-key", "regex-dialect"})


def _see(node: Node, view: View) -> Iterable[Finding]:  # noqa: ARG001 - the signature of a rule
    found = flaws(node.value, parameters=node.mark.parameters)
    if any(flaw.slug in ERRORS for flaw in found):
        return  # what is broken may yet become another schema
    for flaw in found:
        if flaw.slug in _SLUGS:
            yield Finding(
                (*node.path, *flaw.path),
                flaw.text,
                flaw.help,
                "key" if flaw.slug == "property-key" else "value",
            )


RULE: Final = Rule(
    code=Code("Y404", "schema-not-portable", "warning", "a schema that not every provider takes"),
    about="""Some providers refuse lists that do not say what their `items` are, and property names with characters other
than A-Z a-z 0-9 _ . -; a regular expression of another dialect is not checked here.""",
    wants=(Schema,),
    see=_see,
    wrong={
        "processes/shop.yaml": """\
methods:
  find:
    parameters: {type: object, properties: {ids: {type: array}}}
    value: 1
""",
    },
    right={
        "processes/shop.yaml": """\
methods:
  find:
    parameters: {type: object, properties: {ids: {type: array, items: {type: string}}}}
    value: 1
""",
    },
)
