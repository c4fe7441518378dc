"""Values judged at length: jsonschema, guarded, so that nothing is fetched and nothing runs away."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from time import perf_counter
from typing import Any

from .acceptors import divides, repeated
from .diagnostics import did_you_mean
from .formats import FORMATS
from .keywords import PARTS, is_list, is_number, is_object, is_text, object_of, parts_of
from .patterns import LIMIT, PatternTimeout, search
from .values import MAX_DEPTH, Json, Path
from .wording import Misfit, in_path_form, misfits_in, sentence

_STEPS, _STEPS_A_NODE = 50_000, 10


class _Halt(Exception):  # noqa: N818 - not an error of ours: the judgement stops
    """The judgement costs more than it may; `thing` is the value that was looked at."""

    def __init__(self, text: str, thing: Json) -> None:
        super().__init__(text)
        self.thing = thing


class _Work:
    """What one judgement may cost; `jsonschema` carries it along in the place of a format checker."""

    __slots__ = ("_seconds", "_steps", "patterns")

    def __init__(self, nodes: int, patterns: Sequence[str]) -> None:
        self._steps = _STEPS + _STEPS_A_NODE * nodes
        self._seconds = LIMIT
        self.patterns = patterns

    def step(self, thing: Json) -> None:
        """Count one evaluation."""
        self._steps -= 1
        if self._steps < 0:
            raise _Halt("takes too many steps to judge: the schema multiplies itself", thing)

    def finds(self, pattern: str, text: str, thing: Json) -> bool:
        """Search; an expression that does not compile is found everywhere, since `flaws` speaks of it."""
        begun = perf_counter()
        try:
            found = search(pattern, text)
        except re.error:
            return True
        except PatternTimeout:
            found, self._seconds = False, 0.0
        self._seconds -= perf_counter() - begun
        if self._seconds < 0:
            raise _Halt(f"took too long to compare with `{pattern}`", thing)
        return found


def validator_of(schema: Json) -> Any:
    """Return a validator of `jsonschema` whose every search and step is counted, and which fetches nothing."""
    registry = import_module("referencing").Registry()
    return _guarded()(schema, registry=registry, format_checker=_Work(0, _patterns_of(schema)))


@cache
def _guarded() -> Any:
    jsonschema: Any = import_module("jsonschema")
    draft = jsonschema.Draft202012Validator
    own = {**draft.VALIDATORS, **_OWN}
    counted = {name: _counted(own[name]) for name in (*PARTS, "$ref", "$dynamicRef") if name in own}
    guarded = jsonschema.validators.extend(draft, {**own, **counted})
    evolve = guarded.evolve

    def evolved(self: Any, **changes: Any) -> Any:
        # a `$schema` within a schema would bring in the unguarded validator of its draft
        schema = changes.get("schema", self.schema)
        if is_object(schema) and "$schema" in schema:
            changes["schema"] = {key: value for key, value in schema.items() if key != "$schema"}
        return evolve(self, **changes)

    guarded.evolve = evolved
    return guarded


def _counted(check: Any) -> Any:
    def counted(judge: Any, wanted: Json, value: Json, schema: Json) -> Iterator[Any]:
        judge.format_checker.step(value)
        for error in check(judge, wanted, value, schema) or ():
            judge.format_checker.step(value)  # an error is handed up through all that led to it
            yield error

    return counted


def _patterns_of(schema: Json) -> list[str]:
    """Return all that `patternProperties` may search for, wherever it stands."""
    return [
        name
        for node, _ in _nodes(schema)
        if is_object(node)
        for name in object_of(node.get("patternProperties"))
    ]


def _nodes(value: Json) -> Iterator[tuple[Json, Path]]:
    """Yield all that a value holds, itself too, with the paths, level by level."""
    level: list[tuple[Json, Path]] = [(value, ())]
    while level:
        yield from level
        level = [(part, (*path, step)) for node, path in level for step, part in parts_of(node)]


# the keywords that search, that are quadratic upstream, or of which a part is to be told


def _error(text: str, path: Sequence[str] = ()) -> Any:
    return import_module("jsonschema").ValidationError(text, path=path)


def _required(_j: Any, names: Json, value: Json, _s: Json) -> Iterator[Any]:
    yield from (_error(name) for name in names if is_object(value) and name not in value)


def _pattern(judge: Any, pattern: Json, value: Json, _s: Json) -> Iterator[Any]:
    if is_text(value) and not judge.format_checker.finds(pattern, value, value):
        yield _error(pattern)


def _format(_j: Any, name: Json, value: Json, _s: Json) -> Iterator[Any]:
    if is_text(value) and name in FORMATS and not FORMATS[name].fits(value):
        yield _error(name)


def _multiple_of(_j: Any, step: Json, value: Json, _s: Json) -> Iterator[Any]:
    if is_number(value) and not divides(step, value):
        yield _error("")


def _unique_items(_j: Any, wanted: Json, value: Json, _s: Json) -> Iterator[Any]:
    if wanted and is_list(value) and (twice := repeated(value)):
        yield _error(f"must not hold anything twice: items {twice[0]} and {twice[1]} are equal")


def _into(judge: Any, step: str, item: Json, part: Json) -> Iterator[Any]:
    if part is False:  # upstream would leave out where
        yield _error("must not be there", [step])
    else:
        yield from judge.descend(item, part, path=step, schema_path=step)


def _properties(judge: Any, parts: Json, value: Json, _s: Json) -> Iterator[Any]:
    for name, part in parts.items():
        if name in object_of(value):
            yield from _into(judge, name, value[name], part)


def _pattern_properties(judge: Any, patterns: Json, value: Json, _s: Json) -> Iterator[Any]:
    for pattern, part in patterns.items():
        for name, item in object_of(value).items():
            if judge.format_checker.finds(pattern, name, value):
                yield from _into(judge, name, item, part)


def _additional_properties(judge: Any, part: Json, value: Json, schema: Json) -> Iterator[Any]:
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, item in object_of(value).items():
        if name in known or any(judge.format_checker.finds(pattern, name, value) for pattern in patterns):
            continue
        if part is False:
            yield _error("; ".join(filter(None, ("is unknown", did_you_mean(name, known)))), [name])
        else:
            yield from judge.descend(item, part, path=name)


def _property_names(judge: Any, part: Json, value: Json, _s: Json) -> Iterator[Any]:
    for name in object_of(value):
        for error in judge.descend(name, part):
            yield _error(f"has a name that does not fit: it {sentence(error)}", [name])


def _unevaluated_properties(judge: Any, part: Json, value: Json, schema: Json) -> Iterator[Any]:
    # upstream searches with plain `re` here: only after each of these searches was seen to end
    for name in object_of(value):
        for pattern in judge.format_checker.patterns:
            judge.format_checker.finds(pattern, name, value)
    check = import_module("jsonschema").Draft202012Validator.VALIDATORS["unevaluatedProperties"]
    try:
        wrong = list(check(judge, part, value, schema) or ())
    except re.error:  # an expression that does not compile: what it would allow is not known
        return
    for error in wrong:
        yield _error("has properties that nothing allows " + error.message.partition("(")[2].rstrip(")"))


_OWN: dict[str, Any] = {
    "required": _required, "properties": _properties, "pattern": _pattern, "format": _format, "multipleOf": _multiple_of,
    "uniqueItems": _unique_items, "patternProperties": _pattern_properties, "propertyNames": _property_names,
    "additionalProperties": _additional_properties, "unevaluatedProperties": _unevaluated_properties,
}  # fmt: skip


def misfits_of(judge: Any, value: Json, limit: int, why: Callable[[Exception], str] = str) -> list[Misfit]:
    """Return what a validator finds in a value, at most `limit` things; `why` says what it broke at."""
    nodes = depth = 0
    for _, path in _nodes(value):
        nodes, depth = nodes + 1, len(path)
        if depth > MAX_DEPTH:
            return [Misfit((), f"the value is nested deeper than {MAX_DEPTH} levels")]
    found: dict[Misfit, None] = {}  # the same may be found by many ways
    work = _Work(nodes, judge.format_checker.patterns)
    try:
        for error in judge.evolve(format_checker=work).iter_errors(value):
            found |= dict.fromkeys(misfits_in(error))
            if len(found) >= limit:
                break
    except _Halt as halt:
        path = next((path for node, path in _nodes(value) if node is halt.thing), ())
        return [*found, Misfit(path, f"{in_path_form(path)} {halt}")]
    except import_module("referencing.exceptions").Unresolvable as error:
        return [*found, unusable(f"`{error.ref}` is not in it")]
    except RecursionError:
        return [*found, unusable("it leads around and around")]
    except Exception as error:  # noqa: BLE001 - what a foreign schema breaks in `jsonschema` has no bounds
        return [*found, unusable(why(error))]
    return list(found)[:limit]


def unusable(why: str) -> Misfit:
    """Return the misfit of whatever is judged by a schema that cannot be used."""
    return Misfit((), f"the schema cannot be used: {why}")
