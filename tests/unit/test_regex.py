r"""Both regex engines, compared with recorded answers of the real ones.

`data/patterns_*.jsonl` holds one case per line: the pattern, whether CASELESS, and null where it
does not compile, or subjects with the span of the match (null: none). All texts are bytes,
as Latin-1. They were recorded from PCRE 8.45 and RE2 2022-12-01 as ProxySQL 2.7.1 builds them:
patterns that people write, one for each rule of the syntax, and generated ones. A pattern with
another answer than PCRE has unusual syntax, and proxyctl reports it as not verified.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from proxyctl.routing.regex import BadPattern, RegexEngine, compile_pattern
from proxyctl.routing.regex.pcre import is_verified
from proxyctl.routing.regex.samples import samples

DATA = Path(__file__).with_name("data")
VERIFIED = 223
"""So many of the recorded patterns are of the kind that most people write."""


def recorded(name):
    lines = (DATA / name).read_text(encoding="ascii").splitlines()
    return [json.loads(line) for line in lines]


def answer(pattern, engine, caseless, subjects):
    try:
        compiled = compile_pattern(pattern.encode("latin-1"), engine, caseless=caseless)
    except BadPattern:
        return None
    found = []
    for subject in subjects or ():
        spans = compiled.search(subject.encode("latin-1"))
        assert compiled.matches(subject.encode("latin-1")) is (spans is not None)
        found.append([subject, list(spans[0]) if spans else None])
    return found


def differing(engine, name):
    """Return the recorded cases with a different answer."""
    different = []
    for pattern, caseless, expected in recorded(name):
        subjects = [subject for subject, _ in expected or ()]
        if answer(pattern, engine, caseless, subjects) != expected:
            different.append(pattern)
    return different


def test_every_recorded_case_of_re2():
    assert differing(RegexEngine.RE2, "patterns_re2.jsonl") == []


def test_the_recorded_cases_of_pcre():
    """Each verified case has PCRE 8.45's answer, and few of the others differ."""
    patterns = [pattern for pattern, _, _ in recorded("patterns_pcre.jsonl")]
    different = differing(RegexEngine.PCRE, "patterns_pcre.jsonl")
    assert [pattern for pattern in different if is_verified(pattern.encode("latin-1"))] == []
    assert sum(is_verified(pattern.encode("latin-1")) for pattern in patterns) == VERIFIED
    assert len(different) <= 0.04 * len(patterns), different


def refused(pattern, engine=RegexEngine.PCRE):
    with pytest.raises(BadPattern) as caught:
        compile_pattern(pattern, engine)
    return str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (rb"ab(", "missing closing parenthesis, at byte 4"),
        (rb"a[\w-.", "missing terminating ] for character class"),
        (rb"a{,3}(", "missing closing parenthesis, at byte 7"),
        (
            rb"\p{L}b",
            r"ProxySQL's PCRE does not support Unicode properties (\p, \P, \X), at byte 1",
        ),
        (rb"x(?<=a{1,3})b", "each alternative of a look-behind needs a fixed length"),
        (rb"a(?n)x", "an unknown kind of group after (?, at byte 2"),
        (rb"(*pla:a)ab", "(* begins a verb that PCRE 8 does not support, at byte 1"),
        (rb"(*UCP)ab", "(* begins a verb that PCRE 8 does not support, at byte 1"),
        (rb"\Qab\E\g{2}", "reference to non-existent subpattern"),
        (rb"a**", "quantifier does not follow a repeatable item"),
        (rb"[a-\d]", "invalid range in character class"),
        (rb"[\w-.][z-a]", "range out of order in character class, at byte 11"),
        (rb"a{3,1}", "numbers out of order in {} quantifier"),
    ],
)
def test_pcre_says_why_and_where(pattern, message):
    assert message in refused(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (rb"[(?<n>](?<n>a)", "accepts named groups only as (?P<name>...), at byte 8"),
        (rb"(?<!a)b", "RE2 does not support look-around, at byte 1"),
        (rb"\Q\1\E(a)\1", "RE2 does not support back references, at byte 10"),
        (rb"(?>a)", "RE2 does not support atomic groups"),
        (rb"a(", "missing ): a("),
    ],
)
def test_re2_says_why(pattern, message):
    assert message in refused(pattern, RegexEngine.RE2)


def test_text_behind_a_nul_is_not_matched():
    for engine in RegexEngine:
        compiled = compile_pattern(b"a$\0(", engine)
        assert compiled.search(b"ba\0b") == ((1, 2),)


