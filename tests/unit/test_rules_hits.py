"""Hits of rules: shares, rates, and rules that were loaded in between."""

from __future__ import annotations

import pytest

from proxyctl.render.rules import rule_text, rules_text
from proxyctl.stats.rule_hits import RuleHitsSample, RuleReport, rule_report

RULES = {
    1: {"rule_id": 1, "flagIN": 0, "match_digest": "^SELECT", "destination_hostgroup": 2},
    2: {"rule_id": 2, "flagIN": 3, "error_msg": "no", "apply": 1},
}


def report(sample: RuleHitsSample, earlier: RuleHitsSample | None = None) -> RuleReport:
    return rule_report("a", "a", "2.7.1", sample, earlier)


def test_one_sample_has_shares_and_no_rates() -> None:
    found = report(RuleHitsSample(1.0, {1: 30, 2: 10}, RULES))
    assert [rule.share for rule in found.rules] == [0.75, 0.25]
    assert [rule.per_s for rule in found.rules] == [None, None]
    assert found.total == 40
    assert found.never_hit == []


def test_two_samples_have_rates_and_shares_of_what_is_between() -> None:
    found = report(
        RuleHitsSample(3.0, {1: 30, 2: 20}, RULES, 1), RuleHitsSample(1.0, {1: 30, 2: 10}, RULES, 1)
    )
    assert [rule.per_s for rule in found.rules] == [0.0, 5.0]
    assert [rule.share for rule in found.rules] == [0.0, 1.0]
    assert "hits/s" in rules_text(found)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (RuleHitsSample(1.0, {1: 30}, RULES, 4, 100), RuleHitsSample(2.0, {1: 40}, RULES, 5, 101)),
        (RuleHitsSample(1.0, {1: 30}, RULES), RuleHitsSample(2.0, {1: 4}, RULES)),
    ],
    ids=["loads are counted", "counters fell"],
)
def test_rules_that_were_loaded_in_between_have_no_rates(
    earlier: RuleHitsSample, later: RuleHitsSample
) -> None:
    found = report(later, earlier)
    assert found.was_reloaded
    assert [rule.per_s for rule in found.rules] == [None, None]
    assert found.rules[0].share == 1.0
    assert "rules were loaded between the readings" in rules_text(found)


def test_a_rule_that_nothing_was_counted_for_has_no_hits() -> None:
    found = report(RuleHitsSample(1.0, {}, RULES))
    assert found.never_hit == [1, 2]
    assert [rule.share for rule in found.rules] == [0.0, 0.0]


def test_the_text_of_a_rule() -> None:
    assert rule_text(RULES[1]) == "match_digest ^SELECT -> hostgroup 2"
    assert rule_text(RULES[2]) == "flagIN 3 -> error_msg no, apply"
    assert rule_text({"rule_id": 3}) == "every query -> nothing"
    assert "\x1b" not in rule_text({"match_digest": "\x1b[2J", "negate_match_pattern": 1})
