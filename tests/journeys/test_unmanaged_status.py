"""A status that no file sets: it is left as it is, and one line names it."""

from __future__ import annotations

import pytest

from tests.journeys.layers import in_layers
from tests.journeys.story import FILES, applied, plan
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

DB3 = "db3:3306 in hostgroup 20"
WEIGHT = FILES.replace("db2, weight: 100", "db2, weight: 50")
"""Another change of the same admin module."""
STATUS = "SELECT status FROM {}mysql_servers WHERE hostname='db3'"


@pytest.fixture
def in_sync(project: Project) -> Project:
    project.write(FILES)
    applied()
    return project


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("OFFLINE_SOFT", "OFFLINE_SOFT"),
        ("SHUNNED", "SHUNNED"),
        ("OFFLINE_HARD", "OFFLINE_HARD in MEMORY and on DISK"),
    ],
)
def test_a_status_that_was_loaded_and_saved_stays_and_is_named(
    in_sync: Project, instance: Instance, status: str, told: str
) -> None:
    instance.run(f"UPDATE mysql_servers SET status='{status}' WHERE hostname='db3'")
    assert f"left alone   {DB3} {status} in MEMORY, set by an operator\n" in plan().out
    instance.run("LOAD MYSQL SERVERS TO RUNTIME")
    instance.run("SAVE MYSQL SERVERS TO DISK")
    found = plan()
    assert found.code == 0, found.text
    assert f"left alone   {DB3} {told}, set by an operator\n" in found.out
    drift = proxyctl("drift")
    assert drift.code == 0
    assert f"no drift ({DB3} {told}, set by an operator)" in drift.out
    in_sync.write(WEIGHT)
    assert f"left alone   {DB3} {told}, set by an operator\n" in applied().out
    held = in_layers(instance, STATUS)
    assert held["MEMORY"] == held["DISK"] == [(status,)]
    assert held["RUNTIME"] == ([] if status == "OFFLINE_HARD" else [(status,)])
    in_sync.write(WEIGHT.replace("hostname: db3,", "hostname: db3, status: ONLINE,"))
    drift = proxyctl("drift")
    assert (drift.code, f"status is {status}, the files say ONLINE" in drift.out) == (2, True)
    applied()
    held = in_layers(instance, STATUS)
    assert held["MEMORY"] == held["DISK"] == [("ONLINE",)]
    # A LOAD does not end a shunning that RUNTIME began with.
    assert held["RUNTIME"] == [("SHUNNED" if status == "SHUNNED" else "ONLINE",)]
