"""A status that somebody wrote into MEMORY of a node whose status is the monitor's at RUNTIME."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.held_lock import hold_dead_lock
from tests.journeys.story import applied, apply, plan, said
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

FAMILY = """\
  - writer_hostgroup: 10
    backup_writer_hostgroup: 20
    reader_hostgroup: 30
    offline_hostgroup: 40
    writer_is_also_reader: 2
"""
GALERA = f"mysql_galera_hostgroups:\n{FAMILY}"
GROUP = f"mysql_group_replication_hostgroups:\n{FAMILY}"
N2 = "n2:3306 in hostgroup 10"
STATUSES = "SELECT status FROM {}mysql_servers WHERE hostname='n2'"
AT_RUNTIME = STATUSES.format("runtime_")


def files(family: str, weight: int = 1) -> str:
    servers = "".join(
        f"  - {{hostgroup_id: 10, hostname: n{number}, weight: {weight}}}\n" for number in (1, 2, 3)
    )
    return f"version: 1\nmysql_servers:\n{servers}{family}"


@pytest.fixture
def monitoring() -> Iterator[Sandbox]:
    with Sandbox(variables={"mysql-monitor_enabled": "true"}) as served:
        yield served


@pytest.fixture
def instance(monitoring: Sandbox, offline: Project) -> Iterator[Instance]:
    handle = Instance(monitoring.host, monitoring.port, sandbox=monitoring)
    offline.connect(handle)
    yield handle
    handle.close()


@pytest.mark.parametrize(
    ("family", "status"),
    [(GALERA, "OFFLINE_SOFT"), (GALERA, "SHUNNED"), (GROUP, "SHUNNED")],
    ids=["Galera, OFFLINE_SOFT", "Galera, SHUNNED", "group replication, SHUNNED"],
)
def test_plan_drift_and_apply_tell_that_it_is_in_memory_and_not_at_runtime(
    offline: Project, monitoring: Sandbox, instance: Instance, family: str, status: str
) -> None:
    offline.write(files(family))
    applied()
    if family is GALERA:
        monitoring.monitor.place(10, writers=[("n1", 3306)])
    before = instance.query(AT_RUNTIME)
    instance.run(f"UPDATE mysql_servers SET status='{status}' WHERE hostname='n2'")
    told = f"{N2} {status} in MEMORY, not on DISK; RUNTIME is as the monitor places it"
    assert f"no drift ({told})" in proxyctl("drift").out
    assert f"left alone   {told}" in plan().out

    # A SAVE would keep it.
    offline.write(files(family, weight=5))
    assert f"pending      {told}" in proxyctl("drift").out
    refused = (
        f"mysql_servers 10:n2:3306: status not saved to DISK, or edited there"
        f" (ONLINE -> {status}); not in the files   allow with --include-pending"
    )
    found = plan()
    assert refused in found.out
    assert told not in found.out
    said(apply(), 3, refused)
    assert f"left alone   {told}" in applied("--no-save").out
    found = plan("--include-pending")
    assert "goes to DISK with this" in found.out
    assert "goes to RUNTIME" not in found.out
    assert "is loaded SHUNNED" not in found.out
    applied("--include-pending")
    assert instance.query(STATUSES.format("disk.")) == [(status,)]
    assert instance.query(AT_RUNTIME) == before

    # Then nothing would move any more.
    told = f"{N2} {status} in MEMORY; RUNTIME is as the monitor places it"
    assert f"no drift ({told})" in proxyctl("drift").out
    offline.write(files(family))
    assert f"left alone   {told}" in applied().out
    assert instance.query(AT_RUNTIME) == before


def test_a_status_that_a_killed_apply_staged_is_in_no_file(
    offline: Project, monitoring: Sandbox, instance: Instance
) -> None:
    """A LOAD in a Galera family takes SHUNNED along where the monitor has put it."""
    offline.write(files(GALERA))
    applied()
    monitoring.monitor.place(10, writers=[("n1", 3306)])
    instance.run("UPDATE mysql_servers SET status='SHUNNED' WHERE hostname='n2'")
    hold_dead_lock(instance, "MYSQL SERVERS")
    found = proxyctl("drift").out
    assert "status is SHUNNED, as it was staged; the files do not say it" in found
    assert "the files say ONLINE" not in found
    applied()
    assert instance.query(STATUSES.format("")) == [("ONLINE",)]
