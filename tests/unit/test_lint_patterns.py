"""Lint, PX1xx: what a pattern can match. Each check has its mistake, and what it must not take."""

from __future__ import annotations

import pytest

from proxyctl.lint.check import all_checks
from proxyctl.routing.digest import Digester
from proxyctl.state.row import Secret
from tests.unit.linted import digest, findings, pattern, said_of, subject

RE2 = {"query_processor_regex": 2}


def codes(*rules, **given):
    """The codes of PX1xx that are found, in order."""
    of = subject(*rules, **given)
    found = []
    for code, check in all_checks().items():
        if code.startswith("PX1"):
            found += [code for _ in check.find(of)]
    return found


BAD = [
    ("PX101", digest("^SELECT count(")),
    ("PX101", pattern("[a-")),
    ("PX103", digest("^SELECT COUNT(*) FROM orders WHERE id = ?$")),
    ("PX103", digest("^SELECT c FROM t WHERE id=?$")),
    ("PX103", digest("^SELECT c FROM t WHERE id = ?")),
    ("PX103", digest("SELECT c FROM t WHERE id > ?")),
    ("PX103", digest("^SELECT c FROM t WHERE id IN (?,?)")),
    ("PX103", digest("SELECT * FROM t WHERE a = b")),
    ("PX103", digest("^SELECT c FROM t WHERE id BETWEEN ? AND ? ORDER BY c")),
    ("PX103", pattern("^SELECT c FROM t WHERE id = ? AND d = ?")),
    ("PX104", digest("id = 42")),
    ("PX104", digest("id = 42 ")),
    ("PX104", digest("= 'x'")),
    ("PX104", digest('name = "[a-z]+"')),
    ("PX104", digest(r"/\*")),
    ("PX104", digest(r"^/\* app1 \*/ SELECT")),
    ("PX104", digest("# report")),
    ("PX104", digest("^SELECT a, b")),
    ("PX104", digest("^SELECT  a")),
    ("PX104", digest(r"COUNT\( \* \)")),
    ("PX104", digest(r"SELECT a\nFROM")),
    ("PX104", digest("^ SELECT")),
    ("PX104", digest("FOR UPDATE;$")),
    ("PX109", digest("^SELECT .* FROM sbtest1")),
    ("PX109", digest("^INSERT INTO `?orders1")),
    ("PX109", digest(r"^DELETE\s+FROM\s+shop\.(orders|customers2)")),
    ("PX109", digest("^UPDATE shop.orders1")),
    ("PX109", digest("FROM sbtest1.*WHERE")),
    ("PX109", digest("^SELECT .* FROM audit1.*")),
    ("PX109", digest("^SELECT .* FROM shop.audit1.+x")),
    ("PX109", digest("UPDATE `?orders1`?")),
    ("PX109", digest("^SELECT .* (FROM|JOIN) orders1")),
    ("PX109", digest("^SELECT .* FROM orders,audit1")),
    ("PX109", digest(",audit1")),
    # A name that stands alone, if it ends with a digit.
    ("PX109", digest("sbtest1")),
    ("PX109", pattern("sbtest1")),
    ("PX109", digest("(^|[^a-z])sbtest1")),
    ("PX109", digest(r"\bsbtest1")),
    ("PX109", digest("shop.sbtest1.*")),
    ("PX109", pattern("WHERE user_id = 1")),
    ("PX109", pattern("id>10")),
    ("PX114", pattern("^SELECT")),
    ("PX114", pattern("^(INSERT|UPDATE) .*x")),
    ("PX114", pattern("(?i)^select")),
    ("PX114", pattern("SELECT.*FOR UPDATE")),
    ("PX114", pattern("^.*FOR UPDATE")),
    ("PX103", pattern(r"id = \?")),
    ("PX103", pattern(r"LIMIT \?")),
    ("PX121", digest("^a", re_modifiers="caseles")),
    ("PX121", digest("^a", re_modifiers="CASELESS, GLOBAL")),
    ("PX122", {"client_addr": "10.%.1"}),
    ("PX122", {"client_addr": "10.0.0.1" * 9}),
    ("PX123", {"digest": "D7C9A2A3B4C5D6E7", "apply": 1}),
    ("PX123", {"digest": "12AB", "apply": 1}),
    ("PX123", {"digest": "12345", "apply": 1}),
    ("PX123", {"digest": " 0xD7C9A2A3B4C5D6E7", "apply": 1}),
    ("PX123", {"digest": "0xD7C9A2A3B4C5D6E7 ", "apply": 1}),
    ("PX122", {"client_addr": "127.0.0.0/8"}),
    ("PX122", {"client_addr": "127.0.0.*"}),
    ("PX122", {"client_addr": "10.0.0.1-9"}),
    ("PX122", {"client_addr": "10.0.0.1,10.0.0.2"}),
    ("PX122", {"client_addr": "app1.example.com"}),
]