def test_case_matters_only_without_caseless():
    for engine in RegexEngine:
        assert compile_pattern(b"[a-c]x", engine).matches(b"BX")
        assert not compile_pattern(b"[a-c]x", engine, caseless=False).matches(b"BX")


def test_a_match_that_takes_too_long_is_undecided():
    compiled = compile_pattern(rb"(?:a+)+$", RegexEngine.PCRE)
    subject = b"a" * 40 + b"!"
    assert compiled.search(subject) is None
    assert compiled.matches(subject) is None
    assert compiled.replace(b"x", subject, every=True) is None


def test_nesting_up_to_the_limit_of_pcre():
    for deep in (
        b"(?<=" + b"(" * 249 + b"a" + b")" * 249 + b")b",
        b"(" * 249 + b"a(?R)?" + b")" * 249,
    ):
        compile_pattern(deep, RegexEngine.PCRE)
    assert "too deeply nested" in refused(b"(" * 251 + b")" * 251)


@dataclass(frozen=True)
class ReplaceCase:
    """A pattern, a template and a subject; what replacing the first match and every one makes."""

    engine: RegexEngine
    pattern: bytes
    template: bytes
    subject: bytes
    first: bytes
    every: bytes


@pytest.mark.parametrize(
    "case",
    [
        ReplaceCase(
            engine=RegexEngine.PCRE,
            pattern=rb"(\d)(x)?",
            template=rb"<\1\\>",
            subject=b"a1b2",
            first=rb"a<1\>b2",
            every=rb"a<1\>b<2\>",
        ),
        # Group 2 took no part and is the last: the template is wrong for this match.
        ReplaceCase(
            engine=RegexEngine.PCRE,
            pattern=rb"(\d)(x)?",
            template=rb"<\2>",
            subject=b"a1b2x",
            first=b"a1b2x",
            every=b"a<b<x>",
        ),
        ReplaceCase(
            engine=RegexEngine.RE2,
            pattern=rb"(\d)(x)?",
            template=rb"<\2>",
            subject=b"a1b2x",
            first=b"a<>b2x",
            every=b"a<>b<x>",
        ),
        ReplaceCase(
            engine=RegexEngine.PCRE,
            pattern=rb"b*",
            template=rb"-",
            subject=b"abc",
            first=b"-abc",
            every=b"-a--c-",
        ),
        ReplaceCase(
            engine=RegexEngine.RE2,
            pattern=rb"b*",
            template=rb"-",
            subject=b"abc",
            first=b"-abc",
            every=b"-a-c-",
        ),
        ReplaceCase(
            engine=RegexEngine.PCRE,
            pattern=rb"b*",
            template=rb"-",
            subject=b"\xc3\xa9",
            first=b"-\xc3\xa9",
            every=b"-\xc3-\xa9-",
        ),
        ReplaceCase(
            engine=RegexEngine.RE2,
            pattern=rb"b*",
            template=rb"-",
            subject=b"\xc3\xa9",
            first=b"-\xc3\xa9",
            every=b"-\xc3\xa9-",
        ),
        ReplaceCase(
            engine=RegexEngine.PCRE,
            pattern=rb"a",
            template=rb"x\q",
            subject=b"aba",
            first=b"aba",
            every=b"xbx",
        ),
        ReplaceCase(
            engine=RegexEngine.RE2,
            pattern=rb"a",
            template=rb"\3",
            subject=b"aba",
            first=b"aba",
            every=b"aba",
        ),
        ReplaceCase(
            engine=RegexEngine.PCRE,
            pattern=rb"A",
            template=rb"x",
            subject=b"aba",
            first=b"xba",
            every=b"xbx",
        ),
        # ProxySQL compiles it once more for the replacement, without CASELESS.
        ReplaceCase(
            engine=RegexEngine.RE2,
            pattern=rb"A",
            template=rb"x",
            subject=b"aba",
            first=b"aba",
            every=b"aba",
        ),
    ],
    ids=lambda case: f"{case.engine.name}-{case.pattern}-{case.template}-{case.subject}",
)
def test_replacements(case):
    compiled = compile_pattern(case.pattern, case.engine)
    assert compiled.replace(case.template, case.subject, every=False) == case.first
    assert compiled.replace(case.template, case.subject, every=True) == case.every


def test_a_class_of_many_ranges_is_refused_at_once():
    """`a-z` was ambiguous, so a long, unclosed class had 2 ** 300 readings."""
    with pytest.raises(BadPattern):
        compile_pattern(b"[" + b"a-z" * 300 + b"z-a]", RegexEngine.PCRE, caseless=False)


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
