"""The statistics of an instance at one moment, which the code of `top` calls a look.

Looks are timed in seconds of a monotonic clock; the clock of the instance is in unix seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.stats.counters import Reading
from proxyctl.stats.model import Load, SeenDigest
from proxyctl.stats.rule_hits import Sample as RuleSample


class ServerCounters(NamedTuple):
    """A row of stats_mysql_connection_pool. Units: `latency_us` is that of the last ping."""

    hostgroup: int
    hostname: str
    port: int
    status: str
    conn_used: int
    conn_free: int
    conn_ok: int
    conn_err: int
    queries: int
    bytes_sent: int
    bytes_recv: int
    latency_us: int

    @property
    def key(self) -> tuple[int, str, int]:
        """The key of the table."""
        return self.hostgroup, self.hostname, self.port

    @property
    def reading(self) -> Reading:
        """The counters that show whether they were cleared."""
        return Reading(self.queries, self.conn_ok)


@dataclass(frozen=True)
class DigestLook:
    """Entries of the digest table: those that were hit since the look before, and the costliest.

    Shape: `entries` have the beginning of their texts only. `busy` is how many were hit, of which
    `entries` may hold only those with most time; then `is_cut`. `whole` is the sum over all of the
    table. Units: `clock` in unix seconds of the instance.
    """

    taken_at: float
    clock: int
    entries: tuple[SeenDigest, ...]
    busy: int
    is_cut: bool
    whole: Load


@dataclass(frozen=True)
class DigestState:
    """Facts about the digest table that are read without naming it.

    Shape: `every_s` is how often it is looked at, None for never: it is too large. `is_rare`: less
    often than other statistics. `is_on` is mysql-query_digests. Units: `memory` in bytes,
    `look_s` is how long a look takes.
    """

    memory: int
    look_s: float
    every_s: float | None
    is_rare: bool
    is_on: bool


@dataclass(frozen=True)
class Look:
    """All statistics of one look. Shape: `digests` is None if they were not due.

    `counters` are of stats_mysql_global, `memory` of stats_memory_metrics, by ProxySQL's names.
    """

    taken_at: float
    counters: Mapping[str, int]
    memory: Mapping[str, int]
    servers: tuple[ServerCounters, ...]
    rules: RuleSample
    state: DigestState
    digests: DigestLook | None = None

    @property
    def started_at(self) -> float:
        """When ProxySQL was started, by the clock of the looks, to about a second."""
        return self.taken_at - self.counters.get("ProxySQL_Uptime", 0)
