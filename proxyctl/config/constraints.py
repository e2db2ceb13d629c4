"""What SQLite inside ProxySQL would refuse: CHECKs over several columns, and UNIQUE keys.

The rows go into a table of the catalogue's own DDL, in memory. The models have seen everything that
concerns one column alone, so tables without more than that are left out.
"""

from __future__ import annotations

import re
from dataclasses import replace

from proxyctl.catalog import Column, Kind, Layout
from proxyctl.catalog.ddl import create_table
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.rows import key_words
from proxyctl.state.row import KEEP, DesiredTable, Key

_COMPARISON = r"{name} ?(?:>=|<=|>) ?\d+"


_PLAIN_WORDS = {
    "CASE WHEN replace_pattern": "a replace_pattern needs a match_pattern",
    "SUBSTR(domain_name": "the domain_name has to begin with a dot",
}
"""What a CHECK asks for, where its text does not say it well. By the beginning of the text."""


def check_constraints(table: DesiredTable, mistakes: Mistakes, *, with_unique: bool = True) -> None:
    """Note every row that an INSERT would fail on; UNIQUE keys only `with_unique`.

    Changes: mistakes.
    """
    layout = _concerned(table, with_unique=with_unique)
    if not table.rows or not layout.columns:
        return
    import sqlite3

    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(create_table(layout))
        marks = ",".join("?" * len(layout.columns))
        insert = f"INSERT INTO {layout.table.sql_name} VALUES ({marks})"
        rows = _insertable(table, layout)
        try:
            connection.executemany(insert, rows)
        except sqlite3.IntegrityError:
            # One row failed, and the message does not say which: again, row by row.
            connection.rollback()
            for key, row in zip(table.rows, rows, strict=True):
                try:
                    connection.execute(insert, row)
                except sqlite3.IntegrityError as error:
                    mistakes.add(table.where[key], layout.name, *_words(table, key, str(error)))
    finally:
        connection.close()


def _concerned(table: DesiredTable, *, with_unique: bool) -> Layout:
    """Return the layout of the columns that such a constraint is about, and the key; or of none.

    A constraint whose columns no file sets holds, since it holds for the defaults.
    """
    layout, used = table.layout, table.used
    names: set[str] = set()
    for column in layout.columns:
        if not _is_checked_by_model(column):
            mentioned = {n for n in layout.names if re.search(rf"\b{n}\b", column.check or "")}
            names |= mentioned if not mentioned.isdisjoint(used) else set()
    uniques = layout.table.unique if with_unique else ()
    for unique in uniques:
        # It cannot fail where the columns that the primary key has more are constant.
        if any(name in used for name in layout.table.key if name not in unique):
            names |= set(unique)
    if names:
        names |= set(layout.table.key)
    table_with = replace(layout.table, unique=tuple(u for u in uniques if names.issuperset(u)))
    return Layout(table_with, tuple(c for c in layout.columns if c.name in names))


def _is_checked_by_model(column: Column) -> bool:
    if column.check is None or column.choices is not None or column.kind is Kind.JSON:
        return True
    comparison = _COMPARISON.format(name=re.escape(column.name))
    return re.fullmatch(f"{comparison}(?: AND {comparison})*", column.check) is not None


def _insertable(table: DesiredTable, layout: Layout) -> list[tuple[object, ...]]:
    """Return the rows as SQLite takes them, in a layout with fewer columns."""
    columns = []
    for column in layout.columns:
        position = table.layout.index[column.name]
        columns.append([_value(row[position], column) for row in table.rows.values()])
    return list(zip(*columns, strict=True))


def _value(value: object, column: Column) -> object:
    """Return the default for KEEP, and plain characters for text that is not UTF-8."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "surrogateescape").decode("latin-1")
    return column.default if value is KEEP else value


def _words(table: DesiredTable, key: Key, error: str) -> tuple[str, str | None]:
    """Return what to say about SQLite's error on a row."""
    words = key_words(table.layout, key)
    kind, _, detail = error.partition(" constraint failed: ")
    if kind != "UNIQUE":
        plain = next((w for begin, w in _PLAIN_WORDS.items() if detail.startswith(begin)), None)
        reason = plain or f"{kind} constraint failed: {detail}"
        return f"{words}: ProxySQL refuses the row: {reason}", None
    columns = [name.rpartition(".")[2] for name in detail.split(", ")]
    positions = [table.layout.index[name] for name in columns]
    values = [table.rows[key][position] for position in positions]
    for other, row in table.rows.items():
        if [row[position] for position in positions] == values:
            shared = ", ".join(f"{n} {v}" for n, v in zip(columns, values, strict=True))
            place = table.where[other]
            return f"{words}: {shared} belongs to another row already, at {place}", None
    return f"{words}: ProxySQL refuses the row: {error}", None
