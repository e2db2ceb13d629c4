"""Many instances at once: each plan is said once, and one that fails does not hold the others."""

from __future__ import annotations

import socket

from tests.journeys.fleet import SERVERS, hold_lock_of, listed
from tests.journeys.story import applied
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance


def test_json_has_each_instance_under_its_own_name(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports))
    applied("--instance", "px2")
    document = proxyctl("plan", "--all", "--format", "json").json
    assert [one["name"] for one in document["instances"]] == ["px1", "px2", "px3"]
    assert [one["in_sync"] for one in document["instances"]] == [False, True, False]
    assert [one["address"] for one in document["instances"]] == [f"127.0.0.1:{p}" for p in ports]
    assert len({one["fingerprint"] for one in document["instances"]}) == 3
    assert document["failed"] == []
    alone = proxyctl("plan", "--instance", "px3", "--format", "json").json["instances"]
    assert alone == document["instances"][2:]


def test_one_that_hangs_does_not_hold_the_others(offline: Project, ports: list[int]) -> None:
    """With one of two places taken by it, the others go through the second one."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hangs = f"{{name: hangs, host: 127.0.0.1, port: {silent.getsockname()[1]}}}"
        text = SERVERS + listed(ports, hangs)
        offline.write(text)
        found = proxyctl("plan", "--all", "--parallel", "2")
    assert found.code == 1
    assert "px1, px2, px3  3 instances alike" in found.out
    assert "1 not read: hangs." in found.out


def test_each_has_its_own_variables(offline: Project, ports: list[int]) -> None:
    offline.write(
        "version: 1\nmysql_servers: [{hostgroup_id: 10, hostname: 'db.{{ region }}'}]\n",
        "proxyctl.yaml.j2",
    )
    instances = "instances:\n" + "".join(
        f"  - {{name: px{n}, host: 127.0.0.1, port: {port}, password: admin,"
        f" vars: {{region: {'west' if n == 2 else 'east'}}}}}\n"
        for n, port in enumerate(ports, 1)
    )
    offline.write(instances, "instances.yaml")
    found = proxyctl("plan", "--all", "-f", ".")
    assert "px1, px3  2 instances alike" in found.out
    assert "+ server 10 db.east:3306" in found.out
    assert "+ server 10 db.west:3306" in found.out


def test_it_stops_where_one_fails(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports))
    hold_lock_of(ports[1])
    options = ("--auto-approve", "--lock-timeout", "0")
    found = proxyctl("apply", "--all", *options)
    assert found.code == 4, found.text
    assert f"px2  127.0.0.1:{ports[1]}: failed\n" in found.out
    assert "is locked: apply by pid 1 on elsewhere" in found.out
    last = "Fleet of 3 instances: 1 applied: px1; 1 failed: px2; 1 not touched: px3.\n"
    assert found.out.endswith(last)

    again = proxyctl("apply", "--all", *options, "--max-unavailable", "2")
    assert again.out.endswith("Fleet of 3 instances: 1 applied: px3; 1 in sync; 1 failed: px2.\n")
    plans = proxyctl("plan", "--all", "--format", "json").json["instances"]
    assert [one["in_sync"] for one in plans] == [True, False, True]


def test_it_stops_where_a_server_gets_shunned(offline: Project, ports: list[int]) -> None:
    """Who was SHUNNED before is no news."""
    offline.write(SERVERS.replace("db1", "db1, status: SHUNNED") + listed(ports))
    apply = ("apply", "--all", "--auto-approve")
    found = proxyctl(*apply)
    assert found.code == 4, found.text
    assert f"px1  127.0.0.1:{ports[0]}: applied\n  SHUNNED since: db1:3306\n" in found.out
    assert found.out.endswith("Fleet of 3 instances: 1 applied: px1; 2 not touched: px2, px3.\n")
    (one, *_) = proxyctl(*apply, "--format", "json").json["instances"]
    assert one["state"] == "in sync"
    applied("--instance", "px2")
    applied("--instance", "px3")
    offline.write(SERVERS.replace("db1", "db1, weight: 2, status: SHUNNED") + listed(ports))
    assert proxyctl(*apply).code == 0


def make_members(ports: list[int]) -> None:
    """Let instances be members of one ProxySQL Cluster."""
    for port in ports:
        instance = Instance("127.0.0.1", port)
        instance.execute("INSERT INTO proxysql_servers (hostname) VALUES ('px1')")
        instance.execute("LOAD PROXYSQL SERVERS TO RUNTIME")


def test_members_of_a_cluster_do_not_change_at_the_same_time(
    offline: Project, ports: list[int]
) -> None:
    make_members(ports[:2])
    offline.write(SERVERS + listed(ports))
    found = proxyctl("apply", "--all", "--auto-approve", "--max-unavailable", "2")
    # Sandboxes take nothing over from one another: each is changed, as part of one batch.
    assert found.code == 0, found.text
    assert "Fleet of 3 instances: 3 applied: px1, px2, px3.\n" in found.out
    assert "One ProxySQL Cluster: px1, px2; px1 is changed first.\n" in found.out
    assert "batch 1 of 1: px1 + px2 (one ProxySQL Cluster), px3\n" in found.err
    lines = found.err.splitlines()
    assert lines.index("px1: SAVE MYSQL SERVERS TO DISK") < lines.index(
        "px2: MYSQL SERVERS: write MEMORY"
    )
