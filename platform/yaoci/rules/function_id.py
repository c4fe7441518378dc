"""Y401: function ids that no provider takes, or that two tools share."""

import re
from collections.abc import Iterable
from typing import Final

from ..definitions import Assistant, ProcessTool
from ..diagnostics import Code
from ..registry import ASSISTANTS, Offered, offered
from ..rule import Finding, Rule, View
from ..spec import Node
from ..values import Path

_LONGEST: Final = 64
_LEGAL: Final = re.compile(rf"[a-zA-Z0-9_-]{{1,{_LONGEST}}}")


def _see(node: Node, view: View) -> Iterable[Finding]:
    by_id: dict[str, Offered] = {}
    by_process: dict[str, Offered] = {}
    told: set[Path] = set()
    for offer in offered(view.owner, node.value, view.group):
        if offer.process not in view.processes or offer.path in told:
            continue
        finding = (
            _illegal(offer)
            or _twice(offer, by_process.setdefault(offer.process, offer), view)
            or _collides(offer, by_id.setdefault(offer.id, offer), view)
        )
        if finding:
            told.add(offer.path)  # one mistake in `orders.*` is not one for each of its methods
            yield finding


def _illegal(offer: Offered) -> Finding | None:
    if _LEGAL.fullmatch(offer.id):
        return None
    path = (*offer.path, "prefix") if getattr(offer.use, "prefix", None) else offer.path
    if len(offer.id) > _LONGEST:
        label = f"the function id `{offer.id}` has {len(offer.id)} characters"
        return Finding(path, label, f"give it a shorter `{'prefix' if _is_group(offer) else 'id'}`")
    return Finding(path, f"`{offer.id}` is no function id", "it may have a-z A-Z 0-9 _ and -")


def _is_group(offer: Offered) -> bool:
    return isinstance(offer.use, ProcessTool) and offer.use.process.endswith(".*")


def _twice(offer: Offered, first: Offered, view: View) -> Finding | None:
    if first is offer:
        return None
    name = offer.process.removeprefix(ASSISTANTS)
    related = (("and here", view.span(first.path)),) if first.path != offer.path else ()
    return Finding(offer.path, f"`{name}` is offered twice", "keep one of them", related=related)


def _collides(offer: Offered, first: Offered, view: View) -> Finding | None:
    if first is offer:
        return None
    names = [one.process.removeprefix(ASSISTANTS) for one in (first, offer)]
    help = (
        "give the group another `prefix`, or choose with `only`"
        if _is_group(offer)
        else "give one of them another `id`"
    )
    label = f"`{names[0]}` and `{names[1]}` are both `{offer.id}` to the model"
    return Finding(offer.path, label, help, related=((f"`{names[0]}` is here", view.span(first.path)),))


RULE: Final = Rule(
    code=Code("Y401", "function-id", "error", "function id not usable"),
    about="""A model calls a tool by its function id: `id`, else the name of the process with `_` for dots. It has 1 to 64
of the characters a-z A-Z 0-9 _ - and belongs to one process in the assistant.""",
    wants=(Assistant,),
    see=_see,
    wrong={
        "assistants/a.yaml": "model: local\ntools: [shop.find_order, {process: shop.find.order}]\n",
        "processes/shop.yaml": "methods:\n  find_order: {value: 1, description: Finds an order by its number.}\n",
        "processes/shop/find.yaml": "methods:\n  order: {value: 1, description: Finds an order by its number.}\n",
    },
    right={
        "assistants/a.yaml": "model: local\ntools: [shop.find_order, {process: shop.find.order, id: find}]\n",
        "processes/shop.yaml": "methods:\n  find_order: {value: 1, description: Finds an order by its number.}\n",
        "processes/shop/find.yaml": "methods:\n  order: {value: 1, description: Finds an order by its number.}\n",
    },
)
