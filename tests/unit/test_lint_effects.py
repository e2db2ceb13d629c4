"""Lint, PX4xx: what rules make of queries and of answers."""

from __future__ import annotations

import pytest

from proxyctl.lint.check import all_checks
from proxyctl.routing.regex.samples import samples
from tests.unit.linted import in_file


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"^SELECT .* FROM t WHERE id=\?$", ["SELECT  FROM t WHERE id=?"]),
        (r"sbtest(1[02]|7)", ["sbtest10", "sbtest12", "sbtest7"]),
        (r"^(INSERT|UPDATE)\s+t", ["INSERT t", "INSERT  t", "UPDATE t", "UPDATE  t"]),
        (r"a{2}b?", ["aa", "aab"]),
        (r"[^a-z ]+;", [";;", ";;;"]),
        (r"(?i)\borders\b(?!_v2)", ["orders"]),
        ("x" * 8000, ["x" * 8000]),
        (r"(a)\1", []),
        (r"(((", []),
        ("((x{1000}){1000}){1000}", []),
        ("(((((x?){50}){50}){50}){50}){50}", []),
    ],
    ids=lambda given: str(given)[:40],
)
def test_samples_of_a_pattern(pattern, texts):
    assert samples(pattern, limit=10) == texts


def test_a_sample_fills_what_may_be_anything():
    assert samples("^SELECT.*FROM t", fill=" c ") == ["SELECT c FROM t"]


def test_of_a_pattern_of_many_names_the_first_ones_are_samples():
    names = [f"orders_{n}" for n in range(5000)]
    assert samples("|".join(names), limit=3) == names[:3]


GROUP = "match_pattern: 'FROM %s', replace_pattern: 'FROM %s'"
NEGATED = "match_pattern: 'LIMIT', negate_match_pattern: %s, replace_pattern: 'x'"
ANSWER = "'' is an answer: ProxySQL answers {}, and no backend sees the query"
CASES = [
    # A replacement with groups that the pattern does not have, or of another dialect.
    (
        "PX401",
        GROUP % ("orders", r"\1_v2"),
        r"match_pattern has no group for \1; nothing is replaced",
    ),
    (
        "PX401",
        GROUP % ("(orders)", r"\2"),
        r"match_pattern has 1 group for \2; nothing is replaced",
    ),
    ("PX401", GROUP % ("(orders)", r"a\n"), r"ProxySQL does not know \n here; nothing is replaced"),
    *(("PX401", GROUP % ("(orders)", text), None) for text in (r"\1_v2", r"\0", r"\\1", "plain")),
    ("PX401", GROUP % ("(a)", "$1"), "$1 is no group for ProxySQL: the backend gets it as it is"),
    ("PX401", GROUP % ("orders", "$1"), None),
    ("PX401", NEGATED % "true", "a negated rule takes only queries with nothing to replace"),
    ("PX401", NEGATED % "false", None),
    # Caches of what changes.
    ("PX411", "match_digest: '^SELECT name FROM countries', cache_ttl: 5000", None),
    ("PX411", "match_digest: '^SELECT'", None),
    ("PX411", "match_digest: '^SELECT LAST_INSERT_ID', cache_ttl: 5000", None),
    # Milliseconds that look like seconds.
    ("PX413", "match_digest: a, cache_ttl: 60", "cache_ttl 60 is 0.06 seconds"),
    ("PX413", "match_digest: a, timeout: 30", "timeout 30 is 0.03 seconds"),
    *(
        (
            "PX413",
            f"match_digest: a, cache_ttl: {ttl}",
            f"cache_ttl {ttl} is {ttl / 1000:g} seconds",
        )
        for ttl in (120, 180, 300, 600, 900, 1800, 3600, 7200, 86400)
    ),
    *(
        ("PX413", f"match_digest: a, {setting}", None)
        for setting in (
            *(f"cache_ttl: {ttl}" for ttl in (500, 1000, 5000, 60000, 300000)),
            *("timeout: 300", "timeout: 0"),
        )
    ),
    # Empty texts.
    ("PX421", "match_digest: a, OK_msg: ''", ANSWER.format("OK")),
    ("PX421", "match_digest: a, error_msg: ''", ANSWER.format("an error")),
    ("PX421", "match_digest: ''", "'' matches every query"),
    (
        "PX421",
        "match_pattern: '', negate_match_pattern: true",
        "'' matches every query, and the rule none",
    ),
    *(("PX421", text, None) for text in ("OK_msg: fine", "OK_msg: null", "username: ''")),
    # Mirrors.
    (
        "PX424",
        "match_digest: a, mirror_flagOUT: 7",
        "no rule has flagIN 7, and without mirror_hostgroup the copy runs in the user's default"
        " hostgroup",
    ),
    (
        "PX424",
        "match_digest: a, mirror_hostgroup: 3, destination_hostgroup: 3",
        "hostgroup 3 runs each query twice: it is the destination, too",
    ),
    ("PX424", "match_digest: a, mirror_hostgroup: 3, destination_hostgroup: 2", None),
    # Columns without an effect.
    ("PX425", "match_digest: a, OK_msg: b, error_msg: c", "ProxySQL sends OK_msg, never the error"),
    ("PX425", "match_digest: a, error_msg: c", None),
    ("PX425", "username: app, negate_match_pattern: true", ""),
    ("PX425", "match_digest: a, match_pattern: b, negate_match_pattern: true", ""),
    ("PX425", "match_digest: a, negate_match_pattern: true", None),
    ("PX425", "match_digest: a, reconnect: true", "ProxySQL never uses reconnect"),
    ("PX425", "match_digest: a, cache_timeout: 5", "ProxySQL never uses cache_timeout"),
    ("PX425", "match_digest: a, multiplex: 0", None),
    # Rules that are not active.
    *(
        (
            code,
            "active: false, match_digest: '^SELECT', cache_ttl: 60, OK_msg: '', timeout: 3",
            None,
        )
        for code in ("PX411", "PX413", "PX421")
    ),
]
"""A check, a rule, and what is found ("": in any words; None: nothing)."""


