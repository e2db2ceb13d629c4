"""Servers that the monitor cannot check or that take no queries, and hostgroups without servers.

A rule or a default hostgroup is a use of its hostgroup even if no query reaches it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from proxyctl.doctor.facts import Facts, MonitorLog, Protocol, Use
from proxyctl.doctor.finding import Diagnosis, duration, listed
from proxyctl.plan.diff import ServerDiff
from proxyctl.proxysql.servers import Server
from proxyctl.proxysql.topology import Node, node_text
from proxyctl.rows.row import Key
from proxyctl.text import counted

_MONITOR_USER = "mysql-monitor_username"
_MARIADB = "MariaDB 10.5.9 and newer"
"""The servers whose SHOW REPLICA STATUS needs another privilege than that of MySQL."""


def monitor(facts: Facts) -> Iterator[Diagnosis]:
    """Yield the failures of the monitor, and the servers that take no queries."""
    if not facts.is_on("mysql-monitor_enabled"):
        if facts.mysql.servers:
            yield Diagnosis(
                "monitor-off",
                "mysql-monitor_enabled",
                "the monitor is off: ProxySQL notices a failed server only when queries fail, and"
                " does not move cluster nodes",
                "set variables: {mysql-monitor_enabled: true}",
            )
        yield from _out_of_service(facts, set())
        return
    connecting = _failing(facts, _CONNECTING)
    yield from _cannot_connect(facts, connecting)
    lost = {log.node for log in connecting}
    checks = [log for log in _failing(facts, _INTERVALS) if log.node not in lost]
    yield from _failed_checks(facts, checks)
    yield from _out_of_service(facts, lost | {log.node for log in checks})


def _cannot_connect(facts: Facts, logs: Iterable[MonitorLog]) -> Iterator[Diagnosis]:
    user = facts.shown(_MONITOR_USER, facts.variables.get(_MONITOR_USER, "monitor"))
    for error, failures in _by_error(logs).items():
        since, nodes = _duration_text(facts, failures), [log.node for log in failures]
        losses = "".join(f"; {text}" for text in _losses(facts, nodes))
        if _is_denied(error):
            yield Diagnosis.of_servers(
                "monitor-denied",
                nodes,
                f"the monitor's account {user!r} has been refused for {since}: {error}{losses}",
                "set mysql-monitor_password (`{env: NAME}`) to the password of the account, or"
                f" create the account: CREATE USER '{user}'@'%' IDENTIFIED BY '...';"
                f" GRANT REPLICATION CLIENT ON *.* TO '{user}'@'%' ({_MARIADB}: REPLICA MONITOR)",
            )
        else:
            yield Diagnosis.of_servers(
                "backend-unreachable",
                nodes,
                f"the monitor has not been able to connect for {since}: {error}{losses}",
                "start the server, check its host name and the network, or delete it from"
                " mysql_servers",
            )


def _failed_checks(facts: Facts, logs: Iterable[MonitorLog]) -> Iterator[Diagnosis]:
    user = facts.shown(_MONITOR_USER, facts.variables.get(_MONITOR_USER, "monitor"))
    for error, failures in _by_error(logs).items():
        log, since = failures[0].log, _duration_text(facts, failures)
        yield Diagnosis.of_servers(
            "monitor-check-failed",
            [failure.node for failure in failures],
            f"the monitor's {log} check has failed for {since}: {error}",
            f"grant the account {user!r} the privileges that the check needs (REPLICATION CLIENT,"
            f" or on {_MARIADB} REPLICA MONITOR, and SELECT on performance_schema), or remove the"
            " server from the family",
        )


def _out_of_service(facts: Facts, failed: set[Node]) -> Iterator[Diagnosis]:
    """Yield the servers that take no queries although the monitor reaches them."""
    drained: dict[str, list[Node]] = {}
    shunned: dict[str, list[Node]] = {}
    staying = {key[1:] for key in _staying(facts, facts.mysql)}
    for node, rows in facts.rows_by_node.items():
        if node in staying:
            continue
        hostgroups = ", ".join(str(row.hostgroup) for row in rows)
        statuses = {row.status for row in rows}
        if all(row.is_out_of_service for row in rows):
            reason = "OFFLINE_SOFT" if "OFFLINE_SOFT" in statuses else "max_connections 0"
            drained.setdefault(f"{reason} in hostgroup {hostgroups}", []).append(node)
        elif "SHUNNED" in statuses and "ONLINE" not in statuses and node not in failed:
            shunned.setdefault(f"SHUNNED in hostgroup {hostgroups}", []).append(node)
    for reason, nodes in drained.items():
        name = node_text(nodes[0]) if len(nodes) == 1 else "NODE"
        yield Diagnosis.of_servers(
            "node-drained",
            nodes,
            f"takes no new connections: {reason}",
            f"run `proxyctl nodes restore {name}` if `proxyctl nodes drain` did this",
        )
    for reason, nodes in shunned.items():
        yield Diagnosis.of_servers(
            "server-shunned",
            nodes,
            f"receives no queries: {reason}",
            "check its errors in stats_mysql_errors and its lag. ProxySQL tries it again with the"
            " next query. If it does not, SHUNNED was loaded before mysql_servers was set to"
            " ONLINE; then LOAD MYSQL SERVERS TO RUNTIME",
        )


def shunned_for_good(facts: Facts) -> Iterator[Diagnosis]:
    """Yield the servers, of MySQL and of PostgreSQL, whose SHUNNED ProxySQL never undoes."""
    for protocol in (facts.mysql, facts.pgsql):
        table, module = f"{protocol.name}_servers", f"{protocol.name.upper()} SERVERS"
        keys = _staying(facts, protocol)
        fix = "write `status: ONLINE` in the files and apply them"
        diff = facts.diffs.get(table)
        # In a family a plain LOAD would move nodes.
        if isinstance(diff, ServerDiff) and keys and not diff.topology.families:
            fix += (
                f"; or UPDATE {table} SET status='ONLINE' WHERE UPPER(status)='SHUNNED',"
                f" LOAD {module} TO RUNTIME, SAVE {module} TO DISK"
            )
        by_hostgroup: dict[int, list[Node]] = {}
        for key in keys:
            by_hostgroup.setdefault(int(key[0] or 0), []).append((key[1], key[2]))
        for hostgroup, nodes in sorted(by_hostgroup.items()):
            yield Diagnosis.of_servers(
                "server-stays-shunned",
                nodes,
                f"receives no queries in {_hostgroup_text(facts, protocol, hostgroup)}: it is"
                f" SHUNNED in {table}, and ProxySQL never undoes a SHUNNED status that it loaded",
                fix,
            )


def _staying(facts: Facts, protocol: Protocol) -> frozenset[Key]:
    """Return the keys of the servers that ProxySQL leaves SHUNNED."""
    diff = facts.diffs.get(f"{protocol.name}_servers")
    return diff.shunned if isinstance(diff, ServerDiff) else frozenset()


def _duration_text(facts: Facts, logs: Iterable[MonitorLog]) -> str:
    return duration(max(facts.now - min(log.failing_since for log in logs), 0))


# Failures in the logs of the monitor -----------------------------------------------------------

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
_NO_CONNECTION = ("creating new connection", "can't connect", "system error")
"""Words in the error of a check that got no connection: it may fail before the connect check."""


def _failing(facts: Facts, names: Iterable[str]) -> list[MonitorLog]:
    """Return the newest errors of these logs, one per server in service.

    A failed connection is outdated after a later successful ping, unless the server refused the
    account: a ping uses an older connection. A failed check is outdated if the next line is
    overdue: the server has left the family, and its line stays for two hours.
    """
    wanted = [log for log in facts.monitor_logs if _failed_at(log) in names]
    in_service = {server.node for server in facts.mysql.servers if not server.is_out_of_service}
    succeeded: dict[Node, float] = {}
    for log in wanted:
        if log.error is None:
            succeeded[log.node] = max(succeeded.get(log.node, 0), log.at)
    newest: dict[Node, MonitorLog] = {}
    for log in wanted:
        if log.error is None or log.node not in in_service or _is_outdated(facts, log):
            continue
        if _is_denied(log.error):
            newest[log.node] = log
        elif succeeded.get(log.node, 0) <= log.at:
            newest.setdefault(log.node, log)
    return list(newest.values())


def _failed_at(log: MonitorLog) -> str:
    """Return the log, or `connect` for a check that got no connection."""
    is_lost = any(words in (log.error or "").lower() for words in _NO_CONNECTION)
    return "connect" if is_lost else log.log


def _is_denied(error: str) -> bool:
    """Return whether the server refused the monitor's account."""
    return any(words in error.lower() for words in _DENIED)


