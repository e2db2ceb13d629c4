"""The tables that nobody configures: statistics, the monitor's logs, the history, a few others.

Columns stand in a short form: `name code`, where I is INT, N INTEGER, A INTEGER AUTOINCREMENT,
B BIGINT, V VARCHAR; `!` adds NOT NULL, `*` PRIMARY KEY, `+` a CHECK that it is not negative, `=x`
DEFAULT x. `@2.0.6` stands for a column that came with 2.0.6, `@-2.0.17` for one last in 2.0.17.
Source: sqlite_master of a running ProxySQL 2.7.1; versions from the tables of each release.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from proxyctl.catalog import Version, parse_version
from proxyctl.sandbox.ddl import create_text

_TYPES = {
    "I": "INT",
    "N": "INTEGER",
    "A": "INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL",
    "B": "BIGINT",
    "V": "VARCHAR",
    "": "",
}
_SHORT = re.compile(r"(\S+)(?: ([INABV])(\+?)(!?)(\*?)(?:=([^ ]*))?)?(?: @(-?)([\d.]+))?")


@dataclass(frozen=True)
class PlainTable:
    """One table: `columns` in short form, `constraint` as ProxySQL words it.

    `suffixes` are those of all the tables with these columns. `is_one_line` says that SHOW CREATE
    TABLE does not break it up.
    """

    schema: str
    name: str
    columns: str
    constraint: str = ""
    since: str = "2.0.1"
    until: str | None = None
    suffixes: tuple[str, ...] = ("",)
    is_one_line: bool = False

    def exists_in(self, version: Version) -> bool:
        """Return whether this ProxySQL version has the table."""
        is_over = self.until is not None and version > parse_version(self.until)
        return version >= parse_version(self.since) and not is_over

    def declarations(self, version: Version) -> tuple[str, ...]:
        """Return the columns that a version has, as SQLite declares them."""
        return _declarations(self.columns, version)

    def names(self, version: Version) -> tuple[str, ...]:
        """Return the column names of a version."""
        return tuple(text.split()[0].strip("`") for text in self.declarations(version))

    def create(self, version: Version, name: str) -> str:
        """Return the CREATE TABLE statement for one of the names."""
        parts = [*self.declarations(version), *filter(None, [self.constraint])]
        return create_text(name, [", ".join(parts)] if self.is_one_line else parts)


@lru_cache(maxsize=512)
def _declarations(columns: str, version: Version) -> tuple[str, ...]:
    shorts = (_SHORT.fullmatch(text) for text in columns.split(", "))
    return tuple(_declaration(short) for short in shorts if short and _exists(short, version))


def _exists(short: re.Match[str], version: Version) -> bool:
    limit = short[8]
    if limit is None:
        return True
    return version <= parse_version(limit) if short[7] else version >= parse_version(limit)


def _declaration(short: re.Match[str]) -> str:
    name, kind, is_natural, is_set, is_key, default = short.group(1, 2, 3, 4, 5, 6)
    parts = (
        name,
        _TYPES[kind or ""],
        f"CHECK ({name} >= 0)" if is_natural else "",
        "NOT NULL" if is_set else "",
        "PRIMARY KEY" if is_key else "",
        f"DEFAULT {default}" if default is not None else "",
    )
    return " ".join(part for part in parts if part)


_RESET = ("", "_reset")
_HISTORY = ("", "_day", "_hour")
_BY_TIME = "PRIMARY KEY (timestamp)"
_PAIR = "Variable_Name V!*, Variable_Value V!"
_POOL = (
    "hostgroup I, srv_host V, srv_port I, status V, ConnUsed I, ConnFree I, ConnOK I, ConnERR I,"
    " MaxConnUsed I, Queries I, {}Bytes_data_sent I, Bytes_data_recv I, Latency_us I"
)
_COUNTS = (
    "Command V!*, Total_Time_us I!, Total_cnt I!, cnt_100us I!, cnt_500us I!, cnt_1ms I!,"
    " cnt_5ms I!, cnt_10ms I!, cnt_50ms I!, cnt_100ms I!, cnt_500ms I!, cnt_1s I!, cnt_5s I!,"
    " cnt_10s I!, cnt_INFs"
)
_DIGEST = (
    "hostgroup I, {} V!, username V!, client_address V!, digest V!, digest_text V!, count_star N!,"
    " first_seen N!, last_seen N!, sum_time N!, min_time N!, max_time N!,"
    " sum_rows_affected N!{}, sum_rows_sent N!{}"
)
_ERRORS = (
    "hostgroup I!, hostname V!, port I!, username V!, client_address V!, {}, count_star N!,"
    " first_seen N!, last_seen N!, last_error V!=''"
)
_FREE = (
    "fd I!, hostgroup I!, srv_host V!, srv_port I!, user V!, {}, init_connect V, time_zone V,"
    " sql_mode V, {}idle_ms I, statistics V, {}_info V"
)
_PROCESSES = (
    "ThreadID I!, SessionID N*, user V, {} V, cli_host V, cli_port I, hostgroup I, l_srv_host V,"
    " l_srv_port I, srv_host V, srv_port I, command V, time_ms I!, info V, status_flags I @2.0.3,"
    " extended_info V @2.0.4"
)
_HOSTS = "client_address V!, error_count I!, last_updated B!"
_USERS = "username V*, frontend_connections I!, frontend_max_connections I!"
_PEER = "hostname V!, port I!=6032"
_CHECKED = "hostname V!, port I!=3306, time_start_us I!=0"
_CHECK_KEY = "PRIMARY KEY (hostname, port, time_start_us)"

STATS_TABLES: tuple[PlainTable, ...] = (
    PlainTable("stats", "stats_memory_metrics", _PAIR),
    PlainTable("stats", "stats_mysql_client_host_cache", _HOSTS, since="2.3.0", suffixes=_RESET),
    PlainTable("stats", "stats_mysql_commands_counters", _COUNTS),
    PlainTable(
        "stats",
        "stats_mysql_connection_pool",
        _POOL.format("Queries_GTID_sync I, "),
        suffixes=_RESET,
    ),
    PlainTable(
        "stats",
        "stats_mysql_errors",
        _ERRORS.format("schemaname V!, errno I!"),
        "PRIMARY KEY (hostgroup, hostname, port, username, schemaname, errno) ",
        suffixes=_RESET,
    ),
    PlainTable(
        "stats",
        "stats_mysql_free_connections",
        _FREE.format("schema V", "autocommit V, ", "mysql"),
        since="2.0.4",
    ),
    PlainTable("stats", "stats_mysql_global", _PAIR),
    PlainTable(
        "stats",
        "stats_mysql_gtid_executed",
        "hostname V!, port I!=3306, gtid_executed V, events I!",
    ),
    PlainTable(
        "stats",
        "stats_mysql_prepared_statements_info",
        "global_stmt_id I!, hostgroup I! @-2.0.17, schemaname V!, username V!, digest V!,"
        " ref_count_client I!, ref_count_server I!, num_columns I! @2.0.18, num_params I! @2.0.18,"
        " query V!",
    ),
    PlainTable("stats", "stats_mysql_processlist", _PROCESSES.format("db")),
    PlainTable(
        "stats",
        "stats_mysql_query_digest",
        _DIGEST.format("schemaname", " @2.0.6", " @2.0.6"),
        "PRIMARY KEY(hostgroup, schemaname, username, client_address, digest)",
        suffixes=_RESET,
    ),
    PlainTable("stats", "stats_mysql_query_rules", "rule_id N*, hits I!"),
    PlainTable("stats", "stats_mysql_users", _USERS),
    PlainTable(
        "stats",
        "stats_proxysql_message_metrics",
        "message_id V!, filename V!, line I+!=0, func V!, count_star N!, first_seen N!,"
        " last_seen N!",
        "PRIMARY KEY (filename, line, func) ",
        since="2.4.0",
        suffixes=_RESET,
    ),
    PlainTable(
        "stats",
        "stats_proxysql_servers_checksums",
        f"{_PEER}, name V!, version I!, epoch I!, checksum V!, changed_at I!, updated_at I!,"
        " diff_check I!",
        "PRIMARY KEY (hostname, port, name) ",
    ),
    PlainTable(
        "stats",
        "stats_proxysql_servers_clients_status",
        "uuid V!, hostname V!, port I!, admin_mysql_ifaces V!, last_seen_at I!",
        "PRIMARY KEY (uuid, hostname, port) ",
        since="2.4.0",
    ),
    PlainTable(
        "stats",
        "stats_proxysql_servers_metrics",
        f"{_PEER}, weight I+!=0, comment V!='', response_time_ms I!, Uptime_s I!,"
        " last_check_ms I!, Queries I!, Client_Connections_connected I!,"
        " Client_Connections_created I!",
        "PRIMARY KEY (hostname, port) ",
    ),
    PlainTable(
        "stats",
        "stats_proxysql_servers_status",
        f"{_PEER}, weight I+!=0, master V!, global_version I!, check_age_us I!, ping_time_us I!,"
        " checks_OK I!, checks_ERR I!",
        "PRIMARY KEY (hostname, port) ",
    ),
)

_PGSQL_KEYS = {
    "errors": "PRIMARY KEY (hostgroup, hostname, port, username, database, sqlstate) ",
    "query_digest": "PRIMARY KEY(hostgroup, database, username, client_address, digest)",
}

PGSQL_STATS_TABLES: tuple[PlainTable, ...] = tuple(
    PlainTable(
        "stats",
        f"stats_pgsql_{name}",
        columns,
        _PGSQL_KEYS.get(name, ""),
        since="3.0.0",
        suffixes=suffixes,
    )
    for name, columns, suffixes in (
        ("client_host_cache", _HOSTS, _RESET),
        ("commands_counters", _COUNTS, ("",)),
        ("connection_pool", _POOL.format(""), _RESET),
        ("errors", _ERRORS.format("database V!, sqlstate V!"), _RESET),
        ("free_connections", _FREE.format("database V", "", "pgsql"), ("",)),
        ("global", _PAIR, ("",)),
        ("processlist", _PROCESSES.format("database"), ("",)),
        ("query_digest", _DIGEST.format("database", "", ""), _RESET),
        ("query_rules", "rule_id N*, hits I!", ("",)),
        ("users", _USERS, ("",)),
    )
)

_MONITOR_TABLES = (
    PlainTable(
        "monitor",
        "mysql_server_aws_aurora_check_status",
        "writer_hostgroup I!, hostname V!, port I!=3306, last_checked_at V, checks_tot I!=0,"
        " checks_ok I!=0, last_error V",
        "PRIMARY KEY (writer_hostgroup, hostname, port)",
        since="2.0.4",
    ),
    PlainTable(
        "monitor",
        "mysql_server_aws_aurora_failovers",
        "writer_hostgroup I!, hostname V!, inserted_at V!",
        since="2.0.4",
    ),
    PlainTable(
        "monitor",
        "mysql_server_aws_aurora_log",
        f"{_CHECKED}, success_time_us I=0, error V, SERVER_ID V!='', SESSION_ID V,"
        " LAST_UPDATE_TIMESTAMP V, replica_lag_in_milliseconds I!=0,"
        " estimated_lag_ms I!=0 @2.0.9, CPU I!=0",
        "PRIMARY KEY (hostname, port, time_start_us, SERVER_ID)",
        since="2.0.4",
    ),
    *(
        PlainTable("monitor", f"mysql_server_{name}_log", f"{_CHECKED}, {columns}", _CHECK_KEY)
        for name, columns in (
            ("connect", "connect_success_time_us I=0, connect_error V"),
            (
                "galera",
                "success_time_us I=0, primary_partition V!='NO', read_only V!='YES',"
                " wsrep_local_recv_queue I=0, wsrep_local_state I=0, wsrep_desync V!='NO',"
                " wsrep_reject_queries V!='NO', wsrep_sst_donor_rejects_queries V!='NO',"
                " pxc_maint_mode V!='NO' @2.0.9, error V",
            ),
            (
                "group_replication",
                "success_time_us I=0, viable_candidate V!='NO', read_only V!='YES',"
                " transactions_behind I=0, error V",
            ),
            ("ping", "ping_success_time_us I=0, ping_error V"),
            ("read_only", "success_time_us I=0, read_only I=1, error V"),
            ("replication_lag", "success_time_us I=0, repl_lag I=0, error V"),
        )
    ),
    *(
        PlainTable(
            "monitor",
            f"pgsql_server_{name}_log",
            f"{_CHECKED}, {name}_success_time_us I=0, {name}_error V",
            _CHECK_KEY,
            since="3.0.0",
        )
        for name in ("connect", "ping")
    ),
)


def _kept(name: str, columns: str) -> PlainTable:
    """Return a table of the history with its sums by day and hour."""
    counters = ", ".join(f"{column} I!" for column in ("timestamp", *columns.split()))
    return PlainTable(
        "stats_history", name, counters, _BY_TIME, suffixes=_HISTORY, is_one_line=True
    )


_HISTORY_TABLES = (
    *(
        PlainTable(
            "stats_history",
            f"history_{family}_query_digest",
            "dump_time I, " + _DIGEST.format("schemaname", "", ""),
            since=since,
        )
        for family, since in (("mysql", "2.0.9"), ("pgsql", "3.0.0"))
    ),
    *(
        PlainTable(
            "stats_history",
            f"history_{family}_status_variables",
            f"timestamp I!, {column}!, variable_value V!",
            f"PRIMARY KEY (timestamp, {column.split()[0]})",
            since=since,
            until=until,
        )
        for family, column, since, until in (
            ("mysql", "variable_name V", "2.0.10", "2.3.2"),
            ("mysql", "variable_id I", "2.4.0", None),
            ("pgsql", "variable_id I", "3.0.0", None),
        )
    ),
    *(
        PlainTable(
            "stats_history",
            f"history_{family}_status_variables_lookup",
            "variable_id A, variable_name V!",
            "UNIQUE (variable_name)",
            since=since,
            is_one_line=True,
        )
        for family, since in (("mysql", "2.4.0"), ("pgsql", "3.0.0"))
    ),
    PlainTable(
        "stats_history",
        "history_stats_mysql_connection_pool",
        "timestamp I!, " + _POOL.format("Queries_GTID_sync I, "),
        "PRIMARY KEY (timestamp, hostgroup , srv_host , srv_port)",
        since="2.0.10",
    ),
    _kept(
        "mysql_connections",
        "Client_Connections_aborted Client_Connections_connected Client_Connections_created"
        " Server_Connections_aborted Server_Connections_connected Server_Connections_created"
        " ConnPool_get_conn_failure ConnPool_get_conn_immediate ConnPool_get_conn_success"
        " Questions Slow_queries GTID_consistent_queries",
    ),
    _kept(
        "myhgm_connections",
        "MyHGM_myconnpoll_destroy MyHGM_myconnpoll_get MyHGM_myconnpoll_get_ok"
        " MyHGM_myconnpoll_push MyHGM_myconnpoll_reset",
    ),
    _kept(
        "mysql_query_cache",
        "count_GET count_GET_OK count_SET bytes_IN bytes_OUT Entries_Purged Entries_In_Cache"
        " Memory_Bytes",
    ),
    _kept("system_cpu", "tms_utime tms_stime"),
    _kept("system_memory", "allocated resident active mapped metadata retained"),
)

LOG_TABLES: tuple[PlainTable, ...] = (*_MONITOR_TABLES, *_HISTORY_TABLES)
"""What ProxySQL writes down as time goes by. The sandbox never does, so they stay empty."""

_VARIABLES = "variable_name V!*, variable_value V!"
_COLLATIONS = "Id N!*, Collation V!, Charset V!, `Default` V!"
_FILTERS = "filename V!, line I!"

OTHER_TABLES: tuple[PlainTable, ...] = (
    PlainTable(
        "main", "coredump_filters", _FILTERS, "PRIMARY KEY (filename, line) ", since="2.5.3"
    ),
    PlainTable(
        "main", "runtime_coredump_filters", _FILTERS, "PRIMARY KEY (filename, line) ", since="2.5.3"
    ),
    PlainTable("main", "mysql_collations", _COLLATIONS),
    PlainTable("main", "global_variables", _VARIABLES),
    PlainTable("main", "runtime_global_variables", _VARIABLES),
    PlainTable(
        "main",
        "runtime_checksums_values",
        "name V!, version I!, epoch I!, checksum V!",
        "PRIMARY KEY (name)",
    ),
    PlainTable("disk", "mysql_collations", _COLLATIONS),
    PlainTable("disk", "global_settings", _VARIABLES, since="2.4.0"),
    PlainTable("disk", "global_variables", _VARIABLES),
    PlainTable("stats", "global_variables", _VARIABLES),
)
