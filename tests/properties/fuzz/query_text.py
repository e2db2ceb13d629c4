"""The digest of a query, and the match of a pattern in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

from proxyctl.routing.digest import Digester, DigestOptions
from proxyctl.routing.regex import (
    BadPattern,
    RegexEngine,
    compile_pattern,
    is_plain,
    repeats_a_group,
)
from proxyctl.routing.regex.re2 import Prefilter
from tests.properties.fuzz.target import Run, Target
from tests.support.paths import UNIT_DATA

_BETWEEN = b"\x1f"
"""Stands between a pattern, a text and a replacement."""


def _lines(name: str) -> list[object]:
    return [json.loads(line) for line in (UNIT_DATA / name).read_text("utf-8").splitlines()]


def _options(first: int) -> DigestOptions:
    return DigestOptions(
        lowercase=bool(first & 1),
        replace_null=bool(first & 2),
        no_digits=bool(first & 4),
        keep_comment=bool(first & 8),
        grouping_limit=(3, 1, 100)[first % 3],
        groups_grouping_limit=(10, 0, 2)[first % 3],
        max_digest_length=2048 if first & 16 else 16,
        max_query_length=65000 if first & 32 else 16,
    )


@contextmanager
def _digest(_folder: Path) -> Iterator[Run]:
    """Return a function that makes digests; the first byte of an input chooses the options."""
    digesters = [Digester(_options(first)) for first in range(256)]

    def run(data: bytes) -> None:
        digester, query = digesters[data[0] if data else 0], data[1:]
        found = digester.digest(query)
        assert found == digester.digest_with_care(query), "the shorter way says otherwise"
        assert len(found.text) <= max(len(query), 1) + 1, "a digest text is longer than its query"
        assert 0 <= found.number < 1 << 64

    yield run


@contextmanager
def _pattern(engine: RegexEngine) -> Iterator[Run]:
    def run(data: bytes) -> None:
        pattern, text, replacement = [*data.split(_BETWEEN, 2), b"", b""][:3]
        try:
            compiled = compile_pattern(pattern, engine, caseless=len(data) % 2 == 0)
        except BadPattern:
            assert not is_plain(pattern), "what is plain compiles"
            return
        repeats_a_group(pattern.decode("utf-8", "surrogateescape"))
        matches = compiled.matches(text)
        spans = compiled.search(text)
        assert (spans is not None) == bool(matches)
        if spans is not None:
            assert len(spans) == compiled.groups + 1
        prefilter = Prefilter([compiled], latin1=engine is RegexEngine.PCRE)
        if matches and not prefilter.unfiltered:
            assert prefilter.may_match(text), "the prefilter lost a match"
        for every in (False, True):
            compiled.replace(replacement, text, every=every)

    yield run


def _digest_seeds() -> Sequence[bytes]:
    cases = [*_lines("digest_cases.jsonl"), *_lines("digest_comments.jsonl")]
    queries = (str(case["query"]).encode("utf-8", "surrogateescape") for case in cases)  # type: ignore[index]
    return [bytes([48]) + query for query in dict.fromkeys(queries)]


def _digest_words() -> Sequence[bytes]:
    return (
        *(b"/*", b"*/", b"/*!", b"/*+", b"-- ", b"#", b"'", b'"', b"`", b"\\", b"(", b")", b","),
        *(b"(1,2),", b"IN (1,2,3,4)", b"VALUES (1),(2)", b"0x1F", b"1e-5", b".5", b"-1", b"+1"),
        *(
            b"NULL",
            b"null",
            b"\n",
            b"  ",
            b"\0",
            b"=",
            b"a1",
            b"@v",
            b"N'a'",
            b"X'00'",
            b"_utf8'a'",
        ),
    )


def _pattern_seeds(name: str) -> Sequence[bytes]:
    found = []
    for line in _lines(name):
        pattern, texts = str(line[0]), line[-1]  # type: ignore[index]
        text = texts[0][0] if isinstance(texts, list) and texts else "SELECT 1"
        parts = (pattern, str(text), r"\1 \\ x")
        found.append(_BETWEEN.join(part.encode("utf-8", "surrogateescape") for part in parts))
    return found


_PATTERN_WORDS = rb"""
( ) (?: (?i) (?= (?! (?<= (?<! (?> (?P<a> (?P=a) (?1) (?R) (?| (?# (*UTF8) (*F) (*ACCEPT)
(?(1)a|b) [ ] [^ [[:alpha:]] a-z \d \b \K \G \Q \E \x{41} \p{L} \R \X \g{-1} \1 \\ * + ? {2,}
{1,999} ++ *? | ^ $ .* (a+)+$ (a|a)* aaaaaaaaaaaaaaaaaaaaaaaa! \c \N \o{101} \C SELECT (?s)
(?x)"""


def _pattern_words() -> Sequence[bytes]:
    return [*_PATTERN_WORDS.split(), _BETWEEN, b"\0", "é".encode()]


def _patterns() -> st.SearchStrategy[bytes]:
    piece = st.sampled_from(_pattern_words()) | st.sampled_from(list(map(bytes, zip(b"aSx 1_%."))))
    return st.lists(piece, max_size=12).map(b"".join)


def _queries() -> st.SearchStrategy[bytes]:
    piece = st.sampled_from((*_digest_words(), b"SELECT ", b"a", b" ", b"1", b"FROM t"))
    return st.tuples(st.binary(min_size=1, max_size=1), st.lists(piece, max_size=30)).map(
        lambda parts: parts[0] + b"".join(parts[1])
    )


QUERY_TARGETS = (
    Target("digest", _digest, _digest_seeds, _digest_words, _queries),
    Target(
        "pattern-pcre",
        lambda _folder: _pattern(RegexEngine.PCRE),
        lambda: _pattern_seeds("patterns_pcre.jsonl"),
        _pattern_words,
        _patterns,
    ),
    Target(
        "pattern-re2",
        lambda _folder: _pattern(RegexEngine.RE2),
        lambda: _pattern_seeds("patterns_re2.jsonl"),
        _pattern_words,
        _patterns,
    ),
)
