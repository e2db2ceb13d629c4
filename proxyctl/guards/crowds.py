"""Hostgroups in which an apply brings more servers ONLINE than max_num_online_servers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proxyctl.catalog import Layout, Value
from proxyctl.families import Family
from proxyctl.guards.serving import once_all_are_well
from proxyctl.online_limits import crowded
from proxyctl.state import Rows


@dataclass(frozen=True)
class ServersAt:
    """The servers at RUNTIME, and max_num_online_servers by hostgroup; `layout`: of the servers."""

    layout: Layout
    servers: Rows
    most: Mapping[Value, int]


@dataclass(frozen=True)
class Crowd:
    """How many servers would be ONLINE in a hostgroup, and how many there may be."""

    online: int
    most: int


def new_crowds(now: ServersAt, then: ServersAt, families: Iterable[Family]) -> dict[Value, Crowd]:
    """Return the hostgroups that are not crowded now and would be, at once or later.

    Those that are SHUNNED or kept out now are counted as if they were well: ProxySQL would use none
    on the day on which they are back. Where this count does not grow, nor the limit fall, that day
    is nothing to the apply, unless its LOAD brings it: what is loaded ONLINE is SHUNNED no more.
    """
    if not then.most:
        return {}
    families = list(families)
    count_now = once_all_are_well(now.layout, now.servers, families)
    count = once_all_are_well(then.layout, then.servers, families)
    are_crowded = crowded(now.layout, now.servers, now.most)
    at_once = crowded(then.layout, then.servers, then.most)
    found: dict[Value, Crowd] = {}
    for hostgroup, most in then.most.items():
        there, before = count[hostgroup], now.most.get(hostgroup)
        is_worse = there > count_now[hostgroup] or before is None or most < before
        later = there > most and is_worse
        if (later or hostgroup in at_once) and hostgroup not in are_crowded:
            found[hostgroup] = Crowd(max(there, at_once.get(hostgroup, 0)), most)
    return found
