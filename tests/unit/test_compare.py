"""Values that are equal to ProxySQL, and the value that it stores for a cell."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("column", "one", "other", "expected"),
    [
        (JSON, '{"a": 1, "b": [2]}', '{"b":[2],"a":1}', True),
        (JSON, '{"a":1.0}', '{"a":1e0}', True),
        (JSON, '{"a":18446744073709551616}', '{ "a": 18446744073709551616 }', True),
        (JSON, '{"a":"\\u0041"}', '{"a":"A"}', True),
        (JSON, '{"a":true}', '{"a": true}', True),
        (JSON, '{"a": 1}', '{"a": 2}', False),
        (JSON, "", "{}", False),
        # ProxySQL distinguishes these.
        (JSON, '{"weight":true}', '{"weight":1}', False),
        (JSON, '{"weight":true}', '{"weight":1.0}', False),
        (JSON, '{"weight":1.0}', '{"weight":1}', False),
        (JSON, '{"a":[{"id":0}]}', '{"a":[{"id":false}]}', False),
        (JSON, '{"a":18446744073709551616}', '{"a":18446744073709551617}', False),
        (JSON, '{"a":"1"}', '{"a":1}', False),
        (JSON, '{"a":null}', '{"a":0}', False),
        (JSON, "[" * 100_000, "[ " * 100_000, False),
        (STATUS, "online", "ONLINE", True),
        (OK_MSG, None, "", False),
        (WEIGHT, "500", 500, True),
        (WEIGHT, "500x", 500, True),
        (WEIGHT, "x500", 500, False),
    ],
    ids=lambda given: str(given)[:40],
)
def test_values_of_a_column(column, one, other, expected):
    table, name = column
    of = layout(table).column(name)
    assert same(of, one, other) is same(of, other, one) is expected


def test_a_clear_password_equals_its_hash_on_either_side_but_only_for_mysql():
    for name, expected in (("mysql_users", True), ("pgsql_users", False)):
        users = layout_of(TABLES[name], Version(3, 0, 0))
        position = users.index["password"]
        assert same_cell(users, position, "secret", native_hash("secret")) is expected
        assert same_cell(users, position, native_hash("secret"), "secret") is expected
        assert not same_cell(users, position, "other", native_hash("secret"))
        assert same_cell(users, position, "secret", "secret")
        assert not same_cell(users, position, None, "")


@pytest.mark.parametrize(
    ("name", "one", "other", "expected"),
    [
        ("mysql-have_ssl", "1", "true", True),
        ("mysql-have_ssl", "TRUE", "true", True),
        ("mysql-max_connections", " 600", "600", True),
        ("mysql-max_connections", "500x", "500", True),
        ("mysql-max_connections", "500", "501", False),
        ("mysql-server_version", "8.0.36", "8.0.36", True),
        ("mysql-init_connect", "a ", "a", False),
        ("admin-telnet_admin_ifaces", "(null)", "", True),
        ("mysql-of_a_later_version", "x", "x", True),
    ],
)
def test_variables_are_compared_by_kind(name, one, other, expected):
    assert same_variable(name, one, other) is expected


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


@pytest.mark.parametrize(
    ("table", "column", "value", "read"),
    [
        ("mysql_servers", "weight", "500", 500),
        ("mysql_servers", "weight", " 5x", 5),
        ("mysql_servers", "weight", 1.5, 1),
        ("mysql_servers", "max_connections", "abc", 0),
        ("mysql_servers", "max_connections", 3_000_000_000, -1_294_967_296),
        ("mysql_servers", "max_latency_ms", 10_000_000, 1_410_065),
        ("mysql_servers", "max_latency_ms", 4_294_967, 4_294_967),
        ("mysql_servers", "comment", "5x", "5x"),
        ("mysql_users", "max_connections", 3_000_000_000, 0),
        ("mysql_query_rules", "destination_hostgroup", -5, None),
        ("mysql_query_rules", "destination_hostgroup", None, None),
        ("mysql_query_rules", "timeout", 4_294_967_295, None),
        ("mysql_query_rules", "rule_id", -5, -5),
        ("mysql_query_rules", "digest", "12", "0x000000000000000C"),
        ("mysql_query_rules", "re_modifiers", None, ""),
        ("mysql_firewall_whitelist_rules", "digest", "12", "12"),
        ("mysql_replication_hostgroups", "reader_hostgroup", 3_000_000_000, 3_000_000_000),
        ("mysql_users", "default_schema", None, ""),
        ("mysql_query_rules", "schemaname", None, None),
    ],
)
def test_a_cell_is_read_as_proxysql_reads_it(table, column, value, read):
    assert as_read(TABLES[table], layout(table).column(column), value) == read


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
