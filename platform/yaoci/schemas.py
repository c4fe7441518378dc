"""JSON Schema for arguments and results: what of a value does not fit, and defaults filled in.

A value is first shown to nested closures, which only ever say *surely fits*; what they do not accept
goes to `jsonschema`, for the messages and for all they do not know.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from .acceptors import surely_fits, test_of
from .flaws import ERRORS, flaws
from .judging import misfits_of, unusable, validator_of
from .keywords import Test, followed, is_list, is_object, object_of
from .values import MAX_DEPTH, Json
from .wording import Misfit


class Shape:
    """A schema that values are judged by; cheap to make, compiled at its first use."""

    __slots__ = ("_judge", "_test", "schema")

    def __init__(self, schema: Json) -> None:
        self.schema = schema
        self._test: Test | None = None
        self._judge: Any = None

    def __repr__(self) -> str:
        return f"Shape({self.schema!r})"

    def misfits(self, value: Json, limit: int = 20) -> list[Misfit]:
        """Return what does not fit, at most `limit` things; [] if the value fits.

        Never raises: a schema or a value that cannot be judged is a misfit. An expression
        that `re` cannot compile is not judged.
        """
        if self._test is None:
            self._test = test_of(self.schema)
        if surely_fits(self._test, value):
            return []
        try:
            if self._judge is None:
                self._judge = validator_of(self.schema)
        except Exception as error:  # noqa: BLE001 - what a foreign schema breaks in `jsonschema` has no bounds
            return [unusable(_why(self.schema, error))]
        return misfits_of(self._judge, value, limit, partial(_why, self.schema))

    def fill(self, value: Json) -> Json:
        """Return a copy of `value` in which properties that are missing have their defaults.

        Through `properties`, `items` and references within the schema, at any depth.
        """
        return _filled(self.schema, self.schema, value)


def _why(schema: Json, error: Exception) -> str:
    """Return what `jsonschema` broke at: a flaw of the schema, else its own words."""
    return next((flaw.text for flaw in flaws(schema) if flaw.slug in ERRORS), str(error).partition("\n")[0])


def _filled(root: Json, schema: Json, value: Json, depth: int = 0) -> Json:
    if depth > MAX_DEPTH:
        return value
    known = object_of(followed(root, schema))
    if is_object(value):
        parts = object_of(known.get("properties"))
        out = {name: _filled(root, parts.get(name), item, depth + 1) for name, item in value.items()}
        for name, part in parts.items():
            if name not in out and "default" in object_of(part):
                # no root: a default that leads to itself through a reference would never end
                out[name] = _filled(None, part, part["default"], depth + 1)
        return out
    if is_list(value):
        heads: list[Json] = known["prefixItems"] if is_list(known.get("prefixItems")) else []
        rest = [known.get("items")] * (len(value) - len(heads))
        pairs = zip([*heads, *rest], value, strict=False)
        return [_filled(root, part, item, depth + 1) for part, item in pairs]
    return value


def explain(misfits: Sequence[Misfit], what: str = "arguments") -> str:
    """Return one text to act on, "" if there is nothing: `arguments do not fit: `id` is required; …`."""
    if not misfits:
        return ""
    head = what.partition(" of ")[0]
    verb = "do" if head.endswith("s") and not head.startswith("what ") else "does"
    return f"{what} {verb} not fit: {'; '.join(misfit.text for misfit in misfits)}"
