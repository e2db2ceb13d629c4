"""Guards judge changes of rows, hostgroups, logins, and the monitor's account."""

from __future__ import annotations

from dataclasses import replace

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


OFF = {"active": 0}
DELETIONS = {
    "a third of many": (RULES, rules(20), rules(13), "max_deletes"),
    "less than a third": (RULES, rules(20), rules(14), None),
    "nearly all of few": (RULES, rules(10), rules(1), None),
    "rules that are switched off": (RULES, rules(20), [*rules(1), *rules(20, **OFF)[1:]], None),
    "the last active rule": (
        *(RULES, [*rules(1), {"rule_id": 2, **OFF}], [{"rule_id": 2, **OFF}], "table_emptied"),
    ),
    "rules that were inactive": (RULES, rules(2, **OFF), rules(3, **OFF), None),
    "servers that move": (SERVERS, hosts(1), hosts(2), None),
}
"""A table, its rows before and after, and the guard that refuses that."""


@pytest.mark.parametrize(("table", "before", "after", "guard"), DELETIONS.values(), ids=DELETIONS)
def test_how_much_may_be_deleted(table, before, after, guard):
    live = rows(table, *(one for one in before if one.get("active", 1)))
    module = module_plan(diff(desired(table, *after), rows(table, *before), runtime=live))
    assert [one.guard for one in deletions([module], GuardLimits())] == [guard] * bool(guard)


REPLICATION = Family("replication", 10, frozenset({10, 20}))
GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)
NONE, SHUNNED = "would have no ONLINE server", "would have only servers that are SHUNNED now"
DEAD = "10 a, 20 dead SHUNNED"
EMPTIED = {
    "a replica is no writer": ("10 a, 20 b", "20 b", {"writers": {10}}, REPLICATION, NONE),
    "another writer": ("10 a, 20 b", "10 new, 20 b", {"writers": {10}}, REPLICATION, None),
    "any node of a Galera family may write": (
        *("10 a, 20 b", "20 b", {"writers": {10}, RULES: {10, 30}}, GALERA, None),
    ),
    "one that had no server before": (
        *("10 a, 20 b", "10 a", {"writers": {99}, RULES: {20, 99}, USERS: {99}}, None, NONE),
    ),
    "one that is SHUNNED now does not serve": (
        *("20 b, 20 dead SHUNNED", "10 a, 20 dead", {RULES: {20}}, None, SHUNNED),
    ),
    "one that is SHUNNED now did not serve": (DEAD, "10 a", {RULES: {20}}, None, None),
    "a server that is replaced": ("10 a, 20 b", "10 a, 20 new", {RULES: {20}}, None, None),
}
"""Servers at RUNTIME, the loaded rows, the needs of hostgroups, a family, and the messages."""


@pytest.mark.parametrize(
    ("now", "loaded", "needed", "family", "danger"), EMPTIED.values(), ids=EMPTIED
)
def test_a_hostgroup_in_use_keeps_a_server(now, loaded, needed, family, danger):
    families = [family] if family else []
    state = Servers(layout(SERVERS), servers(now), servers(loaded), Topology(tuple(families)))
    users = {table: frozenset(needed.get(table, ())) for table in (RULES, USERS)}
    needs = Needs(frozenset(needed.get("writers", ())), {}, users, {10: "writer"})
    found = [*emptied_hostgroups(state, needs)]
    assert [one.guard for one in found] == ["empty_hostgroup"] * bool(danger)
    assert all(danger in one.message for one in found)


def galera(writer, backup, reader, offline, kind="galera"):
    hostgroups = frozenset({writer, backup, reader, offline})
    return Family(kind, writer, hostgroups, offline, backup, reader=reader)


def replicas(writer, reader):
    return Family("replication", writer, frozenset({writer, reader}), reader=reader)


