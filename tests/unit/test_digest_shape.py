"""Patterns that match no digest text: nothing that matches one is reported (PX104)."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxyctl.routing.digest import Digester, DigestOptions
from proxyctl.routing.digest.shape import Never, needs_backslash, why_never
from proxyctl.routing.regex import BadPattern, RegexEngine, compile_pattern

OPTIONS = [
    DigestOptions(),
    DigestOptions(lowercase=True, replace_null=True),
    DigestOptions(no_digits=True),
    DigestOptions(grouping_limit=1, groups_grouping_limit=1),
    DigestOptions(keep_comment=True),
]

_ATOMS = (
    r"a b A ab . .* .+ a? b* a+ [ab] [^a] \b \B \w \s \d+ 42 ^ $ _ , ( ) (a|b) | a{2} \( \) ; '"
    r" [^'\s] (?!b) (?i:A) \W [[:alpha:]] [\w.-] - / \* \? \. [0-9]{1,2} (?=a) (?>a|ab) \\ \N \x41"
)
patterns = st.lists(st.sampled_from([" ", *_ATOMS.split()]), max_size=6).map("".join)

_WORDS = """SELECT a `b` 42 x42 's' "d" , ( ) = NULL t1. @v IN é Δ $ _ ab$1 (1,2,3,4,5,6,7) 0x1F 1.5
1e-5 .5 5. 5x 5_a 5.x + - * / % < > ? [ ] { } | ! : ~ ^ & ; -1 'it''s' 'a\\'b' N/A --5 ...
((1,2,3,4,5),(1,2,3,4,5))"""
_tokens = st.sampled_from(
    [*_WORDS.split(), " ", " ", "\n", "\t", " , ", " ( ", " < ", "/* c , ( d */ ", "-- c\n", "#c\n"]
)
queries = st.lists(_tokens, max_size=14).map(lambda tokens: "SELECT " + "".join(tokens))

_NO_OPERAND = re.compile(r"[-+]\s*(?:--.*\n|#.*\n|/\*.*?\*/)*\s*[,)]")
"""An operator without a value behind it, which is no SQL. ProxySQL may leave a blank for it."""


def digest_text(query, options):
    """Return the digest text; None if it is not certain, or of what is no SQL."""
    digest = Digester(options).digest(query.encode())
    is_sql = not _NO_OPERAND.search(query) and not digest.text.endswith(b"/*")
    return digest.text if digest.certain and is_sql else None


def escaped(text):
    return re.sub(rb"([^\w\s]|_)", rb"\\\1", text).decode("latin-1")


@given(queries, st.sampled_from(OPTIONS))
@example("SELECT a - b FROM t", DigestOptions())
@example("SELECT f(- a)", DigestOptions())
@example("SELECT 1; --- c", DigestOptions())
@example("SELECT 0x1e-5", DigestOptions())
@example("SELECT 2024_logs.a, 1ae-5 FROM 2024_logs", DigestOptions())
def test_a_digest_text_is_not_called_impossible(query, options):
    text = digest_text(query, options)
    if text is not None:
        reason = why_never(f"^{escaped(text)}$", options, is_caseless=False)
        assert reason is None or not reason.is_certain


@pytest.mark.parametrize(
    "query",
    [
        "SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 2 ORDER BY c LIMIT 5, 10",
        "INSERT INTO t (a, b) VALUES (1, 'x'), (2, NULL), (3, 'y'), (4, 'z')",
        "UPDATE `t` SET hits = hits + 1 WHERE id IN (1, 2, 3, 4, 5, 6) -- done",
        "SELECT @@session.auto_increment_increment, @x := -1",
        "(SELECT a FROM t2) UNION (SELECT b->'$.x' FROM `2024_logs`) ;",
        "/* app */ SELECT \\N, count(*) FROM t WHERE a <> 'it''s' AND b % 2 = 0 FOR UPDATE",
        "CALL p('a', @b); # x",
        "SELECT a.2col, `é` FROM db1.t1 JOIN 3d.t ON a = b WHERE x > 0x1F AND y < 1.5e-3",
    ],
)
@pytest.mark.parametrize("options", OPTIONS)
def test_a_usual_digest_text_is_not_reported(query, options):
    text = digest_text(query, options)
    assert why_never(f"^{escaped(text)}$", options, is_caseless=False) is None
    for word in escaped(text).split():
        assert why_never(word, options, is_caseless=False) is None


@given(patterns, queries, st.sampled_from(OPTIONS), st.booleans(), st.sampled_from(RegexEngine))
def test_a_pattern_that_matches_a_digest_text_is_not_called_impossible(
    pattern, query, options, caseless, engine
):
    text = digest_text(query, options)
    try:
        made = compile_pattern(pattern.encode(), engine, caseless=caseless)
    except BadPattern:
        return
    if text is not None and made.matches(text):
        reason = why_never(pattern, options, is_caseless=caseless)
        assert reason is None or not reason.is_certain


@pytest.mark.parametrize(
    ("pattern", "never"),
    [
        (r"= 'x'", Never.QUOTED),
        (r'name = "[a-z]+"', Never.QUOTED),
        (r"= ['\"]", Never.QUOTED),
        (r"user_id *= *[0-9]+", Never.NUMBER),
        (r"user_id = \d+.*", Never.NUMBER),
        (r"IN \((1|2|3)\)", Never.NUMBER),
        (r"LIMIT \d{1,3}$", Never.NUMBER),
        (r"id = 0x[0-9a-f]+ ", Never.NUMBER),
        (r"/\*.*\*/", Never.COMMENT),
        (r"(?:#|/[*]) app", Never.COMMENT),
        (r"-- app", Never.DASHES),
        (r"^/* TEMP */", Never.START),
        (r"^SELECT\\s+.*\\bt1\\b", Never.BACKSLASH),
        (r"COUNT\\(\\*\\)", Never.BACKSLASH),
        (r"(a|b)[\r\n]", Never.SPACING),
        (r"COUNT\(\* \)", Never.SPACING),
        (r"a\s,", Never.SPACING),
        (r"a,\sb", Never.SPACING),
        (r"^ SELECT", Never.LOOSE),
        (r"FROM  t", Never.DOUBLE),
        (r"x[; ]+$", Never.END),
        (r"SELECT$ x", Never.ANCHOR),
        (r"(a^b|c^d)", Never.ANCHOR),
    ],
)
def test_a_pattern_that_no_digest_text_matches(pattern, never):
    reason = why_never(pattern, DigestOptions(), is_caseless=True)
    assert reason is not None
    assert reason.never is never


@pytest.mark.parametrize(
    "pattern",
    [
        r"a = (42|\?)",
        r"FROM [0-9]{4}_logs",
        r"sbtest\d+ ",
        r"^\s*SELECT",
        r"a,\s*b",
        r"'?x",
        r"^[^;]*$",
        r"(?m)^a$",
        r"(?x) SELECT ' ",
        r"(a)\1'",
        r"\Q'\E",
        r"(?#')x",
        r"[[:^alpha:]]'",
        r"SELECT \\N",
        r"a(?!')b",
        r"x{1,2000}y{3000}",
        r"[\w-.]+",
        r"[]']",
    ],
)
def test_what_is_right_or_not_understood_is_not_reported(pattern):
    assert why_never(pattern, DigestOptions(), is_caseless=True) is None


def test_options_decide():
    lower, no_digits = DigestOptions(lowercase=True), DigestOptions(no_digits=True)
    assert why_never("SELECT", lower, is_caseless=False).never is Never.CAPITAL
    assert why_never("[S-T]ELECT", lower, is_caseless=False).never is Never.CAPITAL
    assert why_never("SELECT", lower, is_caseless=True) is None
    assert why_never("(?i)SELECT", lower, is_caseless=False) is None
    assert why_never(r"t\d", no_digits, is_caseless=True).never is Never.DIGIT
    assert why_never(r"t\d", DigestOptions(), is_caseless=True) is None
    kept = DigestOptions(keep_comment=True)
    assert why_never(r"/\* id = 42 \*/", kept, is_caseless=True) is None


@pytest.mark.parametrize(
    ("pattern", "needs"),
    [
        (r"\\s", True),
        (r"\\/\\*.*shard=0.*\\*\\/", True),
        (r"(\\s|\\b)x", True),
        (r"\s", False),
        (r"\\?x", False),
        (r"a|\\s", False),
        (r"\\N", False),
        (r"[^a]", False),
        (r"(a)\1\\", False),
    ],
)
def test_a_pattern_that_needs_a_backslash(pattern, needs):
    assert needs_backslash(pattern) is needs
