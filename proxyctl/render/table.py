"""Tables of any kind of line: columns, and writers for a terminal, markdown and CSV.

A column reads a line as text with its unit for people, and as the value for CSV and for sorting a
live table. The writers know only columns.
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
_ADDRESS = re.compile(r"@|:(?=//)|www(?=\\?\.)", re.IGNORECASE)
_FORMULA = ("=", "+", "-", "@")
"""The beginnings of a formula in a spreadsheet."""


@dataclass(frozen=True)
class TableColumn(Generic[Line]):
    """A column."""

    title: str
    """The title."""
    text: Callable[[Line], str]
    """Returns the text of a line, safe on a terminal, with its unit."""
    value: Callable[[Line], Cell] | None = None
    """Returns the value of a line; None: the column has only a text."""
    is_number: bool = True
    """Whether the values are numbers, which are aligned right."""
    width: int = 0
    """The width in a live view; 0: all the room that other columns leave. Units: characters."""
    from_width: int = 0
    """The narrowest terminal on which a live view shows the column. Units: characters."""

    def key(self, line: Line) -> Cell:
        """Return the sort key of a line: the value, else the text."""
        return self.text(line) if self.value is None else self.value(line)


def aligned(
    columns: Sequence[TableColumn[Line]], lines: Iterable[Line], *, indent: int = 0
) -> list[str]:
    """Return the lines for a terminal, the titles first."""
    rows = [[column.title for column in columns]]
    rows += [[column.text(line) for column in columns] for line in lines]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [" " * indent + _padded(columns, cells, widths) for cells in rows]


def _padded(
    columns: Sequence[TableColumn[Line]], cells: Sequence[str], widths: Sequence[int]
) -> str:
    parts = [
        cell.rjust(width) if column.is_number else cell.ljust(width)
        for column, cell, width in zip(columns, cells, widths, strict=True)
    ]
    return (" " * GAP).join(parts).rstrip()


def markdown_table(columns: Sequence[TableColumn[Line]], lines: Iterable[Line]) -> list[str]:
    """Return the lines of a table in markdown; no text acts as markup."""
    sides = ["---:" if column.is_number else "---" for column in columns]
    rows = [[column.title for column in columns], sides]
    rows += [[inline(column.text(line)) for column in columns] for line in lines]
    return [f"| {' | '.join(cells)} |" for cells in rows]


def inline(text: str) -> str:
    """Return text for markdown that acts as no markup, HTML, link or mention of a person."""
    escaped = _MARKUP.sub(r"\\\1", printable(text).replace("&", "&amp;"))
    # A zero-width space: GitHub makes a mention of `@name`, and a link of a bare address, however
    # it is escaped.
    return _ADDRESS.sub(r"\g<0>&#8203;", escaped)


def csv_text(columns: Sequence[TableColumn[Line]], lines: Iterable[Line]) -> str:
    """Return CSV: the titles, then the values, with control characters escaped."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([column.title for column in columns])
    for line in lines:
        writer.writerow([_csv_cell(column.key(line)) for column in columns])
    return file.getvalue()


def _csv_cell(value: Cell) -> Cell:
    """Return a cell that no spreadsheet runs as a formula."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
