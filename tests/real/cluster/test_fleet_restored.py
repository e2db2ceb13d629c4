"""apply --all where one member fails after its LOAD, and is loaded again as it was before.

That LOAD is the newest one: the other members take it over, also those that had followed.
"""

from __future__ import annotations

import pytest

from tests.real.cluster.files import USER, fleet_of, hostgroups, keep_apart
from tests.real.cluster.rig import set_admin, wait_until
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

NO_SAVE = """\
CREATE TRIGGER disk.spoil AFTER INSERT ON mysql_users WHEN NEW.default_hostgroup=20
BEGIN UPDATE mysql_users SET default_hostgroup=99 WHERE username=NEW.username; END"""
"""DISK does not keep the change, as the read-back finds."""


def apply_all(project: Project, three: list[ProxySQL], hostgroup: int, *arguments: str) -> Outcome:
    project.write("version: 1\n" + fleet_of(*three) + USER.format(hostgroup))
    return proxyctl("apply", "--all", "--auto-approve", "--settle", "0", *arguments)


def all_go_back(three: list[ProxySQL]) -> None:
    wait_until(lambda: [hostgroups(one) for one in three] == [{"10"}] * 3)


def test_nobody_is_said_to_follow_the_first_one(three: list[ProxySQL], project: Project) -> None:
    keep_apart(three)
    assert apply_all(project, three, 10).code == 0
    three[0].instance.execute(NO_SAVE)
    done = apply_all(project, three, 20)
    assert done.code == 4, done.text
    assert "everything was restored" in done.out
    assert done.out.endswith("1 failed: px1; 2 not touched: px2, px3.\n")
    all_go_back(three)


def test_what_is_applied_may_go_back_with_another_one(
    three: list[ProxySQL], project: Project
) -> None:
    """The second one is changed by itself."""
    keep_apart(three)
    set_admin(three[1], cluster_mysql_users_diffs_before_sync=0)
    assert apply_all(project, three, 10).code == 0
    three[1].instance.execute(NO_SAVE)
    done = apply_all(project, three, 20)
    assert done.code == 4, done.text
    note = (
        "  note: it may take over what px2 was loaded with again, as before: MYSQL USERS;"
        " plan says what is left\n"
    )
    assert f": applied\n{note}" in done.out
    assert f": not touched\n{note}" in done.out
    assert done.out.endswith("1 applied: px1; 1 failed: px2; 1 not touched: px3.\n")
    all_go_back(three)
