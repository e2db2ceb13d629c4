"""Units, the statement of a top list, and metrics as text."""

from __future__ import annotations

import sqlite3

import pytest

from proxyctl.render.prometheus import Metric, exposition
from proxyctl.stats.model import TABLE_GROUPS, Group
from proxyctl.stats.top.model import Sort, TopOptions
from proxyctl.stats.top.read import hidden_literal, like_pattern, top_statement
from proxyctl.stats.units import microseconds_of, number_text, size_text, time_text


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "0 µs"),
        (999, "999 µs"),
        (1_000, "1.00 ms"),
        (12_340, "12.3 ms"),
        (999_400, "999 ms"),
        (1_500_000, "1.50 s"),
        (90_000_000, "1.50 min"),
        (3_600_000_000, "1.00 h"),
        (172_800_000_000, "2.00 d"),
    ],
)
def test_a_time_has_a_unit_that_suits_it(microseconds: int, text: str) -> None:
    assert time_text(microseconds) == text


def test_what_is_written_is_read_again() -> None:
    for text in ("500 µs", "10.0 ms", "1.50 s", "5.00 min", "2.00 h", "7.00 d"):
        assert time_text(microseconds_of(text)) == text
    assert microseconds_of("500us") == 500
    for text in ("10", "ms", "1.5", "-1s", "1 year", "", "1e3s"):
        with pytest.raises(ValueError, match="is not a time"):
            microseconds_of(text)


def test_numbers_and_sizes() -> None:
    assert [number_text(n) for n in (0, 1, 2.345, 27.54, 1234.5)] == [
        "0", "1", "2.35", "27.5", "1,234",
    ]  # fmt: skip
    assert [size_text(n) for n in (12, 340_602_085, 2e9)] == ["12 bytes", "341 MB", "2.00 GB"]


def test_a_literal_hides_names_from_proxysql_and_means_the_same() -> None:
    database = sqlite3.connect(":memory:")
    for text in ("stats_mysql_query_digest_reset", "it's", "", "a\0b", "ü"):
        hidden = hidden_literal(text)
        assert "stats_" not in hidden
        assert database.execute(f"SELECT {hidden}").fetchone() == (text,)
    database.close()


def test_underscores_of_a_pattern_are_themselves() -> None:
    database = sqlite3.connect(":memory:")

    def finds(pattern: str, text: str) -> bool:
        sql = "SELECT ? LIKE ? ESCAPE '|'"
        return bool(database.execute(sql, (text, like_pattern(pattern))).fetchone()[0])

    assert finds("a_b", "SELECT A_B")
    assert not finds("a_b", "select axb")
    assert finds("from%where", "SELECT ? FROM t WHERE")
    assert finds("a || b", "SELECT a || b")
    assert finds("?", "SELECT ?")
    database.close()


def test_every_option_makes_a_statement_that_sqlite_takes() -> None:
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE TABLE stats_mysql_query_digest (hostgroup INT, schemaname VARCHAR NOT NULL,"
        " username VARCHAR NOT NULL, client_address VARCHAR NOT NULL, digest VARCHAR NOT NULL,"
        " digest_text VARCHAR NOT NULL, count_star INTEGER NOT NULL, first_seen INTEGER NOT NULL,"
        " last_seen INTEGER NOT NULL, sum_time INTEGER NOT NULL, min_time INTEGER NOT NULL,"
        " max_time INTEGER NOT NULL, sum_rows_affected INTEGER NOT NULL,"
        " sum_rows_sent INTEGER NOT NULL)"
    )
    for sort in Sort:
        options = TopOptions(
            sort=sort,
            groups=TABLE_GROUPS,
            columns={
                Group.HOSTGROUP: (-1, 2),
                Group.SCHEMANAME: ("a", "b"),
                Group.USERNAME: ("a'",),
                Group.CLIENT_ADDRESS: ("",),
                Group.DIGEST: ("0x1",),
            },
            texts=("a", "b"),
            seen_s=5,
            min_count=1,
            min_avg_us=2,
        )
        [end] = database.execute(top_statement(options)).fetchall()
        assert end[0] == 1
        assert end[3] == 0
    database.close()


def test_metrics_are_text_that_prometheus_reads() -> None:
    metric = Metric("a_total", "What.", (({"x": 'q"\\\n\x1b\udcff'}, 1), ({}, 0.25)))
    assert exposition([metric, Metric("none", "Nothing.", ())]) == (
        "# HELP a_total What.\n# TYPE a_total counter\n"
        'a_total{x="q\\"\\\\\\\\n\\\\x1b\\\\xff"} 1\na_total{} 0.25\n'
    )
