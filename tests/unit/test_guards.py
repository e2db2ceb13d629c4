"""Guards judge changes of rows, hostgroups, logins, and the monitor's account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from proxyctl.catalog.destinations import DESTINATIONS
from proxyctl.instance.connect import Login
from proxyctl.plan.guards.access import blind_monitor, lockouts, replaced_logins
from proxyctl.plan.guards.deletes import deletions
from proxyctl.plan.guards.hostgroups import (
    Needs,
    Servers,
    emptied_hostgroups,
    renumbered_families,
    unserved_destinations,
)
from proxyctl.proxysql.passwords import native_hash
from proxyctl.proxysql.topology import Family, Topology
from proxyctl.rows.desired import GuardLimits
from proxyctl.rows.row import Layer
from tests.support.build import desired, diff, layout, module_plan, rows, servers

RULES, SERVERS, USERS = "mysql_query_rules", "mysql_servers", "mysql_users"


def rules(count, **values):
    return [{"rule_id": number, **values} for number in range(1, count + 1)]


def hosts(hostgroup):
    return [{"hostgroup_id": hostgroup, "hostname": f"h{n}"} for n in range(20)]


@dataclass(frozen=True)
class DeletionCase:
    """A table, its rows before and after, and the guard that refuses that."""

    table: str
    before: list[dict[str, object]]
    after: list[dict[str, object]]
    guard: str | None = None


OFF = {"active": 0}
DELETIONS = {
    "a third of many": DeletionCase(
        table=RULES, before=rules(20), after=rules(13), guard="max_deletes"
    ),
    "less than a third": DeletionCase(table=RULES, before=rules(20), after=rules(14)),
    "nearly all of few": DeletionCase(table=RULES, before=rules(10), after=rules(1)),
    "rules that are switched off": DeletionCase(
        table=RULES, before=rules(20), after=[*rules(1), *rules(20, **OFF)[1:]]
    ),
    "the last active rule": DeletionCase(
        table=RULES,
        before=[*rules(1), {"rule_id": 2, **OFF}],
        after=[{"rule_id": 2, **OFF}],
        guard="table_emptied",
    ),
    "rules that were inactive": DeletionCase(
        table=RULES, before=rules(2, **OFF), after=rules(3, **OFF)
    ),
    "servers that move": DeletionCase(table=SERVERS, before=hosts(1), after=hosts(2)),
}


@pytest.mark.parametrize("case", DELETIONS.values(), ids=DELETIONS)
def test_how_much_may_be_deleted(case):
    before = rows(case.table, *case.before)
    live = rows(case.table, *(row for row in case.before if row.get("active", 1)))
    module = module_plan(diff(desired(case.table, *case.after), before, runtime=live))
    found = [danger.guard for danger in deletions([module], GuardLimits())]
    assert found == [case.guard] * bool(case.guard)


@dataclass(frozen=True)
class EmptiedCase:
    """Servers at RUNTIME, the loaded rows, the needs of hostgroups, a family, and the message."""

    now: str
    loaded: str
    needed: dict[str, set[int]]
    family: Family | None = None
    danger: str | None = None


REPLICATION = Family("replication", 10, frozenset({10, 20}))
GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)
NONE, SHUNNED = "would have no ONLINE server", "would have only servers that are SHUNNED now"
DEAD = "10 a, 20 dead SHUNNED"
EMPTIED = {
    "a replica is no writer": EmptiedCase(
        now="10 a, 20 b", loaded="20 b", needed={"writers": {10}}, family=REPLICATION, danger=NONE
    ),
    "another writer": EmptiedCase(
        now="10 a, 20 b", loaded="10 new, 20 b", needed={"writers": {10}}, family=REPLICATION
    ),
    "any node of a Galera family may write": EmptiedCase(
        now="10 a, 20 b", loaded="20 b", needed={"writers": {10}, RULES: {10, 30}}, family=GALERA
    ),
    "one that had no server before": EmptiedCase(
        now="10 a, 20 b",
        loaded="10 a",
        needed={"writers": {99}, RULES: {20, 99}, USERS: {99}},
        danger=NONE,
    ),
    "one that is SHUNNED now does not serve": EmptiedCase(
        now="20 b, 20 dead SHUNNED", loaded="10 a, 20 dead", needed={RULES: {20}}, danger=SHUNNED
    ),
    "one that is SHUNNED now did not serve": EmptiedCase(
        now=DEAD, loaded="10 a", needed={RULES: {20}}
    ),
    "a server that is replaced": EmptiedCase(
        now="10 a, 20 b", loaded="10 a, 20 new", needed={RULES: {20}}
    ),
}


@pytest.mark.parametrize("case", EMPTIED.values(), ids=EMPTIED)
def test_a_hostgroup_in_use_keeps_a_server(case):
    around = Topology((case.family,) if case.family else ())
    state = Servers(layout(SERVERS), servers(case.now), servers(case.loaded), around)
    users = {table: frozenset(case.needed.get(table, ())) for table in (RULES, USERS)}
    needs = Needs(frozenset(case.needed.get("writers", ())), {}, users, {10: "writer"})
    found = [*emptied_hostgroups(state, needs)]
    assert [danger.guard for danger in found] == ["empty_hostgroup"] * bool(case.danger)
    assert all(case.danger in danger.message for danger in found)


def galera(writer, backup, reader, offline, kind="galera"):
    hostgroups = frozenset({writer, backup, reader, offline})
    return Family(kind, writer, hostgroups, offline, backup, reader=reader)


def replicas(writer, reader):
    return Family("replication", writer, frozenset({writer, reader}), reader=reader)


@dataclass(frozen=True)
class RenumberedCase:
    """A family before and after, servers at RUNTIME and loaded ones, and the hostgroups in use.

    `parts` are those of the message: without them, nothing is refused.
    """

    leaving: Family
    coming: Family
    now: str
    loaded: str
    used: set[int]
    parts: list[str] = field(default_factory=list)


PLACED = "10 a, 10 b SHUNNED, 11 b, 12 b"
CLUSTER, PAIR = galera(10, 11, 12, 13), replicas(10, 20)
NEW_CLUSTER, NEW_PAIR = galera(210, 211, 212, 213), replicas(110, 120)
RENUMBERED = {
    "nodes that would all write": RenumberedCase(
        leaving=CLUSTER,
        coming=NEW_CLUSTER,
        now=PLACED,
        loaded="210 a, 210 b",
        used={10, 12},
        parts=[
            "hostgroup 210 would have a:3306, b:3306 instead of a:3306",
            "212 would have no server",
        ],
    ),
    "the reader hostgroup alone": RenumberedCase(
        leaving=CLUSTER,
        coming=galera(10, 11, 212, 13),
        now=PLACED,
        loaded="10 a, 10 b SHUNNED, 11 b",
        used={10, 12},
        parts=[
            "Galera family 10 would get different hostgroups in one LOAD",
            "212 would have no server",
        ],
    ),
    "the writer hostgroup alone": RenumberedCase(
        leaving=CLUSTER,
        coming=galera(210, 11, 12, 13),
        now=PLACED,
        loaded="210 a, 210 b",
        used={10, 12},
        parts=["hostgroup 210 would have a:3306, b:3306 instead of a:3306"],
    ),
    "two hostgroups that change places": RenumberedCase(
        leaving=CLUSTER,
        coming=galera(11, 10, 12, 13),
        now=PLACED,
        loaded="11 a, 11 b",
        used={10},
        parts=["hostgroup 11 would have a:3306, b:3306 instead of a:3306"],
    ),
    "hostgroups that nothing uses": RenumberedCase(
        leaving=CLUSTER,
        coming=galera(10, 211, 12, 213),
        now=PLACED,
        loaded="10 a, 10 b SHUNNED, 12 b",
        used={10, 12},
    ),
    "nodes whose rows say who reads": RenumberedCase(
        leaving=CLUSTER, coming=NEW_CLUSTER, now=PLACED, loaded="210 a, 212 b", used={10, 12}
    ),
    "another cluster": RenumberedCase(
        leaving=CLUSTER, coming=NEW_CLUSTER, now=PLACED, loaded="210 c, 210 d", used={10, 12}
    ),
    "replicas whose rows say who reads": RenumberedCase(
        leaving=PAIR, coming=NEW_PAIR, now="10 a, 20 b", loaded="110 a, 120 b", used={10, 20}
    ),
    "replicas that would all write": RenumberedCase(
        leaving=PAIR,
        coming=NEW_PAIR,
        now="10 a, 20 b",
        loaded="110 a, 110 b",
        used={10, 20},
        parts=["110 would have a:3306, b:3306 instead of a:3306", "120 would have no server"],
    ),
    "a failover that the rows do not know": RenumberedCase(
        leaving=PAIR,
        coming=NEW_PAIR,
        now="10 b, 20 a",
        loaded="110 a, 120 b",
        used={10, 20},
        parts=["hostgroup 110 would have a:3306 instead of b:3306"],
    ),
    "a writer that would be missing": RenumberedCase(
        leaving=PAIR,
        coming=NEW_PAIR,
        now="10 a, 20 b",
        loaded="120 a, 120 b",
        used={10, 20},
        parts=["hostgroup 110 would have no server"],
    ),
    "a node that reads no longer": RenumberedCase(
        leaving=PAIR, coming=NEW_PAIR, now="10 a, 20 b, 20 c", loaded="110 a, 120 b", used={10, 20}
    ),
}


@pytest.mark.parametrize("case", RENUMBERED.values(), ids=RENUMBERED)
def test_a_family_that_gets_other_hostgroups_keeps_its_writer_and_its_readers(case):
    state = Servers(layout(SERVERS), servers(case.now), servers(case.loaded))
    needs = Needs(frozenset(), {RULES: frozenset(case.used)}, {}, {})
    leaving, coming = Topology((case.leaving,)), Topology((case.coming,))
    found = [*renumbered_families(state, needs, leaving, coming).values()]
    assert [danger.guard for danger in found] == ["empty_hostgroup"] * bool(case.parts)
    for part in case.parts:
        assert part in found[0].message
        assert "docs/how-to/renumber-hostgroups.md" in found[0].fix


def to_rules(*hostgroups):
    return [
        {"rule_id": number, "match_digest": "x", "destination_hostgroup": hostgroup}
        for number, hostgroup in enumerate(hostgroups, 1)
    ]


def of_users(**hostgroups):
    return [{"username": name, "default_hostgroup": h} for name, h in hostgroups.items()]


def routes(hostgroup):
    names = {"username": "app", "schemaname": "shop", "flagIN": 0, "comment": ""}
    return [{**names, "destination_hostgroup": hostgroup}]


@dataclass(frozen=True)
class StrayCase:
    """A table, its rows before and after, and the message. Only hostgroup 10 has a server."""

    table: str
    before: list[dict[str, object]]
    after: list[dict[str, object]]
    families: tuple[Family, ...] = ()
    danger: str | None = None


FAST = "mysql_query_rules_fast_routing"
FAMILY = Family("galera", 10, frozenset({10, 11}))
STRAYS = [
    StrayCase(table=USERS, before=of_users(app=98), after=of_users(app=99)),
    StrayCase(
        table=USERS,
        before=of_users(app=10),
        after=of_users(app=10, new=11),
        danger="the default hostgroup of 1 user (new)",
    ),
    StrayCase(table=USERS, before=of_users(app=10, old=11), after=of_users(app=10, old=11, new=11)),
    StrayCase(table=USERS, before=of_users(app=99), after=of_users(app=10)),
    StrayCase(
        table=RULES,
        before=to_rules(10, 10, None, 98),
        after=to_rules(11, 10, 11, 99),
        danger="the destination of 2 rules (1, 3)",
    ),
    StrayCase(table=RULES, before=to_rules(10), after=to_rules(10, 11), families=(FAMILY,)),
    StrayCase(
        table=FAST,
        before=routes(10),
        after=routes(11),
        danger="the destination of fast routing in 1 row (app/shop)",
    ),
    StrayCase(
        table=FAST,
        before=[],
        after=routes(11),
        danger="the destination of fast routing in 1 row (app/shop)",
    ),
]


@pytest.mark.parametrize("case", STRAYS, ids=lambda case: f"{case.table}: {case.danger}")
def test_what_is_sent_where_no_server_is(case):
    before = rows(case.table, *case.before)
    found = diff(desired(case.table, *case.after), before)
    column = found.layout.index[DESTINATIONS[case.table]]
    used = frozenset(row[column] for row in before.values())
    state = Servers(layout(SERVERS), servers("10 a"), servers("10 a"))
    needs = Needs(frozenset(), {case.table: used}, {}, {})
    changes = found.changes[Layer.RUNTIME]
    dangers = unserved_destinations(found.layout, changes, state, needs, Topology(case.families))
    text = f"hostgroup 11 would be {case.danger} but has no server that can receive queries"
    assert [danger.message for danger in dangers] == [text] * bool(case.danger)


@dataclass(frozen=True)
class LockoutCase:
    """A variable before and after, what differs in the login in use, and part of the message."""

    name: str
    before: str
    after: str
    used: Mapping[str, object] = field(default_factory=dict)
    danger: str | None = None


ADMINS, IFACES = "admin-admin_credentials", "admin-mysql_ifaces"
STATS, HASH = "admin-stats_credentials", native_hash("s3cret")
SOCKET = "0.0.0.0:6032;/tmp/admin.sock"
LOCKOUTS = [
    LockoutCase(
        name=STATS,
        before="stats:stats",
        after="stats:stats;radmin:s3cret",
        danger="radmin, the login in use, could only read statistics",
    ),
    LockoutCase(name=STATS, before="stats:stats", after="other:x"),
    LockoutCase(
        name=ADMINS,
        before="radmin:s3cret",
        after="radmin:s3cret;radmin:x",
        danger="would get a different password",
    ),
    LockoutCase(name=ADMINS, before="radmin:s3cret", after="radmin:x;radmin:s3cret"),
    LockoutCase(name=ADMINS, before="radmin:s3cret", after=f"radmin:{HASH};next:x"),
    LockoutCase(name=ADMINS, before=f"radmin:{HASH}", after=f"radmin:{HASH};next:x"),
    LockoutCase(
        name=ADMINS,
        before=f"radmin:{HASH}",
        after="radmin:other;next:x",
        danger="would get a different password",
    ),
    LockoutCase(
        name=IFACES, before="0.0.0.0:6032", after="127.0.0.1:6032", danger="the address in use"
    ),
    LockoutCase(
        name=IFACES, before="0.0.0.0:6032", after="10.0.0.2:6032", danger="the address in use"
    ),
    LockoutCase(
        name=IFACES, before="0.0.0.0:6032", after="0.0.0.0:6033", danger="the address in use"
    ),
    LockoutCase(name=IFACES, before="0.0.0.0:6032", after="127.0.0.1:6032;10.0.0.1:6032"),
    LockoutCase(name=IFACES, before="0.0.0.0:6032", after=SOCKET),
    # A name may be any address but a loopback.
    LockoutCase(
        name=IFACES, before="0.0.0.0:6032", after="10.0.0.9:6032", used={"host": "px1.example.com"}
    ),
    LockoutCase(
        name=IFACES,
        before="0.0.0.0:6032",
        after="127.0.0.1:6032",
        used={"host": "px1.example.com"},
        danger="the address in use",
    ),
    # Behind a forwarded port nothing is known.
    LockoutCase(name=IFACES, before="0.0.0.0:6032", after="127.0.0.1:6032", used={"port": 16032}),
    LockoutCase(
        name=IFACES,
        before=SOCKET,
        after="0.0.0.0:6032",
        used={"socket": "/tmp/admin.sock"},
        danger="listen on /tmp/admin.sock, the address in use",
    ),
]


@pytest.mark.parametrize("case", LOCKOUTS, ids=lambda case: f"{case.name}-{case.after}")
def test_the_login_and_the_address_in_use_stay(case):
    name = case.name
    wanted = replace(desired("admin_variables"), rows={(name,): (name, case.after)})
    found = diff(wanted, {(name,): (name, case.before)})
    access = replace(Login("10.0.0.1", 6032, "radmin", "s3cret"), **case.used)
    messages = [danger.message for danger in lockouts(found.changes[Layer.RUNTIME], access)]
    assert [str(case.danger) in message for message in messages] == [True] * bool(case.danger)


def test_a_name_is_a_user_or_a_login_of_the_admin_interface_unless_it_is_both_already():
    (danger,) = replaced_logins({"app", "boss"}, {"radmin", "boss"}, before=())
    assert danger.message.startswith("boss would be a user and a login of the admin interface")
    assert [*replaced_logins({"app", "boss"}, {"radmin", "boss"}, before={"boss"})] == []


@pytest.mark.parametrize(
    ("before", "after", "is_on"), [("monitor", "", False), ("", "monitor", True)]
)
def test_a_monitor_that_is_off_and_a_password_that_was_empty_are_no_danger(before, after, is_on):
    name = "mysql-monitor_password"
    wanted = replace(desired("mysql_variables"), rows={(name,): (name, after)})
    found = diff(wanted, {(name,): (name, before)})
    assert [*blind_monitor(found.changes[Layer.RUNTIME], is_on=is_on)] == []
