"""Shared parts of all writers: text that is safe on a terminal, tables, and JSON by its keys."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath

import pytest

from proxyctl.errors import InternalError
from proxyctl.render.comment import fenced, inline
from proxyctl.render.encode import ABSENT, Shape, document
from proxyctl.render.style import hostgroup, shown
from proxyctl.render.table import TableColumn, aligned, csv_text
from proxyctl.text import printable


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b2J", r"\x9b2J"),
        ("abc\u202edef", r"abc\u202edef"),
        ("caf\udce9", r"caf\xe9"),
        ("café 表", "café 表"),
    ],
)
def test_control_characters_are_spelled_out(text: str, safe: str) -> None:
    assert printable(text) == safe


def test_null_empty_and_long_values_differ() -> None:
    assert (shown(None), shown(""), shown(0), shown("NULL")) == ("NULL", "''", "0", "NULL")
    assert shown("x" * 200) == "x" * 157 + "..."


def test_a_hostgroup_has_its_name_beside_it() -> None:
    names = {10: "writer"}
    assert [hostgroup(value, names) for value in (10, 20, None)] == ["10 (writer)", "20", "NULL"]


Line = tuple[str, int]
COLUMNS: list[TableColumn[Line]] = [
    TableColumn("name", lambda line: line[0], is_number=False),
    TableColumn("time", lambda line: f"{line[1]} ms", lambda line: line[1]),
]
LINES = [("a", 5), ("longer", 1_000)]


def test_numbers_are_right_aligned_and_texts_left_aligned() -> None:
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


@dataclass(frozen=True)
class User:
    name: str
    password: str
    hosts: tuple[str, ...] = ()


USER: Shape[User] = Shape("user", "name hosts count note", count=lambda user: len(user.hosts))


def test_a_field_that_no_key_names_stays_away() -> None:
    user = User("app", "s3cret", ("a", "b"))
    assert USER.encode(user, note=ABSENT) == {"name": "app", "hosts": ("a", "b"), "count": 2}
    assert "s3cret" not in USER.document(user, note="n")


def test_a_given_value_needs_a_key() -> None:
    with pytest.raises(InternalError, match="other: no key of user"):
        USER.encode(User("app", "x"), note=None, other=1)
    with pytest.raises(InternalError, match="typo: no key of user"):
        Shape("user", "name", typo=str)


def test_a_shape_goes_on_from_another() -> None:
    longer = USER.extended("owner", "owns", owns=lambda user: user.name.upper())
    assert [*longer.encode(User("app", "x"), note=1)] == [*USER.keys, "owns"]
    assert longer.base is USER


def test_what_json_has_no_type_for() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    assert json.loads(document({"at": moment, "path": PurePath("a"), "rows": ({1: None},)})) == {
        "format": 1,
        "at": "2026-01-02T03:04:05+00:00",
        "path": "a",
        "rows": [{"1": None}],
    }
    with pytest.raises(InternalError, match="User has no place in JSON"):
        document({"user": User("app", "s3cret")})
