"""What became of many cases, counted; and the table of the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.faults.promises import KILLED, Case, broken, what_became_of_it
from tests.faults.rig import Boundary

CODES = {0: "exit 0", 1: "exit 1", 3: "exit 3", 4: "exit 4", KILLED: "killed"}
ENDS = ("finished", "as before", "part way")
AGAIN = ("nothing to do", "finishes", "fails")


@dataclass
class Tally:
    """The cases of one kind of fault on one server.

    Shape: `broken` has for each promise that did not hold where that was, and how.
    """

    server: str
    kind: str
    boundaries: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, boundary: Boundary, case: Case) -> None:
        self.boundaries += 1
        self.counts[CODES.get(case.outcome.code, "other")] += 1
        self.counts[what_became_of_it(case)] += 1
        again = 0 if case.again is None else 1 if case.again.code == 0 else 2
        self.counts[AGAIN[again]] += 1
        where = f"{self.server}, {boundary.course.name}, {self.kind} at {boundary.text()}"
        self.broken += [f"{where}: {text}" for text in broken(case)]

    def numbers(self) -> list[int]:
        """Return the counts in the order of the table's columns."""
        return [self.boundaries, *(self.counts[name] for name in _COUNTED), len(self.broken)]


_COUNTED = (*CODES.values(), *ENDS, *AGAIN)


def table(tallies: Sequence[Tally]) -> str:
    """Return the counts as a table: a line a server and kind, and one for all."""
    nothing = Tally("", "").numbers()
    found = [nothing, *(one.numbers() for one in tallies)]
    sums = [sum(column) for column in zip(*found, strict=True)]
    rows = [
        ["server", "fault", "tried", *_COUNTED, "broken"],
        *([one.server, one.kind, *map(str, one.numbers())] for one in tallies),
        ["all", "", *map(str, sums)],
    ]
    return in_columns(rows, left=2)


def in_columns(rows: Sequence[Sequence[str]], *, left: int) -> str:
    """Return lines with aligned columns; the first `left` of them begin at the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
