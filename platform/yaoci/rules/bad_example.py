"""Y403: an example that does not fit the schemas of its method."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Final

from ..arguments import judge, unsure
from ..definitions import Method
from ..diagnostics import Code, misspelt
from ..rule import Finding, Rule, View
from ..schemas import Shape
from ..spec import Node
from ..values import Json, at


def _see(node: Node, view: View) -> Iterable[Finding]:
    method: Method = view.target(str(node.path[-1])) or node.value
    returns = None if method.returns is None or unsure(method.returns) else Shape(method.returns)
    known = {one.name for one in fields(Method)}
    slip = misspelt(at(view.value, node.path), "parameters", known)  # told where it stands
    for index, example in enumerate(method.examples):
        path = (*node.path, "examples", index)
        args = None if slip else example.args
        for misfit in judge(args, method, str(node.path[-1])) if args is not None else ():
            yield Finding((*path, "args", *misfit.path), misfit.label, misfit.help, misfit.on)
        if returns is not None and example.result is not None and not _failed(example.result):
            for wrong in returns.misfits(example.result):
                yield Finding((*path, "result", *wrong.path), wrong.text)


def _failed(result: Json) -> bool:
    """Return whether a result is how a model reads that a call failed."""
    return isinstance(at(result, ("error",)), str) and len(result) == 1


RULE: Final = Rule(
    code=Code("Y403", "bad-example", "error", "example does not fit"),
    about="""An example's `args` must fit the method's `parameters`, and its `result` what the method `returns`, or be
`{error: text}`, which is how a failed call reads: a model does as the examples do.""",
    wants=(Method,),
    see=_see,
    wrong={
        "processes/shop.yaml": """\
methods:
  find:
    parameters: {type: object, properties: {id: {type: string}}}
    examples: [{ask: Where is A42?, args: {number: A42}}]
    value: 1
""",
    },
    right={
        "processes/shop.yaml": """\
methods:
  find:
    parameters: {type: object, properties: {id: {type: string}}}
    examples: [{ask: Where is A42?, args: {id: A42}}]
    value: 1
""",
    },
)
