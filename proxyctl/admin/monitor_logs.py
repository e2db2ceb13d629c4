"""Reads the newest line that the monitor's logs have of each server."""

from __future__ import annotations

from proxyctl.admin.client import AdminClient
from proxyctl.admin.whole_answer import query_whole
from proxyctl.doctor.facts import MonitorLog

_LOGS = {
    "connect": "connect_error",
    "ping": "ping_error",
    "read_only": "error",
    "replication_lag": "error",
    "galera": "error",
    "group_replication": "error",
}
"""Logs, and the column of their error."""


def read_monitor_logs(client: AdminClient) -> tuple[MonitorLog, ...]:
    """Return the newest line a log and server, and since when it fails. Raises: InstanceError."""
    newest = " UNION ALL ".join(_newest(*one) for one in _LOGS.items())
    found = query_whole(client, newest, width=6)
    return tuple(
        MonitorLog(
            str(log),
            (str(host), client.number(port)),
            client.number(at) / 1e6,
            error,
            client.number(since) / 1e6,
        )
        for log, host, port, at, error, since in found
    )


def _newest(log: str, error: str) -> str:
    # SQLite gives the other columns of the row that has the maximum. Window functions are not used:
    # this ProxySQL may be of 2018.
    table = f"monitor.mysql_server_{log}_log"
    return (
        f"SELECT '{log}', l.hostname, l.port, max(l.time_start_us), l.{error},"
        f" (SELECT min(f.time_start_us) FROM {table} f WHERE f.hostname=l.hostname"
        " AND f.port=l.port AND f.time_start_us > s.ok)"
        f" FROM {table} l JOIN (SELECT hostname, port,"
        f" max(CASE WHEN {error} IS NULL THEN time_start_us ELSE 0 END) AS ok FROM {table}"
        " GROUP BY hostname, port) s ON s.hostname=l.hostname AND s.port=l.port"
        " GROUP BY l.hostname, l.port"
    )
