"""Rows of a table: validated, completed with defaults, and joined over all files.

A row comes from a YAML list, a line of a CSV or JSONL file, or an item of a special section. It
keeps its place, so that a mistake found by any later check still knows the line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, Protocol

from proxyctl.catalog import Column, Kind, Layout, Value
from proxyctl.config.context import Context
from proxyctl.config.mistakes import Mistakes, key_text
from proxyctl.config.references import is_reference
from proxyctl.config.yaml import Document, Unusable
from proxyctl.state.row import KEEP, DesiredRow, DesiredTable, Key, Where
from proxyctl.state.sql import NUL

# Places ------------------------------------------------------------------------------------------


class RowPlace(Protocol):
    """Where one row stands in the files."""

    @property
    def origin(self) -> str:
        """The special section that generated the row; empty for one written out as such."""

    def where(self) -> Where:
        """Return the place of the row."""

    def field(self, column: str) -> tuple[Where, str]:
        """Return the place of a field, and its name in a message.

        The place is that of the row, where it does not set the column.
        """


class YamlRow(NamedTuple):
    """A row in a YAML file: an item of a list, or what an item of a special section stands for.

    A field is looked for under each of `prefixes` in turn, by its name there (`renamed`).
    """

    document: Document
    prefixes: tuple[tuple[str | int, ...], ...]
    origin: str = ""
    renamed: Mapping[str, str] = {}

    def where(self) -> Where:
        """Return the place of the row."""
        return self.document.where(self.prefixes[0])._replace(origin=self.origin)

    def field(self, column: str) -> tuple[Where, str]:
        """Return its place, and `pxc_clusters[0].nodes[1].weight`."""
        name = self.renamed.get(column, column)
        keys: tuple[str | int, ...] = (*self.prefixes[0], name)
        for prefix in self.prefixes:
            value: Any = self.document.root
            for key in prefix:
                is_there = key in value if isinstance(value, dict) else isinstance(value, list)
                value = value[key] if is_there else None
            if isinstance(value, dict) and name in value:
                keys = (*prefix, name)
                break
        return self.document.where(keys)._replace(origin=self.origin), key_text(keys)


class PlacedRow(NamedTuple):
    """A row with one place for all its fields: a line of a CSV or JSONL file."""

    path: str
    line: int
    column: int = 1
    origin: str = ""

    def where(self) -> Where:
        """Return the place."""
        return Where(*self)

    def field(self, column: str) -> tuple[Where, str]:
        """Return the place, and the name of the column."""
        return Where(*self), column


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
    """Return the place of a field of a row, and its name in a message."""
    if isinstance(table.where, RowPlaces):
        return table.where.places[key].field(column)
    return table.where[key], f"{table.layout.name}.{column}"


# Rows --------------------------------------------------------------------------------------------


@dataclass
class TableRows:
    """Rows of one table from one source, in their order, without those that lack a needed column.

    Shape: `places` has one entry a row. `used`: the first place that sets a column.
    """

    layout: Layout
    rows: list[DesiredRow] = field(default_factory=list)
    places: list[RowPlace] = field(default_factory=list)
    used: dict[str, Where] = field(default_factory=dict)

    def keys(self) -> list[Key]:
        """Return the primary keys of the rows, in their order."""
        columns = [[row[index] for row in self.rows] for index in self.layout.key_index]
        return list(zip(*columns, strict=True))


def default_row(layout: Layout) -> list[Any]:
    """Return the values of a row that sets no column; KEEP for those that are then left alone."""
    return [KEEP if column.kept else column.file_default for column in layout.columns]


def compile_rows(
    layout: Layout,
    rows: Sequence[Mapping[str, Any]],
    places: Sequence[RowPlace],
    context: Context,
    wrong: Mapping[int, Collection[str]] = MappingProxyType({}),
) -> TableRows:
    """Return validated rows in the column order of the layout, with the defaults of what they omit.

    `wrong`: the columns that the models refused, by position of the row. Such a row stays, with a
    default there: later checks find its other mistakes. Changes: context.mistakes.
    """
    result = TableRows(layout)
    cells = _Cells(layout, context)
    base = default_row(layout)
    used: set[str] = set()
    for position, row in enumerate(rows):
        cells.place = places[position]
        cells.wrong = {*wrong.get(position, ())}
        values: list[Any] = base.copy()
        right: Mapping[str, Any] = row
        if cells.wrong:
            right = {name: row[name] for name in row if name not in cells.wrong}
        for name, value in right.items():
            index, plain, convert = cells.columns[name]
            if value.__class__ is plain and (plain is int or "\0" not in value):
                values[index] = value
            else:
                found = convert(name, value)
                if name not in cells.wrong:
                    values[index] = found
        if cells.wrong and not cells.needed.isdisjoint(cells.wrong):
            continue
        if not used.issuperset(row):
            for name in (row.keys() & cells.columns.keys()) - used:
                result.used[name] = cells.place.field(name)[0]
            used.update(row)
        result.rows.append(tuple(values))
        result.places.append(cells.place)
    return result


class _Cells:
    """Turns values of YAML into those of columns.

    `place` is that of the row in hand, `wrong` has its columns with a mistake. A row cannot do
    without those that are `needed`.
    """

    place: RowPlace
    wrong: set[str]

    def __init__(self, layout: Layout, context: Context) -> None:
        self._layout = layout
        self._context = context
        self.needed = {one.name for one in layout.columns if one.is_required} | {*layout.table.key}
        self._spelled = {
            column.name: {str(choice).upper(): str(choice) for choice in column.choices}
            for column in layout.columns
            if column.choices
        }
        self.columns = {
            column.name: (index, *self._converter(column))
            for index, column in enumerate(layout.columns)
        }

    def _converter(self, column: Column) -> tuple[type[Any] | None, Callable[[str, Any], Value]]:
        """Return the type whose values need no conversion, and the conversion of all others."""
        match column.kind:
            case Kind.BOOL:
                return None, self._flag
            case Kind.INT:
                return int, self._hostgroup
            case Kind.JSON:
                return None, self._json
            case Kind.TEXT:
                return (None, self._choice) if column.choices else (str, self._text)

    def _flag(self, _: str, value: bool | int | None) -> int | None:
        return None if value is None else int(value)

    def _text(self, name: str, value: Any) -> str | None:  # noqa: ANN401 - text or a reference
        if value is None:
            return None
        if isinstance(value, Unusable):
            self.wrong.add(name)
            return None
        text: str | None = value
        if isinstance(value, dict):
            is_secret = self._layout.column(name).secret
            text = self._context.text(value, *self.place.field(name), is_secret=is_secret)
            if text is None:
                self.wrong.add(name)
        if text is not None and "\0" in text:
            self._add(name, NUL)
        return text

    def _choice(self, name: str, value: str | None) -> str | None:
        return None if value is None else self._spelled[name][value.upper()]

    def _hostgroup(self, name: str, value: int | str | None) -> int | None:
        if not isinstance(value, str):
            return value
        number = self._context.hostgroups.get(value)
        if number is None:
            self.wrong.add(name)
            self._context.hostgroup(value, *self.place.field(name))
        return number

    def _json(self, name: str, value: Any) -> str:  # noqa: ANN401 - anything that JSON has
        if not isinstance(value, str):
            if is_reference(value):
                self._add(name, "JSON is UTF-8 text here, not a reference", "write the JSON itself")
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        if isinstance(value, Unusable):
            self.wrong.add(name)
        try:
            json_value(value or "{}")
        except ValueError as error:
            self._add(name, f"not JSON that ProxySQL can LOAD: {error}")
        if "\0" in value:
            self._add(name, NUL)
        return value

    def _add(self, name: str, message: str, fix: str | None = None) -> None:
        self.wrong.add(name)
        self._context.mistakes.add(*self.place.field(name), message, fix)


def json_value(text: str, members: Callable[[list[tuple[str, Any]]], Any] = dict) -> object:
    """Return the value of a JSON text; `members` makes an object of names and values.

    Some texts that Python reads end ProxySQL at the LOAD: their numbers or characters are more than
    its own reader takes. Source: ProxySQL 2.7.1, run. Raises: ValueError that says why.
    """
    try:
        value: object = json.loads(
            text,
            object_pairs_hook=members,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_whole,
        )
        if "\\u" in text or not text.isascii():
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos + 1}") from None
    except UnicodeEncodeError:
        raise ValueError("text that is not UTF-8, or half a surrogate pair") from None
    except RecursionError:
        raise ValueError("nested too deep") from None
    return value


_MOST_DIGITS = 4000
"""Python refuses a few more."""


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("a number with too many digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("the number is too large")
    return number


# Tables ------------------------------------------------------------------------------------------


def join(layout: Layout, parts: Sequence[TableRows], mistakes: Mistakes) -> DesiredTable:
    """Return the table that all parts make together. Changes: mistakes.

    One key twice is a mistake; the first row stays.
    """
    rows: dict[Key, DesiredRow] = {}
    places: dict[Key, RowPlace] = {}
    used: dict[str, Where] = {}
    origins: set[str] = set()
    for part in parts:
        used = {**part.used, **used}
        origins.update(place.origin for place in part.places)
        for key, row, place in zip(part.keys(), part.rows, part.places, strict=True):
            if key in rows:
                first = places[key].where()
                origin = f", {first.origin}" if first.origin else ""
                message = f"duplicate {key_words(layout, key)} (first defined at {first}{origin})"
                mistakes.add(place.where(), layout.name, message)
            else:
                rows[key] = row
                places[key] = place
    return DesiredTable(layout, rows, RowPlaces(places), used, origins=frozenset(origins - {""}))


def key_words(layout: Layout, key: Key) -> str:
    """Return a key as people write it: `rule_id 10`, or `hostname db1, port 3306`."""
    pairs = zip(layout.table.key, key, strict=True)
    return ", ".join(f"{name} {value}" for name, value in pairs)
