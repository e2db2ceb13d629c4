"""What the destination of a rule counts for, and that random rule sets never prove it wrong."""

from __future__ import annotations

from random import Random

import pytest

from proxyctl.lint.rule_says import Say, says_of, says_of_senders
from tests.support.routing_predicted import predict, router_of
from tests.unit.linted import digest, subject
from tests.unit.test_lint_claims import PORTS, case_of, request_of, subject_of

DEAD_END = {"destination_hostgroup": 99, "apply": 0}
LOCKING = "^SELECT .* FOR UPDATE"


def say(*rules, of=1, usernames=None, **given):
    return says_of(subject(*rules, **given), {of}, usernames)[of]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param([digest("^SELECT", **DEAD_END)], Say.DECIDES, id="nothing behind it"),
        pytest.param(
            [digest("^SELECT", **DEAD_END), digest("^SELECT")], Say.OVERRULED, id="the same again"
        ),
        pytest.param(
            [digest("^SELECT", **DEAD_END), digest(LOCKING)], Say.DECIDES, id="a narrower one"
        ),
        pytest.param(
            [digest("^SELECT", **DEAD_END, flagOUT=5), digest("^SELECT", flagIN=5)],
            Say.PERHAPS,
            id="a lane that takes all",
        ),
        pytest.param(
            [digest("^SELECT .* FROM t7 WHERE", **DEAD_END), digest("^INSERT INTO t8")],
            Say.DECIDES,
            id="one that takes none of its queries",
        ),
        pytest.param(
            [digest("^SELECT", **DEAD_END, flagOUT=5), digest(LOCKING, flagIN=5)],
            Say.DECIDES,
            id="a lane that takes some",
        ),
        pytest.param(
            [digest("(", destination_hostgroup=99)], Say.NEVER_TRIED, id="a broken pattern"
        ),
        pytest.param(
            [digest("^SELECT", flagIN=77, destination_hostgroup=99)],
            Say.NEVER_TRIED,
            id="a lane that no rule leads to",
        ),
    ],
)
def test_what_a_destination_counts_for(rules, expected):
    assert say(*rules) is expected


@pytest.mark.parametrize("again", [{}, {"comment": "once more"}])
def test_a_rule_that_is_there_twice_counts_as_once(again):
    """Lint names such a rule for being the same; what comes of its queries is another matter."""
    twice = digest(LOCKING, destination_hostgroup=99)
    assert say(digest("^SELECT"), twice, twice | again, of=3) is Say.NEVER_TRIED
    twice["apply"] = 0
    for rule_id in (1, 2):
        assert say(twice, twice | again, digest("^SELECT"), of=rule_id) is Say.OVERRULED
    assert say(twice, digest("^SELECT", apply=0), twice | again, of=3) is Say.DECIDES


@pytest.mark.parametrize(
    ("usernames", "expected"),
    [
        ({"app", "web"}, Say.PERHAPS),
        ({"app", "web", "job"}, Say.DECIDES),
        (None, Say.DECIDES),
    ],
)
@pytest.mark.parametrize("apply", [0, 1])
def test_rules_of_each_user_may_leave_nothing_to_one_for_all(usernames, expected, apply):
    theirs = [{"username": name, "destination_hostgroup": 1, "apply": 1} for name in ("app", "web")]
    for_all = digest("^SELECT", destination_hostgroup=99, apply=apply)
    rules = (*theirs, for_all) if apply else (for_all, *theirs)
    assert say(*rules, of=3 if apply else 1, usernames=usernames) is expected


def test_rules_of_users_are_found_among_very_many():
    others = [digest(f"^SELECT .* FROM t{number} ") for number in range(500)]
    theirs = digest("^SELECT .* FROM orders", username="app", destination_hostgroup=1)
    for_all = digest("^SELECT .* FROM orders WHERE", destination_hostgroup=99)
    rules = (*others, theirs, for_all)
    assert say(*rules, of=502, usernames={"app"}) is Say.PERHAPS
    assert say(*rules, of=502, usernames={"app", "web"}) is Say.DECIDES


def test_an_answer_stays_whatever_matches_behind_it():
    answered = {"match_digest": "^SELECT", "error_msg": "no"}
    dead_end = digest(LOCKING, destination_hostgroup=99)
    assert say(answered, dead_end, of=2) is Say.PERHAPS
    answered["match_digest"] = "^SELECT a"
    assert say(answered, dead_end, of=2) is Say.DECIDES


