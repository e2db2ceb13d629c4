"""Which tables the sandbox has, for a given ProxySQL version.

The configuration tables come from the catalogue, all others from `plain_tables`.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

from proxyctl.catalog import (
    ADMIN_MODULES,
    NO_ADDITIONS,
    TABLES,
    Additions,
    Layout,
    Version,
    parse_version,
)
from proxyctl.sandbox.commands import COREDUMP
from proxyctl.sandbox.database import Database
from proxyctl.sandbox.ddl import layout_text
from proxyctl.sandbox.plain_tables import (
    LOG_TABLES,
    OTHER_TABLES,
    PGSQL_STATS_TABLES,
    STATS_TABLES,
)

VARIABLE_COLUMNS = ("variable_name", "variable_value")
CHECKSUM_COLUMNS = ("name", "version", "epoch", "checksum")

_STATS_VARIABLE = ("mysql-max_allowed_packet", "4194304")
_NODE_NAMED_SINCE = "2.4.0"
_FILTERS_SINCE = "2.5.3"

_UNREAD = frozenset({("main", "mysql_collations")})
"""Tables that are listed and described, but whose rows the sandbox does not have."""


def layouts(version: Version, additions: Additions = NO_ADDITIONS) -> dict[str, Layout]:
    """Return the configuration tables of a version by name; global_variables is not among them."""
    return {
        table.name: additions.layout_of(table, version)
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
    # It has no variables unless ProxySQL was started with its SQLite server, but the commands.
    found["SQLITESERVER VARIABLES"] = ()
    if version >= parse_version(_FILTERS_SINCE):
        found[COREDUMP] = ()
    return found


def create_all(database: Database, version: Version, layouts: Mapping[str, Layout]) -> None:
    """Create every table of an administrator's schemas but the statistics."""
    for name, layout in layouts.items():
        for schema, twin in (("main", name), ("main", f"runtime_{name}"), ("disk", name)):
            database.create(schema, twin, layout_text(layout, f"{schema}.{twin}"))
    for table in OTHER_TABLES:
        if table.exists_in(version):
            name = f"{table.schema}.{table.name}"
            database.create(table.schema, table.name, table.create(version, name))
            if (table.schema, table.name) in _UNREAD:
                database.hide(table.schema, table.name)
    if version >= parse_version(_NODE_NAMED_SINCE):
        database.insert(
            "disk.global_settings", VARIABLE_COLUMNS, [("uuid", str(uuid4()))], verb="OR IGNORE"
        )
    database.insert("stats.global_variables", VARIABLE_COLUMNS, [_STATS_VARIABLE])
    create_logs(database, version)


def create_logs(database: Database, version: Version) -> None:
    """Create the tables of the schemas monitor and stats_history."""
    for table in LOG_TABLES:
        if not table.exists_in(version):
            continue
        for suffix in table.suffixes:
            name = f"{table.name}{suffix}"
            database.create(table.schema, name, table.create(version, f"{table.schema}.{name}"))


def create_stats(database: Database, schema: str, version: Version) -> dict[str, tuple[str, ...]]:
    """Create the statistics tables in a schema; return the columns of those that have rows."""
    columns: dict[str, tuple[str, ...]] = {}
    for table in (*STATS_TABLES, *PGSQL_STATS_TABLES):
        if not table.exists_in(version):
            continue
        for suffix in table.suffixes:
            name = f"{table.name}{suffix}"
            database.create(schema, name, table.create(version, f"{schema}.{name}"))
            if table in PGSQL_STATS_TABLES:
                database.hide(schema, name)
            else:
                columns[name] = table.names(version)
    return columns


def create_for_readers(database: Database, version: Version) -> None:
    """Create what the stats role sees beside the statistics: a stub of global_variables, logs."""
    [stub] = (t for t in OTHER_TABLES if (t.schema, t.name) == ("stats", "global_variables"))
    database.create("main", stub.name, stub.create(version, f"main.{stub.name}"))
    database.insert("main.global_variables", VARIABLE_COLUMNS, [_STATS_VARIABLE])
    create_logs(database, version)
