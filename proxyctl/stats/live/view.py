"""Compute the rates and states that `top` shows from consecutive looks at the statistics.

Looks are timed in seconds of a monotonic clock; the clock of the instance is in unix seconds. A
look has only the digest entries that were hit since the previous look. An entry that was not hit
keeps its counters, so an older look at it serves as well. If an entry is new to the looks but older
than the previous one, nobody knows which part of its counters is new: it has rates from its second
look on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from proxyctl.stats.counters import JITTER_S, CounterPair, rate, were_cleared
from proxyctl.stats.model import NOT_COUNTING, Load, SeenDigest
from proxyctl.stats.rule_hits import RuleHitsSample, RuleReport, rule_report
from proxyctl.stats.units import size_text, time_text

# Looks --------------------------------------------------------------------------------------------


class ServerCounters(NamedTuple):
    """A row of stats_mysql_connection_pool."""

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
    """The round trip of the last ping. Units: microseconds."""

    @property
    def key(self) -> tuple[int, str, int]:
        """The key of the table."""
        return self.hostgroup, self.hostname, self.port

    @property
    def reading(self) -> CounterPair:
        """The counters that show whether they were cleared."""
        return CounterPair(self.queries, self.conn_ok)


@dataclass(frozen=True)
class DigestLook:
    """Entries of the digest table: those hit since the previous look, and the costliest."""

    taken_at: float
    """The time of the look. Units: seconds of a monotonic clock."""
    clock: int
    """The time of the look. Units: unix seconds of the instance."""
    entries: tuple[SeenDigest, ...]
    """The entries, with the beginning of their texts only."""
    busy: int
    """The number of entries that were hit."""
    is_cut: bool
    """Whether `entries` has only those with the most time."""
    whole: Load
    """The sum over the table."""


@dataclass(frozen=True)
class DigestState:
    """Facts about the digest table that are read without naming it."""

    memory: int
    """The memory of the table. Units: bytes."""
    look_s: float
    """The time that a look takes. Units: seconds."""
    every_s: float | None
    """The time between looks at the table; None if it is too large for any. Units: seconds."""
    is_rare: bool
    """Whether that time is longer than for other statistics."""
    is_on: bool
    """The value of mysql-query_digests."""


@dataclass(frozen=True)
class LiveStatistics:
    """All statistics of one look."""

    taken_at: float
    """The time of the look. Units: seconds of a monotonic clock."""
    counters: Mapping[str, int]
    """The counters of stats_mysql_global, by ProxySQL's names."""
    memory: Mapping[str, int]
    """The sizes in stats_memory_metrics, by ProxySQL's names."""
    servers: tuple[ServerCounters, ...]
    """The rows of the connection pool."""
    rules: RuleHitsSample
    """The rules at RUNTIME and their hits."""
    state: DigestState
    """The facts about the digest table."""
    digests: DigestLook | None = None
    """The entries of the digest table; None if they were not due."""

    @property
    def started_at(self) -> float:
        """The start of ProxySQL by the clock of the looks, to about a second."""
        return self.taken_at - self.counters.get("ProxySQL_Uptime", 0)


# Servers, and the whole view ----------------------------------------------------------------------
_RESTART_S = 3
"""A start that is later by more is a restart: uptimes are whole seconds, and looks take time."""


@dataclass(frozen=True)
class ServerLine:
    """A server in one hostgroup, or the sum over the servers of a hostgroup.

    A rate is None without an earlier look; in a sum also if a server's rate is None.
    """

    counters: ServerCounters
    """The counters of the server, or their sums."""
    queries_per_s: float | None = None
    """The rate of queries."""
    sent_per_s: float | None = None
    """The rate of bytes sent to the server."""
    recv_per_s: float | None = None
    """The rate of bytes received from the server."""
    errors_per_s: float | None = None
    """The rate of connections that failed; None in a sum."""
    hostgroup_name: str = ""
    """The name of the hostgroup; '' if the files have none."""
    servers: int = 0
    """The number of servers in a sum; 0 for a server."""
    online: int = 0
    """The number of those servers that are ONLINE."""


@dataclass(frozen=True)
class View:
    """One state of the view: a look, and the changes since the look `before`."""

    name: str
    address: str
    version: str
    look: LiveStatistics
    before: LiveStatistics | None
    servers: tuple[ServerLine, ...]
    digests: DigestRates
    rules: RuleReport
    was_restarted: bool = False

    @property
    def span_s(self) -> float | None:
        """The time since the previous look; None without one."""
        return None if self.before is None else self.look.taken_at - self.before.taken_at

    def per_s(self, counter: str) -> float | None:
        """Return the growth of a counter per second; None if it is not known."""
        before = self.before.counters.get(counter) if self.before else None
        return rate(before, self.look.counters.get(counter), self.span_s)

    @property
    def hostgroups(self) -> tuple[ServerLine, ...]:
        """Sums of the hostgroups that have more than one server."""
        return hostgroup_lines(self.servers)


