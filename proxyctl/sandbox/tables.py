"""Which tables the sandbox has, for a given ProxySQL version.

The configuration tables come from the catalogue. What stands here are the tables that nobody
configures: variables, checksums, statistics.
"""

from __future__ import annotations

from proxyctl.catalog import ADMIN_MODULES, TABLES, Layout, Version, layout_of
from proxyctl.catalog.ddl import create_table
from proxyctl.sandbox.database import Database

VARIABLE_COLUMNS = ("variable_name", "variable_value")
CHECKSUM_COLUMNS = ("name", "version", "epoch", "checksum")

_VARIABLES = (
    "CREATE TABLE {} (variable_name VARCHAR NOT NULL PRIMARY KEY, variable_value VARCHAR NOT NULL)"
)
_CHECKSUMS = (
    "CREATE TABLE {} (name VARCHAR NOT NULL, version INT NOT NULL, epoch INT NOT NULL,"
    " checksum VARCHAR NOT NULL, PRIMARY KEY (name))"
)
_UNMODELLED = frozenset(
    {
        "coredump_filters",
        "global_settings",
        "stats_mysql_client_host_cache",
        "stats_mysql_client_host_cache_reset",
        "stats_mysql_free_connections",
        "stats_mysql_gtid_executed",
        "stats_mysql_prepared_statements_info",
        "stats_proxysql_message_metrics",
        "stats_proxysql_message_metrics_reset",
        "stats_proxysql_servers_clients_status",
        "stats_proxysql_servers_metrics",
        "stats_proxysql_servers_status",
        "mysql_collations",
        "mysql_ldap_mapping",
        "runtime_coredump_filters",
        "runtime_mysql_ldap_mapping",
        "clickhouse_users",
        "runtime_clickhouse_users",
        "debug_levels",
        "debug_filters",
    }
)


def is_unmodelled(table: str) -> bool:
    """Return whether ProxySQL has a table of this name and the sandbox does not."""
    name = table.split(".")[-1].lower()
    return name in _UNMODELLED or table.startswith(("monitor.", "stats_history."))


def layouts(version: Version) -> dict[str, Layout]:
    """Return the configuration tables of a version by name; global_variables is not among them."""
    return {
        table.name: layout_of(table, version)
        for table in TABLES.values()
        if table.exists_in(version) and table.prefix is None
    }


def modules(version: Version) -> dict[str, tuple[str, ...]]:
    """Return the admin modules of a version with their tables; those of variables have none."""
    found: dict[str, tuple[str, ...]] = {}
    for name, module in ADMIN_MODULES.items():
        tables = [table for table in module.tables if table.exists_in(version)]
        if tables:
            found[name] = tuple(table.name for table in tables if table.prefix is None)
    return found


def create_all(database: Database, version: Version) -> None:
    """Create every table of the schemas main and disk."""
    for name, layout in layouts(version).items():
        database.create("main", name, create_table(layout, f"main.{name}"))
        database.create("main", f"runtime_{name}", create_table(layout, f"main.runtime_{name}"))
        database.create("disk", name, create_table(layout, f"disk.{name}"))
    for schema, name in (
        ("main", "global_variables"),
        ("main", "runtime_global_variables"),
        ("disk", "global_variables"),
    ):
        database.create(schema, name, _VARIABLES.format(f"{schema}.{name}"))
    database.create(
        "main", "runtime_checksums_values", _CHECKSUMS.format("main.runtime_checksums_values")
    )


def create_stub(database: Database) -> None:
    """Create the one-row global_variables that the stats role sees."""
    database.create("main", "global_variables", _VARIABLES.format("main.global_variables"))
    database.insert(
        "main.global_variables", VARIABLE_COLUMNS, [("mysql-max_allowed_packet", "4194304")]
    )
