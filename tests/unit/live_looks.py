"""Looks at statistics, for tests."""

from __future__ import annotations

from typing import Any

from proxyctl.stats.live.view import DigestLook, DigestState, LiveStatistics, ServerCounters
from proxyctl.stats.model import Load, SeenDigest
from proxyctl.stats.rule_hits import RuleHitsSample

CLOCK = 1_800_000_000
"""The instance's time at the moment 0 of the looks."""

RULE = {"rule_id": 1, "match_digest": "^SELECT", "destination_hostgroup": 20, "apply": 1}
STATE = DigestState(memory=1_000, look_s=0.1, every_s=2.0, is_rare=False, is_on=True)


def server(**other: Any) -> ServerCounters:
    cells = {
        **{"hostgroup": 10, "hostname": "db1", "port": 3306, "status": "ONLINE"},
        **{"conn_used": 2, "conn_free": 3, "conn_ok": 5, "conn_err": 0, "queries": 100},
        **{"bytes_sent": 1_000, "bytes_recv": 2_000, "latency_us": 400},
    }
    return ServerCounters(**{**cells, **other})


def entry(digest: str = "0x1", count: int = 10, time: int = 1_000, **other: Any) -> SeenDigest:
    cells = {
        **{"hostgroup": 10, "schemaname": "shop", "username": "app", "client_address": ""},
        **{"digest": digest, "digest_text": "SELECT ?", "first_seen": CLOCK - 100},
        **{"last_seen": CLOCK, "min_time": 1, "max_time": time},
    }
    return SeenDigest(**{**cells, **other}, count_star=count, sum_time=time)


def digest_look(
    at: float, *entries: SeenDigest, whole: Load | None = None, is_cut: bool = False
) -> DigestLook:
    everything = Load(
        len(entries),
        sum(digest.count_star for digest in entries),
        sum(digest.sum_time for digest in entries),
    )
    return DigestLook(
        taken_at=at,
        clock=CLOCK + int(at),
        entries=entries,
        busy=len(entries),
        is_cut=is_cut,
        whole=whole or everything,
    )


def look(at: float, **other: Any) -> LiveStatistics:
    """A look at a ProxySQL that had been running for 1,000 seconds at the moment 0."""
    counters = {"ProxySQL_Uptime": 1_000 + int(at), **other.pop("counters", {})}
    found: dict[str, Any] = {
        **{"memory": {}, "servers": (server(),), "state": STATE},
        **{"rules": RuleHitsSample(at, {1: 10}, {1: RULE}, 1, CLOCK)},
        **other,
    }
    return LiveStatistics(taken_at=at, counters=counters, **found)
