"""Guards judge transitions: each refuses what it is about, and says nothing of what was so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.families import Family
from proxyctl.guards.admin_access import Access, lockouts
from proxyctl.guards.danger import Danger, refusals, warnings
from proxyctl.guards.deletions import deletions
from proxyctl.guards.hostgroups import HostgroupNeeds, emptied_hostgroups
from proxyctl.guards.monitoring import blind_monitor, emptied_credentials
from proxyctl.guards.stray import strays
from proxyctl.lint.answers_for_all import new_answer_for_all
from proxyctl.lint.answers_to_samples import new_answer_to_samples
from proxyctl.state import GuardAction, GuardLimits, Layer
from tests.build import desired, module_plan, rows, survey
from tests.unit.linted import subject

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
            " no ONLINE server"
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
            "hostgroup 11 would be the destination of 1 rule (1) and has no ONLINE server"
        ]

        def routes(hostgroup):
            names = {"username": "app", "schemaname": "shop", "flagIN": 0, "comment": ""}
            return [{**names, "destination_hostgroup": hostgroup}]

        assert said("mysql_query_rules_fast_routing", routes(10), routes(11)) == [
            "hostgroup 11 would be the destination of fast routing in 1 row (app/shop) and has no"
            " ONLINE server"
        ]


class TestAdminAccess:
    ACCESS = Access("radmin", "s3cret", "10.0.0.1", 6032)

    def said(self, name, before, after, **access):
        wanted = desired("admin_variables")
        found = survey(replace(wanted, rows={(name,): (name, after)}), {(name,): (name, before)})
        return [
            danger.message
            for danger in lockouts(found.changes[Layer.RUNTIME], replace(self.ACCESS, **access))
        ]

    def test_the_login_in_use_stays(self):
        def said(after):
            return self.said("admin-admin_credentials", "admin:admin;radmin:s3cret", after)

        (gone,) = said("admin:admin")
        assert gone == (
            "admin-admin_credentials: radmin, the login in use, would not be in it any more"
        )
        (other,) = said("admin:admin;radmin:new")
        assert other.startswith("admin-admin_credentials: radmin, the login in use, would get")
        assert said("radmin:s3cret") == []
        assert said("admin:changed;radmin:s3cret") == []
        assert "s3cret" not in gone + other + repr(self.ACCESS)

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
            "admin-mysql_ifaces: /tmp/admin.sock, the address in use, would not be listened to any"
            " more"
        ]

    def test_nothing_allows_what_proxyctl_could_not_finish(self):
        name = "admin-read_only"
        wanted = replace(desired("admin_variables"), rows={(name,): (name, "true")})
        changes = survey(wanted, {(name,): (name, "false")}).changes[Layer.RUNTIME]
        found = list(lockouts(changes, self.ACCESS))
        off = GuardLimits(actions={"admin_access": OFF})
        (refusal,) = refusals(found, off, force=True)
        assert (refusal.code, refusal.allow) == ("admin_access", None)
        assert list(warnings(found, off, force=True)) == []


class TestMonitorCredentials:
    def emptied(self, before, after):
        name = "mysql-monitor_password"
        wanted = replace(desired("mysql_variables"), rows={(name,): (name, after)})
        found = survey(wanted, {(name,): (name, before)})
        return emptied_credentials(found.changes[Layer.RUNTIME])

    def test_the_monitor_keeps_its_account_while_families_depend_on_it(self):
        families = [Family("galera", 10, frozenset({10, 30}))]
        (danger,) = blind_monitor(self.emptied("monitor", ""), families)
        assert danger.message == (
            "mysql-monitor_password would become empty, while the monitor places the servers of"
            " writer hostgroup 10"
        )
        assert list(blind_monitor(self.emptied("monitor", ""), [])) == []

    def test_another_password_and_one_that_was_empty_are_no_danger(self):
        assert self.emptied("monitor", "other") == []
        assert self.emptied("", "monitor") == []


class TestCatchAll:
    SPLIT = ({"rule_id": 10, "match_digest": "^SELECT", "destination_hostgroup": 2, "apply": 1},)

    def said(self, after, before=SPLIT, **variables):
        sides = subject(*before), subject(*after, **variables)
        return new_answer_for_all(*(side.configuration for side in sides))

    @pytest.mark.parametrize("column", ["error_msg", "OK_msg"])
    @pytest.mark.parametrize(
        "criteria",
        [
            {},
            {"match_digest": ".*"},
            {"match_digest": "."},
            {"match_digest": r"^\S.*"},
            {"match_pattern": "^"},
            {"match_pattern": ".+"},
            {"match_digest": "[a-z]"},
            {"match_digest": r"\w"},
            {"match_pattern": r"[a-z_]+"},
            {"client_addr": "%"},
        ],
    )
    def test_a_rule_that_answers_everything(self, column, criteria):
        rule = {"rule_id": 5, column: "closed", **criteria}
        assert self.said([rule, *self.SPLIT]) == (
            f"rule 5 matches every query and answers it with {column}: no query would reach a"
            " server"
        )

    @pytest.mark.parametrize("pattern", ["^[a-z]", r"^\w", r"^\w+"])
    def test_a_rule_that_leaves_only_brackets(self, pattern):
        rule = {"rule_id": 5, "error_msg": "closed", "match_digest": pattern}
        assert self.said([rule, *self.SPLIT]) == (
            "rule 5 matches every query that begins with a letter and answers it with error_msg:"
            " no such query would reach a server"
        )
        assert self.said([{**rule, "match_digest": "."}, *self.SPLIT], before=[rule]) is not None
        assert self.said([rule, *self.SPLIT], before=[{**rule, "match_digest": "."}]) is None

    def test_queries_that_an_earlier_rule_takes_are_said(self):
        assert self.said([*self.SPLIT, {"rule_id": 99, "error_msg": "closed"}]) == (
            "rule 99 matches every query and answers it with error_msg: only queries that an"
            " earlier rule takes (10) would reach a server"
        )

    def test_a_way_over_flags_leads_there_too(self):
        chain = [{"rule_id": 1, "flagOUT": 7}, {"rule_id": 2, "flagIN": 7, "error_msg": "closed"}]
        assert self.said(chain) is not None
        aside = [{"rule_id": 1, "flagOUT": 8}, {"rule_id": 2, "flagIN": 7, "error_msg": "closed"}]
        assert self.said(aside) is None

    @pytest.mark.parametrize(
        "rule",
        [
            {"match_digest": "FROM old_orders"},
            {"match_digest": "^[^S]"},
            {"match_pattern": "^SELECT|^UPDATE|^INSERT|^DELETE"},
            {"username": "mallory"},
            {"client_addr": "10.1.%"},
            {"match_digest": ".*", "negate_match_pattern": 1},
            {"digest": "0x0123456789ABCDEF"},
            {"active": 0},
        ],
    )
    def test_a_rule_that_blocks_some_queries_or_sessions_is_none(self, rule):
        assert self.said([{"rule_id": 5, "error_msg": "no", **rule}, *self.SPLIT]) is None

    def test_a_rule_behind_one_that_takes_everything_never_answers(self):
        default = {"rule_id": 1, "destination_hostgroup": 1, "apply": 1}
        assert self.said([default, {"rule_id": 5, "error_msg": "closed"}]) is None

    def test_what_blocked_before_may_go_on(self):
        closed = {"rule_id": 5, "error_msg": "closed"}
        reworded = {"rule_id": 6, "error_msg": "back at six"}
        assert self.said([reworded], before=[closed]) is None
        assert self.said([*self.SPLIT, {**closed, "rule_id": 99}], before=[closed]) is None
        # Behind another rule it left some queries through.
        assert self.said([closed], before=[*self.SPLIT, {**closed, "rule_id": 99}]) is not None

    def test_without_digests_a_rule_for_a_digest_answers_everything(self):
        block = {"rule_id": 5, "match_digest": "FROM old_orders", "error_msg": "no"}
        assert self.said([block], before=[block], query_digests="false") is not None
        assert self.said([block], before=[block]) is None


class TestNearlyEverything:
    """What no proof covers is tried with sample queries."""

    SPLIT = TestCatchAll.SPLIT
    USERS = tuple({"username": f"u{n}", "default_hostgroup": 1} for n in range(30))

    def said(self, after, before=SPLIT, *, users=(), **variables):
        sides = subject(*before, users=users), subject(*after, users=users, **variables)
        return new_answer_to_samples(*(side.configuration for side in sides))

    @pytest.mark.parametrize("column", ["error_msg", "OK_msg"])
    @pytest.mark.parametrize(
        "criteria",
        [
            {"match_digest": r"(.|\n)+"},
            {"match_digest": r"[\s\S]+"},
            {"match_pattern": r"(?s).*(?=)"},
            {"match_digest": "^(?!x)"},
            {"match_digest": "^(?!SELECT 1$)"},
            {"match_digest": "^never$", "negate_match_pattern": 1},
            {"match_pattern": "^SELECT 1$", "negate_match_pattern": 1},
            {"match_digest": "select|insert|update|delete|replace"},
            {"proxy_port": 6033},
        ],
    )
    def test_one_rule(self, column, criteria):
        rule = {"rule_id": 5, column: "closed", **criteria}
        assert self.said([rule, *self.SPLIT]) == (
            f"rule 5 answers nearly every sample query with {column}: hardly any query would reach"
            " a server"
        )
        assert self.said([rule, *self.SPLIT], before=[rule]) is None

    def test_several_rules_that_do_it_together(self):
        reads = {"rule_id": 5, "match_digest": "select|with", "error_msg": "no"}
        writes = {"rule_id": 6, "match_digest": "^[^s(]", "error_msg": "no"}
        assert self.said([reads, writes]).startswith("rules 5, 6 answer nearly every")
        assert self.said([reads]) is None
        assert self.said([writes]) is None

    def test_rules_by_address(self):
        networks = ("10.%", "172.%", "192.%", "127.%")
        rules = [{"client_addr": one, "error_msg": "no"} for one in networks]
        assert self.said(rules) is not None
        assert self.said(rules[:1]) is None

    def test_rules_behind_flags_only(self):
        block = {"rule_id": 9, "flagIN": 7, "match_digest": r"[\s\S]", "error_msg": "no"}
        ways = [{"rule_id": 1, "match_digest": "(.|\n)", "flagOUT": 7}, block]
        assert self.said(ways) is not None
        assert self.said([{**ways[0], "flagOUT": 8}, block]) is None
        assert self.said([{**ways[0], "match_digest": "^SELECT"}, block]) is None

    def test_behind_a_rule_that_rewrites(self):
        rewrite = {"rule_id": 1, "match_pattern": "^.*", "replace_pattern": "closed: "}
        block = {"rule_id": 2, "match_pattern": "^closed: ", "error_msg": "no"}
        assert self.said([rewrite, block]) is not None
        assert self.said([block]) is None

    def test_one_rule_for_each_user(self):
        def rules(count):
            return [{"username": f"u{n}", "error_msg": "no"} for n in range(count)]

        assert self.said(rules(30), users=self.USERS) == (
            "rules 1, 2, 3, 4, 5 ... answer nearly every sample query of every user with"
            " error_msg: hardly any query would reach a server"
        )
        assert "of 27 in 30 users" in self.said(rules(27), users=self.USERS)
        assert self.said(rules(26), users=self.USERS) is None
        assert self.said(rules(20), users=self.USERS) is None
        assert self.said([{"username": "mallory", "error_msg": "no"}], users=self.USERS) is None

    def test_the_schema_of_users(self):
        in_shop = [{**user, "default_schema": "accounts"} for user in self.USERS]
        rule = {"schemaname": "accounts", "error_msg": "no"}
        assert self.said([rule], users=in_shop) is not None
        assert self.said([rule], users=self.USERS) is None

    def test_one_user_who_passes_by_rules_is_nobody_else(self):
        forwarded = [{**user, "fast_forward": 1} for user in self.USERS]
        rules = [{"username": f"u{n}", "error_msg": "no"} for n in range(30)]
        assert self.said(rules, users=forwarded) is None

    @pytest.mark.parametrize(
        "criteria",
        [
            {"match_digest": "^(INSERT|UPDATE|DELETE|REPLACE)"},
            {"match_digest": "^SELECT"},
            {"match_digest": "FOR UPDATE|DROP|TRUNCATE"},
            {"match_digest": "orders"},
            {"match_digest": "^SELECT (?!.*WHERE)"},
            {"client_addr": "10.%"},
            {"proxy_port": 6034},
            {"match_pattern": ".*", "negate_match_pattern": 1},
        ],
    )
    def test_a_part_of_it_may_be_blocked(self, criteria):
        assert self.said([{"rule_id": 5, "error_msg": "no", **criteria}, *self.SPLIT]) is None


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
