"""The guard against rules that block everything: proven of a rule, or tried with sample queries."""

from __future__ import annotations

import pytest

from proxyctl.lint.answers_for_all import new_answer_for_all
from proxyctl.lint.answers_to_samples import new_answer_to_samples
from tests.unit.linted import subject


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