def _is_outdated(facts: Facts, log: MonitorLog) -> bool:
    interval = _INTERVALS.get(log.log)
    if interval is None:
        return False
    return facts.now - log.at > max(_OUTDATED_S, 5 * facts.number(interval) / 1000)


def _by_error(logs: Iterable[MonitorLog]) -> dict[str, list[MonitorLog]]:
    """Group the failures by error, so that a cause is reported once for all its servers."""
    by_error: dict[str, list[MonitorLog]] = {}
    for log in logs:
        # An error about a host name contains it; the cause is the same for all names.
        error = (log.error or "").replace(f"'{log.node[0]}'", "'...'")
        by_error.setdefault(error, []).append(log)
    return by_error


# Hostgroups in use ------------------------------------------------------------------------------


def hostgroups(facts: Facts) -> Iterator[Diagnosis]:
    """Yield the hostgroups in use without a usable server, of MySQL and of PostgreSQL."""
    for protocol in (facts.mysql, facts.pgsql):
        empty = _empty(protocol)
        not_checked = _not_checked(facts) if protocol is facts.mysql else frozenset()
        if unplaced := sorted(empty & not_checked):
            yield _unplaced(facts, [*unplaced])
        failures = (
            _by_error(_failing(facts, _CONNECTING)).values() if protocol is facts.mysql else ()
        )
        lost = [{log.node for log in logs} for logs in failures]
        for hostgroup in sorted(empty - not_checked):
            if not any(_is_lost(protocol, hostgroup, nodes) for nodes in lost):
                yield _without_servers(facts, protocol, hostgroup)


