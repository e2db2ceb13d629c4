"""The rows of the statistics tables, which are mostly zeros.

No traffic runs through a sandbox, so every counter keeps its value, unless the sandbox plays the
sample shop: two days of made-up traffic, which then continues evenly. All tables count the same
queries, and so agree with each other at any moment. Changes of the configuration have no effect: a
rule or a server that is added has no hits. The counters are those that proxyctl reads, with the
names of ProxySQL 2.7.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

from proxyctl.routing.digest import Digest, Digester
from proxyctl.sandbox.database import Database
from proxyctl.sandbox.layers import Layers
from proxyctl.sandbox.replies import SqliteValue
from proxyctl.sandbox.runtime import NamedValues, ServerKey, server_key
from proxyctl.sandbox.sample_shop import (
    FRONTENDS,
    NODES,
    PERIOD_S,
    PORT,
    TRAFFIC,
    SampleServer,
    Traffic,
)
from proxyctl.sandbox.tables import STATISTICS

DIGESTS = "stats_mysql_query_digest"
"""The table that the rows of `digest_rows` are for."""

_ERRORS = "stats_mysql_errors"

_ROW_BYTES, _OK_BYTES = 80, 11
_SLOW_US = 1_000_000
"""mysql-long_query_time of a fresh ProxySQL."""

_UPTIME_S = PERIOD_S + 300
"""How long the ProxySQL of the shop had been up at the end of the two days."""
_BYTES_OF_DIGEST = 900
_LAST_SEEN = 8
"""The position of the column last_seen in the table of digests."""
_PEER_CHECKSUMS = (
    "admin_variables", "mysql_query_rules", "mysql_servers", "mysql_users", "mysql_variables",
    "proxysql_servers", "mysql_servers_v2",
)  # fmt: skip
_NEVER = (
    "Access_Denied_Max_Connections", "Access_Denied_Max_User_Connections",
    "Access_Denied_Wrong_Password", "max_connect_timeouts",
)  # fmt: skip
"""Counters of what does not happen in the sample shop."""
_RESIDENT_BYTES = "84000000"
"""The memory of the sample shop's ProxySQL; a sandbox without traffic shows 0."""

ResultRows = Sequence[Sequence[SqliteValue]]


