"""Arguments and parameters: arguments in order get their names, and written ones are judged before anything runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from .definitions import Method
from .diagnostics import did_you_mean, listed, misspelt, nearest
from .flaws import ERRORS, flaws
from .keywords import LEAVES, PARTS, properties
from .pysource import FILLED
from .schemas import Shape
from .templating import has_template
from .values import Json, Path

__all__ = ["FILLED", "Args", "Misfit", "bind", "judge", "known_names", "names_in_order", "unsure"]

Args: TypeAlias = Mapping[str, Json] | Sequence[Json]
"""Arguments as they are written: by name, or in order."""

_BESIDE: Final = ("$schema", "$defs", "definitions")
"""What the schema of one property may need of the schema around it."""

_LOOSE: Final = (
    "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "patternProperties", "additionalProperties",
    "unevaluatedProperties", "propertyNames",
)  # fmt: skip
"""With one of these at its root, a schema may take more names than its `properties` tell."""


_UNSURE: Final = ERRORS | {"required-unknown"}


class Misfit(NamedTuple):
    """What is wrong with arguments: a path in them, what exactly, what to do, and whether the key is meant."""

    path: Path
    label: str
    help: str = ""
    on: Literal["key", "value"] = "value"


def bind(args: Args, parameters: Json) -> dict[str, Json]:
    """Return arguments by name: those in order fill the properties in declared order, FILLED aside.

    Whether they fit is not judged. Raises ValueError where there are more than parameters.
    """
    if isinstance(args, Mapping):
        return dict(args)
    order = names_in_order(parameters)
    if len(args) > len(order):
        raise ValueError(f"it {_takes(order)}, not {len(args)}")
    return dict(zip(order, args, strict=False))


def names_in_order(parameters: Json) -> list[str]:
    """Return the names that arguments in order fill."""
    return [name for name in properties(parameters) if name not in FILLED]


def known_names(parameters: Json) -> frozenset[str] | None:
    """Return the names that a schema of parameters declares; None where it leaves them open, or is broken."""
    known = properties(parameters)
    if not known or _open(cast("Mapping[str, Json]", parameters)):
        return None
    return frozenset(known)


def unsure(schema: Json, *, parameters: bool = False) -> bool:
    """Return whether what is wrong with a schema would make values look wrong that are right.

    That is a schema that is none, one that requires what it does not have, and `properties` misspelt.
    """
    if misspelt(schema, "properties", (*LEAVES, *PARTS)):
        return True
    return any(flaw.slug in _UNSURE for flaw in flaws(schema, parameters=parameters))


def judge(args: Args, method: Method, name: str) -> Iterator[Misfit]:
    """Yield what is wrong with the arguments that YAML gives to a method, which is called `name` there.

    Values that hold templates are known only in a run; of them only the names are judged. What
    FILLED names is never missed. A broken schema is told where it stands, and judges nothing.
    """
    parameters = method.parameters
    if parameters is None:
        # a Python function whose signature does not say what it takes, takes what it is given
        if args and not hasattr(method.handler, "python"):
            yield Misfit((), f"`{name}` takes no arguments", "leave them out, or declare its `parameters`")
        return
    if unsure(parameters, parameters=True):
        return
    if isinstance(args, Mapping):
        yield from _judge_named(args, parameters, name)
    else:
        yield from _judge_in_order(args, parameters, name)


def _judge_named(args: Mapping[str, Json], parameters: Mapping[str, Json], what: str) -> Iterator[Misfit]:
    known = properties(parameters)
    unknown = [name for name in args if name not in known and name not in FILLED and not _open(parameters)]
    free = known.keys() - args.keys()
    near = {name: nearest(name, free) for name in unknown}
    missing = [name for name in _missing(args, parameters) if name not in near.values()]
    if len(missing) == len(unknown) == 1 and near[unknown[0]] is None:
        near[unknown[0]] = missing.pop()  # one of a kind: it is the same mistake
    for name in unknown:
        help = f"did you mean `{near[name]}`?" if near[name] else did_you_mean(name, free)
        help = help if known else "it takes no arguments at all"
        yield Misfit((name,), f"`{what}` has no parameter `{name}`", help, "key")
    for name in missing:
        yield Misfit((), f"`{what}` needs `{name}`", f"add `{name}: …` to `args`")
    yield from _misfits(args, parameters, {name: name for name in args})


def _judge_in_order(args: Sequence[Json], parameters: Mapping[str, Json], what: str) -> Iterator[Misfit]:
    order = names_in_order(parameters)
    if len(args) > len(order):
        label = f"`{what}` {_takes(order)}, not {len(args)}"
        yield Misfit((len(order),), label, "leave out the rest" if order else "leave them out")
    given = dict(zip(order, args, strict=False))
    for name in _missing(given, parameters):
        yield Misfit((), f"`{what}` needs `{name}`", _fill_in(name, order, len(args)))
    yield from _misfits(given, parameters, {name: index for index, name in enumerate(given)})


def _open(parameters: Mapping[str, Json]) -> bool:
    return any(parameters.get(keyword, False) is not False for keyword in _LOOSE)


def _takes(order: Sequence[str]) -> str:
    if not order:
        return "takes no arguments in order"
    return f"takes {len(order)} {'argument' if len(order) == 1 else 'arguments'} ({listed(order)})"


def _fill_in(name: str, order: Sequence[str], given: int) -> str:
    if given == 0:
        return f"add `args: {{{name}: …}}`"
    return f"in order they are {listed(order)}"


def _missing(given: Mapping[str, Json], parameters: Mapping[str, Json]) -> Iterator[str]:
    """Yield the names that are required, have no default, and are not given."""
    known = properties(parameters)
    for name in cast("list[str]", parameters.get("required", [])):
        schema = known.get(name)
        if (
            name not in given
            and name not in FILLED
            and not (isinstance(schema, dict) and "default" in schema)
        ):
            yield name


def _misfits(
    given: Mapping[str, Json], parameters: Mapping[str, Json], steps: Mapping[str, str | int]
) -> Iterator[Misfit]:
    """Yield the written values that do not fit their own schemas; `steps` tells where each stands in the arguments."""
    written = {name: value for name, value in given.items() if name not in FILLED and not _templated(value)}
    if not written:
        return
    beside = {keyword: parameters[keyword] for keyword in _BESIDE if keyword in parameters}
    shape = Shape({**beside, "type": "object", "properties": dict(properties(parameters))})
    for misfit in shape.misfits(written):
        if misfit.path:
            first, *rest = misfit.path
            yield Misfit((steps[str(first)], *rest), misfit.text)


def _templated(value: Json) -> bool:
    if isinstance(value, str):
        return has_template(value)
    if isinstance(value, Mapping):
        return any(map(_templated, cast("Mapping[str, Json]", value).values()))
    return isinstance(value, list | tuple) and any(map(_templated, cast("Sequence[Json]", value)))
