"""Lint, PX2xx: rules that queries do not get to. Each check has its mistake and near misses."""

from __future__ import annotations

import pytest

from proxyctl.lint.check import Severity, all_checks
from tests.unit.linted import digest, findings, pattern, said_of, subject

READS = digest("^SELECT", destination_hostgroup=2)
LOCKS = digest("^SELECT .*FOR UPDATE")
APP = {"username": "app", "default_hostgroup": 1}


SHADOWED = [
    (READS, LOCKS),
    (digest("^select"), digest("^SELECT c FROM t$")),
    (digest("FROM t1"), digest("FROM t10 ")),
    (digest("^SELECT"), digest("^SELECT", username="app")),
    (digest("^SELECT", username="app"), digest("^SELECT .*x", username="app", schemaname="s")),
    (digest("^SELECT", client_addr="10.%"), digest("^SELECT", client_addr="10.0.%")),
    (pattern("SELECT"), pattern("^SELECT", match_digest="x")),
    (digest("a|b"), digest("a|b", schemaname="s")),
    ({"username": "app", "apply": 1}, digest("x", username="app")),
    ({"digest": "0x11", "apply": 1}, digest("x", digest="0x11")),
    (digest("x", negate_match_pattern=1), digest("x", negate_match_pattern=1, proxy_port=1)),
    (digest("^SELECT", flagIN=5), digest("^SELECT .*x", flagIN=5)),
]


@pytest.mark.parametrize(("first", "second"), SHADOWED, ids=str)
def test_a_rule_behind_a_wider_one_with_apply(first, second):
    enter = {"rule_id": 1, "username": "u", "flagOUT": 5}
    rules = [enter, {**first, "rule_id": 2}, {**second, "rule_id": 3}]
    assert said_of("PX201", *rules) == [3]
    # Not without apply, not the other way round, not in another flagIN.
    assert said_of("PX201", enter, {**rules[1], "apply": 0}, rules[2]) == []
    assert said_of("PX201", enter, {**second, "rule_id": 2}, {**first, "rule_id": 3}) == []
    assert said_of("PX201", enter, {**rules[1], "flagIN": 7}, rules[2]) == []


NOT_SHADOWED = [
    (digest("^SELECT "), digest("^SELECT")),
    (digest("^SELECT", re_modifiers=""), digest("^select .*x")),
    (digest("SELECT .*FOR UPDATE"), digest("^SELECT .*FOR SHARE")),
    (digest("^SELECT", username="app"), digest("^SELECT .*x")),
    (digest("^SELECT", username="app"), digest("^SELECT .*x", username="web")),
    (digest("^SELECT", client_addr="10.0.%"), digest("^SELECT", client_addr="10.%")),
    (digest("^SELECT", digest="0x11"), digest("^SELECT .*x")),
    # A digest text and a query are two texts.
    (digest("^SELECT"), pattern("^SELECT")),
    (digest("x", negate_match_pattern=1), digest("y", negate_match_pattern=1)),
    (digest("x", negate_match_pattern=1), digest("y")),
    (digest("(x"), digest("(xy")),
    (digest("^(?!SELECT)"), digest("^UPDATE .*x")),
    (digest("a$"), digest("a$b|a")),
    (digest(r"\bt1\b"), digest("t1")),
    # `.` does not match a line break, and a query may have one.
    (pattern("^SELECT.*x"), pattern(r"^SELECT\s+x")),
]


@pytest.mark.parametrize(("first", "second"), NOT_SHADOWED, ids=str)
def test_what_is_not_proven_is_not_said(first, second):
    assert said_of("PX201", first, second) == []


def test_queries_may_come_in_between():
    to_5 = {"rule_id": 15, "flagOUT": 5, "username": "app"}
    first = digest("^SELECT", rule_id=10, flagIN=5)
    second = digest("^SELECT .*x", rule_id=20, flagIN=5)
    assert said_of("PX201", to_5 | {"rule_id": 1}, first, second) == [20]
    later = to_5 | {"username": "web"}
    assert said_of("PX201", to_5 | {"rule_id": 1}, first, later, second) == []


