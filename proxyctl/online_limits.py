"""max_num_online_servers: a hostgroup with more servers ONLINE than that uses none of them. Pure.

Source: ProxySQL 2.7.1 and 3.0.0, run: weight and max_connections are nothing to the count, and a
server that is SHUNNED is not in it until it is back, be it by a LOAD that has it ONLINE.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from proxyctl.catalog import Layout, Value, Version
from proxyctl.cells import number
from proxyctl.errors import counted
from proxyctl.families import ServerColumns
from proxyctl.state import Rows

ATTRIBUTES = "mysql_hostgroup_attributes"
_SINCE = Version(2, 6, 3)
"""The first one that takes notice of it."""


def online_limits(layout: Layout, rows: Rows) -> dict[Value, int]:
    """Return max_num_online_servers by hostgroup; empty where ProxySQL takes no notice of it.

    `layout` and `rows`: of mysql_hostgroup_attributes.
    """
    if layout.version < _SINCE:
        return {}
    hostgroup, most = layout.index["hostgroup_id"], layout.index["max_num_online_servers"]
    return {number(row[hostgroup]): number(row[most]) or 0 for row in rows.values()}


def crowded(layout: Layout, servers: Rows, limits: Mapping[Value, int]) -> dict[Value, int]:
    """Return how many servers are ONLINE, by hostgroup, where that is more than there may be.

    `layout`: of `servers`.
    """
    columns = ServerColumns.of(layout)
    online = Counter(
        row[columns.hostgroup]
        for row in servers.values()
        if str(row[columns.status]).upper() == "ONLINE"
    )
    return {
        hostgroup: online[hostgroup]
        for hostgroup, most in limits.items()
        if online[hostgroup] > most
    }


def crowd_text(online: int, most: int) -> str:
    """Return what comes of it: `3 servers ONLINE, more than max_num_online_servers (2): ...`."""
    return (
        f"{counted(online, 'server')} ONLINE, more than max_num_online_servers ({most}):"
        " ProxySQL would use none of them"
    )
