"""Guards judge transitions: each refuses what it is about, and says nothing of what was so."""

from __future__ import annotations

import pytest

from proxyctl.families import Family
from proxyctl.guards.crowds import ServersAt, new_crowds
from proxyctl.guards.danger import Danger, refusals, warnings
from proxyctl.guards.deletions import deletions
from proxyctl.guards.hostgroups import HostgroupNeeds, emptied_hostgroups
from proxyctl.guards.stray import strays
from proxyctl.state import GuardAction, GuardLimits, Layer
from tests.support.build import desired, layout, module_plan, rows, survey

RULES, SERVERS, USERS = "mysql_query_rules", "mysql_servers", "mysql_users"
OFF = GuardAction.OFF


class TestDeletions:
    def said(self, wanted, memory, limits=None, **layers):
        module = module_plan(survey(wanted, memory, **layers))
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

    def test_a_small_share_of_a_large_table_may_be_too_many_rows(self):
        memory = rows(RULES, *self.rules(400))
        limits = GuardLimits(max_deletes_rows=50)
        assert self.said(desired(RULES, *self.rules(349)), memory, limits) == [
            "max_deletes: mysql_query_rules: 51 of 400 rows would be deleted; the limit is 50 rows"
        ]
        assert self.said(desired(RULES, *self.rules(350)), memory, limits) == []

    def test_few_rows_may_go(self):
        memory = rows(RULES, *self.rules(10))
        assert self.said(desired(RULES, *self.rules(1)), memory) == []

    def test_rules_that_are_deactivated_are_not_deleted(self):
        memory = rows(RULES, *self.rules(20))
        wanted = desired(RULES, {"rule_id": 1}, *self.rules(20, active=0)[1:])
        assert self.said(wanted, memory) == []

    def test_a_user_in_halves_counts_once(self):
        def halves(count):
            return rows(
                USERS,
                *(
                    {"username": f"u{n}", "password": "x", "backend": b, "frontend": 1 - b}
                    for n in range(count)
                    for b in (0, 1)
                ),
            )

        def users(count):
            return desired(USERS, *({"username": f"u{n}"} for n in range(count)))

        assert self.guards(users(10), halves(20)) == ["max_deletes"]
        assert self.guards(users(14), halves(20)) == []
        assert self.guards(users(1), halves(10)) == []

    def test_rules_are_never_all_deleted(self):
        memory = rows(RULES, *self.rules(2))
        assert self.said(desired(RULES), memory) == [
            "table_emptied: mysql_query_rules: nothing would be left; 2 rows would be deleted"
        ]

    def test_rules_are_never_all_deactivated(self):
        memory = rows(RULES, *self.rules(2))
        assert self.said(desired(RULES, *self.rules(2, active=0)), memory) == [
            "table_emptied: mysql_query_rules: no rule would be active any more (2 are now)"
        ]

    def test_the_last_active_rule_may_not_go_although_inactive_ones_stay(self):
        memory = rows(RULES, {"rule_id": 1}, {"rule_id": 2, "active": 0})
        live = rows(RULES, {"rule_id": 1})
        wanted = desired(RULES, {"rule_id": 2, "active": 0})
        assert self.guards(wanted, memory, runtime=live) == ["table_emptied"]

    def test_rules_that_were_all_inactive_may_stay_so(self):
        memory = rows(RULES, *self.rules(2, active=0))
        wanted = desired(RULES, *self.rules(3, active=0))
        assert self.said(wanted, memory, runtime={}) == []

    @pytest.mark.parametrize("switched_off", [{"active": 0}, {"frontend": 0}])
    def test_users_are_never_all_locked_out(self, switched_off):
        app, batch = ({"username": name, "password": "x"} for name in ("app", "batch"))
        halves = ({"backend": 0, "frontend": 1}, {"backend": 1, "frontend": 0})
        live = rows(USERS, *({**user, **half} for user in (app, batch) for half in halves))
        memory = rows(USERS, app, batch)
        wanted = desired(USERS, {**app, **switched_off}, {**batch, **switched_off})
        assert self.said(wanted, memory, runtime=live) == [
            "table_emptied: mysql_users: nobody could log in any more (2 users can now)"
        ]
        assert self.said(desired(USERS, {**app, **switched_off}, batch), memory, runtime=live) == []

    def test_servers_that_move_are_not_deleted(self):
        memory = rows(SERVERS, *({"hostgroup_id": 1, "hostname": f"h{n}"} for n in range(20)))
        wanted = desired(SERVERS, *({"hostgroup_id": 2, "hostname": f"h{n}"} for n in range(20)))
        assert self.said(wanted, memory) == []


