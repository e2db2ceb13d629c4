"""apply --all where instances are members of one native cluster of real ProxySQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.cluster.files import USER, fall_behind, fleet_of, hostgroups, keep_apart
from tests.real.cluster.rig import checksums, set_admin, wait_until
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import NO_BINARY, ProxySQL, proxysql_binary

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

TEXT = """\
mysql_users: [{{username: app, password: x, default_hostgroup: {0}}}]
mysql_query_rules:
  - {{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: {0}}}
  - {{rule_id: 2, active: false, match_digest: '^SHOW', destination_hostgroup: {0}}}
scheduler: [{{id: 1, interval_ms: 60000, filename: /bin/job{0}}}]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    (tmp_path / "files").mkdir()
    return Project(tmp_path / "files", monkeypatch)


def write(project: Project, instances: list[ProxySQL], text: str) -> None:
    listed = "".join(
        f"  - {{name: px{number}, host: 127.0.0.1, port: {one.port}, password: admin}}\n"
        for number, one in enumerate(instances, 1)
    )
    project.write(f"version: 1\ninstances:\n{listed}{text}")


def apply_all(*arguments: str) -> Outcome:
    return proxyctl("apply", "--all", "--auto-approve", "--settle", "0", *arguments)


def loads(one: ProxySQL) -> dict[str, int]:
    """Return how often each module was loaded, by hand or from a peer, by checksum."""
    return {name: version for name, (version, _, _) in checksums(one).items()}


def jobs(one: ProxySQL) -> list[tuple[str | None, ...]]:
    return one.instance.query("SELECT filename FROM runtime_scheduler")


@pytest.mark.parametrize("strategy", ["rolling", "all", "canary"])
def test_one_is_loaded_and_the_others_follow(
    three: list[ProxySQL], project: Project, strategy: str
) -> None:
    write(project, three, TEXT.format(10))
    plan = proxyctl("plan", "--all")
    assert "One ProxySQL Cluster: px1, px2, px3; px1 is changed first, and" in plan.out, plan.text
    before = [loads(one) for one in three]
    done = apply_all("--strategy", strategy)
    assert done.code == 0, done.text
    assert "Fleet of 3 instances: 3 applied: px1, px2, px3.\n" in done.out
    assert done.err.count("LOAD MYSQL USERS TO RUNTIME") == 1
    assert done.err.count("LOAD MYSQL QUERY RULES TO RUNTIME") == 1
    assert done.err.count("LOAD SCHEDULER TO RUNTIME") == 3
    for was, one in zip(before, three, strict=True):
        assert loads(one)["mysql_users"] == was["mysql_users"] + 1
        assert jobs(one) == [("/bin/job10",)]
    # One epoch everywhere: the others took it over.
    assert len({checksums(one)["mysql_users"][1:] for one in three}) == 1
    assert proxyctl("drift", "--all").out == "Fleet of 3 instances: 3 without drift.\n"


def test_those_with_nothing_of_their_own_follow(three: list[ProxySQL], project: Project) -> None:
    users = "mysql_users: [{username: app, password: x, default_hostgroup: 10}]\n"
    write(project, three, users)
    done = apply_all("--peer-timeout", "0")  # members of the fleet are waited for all the same
    assert done.code == 0, done.text
    assert "Fleet of 3 instances: 1 applied: px1; 2 followed: px2, px3.\n" in done.out
    again = apply_all("--format", "json").json["instances"]
    assert [one["state"] for one in again] == ["in sync"] * 3


def test_the_member_with_the_newest_content_is_changed(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, three, TEXT.format(10))
    assert apply_all().code == 0
    for one in three:
        set_admin(one, cluster_admin_variables_diffs_before_sync=0)
    set_admin(three[0], cluster_mysql_users_diffs_before_sync=60)
    run = three[1].instance.execute
    run("INSERT INTO mysql_users (username, password) VALUES ('new', 'x')")
    run("LOAD MYSQL USERS TO RUNTIME")
    run("SAVE MYSQL USERS TO DISK")
    write(project, three, TEXT.format(20))
    done = apply_all("--peer-timeout", "90")
    assert "px1 is changed first" not in done.err, done.text
    assert done.code == 0, done.text
    for one in three:
        users = one.instance.query("SELECT username, default_hostgroup FROM runtime_mysql_users")
        assert {*users} == {("app", "20")}


