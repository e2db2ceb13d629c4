"""Values that are equal to ProxySQL, and the value that it stores for a cell."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from proxyctl.catalog import TABLES, Version, layout_of
from proxyctl.proxysql.cells import as_read
from proxyctl.proxysql.compare import (
    canonical_variable,
    differences,
    same,
    same_cell,
    same_variable,
)
from proxyctl.proxysql.passwords import native_hash
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.rows.row import Secret
from tests.support.build import desired, layout, rows

JSON = ("mysql_hostgroup_attributes", "servers_defaults")
WEIGHT, STATUS = ("mysql_servers", "weight"), ("mysql_servers", "status")
OK_MSG = ("mysql_query_rules", "OK_msg")


@dataclass(frozen=True)
class CellCase:
    """Two values of a column, and whether they are equal to ProxySQL."""

    column: tuple[str, str]
    value: object
    other: object
    is_same: bool


@pytest.mark.parametrize(
    "case",
    [
        CellCase(column=JSON, value='{"a": 1, "b": [2]}', other='{"b":[2],"a":1}', is_same=True),
        CellCase(column=JSON, value='{"a":1.0}', other='{"a":1e0}', is_same=True),
        CellCase(
            column=JSON,
            value='{"a":18446744073709551616}',
            other='{ "a": 18446744073709551616 }',
            is_same=True,
        ),
        CellCase(column=JSON, value='{"a":"\\u0041"}', other='{"a":"A"}', is_same=True),
        CellCase(column=JSON, value='{"a":true}', other='{"a": true}', is_same=True),
        CellCase(column=JSON, value='{"a": 1}', other='{"a": 2}', is_same=False),
        CellCase(column=JSON, value="", other="{}", is_same=False),
        # ProxySQL distinguishes these.
        CellCase(column=JSON, value='{"weight":true}', other='{"weight":1}', is_same=False),
        CellCase(column=JSON, value='{"weight":true}', other='{"weight":1.0}', is_same=False),
        CellCase(column=JSON, value='{"weight":1.0}', other='{"weight":1}', is_same=False),
        CellCase(
            column=JSON, value='{"a":[{"id":0}]}', other='{"a":[{"id":false}]}', is_same=False
        ),
        CellCase(
            column=JSON,
            value='{"a":18446744073709551616}',
            other='{"a":18446744073709551617}',
            is_same=False,
        ),
        CellCase(column=JSON, value='{"a":"1"}', other='{"a":1}', is_same=False),
        CellCase(column=JSON, value='{"a":null}', other='{"a":0}', is_same=False),
        CellCase(column=JSON, value="[" * 100_000, other="[ " * 100_000, is_same=False),
        CellCase(column=STATUS, value="online", other="ONLINE", is_same=True),
        CellCase(column=OK_MSG, value=None, other="", is_same=False),
        CellCase(column=WEIGHT, value="500", other=500, is_same=True),
        CellCase(column=WEIGHT, value="500x", other=500, is_same=True),
        CellCase(column=WEIGHT, value="x500", other=500, is_same=False),
    ],
    ids=lambda case: f"{case.column[1]}-{case.value!s:.40}-{case.other!s:.40}",
)
def test_values_of_a_column(case):
    table, name = case.column
    of = layout(table).column(name)
    assert same(of, case.value, case.other) is same(of, case.other, case.value) is case.is_same


def test_a_clear_password_equals_its_hash_on_either_side_but_only_for_mysql():
    for name, expected in (("mysql_users", True), ("pgsql_users", False)):
        users = layout_of(TABLES[name], Version(3, 0, 0))
        position = users.index["password"]
        assert same_cell(users, position, "secret", native_hash("secret")) is expected
        assert same_cell(users, position, native_hash("secret"), "secret") is expected
        assert not same_cell(users, position, "other", native_hash("secret"))
        assert same_cell(users, position, "secret", "secret")
        assert not same_cell(users, position, None, "")


@dataclass(frozen=True)
class VariableCase:
    """Two texts of a variable, and whether they are equal to ProxySQL."""

    name: str
    value: str
    other: str
    is_same: bool


@pytest.mark.parametrize(
    "case",
    [
        VariableCase(name="mysql-have_ssl", value="1", other="true", is_same=True),
        VariableCase(name="mysql-have_ssl", value="TRUE", other="true", is_same=True),
        VariableCase(name="mysql-max_connections", value=" 600", other="600", is_same=True),
        VariableCase(name="mysql-max_connections", value="500x", other="500", is_same=True),
        VariableCase(name="mysql-max_connections", value="500", other="501", is_same=False),
        VariableCase(name="mysql-server_version", value="8.0.36", other="8.0.36", is_same=True),
        VariableCase(name="mysql-init_connect", value="a ", other="a", is_same=False),
        VariableCase(name="admin-telnet_admin_ifaces", value="(null)", other="", is_same=True),
        VariableCase(name="mysql-of_a_later_version", value="x", other="x", is_same=True),
    ],
    ids=lambda case: f"{case.name}-{case.value}-{case.other}",
)
def test_variables_are_compared_by_kind(case):
    assert same_variable(case.name, case.value, case.other) is case.is_same


def test_keep_agrees_with_anything():
    wanted = desired("mysql_servers", {"hostgroup_id": 1, "hostname": "a"})
    current = rows("mysql_servers", {"hostgroup_id": 1, "hostname": "a", "status": "OFFLINE_SOFT"})
    assert list(differences(layout("mysql_servers"), current, wanted.rows.items())) == []


def test_a_difference_names_the_columns():
    wanted = desired("mysql_servers", {"hostgroup_id": 1, "hostname": "a", "weight": 5})
    current = rows("mysql_servers", {"hostgroup_id": 1, "hostname": "a"})
    (found,) = differences(layout("mysql_servers"), current, wanted.rows.items())
    assert [layout("mysql_servers").names[p] for p in found.columns] == ["weight"]


def test_the_canonical_form_of_an_unknown_variable_is_its_text():
    assert canonical_variable("mysql-new", "010") == "010"


@dataclass(frozen=True)
class ReadCase:
    """A value of a column, and how ProxySQL reads it."""

    table: str
    column: str
    value: object
    read: object


@pytest.mark.parametrize(
    "case",
    [
        ReadCase(table="mysql_servers", column="weight", value="500", read=500),
        ReadCase(table="mysql_servers", column="weight", value=" 5x", read=5),
        ReadCase(table="mysql_servers", column="weight", value=1.5, read=1),
        ReadCase(table="mysql_servers", column="max_connections", value="abc", read=0),
        ReadCase(
            table="mysql_servers",
            column="max_connections",
            value=3_000_000_000,
            read=-1_294_967_296,
        ),
        ReadCase(table="mysql_servers", column="max_latency_ms", value=10_000_000, read=1_410_065),
        ReadCase(table="mysql_servers", column="max_latency_ms", value=4_294_967, read=4_294_967),
        ReadCase(table="mysql_servers", column="comment", value="5x", read="5x"),
        ReadCase(table="mysql_users", column="max_connections", value=3_000_000_000, read=0),
        ReadCase(table="mysql_query_rules", column="destination_hostgroup", value=-5, read=None),
        ReadCase(table="mysql_query_rules", column="destination_hostgroup", value=None, read=None),
        ReadCase(table="mysql_query_rules", column="timeout", value=4_294_967_295, read=None),
        ReadCase(table="mysql_query_rules", column="rule_id", value=-5, read=-5),
        ReadCase(table="mysql_query_rules", column="digest", value="12", read="0x000000000000000C"),
        ReadCase(table="mysql_query_rules", column="re_modifiers", value=None, read=""),
        ReadCase(table="mysql_firewall_whitelist_rules", column="digest", value="12", read="12"),
        ReadCase(
            table="mysql_replication_hostgroups",
            column="reader_hostgroup",
            value=3_000_000_000,
            read=3_000_000_000,
        ),
        ReadCase(table="mysql_users", column="default_schema", value=None, read=""),
        ReadCase(table="mysql_query_rules", column="schemaname", value=None, read=None),
    ],
    ids=lambda case: f"{case.table}-{case.column}-{case.value}",
)
def test_a_cell_is_read_as_proxysql_reads_it(case):
    column = layout(case.table).column(case.column)
    assert as_read(TABLES[case.table], column, case.value) == case.read


@pytest.mark.parametrize(
    ("halves", "folded"),
    [
        ([(1, 0, "x"), (0, 1, "x")], [(1, 1, "x")]),
        ([(0, 1, "x"), (1, 0, "x")], [(1, 1, "x")]),
        ([(1, 0, "x"), (0, 1, native_hash("x"))], [(1, 1, "x")]),
        ([(1, 0, "x"), (0, 1, "y")], [(1, 0, "x"), (0, 1, "y")]),
        # ProxySQL drops a user with neither: no client can log in.
        ([(1, 0, "x"), (0, 0, "x")], [(1, 0, "x"), (0, 0, "x")]),
        ([(1, 1, "x"), (0, 1, "x")], [(1, 1, "x"), (0, 1, "x")]),
        ([(0, 1, "x")], [(0, 1, "x")]),
    ],
)
def test_two_halves_of_a_user_are_one_row(halves, folded):
    names = ("backend", "frontend", "password")

    def users(cells):
        made = [{"username": "u", **dict(zip(names, values, strict=True))} for values in cells]
        return rows("mysql_users", *made)

    assert fold_users(layout("mysql_users"), users(halves)) == users(folded)


def test_a_half_with_the_text_of_a_reference_joins_the_other():
    user = {"username": "u", "password": "x", "comment": Secret("note")}
    other = {**user, "password": native_hash("x"), "comment": "note"}
    halves = [{**user, "backend": 1, "frontend": 0}, {**other, "backend": 0, "frontend": 1}]
    folded = fold_users(layout("mysql_users"), rows("mysql_users", *halves))
    assert folded == rows("mysql_users", {**user, "backend": 1, "frontend": 1})
