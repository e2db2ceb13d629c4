"""The PostgreSQL side of ProxySQL 3.0: the tables of the MySQL side, with few differences."""

from __future__ import annotations

from dataclasses import replace

from proxyctl.catalog.model import Column, Table, layout_of
from proxyctl.catalog.mysql_tables import HANDLE_WARNINGS, MYSQL_TABLES, QUERY_TIMEOUT
from proxyctl.catalog.releases import Version

SINCE = "3.0.0-alpha"

_ALIKE = Version(2, 7, 1)
"""The version whose MySQL tables were copied."""

_WITHOUT = frozenset(
    {
        "mysql_group_replication_hostgroups",
        "mysql_galera_hostgroups",
        "mysql_aws_aurora_hostgroups",
        "mysql_aws_rds_bgd_hostgroups",
        "mysql_servers_ssl_params",
    }
)
_WITHOUT_COLUMNS = frozenset(
    {
        ("mysql_servers", "gtid_port"),
        ("mysql_users", "default_schema"),
        ("mysql_users", "schema_locked"),
        ("mysql_query_rules", "gtid_from_hostgroup"),
    }
)
_RENAMED = {"schemaname": "database"}
_PORT = 5432


def _table(table: Table) -> Table:
    columns = layout_of(table, _ALIKE).columns
    return replace(
        table,
        name=table.name.replace("mysql", "pgsql"),
        admin_module=table.admin_module.replace("MYSQL", "PGSQL"),
        key=tuple(_RENAMED.get(column, column) for column in table.key),
        columns=tuple(
            one
            for column in columns
            if (table.name, column.name) not in _WITHOUT_COLUMNS
            for one in _columns(column)
        ),
        since=SINCE,
        at_runtime=(),
    )


def _columns(column: Column) -> tuple[Column, ...]:
    """Return the column as it is here, in each of its forms."""
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


_SSL_PARAMS = Table(
    "pgsql_servers_ssl_params",
    admin_module="PGSQL SERVERS",
    key=("hostname", "port", "username"),
    since="3.0.8",
    columns=(
        Column("hostname", "VARCHAR", notnull=True),
        Column("port", "INT", notnull=True, default=_PORT, check="port >= 0 AND port <= 65535"),
        *(
            Column(name, "VARCHAR", notnull=True, default="")
            for name in (
                "username",
                "ssl_ca",
                "ssl_cert",
                "ssl_key",
                "ssl_crl",
                "ssl_crlpath",
                "ssl_protocol_version_range",
                "comment",
            )
        ),
    ),
)
PGSQL_TABLES: tuple[Table, ...] = (
    *(_table(table) for table in MYSQL_TABLES if table.name not in _WITHOUT),
    _SSL_PARAMS,
)
