"""Fast patterns: PCRE matches nothing that RE2 rules out, and no match takes for ever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.routing.regex import BadPattern, RegexEngine, compile_pattern, is_plain
from proxyctl.routing.regex.re2 import Prefilter

RECORDED = Path(__file__).with_name("data") / "patterns_pcre.jsonl"


def compiled(pattern, **options):
    return compile_pattern(pattern, RegexEngine.PCRE, **options)


def agrees(pattern, subjects):
    """Assert that RE2 rules out nothing that matches."""
    found = Prefilter([pattern], latin1=True)
    for subject in subjects:
        may_match = bool(found.unfiltered) or bool(list(found.may_match(subject)))
        assert may_match >= bool(pattern.matches(subject)), subject


def test_recorded_patterns():
    for line in RECORDED.read_text(encoding="ascii").splitlines():
        pattern, caseless, expected = json.loads(line)
        if expected is not None:
            try:
                made = compiled(pattern.encode("latin-1"), caseless=caseless)
            except BadPattern:
                continue  # refused, and listed as such in test_regex.py
            agrees(made, [subject.encode("latin-1") for subject, _ in expected])


ATOMS = (
    *("a", "b", "B", "1", r"\.", ".", "^", "$", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\h"),
    *(r"\H", r"\v", r"\V", r"\N", r"\R", r"\b", r"\B", r"\A", r"\z", r"\Z", r"\G", r"\K"),
    *("[ab]", "[^ab]", r"[\w.]", r"[^\s1]", "[a-z]", "[]a]", "[[:alpha:]]", "[^[:space:]]"),
    *(r"\x41", "\xe9", "[^\xe9]", "[\xe0-\xef]", r"\x{e9}", r"[^\V]", r"\Qa.\E", r"\1", "{"),
    *("(?i)", "(?s)", "(?-i)", "(?m)", "(?U)", "a{2}", "a{,2}", "(?=a)", "(?!b)", "(?<=a)"),
    *("(?<!b)", "(?x) a b", "(?#c)", "\n", " "),
)
GROUPS = ("({})", "(?:{})", "(?>{})", "(?i:{})", "(?|{})", "(?<n>{})", "(?={})", "{}|{}", "({}|{})")
COUNTS = ("", "", "*", "+", "?", "*?", "++", "{2}", "{1,3}", "{0,2000}")
PATTERNS = st.recursive(
    st.tuples(st.sampled_from(ATOMS), st.sampled_from(COUNTS)).map("".join),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.builds(
            lambda group, first, second: group.format(first, second),
            st.sampled_from(GROUPS),
            inner,
            inner,
        ),
    ),
    max_leaves=6,
)
SUBJECTS = st.text("abAB1 _.\n\r\t\v\x85\xe9\xc9x-", max_size=9).map(lambda t: t.encode("latin-1"))


@given(PATTERNS, st.booleans(), st.lists(SUBJECTS, min_size=4, max_size=8))
def test_generated_patterns(pattern, caseless, subjects):
    try:
        made = compiled(pattern.encode("latin-1"), caseless=caseless)
    except BadPattern:
        return
    agrees(made, subjects)


def test_a_set_finds_each_pattern_by_its_place():
    patterns = [compiled(b"FROM t%d " % number) for number in range(2_500)]
    patterns[7] = compiled(rb"(*LIMIT_MATCH=1)a")
    found = Prefilter(patterns, latin1=True)
    assert found.unfiltered == [7]
    assert list(found.may_match(b"select 1 from t2345 x")) == [2345]
    assert list(found.may_match(b"select 1 from T0 x\0from t1 ")) == [0]


def test_back_references_and_look_behinds_are_filtered():
    patterns = [compiled(rb"(\w+)_%d .*\1_%d " % (n, n)) for n in (1, 2)] + [compiled(b"(?<=a)b")]
    found = Prefilter(patterns, latin1=True)
    assert found.unfiltered == []
    assert sorted(found.may_match(b"x_2 y x_2 b")) == [1, 2]


def test_re2_reads_a_set_as_it_reads_one_pattern():
    patterns = [
        compile_pattern(p, RegexEngine.RE2) for p in (b"^.$", b"(?-i)A", rb"\pL\z", b"a|b$")
    ]
    patterns.append(compile_pattern(b"X", RegexEngine.RE2, caseless=False))
    found = Prefilter(patterns, latin1=False)
    for subject in (b"a", b"A", "ö".encode(), b"x", b"X", b"bc", b"\xff"):
        expected = [n for n, pattern in enumerate(patterns) if pattern.matches(subject)]
        assert sorted(found.may_match(subject)) == expected


@pytest.mark.parametrize(
    ("pattern", "subject", "matches"),
    [
        (rb"(?:a|b)+c", b"a" * 3_000, False),
        (rb"(?:a|b)+c", b"a" * 3_000 + b"c", True),
        (rb"(a+)+$", b"a" * 40 + b"!", None),
        (rb"a.*a.*a.*b", b"a" * 3_000 + b"\nb", None),
        pytest.param(*(rb"a.*b.*c", b"a" * 1_000_000 + b"\nbc", None), marks=pytest.mark.sweep),
        (rb"a.*a.*b", b"a" * 350 + b"\n" + b"aab", True),
        (rb"^INSERT.*VALUES.*z", b"INSERT INTO t VALUES " + b"(1)," * 100_000, False),
        pytest.param(
            *(rb"INTO t .*VALUES", b"INSERT INTO t SELECT " + b"1, " * 300_000, False),
            marks=pytest.mark.sweep,
        ),
    ],
)
def test_matches_that_take_many_steps(pattern, subject, matches):
    assert compiled(pattern).matches(subject) is matches


def test_what_takes_many_steps_is_found_all_the_same():
    """The match needs more steps than the first attempt allows, and starts late in the text."""
    subject = b"b" * 5 + b"a" * 17 + b"!" + b"ac"
    assert compiled(rb"(?:a+)+c").search(subject) == ((23, 25),)
    replaced = compiled(rb"(?:a+)+c|b*").replace(b"-", subject, every=True)
    assert replaced == b"--" + b"a-" * 17 + b"!--"


def test_a_replacement_that_takes_too_many_steps_is_undecided():
    subject = b"xy" + b"a" * 40 + b"!x"
    assert compiled(rb"(?:a+)+$|x").replace(b"-", subject, every=True) is None
    assert compiled(rb"(?:a+)+$|x").replace(b"-", subject, every=False) == b"-" + subject[1:]


ASCII = [chr(code) for code in range(128)]


@pytest.mark.parametrize("first", ASCII)
def test_every_pair_of_characters(first):
    for second in ASCII:
        for text in (f"{first}{second}", f"\\{first}{second}", f".{first}{second}"):
            if is_plain(text.encode()):
                for engine in RegexEngine:
                    compile_pattern(text.encode(), engine)


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        (r"^SELECT .* FROM table_1 WHERE id=\?", True),
        (r"^SELECT.*FOR UPDATE$", True),
        ("", True),
        ("a" * 1000, False),
        ("(", False),
        ("a*", False),
        ("^*", False),
        (".**", False),
        (r"\d", False),
        ("caf\u00e9", False),
        ("\0(", False),
    ],
)
def test_what_is_plain(pattern, plain):
    assert is_plain(pattern.encode()) == plain