PLACED = "10 a, 10 b SHUNNED, 11 b, 12 b"
CLUSTER, PAIR = galera(10, 11, 12, 13), replicas(10, 20)
NEW_CLUSTER, NEW_PAIR = galera(210, 211, 212, 213), replicas(110, 120)
RENUMBERED = {
    "nodes that would all write": (
        *(CLUSTER, NEW_CLUSTER, PLACED, "210 a, 210 b", {10, 12}),
        ["hostgroup 210 would have a:3306, b:3306 instead of a:3306", "212 would have no server"],
    ),
    "the reader hostgroup alone": (
        *(CLUSTER, galera(10, 11, 212, 13), PLACED, "10 a, 10 b SHUNNED, 11 b", {10, 12}),
        ["Galera family 10 would get different hostgroups in one LOAD", "212 would have no server"],
    ),
    "the writer hostgroup alone": (
        *(CLUSTER, galera(210, 11, 12, 13), PLACED, "210 a, 210 b", {10, 12}),
        ["hostgroup 210 would have a:3306, b:3306 instead of a:3306"],
    ),
    "two hostgroups that change places": (
        *(CLUSTER, galera(11, 10, 12, 13), PLACED, "11 a, 11 b", {10}),
        ["hostgroup 11 would have a:3306, b:3306 instead of a:3306"],
    ),
    "hostgroups that nothing uses": (
        *(CLUSTER, galera(10, 211, 12, 213), PLACED, "10 a, 10 b SHUNNED, 12 b", {10, 12}, []),
    ),
    "nodes whose rows say who reads": (
        *(CLUSTER, NEW_CLUSTER, PLACED, "210 a, 212 b", {10, 12}, []),
    ),
    "another cluster": (CLUSTER, NEW_CLUSTER, PLACED, "210 c, 210 d", {10, 12}, []),
    "replicas whose rows say who reads": (
        *(PAIR, NEW_PAIR, "10 a, 20 b", "110 a, 120 b", {10, 20}, []),
    ),
    "replicas that would all write": (
        *(PAIR, NEW_PAIR, "10 a, 20 b", "110 a, 110 b", {10, 20}),
        ["110 would have a:3306, b:3306 instead of a:3306", "120 would have no server"],
    ),
    "a failover that the rows do not know": (
        *(PAIR, NEW_PAIR, "10 b, 20 a", "110 a, 120 b", {10, 20}),
        ["hostgroup 110 would have a:3306 instead of b:3306"],
    ),
    "a writer that would be missing": (
        *(PAIR, NEW_PAIR, "10 a, 20 b", "120 a, 120 b", {10, 20}),
        ["hostgroup 110 would have no server"],
    ),
    "a node that reads no longer": (
        *(PAIR, NEW_PAIR, "10 a, 20 b, 20 c", "110 a, 120 b", {10, 20}, []),
    ),
}
"""A family before and after, its servers at RUNTIME, those loaded, the hostgroups in use, and the
parts of the message."""


@pytest.mark.parametrize(
    ("leaving", "coming", "now", "loaded", "used", "parts"), RENUMBERED.values(), ids=RENUMBERED
)
def test_a_family_that_gets_other_hostgroups_keeps_its_writer_and_its_readers(
    leaving, coming, now, loaded, used, parts
):
    state = Servers(layout(SERVERS), servers(now), servers(loaded))
    needs = Needs(frozenset(), {RULES: frozenset(used)}, {}, {})
    found = [*renumbered_families(state, needs, Topology((leaving,)), Topology((coming,))).values()]
    assert [one.guard for one in found] == ["empty_hostgroup"] * bool(parts)
    for part in parts:
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


FAST = "mysql_query_rules_fast_routing"
FAMILY = Family("galera", 10, frozenset({10, 11}))
STRAYS = [
    (USERS, of_users(app=98), of_users(app=99), (), None),
    (
        USERS,
        of_users(app=10),
        of_users(app=10, new=11),
        (),
        "the default hostgroup of 1 user (new)",
    ),
    (USERS, of_users(app=10, old=11), of_users(app=10, old=11, new=11), (), None),
    (USERS, of_users(app=99), of_users(app=10), (), None),
    (
        RULES,
        to_rules(10, 10, None, 98),
        to_rules(11, 10, 11, 99),
        (),
        "the destination of 2 rules (1, 3)",
    ),
    (RULES, to_rules(10), to_rules(10, 11), (FAMILY,), None),
    (FAST, routes(10), routes(11), (), "the destination of fast routing in 1 row (app/shop)"),
    (FAST, (), routes(11), (), "the destination of fast routing in 1 row (app/shop)"),
]
"""A table, its rows before and after, families, and messages. Only hostgroup 10 has a server."""


