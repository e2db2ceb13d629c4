"""The plain beginning of a pattern, and claims of lint (PX1xx) about patterns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.lint.check import all_checks
from proxyctl.lint.patterns import literals_of
from proxyctl.routing.digest import Digester
from proxyctl.routing.regex import BadPattern, RegexEngine, compile_pattern
from proxyctl.rows.row import Secret
from tests.unit.linted import digest, findings, subject

_ATOMS = (
    r"a b A ab . .* .+ a? b* a+ [ab] [^a] \b \B \w \s \d+ 42 ^ $ _ , ( ) (a|b) | a{2} \( \) ; '"
)
atoms = st.sampled_from([" ", "[[:alpha:]]", *_ATOMS.split()])
patterns = st.lists(atoms, max_size=6).map("".join)
texts = st.text("abAB _,1\n", max_size=8).map(str.encode)


def compiled(text, *, caseless=True, engine=RegexEngine.PCRE):
    try:
        return compile_pattern(text.encode(), engine, caseless=caseless)
    except BadPattern:
        return None


@pytest.mark.parametrize(
    ("pattern", "first"),
    [
        ("^SELECT c FROM t(1|2) WHERE", "SELECT c FROM t"),
        (r"COUNT\(\*\) FROM t\.a+b", "COUNT(*) FROM t.a"),
        (r"a{2}b", ""),
        (r"ab?c", "a"),
        ("a|b", ""),
        ("ab(c)|d", ""),
        ("(?i)select", ""),
        (r"\Qa|b\E", ""),
    ],
)
def test_the_plain_text_at_the_beginning(pattern, first):
    assert literals_of(pattern, is_caseless=True).first == first


@given(patterns, texts, st.booleans())
def test_each_match_holds_the_plain_text(pattern, text, caseless):
    made = compiled(pattern, caseless=caseless)
    if made is None or not made.matches(text):
        return
    first, shown = literals_of(pattern, is_caseless=caseless).first, text.decode()
    assert first.lower() in shown.lower() if caseless else first in shown


@given(patterns, patterns, st.lists(texts, min_size=30, max_size=30), st.booleans())
@pytest.mark.parametrize("engine", RegexEngine)
def test_what_is_covered_is_matched(engine, wide, narrow, some, caseless):
    first, second = (
        compiled(wide, caseless=caseless, engine=engine),
        compiled(narrow, engine=engine),
    )
    if first is None or second is None:
        return
    asked = literals_of(wide, is_caseless=caseless)
    if not asked.covers(literals_of(narrow, is_caseless=True)):
        return
    some += [text + b"\n" for text in some]
    assert not [text for text in some if second.matches(text) and not first.matches(text)]


@pytest.mark.parametrize(
    ("wide", "narrow", "is_covered"),
    [
        ("^SELECT", "^SELECT .*FOR UPDATE$", True),
        ("^SELECT.*", "^select (a|b)", True),
        ("FROM t1", "FROM t10", True),
        (".*", "x", True),
        ("^", "a|b", True),
        ("^SELECT ", "^SELECT", False),
        ("^SELECT", "SELECT", False),
        ("^SELECT", "^SELECT?", False),
        ("^SELECT", "^SELECT|x", False),
        (r"^SELECT\b", "^SELECT .*x", False),
        (r"t\.*", "t.a", False),
    ],
)
def test_covering(wide, narrow, is_covered):
    first, second = (literals_of(text, is_caseless=True) for text in (wide, narrow))
    assert first.covers(second) is is_covered


def test_a_number_may_begin_a_name():
    """`42col` is a name, and stays in the digest text."""
    assert Digester().digest(b"SELECT c FROM t WHERE id = 42col").text.endswith(b"= 42col")


def test_the_fix_for_a_pasted_digest_matches_it():
    text = "SELECT COUNT(*) FROM orders WHERE id = ? AND a IN (?,?)"
    [found] = all_checks()["PX103"].find(subject(digest(f"^{text}$")))
    assert found.fix.startswith(r"write '^SELECT COUNT\(\*\) FROM orders WHERE id = \?")
    escaped = found.fix.removeprefix("write '").removesuffix("'")
    [rule] = subject(digest(escaped)).rules
    assert rule.match_digest.matches(Digester().digest(text.encode()).text)


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
