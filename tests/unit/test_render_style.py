"""Text that comes from rows and servers: on one line, and without power over the terminal."""

from __future__ import annotations

import pytest

from proxyctl.render.style import hostgroup, shown
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


def test_null_empty_and_long_values_are_told_apart() -> None:
    assert (shown(None), shown(""), shown(0), shown("NULL")) == ("NULL", "''", "0", "NULL")
    assert shown("x" * 200) == "x" * 157 + "..."


def test_a_hostgroup_has_its_name_beside_it() -> None:
    names = {10: "writer"}
    assert [hostgroup(value, names) for value in (10, 20, None)] == ["10 (writer)", "20", "NULL"]
