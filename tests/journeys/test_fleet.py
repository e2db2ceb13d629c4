"""Many instances at once: each plan is said once, and one that fails does not hold the others."""

from __future__ import annotations

import socket

from tests.journeys.fleet import RULE, SERVERS, hold_lock_of, listed
from tests.journeys.story import said
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance, free_port


def applied(name: str) -> None:
    found = proxyctl("apply", "--auto-approve", "--instance", name)
    assert found.code == 0, found.text


def test_a_plan_is_shown_once_for_all_instances_that_share_it(
    offline: Project, ports: list[int]
) -> None:
    offline.write(SERVERS + listed(ports))
    applied("px3")
    offline.write(SERVERS + RULE + listed(ports))
    found = proxyctl("plan", "--all", "--detailed-exitcode")
    assert found.code == 2, found.text
    assert found.out.count("+ server 10 db1:3306") == 1
    assert "px1, px2  2 instances alike, ProxySQL 2.7.1-sandbox" in found.out
    assert f"px3  127.0.0.1:{ports[2]}  ProxySQL" in found.out
    assert "Fleet of 3 instances: 3 would change in 2 ways: px1, px2; px3.\n" in found.out

    for name in ("px1", "px2", "px3"):
        applied(name)
    done = proxyctl("plan", "--all", "--detailed-exitcode")
    assert (done.code, done.out) == (0, "Fleet of 3 instances: 3 in sync.\n")


def test_json_has_each_instance_under_its_own_name(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports))
    applied("px2")
    document = proxyctl("plan", "--all", "--format", "json").json
    assert [one["name"] for one in document["instances"]] == ["px1", "px2", "px3"]
    assert [one["in_sync"] for one in document["instances"]] == [False, True, False]
    assert [one["address"] for one in document["instances"]] == [f"127.0.0.1:{p}" for p in ports]
    assert len({one["fingerprint"] for one in document["instances"]}) == 3
    assert document["failed"] == []
    alone = proxyctl("plan", "--instance", "px3", "--format", "json").json["instances"]
    assert alone == document["instances"][2:]


def test_an_instance_that_cannot_be_reached(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports, f"{{name: gone, host: 127.0.0.1, port: {free_port()}}}"))
    found = proxyctl("plan", "--all")
    assert found.code == 1
    assert "px1, px2, px3  3 instances alike" in found.out
    assert "error: cannot connect to 127.0.0.1" in found.out
    assert "Fleet of 4 instances: 3 would change: px1, px2, px3, 1 not read: gone." in found.out
    (failed,) = proxyctl("plan", "--all", "--format", "json").json["failed"]
    assert (failed["name"], failed["exit_code"]) == ("gone", 1)
    markdown = proxyctl("plan", "--all", "--format", "markdown").out
    assert "- gone: cannot connect" in markdown
    assert "### proxyctl plan: px1, px2, px3 (" in markdown


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


def test_drift_of_all(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports))
    for name in ("px1", "px2", "px3"):
        applied(name)
    quiet = proxyctl("drift", "--all")
    assert (quiet.code, quiet.out) == (0, "Fleet of 3 instances: 3 without drift.\n")
    assert proxyctl("drift", "--all", "--quiet").out == ""

    offline.write(SERVERS.replace("db1", "db2") + listed(ports))
    applied("px1")
    found = proxyctl("drift", "--all")
    assert found.code == 2
    assert "Fleet of 3 instances: 1 without drift, 2 drifted: px2, px3.\n" in found.out
    assert found.out.count("differ from the files") == 2
    documents = proxyctl("drift", "--all", "--format", "json").json["instances"]
    assert [one["in_sync"] for one in documents] == [True, False, False]
    metrics = proxyctl("drift", "--all", "--format", "prometheus").out
    assert metrics.count("# TYPE proxyctl_drift_in_sync gauge") == 1
    assert f'proxyctl_drift_in_sync{{name="px3",address="127.0.0.1:{ports[2]}"}} 0' in metrics


def test_what_does_not_go_together(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS)
    said(proxyctl("plan", "--all"), 64, "the files list no instances")
    offline.write(SERVERS + listed(ports))
    said(proxyctl("plan", "--all", "--host", "h"), 64, "leave out --host")
    said(proxyctl("plan", "--all", "--instance", "px1"), 64, "leave out --instance")
    said(proxyctl("plan", "--all", "--out", "x"), 64, "need a single instance")
    said(proxyctl("plan", "--all", "--format", "sql"), 64, "needs a single instance")
    said(proxyctl("plan", "--instances-from", "cat x"), 64, "--instances-from needs --all")


def test_apply_changes_one_after_the_other(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports))
    found = proxyctl("apply", "--all", "--auto-approve")
    assert found.code == 0, found.text
    assert "px1, px2, px3  3 instances alike" in found.out
    assert "Fleet of 3 instances: 3 applied: px1, px2, px3.\n" in found.out
    batches = [line for line in found.err.splitlines() if line.startswith("batch")]
    assert batches == ["batch 1 of 3: px1", "batch 2 of 3: px2", "batch 3 of 3: px3"]
    assert "px2: LOAD MYSQL SERVERS TO RUNTIME" in found.err
    again = proxyctl("apply", "--all", "--auto-approve")
    assert (again.code, again.out) == (0, "Fleet of 3 instances: 3 in sync.\n")


def test_in_json_each_has_its_state_also_where_nothing_is_left_to_do(
    offline: Project, ports: list[int]
) -> None:
    offline.write(SERVERS + listed(ports))
    apply = ("apply", "--all", "--auto-approve", "--max-unavailable", "3", "--format", "json")
    for state in ("applied", "in sync"):
        found = proxyctl(*apply)
        assert found.code == 0, found.text
        instances = found.json["instances"]
        assert [one["name"] for one in instances] == ["px1", "px2", "px3"]
        assert {one["state"] for one in instances} == {state}


def test_a_canary_goes_first(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports))
    found = proxyctl("apply", "--all", "--auto-approve", "--strategy", "canary")
    assert found.code == 0, found.text
    assert "batch 1 of 2: px1\n" in found.err
    assert "batch 2 of 2: px2, px3\n" in found.err


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
    applied("px2")
    applied("px3")
    offline.write(SERVERS.replace("db1", "db1, weight: 2, status: SHUNNED") + listed(ports))
    assert proxyctl(*apply).code == 0


def test_one_refusal_stops_all(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS + listed(ports))
    assert proxyctl("apply", "--all", "--auto-approve", "--max-unavailable", "3").code == 0
    offline.write("version: 1\nmysql_servers: []\n" + listed(ports))
    found = proxyctl("apply", "--all", "--auto-approve")
    said(found, 3, "no instance was changed", "px1, px2, px3: mysql_servers: nothing would be left")


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
