"""What RUNTIME shows after a LOAD of given rows."""

import pytest

from proxyctl.state.runtime import ignored_rows, runtime_image, valid_client_addr
from tests.support.build import layout, rows


def image(table, *given):
    return runtime_image(layout(table), rows(table, *given))


def test_inactive_rules_are_absent():
    assert image("mysql_query_rules", {"rule_id": 1, "active": 0}) == {}


def test_a_rule_with_a_wildcard_inside_client_addr_is_dropped():
    assert image("mysql_query_rules", {"rule_id": 1, "client_addr": "10.%.1"}) == {}
    assert (1,) in image("mysql_query_rules", {"rule_id": 1, "client_addr": "10.1.%"})


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
    assert not valid_client_addr("é" * 23)


@pytest.mark.parametrize(
    ("table", "given", "ignored"),
    [
        (
            "mysql_query_rules",
            [
                {"rule_id": 1, "client_addr": "10.%.1"},
                {"rule_id": 2, "client_addr": "10.%.1", "active": 0},
                {"rule_id": 3},
            ],
            [(1,)],
        ),
        (
            "mysql_users",
            [
                {"username": "minus", "default_hostgroup": -1},
                {"username": "wraps", "default_hostgroup": 3_000_000_000},
                {"username": "text", "default_hostgroup": "abc"},
                {"username": "nothing", "backend": 0, "frontend": 0},
                {"username": "off", "default_hostgroup": -1, "active": 0},
            ],
            [("minus", 1), ("wraps", 1), ("nothing", 0)],
        ),
        (
            "mysql_replication_hostgroups",
            [{"writer_hostgroup": w, "reader_hostgroup": r} for w, r in ((1, 4), (3, 1), (5, 6))],
            [(1,)],
        ),
        (
            "scheduler",
            [
                {"id": 1, "interval_ms": 1000, "filename": 'a"b', "active": 0},
                {"id": 2, "interval_ms": 1000, "filename": "a'b"},
            ],
            [(1,)],
        ),
        ("mysql_servers", [{"hostname": "h", "status": "OFFLINE_HARD"}], []),
        ("proxysql_servers", [{"hostname": "h", "port": -1}], []),
    ],
)
def test_rows_that_a_load_passes_over(table, given, ignored):
    found = ignored_rows(layout(table), rows(table, *given))
    assert list(found) == ignored
    assert all(key not in image(table, *given) for key in ignored)
