"""Make configurations to route by: before and after an apply, and the PostgreSQL side. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from proxyctl.catalog import Layout, Version, parse_version
from proxyctl.catalog.mysql_tables import MYSQL_TABLES
from proxyctl.catalog.releases import PGSQL
from proxyctl.errors import ProxyctlError
from proxyctl.routing.router import ROUTING_TABLES
from proxyctl.state.compare import fold_users
from proxyctl.state.configuration import Configuration, Held, variables_of
from proxyctl.state.families import FAMILY_TABLES
from proxyctl.state.row import KEEP, DesiredRow, DesiredTable, Key, Row, Rows, Where
from proxyctl.state.runtime import runtime_image

# Before and after an apply: what the files do not manage stays as it is at RUNTIME ---------------

SIDE_TABLES = (*ROUTING_TABLES, "mysql_servers", *FAMILY_TABLES)
"""The tables that decide about the destination of a query and its servers."""


@dataclass(frozen=True)
class Sides:
    """Two configurations with the same layouts. Unchanged tables are the same object in both."""

    before: Configuration
    after: Configuration


def sides_of(
    layouts: Mapping[str, Layout],
    desired: Mapping[str, DesiredTable],
    runtime: Callable[[Layout], Rows],
    *,
    version: Version,
    hostgroup_names: Mapping[int, str],
) -> Sides:
    """Return both sides. `desired` has the instance's layouts; `runtime` reads RUNTIME."""
    tables: tuple[dict[str, Held], dict[str, Held]] = {}, {}
    variables: tuple[dict[str, str], dict[str, str]] = {}, {}
    for name in SIDE_TABLES:
        if name not in layouts:
            continue
        layout = layouts[name]
        before = _folded(layout, runtime(layout))
        after = rows_after(layout, before, desired.get(name))
        for side, rows in enumerate((before, after)):
            if layout.table.prefix is not None:
                variables[side].update(variables_of(rows.values()))
            else:
                tables[side][name] = Held(layout, rows)
    before_apply, after_apply = (
        Configuration(version, held, values, hostgroup_names)
        for held, values in zip(tables, variables, strict=True)
    )
    return Sides(before_apply, after_apply)


def _folded(layout: Layout, rows: Rows) -> Rows:
    return fold_users(layout, rows) if layout.name == "mysql_users" else rows


def rows_after(layout: Layout, before: Rows, desired: DesiredTable | None) -> Rows:
    """Return the rows of RUNTIME after an apply; the same object if they do not change.

    `before`: RUNTIME now, with folded users. A column that the files leave alone keeps its value.
    """
    if desired is None:
        return before
    ignored = [layout.index[n] for n in desired.keep_on_update if n in layout.index]
    wanted = {
        key: _settled(layout, row, before.get(key), ignored)
        for key, row in runtime_image(layout, dict(desired.rows)).items()
    }
    is_variables = layout.table.prefix is not None
    kept = {key: row for key, row in before.items() if is_variables or not desired.owns(key)}
    after = {**kept, **wanted}
    return before if after == before else after


def _settled(layout: Layout, row: DesiredRow, current: Row | None, ignored: list[int]) -> Row:
    if current is None:
        if KEEP not in row:
            return cast("Row", row)
        return tuple(
            default if cell is KEEP else cell
            for cell, default in zip(row, layout.defaults, strict=True)
        )
    if KEEP not in row and not ignored:
        return cast("Row", row)
    cells = [old if cell is KEEP else cell for cell, old in zip(row, current, strict=True)]
    for position in ignored:
        cells[position] = current[position]
    return tuple(cells)


# PostgreSQL --------------------------------------------------------------------------------------

_TABLES = {table.name: table for table in MYSQL_TABLES}
_DATABASE, _SCHEMANAME = "database", "schemaname"


def pgsql_name(name: str) -> str:
    """Return the PostgreSQL name of a table, a variable or a column of the MySQL side."""
    return _DATABASE if name == _SCHEMANAME else name.replace("mysql", "pgsql", 1)


def pgsql_names(tables: Iterable[str]) -> tuple[str, ...]:
    """Return the PostgreSQL names of tables of the MySQL side, even of tables without a twin."""
    return tuple(map(pgsql_name, tables))


def pgsql_as_mysql(configuration: Configuration) -> Configuration:
    """Return the PostgreSQL side of a configuration under the names of the MySQL side.

    Both sides share the query processor: rules, flags, fast routing, patterns and hints. With these
    names the evaluator and lint need no second form. Source: ProxySQL 3.0.3, run.

    Raises: ProxyctlError if this ProxySQL has no PostgreSQL side.
    """
    if not configuration.version.has(parse_version(PGSQL)):
        raise ProxyctlError(
            f"ProxySQL {configuration.version} has no PostgreSQL side",
            fix="it came with 3.0.0",
        )
    tables = {
        mysql: Held(_layout(mysql, held.layout), held.rows, held.is_whole)
        for name, held in configuration.tables.items()
        if name.startswith("pgsql_") and (mysql := name.replace("pgsql", "mysql", 1)) in _TABLES
    }
    variables = {
        name.replace("pgsql", "mysql", 1): value
        for name, value in configuration.all_variables().items()
        if name.startswith("pgsql-")
    }

    def place(table: str, key: Key, column: str | None) -> Where | None:
        return configuration.place(pgsql_name(table), key, column and pgsql_name(column))

    return replace(configuration, tables=tables, variables=variables, place=place, is_pgsql=True)


def _layout(name: str, layout: Layout) -> Layout:
    columns = tuple(
        replace(column, name=_SCHEMANAME) if column.name == _DATABASE else column
        for column in layout.columns
    )
    return Layout(_TABLES[name], columns, layout.version)