def _losses(facts: Facts, nodes: Collection[Node]) -> Iterator[str]:
    """Yield the hostgroups in use that have no servers except these failed nodes.

    The finding of the failure reports them, so they have no findings of their own.
    """
    for hostgroup in sorted(_empty(facts.mysql)):
        if _is_lost(facts.mysql, hostgroup, nodes):
            name = _hostgroup_text(facts, facts.mysql, hostgroup)
            yield f"{name} has no other server: {_failing_text(facts, facts.mysql, hostgroup)}"


def _empty(protocol: Protocol) -> set[int]:
    """Return the hostgroups in use without a usable server."""
    usable = {server.hostgroup for server in protocol.servers if server.serves}
    return {use.hostgroup for use in protocol.uses} - usable


def _is_lost(protocol: Protocol, hostgroup: int, nodes: Collection[Node]) -> bool:
    members = [server.node for server in protocol.servers if server.hostgroup == hostgroup]
    return bool(members) and all(node in nodes for node in members)


def _failing_text(facts: Facts, protocol: Protocol, hostgroup: int) -> str:
    """Return a sentence on the failing queries: `queries from rule 5 fail after 10 s`."""
    senders = " and ".join(_use_text(use) for use in protocol.uses if use.hostgroup == hostgroup)
    wait_ms = facts.number(f"{protocol.name}-connect_timeout_server_max")
    return f"queries from {senders} fail" + (f" after {wait_ms / 1000:g} s" if wait_ms > 0 else "")


_FAMILY_LOGS = {
    "replication": "read_only",
    "galera": "galera",
    "group_replication": "group_replication",
}
"""The log of the monitor with the checks of each kind of family."""


