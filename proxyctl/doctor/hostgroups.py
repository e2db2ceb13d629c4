"""Hostgroups that queries are sent to, and that have no server to take them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyctl.doctor.facts import Facts, Server, Side
from proxyctl.doctor.finding import Finding, Severity, check
from proxyctl.doctor.wording import hostgroup_text, listed
from proxyctl.errors import counted
from proxyctl.families import Family, node_text
from proxyctl.lint.default_hostgroups import Left
from proxyctl.lint.rule_says import Say

_MOST_LATENCY = "mysql-default_max_latency_ms"


@check("hostgroup-without-servers", Severity.ERROR)
def empty(facts: Facts) -> Iterator[Finding]:
    """Rules or fast routing send queries to a hostgroup in which no server takes any."""
    for side in facts.sides:
        rules, others = _senders(side, Say.DECIDES), _senders(side, Say.NOT_LOOKED_AT)
        fast_routing = side.fast_routing_asked(facts.version)
        for hostgroup in sorted({*rules, *fast_routing}):
            if side.is_served(hostgroup):
                continue
            senders = []
            if hostgroup in rules:
                senders.append(_rules(rules[hostgroup], len(others.get(hostgroup, ()))))
            if hostgroup in fast_routing:
                senders.append(counted(fast_routing[hostgroup], "row") + " of fast routing")
            yield _finding(facts, side, hostgroup, " and ".join(senders), "rules")


@check("hostgroup-perhaps-without-servers", Severity.WARNING)
def perhaps_empty(facts: Facts) -> Iterator[Finding]:
    """As `hostgroup-without-servers`, but other rules may take every such query."""
    for side in facts.sides:
        decided, others = _senders(side, Say.DECIDES), _senders(side, Say.NOT_LOOKED_AT)
        for hostgroup, ids in sorted(_senders(side, Say.PERHAPS).items()):
            if not side.is_served(hostgroup):
                unsure = 0 if hostgroup in decided else len(others.get(hostgroup, ()))
                senders = f"{_rules(ids, unsure)} that no other rule takes, if there are any,"
                yield _finding(facts, side, hostgroup, senders, "rules")


@check("users-without-servers", Severity.ERROR)
def empty_default(facts: Facts) -> Iterator[Finding]:
    """The default hostgroup of a user has no server that takes queries."""
    for side in facts.sides:
        for hostgroup, users in _without_servers(side, Left.QUERIES):
            senders = f"{users} that no rule takes"
            yield _finding(facts, side, hostgroup, senders, "default_hostgroup")


@check("users-hardly-without-servers", Severity.WARNING)
def hardly_empty_default(facts: Facts) -> Iterator[Finding]:
    """As `users-without-servers`, but rules may take every query but some SET, which fails."""
    for side in facts.sides:
        for hostgroup, users in _without_servers(side, Left.PERHAPS):
            senders = f"{users} that no rule takes, such as a SET that ProxySQL cannot read,"
            yield _finding(facts, side, hostgroup, senders, "default_hostgroup")


def _without_servers(side: Side, left: Left) -> Iterator[tuple[int, str]]:
    """Yield default hostgroups without servers, and the users, in words."""
    users: dict[int, list[str]] = {}
    for user in side.users:
        if user.left is left:
            users.setdefault(user.default_hostgroup, []).append(user.username)
    for hostgroup, names in sorted(users.items()):
        if not side.is_served(hostgroup):
            yield hostgroup, f"{'users' if len(names) > 1 else 'user'} {listed(names)}"


@check("mirror-without-servers", Severity.WARNING)
def empty_mirror(facts: Facts) -> Iterator[Finding]:
    """A rule mirrors queries into a hostgroup in which no server takes any."""
    for side in facts.sides:
        mirrors = _senders(side, Say.COPIES)
        others: dict[int, list[int]] = {}
        along = {rule.rule_id for rule in side.rules if rule.mirrors_along}
        for rule in side.rules:
            if rule.mirror is None or rule.say is Say.NEVER_TRIED:
                continue
            known = rule.say is not Say.NOT_LOOKED_AT
            (mirrors if known else others).setdefault(rule.mirror, []).append(rule.rule_id)
        for hostgroup, ids in sorted(mirrors.items()):
            if not side.is_served(hostgroup):
                copies = f"the copies of {_rules(sorted({*ids}), len(others.get(hostgroup, ())))}"
                if along.issuperset(ids):
                    copies += " that no rule of their mirror_flagOUT sends elsewhere, if any,"
                yield Finding(
                    _where(facts, side, hostgroup),
                    f"{copies} go there; {_servers(side, hostgroup)}",
                    f"{_way_out(facts, side, hostgroup)}, or take mirror_hostgroup, or"
                    " mirror_flagOUT, out of the rule",
                )


def _senders(side: Side, say: Say) -> dict[int, list[int]]:
    """Return the rules that have this say, by destination."""
    found: dict[int, list[int]] = {}
    for rule in side.rules:
        if rule.destination is not None and not rule.answers and rule.say is say:
            found.setdefault(rule.destination, []).append(rule.rule_id)
    return found


def _rules(ids: Sequence[int], unsure: int = 0) -> str:
    return f"{'rules' if len(ids) + unsure > 1 else 'rule'} {listed(ids, unsure)}"


def _where(facts: Facts, side: Side, hostgroup: int) -> str:
    text = hostgroup_text(hostgroup, facts.hostgroup_names)
    return text if side.protocol == "mysql" else f"{side.protocol} {text}"


def _finding(facts: Facts, side: Side, hostgroup: int, senders: str, other_way: str) -> Finding:
    """Return what becomes of the queries that get there."""
    wait_ms = facts.number(f"{side.protocol}-connect_timeout_server_max")
    after = f" after {wait_ms / 1000:g} s" if wait_ms > 0 else ""
    return Finding(
        _where(facts, side, hostgroup),
        f"queries of {senders} fail{after}: {_servers(side, hostgroup)}",
        f"{_way_out(facts, side, hostgroup, adds=True)}, or change {other_way}",
    )


def _way_out(facts: Facts, side: Side, hostgroup: int, *, adds: bool = False) -> str:
    """Return what lets a server there take queries, be it a new one."""
    there = side.servers_in(hostgroup)
    if side.too_many_online(hostgroup):
        return f"raise max_num_online_servers of hostgroup {hostgroup}, take a server out of it"
    if any(server.may_take_no_time for server in there):
        return f"variables: {{{_MOST_LATENCY}: 1000}}, give the servers a max_latency_ms"
    if any(server.too_slow_ms for server in there):
        return f"raise max_latency_ms or {_MOST_LATENCY}, bring another server ONLINE"
    if any(server.status == "ONLINE" for server in there):
        return "give a server there a weight and max_connections above 0"
    if side.protocol == "mysql":
        for family in facts.families:
            if hostgroup in family.hostgroups:
                return _way_in(family, hostgroup)
    adding = f", add one ({side.protocol}_servers: hostgroup_id {hostgroup})" if adds else ""
    return f"bring a server there ONLINE{adding}"


def _way_in(family: Family, hostgroup: int) -> str:
    """Return what lets the monitor place a node there: one that is added it would move away."""
    back = "bring a node of its family back into service (`proxyctl nodes list` shows them)"
    if family.kind == "replication" and hostgroup == family.writer:
        return f"{back}, SET GLOBAL read_only=0 at the one that shall take writes"
    if family.kind == "replication":
        return f"{back}, add one with read_only=1 (mysql_servers: hostgroup_id {hostgroup})"
    if family.is_galera and hostgroup == family.reader and family.writer_is_also_reader != 1:
        return f"{back}, set its writer_is_also_reader to 1"
    return back


def _servers(side: Side, hostgroup: int) -> str:
    """Return what stands in a hostgroup that is not served."""
    there = side.servers_in(hostgroup)
    if not there:
        return "there is no server at RUNTIME"
    if too_many := side.too_many_online(hostgroup):
        are = "servers are" if too_many > 1 else "server is"
        most = side.most_online[hostgroup]
        return f"{too_many} {are} ONLINE, and max_num_online_servers is {most}: none takes any"
    return listed(sorted(f"{node_text(server.node)} {_why(server)}" for server in there))


def _why(server: Server) -> str:
    if server.status != "ONLINE":
        return server.status
    if server.may_take_no_time:
        return f"is ONLINE, for which {_MOST_LATENCY} is 0: no ping is that fast"
    if server.too_slow_ms:
        return f"answered a ping after {server.too_slow_ms:.0f} ms, which is more than it may take"
    return "has weight 0" if server.weight <= 0 else "has max_connections 0"
