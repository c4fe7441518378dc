"""Y213: declared parameters that do not suit the signature of the Python function."""

from collections.abc import Iterable
from typing import Final

from ..arguments import known_names
from ..definitions import Method
from ..diagnostics import Code, did_you_mean, listed
from ..keywords import properties
from ..pysource import FILLED, Function
from ..rule import Finding, Rule, View
from ..source import Span
from ..spec import Node

_PLAIN: Final = frozenset({"type", "properties", "required", "title", "description"})
"""With these alone, what a schema does not name is not declared."""


def _see(node: Node, view: View) -> Iterable[Finding]:
    method: Method = node.value
    name = getattr(method.handler, "python", None)
    function = view.python.functions.get(name) if view.python and isinstance(name, str) else None
    if function is None or method.parameters is None:
        return
    beside = view.file.removesuffix(".yaml") + ".py"
    related = ((f"`{function.name}` is here", Span(beside, function.line, 1, function.line, 1)),)
    declared = properties(method.parameters)
    whole = known_names(method.parameters) is not None or method.parameters.keys() <= _PLAIN
    for label, help in _misfits(function, tuple(declared), whole):
        yield Finding((*node.path, "python"), label, help, "key", related)


def _misfits(function: Function, declared: tuple[str, ...], whole: bool) -> Iterable[tuple[str, str]]:
    own = {parameter.name for parameter in function.parameters}
    surplus = [] if function.has_kwargs else [name for name in declared if name not in own]
    missing = [
        parameter.name
        for parameter in function.parameters
        if parameter.required and parameter.name not in declared and parameter.name not in FILLED
    ]
    for name in surplus:
        near = did_you_mean(name, own - set(declared) - set(FILLED), few=0)
        yield f"`{function.name}` does not take `{name}`, which `parameters` declares", near or _takes(own)
    if whole and len(missing) > len(surplus):  # else one is the other, misspelt
        for name in missing:
            yield (
                f"`{function.name}` needs `{name}`, which `parameters` does not declare",
                "declare it, or give it a default",
            )


def _takes(own: set[str]) -> str:
    known = sorted(own - set(FILLED))
    return f"it takes {listed(known)}" if known else "it takes no arguments"


RULE: Final = Rule(
    code=Code("Y213", "signature", "error", "parameters do not suit the Python function"),
    about="""A method's `parameters`, where it declares them, are what its Python function is called with: each property
is a parameter of the function, and each parameter without a default is a property. `message`, `event` and
`context` are filled by the runner.""",
    wants=(Method,),
    see=_see,
    wrong={
        "processes/orders.yaml": """\
methods:
  find: {python: find, parameters: {type: object, properties: {id: {type: string}}}}
""",
        "processes/orders.py": "def find(id, shop):\n    return id\n",
    },
    right={
        "processes/orders.yaml": """\
methods:
  find: {python: find, parameters: {type: object, properties: {id: {type: string}}}}
""",
        "processes/orders.py": "def find(id, context, shop=''):\n    return id\n",
    },
)
