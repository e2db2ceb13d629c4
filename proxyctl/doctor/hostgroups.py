"""Hostgroups that rules, fast routing and users send queries to, and that have no usable server.

A rule or a default hostgroup counts as a use even if no query reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.facts import Facts, Protocol, Server, Use
from proxyctl.doctor.finding import Finding, listed
from proxyctl.errors import counted
from proxyctl.state.families import node_text


def find(facts: Facts) -> Iterator[Finding]:
    """Yield the hostgroups in use without a usable server, of MySQL and of PostgreSQL."""
    for side in (facts.mysql, facts.pgsql):
        usable = {server.hostgroup for server in side.servers if server.is_usable}
        empty = sorted({use.hostgroup for use in side.uses} - usable)
        for hostgroup in empty:
            uses = [use for use in side.uses if use.hostgroup == hostgroup]
            routed = [_use_text(use) for use in uses if use.kind != "user"]
            users = [_use_text(use) for use in uses if use.kind == "user"]
            if routed:
                yield _finding(
                    facts, side, hostgroup, "hostgroup-without-servers", " and ".join(routed)
                )
            if users:
                sender = f"{users[0]} that no rule takes"
                yield _finding(facts, side, hostgroup, "users-without-servers", sender)


def _finding(facts: Facts, side: Protocol, hostgroup: int, code: str, senders: str) -> Finding:
    wait_ms = facts.number(f"{side.name}-connect_timeout_server_max")
    after = f" after {wait_ms / 1000:g} s" if wait_ms > 0 else ""
    there = [server for server in side.servers if server.hostgroup == hostgroup]
    servers = listed(sorted(f"{node_text(one.node)} {_why(one)}" for one in there))
    change = "default_hostgroup" if code == "users-without-servers" else "the rules"
    fix = f"add a server ({side.name}_servers: hostgroup_id {hostgroup}), or change {change}"
    if there:
        fix = (
            "make a server of it usable: ONLINE, weight and max_connections above 0"
            f" (`proxyctl nodes list`), or change {change}"
        )
    return Finding(
        code,
        _hostgroup_text(facts, side, hostgroup),
        f"queries of {senders} fail{after}: {servers or 'the hostgroup has no server at RUNTIME'}",
        fix,
    )


def _hostgroup_text(facts: Facts, side: Protocol, hostgroup: int) -> str:
    name = facts.hostgroup_names.get(hostgroup)
    protocol = "" if side is facts.mysql else f"{side.name} "
    return f"{protocol}hostgroup {hostgroup}{f' ({name})' if name else ''}"


def _use_text(use: Use) -> str:
    """Return `rule 5`, `2 rules (5, ...)` or `7 fast-routing rows`."""
    if not use.first:
        return counted(use.count, use.kind)
    if use.count == 1:
        return f"{use.kind} {use.first}"
    return f"{counted(use.count, use.kind)} ({use.first}, ...)"


def _why(server: Server) -> str:
    if server.status != "ONLINE":
        return f"is {server.status}"
    return "has weight 0" if server.weight <= 0 else "has max_connections 0"
