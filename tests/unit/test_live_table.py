"""The tables of the live view: columns that fit, order, filter, and texts that are safe."""

from __future__ import annotations

from typing import Any

import pytest

from proxyctl.render.live import (
    DIGESTS,
    SERVERS,
    LiveTable,
    arranged,
    bytes_text,
    duration_text,
    part_text,
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


def digests(lines: list[DigestLine], order: str) -> list[str]:
    return [row.digest for row in arranged(DIGESTS, lines, order)]


def cells(table: LiveTable[Any], one: Any) -> dict[str, str]:
    return {column.title: column.text(one) for column in table.columns}


def test_the_largest_comes_first_and_what_is_not_known_last() -> None:
    lines = [
        line("0x1", time_per_s=5.0),
        line("0x2"),
        line("0x3", time_per_s=90.0),
        line("0x4", time_per_s=0.0),
    ]
    assert digests(lines, "time/s") == ["0x3", "0x1", "0x4", "0x2"]


def test_texts_of_the_server_cannot_move_the_cursor() -> None:
    evil = "\x1b[2J\x1b]0;title\x07 \u202e"
    texts = [
        *cells(DIGESTS, line(evil, text=evil, usernames=(evil,), schemanames=(evil,))).values(),
        *(text for _, text in DIGESTS.details(line(evil, text=evil, usernames=(evil,)))),
        *cells(SERVERS, ServerLine(server(hostname=evil, status=evil))).values(),
        *(text for _, text in SERVERS.details(ServerLine(server(hostname=evil, status=evil)))),
    ]
    assert all(text.isprintable() for text in texts)


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
    assert [duration_text(None), part_text(None), bytes_text(None)] == ["-"] * 3
    found = cells(DIGESTS, line("0x1"))
    assert (found["queries/s"], found["time/s"]) == ("-", "-")
