r"""Rows of a table: read, validated, completed with defaults, and joined over all files.

A row comes from a YAML list, a line of a CSV or JSONL file, or an item of a special section. It
keeps its place, so that any later check can report the line. A CSV field becomes the value that
YAML would have: an empty field is an absent key, `\N` is NULL.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from proxyctl.catalog import ColumnKind, Layout
from proxyctl.config.context import Compilation, FileSection, Lines, SectionPath
from proxyctl.config.mistakes import Mistakes, described
from proxyctl.config.sources import UnreadableError, read_text
from proxyctl.config.validation import check_rows, other_version
from proxyctl.config.yaml import Document, YamlList
from proxyctl.rows.desired import DesiredTable
from proxyctl.rows.row import KEEP, DesiredRow, Key, Where
from proxyctl.text import shown

MAX_TABLE = 512 * 1024 * 1024
"""Largest CSV or JSONL file. Units: bytes."""

NULL = r"\N"

# Places ------------------------------------------------------------------------------------------


class RowPlace(NamedTuple):
    """The place of a row in the files: its item of a section, or the item that generated it.

    Shape: `field` looks under `keys`, then under each of `fallbacks`, for the name that `renamed`
    gives the column there. `origin`: the special section that generated the row, else empty.
    """

    part: FileSection
    keys: SectionPath
    origin: str = ""
    fallbacks: tuple[SectionPath, ...] = ()
    renamed: Mapping[str, str] = {}

    def where(self) -> Where:
        """Return the place of the row."""
        return self.part.where(*self.keys)._replace(origin=self.origin)

    def field(self, column: str) -> tuple[Where, str]:
        """Return the place of a field, and its name: `pxc_clusters[0].nodes[1].weight`.

        A row that does not set the column gives its own place.
        """
        name = self.renamed.get(column, column)
        holder = self.keys
        for keys in (self.keys, *self.fallbacks):
            value = self.part.at(keys)
            if isinstance(value, dict) and name in value:
                holder = keys
                break
        where = self.part.where(*holder, name)._replace(origin=self.origin)
        return where, self.part.label((*holder, name))


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
    """Rows of one table from one source, in their order.

    Shape: `places` has one entry per row. `used`: by column, the first place that sets it.
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
    """Return a row that sets no column: defaults, and KEEP for columns that are left alone."""
    return [KEEP if column.kept else column.file_default for column in layout.columns]


def table_rows(
    layout: Layout, rows: Iterable[Mapping[str, Any]], places: Iterable[RowPlace]
) -> SourceRows:
    """Return validated rows in the column order of the layout, with defaults for absent keys."""
    result = SourceRows(layout)
    defaults, index = default_row(layout), layout.index
    for row, place in zip(rows, places, strict=True):
        values = defaults.copy()
        for name, value in row.items():
            values[index[name]] = value
        result.rows.append(tuple(values))
        result.places.append(place)
        if not result.used.keys() >= row.keys():
            for name in row.keys() - result.used.keys():
                result.used[name] = place.field(name)[0]
    return result


def compile_part(part: FileSection, context: Compilation) -> SourceRows | None:
    """Return the rows of a table section; None when no row can be used.

    Changes: context.mistakes.
    """
    listed = part if isinstance(part.value, YamlList) else _read_file(part, context)
    if listed is None:
        return None
    rows = check_rows(listed, context)
    places = (RowPlace(listed, (position,)) for position in rows)
    return table_rows(context.layouts[part.name], rows.values(), places)


def join(layout: Layout, parts: Sequence[SourceRows], mistakes: Mistakes) -> DesiredTable:
    """Return the table that all parts make together. Changes: mistakes.

    A duplicate key is a mistake; the first row stays.
    """
    rows: dict[Key, DesiredRow] = {}
    places: dict[Key, RowPlace] = {}
    used: dict[str, Where] = {}
    for part in parts:
        used = {**part.used, **used}
        for key, row, place in zip(part.keys(), part.rows, part.places, strict=True):
            if key in rows:
                first = places[key].where()
                origin = f", {first.origin}" if first.origin else ""
                message = f"duplicate {key_words(layout, key)} (first defined at {first}{origin})"
                mistakes.add(place.where(), layout.name, message)
            else:
                rows[key] = row
                places[key] = place
    origins = frozenset(place.origin for part in parts for place in part.places)
    return DesiredTable(layout, rows, RowPlaces(places), used, origins=origins - {""})


