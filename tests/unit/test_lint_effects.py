"""Lint, PX4xx: what rules make of queries and of answers."""

from __future__ import annotations

import pytest

from proxyctl.lint.check import all_checks
from proxyctl.routing.regex.samples import samples
from tests.unit.linted import in_file


@pytest.fixture
def lint(tmp_path):
    """Findings of one check over rules, as `rule_id: message`."""

    def run(code, *rules):
        lines = (f"  - {{rule_id: {n}, {rule}}}\n" for n, rule in enumerate(rules, 1))
        found = all_checks()[code].find(in_file(tmp_path, "mysql_query_rules:\n" + "".join(lines)))
        return [f"{one.key[0]}: {one.message}" for one in found]

    return run


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"^SELECT .* FROM t WHERE id=\?$", ["SELECT  FROM t WHERE id=?"]),
        (r"sbtest(1[02]|7)", ["sbtest10", "sbtest12", "sbtest7"]),
        (r"^(INSERT|UPDATE)\s+t", ["INSERT t", "INSERT  t", "UPDATE t", "UPDATE  t"]),
        (r"a{2}b?", ["aa", "aab"]),
        (r"[^a-z ]+;", [";;", ";;;"]),
        (r"(?i)\borders\b(?!_v2)", ["orders"]),
        (r"(a)\1", []),
        (r"(((", []),
    ],
)
def test_samples_of_a_pattern(pattern, texts):
    assert samples(pattern, limit=10) == texts


def test_a_sample_fills_what_may_be_anything():
    assert samples("^SELECT.*FROM t", fill=" c ") == ["SELECT c FROM t"]


def test_a_pattern_of_many_names_has_a_sample():
    assert samples("|".join(f"orders_{n}" for n in range(5000)), limit=3) == [
        "orders_0",
        "orders_1",
        "orders_2",
    ]
    assert samples("x" * 8000) == ["x" * 8000]
    assert samples("((x{1000}){1000}){1000}") == []
    assert samples("(((((x?){50}){50}){50}){50}){50}") == []


def test_groups_that_do_not_exist(lint):
    rule = "match_pattern: 'FROM %s', replace_pattern: 'FROM %s'"
    assert lint("PX401", rule % ("orders", r"\1_v2")) == [
        r"1: match_pattern has no group for \1; nothing is replaced"
    ]
    assert lint("PX401", rule % ("(orders)", r"\2_v2")) == [
        r"1: match_pattern has 1 group for \2; nothing is replaced"
    ]
    assert lint("PX401", rule % ("(orders)", r"a\n")) == [
        r"1: ProxySQL does not know \n here; nothing is replaced"
    ]
    for template in (r"\1_v2", r"\0", r"\\1", "plain"):
        assert lint("PX401", rule % ("(orders)", template)) == []


def test_groups_of_another_dialect(lint):
    rule = "match_pattern: 'FROM %s', replace_pattern: 'FROM $1_v2'"
    assert lint("PX401", rule % "(orders)") == [
        "1: $1 is no group for ProxySQL: the backend gets it as it is"
    ]
    assert lint("PX401", rule % "orders") == []


def test_negated_rewriting(lint):
    rule = "match_pattern: 'LIMIT', negate_match_pattern: %s, replace_pattern: 'x'"
    assert lint("PX401", rule % "true") == [
        "1: a negated rule takes only queries with nothing to replace"
    ]
    assert lint("PX401", rule % "false") == []


def test_caches_of_what_changes(lint):
    found, locks = lint("PX411", "match_digest: '^SELECT', cache_ttl: 5000, apply: true")
    assert locks.startswith("1: caches locking reads, which then lock nothing")
    assert found.startswith(
        "1: caches queries whose answer differs each time: `SELECT NOW()`; also"
    )
    for rule in (
        r"match_digest: '^SELECT name FROM countries', cache_ttl: 5000",
        r"match_digest: '^SELECT'",
        r"match_digest: '^SELECT LAST_INSERT_ID', cache_ttl: 5000",
    ):
        assert lint("PX411", rule) == []


