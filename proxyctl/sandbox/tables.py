"""The tables of the sandbox for a given ProxySQL version.

The configuration tables come from the catalogue. Of the statistics and the monitor's logs the
sandbox has the tables that proxyctl reads, with ProxySQL's names and types, without constraints.
Source: sqlite_master of a running ProxySQL 2.7.1; versions from the tables of each release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from proxyctl.catalog import (
    ADMIN_MODULES,
    NO_DEVIATIONS,
    Deviations,
    Layout,
    Version,
    parse_version,
)
from proxyctl.catalog.plugins import LEDGER_TABLES, has_plugins
from proxyctl.catalog.tables import create_table
from proxyctl.sandbox.database import Database

_VARIABLES = "variable_name VARCHAR NOT NULL PRIMARY KEY, variable_value VARCHAR NOT NULL"
_PAIR = "Variable_Name VARCHAR, Variable_Value VARCHAR"
_NODE = "hostname VARCHAR, port INT"
_CHECK = f"{_NODE}, time_start_us INT"
_OTHER_MAIN_TABLES = {
    "global_variables": _VARIABLES,
    "runtime_global_variables": _VARIABLES,
    "runtime_checksums_values": (
        "name VARCHAR NOT NULL PRIMARY KEY, version INT NOT NULL, epoch INT NOT NULL,"
        " checksum VARCHAR NOT NULL"
    ),
}
STATISTICS = {
    "stats_memory_metrics": _PAIR,
    "stats_mysql_connection_pool": (
        "hostgroup INT, srv_host VARCHAR, srv_port INT, status VARCHAR, ConnUsed INT,"
        " ConnFree INT, ConnOK INT, ConnERR INT, MaxConnUsed INT, Queries INT,"
        " Queries_GTID_sync INT, Bytes_data_sent INT, Bytes_data_recv INT, Latency_us INT"
    ),
    "stats_mysql_errors": (
        f"hostgroup INT, {_NODE}, username VARCHAR, client_address VARCHAR, schemaname VARCHAR,"
        " errno INT, count_star INTEGER, first_seen INTEGER, last_seen INTEGER, last_error VARCHAR"
    ),
    "stats_mysql_free_connections": (
        "fd INT, hostgroup INT, srv_host VARCHAR, srv_port INT, user VARCHAR, schema VARCHAR,"
        " init_connect VARCHAR, time_zone VARCHAR, sql_mode VARCHAR, autocommit VARCHAR,"
        " idle_ms INT, statistics VARCHAR, mysql_info VARCHAR"
    ),
    "stats_mysql_global": _PAIR,
    "stats_mysql_processlist": (
        "ThreadID INT NOT NULL, SessionID INTEGER PRIMARY KEY, user VARCHAR, db VARCHAR,"
        " cli_host VARCHAR, cli_port INT, hostgroup INT, l_srv_host VARCHAR, l_srv_port INT,"
        " srv_host VARCHAR, srv_port INT, command VARCHAR, time_ms INT NOT NULL, info VARCHAR,"
        " status_flags INT, extended_info VARCHAR"
    ),
    "stats_mysql_query_digest": (
        "hostgroup INT, schemaname VARCHAR, username VARCHAR, client_address VARCHAR,"
        " digest VARCHAR, digest_text VARCHAR, count_star INTEGER, first_seen INTEGER,"
        " last_seen INTEGER, sum_time INTEGER, min_time INTEGER, max_time INTEGER,"
        " sum_rows_affected INTEGER,"
        " sum_rows_sent INTEGER"
    ),
    "stats_mysql_query_rules": "rule_id INTEGER, hits INT",
    "stats_proxysql_servers_checksums": (
        f"{_NODE}, name VARCHAR, version INT, epoch INT, checksum VARCHAR, changed_at INT,"
        " updated_at INT, diff_check INT"
    ),
    "stats_proxysql_servers_metrics": (
        f"{_NODE}, weight INT, comment VARCHAR, response_time_ms INT, Uptime_s INT,"
        " last_check_ms INT, Queries INT, Client_Connections_connected INT,"
        " Client_Connections_created INT"
    ),
}
_LOGS = {
    "monitor": {
        "mysql_server_connect_log": f"{_CHECK}, connect_success_time_us INT, connect_error VARCHAR",
        "mysql_server_galera_log": (
            f"{_CHECK}, success_time_us INT, primary_partition VARCHAR, read_only VARCHAR,"
            " wsrep_local_recv_queue INT, wsrep_local_state INT, wsrep_desync VARCHAR,"
            " wsrep_reject_queries VARCHAR, wsrep_sst_donor_rejects_queries VARCHAR,"
            " pxc_maint_mode VARCHAR, error VARCHAR"
        ),
        "mysql_server_group_replication_log": (
            f"{_CHECK}, success_time_us INT, viable_candidate VARCHAR, read_only VARCHAR,"
            " transactions_behind INT, error VARCHAR"
        ),
        "mysql_server_ping_log": f"{_CHECK}, ping_success_time_us INT, ping_error VARCHAR",
        "mysql_server_read_only_log": (
            f"{_CHECK}, success_time_us INT, read_only INT, error VARCHAR"
        ),
        "mysql_server_replication_lag_log": (
            f"{_CHECK}, success_time_us INT, repl_lag INT, error VARCHAR"
        ),
    },
    "stats_history": {
        "system_memory": (
            "timestamp INT, allocated INT, resident INT, active INT, mapped INT, metadata INT,"
            " retained INT"
        ),
        "history_mysql_query_digest": (
            "dump_time INT, hostgroup INT, schemaname VARCHAR, username VARCHAR,"
            " client_address VARCHAR, digest VARCHAR, digest_text VARCHAR, count_star INT,"
            " first_seen INT, last_seen INT, sum_time INT, min_time INT, max_time INT,"
            " sum_rows_affected INT, sum_rows_sent INT"
        ),
    },
}
"""Tables that ProxySQL fills in the course of time, by schema. In the sandbox they stay empty."""


def layouts(version: Version, deviations: Deviations = NO_DEVIATIONS) -> dict[str, Layout]:
    """Return the configuration tables of a version by name, without global_variables."""
    all_layouts = deviations.layouts(version)
    return {name: layout for name, layout in all_layouts.items() if layout.table.prefix is None}


def at_runtime(layout: Layout) -> Layout:
    """Return the layout of a table's runtime_ table."""
    columns = {column.name: column for column in layout.columns}
    for column in layout.table.at_runtime:
        if layout.version.has(parse_version(column.since)):
            columns[column.name] = column
    return replace(layout, columns=tuple(columns.values()))