class Statistics:
    """The content of the statistics tables at any moment.

    `fixed`: rows that replace those of a table, by table name, in column order.
    """

    def __init__(self, layers: Layers, clock: Callable[[], float]) -> None:
        self._layers = layers
        self._clock = clock
        self._started = self._recorded_until = clock()
        self._traffic: Sequence[Traffic] = ()
        self._nodes: dict[ServerKey, SampleServer] = {}
        self.fixed: dict[str, list[tuple[SqliteValue, ...]]] = {}

    def begin_traffic(self) -> None:
        """Play the sample shop, as if its configuration had been at RUNTIME for the two days."""
        self._recorded_until = self._clock()
        self._started = self._recorded_until - _UPTIME_S
        self._traffic = TRAFFIC
        self._nodes = {(node.hostgroup, node.hostname, PORT): node for node in NODES}
        for checksum in self._layers.checksums.values():
            checksum.epoch = int(self._recorded_until - PERIOD_S)

    @property
    def uptime_s(self) -> int:
        """Seconds since the start."""
        return int(self._clock() - self._started)

    @property
    def _elapsed_s(self) -> float:
        """Seconds since the end of the two days."""
        return max(self._clock() - self._recorded_until, 0)

    def refresh(self, sql: str, database: Database) -> None:
        """Refill the tables that the text names."""
        for name in STATISTICS:
            if name in sql:
                database.refill(f"stats.{name}", self._rows(name))

    def metrics(self) -> str:
        """Return the text of SHOW PROMETHEUS METRICS, with the errors of servers alone."""
        columns = [column.split()[0] for column in STATISTICS[_ERRORS].split(", ")]
        errors: Counter[tuple[str, ...]] = Counter()
        for cells in self._rows(_ERRORS):
            row = dict(zip(columns, map(str, cells), strict=True))
            if row["hostname"]:
                key = tuple(row[name] for name in ("hostname", "errno", "hostgroup", "port"))
                errors[key] += int(row["count_star"])
        return "".join(
            f'mysql_error_total{{address="{host}",code="{code}",hostgroup="{hostgroup}",'
            f'port="{port}"}} {count}\n'
            for (host, code, hostgroup, port), count in errors.items()
        )

    def clear_digests(self) -> int:
        """Remove all entries, also later ones of the sample shop; return how many there were."""
        count = len(self._rows(DIGESTS))
        self.fixed[DIGESTS] = []
        return count

    def purge_digests(self, until: int) -> int:
        """Remove the entries that were not seen after `until`; return how many were removed."""
        rows = [tuple(row) for row in self._rows(DIGESTS)]
        self.fixed[DIGESTS] = [row for row in rows if int(str(row[_LAST_SEEN])) > until]
        return len(rows) - len(self.fixed[DIGESTS])

    def _rows(self, table: str) -> ResultRows:
        if table in self.fixed:
            return self.fixed[table]
        runtime = self._layers.rows
        match table:
            case "stats_mysql_query_digest" if self._traffic:
                return digest_rows(self._recorded_until, elapsed_s=self._elapsed_s)
            case "stats_mysql_connection_pool":
                return [self._pool_row(row) for row in runtime["mysql_servers"]]
            case "stats_mysql_query_rules":
                hits = self._hits()
                rules = runtime["mysql_query_rules"]
                return [(row["rule_id"], hits[row["rule_id"]]) for row in rules]
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

    def _hits(self) -> Counter[SqliteValue]:
        """Count the hits of each rule."""
        hits: Counter[SqliteValue] = Counter()
        for query in self._traffic:
            hits.update(dict.fromkeys(query.rules, query.calls(self._elapsed_s)))
        return hits

    def _pool_row(self, row: NamedValues) -> tuple[SqliteValue, ...]:
        node = self._nodes.get(server_key(row))
        if node is None:
            return (*server_key(row), row["status"], *(0,) * 10)
        counted = [
            (traffic, _part(traffic, node, self._elapsed_s))
            for traffic in self._traffic
            if traffic.hostgroup == node.hostgroup
        ]
        return (
            *(*server_key(row), row["status"]),
            *(node.used, node.free, node.opened, node.failed, node.used + node.free),
            *(sum(calls for _, calls in counted), 0),
            sum(calls * len(traffic.query) for traffic, calls in counted),
            sum(_answer_bytes(traffic, calls) for traffic, calls in counted),
            node.latency_us,
        )

    def _counters(self) -> list[tuple[SqliteValue, ...]]:
        calls = Counter({traffic: traffic.calls(self._elapsed_s) for traffic in self._traffic})
        is_played = bool(self._traffic)
        counters = {
            "ProxySQL_Uptime": self.uptime_s,
            "MySQL_Thread_Workers": self._layers.running["mysql-threads"],
            "Active_Transactions": int(is_played),
            "Client_Connections_connected": sum(FRONTENDS.values()) * is_played,
            "Client_Connections_non_idle": 2 * is_played,
            "Questions": calls.total(),
            **dict.fromkeys(_NEVER, 0),
            "Slow_queries": sum(calls[traffic] for traffic in calls if traffic.least >= _SLOW_US)
            + sum(traffic.least < _SLOW_US <= traffic.most for traffic in calls),
            "Queries_frontends_bytes_recv": sum(
                calls[traffic] * len(traffic.query) for traffic in calls
            ),
            "Queries_frontends_bytes_sent": sum(
                _answer_bytes(traffic, calls[traffic]) for traffic in calls
            ),
        }
        return [(name, str(value)) for name, value in counters.items()]

    def _memory(self) -> list[tuple[SqliteValue, ...]]:
        digests = str(_BYTES_OF_DIGEST * len(self._rows(DIGESTS)))
        resident = _RESIDENT_BYTES if self._traffic else "0"
        name = "query_digest_memory"
        if self._layers.version >= (3, 0, 0):
            name = f"mysql_{name}"
        return [(name, digests), ("jemalloc_resident", resident)]


def _part(traffic: Traffic, node: SampleServer, elapsed_s: float) -> int:
    """Return how often a node answered a query; a hostgroup's first node gets the remainder."""
    calls = traffic.calls(elapsed_s)
    nodes = [other for other in NODES if other.hostgroup == node.hostgroup]
    parts = {other: int(calls * other.share) for other in nodes[1:]}
    return parts.get(node, calls - sum(parts.values()))


def _answer_bytes(traffic: Traffic, calls: int) -> int:
    return int(calls * (_OK_BYTES + traffic.sent * _ROW_BYTES))


# --- digests -----------------------------------------------------------------------------------


@lru_cache(maxsize=len(TRAFFIC))
def _digest(query: str) -> Digest:
    return Digester().digest(query)


def digest_rows(now: float, *, elapsed_s: float = 0) -> list[tuple[SqliteValue, ...]]:
    """Return the rows of stats_mysql_query_digest `elapsed_s` after the end of the two days.

    `now`: the end of the two days, in unix seconds.
    """
    return [_row(traffic, now, traffic.calls(elapsed_s)) for traffic in TRAFFIC]


def _row(traffic: Traffic, now: float, calls: int) -> tuple[SqliteValue, ...]:
    digest = _digest(traffic.query)
    return (
        traffic.hostgroup,
        traffic.schemaname,
        traffic.username,
        "",
        digest.hexadecimal,
        digest.text.decode(),
        calls,
        int(now - PERIOD_S),
        int(now + traffic.last_call_s(calls)),
        calls * traffic.avg,
        traffic.least,
        traffic.most,
        int(calls * traffic.affected),
        int(calls * traffic.sent),
    )
