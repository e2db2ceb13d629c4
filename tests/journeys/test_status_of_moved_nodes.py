"""A status that an operator set for a node that the monitor had moved, in no file."""

from __future__ import annotations

import pytest

from tests.journeys.layers import in_layers
from tests.journeys.story import applied, plan
from tests.journeys.test_guards import MONITOR
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

FILES = (
    MONITOR
    + """\
mysql_servers:
  - {hostgroup_id: 10, hostname: db1}
  - {hostgroup_id: 10, hostname: db2}
mysql_replication_hostgroups:
  - {writer_hostgroup: 10, reader_hostgroup: 20}
"""
)
ROWS = "SELECT hostgroup_id, status FROM {}mysql_servers WHERE hostname='db2'"


@pytest.mark.parametrize("status", ["OFFLINE_SOFT", "SHUNNED"])
def test_it_is_the_operators_where_runtime_has_it_as_well(
    project: Project, instance: Instance, status: str
) -> None:
    project.write(FILES)
    applied()
    there = f"UPDATE mysql_servers SET status='{status}', hostgroup_id=20 WHERE hostname='db2'"
    back = "UPDATE mysql_servers SET hostgroup_id=10 WHERE hostname='db2'"
    for statement in (there, "LOAD MYSQL SERVERS TO RUNTIME", back, "SAVE MYSQL SERVERS TO DISK"):
        instance.run(statement)
    moved = [("20", status)]
    assert in_layers(instance, ROWS)["RUNTIME"] == moved
    told = f"db2:3306 in hostgroup 20 {status}, set by an operator"
    assert f"no drift ({told})" in proxyctl("drift").out
    assert f"left alone   {told}" in plan().out

    # It stays so when other servers change.
    project.write(FILES.replace("hostname: db1", "hostname: db1, weight: 5"))
    found = applied()
    assert f"left alone   {told}" in found.out
    assert "as the monitor places it" not in found.out
    assert in_layers(instance, ROWS)["RUNTIME"] == moved
    assert f"no drift ({told})" in proxyctl("drift").out


def test_it_is_told_as_memorys_alone_where_runtime_has_another(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    applied()
    for statement in (
        "UPDATE mysql_servers SET hostgroup_id=20 WHERE hostname='db2'",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "UPDATE mysql_servers SET hostgroup_id=10, status='OFFLINE_SOFT' WHERE hostname='db2'",
    ):
        instance.run(statement)
    assert in_layers(instance, ROWS)["RUNTIME"] == [("20", "ONLINE")]
    found = proxyctl("drift").out
    assert "db2:3306 in hostgroup 10 OFFLINE_SOFT in MEMORY" in found
    assert "set by an operator" not in found


@pytest.mark.parametrize("status", ["OFFLINE_SOFT", "SHUNNED"])
def test_it_is_told_once_where_runtime_has_the_node_twice(
    project: Project, instance: Instance, status: str
) -> None:
    """A writer stands among the readers as well."""
    project.write(FILES)
    applied()
    for statement in (
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (20, 'db2')",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "DELETE FROM mysql_servers WHERE hostgroup_id=20",
        f"UPDATE mysql_servers SET status='{status}' WHERE hostname='db2'",
    ):
        instance.run(statement)
    assert sorted(in_layers(instance, ROWS)["RUNTIME"]) == [("10", "ONLINE"), ("20", "ONLINE")]
    told = f"db2:3306 in hostgroup 10 {status} in MEMORY, not loaded"
    assert f"no drift ({told})\n" in proxyctl("drift").out
    metrics = proxyctl("drift", "--format", "prometheus").out.splitlines()
    assert [line[-2:] for line in metrics if "servers_taken_out{" in line] == [" 1"]