@pytest.fixture
def lint(tmp_path):
    """Findings of one check over rules, as `rule_id: message`."""

    def run(code, *rules):
        lines = (f"  - {{rule_id: {n}, {rule}}}\n" for n, rule in enumerate(rules, 1))
        found = all_checks()[code].find(in_file(tmp_path, "mysql_query_rules:\n" + "".join(lines)))
        return [f"{one.key[0]}: {one.message}" for one in found]

    return run


@pytest.mark.parametrize(("code", "rule", "message"), CASES, ids=lambda given: str(given)[:60])
def test_what_a_check_says_of_one_rule(lint, code, rule, message):
    if message is None:
        assert lint(code, rule) == []
    else:
        (found,) = lint(code, rule)
        assert found == f"1: {message}" or not message


def test_caches_of_what_changes(lint):
    found, locks = lint("PX411", "match_digest: '^SELECT', cache_ttl: 5000, apply: true")
    assert locks.startswith("1: caches locking reads, which then lock nothing")
    changing = "1: caches queries whose answer differs each time: `SELECT NOW()`; also"
    assert found.startswith(changing)


def test_caches_behind_a_rule_that_takes_the_rest_out(lint):
    first = r"match_digest: '(\(\)|@|CURRENT_|\(\?|_ID)', apply: true"
    second = "match_digest: '^SELECT', cache_ttl: 5000"
    (locks,) = lint("PX411", first, second)
    assert "caches locking reads" in locks
    (changing,) = lint("PX411", r"match_digest: ' (UPDATE|SHARE)', apply: true", second)
    assert "caches queries whose answer differs" in changing


def test_a_mirror_goes_on_at_a_flagin(lint):
    at_flag = "flagIN: 7, destination_hostgroup: 3"
    assert lint("PX424", "match_digest: a, mirror_flagOUT: 7", at_flag) == []
