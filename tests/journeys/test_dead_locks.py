"""The lock of a proxyctl that was killed, and what it left behind."""

from __future__ import annotations

import pytest

from tests.faults.proxy import FaultyProxy
from tests.journeys.held_lock import drop_lock, hold_dead_lock, hold_lock
from tests.journeys.killable import Killable
from tests.journeys.layers import everywhere, in_layers
from tests.journeys.story import FILES, MANY, applied, apply, plan
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance


@pytest.mark.parametrize("death", ["expired", "killed here"])
def test_a_dead_lock_is_taken_over_and_its_leftovers_are_ours(
    project: Project, instance: Instance, death: str
) -> None:
    project.write(FILES)
    applied()
    changed = FILES.replace("'^SELECT', destination_hostgroup: reader", "'^SELECT', cache_ttl: 5")
    project.write(changed)
    # The dead one was staging a change of ours that is not the one in the files now.
    instance.execute("UPDATE mysql_query_rules SET cache_ttl=4 WHERE rule_id=20")
    assert apply().code == 3
    if death == "expired":
        modules = '{"MYSQL QUERY RULES": true}'
        hold_lock(instance, host="elsewhere", pid=1, modules=modules, for_s=-1)
    else:
        hold_dead_lock(instance, "MYSQL QUERY RULES")
    applied("--lock-timeout", "0")
    assert plan().code == 0
    drop_lock(instance)


@pytest.mark.parametrize("way", ["saved plan", "unlocked", "refused before"])
def test_leftovers_of_a_dead_apply_stay_ours_until_one_finishes(
    project: Project, instance: Instance, way: str
) -> None:
    project.write(FILES)
    applied()
    instance.execute("UPDATE mysql_query_rules SET cache_ttl=4 WHERE rule_id=20")
    hold_dead_lock(instance, "MYSQL QUERY RULES")
    shown = plan("--out", "plan.out")
    assert "refused" not in shown.out
    assert "the next apply begins with LOAD MYSQL QUERY RULES FROM DISK" in shown.out
    if way == "unlocked":
        said = proxyctl("unlock").err
        assert "removed the lock" in said
        assert "LOAD MYSQL QUERY RULES FROM DISK;\n" in said
        assert proxyctl("unlock").err == "there is no lock\n"
    if way == "refused before":
        instance.execute("UPDATE mysql_users SET default_schema='x'")
        assert apply().code == 3
        instance.execute("UPDATE mysql_users SET default_schema=NULL")
    done = apply() if way == "unlocked" else proxyctl("apply", "plan.out")
    assert done.code == 0, done.text
    assert plan().code == 0
    assert instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]
    drop_lock(instance)


def test_where_memory_had_edits_before_they_are_listed_and_nothing_is_put_back(
    project: Project, instance: Instance
) -> None:
    scope = "\nmanage:\n  mysql_query_rules: {rule_id: '10-99'}\n"
    project.write(FILES + scope)
    applied()
    project.write(FILES.replace("'^SELECT', dest", "'^SELECT', cache_ttl: 5, dest") + scope)
    instance.execute("UPDATE mysql_query_rules SET cache_ttl=5 WHERE rule_id=20")
    instance.execute("INSERT INTO mysql_query_rules (rule_id, active) VALUES (500, 1)")
    hold_dead_lock(instance, "MYSQL QUERY RULES", was_saved=False)
    assert "which held edits that are not on DISK" in plan().out
    assert "MEMORY held edits that are not on DISK" in proxyctl("unlock").err
    refused = apply()
    assert refused.code == 3
    assert "rule 500: row added in MEMORY" in refused.text
    assert "rule 20: row" not in refused.text
    assert "rule 20: cache_ttl" not in refused.text
    assert ("500",) in instance.query("SELECT rule_id FROM mysql_query_rules")
    instance.execute("DELETE FROM mysql_query_rules WHERE rule_id=500")
    applied()
    assert plan().code == 0
    drop_lock(instance)


def test_a_lock_that_names_what_is_no_module_is_taken_over(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    """Anybody may write the row."""
    sandbox_project.write(FILES)
    hold_dead_lock(sandbox_instance, "no such module", "MYSQL USERS; PROXYSQL SHUTDOWN")
    assert plan().code == 2
    applied()
    assert plan().code == 0
    drop_lock(sandbox_instance)


PXC = """\
pxc_clusters:
  - name: main
    writer_hostgroup: 10
    backup_writer_hostgroup: 20
    reader_hostgroup: 30
    offline_hostgroup: 40
    max_writers: 1
    writer_is_also_reader: 2
    node_defaults: {weight: WEIGHT}
    nodes: [{hostname: pxc1}, {hostname: pxc2}]
"""


def test_a_staged_placement_is_not_taken_for_configuration(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    instance, project = sandbox_instance, sandbox_project
    instance.execute("SET mysql-monitor_enabled='true'")
    instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    project.write(PXC.replace("WEIGHT", "1"))
    applied()
    project.write(PXC.replace("WEIGHT", "2"))
    # What a LOAD of a placed cluster needs in MEMORY, left by an apply that died behind it.
    instance.execute("DELETE FROM mysql_servers")
    instance.execute(
        "INSERT INTO mysql_servers (hostgroup_id, hostname, weight, status) VALUES"
        " (10, 'pxc1', 2, 'ONLINE'), (10, 'pxc2', 2, 'SHUNNED'), (20, 'pxc2', 2, 'ONLINE'),"
        " (30, 'pxc2', 2, 'ONLINE')"
    )
    instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    hold_dead_lock(instance, "MYSQL SERVERS")
    applied()
    rows = [("10", "pxc1", "2", "ONLINE"), ("10", "pxc2", "2", "ONLINE")]
    for layer in ("main", "disk"):
        table = f"{layer}.mysql_servers"
        found = instance.query(f"SELECT hostgroup_id, hostname, weight, status FROM {table}")
        assert sorted(found) == rows
    assert plan().code == 0
    drop_lock(instance)


@pytest.mark.parametrize("stage", ["staging MEMORY", "LOAD", "SAVE"])
def test_a_second_run_after_a_killed_one_finishes(
    project: Project, instance: Instance, stage: str
) -> None:
    project.write(FILES)
    applied()
    project.write(MANY)
    with FaultyProxy(instance.host, instance.port) as proxy:
        killable = Killable(project, proxy, ("apply", "--auto-approve"))
        killable.kill_after_first(f"UPDATE proxyctl_lock SET stage='{stage}")

    found = in_layers(instance, "SELECT count(*) FROM {}mysql_query_rules")
    whole = {(str(2),), (str(2 + 2900),)}
    assert set(found["RUNTIME"]) <= whole
    assert set(found["DISK"]) <= whole
    applied("--lock-timeout", "0")
    assert everywhere(instance, "SELECT count(*) FROM {}mysql_query_rules") == [("2902",)]
    assert plan().code == 0
    drop_lock(instance)
