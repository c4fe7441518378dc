"""Y201: a name with a dot that no process has."""

from collections.abc import Iterable
from typing import Final

from ..diagnostics import Code, did_you_mean, nearest
from ..marks import Ref
from ..registry import ASSISTANTS
from ..rule import Finding, Rule, View
from ..spec import Node


def _see(node: Node, view: View) -> Iterable[Finding]:
    name: str = node.value
    owner = name.rpartition(":" if ":" in name else ".")[0]
    if "." not in name and ":" not in name:
        return
    if name.startswith(ASSISTANTS):
        owner = name.removeprefix(ASSISTANTS)
    if name in view.processes or owner in view.broken:
        return
    if node.mark.to == "tool" and name.endswith(".*"):
        groups = {known.rpartition(".")[0] for known in view.processes if ":" not in known} - {
            ASSISTANTS[:-1]
        }
        if owner not in groups:
            yield Finding(node.path, f"no processor is called `{owner}`", did_you_mean(owner, groups))
        return
    near = nearest(name, view.processes)
    related = ((f"`{near}` is defined here", view.processes[near]),) if near else ()
    alike = [known for known in view.processes if _family(known) == _family(name)]
    help = f"did you mean `{near}`?" if near else did_you_mean(name, alike)
    yield Finding(node.path, f"no process is called `{name}`", help, related=related)


def _family(name: str) -> tuple[bool, bool]:
    """Tell an assistant, a method of one, and a method of a processor apart."""
    return name.startswith(ASSISTANTS), ":" in name


RULE: Final = Rule(
    code=Code("Y201", "unknown-process", "error", "unknown process"),
    about="""A name with a dot is a process: the processor's id, a dot, and the method. It is looked up among the
methods of all files under processes/, the assistants (`assistants.<id>`) and their methods (`<id>:<method>`).
A name without a dot would be a method of the same file.""",
    wants=(Ref("callable"), Ref("tool")),
    see=_see,
    wrong={
        "assistants/a.yaml": "model: local\ntools: [order.find]\n",
        "processes/orders.yaml": "methods:\n  find: {value: 1, description: Finds an order by its number.}\n",
    },
    right={
        "assistants/a.yaml": "model: local\ntools: [orders.find]\n",
        "processes/orders.yaml": "methods:\n  find: {value: 1, description: Finds an order by its number.}\n",
    },
)
