"""What an apply writes at its end, for people and as JSON; and the plan as JSON."""

from __future__ import annotations

import json

from proxyctl.apply.result import NEW, ApplyResult, ModuleResult
from proxyctl.plan.plan import Plan
from proxyctl.render.apply import apply_json, apply_text
from proxyctl.state.row import Where
from tests.support.build import desired, diff, module_plan

USERS = "mysql_users"


def plan_of(**more):
    wanted = desired(USERS, {"username": "app", "password": "s3cret", "default_hostgroup": 10})
    wanted.where.update(dict.fromkeys(wanted.rows, Where("a.yaml", 3, 5)))
    return Plan("h:6032", "h:6032", "2.7.1", [module_plan(diff(wanted, {}))], **more)


def result(**more):
    modules = [ModuleResult("MYSQL USERS", NEW, NEW, NEW)]
    return ApplyResult(modules, statements=1, loads=1, saves=1, **more)


def test_nothing_is_reported_where_nothing_was_done():
    assert apply_text(plan_of(), None) == ""
    document = json.loads(apply_json(plan_of(), None))
    assert (document["applied"], document["modules"], document["snapshot"]) == (False, [], None)


def test_the_report_says_what_is_left_to_do():
    done = result(notes=["look at db1"])
    done.saves = 0
    text = apply_text(plan_of(restart_required=["mysql-threads"]), done)
    assert "DISK was not changed: a restart of ProxySQL reverts the change.\n" in text
    assert text.endswith("note: look at db1\nrestart required: mysql-threads\n")