@pytest.mark.parametrize(("code", "rule"), BAD, ids=lambda given: str(given)[:60])
def test_a_mistake_is_found_once(code, rule):
    assert codes(rule) == [code]


GOOD = [
    # match_digest would not see the comment.
    pattern(r"^SELECT /\* cached \*/"),
    pattern(r"/\*.*slave.*\*/"),
    digest("^SELECT"),
    digest("^SELECT .*FOR UPDATE"),
    digest(r"^SELECT COUNT\(\*\) FROM orders WHERE id = \?"),
    # Matches `id = ?` where it stands at the end: the question mark takes the blank away.
    digest("^COMMIT ?$"),
    digest("^(SELECT|SHOW) "),
    digest("(foo)?bar$"),
    digest(r"sbtest\d+ "),
    digest("FROM sbtest42 "),
    digest("FROM 2024_logs "),
    digest(r"^SELECT\s+a,b"),
    digest(r"^\s*SELECT"),
    digest(r"a,\s*b"),
    digest(r"a = (42|\?)"),
    digest("^SELECT [^;]*$"),
    digest(r"FROM sbtest1\b"),
    digest("FROM sbtest1$"),
    digest("FROM sbtest1( |$)"),
    digest("FOR UPDATE NOWAIT"),
    digest("^SELECT .* FROM"),
    digest("FROM information_schema"),
    digest("^SELECT c FROM t WHERE `a`"),
    # Not the name of a table, or not one of an application.
    digest("FROM INFORMATION_SCHEMA.TABLES"),
    digest("FROM mysql.user"),
    digest("ON DUPLICATE KEY UPDATE hits"),
    digest(r"EXTRACT\(YEAR FROM created"),
    digest("INTO TABLE"),
    digest("FOR UPDATE SKIP.*"),
    # A name without a digit may be the beginning of the names that are meant.
    digest("^SELECT .* FROM wp_user"),
    digest("wp_user"),
    digest("^INSERT INTO `?orders"),
    # The beginning of many names.
    digest("FROM archive_"),
    digest("^SELECT .* FROM archive_.*"),
    # Words that are more likely SQL than a name, or end.
    digest("SELECT"),
    digest("DISTINCT"),
    digest("FOR UPDATE"),
    digest("orders"),
    digest("audit_log"),
    digest("SHA1"),
    digest(r"sbtest1\b"),
    digest("sbtest1 "),
    digest("UPDATE `orders`"),
    pattern(r"^\s*SELECT"),
    pattern("user_id = 1 "),
    pattern(r"user_id = 1\b"),
    pattern(r"/\* app1 \*/"),
    pattern("'secret'"),
    pattern(".*report.*"),
    pattern("(?s)SELECT.*FOR UPDATE"),
    pattern("^SELECT c", replace_pattern="SELECT d"),
    pattern(r"what\?"),
    digest("^a", re_modifiers="caseless"),
    digest("^a", re_modifiers="GLOBAL,CASELESS"),
    digest("^a", re_modifiers=""),
    {"client_addr": "10.0.%"},
    {"client_addr": "%"},
    {"client_addr": "fe80::1"},
    {"client_addr": "::ffff:10.0.0.1"},
    {"client_addr": "localhost"},
    {"digest": "0xD7C9A2A3B4C5D6E7"},
    {"digest": ""},
]


@pytest.mark.parametrize("rule", GOOD, ids=lambda given: str(given)[:60])
def test_what_is_right_is_left_alone(rule):
    assert codes(rule) == []


def test_what_pcre_takes_and_re2_does_not():
    rule = digest("^SELECT (?!.*FOR UPDATE)")
    assert codes(rule) == []
    for of_pcre in (rule, digest(r"(a)\1")):
        [found] = all_checks()["PX101"].find(subject(of_pcre, **RE2))
        assert "does not compile in RE2" in found.message
        assert found.fix == "write it without look-around and back references, or as two rules"
    [found] = all_checks()["PX101"].find(subject(digest("(a"), **RE2))
    assert found.fix is None