def test_a_query_may_be_rewritten_in_between():
    rules = [pattern("SELECT a", rule_id=10), pattern("SELECT a FROM", rule_id=20)]
    rewriting = {"rule_id": 15, "match_pattern": "b", "replace_pattern": "SELECT a FROM"}
    assert said_of("PX201", *rules) == [20]
    assert said_of("PX201", *rules, rewriting) == []


def test_without_digests_nothing_is_said_of_digests():
    assert said_of("PX201", READS, LOCKS, query_digests=False) == []


def test_re2_patterns_are_compared_too():
    assert said_of("PX201", READS, LOCKS, query_processor_regex=2) == [2]


def test_a_destination_that_a_later_rule_overwrites():
    locks = {**LOCKS, "apply": 0}
    assert findings("PX202", locks, READS) == [
        (
            1,
            "destination_hostgroup 1 never counts: rule 2 matches all its queries too and sets 2",
        )
    ]
    assert said_of("PX202", LOCKS, READS) == []
    assert said_of("PX202", locks, {**READS, "destination_hostgroup": 1}) == []
    assert said_of("PX202", locks, {**READS, "destination_hostgroup": None}) == []
    assert said_of("PX202", {**locks, "flagOUT": 5}, READS) == []
    assert said_of("PX202", READS | {"apply": 0}, LOCKS) == []
    stop = {"match_digest": "x", "apply": 1}
    assert said_of("PX202", locks, stop, READS) == []
    away = {"match_digest": "x", "flagOUT": 5}
    assert said_of("PX202", locks, away, READS) == []


def test_a_rule_that_ends_all_behind_it():
    all_ = {"destination_hostgroup": 1, "apply": 1}
    rules = [all_, READS, LOCKS]
    [found] = all_checks()["PX201"].find(subject(*rules))
    assert found.text == (
        "never reached: rule 1 matches all its queries first, and has apply (also rule 3)"
    )
    # It is not a note as well.
    assert said_of("PX213", *rules) == []
    for text in (".*", "^.*", "^"):
        assert said_of("PX201", digest(text), READS) == [2]
        assert said_of("PX201", pattern(text), READS, query_processor_regex=2) == [2]
    for near in (
        digest("."),
        digest("^$"),
        {**all_, "username": "app"},
        {**all_, "apply": 0},
        {**all_, "flagIN": 5},
        digest(".*", negate_match_pattern=1),
    ):
        assert said_of("PX201", near, READS) == []
    assert said_of("PX201", READS, all_) == []


def test_a_rule_without_criteria_is_noted():
    assert said_of("PX213", {"destination_hostgroup": 1}, READS) == [1]
    assert said_of("PX213", READS, {"error_msg": "no", "apply": 1}) == [2]
    # The last rule sends the rest somewhere.
    assert said_of("PX213", READS, digest(".*", destination_hostgroup=1, apply=1)) == []
    assert said_of("PX213", READS, {"flagIN": 5}) == []


def test_a_flagin_that_nothing_sets():
    to_5 = digest("x", flagOUT=5, apply=0)
    at_5 = digest("y", flagIN=5)
    assert findings("PX204", at_5) == [(1, "never reached: no rule sets flagIN 5")]
    assert said_of("PX204", to_5, at_5) == []
    assert said_of("PX204", digest("x", next_query_flagIN=5), at_5) == []
    assert said_of("PX204", digest("x", mirror_flagOUT=5), at_5) == []
    ways = '{"flagOUTs": [{"id": 5, "weight": 1}, {"id": 6, "weight": 0}]}'
    drawn = digest("x", attributes=ways, apply=0)
    assert said_of("PX204", drawn, at_5, digest("y", flagIN=6)) == [3]
    # What leads there is never reached itself.
    chain = [digest("x", flagIN=4, flagOUT=5, apply=0), at_5]
    assert said_of("PX204", *chain) == [1, 2]
    assert said_of("PX204", {"flagIN": 2147483647, "apply": 0}) == []


