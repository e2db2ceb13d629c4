"""How one changed row reads: its subject, what stands beside it, and what is not repeated."""

from __future__ import annotations

import pytest

from proxyctl.render.rows import (
    subject,
)
from tests.support.build import desired, diff, module_plan

NAMES = {10: "writer", 30: "reader"}
RULES, USERS = "mysql_query_rules", "mysql_users"


def added(table, where=None, **values):
    wanted = desired(table, values)
    if where:
        wanted.where.update(dict.fromkeys(wanted.rows, where))
    (change,) = module_plan(diff(wanted, {})).changes
    return change


@pytest.mark.parametrize(
    ("table", "values", "text"),
    [
        ("mysql_servers", {"hostgroup_id": 10, "hostname": "db1"}, "server 10 (writer) db1:3306"),
        ("mysql_servers", {"hostgroup_id": 7, "hostname": "db1"}, "server 7 db1:3306"),
        (USERS, {"username": "app", "password": "x"}, "user app"),
        (USERS, {"username": "app", "password": "x", "backend": 0}, "user app (frontend)"),
        (RULES, {"rule_id": 5}, "rule 5"),
        (
            "mysql_query_rules_fast_routing",
            {"username": "", "schemaname": "s", "flagIN": 3, "destination_hostgroup": 1},
            "route ''@s flagIN 3",
        ),
        (
            "mysql_replication_hostgroups",
            {"writer_hostgroup": 10, "reader_hostgroup": 30},
            "replication hostgroups 10 (writer)",
        ),
        ("proxysql_servers", {"hostname": "px2", "port": 6032}, "proxysql server px2:6032"),
        ("scheduler", {"id": 1, "interval_ms": 1000, "filename": "/x"}, "scheduler 1"),
    ],
)
def test_the_subject_is_what_people_call_the_row(table, values, text):
    assert subject(added(table, **values), NAMES) == text