def modules(version: Version, layouts: Mapping[str, Layout]) -> dict[str, tuple[str, ...]]:
    """Return the admin modules of a version with their tables; modules of variables have none."""
    by_name: dict[str, tuple[str, ...]] = {}
    for name, module in ADMIN_MODULES.items():
        names = tuple(table.name for table in module.tables if table.name in layouts)
        if names or any(table.prefix and table.exists_in(version) for table in module.tables):
            by_name[name] = names
    return by_name


def create_all(database: Database, layouts: Mapping[str, Layout], version: Version) -> None:
    """Create the tables that an administrator sees."""
    for name, layout in layouts.items():
        for schema, twin, form in (
            ("main", name, layout),
            ("main", f"runtime_{name}", at_runtime(layout)),
            ("disk", name, layout),
        ):
            database.create(schema, twin, create_table(form, f"{schema}.{twin}"))
    disk = {"global_variables": _VARIABLES}
    for name, columns in LEDGER_TABLES.items() if has_plugins(version) else ():
        for schema in ("main", "disk"):
            database.create(schema, name, f"CREATE TABLE {schema}.{name} ({columns})")
    schemas = {"main": _OTHER_MAIN_TABLES, "disk": disk, "stats": STATISTICS, **_LOGS}
    for schema, definitions in schemas.items():
        for name, columns in definitions.items():
            database.create(schema, name, f"CREATE TABLE {schema}.{name} ({columns})")
