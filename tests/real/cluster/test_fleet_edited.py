"""apply --all while somebody edits MEMORY of a member: nothing goes live that nobody approved."""

from __future__ import annotations

import time

import pytest

from tests.cli import Project, proxyctl
from tests.real.cluster.files import USER, fleet_of, keep_apart
from tests.real.cluster.rig import set_admin
from tests.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

SCOPE = "manage: {mysql_users: {username: [app]}}\n"
EDIT = "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('theirs', 'x', 9)"


@pytest.mark.parametrize("is_shown", [True, False])
def test_only_the_edits_that_were_shown_go_along(
    three: list[ProxySQL], project: Project, monkeypatch: pytest.MonkeyPatch, is_shown: bool
) -> None:
    """The last member is changed by itself, some time after its plan was shown."""
    keep_apart(three)
    last = three[2]
    set_admin(last, cluster_mysql_users_diffs_before_sync=0)
    project.write("version: 1\n" + fleet_of(*three) + SCOPE + USER.format(10))

    sleep = time.sleep

    def edit_and_sleep(seconds: float) -> None:
        if not last.instance.query("SELECT 1 FROM mysql_users WHERE username='theirs'"):
            last.instance.execute(EDIT)
        sleep(seconds)

    if is_shown:
        edit_and_sleep(0)
    else:
        # In the time in which the instances are looked at, after the approval.
        monkeypatch.setattr(time, "sleep", edit_and_sleep)
    done = proxyctl("apply", "--all", "--auto-approve", "--include-pending", "--settle", "1")
    names = {name for (name,) in last.instance.query("SELECT username FROM runtime_mysql_users")}
    if is_shown:
        assert done.code == 0, done.text
        assert names == {"app", "theirs"}
        return
    assert done.code == 4, done.text
    assert "px3: the plan is stale" in done.out
    assert names == set()
