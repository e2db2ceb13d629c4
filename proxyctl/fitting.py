"""Desired rows in the columns that the connected instance really has. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from proxyctl.catalog import Layout, Version
from proxyctl.errors import Mistake
from proxyctl.state import KEEP, DesiredRow, DesiredTable, Where


def fit(table: DesiredTable, layout: Layout) -> DesiredTable:
    """Return the desired table in the instance's layout.

    A column that the files were compiled without is left as it is.
    """
    if table.layout.names == layout.names:
        return table if table.layout is layout else replace(table, layout=layout)
    positions = [table.layout.index.get(name) for name in layout.names]

    def fitted(row: DesiredRow) -> DesiredRow:
        return tuple(KEEP if position is None else row[position] for position in positions)

    return replace(table, layout=layout, rows={k: fitted(row) for k, row in table.rows.items()})


def misfits(
    tables: Mapping[str, DesiredTable], layouts: Mapping[str, Layout], version: Version
) -> Iterator[Mistake]:
    """Yield what the files use and this instance does not have."""
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


def mistake_at(where: Where | None, key: str, message: str, hint: str | None = None) -> Mistake:
    """Return a mistake at a place in the files, as far as it is known."""
    if where is None:
        return Mistake("files", 0, 0, key, message, hint)
    return Mistake(where.path, where.line, where.column, key, message, hint)


def mistakes_at_instance(
    tables: Mapping[str, DesiredTable], admin_names: frozenset[str]
) -> Iterator[Mistake]:
    """Yield users that would replace an administrator's login and lock him out."""
    users = tables.get("mysql_users")
    if users is None:
        return
    for key in users.rows:
        if key[0] in admin_names:
            yield mistake_at(
                users.where.get(key),
                "username",
                f"{key[0]!r} is an administrator of this instance; as a mysql_users row it"
                " would replace that login and lock the administrator out",
                "choose another name for the application user, or remove the name from"
                " admin-admin_credentials / admin-stats_credentials first",
            )
