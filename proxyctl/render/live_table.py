"""A table of the live view as data: its columns, what fits a width, order and filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from proxyctl.stats.live.view import View

Line = TypeVar("Line")
Key = float | str | None
GAP = 1
WIDE = 110
"""From this width on there is room for more columns."""


@dataclass(frozen=True)
class Column(Generic[Line]):
    """A column.

    Shape: `width` in characters, 0 takes what the others leave. `from_width` is how wide a terminal
    has to be that shows it. A number stands to the right, and the largest comes first.
    """

    title: str
    width: int
    text: Callable[[Line], str]
    key: Callable[[Line], Key]
    is_number: bool = True
    from_width: int = 0


@dataclass(frozen=True)
class LiveTable(Generic[Line]):
    """A table.

    Shape: `order` is the title of the column that it is sorted by at first. `row_key` tells a line
    from others from one look to the next. `kind` is how a line is coloured, by the names of Style,
    '' for not at all. `details` are the fields of a line that has the screen for itself.
    """

    name: str
    columns: tuple[Column[Line], ...]
    order: str
    lines: Callable[[View], Sequence[Line]]
    row_key: Callable[[Line], str]
    kind: Callable[[Line], str]
    details: Callable[[Line], list[tuple[str, str]]]

    def column(self, title: str) -> Column[Line]:
        """Return the column of a title."""
        return next(one for one in self.columns if one.title == title)


@dataclass(frozen=True)
class Arrangement:
    """In which order, and which lines: those with `filter` in one of their texts, in any case."""

    order: str
    is_reversed: bool = False
    filter: str = ""


def fitted(table: LiveTable[Line], width: int) -> list[tuple[Column[Line], int]]:
    """Return the columns that a width has room for, with their widths."""
    columns = [one for one in table.columns if one.from_width <= width]
    rest = width - sum(one.width + GAP for one in columns)
    return [(one, one.width or max(rest, len(one.title))) for one in columns]


def arranged(table: LiveTable[Line], lines: Iterable[Line], how: Arrangement) -> list[Line]:
    """Return the lines that pass the filter, in order; what is not known comes last."""
    column = table.column(how.order)
    kept = [line for line in lines if _passes(table, line, how.filter)]
    known = [line for line in kept if column.key(line) is not None]
    unknown = [line for line in kept if column.key(line) is None]
    # Not None, as they were chosen; a column has keys of one type.
    known.sort(key=column.key, reverse=column.is_number != how.is_reversed)  # type: ignore[arg-type]
    return known + unknown


def _passes(table: LiveTable[Line], line: Line, wanted: str) -> bool:
    if not wanted:
        return True
    sought = wanted.casefold()
    texts = [one.text(line) for one in table.columns] + [text for _, text in table.details(line)]
    return any(sought in text.casefold() for text in texts)
