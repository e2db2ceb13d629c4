"""nodes drain and nodes restore with --all: one instance after the other, and a drain undone."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.held_lock import hold_lock
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import ended, listed
from tests.support.servers.instances import Instance
from tests.support.waiting import until

DOWN = "{name: down, host: 127.0.0.1, port: 1}"


@pytest.fixture
def fleet(offline: Project) -> Iterator[list[Sandbox]]:
    """Three sandboxes with db1 and db2 in hostgroup 10; the files list them."""
    with ExitStack() as stack:
        sandboxes = [stack.enter_context(Sandbox()) for _ in range(3)]
        for sandbox in sandboxes:
            hold(sandbox, "db1", "db2")
        offline.write(files(sandboxes))
        yield sandboxes


def files(sandboxes: list[Sandbox], *more: str) -> str:
    return "version: 1\n" + listed([sandbox.port for sandbox in sandboxes], *more)


def hold(sandbox: Sandbox, *servers: str, hostgroup: int = 10) -> None:
    """Let a sandbox hold these servers, and no others, in all layers."""
    sandbox.run("DELETE FROM mysql_servers")
    for server in servers:
        host, _, port = server.partition(":")
        sandbox.run(
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port)"
            f" VALUES ({hostgroup}, '{host}', {port or 3306})"
        )
    sandbox.run("LOAD MYSQL SERVERS TO RUNTIME")
    sandbox.run("SAVE MYSQL SERVERS TO DISK")


def statuses(sandboxes: list[Sandbox], host: str = "db2") -> list[str]:
    """Return the status of a server at RUNTIME of each instance; '' where there is none."""
    return [
        "".join(
            str(row["status"])
            for row in sandbox.runtime["mysql_servers"]
            if row["hostname"] == host
        )
        for sandbox in sandboxes
    ]


def states(found: Outcome) -> dict[str, str]:
    return {instance["name"]: instance["state"] for instance in found.json["instances"]}


def drain(*arguments: str) -> Outcome:
    return proxyctl("nodes", "drain", "db2", "--all", *arguments)


def restore(*arguments: str) -> Outcome:
    return proxyctl("nodes", "restore", "db2", "--all", *arguments)


OUT = "OFFLINE_SOFT"


def test_a_node_is_drained_everywhere_and_comes_back(fleet: list[Sandbox]) -> None:
    found = drain()
    assert found.code == 0, found.text
    assert found.out == (
        "Fleet of 3 instances: 3 drained: px1, px2, px3.\ndb2:3306: no connection is in use\n"
    )
    assert found.err.splitlines() == [f"px{n}: db2:3306 is drained" for n in (1, 2, 3)]
    assert statuses(fleet) == [OUT] * 3
    assert statuses(fleet, "db1") == ["ONLINE"] * 3
    again = drain("--no-wait")
    assert again.out == "Fleet of 3 instances: 3 already drained: px1, px2, px3.\n"
    back = restore()
    assert (back.code, back.out) == (0, "Fleet of 3 instances: 3 restored: px1, px2, px3.\n")
    assert statuses(fleet) == ["ONLINE"] * 3
    assert restore().out == "Fleet of 3 instances: 3 not drained: px1, px2, px3.\n"


def test_json(fleet: list[Sandbox]) -> None:
    document = drain("--format", "json").json
    assert (document["hostname"], document["port"], document["interrupted"]) == ("db2", 3306, False)
    assert document["instances"][0] == {
        "name": "px1",
        "address": f"127.0.0.1:{fleet[0].port}",
        "state": "drained",
        "unused": True,
        "problems": [],
    }
    assert document["failed"] == []
    assert states(restore("--format", "json")) == dict.fromkeys(("px1", "px2", "px3"), "restored")


def test_an_instance_without_the_node_is_named(fleet: list[Sandbox]) -> None:
    hold(fleet[1], "db1")
    found = drain("--no-wait")
    assert found.code == 0
    assert found.out == "Fleet of 3 instances: 2 drained: px1, px3; 1 not there: px2.\n"
    assert "1 not there: px2" in restore().out


def test_a_comment_names_the_node(fleet: list[Sandbox]) -> None:
    for sandbox in fleet:
        sandbox.run("UPDATE mysql_servers SET comment = 'replica' WHERE hostname = 'db2'")
        sandbox.run("LOAD MYSQL SERVERS TO RUNTIME")
        sandbox.run("SAVE MYSQL SERVERS TO DISK")
    ended(proxyctl("nodes", "drain", "db9", "--all"), 64, "db1:3306, db2:3306 (replica)")
    assert proxyctl("nodes", "drain", "replica", "--all", "--no-wait").code == 0
    assert statuses(fleet) == [OUT] * 3


def test_a_node_that_no_instance_has(fleet: list[Sandbox]) -> None:
    ended(proxyctl("nodes", "drain", "db9", "--all"), 64, "db9: no such node", "db1:3306, db2:3306")
    hold(fleet[2], "db1", "db2:3307")
    ended(drain(), 64, "db2: several nodes with that name", "db2:3306, db2:3307")
    assert statuses(fleet) == ["ONLINE"] * 3


def test_where_one_refuses_the_others_are_restored(fleet: list[Sandbox]) -> None:
    """Except one that was drained before."""
    assert proxyctl("nodes", "drain", "db2", "--instance", "px1").code == 0
    hold(fleet[2], "db2")
    fleet[2].run("INSERT INTO mysql_users (username, default_hostgroup) VALUES ('app', 10)")
    fleet[2].run("LOAD MYSQL USERS TO RUNTIME")
    found = drain()
    assert found.code == 4, found.text
    assert found.out == (
        f"px3  127.0.0.1:{fleet[2].port}: failed\n"
        "  db2:3306: not drained\n"
        "    db2:3306 is the last usable server of hostgroup 10\n"
        "  fix: restore or add another node there first; or allow it with --force\n"
        "Fleet of 3 instances: 1 already drained: px1; 1 drained and restored: px2;"
        " 1 failed: px3.\n"
    )
    assert "px2: db2:3306 is restored, because the drain stopped\n" in found.err
    assert statuses(fleet) == [OUT, "ONLINE", "ONLINE"]
    assert drain("--force").code == 0
    assert statuses(fleet) == [OUT] * 3


def test_where_the_first_one_refuses_nothing_was_changed(fleet: list[Sandbox]) -> None:
    hold_lock(Instance("127.0.0.1", fleet[0].port), host="elsewhere", pid=1, for_s=600)
    found = drain("--lock-timeout", "0")
    ended(found, 3)
    assert found.out.endswith("Fleet of 3 instances: 1 failed: px1; 2 not touched: px2, px3.\n")
    going = drain("--lock-timeout", "0", "--keep-going", "--no-wait")
    ended(going, 4)
    assert going.out.endswith("Fleet of 3 instances: 2 drained: px2, px3; 1 failed: px1.\n")
    assert statuses(fleet) == ["ONLINE", OUT, OUT]


def test_a_restore_stops_where_one_refuses_and_undoes_nothing(fleet: list[Sandbox]) -> None:
    assert drain().code == 0
    hold_lock(Instance("127.0.0.1", fleet[1].port), host="elsewhere", pid=1, for_s=600)
    found = restore("--lock-timeout", "0")
    ended(found, 4)
    last = "Fleet of 3 instances: 1 restored: px1; 1 failed: px2; 1 not touched: px3.\n"
    assert found.out.endswith(last)
    assert statuses(fleet) == ["ONLINE", OUT, OUT]
    ended(restore("--lock-timeout", "0", "--keep-going"), 4)
    assert statuses(fleet) == ["ONLINE", OUT, "ONLINE"]


def test_an_interrupt_undoes_it(fleet: list[Sandbox]) -> None:
    def interrupt(sql: str) -> None:
        if sql == "LOAD MYSQL SERVERS TO RUNTIME":
            os.kill(os.getpid(), signal.SIGTERM)

    fleet[1].options.before_statement = interrupt
    found = drain()
    assert found.code == 130, found.text
    assert found.out.endswith(
        "Fleet of 3 instances: 2 drained and restored: px1, px2; 1 not touched: px3.\n"
    )
    assert statuses(fleet) == ["ONLINE"] * 3


def test_one_that_cannot_be_read(fleet: list[Sandbox], offline: Project) -> None:
    offline.write(files(fleet, DOWN))
    found = drain()
    assert found.code == 1, found.text
    assert "error: cannot connect to 127.0.0.1:1: refused" in found.out
    assert (
        "fix: correct what the error says, and run it again; or --keep-going changes" in found.out
    )
    last = "Fleet of 4 instances: 3 not touched: px1, px2, px3; 1 not read: down.\n"
    assert found.out.endswith(last)
    assert statuses(fleet) == ["ONLINE"] * 3
    going = drain("--keep-going", "--format", "json")
    assert going.code == 4
    assert states(going) == dict.fromkeys(("px1", "px2", "px3"), "drained")
    assert [instance["name"] for instance in going.json["failed"]] == ["down"]


def test_none_can_be_read(offline: Project) -> None:
    offline.write(f"version: 1\ninstances: [{DOWN}]\n")
    found = drain("--keep-going")
    assert (found.code, found.out.splitlines()[-1]) == (
        1,
        "Fleet of 1 instance: 1 not read: down.",
    )


def test_members_of_one_cluster_are_refused(fleet: list[Sandbox]) -> None:
    for sandbox in fleet[:2]:
        sandbox.run("INSERT INTO proxysql_servers (hostname) VALUES ('px1')")
        sandbox.run("LOAD PROXYSQL SERVERS TO RUNTIME")
    found = drain()
    ended(found, 3, "no instance was changed: px1, px2 are members of one ProxySQL Cluster")
    assert statuses(fleet) == ["ONLINE"] * 3
    hold(fleet[1], "db1")
    assert drain().code == 0, "only one of the members has the node"


def test_keep_going_is_for_all(fleet: list[Sandbox]) -> None:
    found = proxyctl("nodes", "drain", "db2", "--keep-going", "--instance", "px1")
    ended(found, 64, "--keep-going needs --all")
    assert statuses(fleet) == ["ONLINE"] * 3


# -- the wait --------------------------------------------------------------------------------------


def use(sandbox: Sandbox, used: int) -> None:
    """Let a sandbox show so many connections in use to db2."""
    pool = (10, "db2", 3306, OUT, used, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    sandbox.stats["stats_mysql_connection_pool"] = [pool]


def test_it_waits_for_all_of_them(fleet: list[Sandbox]) -> None:
    for sandbox in fleet[1:]:
        use(sandbox, 3)
    found: list[Outcome] = []
    thread = threading.Thread(target=lambda: found.append(drain("--format", "json")))
    thread.start()
    until(lambda: statuses(fleet) == [OUT] * 3)
    use(fleet[2], 0)
    thread.join(0.5)
    assert thread.is_alive(), "px2 still uses the node"
    use(fleet[1], 0)
    thread.join(30)
    assert found[0].code == 0, found[0].text
    assert [instance["unused"] for instance in found[0].json["instances"]] == [True] * 3


def test_those_that_still_use_it_are_named(fleet: list[Sandbox]) -> None:
    use(fleet[1], 3)
    found = drain("--timeout", "0")
    assert found.code == 4, found.text
    assert found.out == (
        f"px2  127.0.0.1:{fleet[1].port}: drained\n"
        "  db2:3306 is drained, but 3 connections to it are still in use after 0 s\n"
        "  fix: return it to service with proxyctl nodes restore db2:3306\n"
        "Fleet of 3 instances: 3 drained: px1, px2, px3.\n"
    )
    assert statuses(fleet) == [OUT] * 3