class TestHostgroups:
    A, B = {"hostgroup_id": 10, "hostname": "a"}, {"hostgroup_id": 20, "hostname": "b"}
    REPLICATION = Family("replication", 10, frozenset({10, 20}))
    GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)

    def said(self, files, writers=(), rules=(), users=(), families=(), **actions):
        module = module_plan(survey(desired(SERVERS, *files), rows(SERVERS, self.A, self.B)))
        needs = HostgroupNeeds(
            frozenset(writers), {RULES: frozenset(rules), USERS: frozenset(users)}, {10: "writer"}
        )
        limits = GuardLimits(actions=actions)
        found = emptied_hostgroups(module, families, needs, limits)
        return [f"{danger.guard}: {danger.message}" for danger in found]

    def test_a_hostgroup_that_rules_use_keeps_an_online_server(self):
        text = "empty_hostgroup: hostgroup 20 is used by rules and would have no ONLINE server"
        assert self.said([self.A], rules=[20]) == [text]
        assert self.said([self.A, {**self.B, "status": "OFFLINE_SOFT"}], rules=[20]) == [text]
        assert self.said([self.A], rules=[10, 30]) == []

    def test_the_default_hostgroup_of_users_keeps_an_online_server(self):
        assert self.said([self.A], users=[20]) == [
            "default_hostgroup: hostgroup 20 is the default hostgroup of users and would have no"
            " ONLINE server"
        ]

    def test_a_writer_hostgroup_keeps_its_last_server_also_if_nothing_is_seen_to_use_it(self):
        assert self.said([self.B], writers=[10]) == [
            "last_writer: hostgroup 10 (writer) is a writer hostgroup and would have no ONLINE"
            " server"
        ]

    def test_a_hostgroup_is_said_once_by_the_strictest_guard(self):
        everything = {"writers": [10], "users": [10], "rules": [10]}
        (text,) = self.said([self.B], **everything)
        assert text == (
            "last_writer: hostgroup 10 (writer) is a writer hostgroup, the default hostgroup of"
            " users and used by rules and would have no ONLINE server"
        )
        (text,) = self.said([self.B], **everything, last_writer=OFF)
        assert text.startswith("default_hostgroup: ")
        (text,) = self.said([self.B], **everything, default_hostgroup=OFF, last_writer=OFF)
        assert text.startswith("empty_hostgroup: ")

    def test_a_replica_is_no_writer_until_it_says_so(self):
        where = {"writers": [10], "families": [self.REPLICATION]}
        assert [text.split(":")[0] for text in self.said([self.B], **where)] == ["last_writer"]
        new = {"hostgroup_id": 10, "hostname": "new"}
        assert self.said([new, self.B], **where) == []

    def test_any_node_of_a_galera_family_may_become_the_writer(self):
        assert self.said([self.B], writers=[10], rules=[10, 30], families=[self.GALERA]) == []

    def test_nothing_is_said_of_a_hostgroup_that_had_no_server_before(self):
        assert self.said([self.A], rules=[20, 99], users=[99], writers=[99])[1:] == []