def test_only_copies_get_to_the_lane_of_a_mirror():
    mirrored = digest("^SELECT", mirror_flagOUT=7)
    lane = digest("^SELECT", flagIN=7, destination_hostgroup=99)
    assert say(mirrored, lane, of=2) is Say.COPIES
    assert say(mirrored, {"match_digest": "^SHOW", "flagOUT": 7}, lane, of=3) is Say.DECIDES
    assert say(mirrored, digest("^BEGIN", next_query_flagIN=7), lane, of=3) is Say.DECIDES
    assert say(mirrored, digest("^SELECT", flagIN=7), lane, of=3) is Say.NEVER_TRIED


def test_a_rule_for_a_table_is_tried_with_more_than_its_name():
    rules = (digest("^[^S]"), digest("orders_7", destination_hostgroup=99))
    assert say(*rules, of=2) is Say.DECIDES
    assert say(*rules[:1], digest("^S"), rules[1], of=3) is Say.PERHAPS


def test_a_negated_rule_behind_one_that_leads_all_away():
    rules = ({"flagOUT": 5}, digest("^SELECT", negate_match_pattern=1, destination_hostgroup=99))
    assert say(*rules, of=2) is Say.PERHAPS
    assert say({"flagOUT": 5, "match_digest": "^SHOW"}, rules[1], of=2) is Say.DECIDES


def test_a_rule_with_apply_leads_nowhere():
    ending = digest("^SELECT", flagOUT=5)
    lane = digest("^SELECT", flagIN=5, destination_hostgroup=99)
    assert say(ending, lane, of=2) is Say.NEVER_TRIED
    assert say(ending | {"apply": 0}, lane, of=2) is Say.DECIDES


def test_a_lane_into_which_no_sample_gets_may_take_queries():
    entrance = {"match_digest": r"FROM shop\.x", "flagOUT": 5}
    assert say(entrance, digest("^SELECT", flagIN=5), of=2) is Say.DECIDES


def test_a_lane_that_only_a_shadowed_rule_leads_to_is_not_reached():
    hidden = {"match_digest": LOCKING, "flagOUT": 5}
    assert say(digest("^SELECT"), hidden, digest("^SELECT", flagIN=5), of=3) is Say.NEVER_TRIED


def test_a_destination_may_count_where_the_rules_are_evaluated_again():
    rules = (digest("^SELECT", apply=0), {"match_digest": "^SELECT", "flagOUT": 5, **DEAD_END})
    back = digest("^SELECT", flagIN=5)
    assert say(back, *rules, of=3) is Say.DECIDES
    assert say(back, *rules, of=3, query_processor_iterations=1) is Say.PERHAPS


def test_of_very_many_rules_to_one_hostgroup_some_are_looked_at():
    """Unless none of them decides: then the others matter."""
    many = [digest(f"^SELECT .* FROM t{number} ") for number in range(300)]
    senders = {1: range(1, 301)}
    says = says_of_senders(subject(*many), senders)
    assert says[1] is Say.DECIDES
    assert says[300] is Say.NOT_LOOKED_AT
    first = digest("^SELECT .* FROM t", destination_hostgroup=2)
    says = says_of_senders(subject(first, *many[1:]), {1: range(2, 301)})
    assert {*says.values()} == {Say.NEVER_TRIED}


def test_of_very_many_rules_that_may_have_a_say_some_more_are_looked_at():
    """Of patterns with a condition on what follows, no query is known that they match."""
    rules = [digest(f"FROM t{number} (?=x)(?!y)", apply=0) for number in range(700)]
    says = says_of_senders(subject(*rules, digest("^SELECT", apply=0)), {1: range(1, 701)})
    assert [*says.values()].count(Say.PERHAPS) == 500
    assert says[501] is Say.NOT_LOOKED_AT


@pytest.mark.parametrize("seed", range(20))
def test_what_is_proven_is_so(seed):
    random = Random(seed)
    for _ in range(5):
        case = case_of(random)
        judged = subject_of(case)
        says = says_of(judged, {rule.rule_id for rule in judged.rules})
        never = {number for number, one in says.items() if one is Say.NEVER_TRIED}
        assert never & predict(case, PORTS).hits.keys() == set(), case.rules
        overruled = {number for number, one in says.items() if one is Say.OVERRULED}
        router = router_of(case)
        for client, query in case.queries if overruled else ():
            for flag in range(4):
                assert router.evaluate(request_of(client, query, flag)).rule_id not in overruled
