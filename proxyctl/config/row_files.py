r"""Rows in a file of their own: `{csv: FILE}` and `{jsonl: FILE}`.

A CSV field becomes the value that YAML would have: an empty field is an absent key, `\N` is NULL.
A column of a large file has few distinct values, so each is validated once; if one is wrong, the
rows are validated one by one, and every mistake is found with its line.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from proxyctl.catalog import Column, ColumnKind
from proxyctl.config.context import Compilation, FileSection, Lines
from proxyctl.config.documents import FROM_FOLDER, near_file
from proxyctl.config.mistakes import described
from proxyctl.config.rows import ItemPlaces, SourceRows, checked_rows, default_row
from proxyctl.config.sources import UnreadableError, read_text
from proxyctl.config.validation import other_version
from proxyctl.config.yaml import Document
from proxyctl.rows.row import Where
from proxyctl.text import shown

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MAX_TABLE = 512 * 1024 * 1024
"""Largest CSV or JSONL file. Units: bytes."""

NULL = r"\N"


def compile_row_file(part: FileSection, context: Compilation) -> SourceRows | None:
    """Return the rows of `{csv: FILE}` or `{jsonl: FILE}`; None when no row can be used.

    Changes: context.mistakes.
    """
    kind, name = next(iter(part.value.items()), ("", ""))
    is_named = len(part.value) == 1 and isinstance(name, str) and name != ""
    if kind not in ("csv", "jsonl") or not is_named:
        fix = "write a list of rows, {csv: FILE} or {jsonl: FILE}"
        context.note(part, (), "expected a list of rows", fix)
        return None
    path = os.path.join(os.path.dirname(part.path), name)
    try:
        path = context.fence.path(name, os.path.dirname(part.path))
        text = read_text(path, limit=MAX_TABLE, fence=context.fence)
    except UnreadableError as error:
        if error.line:
            context.mistakes.add(error.where(path), "", error.message, error.fix)
        else:
            near = near_file(path, FROM_FOLDER)
            context.note(part, (kind,), f"{name}: {error.message}", error.fix or near)
        return None
    empty = Lines(Document(path, None), part.name, [], [])
    if kind == "jsonl":
        return checked_rows(_read_json(text, empty, context), context)
    header = _csv_header(text, empty, context)
    if header is None:
        return None
    try:
        return _csv_columns(text, header, empty, context)
    except (_UnusualRowError, csv.Error):
        rows = _read_csv(text, empty, context)
        return checked_rows(rows, context) if rows is not None else None


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


def _csv_header(text: str, part: Lines, context: Compilation) -> list[str] | None:
    """Return the columns of a CSV text; None after a mistake. Changes: context.mistakes."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
    except csv.Error as error:
        _note(part, context, reader.line_num, "", f"not CSV: {error}")
        return None
    return header if _header_fits(header, part, context) else None


class _UnusualRowError(Exception):
    """A row of a CSV file has a wrong value, or does not stand on a line of its own."""


class _Values(dict[str, object]):
    """The values of a column by their text; a text is validated when it is first met."""

    def __init__(self, column: Column, default: object, part: Lines, context: Compilation) -> None:
        self._column, self._default = column, default
        self._part, self._context = part, context
        if not column.is_required:
            self[""] = default

    def of(self, texts: Sequence[str]) -> Iterable[object]:
        """Return the values of fields. Raises: _UnusualRowError, now or when they are read."""
        if self._column.kind is not ColumnKind.TEXT or self._column.choices or NULL in texts:
            return map(self.__getitem__, texts)
        if "" in texts and "" not in self:
            raise _UnusualRowError
        return map(self.setdefault, texts, texts)  # any text is right

    def __missing__(self, text: str) -> object:
        from pydantic import ValidationError

        if not text:
            raise _UnusualRowError
        value = None if text == NULL else _PARSERS.get(self._column.kind, str)(text)
        try:
            answer = self._adapter.validate_python(value, context=(self._context, self._part.path))
        except ValidationError as error:
            raise _UnusualRowError from error
        self[text] = answer
        return answer

    @cached_property
    def _adapter(self) -> TypeAdapter[object]:
        from pydantic import TypeAdapter

        from proxyctl.config.columns import STRICT, field_type

        return TypeAdapter(field_type(self._column), config=STRICT)


_CHUNK = 10_000
"""Rows of a CSV file that are turned into columns at once."""


def _csv_columns(text: str, header: Sequence[str], part: Lines, context: Compilation) -> SourceRows:
    """Return the rows of a CSV text, validated column by column.

    Raises: _UnusualRowError, csv.Error.
    """
    layout = context.layouts[part.name]
    if "\0" in text or not header:
        raise _UnusualRowError
    values = [
        _Values(column, default, part, context)
        for column, default in zip(layout.columns, default_row(layout), strict=True)
    ]
    order = [
        header.index(column.name) if column.name in header else -1 for column in layout.columns
    ]
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    next(reader)
    result = SourceRows(layout)
    while chunk := [*islice(reader, _CHUNK)]:
        first = len(result.rows) + 2
        if reader.line_num != first + len(chunk) - 1 or {*map(len, chunk)} != {len(header)}:
            raise _UnusualRowError
        texts = [*zip(*chunk, strict=True)]
        cells = (
            column.of(texts[position]) if position >= 0 else repeat(column[""])
            for column, position in zip(values, order, strict=True)
        )
        result.rows += zip(*cells, strict=False)
        for name, column_texts in zip(header, texts, strict=True):
            if name not in result.used and any(column_texts):
                line = first + next(n for n, text in enumerate(column_texts) if text)
                result.used[name] = Where(part.path, line, 1)
    placed = replace(part, lines=range(2, len(result.rows) + 2))
    result.places = ItemPlaces(placed, range(len(result.rows)))
    return result


def _read_csv(text: str, part: Lines, context: Compilation) -> Lines | None:
    """Return the rows of a CSV text with its header; None after a mistake that spoils all of them.

    Changes: context.mistakes.
    """
    layout = context.layouts[part.name]
    rows: list[dict[str, object]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = next(reader)
    columns = [(name, _PARSERS.get(layout.column(name).kind, str)) for name in header]
    try:
        for fields in reader:
            if len(fields) == len(header):
                rows.append(
                    {
                        name: None if field == NULL else parse(field)
                        for (name, parse), field in zip(columns, fields, strict=True)
                        if field
                    }
                )
                lines.append(reader.line_num)
            elif fields:  # a blank line is no row
                message = f"{len(fields)} fields, but the header has {len(header)}"
                _note(part, context, reader.line_num, "", message)
    except csv.Error as error:
        _note(part, context, reader.line_num, "", f"not CSV: {error}")
        return None
    return replace(part, value=rows, lines=lines)


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


def _read_json(text: str, part: Lines, context: Compilation) -> Lines:
    """Return the objects of a JSONL text, one per line. Changes: context.mistakes."""
    from proxyctl.config.columns import json_value

    rows: list[object] = []
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json_value(line, _object)
        except ValueError as error:
            _note(part, context, number, "", f"not JSON: {error}")
            continue
        if isinstance(row, dict):
            rows.append(row)
            lines.append(number)
        else:
            _note(part, context, number, "", f"expected an object, got {described(row)}")
    return replace(part, value=rows, lines=lines)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate key {shown(next(n for n in names if names.count(n) > 1))}")
    return result
