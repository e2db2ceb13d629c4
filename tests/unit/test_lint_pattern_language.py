"""What lint claims about every text at once, held against single texts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.digest import Digester, DigestOptions
from proxyctl.lint.digest_texts import DigestTexts
from proxyctl.lint.pattern_language import covers
from proxyctl.lint.pattern_syntax import byte_set, tree_of
from proxyctl.lint.pattern_texts import literal_runs, sample
from proxyctl.regex import BadPattern, Engine, compile_pattern

OPTIONS = [
    DigestOptions(),
    DigestOptions(lowercase=True, replace_null=True),
    DigestOptions(no_digits=True),
    DigestOptions(grouping_limit=1, groups_grouping_limit=1),
    DigestOptions(keep_comment=True),
]

_ATOMS = r"a b A ab . .* .+ a? b* [ab] [^a] \b \B \w \s \d+ ^ $ _ , (a|b) (?:a|^)b a{2} (b|)"
atoms = st.sampled_from([" ", "[[:alpha:]]", *_ATOMS.split()])
patterns = st.lists(atoms, max_size=5).map("".join)
texts = st.text("abAB _,1\n", max_size=8).map(str.encode)


def compiled(text, *, caseless=True, engine=Engine.PCRE):
    try:
        return compile_pattern(text.encode(), engine, caseless=caseless)
    except BadPattern:
        return None


def tree(text, **how):
    return tree_of(compiled(text, **how))


@given(patterns, patterns, st.lists(texts, min_size=30, max_size=30), st.booleans())
def test_what_is_covered_is_matched(wide, narrow, some, caseless):
    first, second = compiled(wide, caseless=caseless), compiled(narrow)
    if first is None or second is None:
        return
    trees = tree_of(first), tree_of(second)
    if None in trees or not covers(*trees):
        return
    # A pattern without a text is covered by all; callers look at that first.
    some += [text + b"\n" for text in some] + [sample(trees[1].root)]
    assert not [text for text in some if second.matches(text) and not first.matches(text)]


@pytest.mark.parametrize(
    ("wide", "narrow", "is_covered"),
    [
        ("^SELECT", "^SELECT .*FOR UPDATE$", True),
        (r"^SELECT\b", "^SELECT .*x", True),
        (r"^SELECT\b", "^SELECT", False),
        ("a$", "ba$", True),
        (r"a\z", "a$", False),
        ("^.*$", "x", False),
        ("(a|b)+", "b", False),  # PCRE may give up on a repeated group
        ("(?=a)", "a", False),
        ("a", "(?=a)a", True),
        (r"(a)\1", "aa", False),
    ],
)
def test_covering(wide, narrow, is_covered):
    assert covers(tree(wide), tree(narrow)) is is_covered


def test_without_line_breaks_a_dot_is_every_byte():
    assert covers(tree("^.*$"), tree("x"), without=byte_set(b"\n"))


_WORDS = """SELECT a `b` 42 x42 's' "d" , ( ) = NULL t1. @v IN é Δ $ _ ab$1 (1,2,3,4,5,6,7)
((1,2,3,4,5),(1,2,3,4,5))"""
queries = st.lists(
    st.sampled_from([*_WORDS.split(), " ", "  ", "\n", "\t", " , ", " ( ", " < ", "/* c , ( d */"]),
    max_size=14,
).map("".join)


@given(queries, st.sampled_from(OPTIONS))
def test_no_digest_text_has_what_none_should_have(query, options):
    # A number before a dot and a letter is left: `42.a`; no SQL begins like this.
    query = re.sub(r"\d+\.", "", query)
    text = Digester(options).digest(query.encode()).text
    assert DigestTexts(options).holds(text) is None


@given(patterns, queries, st.sampled_from(OPTIONS))
def test_a_pattern_that_matches_a_digest_text_is_not_out_of_reach(pattern, query, options):
    made = compiled(pattern)
    text = Digester(options).digest(re.sub(r"\d+\.", "", query).encode()).text
    found = tree_of(made) if made else None
    if found is None or not made.matches(text):
        return
    kind = DigestTexts(options).out_of_reach(found)
    # `= 4` is said to be in vain although `= 4x` is a name that begins like this.
    assert kind is None or re.search(r"\d", pattern)


def test_a_sample_and_its_literal_runs():
    root = tree(r"^SELECT .* FROM (t1|t2)\b\s*x{2}").root
    assert sample(root) == b"select a from t1xx"
    assert literal_runs(root) == [b"select ", b" from "]


def test_what_is_not_understood_gives_no_tree():
    assert tree("a" * 30_000) is None
    assert tree("ä", engine=Engine.RE2) is None
    assert tree(r"\pL", engine=Engine.RE2) is None


@given(patterns)
def test_re2_patterns_are_read_alike(pattern):
    made = compiled(pattern, engine=Engine.RE2)
    found = tree_of(made) if made else None
    assert made is None or found is not None or "[[:" in pattern
