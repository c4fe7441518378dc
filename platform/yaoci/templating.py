"""Templates and bare expressions in the texts of definitions: the names they use, and what they become."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from .expressions import RenderError, TemplateProblem, Use, parse, program
from .sandbox import FILTERS, Refused, absence, joined
from .values import Json, as_text, canonical

__all__ = [
    "RenderError",
    "TemplateProblem",
    "Use",
    "evaluate",
    "expression_uses",
    "has_template",
    "render",
    "uses",
]


def has_template(text: str) -> bool:
    """Tell whether `text` is a template at all; any other text stands for itself."""
    return "{{" in text or "{%" in text


def uses(text: str) -> Sequence[Use]:
    """List the names that a template uses, in the order of the text. Raises TemplateProblem."""
    if not has_template(text):
        return ()
    quick = _quick(text)
    if quick is None:
        known = _defaulted(text)
        return parse(text, bare=False).uses if known is None else known
    return tuple(Use(slot.path, slot.line, guarded=False) for slot in quick.slots)


def expression_uses(text: str) -> Sequence[Use]:
    """List the names that a bare expression uses, in the order of the text. Raises TemplateProblem."""
    slot = _quick_expression(text)
    if slot is None:
        known = _compared(text)
        return parse(text, bare=True).uses if known is None else known
    return () if slot.path in _LITERALS else (Use(slot.path, slot.line, guarded=False),)


def render(value: Json, names: Mapping[str, Json]) -> Json:
    """Return `value` with the templates of its texts filled in; keys of mappings are no templates.

    A text that is one `{{ expression }}`, with nothing but space around it, becomes the
    expression's value; any other template becomes a text, in which null is nothing and
    what is not text is compact JSON. `names` are plain data. Raises RenderError.
    """
    if isinstance(value, str):
        return _render(value, names) if has_template(value) else value
    if isinstance(value, list | tuple):
        return [render(item, names) for item in cast("Sequence[Json]", value)]
    if isinstance(value, Mapping):
        return {key: render(item, names) for key, item in cast("Mapping[str, Json]", value).items()}
    return value


def evaluate(expression: Json, names: Mapping[str, Json]) -> Json:
    """Return the value of a bare expression; what is not text stands for itself. Raises RenderError."""
    if not isinstance(expression, str):
        return expression
    slot = _quick_expression(expression)
    if slot is None:
        return _run(expression, names, bare=True)
    return _LITERALS[slot.path] if slot.path in _LITERALS else _fetch(slot, names)


def _render(text: str, names: Mapping[str, Json]) -> Json:
    quick = _quick(text)
    if quick is None:
        return _run(text, names, bare=False)
    if quick.whole:
        return _fetch(quick.slots[0], names)
    try:
        return joined(quick.pieces(names))
    except Refused as error:
        raise RenderError(str(error), 1) from None


def _run(text: str, names: Mapping[str, Json], *, bare: bool) -> Json:
    try:
        ready = program(text, bare=bare)
    except TemplateProblem as problem:
        raise RenderError(str(problem), problem.line) from None
    return ready.run(names)


# -- the quick path: dotted paths need no parser --------------------------------------------------------


class _Slot(NamedTuple):
    path: tuple[str, ...]
    filter: str
    line: int


class _Quick(NamedTuple):
    texts: tuple[str, ...]
    """What stands before each slot, and after the last."""
    slots: tuple[_Slot, ...]
    whole: bool
    """The text is one slot, and space."""

    def pieces(self, names: Mapping[str, Json]) -> Iterator[str]:
        for index, slot in enumerate(self.slots):
            yield self.texts[index]
            yield as_text(_fetch(slot, names))
        yield self.texts[-1]


_WORD = r"[^\W\d]\w*"
_PATH = rf"\s*({_WORD}(?:\.{_WORD})*)\s*"
_BARE = re.compile(_PATH)
_SLOT = re.compile(rf"\{{\{{(?:{_PATH}(?:\|\s*({'|'.join(FILTERS)})\s*)?\}}\}})?")
"""Every `{{`; the first group is unset where more than a path and one plain filter follows."""

_LITERALS: Final[dict[tuple[str, ...], Json]] = {
    ("true",): True, ("True",): True, ("false",): False, ("False",): False,
    ("null",): None, ("none",): None, ("None",): None,
}  # fmt: skip

_WORDS: Final = frozenset("true True false False null none None not range dict namespace self".split())  # noqa: SIM905
"""What begins no path of the caller's names."""


