"""Guards judge transitions: each refuses what it is about, and says nothing of what was so."""

from __future__ import annotations

from proxyctl.plan.guards.deletes import deletions
from proxyctl.plan.guards.hostgroups import Needs, Servers, emptied_hostgroups, strays
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
        dangers = strays(found.layout, changes, self.SERVERS, self.NEEDS)
        return [f"{danger.guard}: {danger.message}" for danger in dangers]

    def test_a_user_without_servers_before_and_a_new_one_are_no_transition(self):
        assert self.said({"app": 98}, {"app": 99}) == []
        assert self.said({"app": 10}, {"app": 10, "new": 99}) == []
        assert self.said({"app": 99}, {"app": 10}) == []

    def test_neither_are_rules_and_fast_routing(self):
        def said(table, before, after):
            found = diff(desired(table, *after), rows(table, *before))
            changes = found.changes[Layer.RUNTIME]
            return [d.message for d in strays(found.layout, changes, self.SERVERS, self.NEEDS)]

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
