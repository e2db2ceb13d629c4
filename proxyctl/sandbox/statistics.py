"""The statistics tables: what the sandbox fills them with, which is little more than zeros.

Nothing runs through a sandbox, so every counter stands still, unless it plays the sample shop. The
names of the counters are those of ProxySQL 2.7.1, whatever the version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from proxyctl.catalog import Version
from proxyctl.sandbox.database import Database
from proxyctl.sandbox.replies import Cell
from proxyctl.sandbox.runtime import Row, Server, server_key
from proxyctl.sandbox.tables import create_stats

_COMMANDS = """
ALTER_TABLE ALTER_VIEW ANALYZE_TABLE BEGIN CALL CHANGE_MASTER COMMIT CREATE_DATABASE CREATE_INDEX
CREATE_TABLE CREATE_TEMPORARY CREATE_TRIGGER CREATE_USER CREATE_VIEW DEALLOCATE DELETE DESCRIBE
DROP_DATABASE DROP_INDEX DROP_TABLE DROP_TRIGGER DROP_USER DROP_VIEW GRANT EXECUTE EXPLAIN FLUSH
INSERT KILL LOAD LOCK_TABLE OPTIMIZE PREPARE PURGE RELEASE_SAVEPOINT RENAME_TABLE RESET_MASTER
RESET_SLAVE REPLACE REVOKE ROLLBACK ROLLBACK_SAVEPOINT SAVEPOINT SELECT SELECT_FOR_UPDATE SET
SHOW_TABLE_STATUS START_TRANSACTION TRUNCATE_TABLE UNLOCK_TABLES UPDATE USE SHOW UNKNOWN
"""

_GLOBAL = """
ProxySQL_Uptime Active_Transactions Client_Connections_aborted Client_Connections_connected
Client_Connections_created Server_Connections_aborted Server_Connections_connected
Server_Connections_created Server_Connections_delayed Client_Connections_non_idle
mysql_backend_buffers_bytes mysql_frontend_buffers_bytes mysql_session_internal_bytes
Com_autocommit Com_autocommit_filtered Com_commit Com_commit_filtered Com_rollback
Com_rollback_filtered Com_backend_change_user Com_backend_init_db Com_backend_set_names
Com_frontend_init_db Com_frontend_set_names Com_frontend_use_db Com_backend_stmt_prepare
Com_backend_stmt_execute Com_backend_stmt_close Com_frontend_stmt_prepare
Com_frontend_stmt_execute Com_frontend_stmt_close Questions Slow_queries GTID_consistent_queries
GTID_session_collected Queries_backends_bytes_recv Queries_backends_bytes_sent
Queries_frontends_bytes_recv Queries_frontends_bytes_sent Query_Processor_time_nsec
Backend_query_time_nsec ConnPool_get_conn_latency_awareness ConnPool_get_conn_immediate
ConnPool_get_conn_success ConnPool_get_conn_failure mysql_killed_backend_connections
mysql_killed_backend_queries hostgroup_locked_set_cmds hostgroup_locked_queries
mysql_unexpected_frontend_com_quit mysql_unexpected_frontend_packets
queries_with_max_lag_ms__total_wait_time_us queries_with_max_lag_ms__delayed
queries_with_max_lag_ms backend_lagging_during_query backend_offline_during_query
get_aws_aurora_replicas_skipped_during_query automatic_detected_sql_injection
whitelisted_sqli_fingerprint max_connect_timeouts generated_error_packets
client_host_error_killed_connections Client_Connections_hostgroup_locked Mirror_concurrency
Mirror_queue_length Selects_for_update__autocommit0 Servers_table_version MySQL_Thread_Workers
Access_Denied_Wrong_Password Access_Denied_Max_Connections Access_Denied_Max_User_Connections
MySQL_Monitor_Workers MySQL_Monitor_Workers_Aux MySQL_Monitor_Workers_Started
MySQL_Monitor_connect_check_OK MySQL_Monitor_connect_check_ERR MySQL_Monitor_ping_check_OK
MySQL_Monitor_ping_check_ERR MySQL_Monitor_read_only_check_OK MySQL_Monitor_read_only_check_ERR
MySQL_Monitor_replication_lag_check_OK MySQL_Monitor_replication_lag_check_ERR
MySQL_Monitor_dns_cache_queried MySQL_Monitor_dns_cache_lookup_success
MySQL_Monitor_dns_cache_record_updated MyHGM_myconnpoll_get MyHGM_myconnpoll_get_ok
MyHGM_myconnpoll_push MyHGM_myconnpoll_destroy MyHGM_myconnpoll_reset SQLite3_memory_bytes
ConnPool_memory_bytes Stmt_Client_Active_Total Stmt_Client_Active_Unique Stmt_Server_Active_Total
Stmt_Server_Active_Unique Stmt_Max_Stmt_id Stmt_Cached Query_Cache_Memory_bytes
Query_Cache_count_GET Query_Cache_count_GET_OK Query_Cache_count_SET Query_Cache_bytes_IN
Query_Cache_bytes_OUT Query_Cache_Purged Query_Cache_Entries new_req_conns_count
mysql_listener_paused
"""

_MEMORY = """
SQLite3_memory_bytes jemalloc_resident jemalloc_active jemalloc_allocated jemalloc_mapped
jemalloc_metadata jemalloc_retained Auth_memory query_digest_memory mysql_query_rules_memory
prepare_statement_metadata_memory prepare_statement_backend_memory mysql_firewall_users_table
mysql_firewall_users_config mysql_firewall_rules_table mysql_firewall_rules_config
stack_memory_mysql_threads stack_memory_admin_threads stack_memory_cluster_threads
"""

_PEER_CHECKSUMS = """
admin_variables mysql_query_rules mysql_servers mysql_users mysql_variables proxysql_servers
mysql_servers_v2
"""


NOTHING: Mapping[str, str] = MappingProxyType({})
NO_CONNECTIONS: Mapping[str, int] = MappingProxyType({})
NO_HITS: Mapping[Cell, int] = MappingProxyType({})


class Statistics:
    """Fills the statistics tables of one schema whenever a statement names them."""

    def __init__(self, database: Database, schema: str, version: Version) -> None:
        self._database = database
        self._schema = schema
        self._columns = create_stats(database, schema, version)

    def refresh(
        self, sql: str, content: Callable[[str], Sequence[Sequence[Cell]]]
    ) -> frozenset[str]:
        """Refill the tables that the text names; return their names.

        `content` gives the rows of a table; a `_reset` table shows those of the table it resets.
        """
        named = frozenset(name for name in self._columns if name in sql)
        for name in named:
            columns = self._columns[name]
            # Columns that came with a later version stand at the end.
            rows = [row[: len(columns)] for row in content(name.removesuffix("_reset"))]
            self._database.refill(f"{self._schema}.{name}", columns, rows)
        return named


def pool_rows(servers: Iterable[Row], used: Mapping[Server, int]) -> list[tuple[Cell, ...]]:
    """Return stats_mysql_connection_pool: all counters but the connections in use are zero."""
    return [
        (*server_key(row), row["status"], used.get(server_key(row), 0), *(0,) * 9)
        for row in servers
    ]


def user_rows(
    users: Iterable[Row], connections: Mapping[str, int] = NO_CONNECTIONS
) -> list[tuple[Cell, ...]]:
    """Return stats_mysql_users: the frontend halves, with the given connections by user."""
    return [
        (row["username"], connections.get(str(row["username"]), 0), row["max_connections"])
        for row in users
        if row["frontend"] == 1
    ]


def hit_rows(rules: Iterable[Row], hits: Mapping[Cell, int] = NO_HITS) -> list[tuple[Cell, ...]]:
    """Return stats_mysql_query_rules, with the given hits by rule_id."""
    return [(row["rule_id"], hits.get(row["rule_id"], 0)) for row in rules]


def command_rows() -> list[tuple[Cell, ...]]:
    """Return stats_mysql_commands_counters: no command was ever counted."""
    return [(command, *(0,) * 14) for command in _COMMANDS.split()]


def global_rows(
    running: Mapping[str, str],
    *,
    uptime_s: int,
    servers_version: int,
    counted: Mapping[str, str] = NOTHING,
) -> list[tuple[Cell, ...]]:
    """Return stats_mysql_global: zeros but for what is known without traffic, and `counted`."""
    known = {
        "ProxySQL_Uptime": str(uptime_s),
        "Servers_table_version": str(servers_version),
        "MySQL_Thread_Workers": running["mysql-threads"],
        "Stmt_Max_Stmt_id": "1",
        "mysql_listener_paused": "false",
        **counted,
    }
    return [(name, known.get(name, "0")) for name in _GLOBAL.split()]


def memory_rows(digests: int, counted: Mapping[str, str] = NOTHING) -> list[tuple[Cell, ...]]:
    """Return stats_memory_metrics: zeros but for `counted`, and some 900 bytes for each digest."""
    known = {"query_digest_memory": str(900 * digests), **counted}
    return [(name, known.get(name, "0")) for name in _MEMORY.split()]


def peer_rows(members: Iterable[Row]) -> list[tuple[Cell, ...]]:
    """Return stats_proxysql_servers_metrics: no other member of the cluster ever answered."""
    names = ("hostname", "port", "weight", "comment")
    return [(*(row[name] for name in names), *(0,) * 6) for row in members]


def peer_checksum_rows(members: Iterable[Row]) -> list[tuple[Cell, ...]]:
    """Return stats_proxysql_servers_checksums: nothing is known of any member."""
    return [
        (row["hostname"], row["port"], name, 0, 0, "", 0, 0, 0)
        for row in members
        for name in _PEER_CHECKSUMS.split()
    ]
