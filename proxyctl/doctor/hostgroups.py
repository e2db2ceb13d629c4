"""Hostgroups that rules, fast routing and users send queries to, and that have no usable server.

A rule or a default hostgroup counts as a use even if no query reaches it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from proxyctl.doctor.checks import CONNECTING, by_error, failing
from proxyctl.doctor.facts import Facts, Protocol, Server, Use
from proxyctl.doctor.finding import Finding, listed
from proxyctl.errors import counted
from proxyctl.state.families import Node, node_text


def find(facts: Facts) -> Iterator[Finding]:
    """Yield the hostgroups in use without a usable server, of MySQL and of PostgreSQL."""
    for side in (facts.mysql, facts.pgsql):
        empty = _empty(side)
        waiting = _not_checked(facts) if side is facts.mysql else frozenset()
        if not_yet := sorted(empty & waiting):
            yield _unplaced(facts, [*not_yet])
        failures = by_error(failing(facts, CONNECTING)).values() if side is facts.mysql else ()
        lost = [{log.node for log in logs} for logs in failures]
        for hostgroup in sorted(empty - waiting):
            if not any(_is_lost(side, hostgroup, nodes) for nodes in lost):
                yield _without_servers(facts, side, hostgroup)


def without_others(facts: Facts, nodes: Collection[Node]) -> Iterator[str]:
    """Yield what it does to hostgroups in use that these nodes are lost: they have no others.

    It is said with the cause, not as a finding of each hostgroup.
    """
    for hostgroup in sorted(_empty(facts.mysql)):
        if _is_lost(facts.mysql, hostgroup, nodes):
            name = _hostgroup_text(facts, facts.mysql, hostgroup)
            yield f"{name} has no other server: {_failing_text(facts, facts.mysql, hostgroup)}"


def _empty(side: Protocol) -> set[int]:
    """Return the hostgroups in use without a usable server."""
    usable = {server.hostgroup for server in side.servers if server.is_usable}
    return {use.hostgroup for use in side.uses} - usable


def _is_lost(side: Protocol, hostgroup: int, nodes: Collection[Node]) -> bool:
    there = [server.node for server in side.servers if server.hostgroup == hostgroup]
    return bool(there) and all(node in nodes for node in there)


def _failing_text(facts: Facts, side: Protocol, hostgroup: int) -> str:
    """Return which queries fail: `queries from rule 5 fail after 10 s`."""
    senders = " and ".join(_use_text(use) for use in side.uses if use.hostgroup == hostgroup)
    wait_ms = facts.number(f"{side.name}-connect_timeout_server_max")
    return f"queries from {senders} fail" + (f" after {wait_ms / 1000:g} s" if wait_ms > 0 else "")


_FAMILY_LOGS = {
    "replication": "read_only",
    "galera": "galera",
    "group_replication": "group_replication",
}
"""The log of the monitor that holds the checks of each kind of family."""


def _not_checked(facts: Facts) -> frozenset[object]:
    """Return the hostgroups of families that have servers, none of which was checked yet."""
    checked = {(log.log, log.node) for log in facts.monitor_logs}
    found: set[object] = set()
    for family in facts.families:
        log = _FAMILY_LOGS.get(family.kind)
        nodes = {one.node for one in facts.mysql.servers if one.hostgroup in family.hostgroups}
        if log and nodes and not any((log, node) in checked for node in nodes):
            found |= family.hostgroups
    return frozenset(found)


def _unplaced(facts: Facts, hostgroups: list[int]) -> Finding:
    where = listed(_hostgroup_text(facts, facts.mysql, one) for one in hostgroups)
    if facts.is_sandbox:
        message = "no server: a sandbox has no monitor to place servers here"
        return Finding("family-not-checked", where, message, "nothing to do on a sandbox")
    return Finding(
        "family-not-checked",
        where,
        "no server yet: the monitor places servers with its first check, which has not run",
        "run doctor again in a few seconds",
    )


def _without_servers(facts: Facts, side: Protocol, hostgroup: int) -> Finding:
    uses = [use for use in side.uses if use.hostgroup == hostgroup]
    changes = ["the rules"] if any(use.kind != "user" for use in uses) else []
    code = "hostgroup-without-servers" if changes else "users-without-servers"
    if any(use.kind == "user" for use in uses):
        changes.append("default_hostgroup")
    change = " and ".join(changes)
    there = [server for server in side.servers if server.hostgroup == hostgroup]
    servers = listed(sorted(f"{node_text(one.node)} {_why(one)}" for one in there))
    fix = f"add a server ({side.name}_servers: hostgroup_id {hostgroup}), or change {change}"
    if there:
        fix = (
            "make one of its servers usable (ONLINE, weight and max_connections above 0; see"
            f" `proxyctl nodes list`), or change {change}"
        )
    why = servers or "the hostgroup has no server at RUNTIME"
    elsewhere = _elsewhere(facts, hostgroup) if side is facts.mysql and not there else ""
    if elsewhere:
        why = f"the hostgroup has no server, since the monitor has placed {elsewhere}"
        fix = f"check what the monitor sees of them (`proxyctl nodes list`), or change {change}"
    return Finding(
        code,
        _hostgroup_text(facts, side, hostgroup),
        f"{_failing_text(facts, side, hostgroup)}: {why}",
        fix,
    )


def _elsewhere(facts: Facts, hostgroup: int) -> str:
    """Return where the monitor has the nodes of a hostgroup's family: no server has to be added."""
    others = set[object]()
    for family in facts.families:
        if hostgroup in family.hostgroups:
            others |= {*family.hostgroups} - {hostgroup}
    nodes = [server for server in facts.mysql.servers if server.hostgroup in others]
    return listed(sorted(f"{node_text(one.node)} in hostgroup {one.hostgroup}" for one in nodes))


def _hostgroup_text(facts: Facts, side: Protocol, hostgroup: int) -> str:
    name = facts.hostgroup_names.get(hostgroup)
    protocol = "" if side is facts.mysql else f"{side.name} "
    return f"{protocol}hostgroup {hostgroup}{f' ({name})' if name else ''}"


def _use_text(use: Use) -> str:
    """Return `rule 5`, `2 rules (5, ...)` or `the default_hostgroup of user app`."""
    if not use.first:
        return counted(use.count, use.kind)
    text = f"{use.kind} {use.first}"
    if use.count > 1:
        text = f"{counted(use.count, use.kind)} ({use.first}, ...)"
    return f"the default_hostgroup of {text}" if use.kind == "user" else text


def _why(server: Server) -> str:
    if server.status != "ONLINE":
        return f"is {server.status}"
    return "has weight 0" if server.weight <= 0 else "has max_connections 0"
