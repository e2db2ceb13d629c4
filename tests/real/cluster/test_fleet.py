"""apply --all on members of one native cluster of real ProxySQL."""

from __future__ import annotations

import pytest

from tests.real.cluster.rig import (
    USER,
    checksums,
    fall_behind,
    fleet_of,
    hostgroups,
    keep_apart,
    set_admin,
)
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.servers.instances import ProxySQL
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

TEXT = """\
mysql_users: [{{username: app, password: x, default_hostgroup: {0}}}]
mysql_query_rules:
  - {{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: {0}}}
  - {{rule_id: 2, active: false, match_digest: '^SHOW', destination_hostgroup: {0}}}
scheduler: [{{id: 1, interval_ms: 60000, filename: /bin/job{0}}}]
"""


@pytest.fixture
def project(offline: Project) -> Project:
    return offline


def write(project: Project, instances: list[ProxySQL], text: str) -> None:
    project.write(f"version: 1\n{fleet_of(*instances)}{text}")


def apply_all(*arguments: str) -> Outcome:
    return proxyctl("apply", "--all", "--auto-approve", *arguments)


def loads(one: ProxySQL) -> dict[str, int]:
    """Return how often each module was loaded, by hand or from a peer, by checksum."""
    return {name: version for name, (version, _, _) in checksums(one).items()}


def jobs(one: ProxySQL) -> list[tuple[str | None, ...]]:
    return one.instance.query("SELECT filename FROM runtime_scheduler")


@pytest.mark.parametrize("strategy", ["rolling", "canary"])
def test_one_is_loaded_and_the_others_follow(
    three: list[ProxySQL], project: Project, strategy: str
) -> None:
    write(project, three, TEXT.format(10))
    plan = proxyctl("plan", "--all")
    assert "One ProxySQL Cluster: px1, px2, px3; px1 is changed first.\n" in plan.out, plan.text
    before = [loads(member) for member in three]
    done = apply_all("--strategy", strategy)
    assert done.code == 0, done.text
    assert "Fleet of 3 instances: 3 applied: px1, px2, px3.\n" in done.out
    assert done.err.count("LOAD MYSQL USERS TO RUNTIME") == 1
    assert done.err.count("LOAD MYSQL QUERY RULES TO RUNTIME") == 1
    assert done.err.count("LOAD SCHEDULER TO RUNTIME") == 3
    for was, member in zip(before, three, strict=True):
        assert loads(member)["mysql_users"] == was["mysql_users"] + 1
        assert jobs(member) == [("/bin/job10",)]
    # One epoch everywhere: the others copied it.
    assert len({checksums(member)["mysql_users"][1:] for member in three}) == 1
    assert proxyctl("drift", "--all").out.endswith("Fleet of 3 instances: 3 without drift.\n")


def test_those_with_nothing_of_their_own_follow(three: list[ProxySQL], project: Project) -> None:
    users = "mysql_users: [{username: app, password: x, default_hostgroup: 10}]\n"
    write(project, three, users)
    done = apply_all("--peer-timeout", "0")  # members of the fleet are waited for all the same
    assert done.code == 0, done.text
    assert "Fleet of 3 instances: 1 applied: px1; 2 followed: px2, px3.\n" in done.out
    again = apply_all("--format", "json").json["instances"]
    assert [instance["state"] for instance in again] == ["in sync"] * 3


def test_they_follow_the_member_that_goes_back(three: list[ProxySQL], project: Project) -> None:
    for hostgroup in (10, 20):
        write(project, three, USER.format(hostgroup))
        done = apply_all()
        assert done.code == 0, done.text
    assert [hostgroups(member) for member in three] == [{"20"}] * 3
    found = proxyctl("rollback", "--all", "--auto-approve")
    assert found.code == 0, found.text
    assert "not changed by it: px2, px3\n" in found.err
    assert found.out.endswith("Fleet of 1 instance: 1 applied: px1.\n")
    assert [hostgroups(member) for member in three] == [{"10"}] * 3


