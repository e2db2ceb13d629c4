"""Reads how an instance is doing: errors, failed connections, servers that are shunned."""

from __future__ import annotations

import time

from proxyctl.admin.client import AdminClient
from proxyctl.fleet.health import Look

_COUNTED = (
    "SELECT (SELECT ifnull(sum(count_star), 0) FROM stats_mysql_errors)"
    " + (SELECT ifnull(sum(Variable_Value), 0) FROM stats_mysql_global"
    " WHERE Variable_Name='generated_error_packets'),"
    " (SELECT ifnull(sum(ConnERR), 0) FROM stats_mysql_connection_pool),"
    " (SELECT max(Variable_Value) FROM stats_mysql_global WHERE Variable_Name='ProxySQL_Uptime')"
)
"""Errors of servers, and those that ProxySQL gives by itself: who is refused, or finds no server;
failed connections; for how long ProxySQL runs.

Neither counts the other's, nor the error_msg of a rule. Source: ProxySQL 2.5.5, 2.7.1 and 3.0, run.
"""
_SHUNNED = (
    "SELECT hostgroup, srv_host, srv_port FROM stats_mysql_connection_pool"
    " WHERE status LIKE 'SHUNNED%' AND (srv_host, srv_port) NOT IN"
    " (SELECT srv_host, srv_port FROM stats_mysql_connection_pool WHERE status='ONLINE')"
)
"""A node that waits beside a Galera writer is SHUNNED there, and ONLINE where it reads."""


def read_health(client: AdminClient) -> Look:
    """Return what is counted now. Sends SELECTs only. Raises: InstanceError."""
    shunned = frozenset(
        f"{hostgroup} {host}:{port}" for hostgroup, host, port in client.query(_SHUNNED, width=3)
    )
    asked_s = time.monotonic()
    counted = client.query(_COUNTED, width=3)
    at_s = time.monotonic()
    if len(counted) != 1:
        raise client.strange("not one row", _COUNTED)
    errors, failed, uptime = map(client.number, counted[0])
    # The uptime is in whole seconds, and as old as the answer at most.
    began_s = (asked_s - uptime - 1, at_s - uptime)
    return Look(at_s, errors, failed, shunned, began_s)
