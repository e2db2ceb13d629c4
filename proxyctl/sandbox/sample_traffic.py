"""The statistics of the sample shop: two days of traffic that is made up, and goes on evenly.

All of it is counted from the same queries, so that the tables agree with each other at any moment.
What is reconfigured is not played: a rule that is loaded, or a server that is added, has no hits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from proxyctl.routing.digest import Digest, Digester
from proxyctl.sandbox.layers import Layers
from proxyctl.sandbox.replies import Cell
from proxyctl.sandbox.runtime import Row, server_key
from proxyctl.sandbox.sample_shop import (
    FRONTENDS,
    NODES,
    PERIOD_S,
    PORT,
    TRAFFIC,
    Node,
    Traffic,
)

DIGESTS = "stats_mysql_query_digest"
"""The table that the rows of `digest_rows` are for."""

_ROW_BYTES, _OK_BYTES = 80, 11
_SLOW_US = 1_000_000
"""mysql-long_query_time of a fresh ProxySQL."""

_UPTIME_S = PERIOD_S + 300
"""How long ago the ProxySQL of the shop was started."""


class SampleTraffic:
    """Counts what the shop has sent until the moment somebody asks.

    The shop was configured when these two days began. Changes: the epochs of `layers`.
    """

    def __init__(self, layers: Layers, clock: Callable[[], float]) -> None:
        self._layers = layers
        self._clock = clock
        self._recorded_until = clock()
        self.started = self._recorded_until - _UPTIME_S
        for checksum in layers.checksums.values():
            checksum.epoch = int(self._recorded_until - PERIOD_S)
        self._rules_version = self._version_of_rules()

    def rows(self, table: str) -> list[tuple[Cell, ...]] | None:
        """Return the rows of a statistics table, None where the shop has nothing to say."""
        match table:
            case "stats_mysql_query_digest":
                return digest_rows(self._recorded_until, elapsed_s=self._elapsed_s)
            case "stats_mysql_connection_pool":
                return [self._pool_row(row) for row in self._layers.rows["mysql_servers"]]
            case "stats_mysql_query_rules":
                hits = self._hits()
                rules = self._layers.rows["mysql_query_rules"]
                return [(row["rule_id"], hits[row["rule_id"]]) for row in rules]
        return None

    def counters(self) -> dict[str, str]:
        """Return what stats_mysql_global shows of the traffic."""
        calls = Counter({one: one.calls(self._elapsed_s) for one in TRAFFIC})
        found = {
            "Questions": calls.total(),
            "Slow_queries": sum(calls[one] for one in TRAFFIC if one.least >= _SLOW_US)
            + sum(one.least < _SLOW_US <= one.most for one in TRAFFIC),
            "Active_Transactions": 1,
            "Client_Connections_connected": sum(FRONTENDS.values()),
            "Client_Connections_non_idle": 2,
            "Queries_frontends_bytes_recv": sum(calls[one] * len(one.query) for one in TRAFFIC),
            "Queries_frontends_bytes_sent": sum(_answer_bytes(one, calls[one]) for one in TRAFFIC),
        }
        return {name: str(count) for name, count in found.items()}

    @property
    def _elapsed_s(self) -> float:
        return max(self._clock() - self._recorded_until, 0)

    def _version_of_rules(self) -> int:
        return self._layers.checksums["mysql_query_rules"].version

    def _hits(self) -> Counter[Cell]:
        found: Counter[Cell] = Counter()
        if self._version_of_rules() == self._rules_version:
            for one in TRAFFIC:
                for rule_id in one.rules:
                    found[rule_id] += one.calls(self._elapsed_s)
        return found

    def _pool_row(self, row: Row) -> tuple[Cell, ...]:
        node = _NODES.get(server_key(row))
        if node is None:
            return (*server_key(row), row["status"], *(0,) * 10)
        counted = [
            (one, _part(one, node, self._elapsed_s))
            for one in TRAFFIC
            if one.hostgroup == node.hostgroup
        ]
        failed = node.failed + int(node.errors_per_s * self._elapsed_s)
        return (
            *(*server_key(row), row["status"]),
            *(node.used, node.free, node.opened, failed, node.used + node.free),
            *(sum(calls for _, calls in counted), 0),
            sum(calls * len(one.query) for one, calls in counted),
            sum(_answer_bytes(one, calls) for one, calls in counted),
            node.latency_us,
        )


_NODES = {(node.hostgroup, node.hostname, PORT): node for node in NODES}


def _part(one: Traffic, node: Node, elapsed_s: float) -> int:
    """Return how often a node answered a query. The first one of a hostgroup takes the rest."""
    new = one.calls(elapsed_s) - one.times
    others = [n for n in NODES if n.hostgroup == node.hostgroup][1:]
    parts = {n: int(one.times * n.share) + int(new * n.share_since) for n in others}
    return parts[node] if node in parts else one.calls(elapsed_s) - sum(parts.values())


def _answer_bytes(one: Traffic, calls: int) -> int:
    return int(calls * (_OK_BYTES + one.sent * _ROW_BYTES))


# --- digests -----------------------------------------------------------------------------------


@lru_cache(maxsize=len(TRAFFIC))
def _digest(query: str) -> Digest:
    return Digester().digest(query)


def digest_rows(now: float, *, elapsed_s: float = 0) -> list[tuple[Cell, ...]]:
    """Return rows of stats_mysql_query_digest, as counted so many seconds after the two days.

    `now` is when these end, in unix seconds.
    """
    return [_row(one, now, one.calls(elapsed_s)) for one in TRAFFIC]


def _row(one: Traffic, now: float, calls: int) -> tuple[Cell, ...]:
    digest = _digest(one.query)
    return (
        one.hostgroup,
        one.schemaname,
        one.username,
        "",
        digest.hexadecimal,
        digest.text.decode(),
        calls,
        int(now - PERIOD_S),
        int(now + one.last_call_s(calls)),
        calls * one.avg,
        one.least,
        one.most,
        int(calls * one.affected),
        int(calls * one.sent),
    )
