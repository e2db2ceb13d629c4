"""The tables of the live view: columns that fit, order, filter, and texts that are safe."""

from __future__ import annotations

from typing import Any

import pytest

from proxyctl.render.live import (
    DIGESTS,
    GAP,
    SERVERS,
    TABLES,
    Arrangement,
    LiveTable,
    arranged,
    bytes_text,
    duration_text,
    fitted,
    part_text,
    rate_text,
    short_text,
)
from proxyctl.stats.live.view import DigestLine, ServerLine
from tests.unit.live_looks import server


def line(digest: str, **other: Any) -> DigestLine:
    cells = {
        **{"hostgroup": 10, "text": "SELECT ?", "schemanames": ("shop",), "usernames": ("app",)},
        **{"count_star": 10, "sum_time": 1_000},
    }
    return DigestLine(digest=digest, **{**cells, **other})


def digests(lines: list[DigestLine], how: Arrangement) -> list[str]:
    return [one.digest for one in arranged(DIGESTS, lines, how)]


def cells(table: LiveTable[Any], one: Any) -> dict[str, str]:
    return {column.title: column.text(one) for column in table.columns}


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.name)
@pytest.mark.parametrize("width", [80, 110, 140, 250])
def test_columns_fill_the_width(table: LiveTable[Any], width: int) -> None:
    columns = fitted(table, width)
    assert sum(wide + GAP for _, wide in columns) == width
    assert all(wide >= len(column.title) for column, wide in columns)


def test_wide_terminals_show_more() -> None:
    assert "user" not in [column.title for column, _ in fitted(DIGESTS, 80)]
    assert "user" in [column.title for column, _ in fitted(DIGESTS, 110)]


def test_the_largest_comes_first_and_what_is_not_known_last() -> None:
    lines = [
        line("0x1", time_per_s=5.0),
        line("0x2"),
        line("0x3", time_per_s=90.0),
        line("0x4", time_per_s=0.0),
    ]
    assert digests(lines, Arrangement("time/s")) == ["0x3", "0x1", "0x4", "0x2"]
    reverse = Arrangement("time/s", is_reversed=True)
    assert digests(lines, reverse) == ["0x4", "0x1", "0x3", "0x2"]


def test_texts_and_hostgroups_go_upwards() -> None:
    lines = [line("0x1", hostgroup=20, text="b"), line("0x2", hostgroup=10, text="c")]
    assert digests(lines, Arrangement("text")) == ["0x1", "0x2"]
    assert digests(lines, Arrangement("hg")) == ["0x2", "0x1"]


@pytest.mark.parametrize("wanted", ["ORDERS", "orders", "0x2", "batch", "[a"])
def test_a_filter_looks_into_all_fields_shown_or_not(wanted: str) -> None:
    lines = [line("0x1"), line("0x2", text="SELECT [a] FROM orders", usernames=("batch",))]
    assert digests(lines, Arrangement("time/s", filter=wanted)) == ["0x2"]


def test_a_rate_that_may_be_higher_says_so() -> None:
    found = cells(DIGESTS, line("0x1", calls_per_s=3.0, time_per_s=2_000.0, is_least=True))
    assert (found["calls/s"], found["time/s"]) == (">3", ">2.00 ms")


def test_texts_of_the_server_cannot_move_the_cursor() -> None:
    evil = "\x1b[2J\x1b]0;title\x07 \u202e"
    texts = [
        *cells(DIGESTS, line(evil, text=evil, usernames=(evil,), schemanames=(evil,))).values(),
        *(text for _, text in DIGESTS.details(line(evil, text=evil, usernames=(evil,)))),
        *cells(SERVERS, ServerLine(server(hostname=evil, status=evil))).values(),
        *(text for _, text in SERVERS.details(ServerLine(server(hostname=evil, status=evil)))),
    ]
    assert all(text.isprintable() for text in texts)


def test_the_longest_status_fits_its_column() -> None:
    found = cells(SERVERS, ServerLine(server(status="SHUNNED_REPLICATION_LAG")))
    assert found["status"] == "SHUNNED LAG"
    assert len("OFFLINE_SOFT") <= SERVERS.column("status").width


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "-"), (0, "0"), (0.05, "0.05"), (9.999, "10.0"), (99.99, "100"), (999, "999"),
        (1_000, "1.00k"), (9_999, "10.0k"), (123_456, "123k"), (1_500_000_000, "1.50G"),
    ],
)  # fmt: skip
def test_numbers_take_five_characters_at_most(number: float | None, text: str) -> None:
    assert short_text(number) == text
    assert len(text) <= 5


def test_what_is_not_known_is_a_dash() -> None:
    found = [rate_text(None, is_least=True), duration_text(None), part_text(None), bytes_text(None)]
    assert found == ["-"] * 4
