"""Y206: a Python function that is not in the file beside the YAML."""

from collections.abc import Iterable
from typing import Final

from ..diagnostics import Code, did_you_mean
from ..marks import Ref
from ..rule import Finding, Rule, View
from ..spec import Node


def _see(node: Node, view: View) -> Iterable[Finding]:
    name: str = node.value
    beside = view.path.with_suffix(".py").name
    if not view.has_python:
        help = f"make `{beside}` here, with `def {name}(…)`"
        yield Finding(node.path, f"there is no `{beside}` beside this file", help)
    elif view.python is not None and name not in view.python.functions:
        yield Finding(
            node.path, f"`{beside}` has no function `{name}`", did_you_mean(name, view.python.functions)
        )


RULE: Final = Rule(
    code=Code("Y206", "unknown-function", "error", "unknown Python function"),
    about="""`python: fn` is a function at the top level of the Python file with the same name as the YAML file:
processes/orders.yaml uses processes/orders.py. The file is read, never imported, by `check`.""",
    wants=(Ref("function"),),
    see=_see,
    wrong={
        "processes/orders.yaml": "methods:\n  find: {python: fnd}\n",
        "processes/orders.py": "def find():\n    return 1\n",
    },
    right={
        "processes/orders.yaml": "methods:\n  find: {python: find}\n",
        "processes/orders.py": "def find():\n    return 1\n",
    },
)
