"""Rows as they stand in files -> full rows in a table's layout.

Also where each row came from: a batch keeps its source, so that a mistake found by any later check
still knows the line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from proxyctl.catalog import Column, Kind, Layout, Value
from proxyctl.config.context import Context
from proxyctl.config.row_sources import RowSource
from proxyctl.config.yaml import Unusable
from proxyctl.state.row import KEEP, DesiredRow, Key, Where
from proxyctl.state.sql import NUL


@dataclass
class Batch:
    """Rows of one table from one source.

    `positions`: where each row stands in its source. `rest`: the rows with a mistake, for the
    checks of their other fields.
    """

    rows: list[DesiredRow]
    source: RowSource
    positions: Sequence[int]
    used: dict[str, Where]
    rest: Batch | None = None


def default_row(layout: Layout) -> list[Any]:
    """Return the values of a row that sets no column; KEEP for those that are then left alone."""
    return [KEEP if column.kept else column.file_default for column in layout.columns]


class RowCompiler:
    """Turns validated rows of one source into full rows."""

    def __init__(self, layout: Layout, source: RowSource, context: Context) -> None:
        self._layout = layout
        self._source = source
        self._context = context
        self._position = 0
        self._is_spoilt = False
        self._columns = {
            column.name: (index, self._converter(column))
            for index, column in enumerate(layout.columns)
        }
        self._spelled = {
            column.name: {str(c).upper(): str(c) for c in column.choices}
            for column in layout.columns
            if column.choices and column.kind is Kind.TEXT
        }

    def compile(
        self,
        rows: Sequence[Mapping[str, Any]],
        wrong: Mapping[int, Collection[str | int]] | None = None,
    ) -> Batch:
        """Return the rows; those with a mistake stand apart.

        Shape: `wrong` by position, the columns that the models refused; none: the whole row.
        """
        wrong = wrong or {}
        base = default_row(self._layout)
        columns = self._columns
        positions: list[int] = []
        used: dict[str, Where] = {}
        result: list[DesiredRow] = []
        spoilt: list[DesiredRow] = []
        spoilt_positions: list[int] = []
        for position, row in enumerate(rows):
            self._position = position
            if position in wrong:
                spoilt.append(self._others(row, wrong[position]))
                spoilt_positions.append(position)
                continue
            self._is_spoilt = False
            values = base.copy()
            for name, value in row.items():
                index, convert = columns[name]
                values[index] = value if convert is None else convert(name, value)
            if not used.keys() >= row.keys():
                for name in row.keys() - used.keys():
                    used[name] = self._source.field(position, name)
            if self._is_spoilt:
                spoilt.append(tuple(values))
                spoilt_positions.append(position)
                continue
            positions.append(position)
            result.append(tuple(values))
        rest = Batch(spoilt, self._source, spoilt_positions, {}) if spoilt else None
        return Batch(result, self._source, positions, used, rest)

    def _others(self, row: Mapping[str, Any], wrong: Collection[str | int]) -> DesiredRow:
        """Return what is right of a row; KEEP for all else."""
        values: list[Any] = [KEEP] * len(self._layout.columns)
        if wrong:
            for name, value in row.items():
                if name in self._columns and name not in wrong:
                    index, convert = self._columns[name]
                    values[index] = value if convert is None else convert(name, value)
        return tuple(values)

    def _converter(self, column: Column) -> Callable[[str, Any], Value] | None:
        match column.kind:
            case Kind.BOOL:
                return self._flag
            case Kind.INT:
                return self._hostgroup if column.hostgroup else None
            case Kind.JSON:
                return self._json
            case Kind.TEXT:
                return self._choice if column.choices else self._text

    def _flag(self, _: str, value: bool | int | None) -> int | None:
        return None if value is None else int(value)

    def _text(self, name: str, value: Any) -> str | None:  # noqa: ANN401 - text or a reference
        if value is None or (value.__class__ is str and "\0" not in value):
            return value
        if isinstance(value, Unusable):
            self._is_spoilt = True
            return None
        text: str | None = value
        if isinstance(value, dict):
            where = self._source.field(self._position, name)
            is_secret = self._layout.column(name).secret
            text = self._context.text(value, where, self._label(name), is_secret=is_secret)
            self._is_spoilt |= text is None
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
            self._is_spoilt = True
            if not isinstance(value, Unusable):
                where = self._source.field(self._position, name)
                self._context.add_unknown_hostgroup(value, where, self._label(name))
        return number

    def _json(self, name: str, value: Any) -> str:  # noqa: ANN401 - anything that JSON has
        if not isinstance(value, str):
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        self._is_spoilt |= isinstance(value, Unusable)
        problem = json_problem(value)
        if problem:
            self._add(name, problem)
        return value

    def _label(self, name: str) -> str:
        return self._source.label(self._position, name)

    def _add(self, name: str, message: str) -> None:
        self._is_spoilt = True
        where = self._source.field(self._position, name)
        self._context.mistakes.add(where, self._label(name), message)


def json_problem(text: str) -> str | None:
    """Return what keeps a text from being stored in a JSON column; None if nothing does.

    Some texts are stored, and end the process when they are loaded: their numbers or characters
    are more than ProxySQL's own JSON reader takes. Source: ProxySQL 2.7.1, run.
    """
    if "\0" in text:
        return NUL
    if text == "":
        return None
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    except OverflowError:
        return "a number that is too large for ProxySQL, which would end at the LOAD"
    except (ValueError, RecursionError):
        return "not JSON: NaN or Infinity, or nested too deep"
    if text.isascii() and "\\u" not in text:
        return None
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "text that is not UTF-8, or half a surrogate pair: ProxySQL would end at the LOAD"
    return None


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise OverflowError(digits)
    return number


class RowPlaces(Mapping[Key, Where]):
    """The place of each row of a table, by key. Looked up rarely, so found on the first look."""

    def __init__(self, layout: Layout, batches: Sequence[Batch]) -> None:
        self._layout = layout
        self.batches = batches

    @cached_property
    def _index(self) -> dict[Key, tuple[Batch, int]]:
        index: dict[Key, tuple[Batch, int]] = {}
        for batch in self.batches:
            for number, key in enumerate(keys_of(self._layout, batch.rows)):
                index.setdefault(key, (batch, number))
        return index

    def __getitem__(self, key: Key) -> Where:
        batch, number = self._index[key]
        return batch.source.place(batch.positions[number])

    def __iter__(self) -> Iterator[Key]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def field(self, key: Key, column: str) -> tuple[Where, str]:
        """Return the place of a field, and how it is called in a message."""
        batch, number = self._index[key]
        position = batch.positions[number]
        return batch.source.field(position, column), batch.source.label(position, column)


class NumberedPlaces(RowPlaces):
    """The places of rows that are counted, since their keys may be wrong or equal."""

    @cached_property
    def _index(self) -> dict[Key, tuple[Batch, int]]:
        rows = ((batch, number) for batch in self.batches for number in range(len(batch.rows)))
        return {(count,): row for count, row in enumerate(rows)}

    def items_by_key(self) -> Iterable[tuple[Key, tuple[Batch, int]]]:
        """Return the batch of each row, and its number there."""
        return self._index.items()


def keys_of(layout: Layout, rows: Sequence[DesiredRow]) -> list[Key]:
    """Return the primary keys of rows, in their order."""
    columns = [[row[index] for row in rows] for index in layout.key_index]
    return list(zip(*columns, strict=True))
