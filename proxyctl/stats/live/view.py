"""What `top` shows: rates and states, computed from a look and the previous one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.stats.counters import rate, were_cleared
from proxyctl.stats.live.model import DigestState, Look, ServerCounters
from proxyctl.stats.live.rates import DigestLine, DigestMeter, DigestRates
from proxyctl.stats.model import NOT_COUNTING
from proxyctl.stats.rule_hits import RuleHits, RuleReport, rule_report
from proxyctl.stats.units import size_text, time_text

_RESTART_S = 3
"""A start that moved by more is another one: uptimes are whole seconds, and looks take time."""


@dataclass(frozen=True)
class ServerLine:
    """A server in one hostgroup. Shape: rates are None where there is no look to compare with."""

    counters: ServerCounters
    queries_per_s: float | None = None
    sent_per_s: float | None = None
    recv_per_s: float | None = None
    errors_per_s: float | None = None


class HostgroupCounters(NamedTuple):
    """Sums over the servers of a hostgroup. Shape: `others` are those that are not ONLINE."""

    hostgroup: int
    online: int
    others: int
    conn_used: int
    conn_free: int
    conn_ok: int
    conn_err: int


@dataclass(frozen=True)
class HostgroupLine:
    """A hostgroup. Shape: a rate is None unless it is known of all of its servers."""

    counters: HostgroupCounters
    queries_per_s: float | None
    sent_per_s: float | None
    recv_per_s: float | None


@dataclass(frozen=True)
class Totals:
    """The whole instance. Units: memory in bytes, rates a second; None where it is not known."""

    uptime_s: int | None
    queries_per_s: float | None
    slow_per_s: float | None
    in_per_s: float | None
    out_per_s: float | None
    clients: int | None
    clients_busy: int | None
    transactions: int | None
    conn_used: int
    conn_free: int
    memory: int | None
    digest_memory: int


@dataclass(frozen=True)
class View:
    """One state of the view. Shape: `span_s` is the time since the look before, None without."""

    name: str
    address: str
    version: str
    span_s: float | None
    totals: Totals
    servers: tuple[ServerLine, ...]
    digests: DigestRates
    digest_state: DigestState
    rules: RuleReport
    was_restarted: bool = False

    @property
    def hostgroups(self) -> tuple[HostgroupLine, ...]:
        """Sums of the hostgroups that have more than one server."""
        return hostgroup_lines(self.servers)

    @property
    def digest_lines(self) -> tuple[DigestLine, ...]:
        """Digests of the last look at them."""
        return self.digests.lines

    @property
    def rule_lines(self) -> tuple[RuleHits, ...]:
        """Rules in the order in which they are tried."""
        return self.rules.rules


class Meter:
    """Turns each look into a view, and keeps it to compare the next one with."""

    def __init__(self, name: str, address: str) -> None:
        self._name = name
        self._address = address
        self._last: Look | None = None
        self._digest_meter = DigestMeter()
        self._digests = DigestRates()

    def advance(self, look: Look, version: str) -> View:
        """Return the view after a look."""
        last = self._last
        was_restarted = last is not None and _is_restarted(last, look)
        if was_restarted:
            last = None
            self._digest_meter, self._digests = DigestMeter(), DigestRates()
        if look.digests is not None:
            self._digests = self._digest_meter.advance(look.digests)
        elif look.state.every_s is None:
            self._digests = DigestRates()
        span = None if last is None else look.taken_at - last.taken_at
        earlier = {} if last is None else {one.key: one for one in last.servers}
        self._last = look
        return View(
            name=self._name,
            address=self._address,
            version=version,
            span_s=span,
            totals=_totals(look, last, span),
            servers=tuple(_server(one, earlier.get(one.key), span) for one in look.servers),
            digests=self._digests,
            digest_state=look.state,
            rules=rule_report(
                self._name, self._address, version, look.rules, last.rules if last else None
            ),
            was_restarted=was_restarted,
        )


def _is_restarted(last: Look, look: Look) -> bool:
    return look.started_at > last.started_at + _RESTART_S


def _server(now: ServerCounters, before: ServerCounters | None, span: float | None) -> ServerLine:
    # A read of the _reset table sets all counters of a server to 0 at once.
    if before is None or were_cleared(before.reading, now.reading):
        return ServerLine(now)
    return ServerLine(
        now,
        rate(before.queries, now.queries, span),
        rate(before.bytes_sent, now.bytes_sent, span),
        rate(before.bytes_recv, now.bytes_recv, span),
        rate(before.conn_err, now.conn_err, span),
    )


def _totals(look: Look, last: Look | None, span: float | None) -> Totals:
    now = look.counters
    before = last.counters if last else {}

    def per_s(name: str) -> float | None:
        return rate(before.get(name), now.get(name), span)

    return Totals(
        uptime_s=now.get("ProxySQL_Uptime"),
        queries_per_s=per_s("Questions"),
        slow_per_s=per_s("Slow_queries"),
        in_per_s=per_s("Queries_frontends_bytes_recv"),
        out_per_s=per_s("Queries_frontends_bytes_sent"),
        clients=now.get("Client_Connections_connected"),
        clients_busy=now.get("Client_Connections_non_idle"),
        transactions=now.get("Active_Transactions"),
        conn_used=sum(one.conn_used for one in look.servers),
        conn_free=sum(one.conn_free for one in look.servers),
        memory=look.memory.get("jemalloc_resident") or None,
        digest_memory=look.state.memory,
    )


def hostgroup_lines(servers: Iterable[ServerLine]) -> tuple[HostgroupLine, ...]:
    """Return the hostgroups with more than one server: one alone is its own sum."""
    groups: dict[int, list[ServerLine]] = {}
    for line in servers:
        groups.setdefault(line.counters.hostgroup, []).append(line)
    return tuple(_line(hostgroup, lines) for hostgroup, lines in groups.items() if len(lines) > 1)


def _line(hostgroup: int, lines: Sequence[ServerLine]) -> HostgroupLine:
    held = [line.counters for line in lines]
    online = sum(one.status == "ONLINE" for one in held)
    return HostgroupLine(
        HostgroupCounters(
            hostgroup=hostgroup,
            online=online,
            others=len(held) - online,
            conn_used=sum(one.conn_used for one in held),
            conn_free=sum(one.conn_free for one in held),
            conn_ok=sum(one.conn_ok for one in held),
            conn_err=sum(one.conn_err for one in held),
        ),
        _sum(line.queries_per_s for line in lines),
        _sum(line.sent_per_s for line in lines),
        _sum(line.recv_per_s for line in lines),
    )


def _sum(rates: Iterable[float | None]) -> float | None:
    known = list(rates)
    return None if None in known else sum(one or 0.0 for one in known)


def notes_of(view: View) -> Iterator[str]:
    """Yield what a reader of the view has to know, a sentence each, the gravest first."""
    if view.was_restarted:
        yield "ProxySQL was restarted: rates begin again"
    elif view.rules.was_reloaded:
        yield "rules were loaded: their hits began at 0 again"
    digests, state = view.digests, view.digest_state
    copy = f"one look takes ProxySQL about {time_text(state.look_s * 1_000_000)}"
    if not state.is_on:
        yield NOT_COUNTING
    if state.every_s is None:
        yield f"digests are not read: {size_text(state.memory)}, {copy}; see digest top"
    elif state.is_rare:
        yield f"digests are read every {state.every_s:.0f} s: {copy}"
    if digests.was_cleared:
        yield "somebody cleared the digest counters: they began at 0 again"
    if digests.is_cut:
        yield f"{digests.busy:,} digest entries were hit: of those with most time there are rates"
