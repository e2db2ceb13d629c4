"""The statements of a plan as text: those that a client may run, and those that it must not."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from proxyctl.plan.plan import Plan
from proxyctl.plan.steps import with_images
from proxyctl.proxysql.topology import Topology
from proxyctl.render.script import plan_sql
from tests.support.build import desired, diff, module_plan
from tests.support.servers.instances import Instance

RULES, USERS = "mysql_query_rules", "mysql_users"
CLIENT = shutil.which("mariadb") or shutil.which("mysql")


def plan_of(*diffs, refusals=(), saves=True):
    modules = [module_plan(table_diff) for table_diff in diffs]
    modules = with_images(modules, Topology(), {})
    return Plan("px1", "h:6032", "2.7.1", modules, list(refusals), saves=saves)


def new_rule(**values):
    return diff(desired(RULES, {"rule_id": 1, **values}), {})


def new_user(password):
    return diff(desired(USERS, {"username": "app", "password": password}), {})


def test_a_password_that_is_the_mask_itself_is_no_secret_that_is_lost():
    assert "\nINSERT INTO mysql_users" in plan_sql(plan_of(new_user("***")))


def test_a_line_is_a_statement_whatever_a_value_holds():
    text = plan_sql(plan_of(new_rule(comment="a\n-- b;\rDROP\x1b[2J")))
    assert len(text.splitlines()) == 4
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", text)


@pytest.mark.skipif(CLIENT is None, reason="no mariadb or mysql client on PATH")
def test_a_client_sets_no_mask_and_reads_every_value_as_it_is(sandbox_instance: Instance) -> None:
    comment = "ends with \\"
    pattern = "^SELECT '\\'' \\1 \\\\' -- #;\ttab\nline"
    diffs = [
        new_rule(comment=comment, match_pattern=pattern),
        diff(desired("mysql_servers", {"hostgroup_id": 1, "hostname": "db1"}), {}),
        new_user("secret"),
    ]
    where = sandbox_instance
    login = ["-h", where.host, "-P", str(where.port), f"-u{where.user}", f"-p{where.password}"]
    done = subprocess.run(
        [str(CLIENT), "--no-defaults", *login],
        input=plan_sql(plan_of(*diffs)),
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert where.query("SELECT comment, match_pattern FROM disk.mysql_query_rules") == [
        (comment, pattern)
    ]
    assert where.query("SELECT hostname FROM runtime_mysql_servers") == [("db1",)]
    assert where.query("SELECT * FROM mysql_users") == []
