"""A native cluster of real ProxySQL whose members have host names and own accounts in the files."""

from __future__ import annotations

import pytest

from tests.real.cluster.files import SERVERS, USER, fleet_of, hostgroups, keep_apart, name, write
from tests.real.cluster.rig import ACCOUNT, set_admin
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]


@pytest.fixture
def named(three: list[ProxySQL], project: Project, monkeypatch: pytest.MonkeyPatch) -> str:
    """The section of instances: each lets in its own account only."""
    for variable in ("HOST", "PORT", "USER", "PASSWORD"):
        monkeypatch.delenv(f"PROXYCTL_{variable}")
    keep_apart(three)
    section = fleet_of(*three).replace("host: 127.0.0.1", "host: localhost")
    for number, one in enumerate(three, 1):
        accounts = f"admin:own{number};{ACCOUNT}:{ACCOUNT}"
        set_admin(one, admin_credentials=accounts)
        section = section.replace(
            f"{one.port}, password: admin", f"{one.port}, password: own{number}"
        )
    yield section
    for one in three:
        run = one.instance.execute
        run(f"SET admin-admin_credentials='admin:admin;{ACCOUNT}:{ACCOUNT}'")
        run("LOAD ADMIN VARIABLES TO RUNTIME")


def test_members_are_locked_and_read(three: list[ProxySQL], project: Project, named: str) -> None:
    write(project, named + USER.format(10))
    done = proxyctl("apply", "--auto-approve", "--instance", "px1")
    assert done.code == 0, done.text
    assert "no lock there" not in done.err
    peers = ", ".join(name(one) for one in sorted(three[1:], key=lambda one: one.port))
    assert f"2 peers follow: {peers}; RUNTIME was read there.\n" in done.out


def test_a_drain_asks_them(three: list[ProxySQL], project: Project, named: str) -> None:
    write(project, named + SERVERS)
    assert proxyctl("apply", "--auto-approve", "--instance", "px1").code == 0
    done = proxyctl("nodes", "drain", "a", "--instance", "px2", "--timeout", "30")
    assert done.code == 0, done.text
    assert "a:3306: no connection is in use, here and at 2 peers\n" in done.out


def test_one_of_a_fleet_that_does_not_follow_is_none_that_is_left_behind(
    three: list[ProxySQL], project: Project, named: str
) -> None:
    set_admin(three[2], cluster_mysql_users_diffs_before_sync=0)
    write(project, named + USER.format(10))
    done = proxyctl("apply", "--all", "--auto-approve")
    assert done.code == 0, done.text
    assert "2 applied: px1, px3; 1 followed: px2.\n" in done.out
    assert "no lock there" not in done.err
    assert [hostgroups(one) for one in three] == [{"10"}] * 3
