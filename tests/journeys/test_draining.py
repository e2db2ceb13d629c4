"""nodes drain and nodes restore, where no monitor places servers: on the sandbox, and for real."""

from __future__ import annotations

import json

from tests.journeys.drained_servers import FILES, drained, layer, servers, statuses
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

__all__ = ["servers"]


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