def test_a_flagin_that_only_rules_with_apply_set():
    """With apply ProxySQL ends there, with mysql-query_processor_iterations as well."""
    ends = digest("x", flagOUT=5)
    message = "flagIN 5 is set only by rule 1, which ends the rules with apply: 1"
    for iterations in (0, 3):
        rules = (ends, digest("y", flagIN=5))
        found = findings("PX204", *rules, query_processor_iterations=iterations)
        assert found == [(2, f"never reached: {message}")]
    row = {"username": "", "schemaname": "s", "flagIN": 5, "destination_hostgroup": 1}
    assert findings("PX204", ends, fast_routing=[row | {"comment": ""}]) == [
        (("", "s", 5), f"never used: {message}")
    ]


def test_fast_routing_with_a_flagin_that_nothing_sets():
    row = {"username": "", "schemaname": "s", "flagIN": 5, "destination_hostgroup": 1}
    assert said_of("PX204", digest("x"), fast_routing=[row]) == [("", "s", 5)]
    assert said_of("PX204", digest("x", flagOUT=5, apply=0), fast_routing=[row]) == []


def test_a_flagout_to_nowhere():
    to_5 = digest("x", flagOUT=5, apply=0)
    row = {"username": "", "schemaname": "s", "flagIN": 5, "destination_hostgroup": 1}
    assert said_of("PX205", to_5) == [1]
    assert said_of("PX205", {**to_5, "apply": 1}) == []
    assert said_of("PX205", to_5, digest("y", flagIN=5)) == []
    assert said_of("PX205", to_5, fast_routing=[row]) == []
    assert said_of("PX205", digest("x", flagOUT=0, apply=0)) == []


def test_a_flagout_backwards():
    back = [digest("y", flagIN=5), digest("x", flagOUT=5, apply=0)]
    assert findings("PX204", *back) == [(1, "never reached: flagIN 5 is set behind it, by rule 2")]
    assert said_of("PX204", *back, query_processor_iterations=1) == []
    assert said_of("PX204", back[1], back[0]) == []
    # One of two rules stands before.
    assert said_of("PX204", *back, digest("z", flagIN=5)) == [1]
    # Back to 0 is how a side path ends.
    assert said_of("PX204", back[1], digest("y", flagIN=5, flagOUT=0, apply=0)) == []


def test_rules_for_users_without_rules_and_without_a_row():
    rules = [digest("x", username="dump"), digest("y", username="who"), digest("z", username="app")]
    users = [APP, {"username": "dump", "default_hostgroup": 1, "fast_forward": 1}]
    assert said_of("PX208", *rules, users=users) == [1, 2]
    assert said_of("PX208", *rules) == []


def test_fast_routing_for_users_without_a_row():
    row = {"schemaname": "s", "flagIN": 0, "destination_hostgroup": 1}
    names = [{**row, "username": name} for name in ("", "app", "who")]
    assert said_of("PX208", fast_routing=names, users=[APP]) == [("who", "s", 0)]
    assert said_of("PX208", fast_routing=names) == []


def test_fast_routing_that_is_switched_off():
    row = {"username": "", "schemaname": "s", "flagIN": 0, "destination_hostgroup": 1}
    assert said_of("PX210", READS, fast_routing=[row]) == [1]
    assert said_of("PX210", READS) == []
    last = {"flagIN": 2147483647, "apply": 0}
    assert said_of("PX210", READS, last, fast_routing=[row]) == []
    # A rule that is dropped at LOAD keeps nothing alive.
    assert said_of("PX210", READS, {**last, "client_addr": "1%2"}, fast_routing=[row]) == [1]


def test_a_rule_that_stands_twice():
    again = {**READS, "comment": "again"}
    [found] = all_checks()["PX201"].find(subject(READS, again, again))
    assert (found.text, found.severity) == ("the same as rule 1 (also rule 3)", Severity.WARNING)
    other = {**READS, "destination_hostgroup": 3}
    [found] = all_checks()["PX201"].find(subject(READS, other))
    assert found.severity is None
    assert said_of("PX201", READS, {**READS, "active": 0}) == []


def test_the_effect_of_a_misread_digest_is_reported_at_the_digest():
    rules = [{"digest": "nonsense", "apply": 1, "destination_hostgroup": 1}, READS]
    assert said_of("PX123", *rules) == [1]
    assert said_of("PX213", *rules) == said_of("PX201", *rules) == []
