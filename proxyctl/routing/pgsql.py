"""The PostgreSQL side of a configuration, under the names of the MySQL side. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from proxyctl.catalog import Layout, parse_version
from proxyctl.catalog.mysql_tables import MYSQL_TABLES
from proxyctl.catalog.releases import PGSQL
from proxyctl.errors import ProxyctlError
from proxyctl.state.configuration import ConfigTable, Configuration
from proxyctl.state.row import Key, Where

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
        mysql: ConfigTable(_layout(mysql, held.layout), held.rows, held.is_whole)
        for name, held in configuration.tables.items()
        if name.startswith("pgsql_") and (mysql := name.replace("pgsql", "mysql", 1)) in _TABLES
    }
    variables = {
        name.replace("pgsql", "mysql", 1): value
        for name, value in configuration.all_variables().items()
        # What the files do not set of it is not known: ProxySQL reads it from its own .cnf.
        if name.startswith("pgsql-")
        and (name != "pgsql-interfaces" or name in configuration.variables)
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
