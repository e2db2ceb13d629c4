"""Hostgroups that queries are sent to, and that have no server to take them."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.facts import Facts, Server
from proxyctl.doctor.finding import Finding, Severity, check
from proxyctl.doctor.wording import hostgroup_text, listed, node_text
from proxyctl.errors import counted


@check("hostgroup-without-servers", Severity.ERROR)
def empty(facts: Facts) -> Iterator[Finding]:
    """Rules or fast routing send queries to a hostgroup in which no server takes any."""
    rules: dict[int, list[int]] = {}
    for rule in facts.rules:
        if rule.destination is not None and not rule.answers:
            rules.setdefault(rule.destination, []).append(rule.rule_id)
    for hostgroup in sorted({*rules, *facts.fast_routing}):
        if _is_served(facts, hostgroup):
            continue
        senders = []
        if hostgroup in rules:
            ids = rules[hostgroup]
            senders.append(f"{'rules' if len(ids) > 1 else 'rule'} {listed(ids)}")
        if hostgroup in facts.fast_routing:
            senders.append(counted(facts.fast_routing[hostgroup], "row") + " of fast routing")
        yield _finding(facts, hostgroup, " and ".join(senders), "rules")


@check("users-without-servers", Severity.ERROR)
def empty_default(facts: Facts) -> Iterator[Finding]:
    """The default hostgroup of a user has no server that takes queries."""
    users: dict[int, list[str]] = {}
    for user in facts.users:
        users.setdefault(user.default_hostgroup, []).append(user.username)
    for hostgroup, names in sorted(users.items()):
        if not _is_served(facts, hostgroup):
            senders = f"{'users' if len(names) > 1 else 'user'} {listed(names)} that no rule takes"
            yield _finding(facts, hostgroup, senders, "default_hostgroup")


@check("mirror-without-servers", Severity.WARNING)
def empty_mirror(facts: Facts) -> Iterator[Finding]:
    """A rule mirrors queries into a hostgroup in which no server takes any."""
    mirrors: dict[int, list[int]] = {}
    for rule in facts.rules:
        if rule.mirror is not None:
            mirrors.setdefault(rule.mirror, []).append(rule.rule_id)
    for hostgroup, ids in sorted(mirrors.items()):
        if not _is_served(facts, hostgroup):
            yield Finding(
                hostgroup_text(hostgroup, facts.hostgroup_names),
                f"the copies of {'rules' if len(ids) > 1 else 'rule'} {listed(ids)} go there;"
                f" {_servers(facts, hostgroup)}",
                "bring a server there ONLINE, or take mirror_hostgroup out of the rule",
            )


def _is_served(facts: Facts, hostgroup: int) -> bool:
    return any(server.is_usable for server in facts.servers if server.hostgroup == hostgroup)


def _finding(facts: Facts, hostgroup: int, senders: str, other_way: str) -> Finding:
    """Return what becomes of the queries that get there."""
    wait_ms = facts.number("mysql-connect_timeout_server_max")
    after = f" after {wait_ms / 1000:g} s" if wait_ms > 0 else ""
    return Finding(
        hostgroup_text(hostgroup, facts.hostgroup_names),
        f"queries of {senders} fail{after}: {_servers(facts, hostgroup)}",
        f"bring a server there ONLINE, add one (mysql_servers: hostgroup_id {hostgroup}), or change"
        f" {other_way}",
    )


def _servers(facts: Facts, hostgroup: int) -> str:
    """Return what stands in a hostgroup that is not served."""
    there = [server for server in facts.servers if server.hostgroup == hostgroup]
    if not there:
        return "there is no server at RUNTIME"
    return listed(f"{node_text(server.node)} {_why(server)}" for server in there)


def _why(server: Server) -> str:
    if server.status != "ONLINE":
        return server.status
    return "has weight 0" if server.weight <= 0 else "has max_connections 0"
