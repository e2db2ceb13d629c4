"""The sections that are tables: their rows validated, compiled, and joined over all files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from proxyctl.catalog import Layout
from proxyctl.config.context import Context
from proxyctl.config.files import UnreadableError, is_clear
from proxyctl.config.mistakes import Mistakes, key_text, named
from proxyctl.config.row_sources import FileRows, YamlRows
from proxyctl.config.rows import Batch, NumberedPlaces, RowCompiler, RowPlaces, keys_of
from proxyctl.config.sections import Part, other_versions
from proxyctl.config.yaml import YamlList
from proxyctl.state.row import DesiredRow, DesiredTable, Key, Secret, Where


def compile_part(part: Part, context: Context) -> Batch | None:
    """Return the rows of a table section; None when nothing of it can be used."""
    if isinstance(part.value, YamlList):
        source = YamlRows(part.document, (part.name,), part.value)
        return _compile_rows(part, part.value, source, context)
    return _compile_file(part, context)


def _compile_rows(
    part: Part,
    rows: Sequence[Mapping[str, Any]],
    source: YamlRows | FileRows,
    context: Context,
) -> Batch:
    from pydantic import ValidationError

    from proxyctl.config.model_errors import Subject, add_mistakes
    from proxyctl.config.row_models import list_of, row_type, rows_adapter

    layout = context.layouts[part.name]
    adapter = rows_adapter(layout)
    wrong: dict[int, set[str | int]] = {}
    try:
        adapter.validate_python(rows)
    except ValidationError as error:
        is_yaml = isinstance(source, YamlRows)
        subject = Subject(
            value=rows,
            annotation=list_of(row_type(layout.name, layout.columns)),
            place=lambda keys, of_key: (
                part.where(*keys, of_key=of_key) if is_yaml else source.place(int(keys[0]))
            ),
            label=lambda keys: key_text((part.name, *keys) if is_yaml else keys[1:]),
            columns={column.name: column for column in layout.columns},
            unknown=other_versions(layout.table, context.version),
        )
        for keys in add_mistakes(error, subject, context.mistakes):
            wrong.setdefault(int(keys[0]), set()).update(keys[1:2])
    return RowCompiler(layout, source, context).compile(rows, wrong)


def _compile_file(part: Part, context: Context) -> Batch | None:
    """Return the rows of `{csv: FILE}` or `{jsonl: FILE}`."""
    from proxyctl.config.tabular import CsvTable, read_jsonl

    kind, name = next(iter(part.value.items()), ("", ""))
    if (
        len(part.value) != 1
        or kind not in ("csv", "jsonl")
        or not isinstance(name, str)
        or not name
    ):
        hint = "a list of rows, {csv: FILE} or {jsonl: FILE}"
        context.mistakes.add(part.where(), part.name, "expected a list of rows", f"write {hint}")
        return None
    path = name
    try:
        path = context.fence.path(name, os.path.dirname(part.document.path))
        layout = context.layouts[part.name]
        if kind == "csv":
            batch = CsvTable(path, layout, context).read()
        else:
            rows, source = read_jsonl(path, context)
            batch = _compile_rows(part, rows, source, context)
        if batch is not None and _holds_password(layout, batch):
            context.fence.warn_of(path)
        return batch
    except UnreadableError as error:
        if error.line:
            context.mistakes.add(error.where(path), "", error.message, error.hint)
        else:
            message = f"{named(name)}: {error.message}"
            label = f"{part.name}.{kind}"
            context.mistakes.add(part.where(kind), label, message, error.hint)
        return None


def _holds_password(layout: Layout, batch: Batch) -> bool:
    secret = [position for position, column in enumerate(layout.columns) if column.secret]
    cells = (row[position] for row in batch.rows for position in secret)
    return any(is_clear(cell) and not isinstance(cell, Secret) for cell in cells)


def join(layout: Layout, batches: Sequence[Batch], mistakes: Mistakes) -> DesiredTable:
    """Return the table that all batches make together. One key twice is a mistake.

    Changes: mistakes.
    """
    rows: dict[Key, DesiredRow] = {}
    used: dict[str, Where] = {}
    has_equal_keys = False
    for batch in batches:
        keys = keys_of(layout, batch.rows)
        new = dict(zip(keys, batch.rows, strict=True))
        if len(new) < len(keys) or not rows.keys().isdisjoint(new.keys()):
            has_equal_keys = True
            # The first one stays, as its place does.
            new = dict(zip(reversed(keys), reversed(batch.rows), strict=True))
            new = {key: row for key, row in new.items() if key not in rows}
        if rows:
            rows.update(new)
        else:
            rows = new
        for name, where in batch.used.items():
            used.setdefault(name, where)
    if has_equal_keys:
        _note_equal_keys(layout, batches, mistakes)
    origins = frozenset[str]().union(*(batch.source.origins for batch in batches))
    return DesiredTable(layout, rows, RowPlaces(layout, batches), used, origins=origins)


def rest(layout: Layout, batches: Sequence[Batch]) -> DesiredTable | None:
    """Return the rows that are in no table, for the checks of single fields.

    They have a mistake, or a key that another row has. Shape: keyed by their number; a field with a
    mistake is KEEP.
    """
    seen: set[Key] = set()
    parts: list[Batch] = []
    for batch in batches:
        again = []
        for number, key in enumerate(keys_of(layout, batch.rows)):
            if key in seen:
                again.append(number)
            seen.add(key)
        if again:
            rows = [batch.rows[number] for number in again]
            positions = [batch.positions[number] for number in again]
            parts.append(Batch(rows, batch.source, positions, {}))
        if batch.rest is not None:
            parts.append(batch.rest)
    if not parts:
        return None
    places = NumberedPlaces(layout, parts)
    rows_by_number = {key: batch.rows[number] for key, (batch, number) in places.items_by_key()}
    nowhere = Where("", 0, 0)
    return DesiredTable(layout, rows_by_number, places, dict.fromkeys(layout.names, nowhere))


def _note_equal_keys(layout: Layout, batches: Sequence[Batch], mistakes: Mistakes) -> None:
    """Note every row whose key an earlier row has. Finding the same one again is harmless."""
    first: dict[Key, Where] = {}
    for batch in batches:
        for number, key in enumerate(keys_of(layout, batch.rows)):
            place = batch.source.place(batch.positions[number])
            earlier = first.setdefault(key, place)
            if earlier is not place:
                mistakes.add(place, layout.name, f"{key_words(layout, key)} {_stands(earlier)}")


def _stands(earlier: Where) -> str:
    origin = f" ({earlier.origin})" if earlier.origin else ""
    return f"stands twice; first at {earlier}{origin}"


def key_words(layout: Layout, key: Key) -> str:
    """Return a key as people write it: `rule_id 10`, or `hostname db1, port 3306`."""
    pairs = zip(layout.table.key, key, strict=True)
    return ", ".join(f"{name} {value}" for name, value in pairs)