def key_words(layout: Layout, key: Key) -> str:
    """Return a key as people write it: `rule_id 10`, or `hostname db1, port 3306`."""
    pairs = zip(layout.table.key, key, strict=True)
    return ", ".join(f"{name} {value}" for name, value in pairs)


# Rows in a file of their own ----------------------------------------------------------------------


def _read_file(part: FileSection, context: Compilation) -> Lines | None:
    """Return the rows of `{csv: FILE}` or `{jsonl: FILE}`. Changes: context.mistakes."""
    kind, name = next(iter(part.value.items()), ("", ""))
    is_named = len(part.value) == 1 and isinstance(name, str) and name != ""
    if kind not in ("csv", "jsonl") or not is_named:
        fix = "write a list of rows, {csv: FILE} or {jsonl: FILE}"
        context.note(part, (), "expected a list of rows", fix)
        return None
    path = name
    try:
        path = context.fence.path(name, os.path.dirname(part.path))
        text = read_text(path, limit=MAX_TABLE, fence=context.fence)
    except UnreadableError as error:
        if error.line:
            context.mistakes.add(error.where(path), "", error.message, error.fix)
        else:
            context.note(part, (kind,), f"{name}: {error.message}", error.fix)
        return None
    rows = Lines(Document(path, None), part.name, [], [])
    read = _read_csv if kind == "csv" else _read_json
    return rows if read(text, rows, context) else None


def _note(
    part: Lines, context: Compilation, line: int, label: str, message: str, fix: str | None = None
) -> None:
    context.mistakes.add(Where(part.path, line, 1), label, message, fix)


_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})\Z")
_FLAGS = {"0": False, "1": True, "false": False, "true": True}


@lru_cache(maxsize=4096)
def _number(text: str) -> int | str:
    return int(text) if _INTEGER.match(text) else text


def _flag(text: str) -> bool | str:
    return _FLAGS.get(text, text)


_PARSERS: dict[ColumnKind, Callable[[str], object]] = {
    ColumnKind.INT: _number,
    ColumnKind.BOOL: _flag,
}
"""The value of a CSV field, by the kind of its column; other fields are text."""


def _read_csv(text: str, part: Lines, context: Compilation) -> bool:
    """Add the rows of a CSV text. Return False after a mistake that spoils all of them.

    Changes: part, context.mistakes.
    """
    layout = context.layouts[part.name]
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        if not _header_fits(header, part, context):
            return False
        columns = [(name, _PARSERS.get(layout.column(name).kind, str)) for name in header]
        for fields in reader:
            if len(fields) == len(header):
                part.value.append(
                    {
                        name: None if field == NULL else parse(field)
                        for (name, parse), field in zip(columns, fields, strict=True)
                        if field
                    }
                )
                part.lines.append(reader.line_num)
            elif fields:  # a blank line is no row
                message = f"{len(fields)} fields, but the header has {len(header)}"
                _note(part, context, reader.line_num, "", message)
    except csv.Error as error:
        _note(part, context, reader.line_num, "", f"not CSV: {error}")
        return False
    return True


def _header_fits(header: list[str], part: Lines, context: Compilation) -> bool:
    """Return whether the first line names columns of the table. Changes: context.mistakes."""
    layout = context.layouts[part.name]
    count = len(context.mistakes)
    for position, name in enumerate(header):
        if name not in layout.index:
            explained = other_version(layout.table, name, context)
            message = explained or f"no such column: {shown(name)}"
            _note(part, context, 1, "", message, context.mistakes.did_you_mean(name, layout.index))
        elif name in header[:position]:
            _note(part, context, 1, name, "duplicate column in the header")
    for column in layout.columns:
        if column.is_required and column.name not in header:
            _note(part, context, 1, column.name, f"the header lacks the column {column.name}")
    return len(context.mistakes) == count


def _read_json(text: str, part: Lines, context: Compilation) -> bool:
    """Add the objects of a JSONL text, one per line. Changes: part, context.mistakes."""
    from proxyctl.config.columns import json_value

    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json_value(line, _object)
        except ValueError as error:
            _note(part, context, number, "", f"not JSON: {error}")
            continue
        if isinstance(row, dict):
            part.value.append(row)
            part.lines.append(number)
        else:
            _note(part, context, number, "", f"expected an object, got {described(row)}")
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate key {shown(next(n for n in names if names.count(n) > 1))}")
    return result
