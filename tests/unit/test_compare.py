"""When two values mean the same to ProxySQL."""

import pytest

from proxyctl.catalog import TABLES, Version, layout_of
from proxyctl.state.compare import (
    canonical_variable,
    differences,
    fold_users,
    same,
    same_cell,
    same_variable,
)
from proxyctl.state.passwords import native_hash
from proxyctl.state.row import KEEP
from tests.support.build import desired, layout, row, rows


def column(table: str, name: str):
    return layout(table).column(name)


def test_json_columns_are_equal_when_their_content_is():
    attributes = column("mysql_users", "attributes")
    assert same(attributes, '{"a": 1, "b": [2]}', '{"b":[2],"a":1}')
    assert not same(attributes, '{"a": 1}', '{"a": 2}')
    assert not same(attributes, "", "{}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"weight":true}', '{"weight":1}'),
        ('{"weight":true}', '{"weight":1.0}'),
        ('{"weight":1.0}', '{"weight":1}'),
        ('{"a":[{"id":0}]}', '{"a":[{"id":false}]}'),
        ('{"a":18446744073709551616}', '{"a":18446744073709551617}'),
        ('{"a":"1"}', '{"a":1}'),
        ('{"a":null}', '{"a":0}'),
        ("[" * 100_000, "[ " * 100_000),
    ],
)
def test_json_values_that_proxysql_tells_apart_differ(one, other):
    attributes = column("mysql_hostgroup_attributes", "servers_defaults")
    assert not same(attributes, one, other)
    assert not same(attributes, other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1.0}', '{"a":1e0}'),
        ('{"a":18446744073709551616}', '{ "a": 18446744073709551616 }'),
        ('{"a":"\\u0041"}', '{"a":"A"}'),
        ('{"a":true}', '{"a": true}'),
    ],
)
def test_spellings_of_one_json_value_are_equal(one, other):
    assert same(column("mysql_hostgroup_attributes", "servers_defaults"), one, other)


def test_a_status_is_compared_without_case():
    assert same(column("mysql_servers", "status"), "online", "ONLINE")


def test_null_and_empty_text_are_two_things():
    assert not same(column("mysql_query_rules", "OK_msg"), None, "")
    assert not same(column("mysql_query_rules", "OK_msg"), "", None)


def test_a_clear_password_equals_its_hash_on_either_side_but_only_for_mysql():
    for name, expected in (("mysql_users", True), ("pgsql_users", False)):
        users = layout_of(TABLES[name], Version(3, 0, 0))
        position = users.index["password"]
        assert same_cell(users, position, "secret", native_hash("secret")) is expected
        assert same_cell(users, position, native_hash("secret"), "secret") is expected
        assert not same_cell(users, position, "other", native_hash("secret"))
        assert same_cell(users, position, "secret", "secret")
        assert not same_cell(users, position, None, "")


def test_text_in_an_integer_column_is_compared_as_the_number_that_is_read():
    assert same(column("mysql_servers", "weight"), "500", 500)
    assert same(column("mysql_servers", "weight"), "500x", 500)
    assert not same(column("mysql_servers", "weight"), "x500", 500)


@pytest.mark.parametrize(
    ("name", "one", "other", "expected"),
    [
        ("re_modifiers", "CASELESS, GLOBAL", "caseless", True),
        ("re_modifiers", None, "", True),
        ("re_modifiers", None, "CASELESS", False),
        ("digest", "123", "0x000000000000007B", True),
        ("digest", "abc", None, True),
        ("digest", "0x1", None, False),
        ("destination_hostgroup", -5, None, True),
        ("destination_hostgroup", 0, None, False),
        ("timeout", 4_294_967_295, None, True),
        ("OK_msg", "", None, False),
        ("active", "1", 1, True),
    ],
)
def test_cells_of_a_rule_are_compared_by_what_proxysql_reads(name, one, other, expected):
    rules = layout("mysql_query_rules")
    position = rules.index[name]
    assert same_cell(rules, position, one, other) is expected
    assert same_cell(rules, position, other, one) is expected


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


def test_two_halves_that_agree_are_one_user():
    users = layout("mysql_users")
    halves = rows(
        "mysql_users",
        {"username": "u", "password": "x", "backend": 1, "frontend": 0},
        {"username": "u", "password": "x", "backend": 0, "frontend": 1},
    )
    assert fold_users(users, halves) == rows("mysql_users", {"username": "u", "password": "x"})


def test_halves_that_disagree_stay_two_rows():
    users = layout("mysql_users")
    halves = rows(
        "mysql_users",
        {"username": "u", "password": "x", "backend": 1, "frontend": 0},
        {"username": "u", "password": "y", "backend": 0, "frontend": 1},
    )
    assert fold_users(users, halves) == halves


def test_a_single_half_stays_a_half():
    users = layout("mysql_users")
    half = rows("mysql_users", {"username": "u", "backend": 0, "frontend": 1})
    assert fold_users(users, half) == half


def test_the_canonical_form_of_an_unknown_variable_is_its_text():
    assert canonical_variable("mysql-new", "010") == "010"


def test_keep_is_not_a_value():
    assert KEEP not in row("mysql_servers", hostgroup_id=1, hostname="a")
