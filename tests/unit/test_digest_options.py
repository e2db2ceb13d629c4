"""Options of digests from variables, and one digest however a version printed it."""

from __future__ import annotations

import sqlite3

import pytest

from proxyctl.catalog import REFERENCE, Version
from proxyctl.catalog.releases import WIDE_GROUPING_LIMITS
from proxyctl.catalog.variables import VARIABLES
from proxyctl.routing.digest import DigestOptions, digest
from proxyctl.routing.digest.options import PREFIX
from proxyctl.stats.read import as_usual, digest_column, spellings


def test_defaults_are_those_of_the_variables():
    given = vars(DigestOptions()).copy()
    assert given.pop("version") == REFERENCE
    for name, default in given.items():
        assert VARIABLES[PREFIX + name].default == str(default).lower()


def test_from_variables_takes_texts_as_a_load_does():
    found = DigestOptions.from_variables(
        {
            "mysql-query_digests_lowercase": "true",
            "mysql-query_digests_no_digits": "1",
            "mysql-query_digests_keep_comment": "FALSE",
            "mysql-query_digests_grouping_limit": " 2",
            "mysql-query_digests_track_hostname": "true",
            "mysql-threads": "4",
        }
    )
    assert found == DigestOptions(lowercase=True, no_digits=True, grouping_limit=2)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lowercase", "maybe"),
        ("lowercase", ""),
        ("grouping_limit", "many"),
        ("grouping_limit", "0"),
        ("grouping_limit", "2090"),
        ("groups_grouping_limit", "-1"),
        ("max_digest_length", "15"),
        ("max_query_length", "1048577"),
    ],
)
def test_what_proxysql_refuses_is_refused(name, text):
    with pytest.raises(ValueError, match=f"{PREFIX}{name}: "):
        DigestOptions.from_variables({PREFIX + name: text})


@pytest.mark.parametrize("name", ["grouping_limit", "groups_grouping_limit"])
@pytest.mark.parametrize("value", [128, 200, 255, 384])
def test_what_can_end_proxysql_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}: .* reads {value} as a negative number"):
        DigestOptions(**{name: value}, version=Version(2, 7, 1))


def test_limits_are_one_byte():
    query = "SELECT a IN (1,2,3,4,5)"
    folded, whole = (
        digest(query, DigestOptions(grouping_limit=limit, version=Version(2, 7, 1))).text
        for limit in (257, 256)
    )
    assert (folded, whole) == (b"SELECT a IN (?,...)", b"SELECT a IN (?,?,?,?,?)")


def test_limits_are_whole_numbers_in_3_0():
    values = ",".join("7" * 300)
    for limit in (200, 259):
        options = DigestOptions(grouping_limit=limit, version=WIDE_GROUPING_LIMITS)
        folded = b"SELECT a IN (" + b"?," * limit + b"...)"
        assert digest(f"SELECT a IN ({values})", options).text == folded


USUAL = "0x0AB53E2C43EB6101"
IN_2_5_5, IN_2_7_0 = "0xab53e2c43eb6101", "0x AB53E2C43EB6101"


@pytest.mark.parametrize("text", [USUAL, IN_2_5_5, IN_2_7_0])
def test_all_spellings_are_one(text: str) -> None:
    assert as_usual(text) == USUAL
    assert spellings(text) == [USUAL, IN_2_5_5, IN_2_7_0]


def test_what_is_no_digest_stays() -> None:
    assert as_usual("unknown") == "unknown"
    assert spellings("0x") == ["0x"]


@pytest.mark.parametrize(
    ("version", "printed"),
    [
        ((2, 5, 1), USUAL),
        ((2, 5, 5), IN_2_5_5),
        ((2, 6, 4), IN_2_5_5),
        ((2, 6, 5), IN_2_7_0),
        ((2, 6, 6), USUAL),
        ((2, 7, 0), IN_2_7_0),
        ((2, 7, 1), USUAL),
    ],
)
def test_the_column_of_a_version_as_usual(version: tuple[int, int, int], printed: str) -> None:
    sql = f"SELECT {digest_column(Version(*version))} FROM (SELECT '{printed}' AS digest)"
    assert sqlite3.connect(":memory:").execute(sql).fetchone() == (USUAL,)
