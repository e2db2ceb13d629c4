"""Rows -> a SQL script that a person can paste into the admin port.

One statement a line, in the order of an apply: rows, LOAD ... TO RUNTIME, SAVE ... TO DISK.
Comments stand only above the rows: a client that sends them along would hide a LOAD from ProxySQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proxyctl import sql
from proxyctl.catalog import ADMIN_MODULES, REFERENCE, Layout, Table, layout_of
from proxyctl.catalog.variables import READ_ONLY, RESTART_ONLY
from proxyctl.sql import Statement
from proxyctl.state import Row


def write_script(
    tables: Mapping[str, tuple[Layout, Sequence[Row]]],
    variables: Mapping[str, str],
    *,
    header: Sequence[str] = (),
    mask_secrets: bool = False,
) -> str:
    """Return the script: what the tables hold is replaced, the variables are set.

    Shape: `tables` by catalogue name. Raises: ValueError for text with a NUL character.
    """
    lines = [f"-- {' '.join(line.split())}" for line in header]
    for statement in _statements(tables, variables):
        lines.append((statement.masked if mask_secrets else statement.sql) + ";")
    return "\n".join(lines) + "\n"


def _statements(
    tables: Mapping[str, tuple[Layout, Sequence[Row]]], variables: Mapping[str, str]
) -> Iterator[Statement]:
    modules = [
        module
        for module in ADMIN_MODULES.values()
        if any(table.name in tables for table in module.tables)
        or any(_variables_of(table, variables) for table in module.tables)
    ]
    for module in modules:
        for table in module.tables:
            if table.name in tables:
                layout, rows = tables[table.name]
                yield Statement.plain(f"DELETE FROM {table.sql_name}")
                yield from sql.inserts(layout, rows)
            for name, value in _variables_of(table, variables).items():
                if name not in RESTART_ONLY:
                    yield _set(table, name, value)
    for module in modules:
        yield Statement.plain(module.load)
    for module in modules:
        for table in module.tables:
            for name, value in _variables_of(table, variables).items():
                # LOAD puts these back in MEMORY: set before it, they would never reach DISK.
                if name in RESTART_ONLY:
                    yield _set(table, name, value)
        yield Statement.plain(module.save)


def _variables_of(table: Table, variables: Mapping[str, str]) -> dict[str, str]:
    prefix = table.prefix
    if prefix is None:
        return {}
    return {
        name: value
        for name, value in variables.items()
        if name.startswith(prefix) and name not in READ_ONLY
    }


def _set(table: Table, name: str, value: str) -> Statement:
    """Return an UPDATE: ProxySQL keeps a row for every variable it has, and drops any other."""
    return sql.update(layout_of(table, REFERENCE), (name,), (name, None), (name, value))
