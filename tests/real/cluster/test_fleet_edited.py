"""apply --all while somebody edits MEMORY of a member: nothing goes live that nobody approved."""

from __future__ import annotations

import time

import pytest

from tests.real.cluster.files import USER, fleet_of, hostgroups, keep_apart
from tests.real.cluster.rig import set_admin
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

SCOPE = "manage: {mysql_users: {username: [app]}}\n"
JOB = "scheduler: [{id: 1, interval_ms: 60000, filename: /bin/job}]\n"
EDIT = "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('theirs', 'x', 9)"


@pytest.mark.parametrize(
    ("is_shown", "beside", "last"),
    [(True, "", ""), (False, "", "1 followed: px3"), (False, JOB, "1 not touched: px3")],
)
def test_only_the_edits_that_were_shown_go_along(
    three: list[ProxySQL],
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    is_shown: bool,
    beside: str,
    last: str,
) -> None:
    """A member is changed by itself, some time after its plan was shown.

    Where that fails, nobody comes to the last one, which has followed, but for what never travels.
    """
    keep_apart(three)
    apart = three[1]
    set_admin(apart, cluster_mysql_users_diffs_before_sync=0)
    project.write("version: 1\n" + fleet_of(*three) + SCOPE + USER.format(10) + beside)
    sleep = time.sleep

    def edit_and_sleep(seconds: float) -> None:
        if not apart.instance.query("SELECT 1 FROM mysql_users WHERE username='theirs'"):
            apart.instance.execute(EDIT)
        sleep(seconds)

    if is_shown:
        edit_and_sleep(0)
    else:
        # In the time in which the instances are looked at, after the approval.
        monkeypatch.setattr(time, "sleep", edit_and_sleep)
    done = proxyctl("apply", "--all", "--auto-approve", "--include-pending", "--settle", "1")
    names = {name for (name,) in apart.instance.query("SELECT username FROM runtime_mysql_users")}
    if is_shown:
        assert done.code == 0, done.text
        assert names == {"app", "theirs"}
        return
    assert done.code == 4, done.text
    assert "px2: the plan is stale" in done.out
    assert names == set()
    assert hostgroups(three[2]) == {"10"}
    states = done.out.splitlines()[-1].removesuffix(".").partition(": ")[2].split("; ")
    assert sorted(states) == sorted(["1 applied: px1", "1 failed: px2", last])


def test_edits_that_a_member_would_lose_by_following_are_refused(
    three: list[ProxySQL], project: Project
) -> None:
    """The others take the whole module over from the one that is changed first."""
    project.write("version: 1\n" + fleet_of(*three) + SCOPE + USER.format(10))
    assert proxyctl("apply", "--all", "--auto-approve", "--settle", "0").code == 0
    last = three[2]
    last.instance.execute(EDIT)
    project.write("version: 1\n" + fleet_of(*three) + SCOPE + USER.format(20))
    arguments = ("--auto-approve", "--include-pending")
    done = proxyctl("apply", "--all", *arguments, "--settle", "0")
    assert done.code == 3, done.text
    assert (
        "px3: MYSQL USERS: 1 edit of others in MEMORY would be lost: px1 is changed first, and this"
        " member takes the module over from there"
    ) in done.err
    assert last.instance.query("SELECT 1 FROM mysql_users WHERE username='theirs'")
    # The way out: what is loaded there travels to all.
    assert proxyctl("apply", "--instance", "px3", *arguments).code == 0
    assert proxyctl("apply", "--all", *arguments, "--settle", "0").code == 0
    assert [hostgroups(one) for one in three] == [{"9", "20"}] * 3


def test_so_are_those_of_rows_that_are_not_active(three: list[ProxySQL], project: Project) -> None:
    """Members take the active users over, and drop their own others: also on DISK."""
    project.write("version: 1\n" + fleet_of(*three) + SCOPE + USER.format(10))
    assert proxyctl("apply", "--all", "--auto-approve", "--settle", "0").code == 0
    last = three[2]
    last.instance.execute(EDIT.replace("group)", "group, active)").replace("9)", "9, 0)"))
    project.write("version: 1\n" + fleet_of(*three) + SCOPE + USER.format(20))
    done = proxyctl("apply", "--all", "--auto-approve", "--include-pending", "--settle", "0")
    assert done.code == 3, done.text
    assert "px3: MYSQL USERS: 1 edit of others in MEMORY would be lost: px1 is changed" in done.err
    assert last.instance.query("SELECT 1 FROM mysql_users WHERE username='theirs'")
