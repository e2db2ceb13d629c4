"""Whether ProxySQL's monitor gets through to every server, and if not, why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from proxyctl.doctor.facts import Facts, MonitorLog
from proxyctl.doctor.finding import Finding, Severity, check
from proxyctl.doctor.monitor_errors import (
    is_denied,
    is_expired,
    is_refusal,
    is_timeout,
    way_in,
    way_to_connect,
)
from proxyctl.doctor.wording import lasting, listed
from proxyctl.drains import (
    End,
    ended_drains,
    ended_text,
    no_writer_text,
    shown_in_maintenance,
    without_writer,
)
from proxyctl.families import Family, Node, ServerColumns, node_text
from proxyctl.state import Row

_CONNECTING = ("connect", "ping")
_CHECKED_EVERY = {
    "read_only": "mysql-monitor_read_only_interval",
    "replication_lag": "mysql-monitor_replication_lag_interval",
    "galera": "mysql-monitor_galera_healthcheck_interval",
    "group_replication": "mysql-monitor_groupreplication_healthcheck_interval",
}
"""Checks that are made of some servers only, and the variables that say how often."""
_PATIENCE_S = 30
_UNKNOWN = re.compile(r"Unknown system variable '([^']+)'")
_RIGHTS = re.compile(r"need \(at least one of\) the ([A-Z_, ]+) privilege")


def _user(facts: Facts) -> str:
    return facts.variables.get("mysql-monitor_username", "monitor")


@check("monitor-off", Severity.WARNING)
def off(facts: Facts) -> Iterator[Finding]:
    """The monitor is switched off: nobody notices a server that is gone, or moves a node."""
    if facts.servers and not facts.is_on("mysql-monitor_enabled"):
        yield Finding(
            "mysql-monitor_enabled",
            "the monitor is off: a server that is gone is noticed by failing queries only, and no"
            " node of a cluster is moved",
            "variables: {mysql-monitor_enabled: true}",
        )


@check("monitor-denied", Severity.ERROR)
def denied(facts: Facts) -> Iterator[Finding]:
    """A server does not let the monitor's account in: ProxySQL takes it for broken."""
    logs = [log for log in _failing(facts, _CONNECTING) if is_denied(log.error or "")]
    user = _user(facts)
    for error, found in _by_error(logs).items():
        yield Finding(
            _where(found),
            f"the monitor's account {user!r} is refused for {_how_long(facts, found)}: {error}",
            way_in(user, error, may_lack_tls=_is_without_tls(facts, found)),
        )


def _is_without_tls(facts: Facts, logs: Iterable[MonitorLog]) -> bool:
    """Return whether ProxySQL connects to one of the servers without TLS."""
    nodes = {log.node for log in logs}
    return any(server.node in nodes and not server.use_ssl for server in facts.servers)


@check("backend-unreachable", Severity.ERROR)
def unreachable(facts: Facts) -> Iterator[Finding]:
    """The monitor cannot connect to a server: it answers too late, or not at all."""
    logs = [log for log in _failing(facts, _CONNECTING) if not is_denied(log.error or "")]
    for error, found in _by_error(logs).items():
        what = "no answer in time" if is_timeout(error) else "no connection"
        yield Finding(
            _where(found),
            f"{what} for {_how_long(facts, found)}: {error}",
            way_to_connect(error),
        )


@check("monitor-check-failed", Severity.ERROR)
def check_failed(facts: Facts) -> Iterator[Finding]:
    """The monitor connects to a server, and its check there fails: rights may be missing."""
    lost = {log.node for log in _failing(facts, _CONNECTING)}
    names = [log.log for log in facts.monitor_logs if log.log not in _CONNECTING]
    for name in dict.fromkeys(names):
        logs = [log for log in _failing(facts, (name,)) if log.node not in lost]
        for error, found in _by_error(logs).items():
            yield Finding(
                _where(found),
                f"the monitor's check of {name.replace('_', ' ')} fails for"
                f" {_how_long(facts, found)}: {error}",
                _way_to_check(name, _user(facts), error),
            )


def _way_to_check(name: str, user: str, error: str) -> str:
    """Return what lets the monitor check: the least right that the server names, if it does."""
    unknown = _UNKNOWN.search(error)
    if unknown is not None:
        other = "choose another check_type in mysql_replication_hostgroups, or "
        return (
            f"it has no variable {unknown[1]}: {other if name == 'read_only' else ''}"
            "take the server out of the family"
        )
    if is_expired(error):
        return way_in(user, error, may_lack_tls=False)
    named = _RIGHTS.search(error)
    if named is not None:
        right = named[1].split(",")[-1].strip()
        return f"GRANT {right} ON *.* TO '{user}'@'%', which the server names"
    return (
        f"grant {user!r} what the check reads: REPLICATION CLIENT, and SELECT on performance_schema"
    )


