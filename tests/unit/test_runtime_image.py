"""What RUNTIME shows of users after a LOAD, and which rows a LOAD passes over."""

import pytest

from proxyctl.state.runtime import ignored_rows, runtime_image
from tests.support.build import layout, rows


def image(table, *given):
    return runtime_image(layout(table), rows(table, *given))


USER = {"username": "u"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({**USER, "active": 0}, None),
        ({**USER, "default_hostgroup": -1}, None),
        ({**USER, "backend": 0, "frontend": 0}, None),
        (USER, ("", "")),
    ],
    ids=str,
)
def test_what_a_load_makes_of_a_user(given, shown):
    """Rows of the other tables: tests/conformance holds them against a real ProxySQL."""
    users = layout("mysql_users")
    found = [
        tuple(row[users.index[name]] for name in ("password", "default_schema"))
        for row in image("mysql_users", given).values()
    ]
    assert found == ([] if shown is None else [shown])


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