class TestCrowds:
    """max_num_online_servers: the one server too many stops its hostgroup."""

    GALERA = Family(
        "galera", 1, frozenset({1, 2, 3, 4}), offline=4, backup=2, reader=3, writer_is_also_reader=2
    )

    def said(self, now, then, most, families=()):
        before, after = (
            ServersAt(layout(SERVERS), rows(SERVERS, *servers), dict.fromkeys((10, 3), limit))
            for servers, limit in ((now, most[0]), (then, most[1]))
        )
        found = new_crowds(before, after, families)
        return {hostgroup: (crowd.online, crowd.most) for hostgroup, crowd in found.items()}

    @staticmethod
    def servers(*statuses, hostgroup=10):
        return [
            {"hostgroup_id": hostgroup, "hostname": f"h{n}", "status": status}
            for n, status in enumerate(statuses)
        ]

    def test_one_server_too_many_or_a_lower_limit(self):
        two, three = self.servers(*["ONLINE"] * 2), self.servers(*["ONLINE"] * 3)
        assert self.said(two, three, (2, 2)) == {10: (3, 2)}
        assert self.said(two, three, (2, 3)) == {}
        assert self.said(two, two, (2, 1)) == {10: (2, 1)}
        assert self.said(two, two, (1_000_000, 1)) == {10: (2, 1)}

    def test_what_brings_that_day_no_nearer_is_let(self):
        """The monitor of a Galera cluster leaves those away that are dead, whatever is loaded."""
        nodes = [
            {"hostgroup_id": 1, "hostname": "w", "weight": 9},
            *({"hostgroup_id": 3, "hostname": f"r{n}"} for n in range(2)),
            *({"hostgroup_id": 4, "hostname": f"d{n}"} for n in range(3)),
        ]
        # Of six one is to write, one reads no more; 3 waits for those that are well again.
        assert self.said(nodes, nodes[:-1], (2, 2), [self.GALERA]) == {}
        assert self.said(nodes, nodes, (2, 3), [self.GALERA]) == {}
        assert self.said(nodes, nodes, (3, 2), [self.GALERA]) == {3: (5, 2)}

    def test_weight_and_max_connections_are_nothing_to_it(self):
        idle = {**self.servers("ONLINE", "ONLINE")[1], "weight": 0, "max_connections": 0}
        one = self.servers("ONLINE")
        assert self.said(one, [*one, idle], (1, 1)) == {10: (2, 1)}

    def test_who_is_shunned_comes_back_and_who_is_offline_does_not(self):
        two = self.servers("ONLINE", "SHUNNED")
        assert self.said(two, self.servers("ONLINE", "ONLINE", "ONLINE"), (2, 2)) == {10: (3, 2)}
        assert self.said(two, self.servers("ONLINE", "ONLINE", "OFFLINE_SOFT"), (2, 2)) == {}
        # It stops on the day on which that one is back: a LOAD may bring that day.
        assert self.said(two, self.servers("ONLINE", "SHUNNED"), (1, 1)) == {}
        assert self.said(two, self.servers("ONLINE", "ONLINE"), (1, 1)) == {10: (2, 1)}

    def test_one_that_is_stopped_already_is_no_transition(self):
        three = self.servers(*["ONLINE"] * 3)
        assert self.said(three, self.servers(*["ONLINE"] * 4), (2, 2)) == {}

    def test_new_galera_nodes_count_where_the_monitor_will_place_them(self):
        placed = [
            *self.servers("ONLINE", "SHUNNED", "SHUNNED", hostgroup=1),
            *self.servers("OFFLINE_SOFT", "ONLINE", "ONLINE", hostgroup=3)[1:],
        ]
        new = {"hostgroup_id": 4, "hostname": "h9"}
        assert self.said(placed, [*placed, new], (2, 2), [self.GALERA]) == {3: (3, 2)}
        assert self.said(placed, [*placed, new], (3, 3), [self.GALERA]) == {}
        unwell = [*placed[:2], placed[3], {**placed[4], "hostgroup_id": 4}]
        assert self.said(unwell, unwell, (1, 1), [self.GALERA]) == {}


class TestStrays:
    NEEDS = HostgroupNeeds(frozenset(), {}, {})

    def said(self, before, after, serving=frozenset({10})):
        users = rows(USERS, *({"username": n, "default_hostgroup": h} for n, h in before.items()))
        wanted = desired(
            USERS, *({"username": n, "default_hostgroup": h} for n, h in after.items())
        )
        found = survey(wanted, users)
        changes = found.changes[Layer.RUNTIME]
        dangers = strays(found.layout, changes, serving, serving, self.NEEDS)
        return [f"{danger.guard}: {danger.message}" for danger in dangers]

    def test_a_user_is_not_sent_from_servers_to_none(self):
        assert self.said({"app": 10, "batch": 10}, {"app": 11, "batch": 10}) == [
            "default_hostgroup: hostgroup 11 would be the default hostgroup of 1 user (app) and has"
            " no server that takes queries"
        ]

    def test_a_user_without_servers_before_and_a_new_one_are_no_transition(self):
        assert self.said({"app": 98}, {"app": 99}) == []
        assert self.said({"app": 10}, {"app": 10, "new": 99}) == []
        assert self.said({"app": 99}, {"app": 10}) == []

    def test_neither_are_rules_and_fast_routing(self):
        def said(table, before, after):
            found = survey(desired(table, *after), rows(table, *before))
            changes = found.changes[Layer.RUNTIME]
            serving = frozenset({10})
            return [d.message for d in strays(found.layout, changes, serving, serving, self.NEEDS)]

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


class TestWhatBecomesOfADanger:
    DANGERS = (Danger("table_emptied", "all gone"), Danger("last_writer", "no writer"))

    def both(self, *, force=False, **actions):
        limits = GuardLimits(actions=actions)
        return (
            [(r.message, r.allow) for r in refusals(self.DANGERS, limits, force=force)],
            list(warnings(self.DANGERS, limits, force=force)),
        )

    def test_all_of_them_refuse_at_once(self):
        assert self.both() == (
            [
                ("all gone (guards.table_emptied)", "--force"),
                ("no writer (guards.last_writer)", "--force"),
            ],
            [],
        )

    def test_each_may_warn_or_be_silent(self):
        warned = self.both(table_emptied=GuardAction.WARN, last_writer=OFF)
        assert warned == ([], ["all gone (guards.table_emptied: warn)"])

    def test_what_is_forced_is_said(self):
        assert self.both(force=True, last_writer=OFF) == ([], ["all gone (--force)"])
