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
        ("-5", "0xFFFFFFFFFFFFFFFB"),
        ("0xFFFFFFFFFFFFFFFF", None),
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


def test_minus_one_in_a_number_of_a_rule_becomes_null():
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


def test_a_hostgroup_row_whose_writer_has_another_role_is_ignored():
    table = "mysql_replication_hostgroups"
    chain = [{"writer_hostgroup": w, "reader_hostgroup": r} for w, r in ((1, 2), (2, 3))]
    assert list(image(table, *chain)) == [(1,)]
    circle = [{"writer_hostgroup": w, "reader_hostgroup": r} for w, r in ((1, 2), (2, 1))]
    assert image(table, *circle) == {}


def test_the_arguments_of_a_job_end_at_the_first_null():
    job = {"id": 1, "interval_ms": 1000, "filename": "/x", "arg1": "a", "arg3": "c"}
    (shown,) = image("scheduler", job).values()
    assert shown[4:9] == ("a", None, None, None, None)


def test_client_addr_may_be_any_or_short_text():
    assert valid_client_addr(None)
    assert valid_client_addr("%")
    assert not valid_client_addr("1" * 46)
