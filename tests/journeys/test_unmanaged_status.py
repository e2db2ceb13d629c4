"""A status that an operator set and no file says: where it is told, and what an apply does."""

from __future__ import annotations

import pytest

from tests.journeys.layers import in_layers
from tests.journeys.story import FILES, applied, plan
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import Instance

LOAD, SAVE = "LOAD MYSQL SERVERS TO RUNTIME", "SAVE MYSQL SERVERS TO DISK"
DB3 = "db3:3306 in hostgroup 20"
WEIGHT = FILES.replace("db2, weight: 100", "db2, weight: 50")
"""Another change of the same admin module."""
STATUS = "SELECT status FROM {}mysql_servers WHERE hostname='db3'"


@pytest.fixture
def in_sync(project: Project) -> Project:
    project.write(FILES)
    applied()
    return project


def set_status(instance: Instance, status: str, *then: str, schema: str = "") -> None:
    instance.run(f"UPDATE {schema}mysql_servers SET status='{status}' WHERE hostname='db3'")
    for statement in then:
        instance.run(statement)


def says(found: Outcome, code: int, text: str) -> None:
    assert found.code == code, found.text
    assert text in found.out


def left_alone(found: Outcome) -> str:
    return "".join(line for line in found.out.splitlines() if line.startswith("left alone"))


def test_a_removal_that_nobody_loaded_is_told(in_sync: Project, instance: Instance) -> None:
    set_status(instance, "OFFLINE_HARD")
    found = proxyctl("drift")
    assert found.code == 0
    assert f"no drift ({DB3} OFFLINE_HARD in MEMORY, not loaded)" in found.out
    says(plan(), 0, f"left alone   {DB3} OFFLINE_HARD in MEMORY, not loaded")


def test_a_drain_that_was_loaded_and_not_saved_would_be_saved(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_SOFT", LOAD)
    says(plan(), 0, f"left alone   {DB3} OFFLINE_SOFT, set by an operator")
    in_sync.write(WEIGHT)
    found = plan()
    says(found, 2, "status not saved to DISK, or edited there")
    # Without a SAVE nothing of it moves.
    assert f"left alone   {DB3} OFFLINE_SOFT" in applied("--no-save").out
    assert in_layers(instance, STATUS)["DISK"] == [("ONLINE",)]
    set_status(instance, "OFFLINE_SOFT", SAVE)
    in_sync.write(FILES)
    assert f"left alone   {DB3} OFFLINE_SOFT" in applied().out
