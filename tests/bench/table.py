"""What a benchmark says, row by row, and the one table of all of them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

HEAD = ("name", "what", "figure", "unit", "ratio", "base", "bar")


class Row(NamedTuple):
    """One figure. `bar` is the most that the ratio may be, or the figure where there is no ratio."""

    name: str
    what: str
    figure: float | None
    """None: it could not be measured, and `base` says why."""
    unit: str
    ratio: float | None = None
    base: str = ""
    bar: float | None = None

    @property
    def over(self) -> bool:
        """Whether the bar is missed."""
        judged = self.figure if self.ratio is None else self.ratio
        return self.bar is not None and judged is not None and judged > self.bar

    def cells(self) -> tuple[str, ...]:
        """Return the row as texts."""
        bar = "" if self.bar is None else f"≤ {self.bar:g} {'OVER' if self.over else 'ok'}"
        figure, ratio = shown(self.figure), "" if self.ratio is None else shown(self.ratio)
        return (self.name, self.what, figure, self.unit, ratio, self.base, bar)


def shown(number: float | None) -> str:
    """Return a number with three digits that count."""
    if number is None:
        return "–"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def table(rows: Iterable[Row]) -> str:
    """Return the rows below the head, in columns; numbers stand to the right."""
    lines: Sequence[tuple[str, ...]] = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    lines = [HEAD, tuple("-" * width for width in widths), *lines[1:]]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in {2, 4} else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
