"""The rules that matter for a few others: the rest is left out, and nothing is told otherwise."""

from __future__ import annotations

from random import Random

import pytest

from proxyctl.lint.rule_says import Say, says_of
from proxyctl.lint.rules_in_play import in_play, queries_of, words_in
from proxyctl.lint.subject import RULES, Subject
from proxyctl.lint.traffic_sessions import session_for
from tests.unit.linted import digest, pattern, subject
from tests.unit.test_lint_claims import case_of, subject_of


def left(judged, *rule_ids):
    held = in_play(judged.configuration, rule_ids).tables[RULES]
    return sorted(held.column("rule_id"))


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (r"^SELECT .* FROM Orders_7 WHERE id=\?", " from orders_7 where id="),
        (r"\bfoo_bar\b.*", "foo_bar"),
        ("abcd*efg", "abc"),
        ("abcd?", "abc"),
        ("abcd+e", "abcd"),
        (r"\Sabc", "abc"),
        ("abc|def", ""),
        ("(abc)?def", ""),
        ("[abc]def", ""),
        ("abc{0}def", ""),
        (r"\x41bcd", ""),
        ("(?x)a b c", ""),
        (r"\Qabc*\E", ""),
    ],
)
def test_words_that_stand_in_whatever_a_pattern_matches(written, words):
    assert words_in(written) == words


def test_only_rules_that_may_match_the_same_queries_are_left():
    rules = [digest(f"^SELECT .* FROM t{number} WHERE") for number in range(1, 1000)]
    over = [digest("^SELECT .* FROM t7", rule_id=2000), digest("z{9}", rule_id=3000)]
    judged = subject(*rules, *over)
    assert left(judged, 500) == [500, 3000]
    assert left(judged, 7) == [7, 2000, 3000]


def test_of_a_pattern_without_a_sample_only_its_likes_are_left():
    """What covers it is the same pattern, or one for everything."""
    opaque = digest("^SELECT .* FROM orders (?=x)(?!y)", destination_hostgroup=99)
    others = [digest(f"^SELECT .* FROM orders_{number} WHERE") for number in range(100)]
    judged = subject(*others, opaque, digest("z{9}", rule_id=3000))
    assert left(judged, 101) == [101, 3000]
    assert left(subject(opaque | {"rule_id": 900}, *others, opaque), 102) == [102, 900]
    assert says_of(judged, {101})[101] is Say.DECIDES
    twice = subject(opaque | {"destination_hostgroup": 1}, *others, opaque)
    assert says_of(twice, {102})[102] is Say.NEVER_TRIED


def test_rules_between_two_others_are_left():
    """They send a query away, rewrite it, or end what goes on."""
    between = [
        digest("^DELETE FROM x", flagOUT=5),
        pattern("^UPDATE x", replace_pattern="UPDATE y"),
        digest("^INSERT INTO x", destination_hostgroup=None),
        digest("^REPLACE INTO x"),
    ]
    judged = subject(digest("^SELECT a"), *between, digest("^SELECT ab"))
    assert left(judged, 6) == [1, 2, 3, 4, 6]


def test_a_rule_that_overrules_is_left_however_its_pattern_is_written():
    dead_end = {"destination_hostgroup": 99, "apply": 0}
    for over in ("^SELECT", "^(SELECT|SHOW)", "FROM orders", "[oO]rders", "."):
        says = says_of(subject(digest("^SELECT .* FROM orders", **dead_end), digest(over)), {1})
        assert says[1] is Say.OVERRULED, over


@pytest.mark.parametrize("seed", range(20))
def test_queries_go_the_same_way(seed):
    random = Random(seed)
    for _ in range(5):
        whole = subject_of(case_of(random))
        for rule in whole.rules:
            few = Subject(in_play(whole.configuration, {rule.rule_id}))
            row = next(row for row in few.rule_rows if row.key == (rule.rule_id,))
            session = session_for(rule, None)
            for query in queries_of(row):
                request = session.request(query)
                expected = whole.router.evaluate(request).rule_id == rule.rule_id
                assert (few.router.evaluate(request).rule_id == rule.rule_id) is expected
