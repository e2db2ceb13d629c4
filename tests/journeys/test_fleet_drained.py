"""What of a fleet is out of service, where nothing differs from the files: said by instance."""

from __future__ import annotations

import pytest

from tests.journeys.fleet import listed
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

FILES = """\
version: 1
mysql_servers: [{hostgroup_id: 10, hostname: db1}, {hostgroup_id: 10, hostname: db2}]
"""
BY_HAND = "db2:3306 in hostgroup 10 OFFLINE_SOFT, set by an operator"


@pytest.fixture
def fleet(offline: Project, ports: list[int]) -> list[int]:
    """Three instances in sync: one with a drained node, one with a server that was taken out."""
    offline.write(FILES + listed(ports))
    assert proxyctl("apply", "--all", "--auto-approve", "--max-unavailable", "3").code == 0
    done = proxyctl("nodes", "drain", "db2", "--instance", "px1")
    assert done.code == 0, done.text
    px2 = Instance("127.0.0.1", ports[1])
    px2.execute("UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='db2'")
    px2.execute("LOAD MYSQL SERVERS TO RUNTIME")
    px2.execute("SAVE MYSQL SERVERS TO DISK")
    return ports


def test_drift_says_it_as_for_one(fleet: list[int]) -> None:
    alone = [proxyctl("drift", "--instance", name).out for name in ("px1", "px2")]
    assert "no drift (db2:3306 drained" in alone[0]
    assert f"px2 127.0.0.1:{fleet[1]}: no drift ({BY_HAND})\n" == alone[1]
    found = proxyctl("drift", "--all")
    assert found.code == 0, found.text
    assert found.out == "".join([*alone, "Fleet of 3 instances: 3 without drift.\n"])
    assert proxyctl("drift", "--all", "--quiet").out == ""


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_plan_and_apply_say_it_by_instance(fleet: list[int], command: str) -> None:
    more = ("--auto-approve",) if command == "apply" else ()
    found = proxyctl(command, "--all", *more)
    assert found.code == 0, found.text
    first, second, last = found.out.splitlines()
    assert first.startswith("px1: in sync (db2:3306 drained")
    assert second == f"px2: in sync ({BY_HAND})"
    assert last == "Fleet of 3 instances: 3 in sync."


def test_those_that_are_alike_share_a_line(fleet: list[int]) -> None:
    px3 = Instance("127.0.0.1", fleet[2])
    px3.execute("UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='db2'")
    px3.execute("LOAD MYSQL SERVERS TO RUNTIME")
    px3.execute("SAVE MYSQL SERVERS TO DISK")
    assert f"px2, px3: in sync ({BY_HAND})\n" in proxyctl("plan", "--all").out


@pytest.mark.parametrize("command", ["drift", "plan"])
def test_json_says_it_by_instance(fleet: list[int], command: str) -> None:
    document = proxyctl(command, "--all", "--format", "json").json
    said = [one["left_alone"] for one in document["instances"]]
    assert [len(one) for one in said] == [1, 1, 0]
    assert said[0][0].startswith("db2:3306 drained")
    assert said[1] == [BY_HAND]


def test_beside_one_that_differs(fleet: list[int]) -> None:
    Instance("127.0.0.1", fleet[2]).execute("UPDATE mysql_servers SET weight=7")
    found = proxyctl("drift", "--all")
    assert found.code == 2, found.text
    assert f"\n\npx1 127.0.0.1:{fleet[0]}: no drift (db2:3306 drained" in found.out
    plan = proxyctl("plan", "--all").out
    assert "\n\npx1: in sync (db2:3306 drained" in plan
    assert plan.endswith("\nFleet of 3 instances: 2 in sync, 1 would change: px3.\n")


def plain_markdown(*arguments: str) -> str:
    return proxyctl("plan", *arguments, "--format", "markdown").out.replace("\\_", "_")


def test_markdown_and_metrics_say_it(fleet: list[int]) -> None:
    comment = plain_markdown("--all")
    assert "- px1: in sync (db2:3306 drained" in comment
    assert f"- px2: in sync ({BY_HAND})\n" in comment
    assert f"- left alone: {BY_HAND}\n" in plain_markdown("--instance", "px2")
    metrics = proxyctl("drift", "--all", "--format", "prometheus").out
    found = [
        line.rpartition(" ")[2]
        for line in metrics.splitlines()
        if line.startswith("proxyctl_drift_servers_taken_out{")
    ]
    assert found == ["1", "1", "0"]


def test_warnings_where_nothing_differs(fleet: list[int], offline: Project) -> None:
    offline.write(FILES + listed(fleet) + "manage: {mysql_users: {username: app}}\n")
    warning = (
        "in sync; warning: manage: no section has mysql_users, so none of its rows are managed"
    )
    assert f"px1, px2, px3: {warning}\n" in proxyctl("plan", "--all").out
    assert f"- px1, px2, px3: {warning}\n" in plain_markdown("--all")
