"""Fit desired rows to the columns of the instance, and find rows that it cannot take. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from proxyctl.catalog import Layout, Version
from proxyctl.errors import Mistake
from proxyctl.plan.diff import TableDiff
from proxyctl.rows.desired import DesiredTable
from proxyctl.rows.row import KEEP, DesiredRow, Layer, Where


def fit(table: DesiredTable, layout: Layout) -> DesiredTable:
    """Return the desired table in the layout of the instance.

    A column that only the instance has is left alone.
    """
    if table.layout.names == layout.names:
        return table if table.layout is layout else replace(table, layout=layout)
    positions = [table.layout.index.get(name) for name in layout.names]

    def fitted(row: DesiredRow) -> DesiredRow:
        return tuple(KEEP if position is None else row[position] for position in positions)

    return replace(table, layout=layout, rows={k: fitted(row) for k, row in table.rows.items()})


def of_tables(
    tables: Mapping[str, DesiredTable], layouts: Mapping[str, Layout], version: Version
) -> Iterator[Mistake]:
    """Yield the tables and columns that the files use and the instance lacks."""
    for name, table in tables.items():
        layout = layouts.get(name)
        if layout is None:
            yield mistake_at(_first(table), name, f"ProxySQL {version} has no table {name}")
            continue
        for column, where in table.used.items():
            if column not in layout.index:
                message = f"ProxySQL {version} has no such column"
                yield mistake_at(where, f"{name}.{column}", message)


def _first(table: DesiredTable) -> Where | None:
    return next(iter(table.where.values()), None)


def mistake_at(where: Where | None, key: str, message: str, fix: str | None = None) -> Mistake:
    """Return a mistake at a place in the files, if the place is known."""
    if where is None:
        return Mistake("files", 0, 0, key, message, fix)
    return Mistake(where.path, where.line, where.column, key, message, fix)


def in_diffs(diffs: Mapping[str, TableDiff], version: str) -> Iterator[Mistake]:
    """Yield the mistakes that only the rows of the instance show. `version`: of ProxySQL."""
    for name in ("mysql_users", "pgsql_users"):
        if name in diffs:
            yield from _new_users_without_password(diffs[name])
    for diff in diffs.values():
        if diff.layout.table.prefix is None or diff.desired is None:
            continue
        for change in diff.changes[Layer.MEMORY]:
            if change.current is None:
                yield mistake_at(
                    diff.desired.where.get(change.key),
                    str(change.key[0]),
                    f"ProxySQL {version} has no such variable",
                )


def _new_users_without_password(diff: TableDiff) -> Iterator[Mistake]:
    password = diff.layout.index["password"]
    for change in diff.changes[Layer.MEMORY] if diff.desired else ():
        row = change.desired
        if change.current is None and row is not None and row[password] is KEEP:
            yield mistake_at(
                diff.desired.where.get(change.key) if diff.desired else None,
                "password",
                f"user {change.key[0]!r} is new and has no password",
                "add `password: {env: NAME}`; only existing users may leave it out",
            )
