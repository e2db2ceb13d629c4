"""Guard: no time left to pings, so that ProxySQL uses no server without a limit of its own. Pure.

Source: ProxySQL 2.5.5, 2.7.1 and 3.0.0, run: 0 does not mean without limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.catalog import Layout, Value
from proxyctl.catalog.variable_rules import atoi
from proxyctl.compare import Difference
from proxyctl.guards.danger import Danger
from proxyctl.guards.hostgroups import EMPTY_HOSTGROUP
from proxyctl.guards.serving import serving
from proxyctl.state import Rows

MOST_LATENCY = "mysql-default_max_latency_ms"


def leaves_no_time(changes: Iterable[Difference]) -> bool:
    """Return whether these changes of variables at RUNTIME take the time of pings away."""
    return any(
        change.key[0] == MOST_LATENCY
        and change.desired is not None
        and atoi(str(change.desired[1])) <= 0
        and not (change.current is not None and atoi(str(change.current[1])) <= 0)
        for change in changes
    )


def left_without_limit(layout: Layout, now: Rows, then: Rows) -> Rows:
    """Return the servers without a max_latency_ms that had one, or take over from one that has.

    `now` and `then`: RUNTIME before and after. The latter are all that a hostgroup is left with.
    """
    hostgroup, most = layout.index["hostgroup_id"], layout.index["max_latency_ms"]

    def limited(servers: Rows) -> frozenset[Value]:
        return serving(layout, {key: row for key, row in servers.items() if row[most]})

    losing = limited(now) - limited(then)
    return {
        key: row
        for key, row in then.items()
        if not row[most] and (row[hostgroup] in losing or (key in now and now[key][most]))
    }


def servers_without_time(layout: Layout, servers: Rows) -> Iterator[Danger]:
    """Yield that hostgroups stop whose servers have no max_latency_ms; `servers`: those to be."""
    hostgroup, most = layout.index["hostgroup_id"], layout.index["max_latency_ms"]
    found = sorted({row[hostgroup] for row in servers.values() if not row[most]}, key=str)
    if found:
        plural = "s" * (len(found) > 1)
        yield Danger(
            EMPTY_HOSTGROUP,
            f"{MOST_LATENCY} 0 is no time at all: ProxySQL would use no server without a"
            f" max_latency_ms, such as those of hostgroup{plural} {', '.join(map(str, found))}",
        )
