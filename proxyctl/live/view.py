"""What the live view shows: rates and states, made of a look and the one before it."""

from __future__ import annotations

from dataclasses import dataclass

from proxyctl.digests.rules_hits import RuleHits, RuleReport, rule_report
from proxyctl.live.digest_rates import DigestLine, DigestMeter, DigestRates
from proxyctl.live.hostgroups import HostgroupLine, ServerLine, hostgroup_lines
from proxyctl.live.look import DigestState, Look, ServerCounters

_RESTART_S = 3
"""A start that moved by more is another one: uptimes are whole seconds, and looks take time."""


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
    """Makes a view of each look, and keeps what the next one is compared with."""

    def __init__(self, name: str, address: str) -> None:
        self._name = name
        self._address = address
        self._last: Look | None = None
        self._digest_meter = DigestMeter()
        self._digests = DigestRates()

    def advance(self, look: Look, version: str) -> View:
        """Return what there is to show after a look."""
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


def _rate(now: int | None, before: int | None, span: float | None) -> float | None:
    """Return the rate; None where the counter went down: somebody began it again."""
    if now is None or before is None or not span or now < before:
        return None
    return (now - before) / span


def _server(now: ServerCounters, before: ServerCounters | None, span: float | None) -> ServerLine:
    # A read of the _reset table sets all counters of a server to 0 at once.
    if before is None or now.queries < before.queries or now.conn_ok < before.conn_ok:
        return ServerLine(now)
    return ServerLine(
        now,
        _rate(now.queries, before.queries, span),
        _rate(now.bytes_sent, before.bytes_sent, span),
        _rate(now.bytes_recv, before.bytes_recv, span),
        _rate(now.conn_err, before.conn_err, span),
    )


def _totals(look: Look, last: Look | None, span: float | None) -> Totals:
    now = look.counters
    before = last.counters if last else {}

    def rate(name: str) -> float | None:
        return _rate(now.get(name), before.get(name), span)

    return Totals(
        uptime_s=now.get("ProxySQL_Uptime"),
        queries_per_s=rate("Questions"),
        slow_per_s=rate("Slow_queries"),
        in_per_s=rate("Queries_frontends_bytes_recv"),
        out_per_s=rate("Queries_frontends_bytes_sent"),
        clients=now.get("Client_Connections_connected"),
        clients_busy=now.get("Client_Connections_non_idle"),
        transactions=now.get("Active_Transactions"),
        conn_used=sum(one.conn_used for one in look.servers),
        conn_free=sum(one.conn_free for one in look.servers),
        memory=look.memory.get("jemalloc_resident") or None,
        digest_memory=look.state.memory,
    )
