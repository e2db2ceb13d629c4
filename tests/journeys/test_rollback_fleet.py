"""history --all, and rollback --all: every instance goes back to before a rollout."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.held_lock import hold_lock
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import SERVERS, applied, ended, listed
from tests.support.servers.instances import Instance
from tests.support.servers.layers import everywhere

WEIGHT = "SELECT weight FROM {}mysql_servers"


@pytest.fixture
def project(offline: Project, ports: list[int]) -> Project:
    """Files that list the three sandboxes."""
    write(offline, ports)
    return offline


def write(project: Project, ports: list[int], weight: int = 1, *more: str) -> None:
    servers = SERVERS.replace("db1", f"db1, weight: {weight}")
    project.write(servers + listed(ports, *more))


ONE_BATCH = ("--max-unavailable", "9")
"""Nothing waits for the servers of a batch."""


def apply_all(*arguments: str) -> Outcome:
    found = proxyctl("apply", "--all", "--auto-approve", *ONE_BATCH, *arguments)
    assert found.code == 0, found.text
    return found


def rollback_all(*arguments: str) -> Outcome:
    return proxyctl("rollback", "--all", "--auto-approve", *ONE_BATCH, *arguments)


def weights(ports: list[int]) -> list[str | None]:
    """Return the weight of db1 at each instance, which has it in all layers."""
    found = []
    for port in ports:
        [(weight,)] = everywhere(Instance("127.0.0.1", port), WEIGHT)
        found.append(weight)
    return found


def rollouts(name: str = "px1") -> list[str | None]:
    """Return the rollouts of an instance's snapshots, newest first."""
    instances = proxyctl("history", "--all", "--format", "json").json["instances"]
    (found,) = [instance["snapshots"] for instance in instances if instance["name"] == name]
    return [snapshot["rollout"] for snapshot in found]


def test_a_rollout_is_taken_back_and_that_too(project: Project, ports: list[int]) -> None:
    first = apply_all("--format", "json").json
    write(project, ports, 5)
    second = apply_all("--format", "json").json
    assert rollouts() == rollouts("px3") == [second["rollout"], first["rollout"]]
    assert len({first["rollout"], second["rollout"]}) == 2
    before = weights(ports)

    shown = proxyctl("rollback", "--all", "--dry-run")
    assert shown.code == 0, shown.text
    assert "px1, px2, px3  3 instances alike" in shown.out
    assert "weight                  5 -> 1" in shown.out
    expected = f"back to before rollout {second['rollout']}, apply of ./proxyctl.yaml by "
    assert shown.err.startswith(expected)
    plans = proxyctl("rollback", "--all", "--dry-run", "--format", "json").json
    assert [instance["in_sync"] for instance in plans["instances"]] == [False] * 3
    ended(proxyctl("rollback", "--all"), 64, "rollback asks for approval", "--auto-approve")
    assert weights(ports) == before == ["5"] * 3

    back = proxyctl("rollback", "--all", "--auto-approve")
    assert back.code == 0, back.text
    assert back.out.endswith("Fleet of 3 instances: 3 applied: px1, px2, px3.\n")
    assert "batch 3 of 3: px3\n" in back.err
    assert back.err.endswith("\ncorrect the files, too, or the next apply makes the change again\n")
    assert weights(ports) == ["1"] * 3
    lines = proxyctl("history", "--instance", "px2").out
    assert f"before rollback to rollout {second['rollout']} by " in lines

    again = rollback_all("--format", "json").json
    assert weights(ports) == ["5"] * 3
    assert again["taken_back"] == rollouts()[1]
    assert again["rollout"] == rollouts()[0]
    assert again["not_part"] == []
    assert [instance["state"] for instance in again["instances"]] == ["applied"] * 3


def test_an_older_rollout(project: Project, ports: list[int]) -> None:
    apply_all()
    write(project, ports, 5)
    second = apply_all("--format", "json").json["rollout"]
    write(project, ports, 7)
    apply_all()
    found = rollback_all(second)
    assert found.code == 0, found.text
    assert weights(ports) == ["1"] * 3
    assert "1 later change since rollout" in found.out
    assert "apply of ./proxyctl.yaml; the plan also takes back" in " ".join(found.out.split())
    ended(rollback_all("2"), 1, "there is no rollout 2 among", "proxyctl history --all")


def test_one_that_the_rollout_did_not_change_is_named(project: Project, ports: list[int]) -> None:
    apply_all()
    write(project, ports, 5)
    applied("--instance", "px3")
    apply_all()
    found = rollback_all()
    assert found.code == 0, found.text
    assert "not changed by it: px3\n" in found.err
    assert found.out.endswith("Fleet of 2 instances: 2 applied: px1, px2.\n")
    assert weights(ports) == ["1", "1", "5"]
    assert rollback_all("--format", "json").json["not_part"] == ["px3"]


def test_what_somebody_applied_since_is_named(project: Project, ports: list[int]) -> None:
    apply_all()
    write(project, ports, 5)
    apply_all()
    project.write("variables: {mysql-max_connections: 4096}\n", "other.yaml")
    applied("-f", "proxyctl.yaml", "-f", "other.yaml", "--instance", "px2")
    found = proxyctl("rollback", "--all", "--dry-run")
    text = " ".join(found.out.split())
    assert text.count("1 later change since rollout") == 1
    assert "apply of proxyctl.yaml, other.yaml; the plan also takes back" in text
    assert "px1, px3 2 instances alike" in text
    limit = (
        "SELECT variable_value FROM {}global_variables WHERE variable_name='mysql-max_connections'"
    )
    assert rollback_all().code == 0
    assert everywhere(Instance("127.0.0.1", ports[1]), limit) == [("4096",)]


