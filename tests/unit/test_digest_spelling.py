"""One digest, whichever version of ProxySQL printed it."""

from __future__ import annotations

import sqlite3

import pytest

from proxyctl.catalog import Version
from proxyctl.stats.read import as_usual, digest_column, spellings

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
