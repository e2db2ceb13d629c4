"""The one model of a table: columns over any kind of line, and its writers.

A column knows how to read a line: as text with its unit for a person, and as the value that CSV
holds and that a live table is sorted by. The writers know nothing of the lines.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from proxyctl.text import printable

Line = TypeVar("Line")
Cell = float | str | None
GAP = 2
"""Blanks between columns on a terminal."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|!~$])")


@dataclass(frozen=True)
class Column(Generic[Line]):
    """A column.

    Shape: `text` is safe on a terminal, with its unit. `value` is None where a column has nothing
    but its text. A number stands to the right. Of a live view: `width` in characters, 0 takes what
    the others leave; `from_width` is how wide a terminal has to be that shows it.
    """

    title: str
    text: Callable[[Line], str]
    value: Callable[[Line], Cell] | None = None
    is_number: bool = True
    width: int = 0
    from_width: int = 0

    def key(self, line: Line) -> Cell:
        """Return what a table is sorted by: the value, or the text."""
        return self.text(line) if self.value is None else self.value(line)


def aligned(
    columns: Sequence[Column[Line]], lines: Iterable[Line], *, indent: int = 0
) -> list[str]:
    """Return the lines for a terminal, the titles first."""
    rows = [[one.title for one in columns]]
    rows += [[one.text(line) for one in columns] for line in lines]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [" " * indent + _padded(columns, cells, widths) for cells in rows]


def _padded(columns: Sequence[Column[Line]], cells: Sequence[str], widths: Sequence[int]) -> str:
    parts = [
        cell.rjust(width) if column.is_number else cell.ljust(width)
        for column, cell, width in zip(columns, cells, widths, strict=True)
    ]
    return (" " * GAP).join(parts).rstrip()


def markdown_table(columns: Sequence[Column[Line]], lines: Iterable[Line]) -> list[str]:
    """Return the lines of a table in markdown, in which no text is markup."""
    sides = ["---:" if one.is_number else "---" for one in columns]
    rows = [[one.title for one in columns], sides]
    rows += [[inline(one.text(line)) for one in columns] for line in lines]
    return [f"| {' | '.join(cells)} |" for cells in rows]


def inline(text: str) -> str:
    """Return text for markdown that is no markup, no HTML and no mention of anybody."""
    escaped = _MARKUP.sub(r"\\\1", printable(text).replace("&", "&amp;"))
    # A zero-width space: a mention would be made of `@name` however it is escaped.
    return escaped.replace("@", "@&#8203;")


def csv_text(columns: Sequence[Column[Line]], lines: Iterable[Line]) -> str:
    """Return CSV: the titles, then the values. Control characters stand as escapes."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([one.title for one in columns])
    for line in lines:
        writer.writerow([_csv_cell(one.key(line)) for one in columns])
    return file.getvalue()


def _csv_cell(value: Cell) -> Cell:
    return printable(value) if isinstance(value, str) else value
