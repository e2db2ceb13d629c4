"""The statistics of the sample shop: two days of traffic that is made up, and goes on evenly.

All of it is counted from the same queries, so that the tables agree with each other at any moment.
What is reconfigured is not played: a rule that is loaded, or a server that is added, has no hits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from proxyctl.sandbox.recorded_digests import CACHE, PERIOD_S, TRAFFIC, Traffic, recorded_digests
from proxyctl.sandbox.replies import Cell
from proxyctl.sandbox.runtime import Row, server_key
from proxyctl.sandbox.sample_shop import FRONTENDS, NODES, PORT, Node
from proxyctl.sandbox.statistics import hit_rows, user_rows
from proxyctl.sandbox.transfer import Transfer

_POOL = "stats_mysql_connection_pool"
_ROW_BYTES, _OK_BYTES = 80, 11
_SLOW_US = 1_000_000
"""mysql-long_query_time of a fresh ProxySQL."""

UPTIME_S = PERIOD_S + 300
"""How long ago the ProxySQL of the shop was started."""


class SampleTraffic:
    """Counts what the shop has sent until the moment somebody asks.

    The shop was configured when these two days began. Changes: the epochs of `transfer`.
    """

    def __init__(self, transfer: Transfer, clock: Callable[[], float]) -> None:
        self._transfer = transfer
        self._clock = clock
        self._recorded_until = clock()
        self._cleared: dict[str, float] = {}
        for checksum in transfer.checksums.values():
            checksum.epoch = int(self._recorded_until - PERIOD_S)
        self._rules_version = self._version_of_rules()

    def clear(self, table: str) -> None:
        """Begin the counters of a table again at 0."""
        self._cleared[table] = self._elapsed_s

    def rows(self, table: str) -> list[tuple[Cell, ...]] | None:
        """Return the rows of a statistics table, None where the shop has nothing to say."""
        held = self._transfer.rows
        match table:
            case "stats_mysql_query_digest":
                return recorded_digests(
                    self._recorded_until,
                    elapsed_s=self._elapsed_s,
                    cleared_s=self._cleared.get(table),
                )
            case "stats_mysql_connection_pool":
                return [self._pool_row(row) for row in held["mysql_servers"]]
            case "stats_mysql_query_rules":
                return hit_rows(held["mysql_query_rules"], self._hits())
            case "stats_mysql_users":
                return user_rows(held["mysql_users"], FRONTENDS)
        return None

    def counters(self) -> dict[str, str]:
        """Return what stats_mysql_global shows, but for what it shows without traffic."""
        elapsed_s = self._elapsed_s
        calls = Counter({one: one.calls(elapsed_s) for one in TRAFFIC})
        cached = sum(calls[one] for one in TRAFFIC if one.hostgroup == CACHE)
        filled = sum(calls[one] for one in TRAFFIC if _fills_cache(one))
        slow = sum(calls[one] if one.least >= _SLOW_US else one.most >= _SLOW_US for one in TRAFFIC)
        asked = sum(calls[one] * len(one.query) for one in TRAFFIC)
        answered = sum(_answer_bytes(one, calls[one]) for one in TRAFFIC)
        backend_time_us = sum(calls[one] * one.avg for one in TRAFFIC)
        found = {
            "Questions": calls.total(),
            "Slow_queries": slow,
            "Active_Transactions": 1,
            "Client_Connections_connected": sum(FRONTENDS.values()),
            "Client_Connections_created": 4_218,
            "Client_Connections_non_idle": 2,
            "Server_Connections_connected": sum(node.used + node.free for node in NODES),
            "Server_Connections_created": sum(node.opened for node in NODES),
            "Com_commit": _calls_of("COMMIT", calls),
            "Com_rollback": _calls_of("ROLLBACK", calls),
            "Queries_frontends_bytes_recv": asked,
            "Queries_frontends_bytes_sent": answered,
            "Backend_query_time_nsec": backend_time_us * 1_000,
            "Query_Cache_Entries": 1,
            "Query_Cache_count_GET": cached + filled,
            "Query_Cache_count_GET_OK": cached,
            "Query_Cache_count_SET": filled,
        }
        return {name: str(count) for name, count in found.items()}

    def memory(self) -> dict[str, str]:
        """Return what stats_memory_metrics shows beside the digests. Units: bytes."""
        return {"jemalloc_resident": "84000000", "jemalloc_allocated": "61000000"}

    @property
    def _elapsed_s(self) -> float:
        return max(self._clock() - self._recorded_until, 0)

    def _version_of_rules(self) -> int:
        return self._transfer.checksums["mysql_query_rules"].version

    def _hits(self) -> Counter[Cell]:
        found: Counter[Cell] = Counter()
        if self._version_of_rules() == self._rules_version:
            for one in TRAFFIC:
                for rule_id in one.rules:
                    found[rule_id] += one.calls(self._elapsed_s)
        return found

    # --- the connection pool --------------------------------------------------------------------

    def _pool_row(self, row: Row) -> tuple[Cell, ...]:
        node = _NODES.get(server_key(row))
        if node is None:
            return (*server_key(row), row["status"], *(0,) * 10)
        now = self._pool_counters(node, self._elapsed_s)
        cleared_s = self._cleared.get(_POOL)
        before = (0,) * len(now) if cleared_s is None else self._pool_counters(node, cleared_s)
        opened, failed, queries, sent, received = (a - b for a, b in zip(now, before, strict=True))
        used = (node.used, node.free, opened, failed, node.used + node.free)
        return (
            *(*server_key(row), row["status"], *used, queries, 0, sent, received),
            node.latency_us,
        )

    def _pool_counters(self, node: Node, elapsed_s: float) -> tuple[int, int, int, int, int]:
        """Return connections opened and failed, queries, bytes sent and received."""
        counted = [
            (one, _part(one, node, elapsed_s)) for one in TRAFFIC if one.hostgroup == node.hostgroup
        ]
        return (
            node.opened,
            node.failed + int(node.errors_per_s * elapsed_s),
            sum(calls for _, calls in counted),
            sum(calls * len(one.query) for one, calls in counted),
            sum(_answer_bytes(one, calls) for one, calls in counted),
        )


_NODES = {(node.hostgroup, node.hostname, PORT): node for node in NODES}


def _part(one: Traffic, node: Node, elapsed_s: float) -> int:
    """Return how often a node answered a query. The first one of a hostgroup takes the rest."""
    new = one.calls(elapsed_s) - one.times
    others = [n for n in NODES if n.hostgroup == node.hostgroup][1:]
    parts = {n: int(one.times * n.share) + int(new * n.share_now) for n in others}
    return parts[node] if node in parts else one.calls(elapsed_s) - sum(parts.values())


def _answer_bytes(one: Traffic, calls: int) -> int:
    return int(calls * (_OK_BYTES + one.sent * _ROW_BYTES))


def _calls_of(query: str, calls: Mapping[Traffic, int]) -> int:
    return sum(count for one, count in calls.items() if one.query == query)


def _fills_cache(one: Traffic) -> bool:
    """Return whether the same query is also answered by the cache."""
    return one.hostgroup != CACHE and any(
        other.query == one.query for other in TRAFFIC if other.hostgroup == CACHE
    )
