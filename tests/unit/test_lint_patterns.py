"""Lint, PX1xx: what a pattern can match. Each check has its mistake, and what it must not take."""

from __future__ import annotations

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


def test_a_negated_pattern_that_never_matches_is_reported_to_match_everything():
    [(_, message)] = findings("PX104", digest("= 'x'", negate_match_pattern=1))
    assert message.endswith("negated, it matches every query")


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
