"""What RUNTIME shows after a LOAD of given rows."""

import pytest

from proxyctl.state.runtime import ignored_rows, runtime_image, valid_client_addr
from tests.support.build import layout, rows


def image(table, *given):
    return runtime_image(layout(table), rows(table, *given))


RULE, USER = {"rule_id": 1}, {"username": "u"}
SERVER = {"hostgroup_id": 1, "hostname": "a"}
JOB = {"id": 1, "interval_ms": 1000, "filename": "/x", "arg1": "a", "arg3": "c"}


@pytest.mark.parametrize(
    ("table", "given", "shown"),
    [
        ("mysql_query_rules", {**RULE, "active": 0}, None),
        ("mysql_query_rules", {**RULE, "client_addr": "10.%.1"}, None),
        ("mysql_query_rules", {**RULE, "client_addr": "10.1.%"}, {"client_addr": "10.1.%"}),
        (
            "mysql_query_rules",
            {**RULE, "destination_hostgroup": -1},
            {"destination_hostgroup": None},
        ),
        ("mysql_users", {**USER, "active": 0}, None),
        ("mysql_users", {**USER, "default_hostgroup": -1}, None),
        ("mysql_users", {**USER, "backend": 0, "frontend": 0}, None),
        ("mysql_users", USER, {"password": "", "default_schema": ""}),
        ("mysql_servers", {**SERVER, "status": "online"}, {"status": "ONLINE"}),
        ("mysql_servers", {**SERVER, "status": "OFFLINE_HARD"}, None),
        # The arguments of a job end at the first NULL.
        ("scheduler", JOB, {"arg1": "a", "arg2": None, "arg3": None}),
    ],
    ids=str,
)
def test_what_a_load_makes_of_a_row(table, given, shown):
    found = [
        dict(zip(layout(table).names, row, strict=True)) for row in image(table, given).values()
    ]
    assert [{name: row[name] for name in shown or ()} for row in found] == [shown] * (
        shown is not None
    )


def test_a_hostgroup_row_whose_writer_has_another_role_is_ignored():
    table = "mysql_replication_hostgroups"
    chain = [{"writer_hostgroup": w, "reader_hostgroup": r} for w, r in ((1, 2), (2, 3))]
    assert list(image(table, *chain)) == [(1,)]
    circle = [{"writer_hostgroup": w, "reader_hostgroup": r} for w, r in ((1, 2), (2, 1))]
    assert image(table, *circle) == {}


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
