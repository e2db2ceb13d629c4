"""The failures that the monitor's logs show now. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from proxyctl.doctor.facts import Facts, MonitorLog
from proxyctl.state.families import Node

CONNECTING = ("connect", "ping")
INTERVALS = {
    "read_only": "mysql-monitor_read_only_interval",
    "replication_lag": "mysql-monitor_replication_lag_interval",
    "galera": "mysql-monitor_galera_healthcheck_interval",
    "group_replication": "mysql-monitor_groupreplication_healthcheck_interval",
}
"""Checks of some servers only, and the variables with their intervals."""
_OUTDATED_S = 30
_DENIED = (
    "access denied",
    "using password",
    "authentication",
    "is not allowed to connect",
    "insecure transport",
    "password has expired",
)
"""Words in the answer of a server that refuses the account."""
_NO_CONNECTION = ("creating new connection", "can't connect", "system error")
"""Words in the error of a check that got no connection. A check may find it before connect does."""


def failing(facts: Facts, names: Iterable[str]) -> list[MonitorLog]:
    """Return the newest errors of these logs, one for each server in service.

    A failed connection is outdated after a later successful ping, unless the account was refused: a
    ping uses an older connection. A failed check is outdated if the next line is overdue: the
    server has left the family, and its line stays for two hours.
    """
    wanted = [log for log in facts.monitor_logs if _failed_at(log) in names]
    in_service = {one.node for one in facts.mysql.servers if not one.is_out_of_service}
    succeeded: dict[Node, float] = {}
    for log in wanted:
        if log.error is None:
            succeeded[log.node] = max(succeeded.get(log.node, 0), log.at)
    found: dict[Node, MonitorLog] = {}
    for log in wanted:
        if log.error is None or log.node not in in_service or _is_outdated(facts, log):
            continue
        if is_denied(log.error):
            found[log.node] = log
        elif succeeded.get(log.node, 0) <= log.at:
            found.setdefault(log.node, log)
    return list(found.values())


def _failed_at(log: MonitorLog) -> str:
    """Return the log, or `connect` for a check that got no connection."""
    is_lost = any(words in (log.error or "").lower() for words in _NO_CONNECTION)
    return "connect" if is_lost else log.log


def is_denied(error: str) -> bool:
    """Return whether the server refused the monitor's account."""
    return any(words in error.lower() for words in _DENIED)


def _is_outdated(facts: Facts, log: MonitorLog) -> bool:
    interval = INTERVALS.get(log.log)
    if interval is None:
        return False
    return facts.now - log.at > max(_OUTDATED_S, 5 * facts.number(interval) / 1000)


def by_error(logs: Iterable[MonitorLog]) -> dict[str, list[MonitorLog]]:
    """Return the failures by their error: one cause, with the servers that it hits."""
    found: dict[str, list[MonitorLog]] = {}
    for log in logs:
        # Errors about a name hold it; the cause is the same for all of them.
        error = (log.error or "").replace(f"'{log.node[0]}'", "'...'")
        found.setdefault(error, []).append(log)
    return found
