"""The one model of a table, and what each of its writers makes of it."""

from __future__ import annotations

from proxyctl.render.comment import fenced, inline
from proxyctl.render.table import Column, aligned, csv_text

Line = tuple[str, int]
COLUMNS: list[Column[Line]] = [
    Column("name", lambda one: one[0], is_number=False),
    Column("time", lambda one: f"{one[1]} ms", lambda one: one[1]),
]
LINES = [("a", 5), ("longer", 1_000)]


def test_numbers_stand_to_the_right_and_texts_to_the_left() -> None:
    assert aligned(COLUMNS, LINES, indent=1) == [
        " name       time",
        " a          5 ms",
        " longer  1000 ms",
    ]


def test_a_last_text_leaves_no_blanks_behind() -> None:
    assert aligned(COLUMNS[:1], LINES) == ["name", "a", "longer"]


def test_csv_has_values_without_units_and_nothing_that_moves_a_cursor() -> None:
    assert csv_text(COLUMNS, [('\x1b[2J,"', 5)]) == 'name,time\n"\\x1b[2J,""",5\n'


def test_text_of_a_server_is_no_markup() -> None:
    assert inline("<b> *x* @you &amp; #1") == "\\<b\\> \\*x\\* @&#8203;you &amp;amp; \\#1"
    assert fenced("```x") == "'''x"
