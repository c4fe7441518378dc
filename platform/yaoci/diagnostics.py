"""What `check` finds: a diagnostic, a report of all of them, and the nearest known name."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, cast

from .errors import YaociError
from .source import Span
from .values import Json

Severity: TypeAlias = Literal["error", "warning", "advice"]


class Code(NamedTuple):
    """The fixed part of a finding: its code, its slug, how grave it is, and a lower-case summary without names."""

    code: str
    slug: str
    severity: Severity
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding: what it is, where, and what to do.

    `label` says what exactly is wrong at `span`; `help` says what to do, or asks;
    `related` names other places that have a part in it.
    """

    code: str
    slug: str
    severity: Severity
    summary: str
    span: Span
    label: str = ""
    help: str = ""
    related: tuple[tuple[str, Span], ...] = ()

    @classmethod
    def of(
        cls,
        kind: Code,
        span: Span,
        label: str = "",
        help: str = "",
        related: tuple[tuple[str, Span], ...] = (),
    ) -> "Diagnostic":
        """Return a finding of a known kind."""
        return cls(
            code=kind.code, slug=kind.slug, severity=kind.severity, summary=kind.summary,
            span=span, label=label, help=help, related=related,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings of a project, sorted by place and then code; the same bytes each time."""

    findings: tuple[Diagnostic, ...]
    files: int
    """How many files were read."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """The texts of the files that have a finding, for snippets."""

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def ok(self) -> bool:
        """True if nothing is wrong; warnings and advice aside."""
        return not self.errors

    def __str__(self) -> str:
        """Return one line for each finding."""
        return "\n".join(
            f"{f.span.file}:{f.span.line}:{f.span.column}: {f.severity}[{f.code}] {f.label or f.summary}"
            for f in self.findings
        )


class DefinitionError(YaociError):
    """The definitions of a project are wrong; `report` holds every finding."""

    def __init__(self, report: Report) -> None:
        """Take the report, whose text becomes the message."""
        super().__init__(str(report))
        self.report = report


def report(findings: Iterable[Diagnostic], files: int, sources: Mapping[str, str]) -> Report:
    """Return a report of `findings`, in order, each once."""
    ordered = sorted(set(findings), key=lambda f: (f.span, f.code, f.label))
    used = {span.file for f in ordered for span in (f.span, *(place for _, place in f.related))}
    return Report(
        findings=tuple(ordered),
        files=files,
        sources={name: sources[name] for name in sorted(used & set(sources))},
    )


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """Return the one of `choices` that `name` was most likely meant to be, or None."""
    known = sorted(set(choices))
    lowered: dict[str, str] = {}
    for choice in known:
        lowered.setdefault(choice.lower(), choice)
    if found := lowered.get(name.lower()):
        return found
    close = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[close[0]] if close else None


def misspelt(given: Json, key: str, known: Iterable[str]) -> bool:
    """Return whether `given` has no `key`, but another one that is not among `known` and was likely meant as it.

    A key that begins with `x-` is the user's own.
    """
    if not isinstance(given, dict) or key in given:
        return False
    others = cast("dict[str, Json]", given).keys() - set(known)
    return any(nearest(other, (key,)) for other in others if not other.startswith("x-"))


def did_you_mean(name: str, choices: Iterable[str], *, few: int = 8) -> str:
    """Return a help text: the nearest of `choices`, else all of them where they are few, else nothing."""
    known = sorted(set(choices))
    if near := nearest(name, known):
        return f"did you mean `{near}`?"
    if known and len(known) <= few:
        return "there is " + listed(known) if len(known) == 1 else "there are " + listed(known)
    return ""


def listed(names: Iterable[str], last: str = "and") -> str:
    """Return names in backticks as a list in words: `a`, `b` and `c`."""
    quoted = [f"`{name}`" for name in names]
    return (
        quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {last} {quoted[-1]}" if quoted else ""
    )
