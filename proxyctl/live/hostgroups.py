"""Servers of the live view, and what the servers of a hostgroup add up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.live.look import ServerCounters


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
    total = 0.0
    for rate in rates:
        if rate is None:
            return None
        total += rate
    return total