class Meter:
    """Turns each look into a view, and keeps the look to compare it with the next one."""

    def __init__(
        self, name: str, address: str, hostgroup_names: Mapping[int, str] = MappingProxyType({})
    ) -> None:
        self._name = name
        self._address = address
        self._hostgroup_names = hostgroup_names
        self._last: LiveStatistics | None = None
        self._digest_meter = DigestMeter(hostgroup_names)
        self._digests = DigestRates()

    def advance(self, look: LiveStatistics, version: str) -> View:
        """Return the view after a look."""
        last = self._last
        was_restarted = last is not None and look.started_at > last.started_at + _RESTART_S
        if was_restarted:
            last = None
            self._digest_meter = DigestMeter(self._hostgroup_names)
            self._digests = DigestRates()
        if look.digests is not None:
            self._digests = self._digest_meter.advance(look.digests)
        elif look.state.every_s is None:
            self._digests = DigestRates()
        span = None if last is None else look.taken_at - last.taken_at
        earlier = {} if last is None else {server.key: server for server in last.servers}
        self._last = look
        return View(
            name=self._name,
            address=self._address,
            version=version,
            look=look,
            before=last,
            servers=tuple(
                replace(
                    _server(server, earlier.get(server.key), span),
                    hostgroup_name=self._hostgroup_names.get(server.hostgroup, ""),
                )
                for server in look.servers
            ),
            digests=self._digests,
            rules=rule_report(
                self._name, self._address, version, look.rules, last.rules if last else None
            ),
            was_restarted=was_restarted,
        )


def _server(now: ServerCounters, before: ServerCounters | None, span: float | None) -> ServerLine:
    # A query of the _reset table sets all counters of a server to 0.
    if before is None or were_cleared(before.reading, now.reading):
        return ServerLine(now)
    return ServerLine(
        now,
        rate(before.queries, now.queries, span),
        rate(before.bytes_sent, now.bytes_sent, span),
        rate(before.bytes_recv, now.bytes_recv, span),
        rate(before.conn_err, now.conn_err, span),
    )


def hostgroup_lines(servers: Iterable[ServerLine]) -> tuple[ServerLine, ...]:
    """Return the sums of the hostgroups with more than one server: a single server is the sum."""
    groups: dict[int, list[ServerLine]] = {}
    for line in servers:
        groups.setdefault(line.counters.hostgroup, []).append(line)
    return tuple(_hostgroup_line(lines) for lines in groups.values() if len(lines) > 1)


def _hostgroup_line(lines: Sequence[ServerLine]) -> ServerLine:
    servers = [line.counters for line in lines]
    counters = zip(*(server[4:-1] for server in servers), strict=True)
    return ServerLine(
        ServerCounters._make((servers[0].hostgroup, "", 0, "", *map(sum, counters), 0)),
        _sum(line.queries_per_s for line in lines),
        _sum(line.sent_per_s for line in lines),
        _sum(line.recv_per_s for line in lines),
        hostgroup_name=lines[0].hostgroup_name,
        servers=len(lines),
        online=sum(server.status == "ONLINE" for server in servers),
    )


def _sum(rates: Iterable[float | None]) -> float | None:
    listed = list(rates)
    return None if None in listed else sum(value or 0.0 for value in listed)


def notes_of(view: View) -> Iterator[str]:
    """Yield remarks on the numbers of a view, the gravest first."""
    if view.was_restarted:
        yield "ProxySQL was restarted: rates start over"
    elif view.rules.was_reloaded:
        yield "rules were loaded: their hits restarted at 0"
    digests, state = view.digests, view.look.state
    copy = f"one reading takes ProxySQL about {time_text(state.look_s * 1_000_000)}"
    if not state.is_on:
        yield NOT_COUNTING
    if state.every_s is None:
        yield f"digests are not read: {size_text(state.memory)}, {copy}; see digest top"
    elif state.is_rare:
        yield f"digests are read every {state.every_s:.0f} s: {copy}"
    if digests.was_cleared:
        yield "the digest counters were cleared: they restarted at 0"
    if digests.is_cut:
        yield (
            f"{digests.busy:,} digest entries were hit; rates are shown for those with the most"
            " time"
        )


# Digests ------------------------------------------------------------------------------------------
_MOST_KNOWN = 50_000
"""Entries whose counters are kept."""


