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


class TestDeletions:
    def said(self, wanted, memory, limits=None, **layers):
        module = module_plan(diff(wanted, memory, **layers))
        return [f"{d.guard}: {d.message}" for d in deletions([module], limits or GuardLimits())]

    def guards(self, *arguments, **layers):
        return [text.split(":")[0] for text in self.said(*arguments, **layers)]

    def rules(self, count, **values):
        return [{"rule_id": number, **values} for number in range(1, count + 1)]

    def test_a_third_of_many_rows_is_too_many_to_delete(self):
        memory = rows(RULES, *self.rules(20))
        assert self.said(desired(RULES, *self.rules(13)), memory) == [
            "max_deletes: mysql_query_rules: 7 of 20 rows would be deleted; the limit is 30 percent"
        ]
        assert self.said(desired(RULES, *self.rules(14)), memory) == []

    def test_few_rows_may_go(self):
        memory = rows(RULES, *self.rules(10))
        assert self.said(desired(RULES, *self.rules(1)), memory) == []

    def test_rules_that_are_deactivated_are_not_deleted(self):
        memory = rows(RULES, *self.rules(20))
        wanted = desired(RULES, {"rule_id": 1}, *self.rules(20, active=0)[1:])
        assert self.said(wanted, memory) == []

    def test_the_last_active_rule_may_not_go_although_inactive_ones_stay(self):
        memory = rows(RULES, {"rule_id": 1}, {"rule_id": 2, "active": 0})
        live = rows(RULES, {"rule_id": 1})
        wanted = desired(RULES, {"rule_id": 2, "active": 0})
        assert self.guards(wanted, memory, runtime=live) == ["table_emptied"]

    def test_rules_that_were_all_inactive_may_stay_so(self):
        memory = rows(RULES, *self.rules(2, active=0))
        wanted = desired(RULES, *self.rules(3, active=0))
        assert self.said(wanted, memory, runtime={}) == []

    def test_servers_that_move_are_not_deleted(self):
        memory = rows(SERVERS, *({"hostgroup_id": 1, "hostname": f"h{n}"} for n in range(20)))
        wanted = desired(SERVERS, *({"hostgroup_id": 2, "hostname": f"h{n}"} for n in range(20)))
        assert self.said(wanted, memory) == []


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


class TestAdminAccess:
    ACCESS = Access("radmin", "s3cret", "10.0.0.1", 6032)

    def said(self, name, before, after, **access):
        wanted = desired("admin_variables")
        found = diff(replace(wanted, rows={(name,): (name, after)}), {(name,): (name, before)})
        return [
            danger.message
            for danger in lockouts(found.changes[Layer.RUNTIME], replace(self.ACCESS, **access))
        ]

    def test_the_login_in_use_does_not_become_one_for_statistics(self):
        said = self.said("admin-stats_credentials", "stats:stats", "stats:stats;radmin:s3cret")
        assert said == [
            "admin-stats_credentials: radmin, the login in use, could only read statistics"
        ]
        assert self.said("admin-stats_credentials", "stats:stats", "other:x") == []

    @pytest.mark.parametrize(
        ("after", "is_refused"),
        [
            ("127.0.0.1:6032", True),
            ("10.0.0.2:6032", True),
            ("0.0.0.0:6033", True),
            ("127.0.0.1:6032;10.0.0.1:6032", False),
            ("0.0.0.0:6032;/tmp/admin.sock", False),
        ],
    )
    def test_the_address_in_use_is_still_listened_to(self, after, is_refused):
        assert bool(self.said("admin-mysql_ifaces", "0.0.0.0:6032", after)) is is_refused

    def test_a_name_may_be_any_address_but_a_loopback(self):
        def said(after):
            return self.said("admin-mysql_ifaces", "0.0.0.0:6032", after, host="px1.example.com")

        assert said("10.0.0.9:6032") == []
        assert said("127.0.0.1:6032") != []

    def test_nothing_is_known_behind_a_forwarded_port(self):
        changed = ("admin-mysql_ifaces", "0.0.0.0:6032", "127.0.0.1:6032")
        assert self.said(*changed, port=16032) == []

    def test_a_socket_in_use_stays(self):
        before = "0.0.0.0:6032;/tmp/admin.sock"
        said = self.said("admin-mysql_ifaces", before, "0.0.0.0:6032", socket="/tmp/admin.sock")
        assert said == [
            "admin-mysql_ifaces: ProxySQL would no longer listen on /tmp/admin.sock, the address in"
            " use"
        ]


def test_a_name_is_a_user_or_a_login_of_the_admin_interface_unless_it_is_both_already():
    (danger,) = replaced_logins({"app", "boss"}, {"radmin", "boss"}, before=())
    assert danger.message.startswith("boss would be a user and a login of the admin interface")
    assert [*replaced_logins({"app", "boss"}, {"radmin", "boss"}, before={"boss"})] == []


class TestMonitorCredentials:
    def said(self, before, after, *, is_on=True):
        name = "mysql-monitor_password"
        wanted = replace(desired("mysql_variables"), rows={(name,): (name, after)})
        found = diff(wanted, {(name,): (name, before)})
        return [one.message for one in blind_monitor(found.changes[Layer.RUNTIME], is_on=is_on)]

    def test_a_monitor_that_is_off_and_a_password_that_was_empty_are_no_danger(self):
        assert self.said("monitor", "", is_on=False) == []
        assert self.said("", "monitor") == []
