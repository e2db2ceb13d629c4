"""The SQL script: order of the statements, quoting, and masked secrets."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.catalog.tables import create_table
from proxyctl.errors import ProxyctlError
from proxyctl.interchange.sql import write_script
from proxyctl.rows.desired import DesiredTable, Glob, NumberRange, Scope
from proxyctl.rows.row import Row
from tests.support.build import desired, layout, row

RULES = "mysql_query_rules"


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@given(st.lists(st.tuples(TEXT, st.none() | TEXT), max_size=5))
def test_rows_come_back(texts: list[tuple[str, str | None]]) -> None:
    rows = [
        row(RULES, rule_id=number, match_digest=match, comment=comment, OK_msg="")
        for number, (match, comment) in enumerate(texts)
    ]
    script = write_script({RULES: (layout(RULES), rows)}, {})
    database = sqlite3.connect(":memory:")
    database.execute(create_table(layout(RULES)))
    head, _, _ = script.partition("LOAD ")
    database.executescript(head)
    assert database.execute(f"SELECT * FROM {RULES} ORDER BY rule_id").fetchall() == rows
    database.close()


@pytest.mark.parametrize("pattern", ["app*", "a?c", "a-b", "*", "it's"])
@given(name=st.text("abcdx0_-'!", max_size=5))
def test_a_pattern_owns_the_same_rows_in_sql(pattern: str, name: str) -> None:
    users = "mysql_users"
    scope = Scope(lambda key: True, pattern, {"username": (Glob(pattern),)})
    wanted = desired(users, {"username": "app", "password": "x"}, scope=scope)
    before = [row(users, username=name, password="x")]
    left = {str(user[0]) for user in ran(before, wanted)} - {"app"}
    assert (name in left) == (name != "app" and not fnmatchcase(name, pattern))


@pytest.mark.parametrize("pattern", ["a[^b]", "a[!b-d]*", "open["])
def test_a_pattern_that_sql_reads_differently_is_refused(pattern: str) -> None:
    scope = Scope(lambda key: True, pattern, {"username": (Glob(pattern),)})
    with pytest.raises(ProxyctlError) as caught:
        ran([], desired("mysql_users", {"username": "app", "password": "x"}, scope=scope))
    assert f"manage: {pattern!r} cannot be written in SQL" in str(caught.value)


def ran(before: list[Row], wanted: DesiredTable) -> list[Row]:
    """Return a table's rows after running the script of a desired table."""
    of = wanted.layout
    script = write_script({of.name: (of, list(wanted.rows.values()))}, {}, owned={of.name: wanted})
    database = sqlite3.connect(":memory:")
    with closing(database):
        database.execute(create_table(of))
        marks = ",".join("?" * len(of.names))
        database.executemany(f"INSERT INTO {of.name} VALUES ({marks})", before)
        statements = [line for line in script.split(";\n") if not line.startswith(("LOAD", "SAVE"))]
        database.executescript(";\n".join(statements))
        return database.execute(f"SELECT * FROM {of.name} ORDER BY 1, 2, 3").fetchall()


def test_only_our_part_of_a_table_is_replaced() -> None:
    scope = Scope(lambda key: True, "rule_id 10-30", {"rule_id": (NumberRange(10, 30), 40)})
    wanted = desired(RULES, {"rule_id": 11}, scope=scope)
    before = [row(RULES, rule_id=number) for number in (1, 10, 11, 30, 31, 40, 41)]
    assert [rule[0] for rule in ran(before, wanted)] == [1, 11, 31, 41]


def test_what_a_row_does_not_say_stays() -> None:
    users = "mysql_users"
    wanted = desired(
        users,
        {"username": "old", "default_hostgroup": 3},
        {"username": "new", "default_hostgroup": 3},
    )
    before = [row(users, username="old", password="pw"), row(users, username="gone", password="x")]
    assert ran(before, wanted) == [
        row(users, username="old", password="pw", default_hostgroup=3),
    ]


def test_status_and_ignored_columns_count_only_for_a_new_row() -> None:
    servers = "mysql_servers"
    given = [{"hostgroup_id": 1, "hostname": name, "weight": 7} for name in ("a", "b")]
    wanted = desired(servers, *given, keep_on_update=["weight"])
    before = [row(servers, hostgroup_id=1, hostname="a", status="OFFLINE_SOFT", weight=3)]
    assert ran(before, wanted) == [
        row(servers, hostgroup_id=1, hostname="a", status="OFFLINE_SOFT", weight=3),
        row(servers, hostgroup_id=1, hostname="b", weight=7),
    ]
