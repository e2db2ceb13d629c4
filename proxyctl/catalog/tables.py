"""Every configuration table by name, and the admin modules that LOAD and SAVE them.

`mysql_tables` has the tables of the MySQL side and of ProxySQL itself; the PostgreSQL tables are
derived from the MySQL tables. The end of the file writes CREATE TABLE.
"""

from __future__ import annotations

import re
from dataclasses import replace

from proxyctl.catalog.model import AdminModule, Column, Layout, Table, layout_of
from proxyctl.catalog.mysql_tables import (
    HANDLE_WARNINGS,
    MYSQL_TABLES,
    OTHER_TABLES,
    QUERY_TIMEOUT,
)
from proxyctl.catalog.releases import OLDEST, PGSQL, Version

# PostgreSQL: the tables of the MySQL side, with few differences ----------------------------------

_COPIED = Version(2, 7, 1)
"""The version whose MySQL tables ProxySQL copied for PostgreSQL."""

_WITHOUT = frozenset(
    {
        "mysql_group_replication_hostgroups",
        "mysql_galera_hostgroups",
        "mysql_aws_aurora_hostgroups",
        "mysql_aws_rds_bgd_hostgroups",
    }
)
_WITHOUT_COLUMNS = frozenset(
    {
        ("mysql_servers", "gtid_port"),
        ("mysql_servers_ssl_params", "ssl_capath"),
        ("mysql_servers_ssl_params", "ssl_cipher"),
        ("mysql_users", "default_schema"),
        ("mysql_users", "schema_locked"),
        ("mysql_query_rules", "gtid_from_hostgroup"),
    }
)
_RENAMED = {"schemaname": "database", "tls_version": "ssl_protocol_version_range"}
_LATE = {"mysql_servers_ssl_params": "3.0.8"}
_PORT = 5432


def _pgsql_table(table: Table) -> Table:
    columns = layout_of(table, _COPIED).columns
    return replace(
        table,
        name=table.name.replace("mysql", "pgsql"),
        admin_module=table.admin_module.replace("MYSQL", "PGSQL"),
        key=tuple(_RENAMED.get(column, column) for column in table.key),
        columns=tuple(
            pgsql_column
            for column in columns
            if (table.name, column.name) not in _WITHOUT_COLUMNS
            for pgsql_column in _pgsql_columns(column)
        ),
        since=_LATE.get(table.name, PGSQL),
        at_runtime=(),
    )


def _pgsql_columns(column: Column) -> tuple[Column, ...]:
    """Return the column in each of its forms on the PostgreSQL side."""
    default = _PORT if column.name == "port" else column.default
    name = _RENAMED.get(column.name, column.name)
    alike = replace(column, name=name, default=default, since=Column.since)
    if name == "check_type":
        narrow = replace(alike, check="LOWER(check_type) IN ('read_only')", since="3.0.2")
        return (replace(alike, until="3.0.1"), narrow)
    if name == "hostgroup_settings":
        older = replace(alike, until="3.0.9", json_keys=(HANDLE_WARNINGS,))
        keys = (HANDLE_WARNINGS, QUERY_TIMEOUT)
        return (older, replace(alike, since="3.0.10", until=None, json_keys=keys))
    return (alike,)


PGSQL_TABLES = tuple(_pgsql_table(table) for table in MYSQL_TABLES if table.name not in _WITHOUT)

# Variables, and everything by name ----------------------------------------------------------------

_VARIABLE_COLUMNS = (
    Column("variable_name", "VARCHAR", notnull=True),
    Column("variable_value", "VARCHAR", notnull=True),
)

VARIABLE_TABLES: tuple[Table, ...] = tuple(
    Table(
        f"{prefix}_variables",
        admin_module=f"{prefix.upper()} VARIABLES",
        key=("variable_name",),
        columns=_VARIABLE_COLUMNS,
        since=since,
        prefix=f"{prefix}-",
    )
    for prefix, since in (("mysql", str(OLDEST)), ("pgsql", "3.0.0"), ("admin", str(OLDEST)))
)
"""global_variables, split by prefix as LOAD and SAVE split it."""

TABLES: dict[str, Table] = {
    table.name: table for table in (*MYSQL_TABLES, *PGSQL_TABLES, *OTHER_TABLES, *VARIABLE_TABLES)
}

NOT_MANAGED: dict[str, str] = {
    "coredump_filters": "it is never saved",
    "mysql_ldap_mapping": "it belongs to the LDAP plugin",
    "pgsql_ldap_mapping": "it belongs to the LDAP plugin",
    "clickhouse_users": "it belongs to the ClickHouse build",
    "global_variables": "write `variables:`, a mapping of names to values",
}
"""Tables that files cannot manage, with the reason."""

_LOAD_ORDER = (
    "MYSQL VARIABLES",
    "PGSQL VARIABLES",
    "MYSQL SERVERS",
    "PGSQL SERVERS",
    "MYSQL QUERY RULES",
    "PGSQL QUERY RULES",
    "MYSQL FIREWALL",
    "PGSQL FIREWALL",
    "MYSQL USERS",
    "PGSQL USERS",
    "SCHEDULER",
    "RESTAPI",
    "PROXYSQL SERVERS",
    "ADMIN VARIABLES",
)

ADMIN_MODULES: dict[str, AdminModule] = {
    name: AdminModule(name, tuple(t for t in TABLES.values() if t.admin_module == name))
    for name in _LOAD_ORDER
}

# CREATE TABLE: a CHECK is written as ProxySQL has it, because it is the error message ------------

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def _quoted_name(name: str) -> str:
    return name if _PLAIN_NAME.match(name) else '"' + name.replace('"', '""') + '"'


def _column_sql(layout: Layout, column: Column) -> str:
    parts = [_quoted_name(column.name), column.sql_type]
    if layout.table.autoincrement and layout.table.key == (column.name,):
        parts.append("PRIMARY KEY AUTOINCREMENT")
    if column.check is not None:
        parts.append(f"CHECK ({column.check})")
    if column.notnull:
        parts.append("NOT NULL")
    match column.default:
        case None:
            pass
        case str(text):
            parts.append("DEFAULT '" + text.replace("'", "''") + "'")
        case number:
            parts.append(f"DEFAULT {number}")
    return " ".join(parts)


def create_table(layout: Layout, name: str | None = None) -> str:
    """Return the CREATE TABLE statement of a table; `name` overrides its name."""
    table = layout.table
    parts = [_column_sql(layout, column) for column in layout.columns]
    if not table.autoincrement:
        parts.append(f"PRIMARY KEY ({', '.join(map(_quoted_name, table.key))})")
    parts += [f"UNIQUE ({', '.join(map(_quoted_name, unique))})" for unique in table.unique]
    return f"CREATE TABLE {name or table.sql_name} ({', '.join(parts)})"
