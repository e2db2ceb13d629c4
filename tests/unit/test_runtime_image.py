"""What RUNTIME shows after a LOAD of given rows."""

import pytest

from proxyctl.runtime_image import (
    normal_digest,
    normal_modifiers,
    runtime_image,
    valid_client_addr,
)
from tests.build import layout, rows


def image(table, *given):
    return runtime_image(layout(table), rows(table, *given))


def test_inactive_rules_are_absent():
    assert image("mysql_query_rules", {"rule_id": 1, "active": 0}) == {}


def test_a_rule_with_a_wildcard_inside_client_addr_is_dropped():
    assert image("mysql_query_rules", {"rule_id": 1, "client_addr": "10.%.1"}) == {}
    assert (1,) in image("mysql_query_rules", {"rule_id": 1, "client_addr": "10.1.%"})


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("0x1c46ae529dd5a40e", "0x1C46AE529DD5A40E"),
        ("0x1", "0x0000000000000001"),
        ("12", "0x000000000000000C"),
        ("010", "0x0000000000000008"),
        ("abc", None),
        ("0", None),
        ("", None),
    ],
)
def test_a_digest_is_printed_as_16_hex_digits(given, shown):
    assert normal_digest(given) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("CASELESS", "CASELESS"),
        ("caseless,global", "CASELESS,GLOBAL"),
        ("CASELESS, GLOBAL", "CASELESS"),
        ("GLOBALX", "GLOBAL"),
        ("foo", ""),
        (None, ""),
    ],
)
def test_modifiers_keep_the_words_that_proxysql_knows(given, shown):
    assert normal_modifiers(given) == shown


def test_negative_numbers_of_a_rule_become_null():
    (shown,) = image("mysql_query_rules", {"rule_id": 1, "destination_hostgroup": -1}).values()
    assert shown[layout("mysql_query_rules").index["destination_hostgroup"]] is None


def test_users_are_active_ones_with_blank_instead_of_null():
    shown = image("mysql_users", {"username": "u"}, {"username": "v", "active": 0})
    assert list(shown) == [("u", 1)]
    users = layout("mysql_users")
    assert shown["u", 1][users.index["password"]] == ""
    assert shown["u", 1][users.index["default_schema"]] == ""


def test_a_user_with_a_negative_hostgroup_or_no_side_is_absent():
    assert image("mysql_users", {"username": "u", "default_hostgroup": -1}) == {}
    assert image("mysql_users", {"username": "u", "backend": 0, "frontend": 0}) == {}


def test_a_server_that_is_offline_hard_is_absent_and_others_print_in_capitals():
    shown = image(
        "mysql_servers",
        {"hostgroup_id": 1, "hostname": "a", "status": "online"},
        {"hostgroup_id": 1, "hostname": "b", "status": "OFFLINE_HARD"},
    )
    assert [row[4] for row in shown.values()] == ["ONLINE"]


def test_a_hostgroup_row_that_reuses_a_hostgroup_is_ignored():
    shown = image(
        "mysql_replication_hostgroups",
        {"writer_hostgroup": 1, "reader_hostgroup": 2},
        {"writer_hostgroup": 2, "reader_hostgroup": 3},
    )
    assert list(shown) == [(1,)]


def test_client_addr_may_be_any_or_short_text():
    assert valid_client_addr(None)
    assert valid_client_addr("%")
    assert not valid_client_addr("1" * 46)