@pytest.mark.parametrize(("table", "before", "after", "families", "danger"), STRAYS)
def test_what_is_sent_where_no_server_is(table, before, after, families, danger):
    found = diff(desired(table, *after), rows(table, *before))
    column = found.layout.index[DESTINATIONS[table]]
    used = frozenset(row[column] for row in rows(table, *before).values())
    state = Servers(layout(SERVERS), servers("10 a"), servers("10 a"))
    needs = Needs(frozenset(), {table: used}, {}, {})
    changes = found.changes[Layer.RUNTIME]
    dangers = unserved_destinations(found.layout, changes, state, needs, Topology(tuple(families)))
    text = f"hostgroup 11 would be {danger} but has no server that can receive queries"
    assert [one.message for one in dangers] == [text] * bool(danger)


ADMINS, IFACES = "admin-admin_credentials", "admin-mysql_ifaces"
STATS, HASH = "admin-stats_credentials", native_hash("s3cret")
SOCKET = "0.0.0.0:6032;/tmp/admin.sock"
LOCKOUTS = [
    (
        STATS,
        "stats:stats",
        "stats:stats;radmin:s3cret",
        {},
        "radmin, the login in use, could only read statistics",
    ),
    (STATS, "stats:stats", "other:x", {}, None),
    (ADMINS, "radmin:s3cret", "radmin:s3cret;radmin:x", {}, "would get a different password"),
    (ADMINS, "radmin:s3cret", "radmin:x;radmin:s3cret", {}, None),
    (ADMINS, "radmin:s3cret", f"radmin:{HASH};next:x", {}, None),
    (ADMINS, f"radmin:{HASH}", f"radmin:{HASH};next:x", {}, None),
    (ADMINS, f"radmin:{HASH}", "radmin:other;next:x", {}, "would get a different password"),
    (IFACES, "0.0.0.0:6032", "127.0.0.1:6032", {}, "the address in use"),
    (IFACES, "0.0.0.0:6032", "10.0.0.2:6032", {}, "the address in use"),
    (IFACES, "0.0.0.0:6032", "0.0.0.0:6033", {}, "the address in use"),
    (IFACES, "0.0.0.0:6032", "127.0.0.1:6032;10.0.0.1:6032", {}, None),
    (IFACES, "0.0.0.0:6032", SOCKET, {}, None),
    # A name may be any address but a loopback.
    (IFACES, "0.0.0.0:6032", "10.0.0.9:6032", {"host": "px1.example.com"}, None),
    (IFACES, "0.0.0.0:6032", "127.0.0.1:6032", {"host": "px1.example.com"}, "the address in use"),
    # Behind a forwarded port nothing is known.
    (IFACES, "0.0.0.0:6032", "127.0.0.1:6032", {"port": 16032}, None),
    (
        IFACES,
        SOCKET,
        "0.0.0.0:6032",
        {"socket": "/tmp/admin.sock"},
        "listen on /tmp/admin.sock, the address in use",
    ),
]


@pytest.mark.parametrize(("name", "before", "after", "used", "danger"), LOCKOUTS)
def test_the_login_and_the_address_in_use_stay(name, before, after, used, danger):
    wanted = replace(desired("admin_variables"), rows={(name,): (name, after)})
    found = diff(wanted, {(name,): (name, before)})
    access = replace(Login("10.0.0.1", 6032, "radmin", "s3cret"), **used)
    messages = [one.message for one in lockouts(found.changes[Layer.RUNTIME], access)]
    assert [str(danger) in one for one in messages] == [True] * bool(danger)


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
