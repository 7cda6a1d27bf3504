"""What a bench answers: a table of measurements and the gates that they must pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Gate:
    """A figure and the limit that it must keep: at most, or with ``at_least`` at least.  ``goal`` is only hoped for."""

    name: str
    figure: float
    limit: float
    goal: float | None = None
    at_least: bool = False

    @property
    def is_passed(self) -> bool:
        return self.keeps(self.limit)

    def keeps(self, limit: float) -> bool:
        return self.figure >= limit if self.at_least else self.figure <= limit

    def line(self) -> str:
        sign, verdict = ">=" if self.at_least else "<=", "ok  " if self.is_passed else "FAIL"
        wish = (
            ""
            if self.goal is None
            else f", goal {sign} {self.goal:g} {'reached' if self.keeps(self.goal) else 'missed'}"
        )
        return f"{verdict}  {self.name}: {self.figure:.2f} (must be {sign} {self.limit:g}{wish})"


@dataclass(frozen=True, slots=True)
class Report:
    """One bench's answer; all cells are text, the first column names the row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    gates: tuple[Gate, ...]
    notes: tuple[str, ...] = field(default=())

    def lines(self) -> Iterator[str]:
        """The report as text."""
        table = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        yield self.title
        for first, *cells in table:
            yield "  " + "  ".join([first.ljust(widths[0]), *map(str.rjust, cells, widths[1:])])
        yield from (f"  {note}" for note in self.notes)
        yield from (f"  {gate.line()}" for gate in self.gates)