def test_the_plan_tells_who_is_changed_first_and_refuses_nobody_who_follows(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, three, TEXT.format(10))
    assert apply_all().code == 0
    keep_apart(three)
    set_admin(three[0], cluster_mysql_users_diffs_before_sync=1000)
    fall_behind(three)
    three[1].instance.execute("SAVE MYSQL USERS TO DISK")
    until(lambda: "30" in hostgroups(three[2]))
    write(project, three, TEXT.format(20))
    alone = proxyctl("plan", "--instance", "px1", "--format", "json").json["instances"][0]
    assert [refusal["code"] for refusal in alone["refusals"]] == ["stale_member"]
    found = proxyctl("plan", "--all")
    assert found.code == 0
    assert "refused" not in found.out
    assert "One ProxySQL Cluster: px1, px2, px3; px2 is changed first.\n" in found.out
    document = proxyctl("plan", "--all", "--format", "json").json
    warnings = {instance["name"]: instance["warnings"] for instance in document["instances"]}
    assert not any(instance["refusals"] for instance in document["instances"])
    behind = "; px2 is changed first, and this member follows"
    assert [text.endswith(behind) for text in warnings["px1"]].count(True) == 1
    assert not any(text.endswith(behind) for text in warnings["px2"] + warnings["px3"])
    # Without the newest one among them, the one that is behind is refused as if it were alone.
    write(project, three[:1] + three[2:], TEXT.format(20))
    assert "px2 is changed first" in proxyctl("plan", "--all").out
    write(project, three[:1], TEXT.format(20))
    assert "refused" in proxyctl("plan", "--all").out
    assert apply_all().code == 3


def test_a_member_that_pulls_nothing_is_written_directly(
    three: list[ProxySQL], project: Project
) -> None:
    for member in three:
        set_admin(member, cluster_admin_variables_diffs_before_sync=0)
    set_admin(three[2], cluster_mysql_users_diffs_before_sync=0)
    write(project, three, TEXT.format(10))
    done = apply_all()
    assert done.code == 0, done.text
    assert done.err.count("LOAD MYSQL USERS TO RUNTIME") == 2
    assert proxyctl("drift", "--all").out.endswith("Fleet of 3 instances: 3 without drift.\n")


def test_a_member_outside_the_fleet_that_does_not_follow(
    three: list[ProxySQL], project: Project
) -> None:
    three[2].stop()
    write(project, three[:2], TEXT.format(10))
    done = apply_all("--peer-timeout", "2")
    assert done.code == 4, done.text
    assert (
        f"px1  127.0.0.1:{three[0].port}: applied\n"
        f"  member 127.0.0.1:{three[2].port} has not copied the change:\n"
    ) in done.out
    assert done.out.endswith("Fleet of 2 instances: 2 applied: px1, px2.\n")


def test_a_member_that_fails_stops_the_others(three: list[ProxySQL], project: Project) -> None:
    """The failed member is restored, and the others pull that."""
    keep_apart(three)
    write(project, three, USER.format(10))
    assert apply_all().code == 0
    three[0].instance.execute(SPOIL)
    write(project, three, USER.format(20))
    done = apply_all()
    assert done.code == 4, done.text
    assert "everything was restored" in done.out
    assert done.out.endswith("1 failed: px1; 2 not touched: px2, px3.\n")
    assert done.out.count("note: it may have synchronised with a changed member") == 2
    until(lambda: [hostgroups(member) for member in three] == [{"10"}] * 3)


SPOIL = """\
CREATE TRIGGER disk.spoil AFTER INSERT ON mysql_users WHEN NEW.default_hostgroup=20
BEGIN UPDATE mysql_users SET default_hostgroup=99 WHERE username=NEW.username; END"""
"""DISK does not keep the change, as the read-back finds."""
