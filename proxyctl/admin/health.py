"""Reads how an instance is doing: errors, failed connections, servers that are shunned."""

from __future__ import annotations

import time

from proxyctl.admin.client import AdminClient
from proxyctl.fleet.health import Look

_ERRORS = (
    "SELECT (SELECT ifnull(sum(count_star), 0) FROM stats_mysql_errors)"
    " + (SELECT ifnull(sum(Variable_Value), 0) FROM stats_mysql_global"
    " WHERE Variable_Name='generated_error_packets'),"
    " (SELECT ifnull(sum(ConnERR), 0) FROM stats_mysql_connection_pool)"
)
"""Errors of servers, and those that ProxySQL gives by itself: who is refused, or finds no server.

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
    counted = client.query(_ERRORS, width=2)
    if len(counted) != 1:
        raise client.strange("not one row", _ERRORS)
    errors, failed = counted[0]
    return Look(time.monotonic(), client.number(errors), client.number(failed), shunned)