@dataclass(frozen=True)
class DigestLine:
    """A digest in one hostgroup, with its rates between two looks.

    Rates are None before the second look.
    Units: times in microseconds, rates per second.
    """

    digest: str
    """The digest."""
    hostgroup: int
    """The hostgroup; -1 is the query cache."""
    text: str
    """The beginning of the digest text."""
    schemanames: tuple[str, ...]
    """The schemas, sorted."""
    usernames: tuple[str, ...]
    """The users, sorted."""
    count_star: int
    """The number of calls since the counters began."""
    sum_time: int
    """The time of these calls."""
    calls_per_s: float | None = None
    """The rate of calls."""
    time_per_s: float | None = None
    """The query time per second."""
    share: float | None = None
    """The part in the query time of all digests, from 0 to 1."""
    hostgroup_name: str = ""
    """The name of the hostgroup; '' if the files have none."""

    @property
    def average(self) -> float | None:
        """Time of a call between the looks; if there was no call, since the counters began."""
        if self.calls_per_s and self.time_per_s is not None:
            return self.time_per_s / self.calls_per_s
        return self.sum_time / self.count_star if self.count_star else None


@dataclass(frozen=True)
class DigestRates:
    """The lines of one look."""

    lines: tuple[DigestLine, ...] = ()
    """A line for each digest in each hostgroup."""
    busy: int = 0
    """The number of entries that were hit."""
    is_cut: bool = False
    """Whether the look has fewer entries than were hit."""
    was_cleared: bool = False
    """Whether the counters were cleared since the previous look."""


class DigestMeter:
    """Turns consecutive looks into rates."""

    def __init__(self, hostgroup_names: Mapping[int, str] = MappingProxyType({})) -> None:
        self._hostgroup_names = hostgroup_names
        self._known: dict[tuple[int, str, str, str, str], SeenDigest] = {}
        self._last: DigestLook | None = None

    def advance(self, look: DigestLook) -> DigestRates:
        """Return the rates since the previous look."""
        last = self._last
        was_cleared = last is not None and self._is_cleared(last, look)
        if was_cleared:
            self._known = {}
        groups: dict[tuple[str, int], list[SeenDigest]] = {}
        for entry in look.entries:
            groups.setdefault((entry.digest, entry.hostgroup), []).append(entry)
        span = None if last is None else look.taken_at - last.taken_at
        since = None if last is None else last.clock
        whole_time = look.whole.sum_time
        if last is not None and not was_cleared:
            whole_time -= last.whole.sum_time
        lines = tuple(
            self._line(entries, span, since, whole_time, was_cleared=was_cleared)
            for entries in groups.values()
        )
        self._remember(look)
        is_cut = look.is_cut and span is not None
        return DigestRates(lines, look.busy, is_cut, was_cleared)

    def _is_cleared(self, last: DigestLook, look: DigestLook) -> bool:
        """Return whether the counters were cleared: ProxySQL clears all digests at once."""
        sums = [
            CounterPair(reading.whole.entries, reading.whole.count_star) for reading in (last, look)
        ]
        if were_cleared(*sums):
            return True
        return any(
            were_cleared(_reading(known), _reading(entry))
            for entry in look.entries
            if (known := self._known.get(entry.key)) is not None
        )

    def _line(
        self,
        entries: list[SeenDigest],
        span: float | None,
        since: int | None,
        whole_time: int,
        *,
        was_cleared: bool,
    ) -> DigestLine:
        calls = time = 0
        for entry in entries:
            known = self._known.get(entry.key)
            if known is not None:
                calls += entry.count_star - known.count_star
                time += entry.sum_time - known.sum_time
            elif was_cleared or (since is not None and entry.first_seen >= since - JITTER_S):
                calls += entry.count_star
                time += entry.sum_time
        return DigestLine(
            digest=entries[0].digest,
            hostgroup=entries[0].hostgroup,
            text=entries[0].digest_text,
            schemanames=_distinct(entry.schemaname for entry in entries),
            usernames=_distinct(entry.username for entry in entries),
            count_star=sum(entry.count_star for entry in entries),
            sum_time=sum(entry.sum_time for entry in entries),
            calls_per_s=calls / span if span else None,
            time_per_s=time / span if span else None,
            share=time / whole_time if span and whole_time > 0 else None,
            hostgroup_name=self._hostgroup_names.get(entries[0].hostgroup, ""),
        )

    def _remember(self, look: DigestLook) -> None:
        if look.is_cut:
            # An entry that the look left out may have been hit meanwhile.
            self._known = {}
        for entry in look.entries:
            self._known.pop(entry.key, None)  # the newest come last
            self._known[entry.key] = entry
        for key in list(self._known)[: max(len(self._known) - _MOST_KNOWN, 0)]:
            del self._known[key]
        self._last = look


def _reading(entry: SeenDigest) -> CounterPair:
    return CounterPair(entry.count_star, entry.sum_time, entry.first_seen)


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))