@check("node-drained", Severity.INFO)
def drained(facts: Facts) -> Iterator[Finding]:
    """A server takes no new connections at RUNTIME: OFFLINE_SOFT, or max_connections 0."""
    maintained = in_maintenance(facts)
    for node in facts.nodes:
        rows = facts.rows_by_node[node]
        drain = facts.drains.get(node)
        is_out = _is_out(facts, node) or node in maintained
        if not is_out and (drain is None or drain.is_done):
            continue
        if drain is not None:
            name = node_text(node)
            yield Finding(name, drain.text(), f"`proxyctl nodes restore {name}`")
            continue
        how = "OFFLINE_SOFT" if rows[0].status == "OFFLINE_SOFT" else "max_connections 0"
        yield Finding(
            node_text(node),
            f"it takes no new connections: {how} in hostgroup"
            f" {', '.join(str(row.hostgroup) for row in rows)}",
            "nothing to do while it is looked after; then give it back",
        )


@check("drained-without-writer", Severity.ERROR)
def no_writer(facts: Facts) -> Iterator[Finding]:
    """A node is drained, and nobody takes writes in its family: it may be the writer by now."""
    if "mysql_servers" not in facts.surveys:
        return
    out = {node for node in facts.nodes if _is_out(facts, node)} | {*in_maintenance(facts)}
    for node, hostgroup in without_writer(*_at_runtime(facts), out).items():
        name = node_text(node)
        yield Finding(
            name,
            f"it takes no new connections, and {no_writer_text(hostgroup)}",
            f"`proxyctl nodes restore {name}`, or let another node of the family be the writer",
        )


@check("drain-undone", Severity.WARNING)
def undone(facts: Facts) -> Iterator[Finding]:
    """A server on record as drained is not so: servers were loaded, or its mode was reset."""
    if "mysql_servers" not in facts.surveys:
        return
    ended = ended_drains(*_at_runtime(facts), facts.drains.values())
    for node, end in ended.items():
        name = node_text(node)
        again = "" if end is End.REMOVED else f"`proxyctl nodes drain {name}` drains it again, "
        yield Finding(
            name,
            f"it {ended_text(facts.drains[node], end)}",
            f"{again}`proxyctl nodes restore {name}` takes it off the record",
        )


def _is_out(facts: Facts, node: Node) -> bool:
    return all(server.is_out_of_service for server in facts.rows_by_node[node])


def in_maintenance(facts: Facts) -> list[Node]:
    """Return the nodes that were taken out with pxc_maint_mode, as RUNTIME shows."""
    if "mysql_servers" not in facts.surveys:
        return []
    return shown_in_maintenance(*_at_runtime(facts), facts.drains.values())


def _at_runtime(facts: Facts) -> tuple[ServerColumns, list[Row], tuple[Family, ...]]:
    """Return the servers at RUNTIME, and the families that the monitor places."""
    found = facts.surveys["mysql_servers"]
    return ServerColumns.of(found.layout), list((found.runtime or {}).values()), facts.families


def failing_nodes(facts: Facts) -> set[Node]:
    """Return the nodes to which the monitor cannot connect, or where its check fails."""
    return {log.node for log in _failing(facts, {log.log for log in facts.monitor_logs})}


def _failing(facts: Facts, names: Iterable[str]) -> list[MonitorLog]:
    """Return the logs whose newest line is an error, one a server, of those that are in service.

    A line of a connection that failed is old news once a later ping went well, unless the server
    refused it: a ping uses connections that were opened before. So is one of a check that is made
    no more, since its server left the family, say: its line stays for two hours.
    """
    if not facts.is_on("mysql-monitor_enabled"):
        return []  # its logs tell of old times
    wanted = tuple(names)
    in_service = {s.node for s in facts.servers if not s.is_out_of_service}
    succeeded: dict[Node, float] = {}
    for log in facts.monitor_logs:
        if log.log in wanted and not log.error:
            succeeded[log.node] = max(succeeded.get(log.node, 0), log.at)
    found: dict[Node, MonitorLog] = {}
    for log in facts.monitor_logs:
        if log.log not in wanted or log.error is None or log.node not in in_service:
            continue
        if _is_over(facts, log):
            continue
        if succeeded.get(log.node, 0) > log.at and not is_refusal(log.error):
            continue
        known = found.get(log.node)
        if known is None or (is_refusal(log.error), log.at) > (
            is_refusal(known.error or ""),
            known.at,
        ):
            found[log.node] = log
    return list(found.values())


def _is_over(facts: Facts, log: MonitorLog) -> bool:
    """Return whether the next line of a check would be there by now, were it still made."""
    interval = _CHECKED_EVERY.get(log.log)
    if interval is None:
        return False
    return facts.now - log.at > max(_PATIENCE_S, 5 * facts.number(interval) / 1000)


def _by_error(logs: Iterable[MonitorLog]) -> dict[str, list[MonitorLog]]:
    """Return the logs by what the error says, without what names the server."""
    found: dict[str, list[MonitorLog]] = {}
    for log in logs:
        found.setdefault(log.error or "", []).append(log)
    return found


def _where(logs: Iterable[MonitorLog]) -> str:
    return listed(sorted(node_text(log.node) for log in logs))


def _how_long(facts: Facts, logs: Iterable[MonitorLog]) -> str:
    """Return how long it has been so, as far as the log goes back."""
    began = min(log.failing_since for log in logs)
    text = lasting(max(facts.now - began, 0))
    kept_s = facts.number("mysql-monitor_history") / 1000
    is_all = kept_s > 0 and facts.now - began > kept_s * 0.95
    return f"{text} or more" if is_all else text