def _not_checked(facts: Facts) -> frozenset[object]:
    """Return the hostgroups of families whose servers the monitor has not checked yet."""
    checked = {(log.log, log.node) for log in facts.monitor_logs}
    unchecked: set[object] = set()
    for family in facts.families:
        log = _FAMILY_LOGS.get(family.kind)
        nodes = {
            server.node for server in facts.mysql.servers if server.hostgroup in family.hostgroups
        }
        if log and nodes and not any((log, node) in checked for node in nodes):
            unchecked |= family.hostgroups
    return frozenset(unchecked)


def _unplaced(facts: Facts, hostgroups: list[int]) -> Diagnosis:
    where = listed(_hostgroup_text(facts, facts.mysql, hostgroup) for hostgroup in hostgroups)
    if facts.is_sandbox:
        message = "no servers: a sandbox has no monitor to place servers here"
        return Diagnosis(
            "family-not-checked", where, message, "ignore it: a sandbox has no monitor"
        )
    return Diagnosis(
        "family-not-checked",
        where,
        "no servers yet: the monitor places servers in its first check, which has not run yet",
        "run doctor again in a few seconds",
    )


def _without_servers(facts: Facts, protocol: Protocol, hostgroup: int) -> Diagnosis:
    uses = [use for use in protocol.uses if use.hostgroup == hostgroup]
    changes = ["the rules"] if any(use.kind != "user" for use in uses) else []
    code = "hostgroup-without-servers" if changes else "users-without-servers"
    if any(use.kind == "user" for use in uses):
        changes.append("default_hostgroup")
    change = " and ".join(changes)
    members = [server for server in protocol.servers if server.hostgroup == hostgroup]
    servers = listed(sorted(f"{node_text(server.node)} {_obstacle(server)}" for server in members))
    fix = f"add a server ({protocol.name}_servers: hostgroup_id {hostgroup}), or change {change}"
    if members:
        fix = (
            "make one of its servers usable (ONLINE, weight and max_connections above 0; see"
            f" `proxyctl nodes list`), or change {change}"
        )
    reason = servers or "the hostgroup has no servers at RUNTIME"
    elsewhere = (
        _placed_elsewhere(facts, hostgroup) if protocol is facts.mysql and not members else ""
    )
    if elsewhere:
        reason = f"the hostgroup has no servers, because the monitor has placed {elsewhere}"
        fix = (
            f"check what the monitor reports about them (`proxyctl nodes list`), or change {change}"
        )
    return Diagnosis(
        code,
        _hostgroup_text(facts, protocol, hostgroup),
        f"{_failing_text(facts, protocol, hostgroup)}: {reason}",
        fix,
    )


def _placed_elsewhere(facts: Facts, hostgroup: int) -> str:
    """Return the hostgroups to which the monitor moved the nodes of this hostgroup's family."""
    other_hostgroups = set[object]()
    for family in facts.families:
        if hostgroup in family.hostgroups:
            other_hostgroups |= {*family.hostgroups} - {hostgroup}
    nodes = [server for server in facts.mysql.servers if server.hostgroup in other_hostgroups]
    return listed(
        sorted(f"{node_text(server.node)} in hostgroup {server.hostgroup}" for server in nodes)
    )


def _hostgroup_text(facts: Facts, protocol: Protocol, hostgroup: int) -> str:
    name = facts.hostgroup_names.get(hostgroup)
    prefix = "" if protocol is facts.mysql else f"{protocol.name} "
    return f"{prefix}hostgroup {hostgroup}{f' ({name})' if name else ''}"


def _use_text(use: Use) -> str:
    """Return `rule 5`, `2 rules (5, ...)` or `the default_hostgroup of user app`."""
    if not use.first:
        return counted(use.count, use.kind)
    text = f"{use.kind} {use.first}"
    if use.count > 1:
        text = f"{counted(use.count, use.kind)} ({use.first}, ...)"
    return f"the default_hostgroup of {text}" if use.kind == "user" else text


def _obstacle(server: Server) -> str:
    if server.status != "ONLINE":
        return f"is {server.status}"
    return "has weight 0" if server.weight <= 0 else "has max_connections 0"
