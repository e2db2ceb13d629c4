"""Rows of a table: validated, completed with defaults, and joined over all files.

A row comes from a YAML list, a line of a CSV or JSONL file, or an item of a special section. It
keeps its place, so that any later check can report the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

from proxyctl.catalog import Layout
from proxyctl.config.context import Compilation, FileSection, SectionPath
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.validation import check_rows
from proxyctl.rows.desired import DesiredTable
from proxyctl.rows.row import KEEP, DesiredRow, Key, Where

# Places ------------------------------------------------------------------------------------------


class RowPlace(NamedTuple):
    """The place of a row in the files: its item of a section, or the item that generated it."""

    part: FileSection
    """The section."""
    keys: SectionPath
    """The path of the item in the section; `field` looks for a column there first."""
    origin: str = ""
    """The special section that generated the row, else empty."""
    fallbacks: tuple[SectionPath, ...] = ()
    """The paths under which `field` looks for a column next, in order."""
    renamed: Mapping[str, str] = {}
    """The name of a column in the files, where it differs."""

    def where(self) -> Where:
        """Return the place of the row."""
        return self.part.where(*self.keys)._replace(origin=self.origin)

    def field(self, column: str) -> tuple[Where, str]:
        """Return the place of a field, and its name: `pxc_clusters[0].nodes[1].weight`.

        A row that does not set the column gives its own place.
        """
        name = self.renamed.get(column, column)
        holder = self.keys
        for keys in (self.keys, *self.fallbacks) if self.fallbacks else ():
            value = self.part.at(keys)
            if isinstance(value, dict) and name in value:
                holder = keys
                break
        where = self.part.where(*holder, name)._replace(origin=self.origin)
        return where, self.part.label((*holder, name))


class ItemPlaces(Sequence[RowPlace]):
    """The places of rows in one list or file, made when a message needs one.

    `positions`: those of the rows in the list.
    """

    def __init__(self, part: FileSection, positions: Sequence[int]) -> None:
        self._part, self._positions = part, positions

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 - a place, or places of a slice
        found = self._positions[index]
        if isinstance(index, slice):
            return ItemPlaces(self._part, found)
        return RowPlace(self._part, (found,))


class KeyedPlaces(Mapping[Key, RowPlace]):
    """The places of rows by key, from lists of places in the order of the keys.

    Nothing is looked up until the first place is asked for.
    """

    def __init__(self, keys: Iterable[Key], places: Sequence[Sequence[RowPlace]]) -> None:
        self._keys, self._places = keys, places

    @cached_property
    def _positions(self) -> dict[Key, int]:
        """The position of each key in all lists, one after the other."""
        return dict(zip(self._keys, count()))

    def __getitem__(self, key: Key) -> RowPlace:
        position = self._positions[key]
        for places in self._places:
            if position < len(places):
                return places[position]
            position -= len(places)
        raise KeyError(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)


class RowPlaces(Mapping[Key, Where]):
    """The place of each row of a table, by key."""

    def __init__(self, places: Mapping[Key, RowPlace]) -> None:
        self.places = places

    def __getitem__(self, key: Key) -> Where:
        return self.places[key].where()

    def __iter__(self) -> Iterator[Key]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def field_place(table: DesiredTable, key: Key, column: str) -> tuple[Where, str]:
    """Return the place of a field of a row, and what messages call it."""
    if isinstance(table.where, RowPlaces):
        return table.where.places[key].field(column)
    return table.where[key], f"{table.layout.name}.{column}"


# Tables ------------------------------------------------------------------------------------------


@dataclass
class SourceRows:
    """Rows of one table from one source, in their order."""

    layout: Layout
    rows: list[DesiredRow] = field(default_factory=list)
    places: Sequence[RowPlace] = ()
    """The place of each row."""
    used: dict[str, Where] = field(default_factory=dict)
    """The first place that sets each column."""

    def keys(self) -> Iterable[Key]:
        """Return the primary keys of the rows, in their order."""
        columns = (map(itemgetter(index), self.rows) for index in self.layout.key_index)
        return zip(*columns, strict=True)


def default_row(layout: Layout) -> list[Any]:
    """Return a row that sets no column: defaults, and KEEP for columns that are left alone."""
    return [KEEP if column.kept else column.file_default for column in layout.columns]


def table_rows(
    layout: Layout, rows: Iterable[Mapping[str, Any]], places: Sequence[RowPlace]
) -> SourceRows:
    """Return validated rows in the column order of the layout, with defaults for absent keys."""
    result = SourceRows(layout, places=places)
    defaults, index = default_row(layout), layout.index
    for position, row in enumerate(rows):
        values = defaults.copy()
        for name, value in row.items():
            values[index[name]] = value
        result.rows.append(tuple(values))
        if not result.used.keys() >= row.keys():
            for name in row.keys() - result.used.keys():
                result.used[name] = places[position].field(name)[0]
    return result


def checked_rows(part: FileSection, context: Compilation) -> SourceRows:
    """Return the rows of a list that can be used. Changes: context.mistakes."""
    rows = check_rows(part, context)
    return table_rows(context.layouts[part.name], rows.values(), ItemPlaces(part, [*rows]))


def join(layout: Layout, parts: Sequence[SourceRows], mistakes: Mistakes) -> DesiredTable:
    """Return the table that all parts make together. Changes: mistakes.

    A duplicate key is a mistake; the first row stays.
    """
    rows: dict[Key, DesiredRow] = {}
    used: dict[str, Where] = {}
    for part in parts:
        used = {**part.used, **used}
        rows.update(zip(part.keys(), part.rows, strict=True))
    places: Mapping[Key, RowPlace] = KeyedPlaces(rows, [part.places for part in parts])
    if len(rows) < sum(len(part.rows) for part in parts):
        rows, places = _without_duplicates(layout, parts, mistakes)
    origins = {
        place.origin
        for part in parts
        if not isinstance(part.places, ItemPlaces)
        for place in part.places
    }
    return DesiredTable(layout, rows, RowPlaces(places), used, origins=frozenset(origins - {""}))


def _without_duplicates(
    layout: Layout, parts: Sequence[SourceRows], mistakes: Mistakes
) -> tuple[dict[Key, DesiredRow], dict[Key, RowPlace]]:
    """Return the first row of each key, and its place. Changes: mistakes."""
    rows: dict[Key, DesiredRow] = {}
    places: dict[Key, RowPlace] = {}
    for part in parts:
        for key, row, place in zip(part.keys(), part.rows, part.places, strict=True):
            if key in rows:
                first = places[key].where()
                origin = f", {first.origin}" if first.origin else ""
                message = f"duplicate {key_words(layout, key)} (first defined at {first}{origin})"
                mistakes.add(place.where(), layout.name, message)
            else:
                rows[key] = row
                places[key] = place
    return rows, places


def key_words(layout: Layout, key: Key) -> str:
    """Return a key as people write it: `rule_id 10`, or `hostname db1, port 3306`."""
    pairs = zip(layout.table.key, key, strict=True)
    return ", ".join(f"{name} {value}" for name, value in pairs)