def _steps(path: str) -> tuple[str, ...] | None:
    steps = tuple(path.split("."))
    if steps[0] in _WORDS or not (path.isascii() or all(map(str.isidentifier, steps))):
        return None
    return steps


@lru_cache(maxsize=2048)
def _quick(text: str) -> _Quick | None:
    """Read a text whose every `{{ }}` is a dotted path with at most one plain filter; None for any other."""
    if "{%" in text or "{#" in text or "\r" in text:
        return None
    texts: list[str] = []
    slots: list[_Slot] = []
    line, counted, end = 1, 0, 0
    for match in _SLOT.finditer(text):
        steps = _steps(match[1]) if match[1] else None
        if steps is None:
            return None
        line += text.count("\n", counted, match.start(1))
        counted = match.start(1)
        texts.append(text[end : match.start()])
        slots.append(_Slot(steps, match[2] or "", line))
        end = match.end()
    texts.append(text[end:])
    whole = len(slots) == 1 and not "".join(texts).strip()
    return _Quick(tuple(texts), tuple(slots), whole)


def _quick_expression(text: str) -> _Slot | None:
    match = _BARE.fullmatch(text)
    if match is None or "\r" in text:
        return None
    path = (match[1],) if (match[1],) in _LITERALS else _steps(match[1])
    return None if path is None else _Slot(path, "", 1 + text.count("\n", 0, match.start(1)))


# -- names alone: what is only judged needs no parser either, where it is simple --------------------------

_VALUE = rf"""{_WORD}(?:\.{_WORD})*|'[^'\\\n\r]*'|"[^"\\\n\r]*"|[0-9]+"""
_COMPARED = re.compile(
    rf"(?:not +)?({_VALUE})(?: *(?:==|!=|<=|>=|<|>) *({_VALUE})| +(?:not +)?in +({_VALUE})| +is +(?:not +)?(defined))?"
)
"""A value, or two that are compared, or one that is asked for."""

_DEFAULTED = re.compile(rf"\{{\{{ *({_WORD}(?:\.{_WORD})*) *\| *default\( *'[^'\\\n\r{{}}]*' *\) *\}}\}}")
_OPERATORS: Final = frozenset("and or in is if else not".split())  # noqa: SIM905


def _compared(text: str) -> Sequence[Use] | None:
    """Return the names of an expression that compares or asks for two values at most; None for any other."""
    match = _COMPARED.fullmatch(text.strip(" "))
    if match is None:
        return None
    found: list[Use] = []
    for value in filter(None, match.group(1, 2, 3)):
        if value[0] in "'\"" or value.isdecimal() or (value,) in _LITERALS:
            continue
        steps = _steps(value)
        if steps is None or not _OPERATORS.isdisjoint(steps):
            return None
        found.append(Use(steps, 1, guarded=bool(match[4])))
    return tuple(found)


def _defaulted(text: str) -> Sequence[Use] | None:
    """Return the name of a text that is one path with a default; None for any other."""
    match = _DEFAULTED.fullmatch(text)
    steps = _steps(match[1]) if match else None
    return None if steps is None or not _OPERATORS.isdisjoint(steps) else (Use(steps, 1, guarded=True),)


def _fetch(slot: _Slot, names: Mapping[str, Json]) -> Json:
    value: Any = names
    for index, step in enumerate(slot.path):
        if not isinstance(value, Mapping) or step not in value:
            raise RenderError(absence(slot.path[: index + 1], value), slot.line)
        value = cast("Mapping[str, Json]", value)[step]
    try:
        return canonical(FILTERS[slot.filter](value) if slot.filter else value)
    except (TypeError, ValueError) as error:
        raise RenderError(str(error), slot.line) from None
