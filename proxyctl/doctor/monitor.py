"""Findings of the monitor: servers that it cannot check, and servers out of service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.doctor.checks import CONNECTING, INTERVALS, by_error, failing, is_denied
from proxyctl.doctor.facts import Facts, MonitorLog
from proxyctl.doctor.finding import Finding, duration
from proxyctl.doctor.hostgroups import without_others
from proxyctl.state.families import Node, node_text


def find(facts: Facts) -> Iterator[Finding]:
    """Yield the failures of the monitor, and the servers that take no queries."""
    if not facts.is_on("mysql-monitor_enabled"):
        if facts.mysql.servers:
            yield Finding(
                "monitor-off",
                "mysql-monitor_enabled",
                "the monitor is off: ProxySQL notices a failed server only when queries fail, and"
                " moves no node of a cluster",
                "variables: {mysql-monitor_enabled: true}",
            )
        yield from _out_of_service(facts, failing=set())
        return
    connecting = failing(facts, CONNECTING)
    yield from _cannot_connect(facts, connecting)
    lost = {log.node for log in connecting}
    checks = [log for log in failing(facts, INTERVALS) if log.node not in lost]
    yield from _failed_checks(facts, checks)
    yield from _out_of_service(facts, failing=lost | {log.node for log in checks})


def _cannot_connect(facts: Facts, logs: Iterable[MonitorLog]) -> Iterator[Finding]:
    user = facts.variables.get("mysql-monitor_username", "monitor")
    for error, found in by_error(logs).items():
        since, nodes = _how_long(facts, found), [log.node for log in found]
        harm = "".join(f"; {text}" for text in without_others(facts, nodes))
        if is_denied(error):
            yield Finding.of_servers(
                "monitor-denied",
                nodes,
                f"the monitor's account {user!r} has been refused for {since}: {error}{harm}",
                "set mysql-monitor_password (`{env: NAME}`) to the password of the account, or"
                f" create the account: CREATE USER '{user}'@'%' IDENTIFIED BY '...';"
                f" GRANT REPLICATION CLIENT ON *.* TO '{user}'@'%'",
            )
        else:
            yield Finding.of_servers(
                "backend-unreachable",
                nodes,
                f"the monitor has not been able to connect for {since}: {error}{harm}",
                "start the server, check its host name and the network, or delete it from"
                " mysql_servers",
            )


def _failed_checks(facts: Facts, logs: Iterable[MonitorLog]) -> Iterator[Finding]:
    user = facts.variables.get("mysql-monitor_username", "monitor")
    for error, found in by_error(logs).items():
        yield Finding.of_servers(
            "monitor-check-failed",
            [log.node for log in found],
            f"the monitor's {found[0].log} check has failed for {_how_long(facts, found)}: {error}",
            f"grant the account {user!r} the privileges that the check needs (REPLICATION CLIENT,"
            " and SELECT on performance_schema), or remove the server from the family",
        )


def _out_of_service(facts: Facts, failing: set[Node]) -> Iterator[Finding]:
    """Yield the servers that take no queries although the monitor reaches them."""
    drained: dict[str, list[Node]] = {}
    shunned: dict[str, list[Node]] = {}
    for node, rows in facts.rows_by_node.items():
        hostgroups = ", ".join(str(row.hostgroup) for row in rows)
        statuses = {row.status for row in rows}
        if all(row.is_out_of_service for row in rows):
            how = "OFFLINE_SOFT" if "OFFLINE_SOFT" in statuses else "max_connections 0"
            drained.setdefault(f"{how} in hostgroup {hostgroups}", []).append(node)
        elif "SHUNNED" in statuses and "ONLINE" not in statuses and node not in failing:
            shunned.setdefault(f"SHUNNED in hostgroup {hostgroups}", []).append(node)
    for how, nodes in drained.items():
        name = node_text(nodes[0]) if len(nodes) == 1 else "NODE"
        yield Finding.of_servers(
            "node-drained",
            nodes,
            f"takes no new connections: {how}",
            f"run `proxyctl nodes restore {name}` if `proxyctl nodes drain` did it",
        )
    for how, nodes in shunned.items():
        yield Finding.of_servers(
            "server-shunned",
            nodes,
            f"takes no queries: {how}",
            "check its errors in stats_mysql_errors and its lag. ProxySQL tries it again with"
            " the next query, unless SHUNNED was loaded from mysql_servers",
        )


def _how_long(facts: Facts, logs: Iterable[MonitorLog]) -> str:
    return duration(max(facts.now - min(log.failing_since for log in logs), 0))
