"""nodes drain and nodes restore, where no monitor places servers: on the sandbox, and for real."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import record_drain
from proxyctl.admin.lock import Lock
from proxyctl.admin.login import Login
from proxyctl.admin.read import TableReader, read_layouts
from proxyctl.state import Layer
from tests.cli import Outcome, Project, proxyctl
from tests.servers import Instance

FILES = """\
version: 1
mysql_servers:
  - {hostgroup_id: 10, hostname: db1, weight: 5}
  - {hostgroup_id: 10, hostname: db2}
  - {hostgroup_id: 20, hostname: db2, max_connections: 50}
  - {hostgroup_id: 20, hostname: db3, port: 3307}
"""


@pytest.fixture
def servers(project: Project, instance: Instance) -> Instance:
    """An instance that holds the servers of the files."""
    project.connect(instance)
    project.write(FILES)
    done = proxyctl("apply", "--auto-approve")
    assert done.code == 0, done.text
    return instance


def layer(instance: Instance, table: str) -> list[tuple[str | None, ...]]:
    return instance.query(f"SELECT * FROM {table} ORDER BY hostgroup_id, hostname")


def statuses(instance: Instance, host: str) -> set[str]:
    rows = instance.query(f"SELECT status FROM runtime_mysql_servers WHERE hostname='{host}'")
    return {str(status) for (status,) in rows}


def drained(*arguments: str) -> Outcome:
    done = proxyctl("nodes", "drain", *arguments)
    assert done.code == 0, done.text
    return done


def test_a_drained_server_is_soft_at_runtime_only_and_comes_back_exactly(
    servers: Instance,
) -> None:
    before = {
        table: layer(servers, table)
        for table in ("runtime_mysql_servers", "mysql_servers", "disk.mysql_servers")
    }
    said = drained("db2", "--reason", "new disks")
    assert "db2:3306 is drained" in said.out
    assert "db2:3306: no connection is in use" in said.out
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    assert statuses(servers, "db1") == {"ONLINE"}
    for table in ("mysql_servers", "disk.mysql_servers"):
        assert layer(servers, table) == before[table]

    restored = proxyctl("nodes", "restore", "db2:3306")
    assert restored.code == 0, restored.text
    assert "db2:3306 is back (drained by" in restored.out
    assert {table: layer(servers, table) for table in before} == before
    again = proxyctl("nodes", "restore", "db2")
    assert (again.code, again.out) == (0, "db2:3306 is not drained: nothing to do\n")


def test_everybody_sees_who_drained_it_and_nobody_calls_it_drift(servers: Instance) -> None:
    drained("db2", "--reason", "new disks")
    drift = proxyctl("drift")
    assert drift.code == 0, drift.text
    assert "no drift (db2:3306 drained by" in drift.out
    assert "UTC: new disks)" in drift.out
    plan = proxyctl("plan", "--detailed-exitcode")
    assert plan.code == 0, plan.text
    assert "db2:3306 drained by" in plan.out
    listed = proxyctl("nodes", "list", "--no-ask")
    assert "drained by" in listed.out
    twice = drained("db2", "--reason", "new disks")
    assert "db2:3306 is drained already: drained by" in twice.out
    assert twice.err == ""


def test_a_reason_that_comes_too_late_is_said_to_be_dropped(servers: Instance) -> None:
    drained("db2", "--reason", "new disks")
    for form in ("text", "json"):
        again = drained("db2", "--reason", "a kernel", "--format", form)
        assert "the reason 'a kernel' is not noted: the one on record stays" in again.err
        assert "new disks" in again.out
    assert "UTC: new disks)" in proxyctl("drift").out


def test_an_apply_leaves_a_drained_server_drained(servers: Instance, project: Project) -> None:
    drained("db2")
    project.write(FILES.replace("weight: 5", "weight: 6").replace("50", "60"))
    done = proxyctl("apply", "--auto-approve")
    assert done.code == 0, done.text
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    assert ("ONLINE",) in servers.query("SELECT status FROM disk.mysql_servers")
    assert proxyctl("drift").code == 0
    back = proxyctl("nodes", "restore", "db2")
    assert "its configuration was changed in the meantime: it has the new one" in back.out
    assert statuses(servers, "db2") == {"ONLINE"}
    limits = servers.query(
        "SELECT max_connections FROM runtime_mysql_servers WHERE hostname='db2' AND hostgroup_id=20"
    )
    assert limits == [("60",)]
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def test_an_export_does_not_make_a_drain_configuration(servers: Instance) -> None:
    before = proxyctl("export")
    drained("db2")
    assert proxyctl("export").out == before.out
    assert "OFFLINE_SOFT" not in before.out


def test_an_apply_does_not_leave_a_hostgroup_with_drained_servers_only(
    servers: Instance, project: Project
) -> None:
    rule = "mysql_query_rules:\n  - {rule_id: 1, match_digest: ., destination_hostgroup: 10}\n"
    project.write(FILES + rule)
    assert proxyctl("apply", "--auto-approve").code == 0
    drained("db2")
    project.write(FILES.replace("  - {hostgroup_id: 10, hostname: db1, weight: 5}\n", "") + rule)
    refused = proxyctl("apply", "--auto-approve")
    assert refused.code == 3
    assert "hostgroup 10 is used by rules and would have no ONLINE server" in refused.text


def test_the_last_server_of_a_hostgroup_is_not_drained(servers: Instance) -> None:
    drained("db2")
    before = layer(servers, "runtime_mysql_servers")
    refused = proxyctl("nodes", "drain", "db1")
    assert refused.code == 3
    assert "db1:3306 is the last usable node of hostgroup 10   allow with --force" in refused.text
    assert layer(servers, "runtime_mysql_servers") == before
    drained("db1", "--force", "--no-wait")
    assert statuses(servers, "db1") == {"OFFLINE_SOFT"}


def test_edits_that_a_load_would_publish_are_not_published(servers: Instance) -> None:
    servers.execute("UPDATE mysql_servers SET weight=99 WHERE hostname='db1'")
    refused = proxyctl("nodes", "drain", "db2")
    assert refused.code == 3
    assert "weight edited in MEMORY" in refused.text
    assert statuses(servers, "db2") == {"ONLINE"}
    drained("db2", "--include-pending")
    weights = "SELECT weight FROM runtime_mysql_servers WHERE hostname='db1'"
    assert servers.query(weights) == [("99",)]


def test_edits_of_the_drained_server_itself_are_not_published_either(servers: Instance) -> None:
    drained("db2")
    servers.execute("UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='db2'")
    refused = proxyctl("nodes", "restore", "db2")
    assert refused.code == 3
    assert "were edited in MEMORY since it was drained" in refused.text
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    servers.execute("UPDATE mysql_servers SET status='ONLINE', weight=7 WHERE hostname='db2'")
    restored = proxyctl("nodes", "restore", "db2", "--include-pending")
    assert restored.code == 0, restored.text
    assert "its configuration was changed in the meantime" in restored.out
    weights = "SELECT DISTINCT weight, status FROM runtime_mysql_servers WHERE hostname='db2'"
    assert servers.query(weights) == [("7", "ONLINE")]


def test_a_drain_that_somebody_undid_is_no_drain(servers: Instance) -> None:
    drained("db2")
    servers.execute("LOAD MYSQL SERVERS TO RUNTIME")
    assert statuses(servers, "db2") == {"ONLINE"}
    listed = proxyctl("nodes", "list", "--no-ask").out
    assert listed.count("takes connections again, though on record as drained by") == 2
    (node,) = nodes_named("db2", 20)
    assert (node["drained"], node["drain"]["ended"]) == (False, "serves")
    said = proxyctl("nodes", "restore", "db2")
    assert "db2:3306 is as configured; it did not show as drained any more" in said.out
    assert "drained" not in proxyctl("nodes", "list", "--no-ask").out


def nodes_named(host: str, hostgroup: int) -> list[dict[str, Any]]:
    """Return what nodes list has of a server in a hostgroup."""
    groups = proxyctl("nodes", "list", "--no-ask", "--format", "json").json["groups"]
    return [
        node
        for group in groups
        if group["hostgroups"][0]["hostgroup_id"] == hostgroup
        for node in group["nodes"]
        if node["hostname"] == host
    ]


def test_a_drained_server_that_somebody_removed_is_said_until_it_is_off_the_record(
    servers: Instance,
) -> None:
    drained("db3", "--force", "--reason", "old")
    assert nodes_named("db3", 20)[0]["drain"]["ended"] is None
    for sql in ("DELETE FROM mysql_servers WHERE hostname='db3'", "LOAD MYSQL SERVERS TO RUNTIME"):
        servers.execute(sql)
    gone = "db3:3307 is not at RUNTIME any more, though on record as drained by"
    assert gone in proxyctl("nodes", "list", "--no-ask").out
    (node,) = proxyctl("nodes", "list", "--no-ask", "--format", "json").json["removed"]
    assert (node["hostname"], node["port"], node["drain"]["reason"]) == ("db3", 3307, "old")
    assert gone in proxyctl("drift").out
    (found,) = undone_drains()
    assert found["way_out"] == "`proxyctl nodes restore db3:3307` takes it off the record"

    restored = proxyctl("nodes", "restore", "db3")
    assert restored.code == 0, restored.text
    assert "db3:3307 is no server any more, and is off the record (drained by" in restored.out
    assert "db3" not in proxyctl("nodes", "list", "--no-ask").out
    assert undone_drains() == []


@pytest.mark.parametrize(
    "removes", ["DELETE FROM mysql_servers", "UPDATE mysql_servers SET status='OFFLINE_HARD'"]
)
def test_a_drained_server_that_somebody_removed_is_not_drained_again(
    servers: Instance, removes: str
) -> None:
    drained("db3", "--force", "--reason", "old")
    for sql in (f"{removes} WHERE hostname='db3'", "LOAD MYSQL SERVERS TO RUNTIME"):
        servers.execute(sql)
    before = layer(servers, "runtime_mysql_servers")
    again = proxyctl("nodes", "drain", "db3", "--force")
    assert again.code == 64, again.text
    assert "db3: no such node" in again.err
    assert "proxyctl nodes restore db3:3307 takes it off the record" in again.err
    assert layer(servers, "runtime_mysql_servers") == before
    assert "drained by" in proxyctl("nodes", "list", "--no-ask").out
    assert "db3:3307 is no server any more" in proxyctl("nodes", "restore", "db3").out
    again = proxyctl("nodes", "drain", "db3", "--force")
    assert "no such node" in again.err or "db3:3307 has OFFLINE_HARD in MEMORY" in again.err
    assert layer(servers, "runtime_mysql_servers") == before


def test_a_drained_server_that_leaves_memory_leaves_with_its_restore(servers: Instance) -> None:
    drained("db2")
    servers.execute("DELETE FROM mysql_servers WHERE hostname='db2'")
    refused = proxyctl("nodes", "restore", "db2")
    assert refused.code == 3
    assert "--include-pending" in refused.err
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    restored = proxyctl("nodes", "restore", "db2", "--include-pending")
    assert restored.code == 0, restored.text
    assert "db2:3306 is no server any more, and is off the record (drained by" in restored.out
    assert statuses(servers, "db2") == set()
    assert statuses(servers, "db1") == {"ONLINE"}
    assert "db2" not in proxyctl("nodes", "list", "--no-ask").out


def test_a_drain_that_somebody_undid_is_said_until_it_is_off_the_record(servers: Instance) -> None:
    drained("db2", "--reason", "new disks")
    servers.execute("LOAD MYSQL SERVERS TO RUNTIME")
    drift = proxyctl("drift")
    assert drift.code == 0, drift.text
    assert "no drift (db2:3306 takes connections again, though on record as drained by" in drift.out
    assert "UTC: new disks)" in drift.out
    (found,) = undone_drains()
    assert (found["where"], found["severity"]) == ("db2:3306", "warning")
    assert "UTC: new disks" in found["message"]
    assert found["way_out"].startswith("`proxyctl nodes drain db2:3306`")

    assert proxyctl("nodes", "restore", "db2").code == 0
    assert "db2" not in proxyctl("drift").out
    assert undone_drains() == []


def test_a_drain_that_somebody_undid_in_one_hostgroup_is_said_too(servers: Instance) -> None:
    drained("db2")
    servers.execute("UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostgroup_id=20")
    servers.execute("LOAD MYSQL SERVERS TO RUNTIME")
    assert statuses(servers, "db2") == {"ONLINE", "OFFLINE_SOFT"}
    assert [one["where"] for one in undone_drains()] == ["db2:3306"]
    assert nodes_named("db2", 10)[0]["drain"]["ended"] == "serves"
    assert nodes_named("db2", 20)[0]["drain"]["ended"] is None


def undone_drains() -> list[dict[str, str]]:
    """Return what doctor finds about drains that are over."""
    found = proxyctl("doctor", "--no-ask", "--format", "json").json["findings"]
    return [one for one in found if one["code"] == "drain-undone"]


def test_what_a_dead_drain_left_in_memory_is_put_right(servers: Instance) -> None:
    before = layer(servers, "mysql_servers")
    die_half_way(servers)
    assert layer(servers, "mysql_servers") != before
    said = proxyctl("nodes", "restore", "db2")
    assert said.code == 0, said.text
    assert layer(servers, "mysql_servers") == before
    assert statuses(servers, "db2") == {"ONLINE"}
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def test_a_dead_drain_is_finished_by_a_second_one(servers: Instance) -> None:
    before = layer(servers, "mysql_servers")
    die_half_way(servers)
    drained("db2")
    assert layer(servers, "mysql_servers") == before
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    assert proxyctl("nodes", "restore", "db2").code == 0
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def die_half_way(instance: Instance) -> None:
    """Leave what a drain leaves that is killed after its LOAD: its rows in MEMORY, and its lock."""
    login = Login(instance.host, instance.port, instance.user, instance.password)
    with AdminClient(login) as client:
        lock = Lock(client, "nodes drain db2")
        lock.take(timeout_s=5)
        layout = read_layouts(client)["mysql_servers"]
        memory = TableReader(client).read(layout, Layer.MEMORY)
        record_drain(client, ("db2", 3306), "anna on ops1", "", memory)
        lock.mark("staging MEMORY", ("MYSQL SERVERS",))
    instance.execute("UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='db2'")
    instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    instance.execute("UPDATE proxyctl_lock SET expires=0")


def test_a_server_that_is_not_there_is_named(servers: Instance) -> None:
    wrong = proxyctl("nodes", "drain", "db9")
    assert wrong.code == 64
    assert "db9: no such node" in wrong.text
    assert "db1:3306, db2:3306, db3:3307" in wrong.text
    other_port = proxyctl("nodes", "drain", "db1:3307")
    assert other_port.code == 64


def test_of_many_servers_the_nearest_name_is_told(servers: Instance) -> None:
    for number in range(40):
        servers.execute(
            f"INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (30, 'shop-{number}')"
        )
    near = proxyctl("nodes", "drain", "shop-7x:3306")
    assert near.code == 64
    assert "did you mean shop-7:3306?" in near.text
    far = proxyctl("nodes", "drain", "elsewhere")
    assert "and 35 more" in far.text


def test_a_socket_and_an_ipv6_address_are_named_as_one_writes_them(servers: Instance) -> None:
    for host, port in (("/run/mysqld/mysqld.sock", 0), ("fd00::7", 3306)):
        servers.execute(
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port)"
            f" VALUES (30, '{host}', {port})"
        )
    servers.execute("LOAD MYSQL SERVERS TO RUNTIME")
    said = drained("/run/mysqld/mysqld.sock")
    assert said.out.startswith("/run/mysqld/mysqld.sock is drained")
    assert "  /run/mysqld/mysqld.sock  OFFLINE_SOFT" in proxyctl("nodes", "list", "--no-ask").out
    assert proxyctl("nodes", "restore", "/run/mysqld/mysqld.sock").code == 0
    assert drained("[fd00::7]").out.startswith("fd00::7:3306 is drained")


def test_going_back_to_a_snapshot_of_a_drained_server_does_not_configure_the_drain(
    servers: Instance, project: Project
) -> None:
    configured = layer(servers, "disk.mysql_servers")
    drained("db2")
    project.write(FILES.replace("weight: 5", "weight: 6"))
    assert proxyctl("apply", "--auto-approve").code == 0
    back = proxyctl("rollback", "--auto-approve")
    assert back.code == 0, back.text
    assert layer(servers, "disk.mysql_servers") == configured
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    assert proxyctl("nodes", "restore", "db2").code == 0
    again = proxyctl("rollback", "--auto-approve", "2")
    assert "db2" not in "".join(line for line in again.out.splitlines() if "->" in line)
    assert layer(servers, "disk.mysql_servers") == configured


def test_what_was_done_is_json_on_stdout_and_progress_is_not(servers: Instance) -> None:
    said = json.loads(drained("db2", "--reason", "new disks", "--format", "json").out)
    assert (said["hostname"], said["port"]) == ("db2", 3306)
    assert (said["was_before"], said["unused"]) == (False, True)
    assert (said["drain"]["reason"], said["drain"]["method"]) == ("new disks", "proxysql")
    again = json.loads(drained("db2", "--no-wait", "--format", "json").out)
    assert (again["was_before"], again["unused"]) == (True, False)
    assert again["drain"] == said["drain"]
    refused = proxyctl("nodes", "drain", "db1", "--format", "json")
    assert refused.code == 3
    assert "last usable node" in str(json.loads(refused.out)["error"])
    back = json.loads(proxyctl("nodes", "restore", "db2", "--format", "json").out)
    assert (back["was_drained"], back["changed"]) == (True, False)
    assert back["drain"] == said["drain"]
    nothing = json.loads(proxyctl("nodes", "restore", "db2", "--format", "json").out)
    assert (nothing["was_drained"], nothing["drain"]) == (False, None)


def test_pxc_maint_mode_is_not_tried_where_no_galera_monitor_looks(servers: Instance) -> None:
    before = layer(servers, "runtime_mysql_servers")
    refused = proxyctl("nodes", "drain", "db2", "--method", "pxc_maint_mode")
    assert refused.code == 3
    assert "db2:3306 is in hostgroup 10, where no Galera monitor looks after it" in refused.text
    assert layer(servers, "runtime_mysql_servers") == before


def test_what_the_configuration_itself_takes_out_is_neither_drained_nor_restored(
    servers: Instance,
) -> None:
    for sql in (
        "UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='db2'",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ):
        servers.execute(sql)
    before = layer(servers, "runtime_mysql_servers")
    for action in ("drain", "restore"):
        refused = proxyctl("nodes", action, "db2")
        assert refused.code == 3
        assert "db2:3306 has OFFLINE_SOFT in MEMORY, and is not on record" in refused.text
    assert layer(servers, "runtime_mysql_servers") == before


def test_a_server_that_was_removed_is_not_drained_when_it_comes_again(
    servers: Instance, project: Project
) -> None:
    drained("db2", "--reason", "old")
    project.write("".join(line for line in FILES.splitlines(True) if "db2" not in line))
    assert proxyctl("apply", "--auto-approve").code == 0
    project.write(FILES)
    assert proxyctl("apply", "--auto-approve").code == 0
    assert statuses(servers, "db2") == {"ONLINE"}
    # The same by hand, loaded and MEMORY put back, is nothing that was asked of proxyctl.
    for status in ("OFFLINE_SOFT", "ONLINE"):
        servers.execute(f"UPDATE mysql_servers SET status='{status}' WHERE hostname='db2'")
        if status == "OFFLINE_SOFT":
            servers.execute("LOAD MYSQL SERVERS TO RUNTIME")
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    assert "drained by" not in proxyctl("nodes", "list", "--no-ask").out
    drift = proxyctl("drift")
    assert "OFFLINE_SOFT, set by an operator" in drift.out
    assert "drained by" not in drift.out


def test_an_apply_that_ends_a_half_drain_leaves_no_record_of_it(
    servers: Instance, project: Project
) -> None:
    die_half_way(servers)
    for sql in (
        "UPDATE mysql_servers SET status='ONLINE', weight=2 WHERE hostname='db2'",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ):
        servers.execute(sql)
    assert "half drained" in proxyctl("nodes", "list", "--no-ask").out
    drift = proxyctl("drift")
    assert "nodes drain db2 by pid" in drift.out
    assert "the next apply goes on" not in drift.out
    assert "`nodes restore` puts the node back" in drift.out
    assert proxyctl("apply", "--auto-approve").code == 0
    assert "drained" not in proxyctl("nodes", "list", "--no-ask").out
    assert "drained" not in proxyctl("doctor", "--no-ask").out
    assert proxyctl("drift").code == 0