def test_caches_behind_a_rule_that_takes_the_rest_out(lint):
    first = r"match_digest: '(\(\)|@|CURRENT_|\(\?|_ID)', apply: true"
    second = "match_digest: '^SELECT', cache_ttl: 5000"
    (locks,) = lint("PX411", first, second)
    assert "caches locking reads" in locks
    (changing,) = lint("PX411", r"match_digest: ' (UPDATE|SHARE)', apply: true", second)
    assert "caches queries whose answer differs" in changing


def test_times_that_look_like_seconds(lint):
    assert lint("PX413", "match_digest: a, cache_ttl: 60") == ["1: cache_ttl 60 is 0.06 seconds"]
    assert lint("PX413", "match_digest: a, timeout: 30") == ["1: timeout 30 is 0.03 seconds"]
    for ttl in (120, 180, 300, 600, 900, 1800, 3600, 7200, 86400):
        assert lint("PX413", f"match_digest: a, cache_ttl: {ttl}") == [
            f"1: cache_ttl {ttl} is {ttl / 1000:g} seconds"
        ]
    for ttl in (500, 1000, 5000, 60000, 300000):
        assert lint("PX413", f"match_digest: a, cache_ttl: {ttl}") == []
    assert lint("PX413", "match_digest: a, timeout: 300") == []
    assert lint("PX413", "match_digest: a, timeout: 0") == []


def test_empty_texts(lint):
    assert lint("PX421", "match_digest: a, OK_msg: ''", "match_digest: b, error_msg: ''") == [
        "1: '' is an answer: ProxySQL answers OK, and no backend sees the query",
        "2: '' is an answer: ProxySQL answers an error, and no backend sees the query",
    ]
    assert lint("PX421", "match_digest: a, OK_msg: fine", "match_digest: b, OK_msg: null") == []
    assert lint("PX421", "match_digest: ''", "match_pattern: '', negate_match_pattern: true") == [
        "1: '' matches every query",
        "2: '' matches every query, and the rule none",
    ]
    assert lint("PX421", "username: ''") == []


def test_two_answers(lint):
    assert lint("PX425", "match_digest: a, OK_msg: b, error_msg: c") == [
        "1: ProxySQL sends OK_msg, never the error"
    ]
    assert lint("PX425", "match_digest: a, error_msg: c") == []


def test_mirrors(lint):
    assert lint("PX424", "match_digest: a, mirror_flagOUT: 7") == [
        "1: no rule has flagIN 7, and without mirror_hostgroup the copy runs in the user's default"
        " hostgroup"
    ]
    assert lint("PX424", "match_digest: a, mirror_hostgroup: 3, destination_hostgroup: 3") == [
        "1: hostgroup 3 runs each query twice: it is the destination, too"
    ]
    at_flag = "flagIN: 7, destination_hostgroup: 3"
    assert lint("PX424", "match_digest: a, mirror_flagOUT: 7", at_flag) == []
    assert lint("PX424", "match_digest: a, mirror_hostgroup: 3, destination_hostgroup: 2") == []


def test_negation(lint):
    negated = "negate_match_pattern: true"
    assert len(lint("PX425", f"username: app, {negated}")) == 1
    assert lint("PX425", f"match_digest: a, {negated}") == []
    assert len(lint("PX425", f"match_digest: a, match_pattern: b, {negated}")) == 1
    assert lint("PX425", f"match_digest: a, {negated}") == []


def test_columns_that_do_nothing(lint):
    assert lint("PX425", "match_digest: a, reconnect: true, cache_timeout: 5") == [
        "1: ProxySQL never uses reconnect",
        "1: ProxySQL never uses cache_timeout",
    ]
    assert lint("PX425", "match_digest: a, multiplex: 0") == []


def test_rules_that_are_not_active_are_not_looked_at(lint):
    rule = "active: false, match_digest: '^SELECT', cache_ttl: 60, OK_msg: '', timeout: 3"
    for code in ("PX411", "PX413", "PX413", "PX421"):
        assert lint(code, rule) == []