def test_the_plan_tells_who_is_changed_first_and_refuses_nobody_who_follows(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, three, TEXT.format(10))
    assert apply_all().code == 0
    keep_apart(three)
    set_admin(three[0], cluster_mysql_users_diffs_before_sync=1000)
    fall_behind(three)
    three[1].instance.execute("SAVE MYSQL USERS TO DISK")
    wait_until(lambda: loads(three[1])["mysql_users"] == loads(three[2])["mysql_users"])
    write(project, three, TEXT.format(20))
    alone = proxyctl("plan", "--instance", "px1", "--format", "json").json["instances"][0]
    assert [one["code"] for one in alone["refusals"]] == ["stale_member"]
    found = proxyctl("plan", "--all")
    assert found.code == 0
    assert "refused" not in found.out
    assert "One ProxySQL Cluster: px1, px2, px3; px2 is changed first, and" in found.out
    document = proxyctl("plan", "--all", "--format", "json").json
    warnings = {one["name"]: one["warnings"] for one in document["instances"]}
    assert not any(one["refusals"] for one in document["instances"])
    behind = "; so px2 comes first, and this one follows"
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
    for one in three:
        set_admin(one, cluster_admin_variables_diffs_before_sync=0)
    set_admin(three[2], cluster_mysql_users_diffs_before_sync=0)
    write(project, three, TEXT.format(10))
    done = apply_all()
    assert done.code == 0, done.text
    assert done.err.count("LOAD MYSQL USERS TO RUNTIME") == 2
    assert proxyctl("drift", "--all").out == "Fleet of 3 instances: 3 without drift.\n"


def test_a_member_outside_the_fleet_that_does_not_follow(
    three: list[ProxySQL], project: Project
) -> None:
    three[2].stop()
    write(project, three[:2], TEXT.format(10))
    done = apply_all("--peer-timeout", "2")
    assert done.code == 4, done.text
    assert (
        f"px1  127.0.0.1:{three[0].port}: applied, and peers do not follow\n"
        f"  peer 127.0.0.1:{three[2].port} does not follow:\n"
    ) in done.out
    assert "1 applied: px2; 1 applied, and peers do not follow: px1.\n" in done.out


def test_a_cluster_beside_an_instance_alone_and_the_way_back(
    three: list[ProxySQL], project: Project, tmp_path: Path
) -> None:
    binary = proxysql_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    with ProxySQL(binary, tmp_path / "alone") as alone:
        write(project, [*three, alone], TEXT.format(10))
        assert apply_all().code == 0
        write(project, [*three, alone], TEXT.format(20))
        # Somebody else's lock: the last one fails, and the cluster goes back.
        with alone.instance.connect() as held, held.cursor() as cursor:
            cursor.execute(
                "CREATE TEMP TABLE IF NOT EXISTS proxyctl_lock(id INTEGER PRIMARY KEY CHECK(id=1),"
                " owner, host, pid INT, purpose, stage, modules, expires INT)"
            )
            cursor.execute(
                "INSERT INTO proxyctl_lock VALUES (1, 'them', 'elsewhere', 1, 'apply', '', '[]',"
                " CAST(strftime('%s','now') AS INT)+600)"
            )
        done = apply_all("--rollback-on-failure", "--lock-timeout", "0")
        assert done.code == 4, done.text
        assert "batch 1 of 2: px1 + px2 + px3 (one ProxySQL Cluster)\n" in done.err
        assert "3 rolled back: px1, px2, px3" in done.out
        alone.instance.close()
    users = "SELECT default_hostgroup FROM runtime_mysql_users"
    for one in three:
        assert {*one.instance.query(users)} == {("10",)}
        assert jobs(one) == [("/bin/job10",)]


def test_members_that_spell_one_another_differently_are_one_cluster(
    three: list[ProxySQL], project: Project
) -> None:
    """The last one lists all by another name of their address. The scheduler never travels."""
    keep_apart(three)
    for one in three:
        set_admin(one, cluster_proxysql_servers_diffs_before_sync=0)
    run = three[2].instance.execute
    run("UPDATE proxysql_servers SET hostname='127.1'")
    run("LOAD PROXYSQL SERVERS TO RUNTIME")
    job = "scheduler: [{id: 1, interval_ms: 60000, filename: /bin/job}]\n"
    project.write("version: 1\n" + fleet_of(*three) + USER.format(10) + job)
    done = proxyctl("apply", "--all", "--auto-approve", "--strategy", "all", "--settle", "0")
    assert done.code == 0, done.text
    assert "One ProxySQL Cluster: px1, px2, px3; px1 is changed first, and the others follow." in (
        done.out
    )
    assert done.out.endswith("3 applied: px1, px2, px3.\n")
    assert "px3: LOAD MYSQL USERS TO RUNTIME" not in done.err
    assert [hostgroups(one) for one in three] == [{"10"}] * 3
