"""Guards judge transitions: of rows, hostgroups, logins, and the account of the monitor."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.plan.guards.access import Access, blind_monitor, lockouts, replaced_logins
from proxyctl.plan.guards.deletes import deletions
from proxyctl.plan.guards.hostgroups import (
    Needs,
    Servers,
    emptied_hostgroups,
    unserved_destinations,
)
from proxyctl.state.families import Family
from proxyctl.state.row import GuardLimits, Layer
from tests.support.build import desired, diff, layout, module_plan, rows

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


class TestHostgroups:
    A, B = {"hostgroup_id": 10, "hostname": "a"}, {"hostgroup_id": 20, "hostname": "b"}
    REPLICATION = Family("replication", 10, frozenset({10, 20}))
    GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)

    def said(self, loaded, writers=(), rules=(), users=(), families=(), now=(A, B)):
        servers = Servers(
            layout(SERVERS), rows(SERVERS, *now), rows(SERVERS, *loaded), tuple(families)
        )
        needs = Needs(
            frozenset(writers), {RULES: frozenset(rules), USERS: frozenset(users)}, {10: "writer"}
        )
        found = emptied_hostgroups(servers, needs)
        return [f"{danger.guard}: {danger.message}" for danger in found]

    def test_a_replica_is_no_writer_until_it_says_so(self):
        where = {"writers": [10], "families": [self.REPLICATION]}
        assert [text.split(":")[0] for text in self.said([self.B], **where)] == ["empty_hostgroup"]
        new = {"hostgroup_id": 10, "hostname": "new"}
        assert self.said([new, self.B], **where) == []

    def test_any_node_of_a_galera_family_may_become_the_writer(self):
        assert self.said([self.B], writers=[10], rules=[10, 30], families=[self.GALERA]) == []

    def test_a_hostgroup_that_had_no_server_before_is_not_reported(self):
        assert self.said([self.A], rules=[20, 99], users=[99], writers=[99])[1:] == []

    def test_a_server_that_is_shunned_now_is_not_one_that_serves(self):
        dead = {"hostgroup_id": 20, "hostname": "dead", "status": "SHUNNED"}
        (text,) = self.said([self.A, {**dead, "status": "ONLINE"}], rules=[20], now=[self.B, dead])
        assert "would have only servers that are SHUNNED now" in text
        assert self.said([self.A], rules=[20], now=[self.A, dead]) == []
        new = {"hostgroup_id": 20, "hostname": "new"}
        assert self.said([self.A, new], rules=[20]) == []


class TestStrays:
    NEEDS = Needs(frozenset(), {}, {})
    TEN = rows(SERVERS, {"hostgroup_id": 10, "hostname": "a"})
    SERVERS = Servers(layout(SERVERS), TEN, TEN)

    def said(self, before, after):
        users = rows(USERS, *({"username": n, "default_hostgroup": h} for n, h in before.items()))
        wanted = desired(
            USERS, *({"username": n, "default_hostgroup": h} for n, h in after.items())
        )
        found = diff(wanted, users)
        changes = found.changes[Layer.RUNTIME]
        dangers = unserved_destinations(found.layout, changes, self.SERVERS, self.NEEDS)
        return [f"{danger.guard}: {danger.message}" for danger in dangers]

    def test_a_user_without_servers_before_and_a_new_one_are_no_transition(self):
        assert self.said({"app": 98}, {"app": 99}) == []
        assert self.said({"app": 10}, {"app": 10, "new": 99}) == []
        assert self.said({"app": 99}, {"app": 10}) == []

    def test_neither_are_rules_and_fast_routing(self):
        def said(table, before, after):
            found = diff(desired(table, *after), rows(table, *before))
            changes = found.changes[Layer.RUNTIME]
            return [
                d.message
                for d in unserved_destinations(found.layout, changes, self.SERVERS, self.NEEDS)
            ]

        def rules(*destinations):
            return [
                {"rule_id": number, "active": 1, "match_digest": "x", "destination_hostgroup": h}
                for number, h in enumerate(destinations, 1)
            ]

        assert said(RULES, rules(10, 10, None, 98), rules(11, 10, 11, 99)) == [
            "hostgroup 11 would be the destination of 1 rule (1)"
            " and has no server that takes queries"
        ]

        def routes(hostgroup):
            names = {"username": "app", "schemaname": "shop", "flagIN": 0, "comment": ""}
            return [{**names, "destination_hostgroup": hostgroup}]

        assert said("mysql_query_rules_fast_routing", routes(10), routes(11)) == [
            "hostgroup 11 would be the destination of fast routing in 1 row (app/shop) and has no"
            " server that takes queries"
        ]


IFACES, STATS = "admin-mysql_ifaces", "admin-stats_credentials"
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
    access = replace(Access("radmin", "s3cret", "10.0.0.1", 6032), **used)
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