def test_a_rollout_that_stopped(project: Project, ports: list[int]) -> None:
    apply_all()
    write(project, ports, 5)
    hold_lock(Instance("127.0.0.1", ports[1]), host="elsewhere", pid=1, for_s=600)
    stopped = proxyctl("apply", "--all", "--auto-approve", "--lock-timeout", "0")
    assert stopped.code == 4
    assert weights(ports) == ["5", "1", "1"]
    found = rollback_all()
    assert found.code == 0, found.text
    assert "not changed by it: px2, px3\n" in found.err
    assert weights(ports) == ["1"] * 3


def test_one_refusal_and_one_that_is_gone_stop_all(project: Project, ports: list[int]) -> None:
    project.write(SERVERS.replace("[{hostgroup_id: 10, hostname: db1}]", "[]") + listed(ports))
    apply_all()
    write(project, ports)
    apply_all()
    refused = rollback_all()
    ended(refused, 3, "no instance was changed", "px1, px2, px3: mysql_servers: nothing")
    assert (
        "apply files that contain what would be lost: the snapshot does not contain it"
        in refused.err
    )
    assert "or allow it with --force" in refused.err
    assert "-f names every file" not in refused.err
    assert weights(ports) == ["1"] * 3
    shown = proxyctl("rollback", "--all", "--dry-run")
    assert (shown.code, "apply would refuse" in shown.out) == (0, True)

    with Sandbox() as fourth:
        instance = f"{{name: px4, host: 127.0.0.1, port: {fourth.port}, password: admin}}"
        write(project, ports, 5, instance)
        apply_all()
    found = rollback_all()
    ended(found, 1, "no instance was changed: px4 could not be read", "--skip-unreachable")
    assert weights(ports) == ["5"] * 3
    skipped = rollback_all("--skip-unreachable")
    assert skipped.code == 4, skipped.text
    assert skipped.out.endswith(
        "Fleet of 4 instances: 3 applied: px1, px2, px3; 1 not read: px4.\n"
    )
    assert weights(ports) == ["1"] * 3


def test_members_of_one_cluster_are_refused(project: Project, ports: list[int]) -> None:
    apply_all()
    for port in ports[:2]:
        instance = Instance("127.0.0.1", port)
        instance.execute("INSERT INTO proxysql_servers (hostname) VALUES ('px1')")
        instance.load("PROXYSQL SERVERS", saves=True)
    write(project, ports, 5)
    apply_all()
    found = rollback_all()
    ended(found, 3, "px1, px2 are members of one ProxySQL Cluster", "apply --all")
    assert weights(ports) == ["5"] * 3
    alone = proxyctl("rollback", "--instance", "px1", "--auto-approve")
    assert alone.code == 0, alone.text
    assert weights(ports) == ["1", "5", "5"]


# -- the snapshots ---------------------------------------------------------------------------------


def test_without_a_rollout(project: Project, ports: list[int]) -> None:
    nothing = proxyctl("history", "--all")
    blocks = [f"px{n}  127.0.0.1:{port}\nno snapshot\n" for n, port in enumerate(ports, 1)]
    assert (nothing.code, nothing.out) == (0, "\n".join(blocks))
    applied("--instance", "px1")
    ended(rollback_all(), 1, "there is no snapshot of a rollout", str(project.state))
    assert rollouts() == [None]
    assert rollouts("px2") == []


def test_history_needs_no_proxysql(offline: Project) -> None:
    with Sandbox() as sandbox:
        write(offline, [sandbox.port])
        rollout = apply_all("--format", "json").json["rollout"]
    found = proxyctl("history", "--all")
    assert found.code == 0, found.text
    first, second, _ = found.out.splitlines()
    assert first == f"px1  127.0.0.1:{sandbox.port}"
    assert second.endswith(f", rollout {rollout}")


def edited(path: Path, old: bytes, new: bytes) -> None:
    text = gzip.decompress(path.read_bytes())
    assert old in text
    path.write_bytes(gzip.compress(text.replace(old, new, 1)))


def test_a_snapshot_of_an_older_proxyctl(project: Project) -> None:
    applied("--instance", "px1")
    (path,) = project.snapshots()
    edited(path, b'"rollout": "", ', b"")
    assert rollouts() == [None]
    found = proxyctl("rollback", "--instance", "px1", "--dry-run")
    assert found.code == 0, found.text


def test_a_snapshot_that_may_be_of_the_rollout(project: Project, ports: list[int]) -> None:
    apply_all()
    write(project, ports, 5)
    apply_all()
    path = max(
        (snapshot for snapshot in project.snapshots() if str(ports[2]) in snapshot.parent.name),
        key=lambda snapshot: snapshot.name,
    )
    edited(path, b'"format": 1', b'"format": 9')
    found = rollback_all()
    ended(found, 1, "px3: it is not known whether it was part of rollout", f"move {path} elsewhere")
    assert weights(ports) == ["5"] * 3
    path.unlink()
    assert rollback_all().code == 0
    assert weights(ports) == ["1", "1", "5"]
