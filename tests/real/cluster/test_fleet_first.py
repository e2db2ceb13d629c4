"""apply --all where the member that comes first has nothing to change: nobody says it has."""

from __future__ import annotations

import pytest

from tests.real.cluster.files import fleet_of
from tests.real.cluster.rig import set_admin
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

USER = "mysql_users: [{username: app, password: x, default_hostgroup: 10}]\n"
JOB = "scheduler: [{id: 1, interval_ms: 60000, filename: /bin/job}]\n"
APPLY = ("apply", "--all", "--auto-approve", "--settle", "0")


@pytest.mark.parametrize(("text", "module"), [(USER, "MYSQL USERS"), (JOB, "SCHEDULER")])
def test_nobody_is_said_to_be_changed_who_is_not_touched(
    three: list[ProxySQL], project: Project, text: str, module: str
) -> None:
    """Users that nobody pulls, or what never travels, is missing at all members but the first."""
    for one in three:
        set_admin(one, cluster_admin_variables_diffs_before_sync=0)
        set_admin(one, cluster_mysql_users_diffs_before_sync=0)
    project.write("version: 1\n" + fleet_of(*three) + text)
    done = proxyctl("apply", "--auto-approve", "--instance", "px1", "--peer-timeout", "0")
    assert done.code == 0, done.text
    plan = proxyctl("plan", "--all")
    assert "Fleet of 3 instances: 1 in sync, 2 would change: px2, px3.\n" in plan.out, plan.text
    assert "One ProxySQL Cluster: px1, px2, px3.\n" in plan.out

    done = proxyctl(*APPLY)
    assert done.code == 0, done.text
    assert "changed first" not in done.text
    assert f"px1: LOAD {module}" not in done.err
    assert f"px2: LOAD {module} TO RUNTIME\n" in done.err
    assert f"px3: LOAD {module} TO RUNTIME\n" in done.err
    assert "2 applied: px2, px3; 1 in sync.\n" in done.out
