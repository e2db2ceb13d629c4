"""Digests compared with a real ProxySQL's, and laws that hold for all queries.

`tests/support/digests/recorded.py` records the cases.
"""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.catalog import REFERENCE
from proxyctl.catalog.releases import DIGESTS_DROP_LAST_COMMENT
from proxyctl.routing.digest import Digester, DigestOptions, digest, digest_number
from tests.support.digests.queries import random_options, random_query
from tests.support.digests.recorded import (
    CASES,
    COMMENTS,
    answer_of,
    options_of,
    query_of,
    read_cases,
)

MEGABYTE = 1_000_000


@pytest.mark.parametrize("version", [REFERENCE, DIGESTS_DROP_LAST_COMMENT], ids=str)
def test_every_recorded_digest(version):
    different = []
    for case in read_cases(CASES):
        options = options_of(case, version)
        found = digest(query_of(case), options)
        shown = found.text[: options.max_digest_length].decode("latin-1"), found.hexadecimal
        expected = answer_of(case, version)
        if expected == (None, None):
            assert not found.certain, case
        elif not found.certain or shown != expected:
            different.append((case, shown))
    assert different == []


@pytest.mark.parametrize("case", read_cases(COMMENTS), ids=lambda case: case["about"])
def test_the_comment_is_where_the_hint_was_seen(case):
    comment = digest(query_of(case)).comment or b""
    hint = re.search(rb"(?:^|;) *hostgroup *= *(\d+)", comment, re.IGNORECASE)
    assert (int(hint[1]) if hint else 0) == case["hostgroup"]


def test_a_comment_without_marks_in_one_line():
    assert digest("SELECT /* a\n\tb */ 1 /* c */").comment == b" a  b "
    assert digest("SELECT 1").comment is None


def test_text_is_utf8_with_surrogate_escapes():
    assert digest("SELECT é, 'ü'").text == "SELECT é,?".encode()
    assert digest("SELECT \udcff").text == b"SELECT \xff"


def test_the_number_is_that_of_the_beginning():
    short = DigestOptions(max_digest_length=16)
    one, other = digest("SELECT aaaaaaaaaaaaa", short), digest("SELECT aaaaaaaaabbbb", short)
    assert one.number == other.number == digest_number(one.text[:16], short)
    assert one.text == b"SELECT aaaaaaaaaaaaa"
    assert one.hexadecimal == f"0x{one.number:016X}"


def test_the_number_of_nothing():
    assert digest("").hexadecimal == "0x232706FC6BF50919"


@pytest.mark.parametrize(
    ("query", "certain"),
    [
        ("SELECT a,-- b\n  c", False),
        ("SELECT a,# b\n c", False),
        ("SELECT a, -- b\n  c", True),
        ("SELECT a,-- b\nc", True),
        ("-- b\n  SELECT c", True),
        ("SELECT 123# b\n c", True),
    ],
)
def test_a_byte_that_proxysql_never_wrote_is_reported(query, certain):
    found = digest(query)
    assert found.certain is certain
    if not certain:
        assert found.text == b"SELECT a,c"


# --- laws ---------------------------------------------------------------------------------------


@st.composite
def queries_and_options(draw):
    source = random.Random(draw(st.integers(0, 2**64)))
    query = random_query(source)
    return query, random_options(source, typical=len(query) + 20)


@given(queries_and_options())
def test_the_short_way_and_the_careful_one_agree(drawn):
    query, options = drawn
    digester = Digester(options)
    short, careful = digester.digest(query), digester.digest_with_care(query)
    assert short == careful


@given(st.binary(max_size=200), queries_and_options())
def test_any_bytes_have_a_digest(query, drawn):
    _, options = drawn
    found = Digester(options).digest(query)
    assert len(found.text) <= min(len(query), options.max_query_length)
    assert b"\0" not in found.text
    assert found.number in range(1 << 64)
    assert found == digest(query, options)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_values_do_not_matter(one, other):
    def quoted(value):
        return b"'" + value.replace(b"\\", b"\\\\").replace(b"'", b"''") + b"'"

    query = b"SELECT a FROM t WHERE b = %b AND c = 1"
    assert digest(query % quoted(one)).text == digest(query % quoted(other)).text


# --- a megabyte -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "repeated",
    [
        b"'a',", b"\\'", b"''", b"1.", b"1e+", b"2col ", b"1", b" ", b"a ", b"a , ", b"-", b"+ ",
        b"/*a", b"/*!a*/", b"#", b"-- ", b"--- ", b"(", b"),...", b"(,...", b"?,", b"(?,?)",
        b"(1,2,3,4,5),", b"(?,?,?,...),", b"null,", b"\0", b"\xff", b"\xf0\x9f\xa6\x86",
    ],
)  # fmt: skip
@pytest.mark.sweep
@pytest.mark.parametrize("before", [b"", b"'", b"SELECT /* "])
def test_a_megabyte_of_anything_has_a_digest(repeated, before):
    query = before + repeated * (MEGABYTE // len(repeated))
    assert len(digest(query).text) <= DigestOptions().max_query_length
    roomy = DigestOptions(max_query_length=MEGABYTE, no_digits=True)
    assert len(digest(query[: MEGABYTE // 5], roomy).text) <= MEGABYTE // 5


@pytest.mark.sweep
@pytest.mark.parametrize("repeated", [b"1,", b"?,", b"(1,2,3,4,5),"])
def test_a_megabyte_that_takes_a_round_for_every_few_bytes(repeated):
    """Text that cannot be shortened almost fills the limit."""
    query = b"x " * 32_480 + b"(1," + repeated * (MEGABYTE // 4 // len(repeated))
    assert digest(query).text.startswith(b"x x x")
