"""The counters of an instance at one moment. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class ErrorKey(NamedTuple):
    """What went wrong, and where."""

    kind: str
    """`error 1146`, NO_CONNECTION or REFUSED_LOGIN."""
    place: str
    """The hostgroup and the server; '' if not known."""


class DigestKey(NamedTuple):
    """A row of stats_mysql_query_digest."""

    hostgroup: int
    schemaname: str
    username: str
    client_address: str
    digest: str


class DigestCount(NamedTuple):
    """The counters of a row of stats_mysql_query_digest."""

    executions: int
    """How often it was executed."""
    time_us: int
    """The sum of its times. Units: microseconds."""
    first_seen: int
    """When ProxySQL first counted it. Units: unix seconds of the instance's clock."""


@dataclass(frozen=True)
class DigestSample:
    """The digests at one moment."""

    clock: int
    """The moment. Units: unix seconds of the instance's clock."""
    rows: Mapping[DigestKey, DigestCount]
    """The rows that were executed since shortly before the first sample."""


@dataclass(frozen=True)
class CounterSample:
    """The counters of one instance at one moment."""

    at: float
    """The moment. Units: seconds of a clock that only moves forwards."""
    queries: int = 0
    """The queries of clients since the start of ProxySQL."""
    waiting: Mapping[int, int] = field(default_factory=dict)
    """The sessions that wait for a connection, by hostgroup."""
    answered: Mapping[int, int] = field(default_factory=dict)
    """The queries that servers got, by hostgroup."""
    errors: Mapping[ErrorKey, int] = field(default_factory=dict)
    """The errors."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """The connections that failed, by server, as `127.0.0.1:3306 in hostgroup 10`."""
    shunned: frozenset[str] = frozenset()
    """The servers that are SHUNNED and ONLINE in no hostgroup, named likewise."""
    digests: DigestSample | None = None
    """The digests; None if they were not read this time."""
