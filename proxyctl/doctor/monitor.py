"""Findings of the monitor: servers that it cannot check, and servers out of service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.doctor.facts import Facts, MonitorLog
from proxyctl.doctor.finding import Finding, duration, listed
from proxyctl.state.families import Node, node_text

_CONNECTING = ("connect", "ping")
_INTERVALS = {
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


def find(facts: Facts) -> Iterator[Finding]:
    """Yield the failures of the monitor, and the servers that take no queries."""
    if not facts.is_on("mysql-monitor_enabled"):
        if facts.mysql.servers:
            yield Finding(
                "monitor-off",
                "mysql-monitor_enabled",
                "the monitor is off: a failed server shows only in failing queries, and no node of"
                " a cluster is moved",
                "variables: {mysql-monitor_enabled: true}",
            )
        yield from _out_of_service(facts, failing=set())
        return
    connecting = _failing(facts, _CONNECTING)
    yield from _cannot_connect(facts, connecting)
    lost = {log.node for log in connecting}
    checks = [log for log in _failing(facts, _INTERVALS) if log.node not in lost]
    yield from _failed_checks(facts, checks)
    yield from _out_of_service(facts, failing=lost | {log.node for log in checks})


def _cannot_connect(facts: Facts, logs: Iterable[MonitorLog]) -> Iterator[Finding]:
    user = facts.variables.get("mysql-monitor_username", "monitor")
    for error, found in _by_error(logs).items():
        since = _how_long(facts, found)
        if _is_denied(error):
            yield Finding(
                "monitor-denied",
                _where(found),
                f"access denied to the monitor's account {user!r} for {since}: {error}",
                "set mysql-monitor_password (`{env: NAME}`) to the password of the account, or"
                f" create it: CREATE USER '{user}'@'%' IDENTIFIED BY '...';"
                f" GRANT REPLICATION CLIENT ON *.* TO '{user}'@'%'",
            )
        else:
            yield Finding(
                "backend-unreachable",
                _where(found),
                f"the monitor has had no connection for {since}: {error}",
                "start the server, check its name and the network in between, or delete it from"
                " mysql_servers",
            )


def _failed_checks(facts: Facts, logs: Iterable[MonitorLog]) -> Iterator[Finding]:
    user = facts.variables.get("mysql-monitor_username", "monitor")
    for error, found in _by_error(logs).items():
        check = found[0].log.replace("_", " ")
        yield Finding(
            "monitor-check-failed",
            _where(found),
            f"the monitor's {check} check failed for {_how_long(facts, found)}: {error}",
            f"grant the account {user!r} the privileges of the check (REPLICATION CLIENT, and"
            " SELECT on performance_schema), or take the server out of the family",
        )


def _out_of_service(facts: Facts, failing: set[Node]) -> Iterator[Finding]:
    """Yield the servers that take no queries although the monitor reaches them."""
    for node, rows in facts.rows_by_node.items():
        hostgroups = ", ".join(str(row.hostgroup) for row in rows)
        statuses = {row.status for row in rows}
        if all(row.is_out_of_service for row in rows):
            how = "OFFLINE_SOFT" if "OFFLINE_SOFT" in statuses else "max_connections 0"
            yield Finding(
                "node-drained",
                node_text(node),
                f"takes no new connections: {how} in hostgroup {hostgroups}",
                f"`proxyctl nodes restore {node_text(node)}` if `proxyctl nodes drain` did it",
            )
        elif "SHUNNED" in statuses and "ONLINE" not in statuses and node not in failing:
            yield Finding(
                "server-shunned",
                node_text(node),
                f"takes no queries: SHUNNED in hostgroup {hostgroups}",
                "check its errors in stats_mysql_errors and its lag. ProxySQL tries it again with"
                " the next query, unless SHUNNED was loaded from mysql_servers",
            )


def _failing(facts: Facts, names: Iterable[str]) -> list[MonitorLog]:
    """Return the newest errors of these logs, one for each server in service.

    A failed connection is outdated after a later successful ping, unless the account was refused: a
    ping uses an older connection. A failed check is outdated if the next line is overdue: the
    server has left the family, and its line stays for two hours.
    """
    wanted = [log for log in facts.monitor_logs if log.log in names]
    in_service = {one.node for one in facts.mysql.servers if not one.is_out_of_service}
    succeeded: dict[Node, float] = {}
    for log in wanted:
        if log.error is None:
            succeeded[log.node] = max(succeeded.get(log.node, 0), log.at)
    found: dict[Node, MonitorLog] = {}
    for log in wanted:
        if log.error is None or log.node not in in_service or _is_outdated(facts, log):
            continue
        if _is_denied(log.error):
            found[log.node] = log
        elif succeeded.get(log.node, 0) <= log.at:
            found.setdefault(log.node, log)
    return list(found.values())


def _is_denied(error: str) -> bool:
    return any(words in error.lower() for words in _DENIED)


def _is_outdated(facts: Facts, log: MonitorLog) -> bool:
    interval = _INTERVALS.get(log.log)
    if interval is None:
        return False
    return facts.now - log.at > max(_OUTDATED_S, 5 * facts.number(interval) / 1000)


def _by_error(logs: Iterable[MonitorLog]) -> dict[str, list[MonitorLog]]:
    found: dict[str, list[MonitorLog]] = {}
    for log in logs:
        # Errors about a name hold it; the cause is the same for all of them.
        error = (log.error or "").replace(f"'{log.node[0]}'", "'...'")
        found.setdefault(error, []).append(log)
    return found


def _where(logs: Iterable[MonitorLog]) -> str:
    return listed(sorted(node_text(log.node) for log in logs))


def _how_long(facts: Facts, logs: Iterable[MonitorLog]) -> str:
    return duration(max(facts.now - min(log.failing_since for log in logs), 0))
