"""The statistics tables: what the sandbox fills them with, which is little more than zeros.

Nothing runs through a sandbox, so every counter stands still, unless it plays the sample shop. The
counters are those that proxyctl reads, by the names of ProxySQL 2.7.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proxyctl.sandbox.database import Database
from proxyctl.sandbox.layers import Layers
from proxyctl.sandbox.replies import Cell
from proxyctl.sandbox.runtime import server_key
from proxyctl.sandbox.sample_traffic import DIGESTS, SampleTraffic
from proxyctl.sandbox.tables import STATISTICS

_BYTES_OF_DIGEST = 900
_LAST_SEEN = 8
"""The position of that column in the table of digests."""
_PEER_CHECKSUMS = (
    "admin_variables", "mysql_query_rules", "mysql_servers", "mysql_users", "mysql_variables",
    "proxysql_servers", "mysql_servers_v2",
)  # fmt: skip
_COUNTERS = (
    "Active_Transactions",
    "Client_Connections_connected",
    "Client_Connections_non_idle",
    "Questions",
    "Slow_queries",
    "Queries_frontends_bytes_recv",
    "Queries_frontends_bytes_sent",
)
_RESIDENT_BYTES = "84000000"
"""What the ProxySQL of the sample shop takes; one without traffic says 0."""

Rows = Sequence[Sequence[Cell]]


class Statistics:
    """What the statistics tables show at any moment.

    `fixed` are rows that a test put into a table, by its name, in column order.
    """

    def __init__(self, layers: Layers, clock: Callable[[], float]) -> None:
        self._layers = layers
        self._clock = clock
        self._started = clock()
        self._traffic: SampleTraffic | None = None
        self.fixed: dict[str, list[tuple[Cell, ...]]] = {}

    def begin_traffic(self) -> None:
        """Be those of the sample shop, whose configuration is at RUNTIME."""
        self._traffic = SampleTraffic(self._layers, self._clock)
        self._started = self._traffic.started

    @property
    def uptime_s(self) -> int:
        """How long ago it started, in seconds."""
        return int(self._clock() - self._started)

    def refresh(self, sql: str, database: Database) -> None:
        """Refill the tables that the text names."""
        for name, columns in STATISTICS.items():
            if name in sql:
                names = [column.split()[0] for column in columns.split(", ")]
                database.refill(f"stats.{name}", names, self._rows(name))

    def clear_digests(self) -> int:
        """Forget the queries, also those of the sample shop that come later; return the count."""
        count = len(self._rows(DIGESTS))
        self.fixed[DIGESTS] = []
        return count

    def purge_digests(self, until: int) -> int:
        """Keep the entries that were seen after this time; return how many there were besides."""
        rows = [tuple(row) for row in self._rows(DIGESTS)]
        self.fixed[DIGESTS] = [row for row in rows if int(str(row[_LAST_SEEN])) > until]
        return len(rows) - len(self.fixed[DIGESTS])

    def _rows(self, table: str) -> Rows:
        if table in self.fixed:
            return self.fixed[table]
        if self._traffic is not None and (played := self._traffic.rows(table)) is not None:
            return played
        runtime = self._layers.rows
        match table:
            case "stats_mysql_connection_pool":
                servers = runtime["mysql_servers"]
                return [(*server_key(row), row["status"], *(0,) * 10) for row in servers]
            case "stats_mysql_query_rules":
                return [(row["rule_id"], 0) for row in runtime["mysql_query_rules"]]
            case "stats_mysql_global":
                return self._counters()
            case "stats_memory_metrics":
                return self._memory()
            case "stats_proxysql_servers_metrics":
                # No other member of the cluster ever answered.
                columns = ("hostname", "port", "weight", "comment")
                members = runtime["proxysql_servers"]
                return [(*(row[name] for name in columns), *(0,) * 6) for row in members]
            case "stats_proxysql_servers_checksums":
                return [
                    (row["hostname"], row["port"], name, 0, 0, "", 0, 0, 0)
                    for row in runtime["proxysql_servers"]
                    for name in _PEER_CHECKSUMS
                ]
        return ()

    def _counters(self) -> list[tuple[Cell, ...]]:
        counted = self._traffic.counters() if self._traffic else {}
        return [
            ("ProxySQL_Uptime", str(self.uptime_s)),
            ("MySQL_Thread_Workers", self._layers.running["mysql-threads"]),
            *((name, counted.get(name, "0")) for name in _COUNTERS),
        ]

    def _memory(self) -> list[tuple[Cell, ...]]:
        digests = str(_BYTES_OF_DIGEST * len(self._rows(DIGESTS)))
        resident = _RESIDENT_BYTES if self._traffic else "0"
        name = "query_digest_memory"
        if self._layers.version >= (3, 0, 0):
            name = f"mysql_{name}"
        return [(name, digests), ("jemalloc_resident", resident)]