def test_a_name_that_stands_alone_beside_a_longer_one():
    """Whether a lone word is a name shows where another rule has a longer one."""
    rules = [
        digest("orders"),
        digest(r"FROM orders_archive\b"),
        digest("select"),
        digest("a,selects"),
    ]
    assert findings("PX109", *rules) == [
        (1, "match_digest matches `orders`, and `orders_archive` too")
    ]
    # An earlier rule has taken the queries on the longer name already.
    assert said_of("PX109", rules[1], rules[0]) == []
    assert said_of("PX109", digest("orders"), digest(r"FROM orders\b")) == []


def test_the_fix_for_a_name_ends_it():
    [found] = all_checks()["PX109"].find(subject(digest("FROM sbtest1.*WHERE")))
    assert found.fix == r"write sbtest1\b"
    assert codes(digest(r"FROM sbtest1\b.*WHERE")) == codes(digest(r"UPDATE `?orders\b`?")) == []


def test_a_negated_pattern_that_never_matches_is_reported_to_match_everything():
    [(_, message)] = findings("PX104", digest("= 'x'", negate_match_pattern=1))
    assert message.endswith("negated, it matches every query")


def test_rules_with_one_cause_are_one_finding():
    rules = [pattern("^SELECT"), pattern(r"x\b"), pattern("^(INSERT|UPDATE) .*x")]
    [found] = all_checks()["PX114"].find(subject(*rules))
    assert (found.key, found.also) == ((1,), ((3,),))
    assert found.text.endswith("(also rule 3)")


def test_a_number_may_begin_a_name():
    """`42col` is a name, and stays in the digest text."""
    assert Digester().digest(b"SELECT c FROM t WHERE id = 42col").text.endswith(b"= 42col")
    [(_, message)] = findings("PX104", digest("id = 42"))
    assert message.endswith("the rule hardly ever matches")
    [(_, message)] = findings("PX104", digest("id = 42", negate_match_pattern=1))
    assert message.endswith("negated, it matches nearly every query")


def test_the_fix_for_a_pasted_digest_matches_it():
    text = "SELECT COUNT(*) FROM orders WHERE id = ? AND a IN (?,?)"
    [found] = all_checks()["PX103"].find(subject(digest(f"^{text}$")))
    assert found.fix.startswith(r"write '^SELECT COUNT\(\*\) FROM orders WHERE id = \?")
    escaped = found.fix.removeprefix("write '").removesuffix("'")
    assert codes(digest(escaped)) == []
    [rule] = subject(digest(escaped)).rules
    assert rule.match_digest.matches(Digester().digest(text.encode()).text)


def test_variables_change_what_a_digest_text_is():
    comment = digest(r"/\* x \*/")
    assert codes(comment, query_digests_keep_comment=True) == []
    capitals = digest("^SELECT", re_modifiers="")
    assert codes(capitals) == []
    assert codes(capitals, query_digests_lowercase=True) == ["PX104"]
    assert codes(digest("^SELECT"), query_digests_lowercase=True) == []
    digits = digest("sbtest42 ")
    assert codes(digits, query_digests_no_digits=True) == ["PX104"]
    assert codes(digest("sbtest[^ ]+ "), query_digests_no_digits=True) == []


def test_digests_that_are_off():
    rules = [digest("^SELECT"), {"digest": "0xD7C9A2A3B4C5D6E7"}, pattern("x")]
    assert said_of("PX120", *rules) == []
    assert said_of("PX120", *rules, query_digests=False) == [1, 2]
    # What digest texts look like matters no more, and match_pattern is the only way.
    rules = [digest("id = 42"), digest("(FROM t1"), pattern("^SELECT")]
    assert codes(*rules, query_digests=False) == ["PX120"]


def test_a_secret_is_not_shown():
    rules = [
        digest(Secret("(pw")),
        digest(Secret("pw = ?$"), re_modifiers=Secret("pw")),
        digest(Secret("pw = 42 ")),
        {"client_addr": Secret("p%w"), "digest": Secret("pw")},
    ]
    codes_ = ("PX101", "PX103", "PX104", "PX121", "PX122", "PX123")
    messages = [message for code in codes_ for _, message in findings(code, *rules)]
    assert len(messages) == 6
    assert not [message for message in messages if "pw" in message or "p%w" in message]
