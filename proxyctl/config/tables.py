r"""The sections that are tables: lists of rows, `{csv: FILE}` and `{jsonl: FILE}`, in one way.

A field of CSV becomes what YAML would have had: empty is absent, `\N` is NULL.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from proxyctl.catalog import Column, Kind, Layout
from proxyctl.config.context import Context, Part
from proxyctl.config.files import UnreadableError, read_text
from proxyctl.config.mistakes import described, key_text, named, shown
from proxyctl.config.rows import (
    PlacedRow,
    RowPlace,
    TableRows,
    YamlRow,
    compile_rows,
    json_value,
)
from proxyctl.config.validation import Subject, other_versions, validated
from proxyctl.config.yaml import YamlList
from proxyctl.state.row import Where
from proxyctl.state.sql import NUL

MAX_TABLE = 512 * 1024 * 1024
"""Largest CSV or JSONL file. Units: bytes."""

NULL = r"\N"

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})\Z")
_FLAGS = {"0": False, "1": True, "false": False, "true": True}


class _Found(NamedTuple):
    """Rows as they stand in the files. Shape: one place a row."""

    rows: Sequence[Mapping[str, Any]]
    places: Sequence[RowPlace]


def compile_part(part: Part, context: Context) -> TableRows | None:
    """Return the rows of a table section; None when nothing of it can be used.

    Changes: context.mistakes.
    """
    is_yaml = isinstance(part.value, YamlList)
    if is_yaml:
        count = len(part.value)
        places = [YamlRow(part.document, ((part.name, n),)) for n in range(count)]
        found: _Found | None = _Found(part.value, places)
    else:
        found = _read_file(part, context)
    if found is None:
        return None
    from proxyctl.config.models import rows_adapter, rows_type

    layout = context.layouts[part.name]
    subject = Subject(
        value=found.rows,
        kind=rows_type(layout),
        place=lambda keys, of_key: (
            part.where(*keys, of_key=of_key) if is_yaml else found.places[int(keys[0])].where()
        ),
        label=lambda keys: key_text((part.name, *keys) if is_yaml else keys[1:]),
        columns={column.name: column for column in layout.columns},
        unknown=other_versions(layout.table, context),
    )
    _, keys_of_wrong = validated(rows_adapter(layout), subject, context)
    wrong: dict[int, set[str]] = {}
    for position, *below in keys_of_wrong:
        wrong.setdefault(int(position), set()).update(map(str, below[:1] or layout.index))
    rows = [row if isinstance(row, dict) else {} for row in found.rows] if wrong else found.rows
    return compile_rows(layout, rows, found.places, context, wrong)


def _read_file(part: Part, context: Context) -> _Found | None:
    """Return the rows of `{csv: FILE}` or `{jsonl: FILE}`. Changes: context.mistakes."""
    kind, name = next(iter(part.value.items()), ("", ""))
    is_named = len(part.value) == 1 and isinstance(name, str) and name != ""
    if kind not in ("csv", "jsonl") or not is_named:
        fix = "write a list of rows, {csv: FILE} or {jsonl: FILE}"
        context.mistakes.add(part.where(), part.name, "expected a list of rows", fix)
        return None
    path = name
    try:
        path = context.fence.path(name, os.path.dirname(part.document.path))
        text = read_text(path, limit=MAX_TABLE, fence=context.fence)
    except UnreadableError as error:
        if error.line:
            context.mistakes.add(error.where(path), "", error.message, error.fix)
        else:
            message = f"{named(name)}: {error.message}"
            label = f"{part.name}.{kind}"
            context.mistakes.add(part.where(kind), label, message, error.fix)
        return None
    layout = context.layouts[part.name]
    if kind == "csv":
        return read_csv(text, path, layout, context)
    return read_jsonl(text, path, context)


# CSV ---------------------------------------------------------------------------------------------


class _Meanings(dict[str, Any]):
    """What the fields of a column of numbers or flags mean, each different text worked out once."""

    def __init__(self, *, is_flag: bool) -> None:
        super().__init__(_FLAGS if is_flag else {})
        self._is_flag = is_flag

    def __missing__(self, text: str) -> object:
        is_number = not self._is_flag and _INTEGER.match(text)
        self[text] = int(text) if is_number else text
        return self[text]


def _meanings(column: Column) -> _Meanings | None:
    """Return what the fields of a column mean; None where a text is itself."""
    if column.kind in (Kind.BOOL, Kind.INT):
        return _Meanings(is_flag=column.kind is Kind.BOOL)
    return None


def read_csv(text: str, path: str, layout: Layout, context: Context) -> _Found | None:
    """Return the rows of a CSV text; None after a mistake that spoils all of them.

    Changes: context.mistakes.
    """

    def add(line: int, label: str, message: str, fix: str | None = None) -> None:
        context.mistakes.add(Where(path, line, 1), label, message, fix)

    if "\0" in text:
        add(text.count("\n", 0, text.index("\0")) + 1, "", NUL)
        return None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[dict[str, Any]] = []
    places: list[PlacedRow] = []
    try:
        header = next(reader, [])
        if not _header_fits(header, path, layout, context):
            return None
        columns = [(name, _meanings(layout.column(name))) for name in header]
        end = reader.line_num
        for fields in reader:
            line, end = end + 1, reader.line_num
            if len(fields) == len(header):
                row = {
                    name: field if meanings is None else meanings[field]
                    for (name, meanings), field in zip(columns, fields, strict=True)
                    if field
                }
                if NULL in fields:
                    row |= {name: None for name, text in row.items() if text == NULL}
                rows.append(row)
                places.append(PlacedRow(path, line))
            elif fields:  # a blank line is no row
                add(line, "", f"{len(fields)} fields, but the header has {len(header)}")
    except csv.Error as error:
        add(reader.line_num, "", f"not CSV: {error}")
        return None
    return _Found(rows, places)


def _header_fits(header: list[str], path: str, layout: Layout, context: Context) -> bool:
    """Return whether the first line names columns of the table. Changes: context.mistakes."""
    mistakes, where = context.mistakes, Where(path, 1, 1)
    count = len(mistakes)
    if not any(header):
        mistakes.add(where, "", "no header: expected the names of the columns in the first line")
    elif len(header) == 1 and re.search(r"[;\t]", header[0]):
        message = f"one column only: {shown(header[0])}"
        mistakes.add(where, "", message, "put commas between the fields")
    if len(mistakes) > count:
        return False
    explain = other_versions(layout.table, context)
    for position, name in enumerate(header):
        if name not in layout.index:
            message = explain(name) or f"no such column: {shown(name)}"
            mistakes.add(where, "", message, mistakes.did_you_mean(name, layout.index))
        elif name in header[:position]:
            mistakes.add(where, name, "duplicate column in the header")
    for column in layout.columns:
        if column.is_required and column.name not in header:
            mistakes.add(where, column.name, f"the header lacks the column {column.name}")
    return len(mistakes) == count


# JSON lines --------------------------------------------------------------------------------------


def read_jsonl(text: str, path: str, context: Context) -> _Found:
    """Return the objects of a JSONL text, one a line. Changes: context.mistakes."""
    rows: list[dict[str, Any]] = []
    places: list[PlacedRow] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = Where(path, number, 1)
        try:
            row = json_value(line, _object)
        except ValueError as error:
            context.mistakes.add(where, "", f"not JSON: {error}")
            continue
        if isinstance(row, dict):
            rows.append(row)
            places.append(PlacedRow(path, number))
        else:
            context.mistakes.add(where, "", f"expected an object, got {described(row)}")
    return _Found(rows, places)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate key {shown(next(n for n in names if names.count(n) > 1))}")
    return result
