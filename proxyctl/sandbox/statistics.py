"""The statistics tables: their columns by version, and the little content that the sandbox has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from proxyctl.catalog import Version, parse_version
from proxyctl.sandbox.database import Database
from proxyctl.sandbox.replies import Cell
from proxyctl.sandbox.runtime import Row, Server, server_key


@dataclass(frozen=True)
class StatsTable:
    """One statistics table: `columns` as SQLite declares them, in order."""

    name: str
    columns: tuple[str, ...]
    since: str = "2.0.1"

    @property
    def names(self) -> tuple[str, ...]:
        """The column names."""
        return tuple(column.split()[0] for column in self.columns)


_POOL = (
    "hostgroup INT", "srv_host VARCHAR", "srv_port INT", "status VARCHAR", "ConnUsed INT",
    "ConnFree INT", "ConnOK INT", "ConnERR INT", "MaxConnUsed INT", "Queries INT",
    "Queries_GTID_sync INT", "Bytes_data_sent INT", "Bytes_data_recv INT", "Latency_us INT",
)  # fmt: skip
_DIGEST = (
    "hostgroup INT", "schemaname VARCHAR NOT NULL", "username VARCHAR NOT NULL",
    "client_address VARCHAR NOT NULL", "digest VARCHAR NOT NULL", "digest_text VARCHAR NOT NULL",
    "count_star INTEGER NOT NULL", "first_seen INTEGER NOT NULL", "last_seen INTEGER NOT NULL",
    "sum_time INTEGER NOT NULL", "min_time INTEGER NOT NULL", "max_time INTEGER NOT NULL",
)  # fmt: skip
_DIGEST_ROWS = ("sum_rows_affected INTEGER NOT NULL", "sum_rows_sent INTEGER NOT NULL")
_ERRORS = (
    "hostgroup INT NOT NULL", "hostname VARCHAR NOT NULL", "port INT NOT NULL",
    "username VARCHAR NOT NULL", "client_address VARCHAR NOT NULL",
    "schemaname VARCHAR NOT NULL", "errno INT NOT NULL", "count_star INTEGER NOT NULL",
    "first_seen INTEGER NOT NULL", "last_seen INTEGER NOT NULL",
    "last_error VARCHAR NOT NULL DEFAULT ''",
)  # fmt: skip
_PAIR = ("Variable_Name VARCHAR NOT NULL PRIMARY KEY", "Variable_Value VARCHAR NOT NULL")

_TABLES = (
    StatsTable("stats_mysql_connection_pool", _POOL),
    StatsTable("stats_mysql_connection_pool_reset", _POOL),
    StatsTable("stats_mysql_errors", _ERRORS),
    StatsTable("stats_mysql_errors_reset", _ERRORS),
    StatsTable("stats_mysql_global", _PAIR),
    StatsTable("stats_memory_metrics", _PAIR),
    StatsTable("stats_mysql_query_rules", ("rule_id INTEGER PRIMARY KEY", "hits INT NOT NULL")),
    StatsTable(
        "stats_mysql_users",
        (
            "username VARCHAR PRIMARY KEY",
            "frontend_connections INT NOT NULL",
            "frontend_max_connections INT NOT NULL",
        ),
    ),
    StatsTable(
        "stats_mysql_commands_counters",
        (
            "Command VARCHAR NOT NULL PRIMARY KEY", "Total_Time_us INT NOT NULL",
            "Total_cnt INT NOT NULL", "cnt_100us INT NOT NULL", "cnt_500us INT NOT NULL",
            "cnt_1ms INT NOT NULL", "cnt_5ms INT NOT NULL", "cnt_10ms INT NOT NULL",
            "cnt_50ms INT NOT NULL", "cnt_100ms INT NOT NULL", "cnt_500ms INT NOT NULL",
            "cnt_1s INT NOT NULL", "cnt_5s INT NOT NULL", "cnt_10s INT NOT NULL", "cnt_INFs",
        ),
    ),
    StatsTable(
        "stats_mysql_processlist",
        (
            "ThreadID INT NOT NULL", "SessionID INTEGER PRIMARY KEY", "user VARCHAR", "db VARCHAR",
            "cli_host VARCHAR", "cli_port INT", "hostgroup INT", "l_srv_host VARCHAR",
            "l_srv_port INT", "srv_host VARCHAR", "srv_port INT", "command VARCHAR",
            "time_ms INT NOT NULL", "info VARCHAR", "status_flags INT", "extended_info VARCHAR",
        ),
    ),
    StatsTable(
        "stats_proxysql_servers_checksums",
        (
            "hostname VARCHAR NOT NULL", "port INT NOT NULL", "name VARCHAR NOT NULL",
            "version INT NOT NULL", "epoch INT NOT NULL", "checksum VARCHAR NOT NULL",
            "changed_at INT NOT NULL", "updated_at INT NOT NULL", "diff_check INT NOT NULL",
        ),
    ),
)  # fmt: skip


def stats_tables(version: Version) -> tuple[StatsTable, ...]:
    """Return the statistics tables of a version."""
    rows = _DIGEST_ROWS if version >= parse_version("2.0.6") else ()
    digests = (
        StatsTable("stats_mysql_query_digest", (*_DIGEST, *rows)),
        StatsTable("stats_mysql_query_digest_reset", (*_DIGEST, *rows)),
    )
    return (*digests, *_TABLES)


class Statistics:
    """Fills the statistics tables of one schema whenever a statement names them."""

    def __init__(self, database: Database, schema: str, version: Version) -> None:
        self._database = database
        self._schema = schema
        self._tables = {table.name: table for table in stats_tables(version)}
        for table in self._tables.values():
            columns = ", ".join(table.columns)
            database.create(schema, table.name, f"CREATE TABLE {schema}.{table.name} ({columns})")

    def refresh(
        self, sql: str, content: Callable[[str], Sequence[Sequence[Cell]]]
    ) -> frozenset[str]:
        """Refill the tables that the text names; return their names.

        `content` gives the rows of a table; a `_reset` table shows those of the table it resets.
        """
        named = frozenset(name for name in self._tables if name in sql)
        for name in named:
            rows = content(name.removesuffix("_reset"))
            self._database.refill(f"{self._schema}.{name}", self._tables[name].names, rows)
        return named


def pool_rows(servers: Iterable[Row], used: Mapping[Server, int]) -> list[tuple[Cell, ...]]:
    """Return stats_mysql_connection_pool: all counters but the connections in use are zero."""
    return [
        (*server_key(row), row["status"], used.get(server_key(row), 0), *(0,) * 9)
        for row in servers
    ]


def user_rows(users: Iterable[Row]) -> list[tuple[Cell, ...]]:
    """Return stats_mysql_users: the frontend halves, without connections."""
    return [(row["username"], 0, row["max_connections"]) for row in users if row["frontend"] == 1]


def hit_rows(rules: Iterable[Row]) -> list[tuple[Cell, ...]]:
    """Return stats_mysql_query_rules: no rule was ever hit."""
    return [(row["rule_id"], 0) for row in rules]


def global_rows(uptime_s: int) -> list[tuple[Cell, ...]]:
    """Return the few rows of stats_mysql_global that the sandbox knows."""
    return [
        ("ProxySQL_Uptime", str(uptime_s)),
        ("Questions", "0"),
        ("Slow_queries", "0"),
    ]


def memory_rows(digests: int) -> list[tuple[Cell, ...]]:
    """Return the rows of stats_memory_metrics; a digest takes some 900 bytes."""
    return [("SQLite3_memory_bytes", "0"), ("query_digest_memory", str(900 * digests))]
