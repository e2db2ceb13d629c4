"""A native cluster of real ProxySQL: what is loaded is newer than what all members hold."""

from __future__ import annotations

import pytest

from tests.real.cluster.files import (
    RULE,
    USER,
    apply,
    fall_behind,
    hostgroups,
    keep_apart,
    write,
)
from tests.real.cluster.rig import checksums, set_admin
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]


def test_a_stale_member_is_not_made_the_newest(three: list[ProxySQL], project: Project) -> None:
    write(project, USER.format(10))
    assert apply().code == 0
    keep_apart(three)
    set_admin(three[0], cluster_mysql_users_diffs_before_sync=1000)
    fall_behind(three)
    write(project, USER.format(20))
    before = checksums(three[0])["mysql_users"]
    (refusal,) = proxyctl("plan", "--format", "json").json["instances"][0]["refusals"]
    assert (refusal["code"], refusal["allow"]) == ("stale_member", "--force")
    done = apply()
    assert done.code == 3, done.text
    assert "would make the old content the newest" in done.err
    assert checksums(three[0])["mysql_users"] == before
    assert hostgroups(three[1]) == {"10", "30"}
    # What is not behind is no reason, and where it is meant the files win everywhere.
    write(project, RULE.format(20))
    assert apply().code == 0
    write(project, USER.format(20))
    forced = apply("--force")
    assert forced.code == 0, forced.text
    assert [hostgroups(one) for one in three] == [{"20"}] * 3


def test_a_member_that_has_just_started_is_not_made_the_newest(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, USER.format(10))
    assert apply().code == 0
    keep_apart(three)
    first = three[0]
    set_admin(first, cluster_mysql_users_diffs_before_sync=1000)
    first.instance.execute("SAVE ADMIN VARIABLES TO DISK")
    first.restart()
    fall_behind(three)
    assert checksums(first)["mysql_users"][0] == 1
    write(project, USER.format(20))
    (refusal,) = proxyctl("plan", "--format", "json").json["instances"][0]["refusals"]
    assert refusal["code"] == "fresh_member"
    assert apply().code == 3
    assert checksums(first)["mysql_users"][0] == 1
    write(project, USER.format(20) + "guards: {fresh_member: warn}\n")
    assert apply().code == 0
    assert [hostgroups(one) for one in three] == [{"20"}] * 3


def test_a_load_is_later_than_the_last_one_at_a_peer(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, USER.format(10))
    for _ in range(3):
        three[2].instance.execute("LOAD MYSQL USERS TO RUNTIME")
        epoch = checksums(three[2])["mysql_users"][1]
        write(project, USER.format(epoch % 1000))
        done = apply()
        assert done.code == 0, done.text
        assert checksums(three[0])["mysql_users"][1] > epoch
