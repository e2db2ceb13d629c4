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


def test_a_removal_that_nobody_loaded_goes_along_when_it_is_let(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_HARD")
    in_sync.write(WEIGHT)
    found = plan()
    says(
        found,
        2,
        "mysql_servers 20:db3:3306: status edited in MEMORY, not loaded to RUNTIME"
        " (ONLINE -> OFFLINE_HARD); not in the files   allow with --include-pending",
    )
    assert not left_alone(found)
    found = plan("--include-pending")
    section = found.out.split("goes to RUNTIME with this")[1]
    assert "- server 20 (reader) db3:3306" in section
    assert "RUNTIME only; OFFLINE_HARD in MEMORY" in section
    kept = "~ server 20 (reader) db3:3306 DISK only status ONLINE -> OFFLINE_HARD"
    assert kept in " ".join(section.split())
    assert "0 to add, 1 to change, 1 to delete at RUNTIME. 1 pending edit of others" in section
    assert not left_alone(found)
    done = applied("--include-pending")
    assert "0 added, 1 changed, 1 deleted at RUNTIME" in done.out
    hard = [("OFFLINE_HARD",)]
    assert in_layers(instance, STATUS) == {"RUNTIME": [], "MEMORY": hard, "DISK": hard}
    says(plan(), 0, "OFFLINE_HARD in MEMORY, set by an operator: RUNTIME is without it")


def test_a_removal_beside_a_change_of_the_same_server_is_no_edit_of_ours(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_HARD")
    in_sync.write(FILES.replace("db3, weight: 100", "db3, weight: 50"))
    found = plan()
    assert "1 reason" in found.out
    assert "allow with --include-pending" in found.out
    # It is changed where it stays.
    found = applied("--include-pending")
    assert "0 added, 0 changed, 1 deleted at RUNTIME" in found.out
    assert "MEMORY and DISK only\n        weight                  100 -> 50" in found.out
    assert in_layers(instance, STATUS)["RUNTIME"] == []


def test_the_last_server_of_a_hostgroup_may_be_a_removal_that_goes_along(
    in_sync: Project, instance: Instance
) -> None:
    files = "\n".join(
        line
        for line in FILES.splitlines()
        if "reader, hostname: db1" not in line and "hostname: db2" not in line
    )
    in_sync.write(files)
    applied("--force")
    set_status(instance, "OFFLINE_HARD")
    in_sync.write(files.replace("multiplex: false", "multiplex: true"))
    found = plan("--include-pending")
    assert "hostgroup 20 (reader) is the default hostgroup of users" in found.out
    assert "would have no ONLINE server" in found.out


def test_an_edit_on_disk_alone_is_not_called_one_in_memory(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_SOFT", schema="disk.")
    out = f"{DB3} OFFLINE_SOFT on DISK, unlike in MEMORY: a restart brings it"
    says(plan(), 0, f"left alone   {out}")
    in_sync.write(WEIGHT)
    found = plan()
    says(
        found,
        2,
        "mysql_servers 20:db3:3306: status not saved to DISK, or edited there"
        " (OFFLINE_SOFT -> ONLINE); not in the files   allow with --include-pending",
    )
    assert "edited in MEMORY" not in found.out
    assert not left_alone(found)
    # What drift tells does not hang on what an apply would do.
    assert f"pending      {out}" in proxyctl("drift").out
    section = plan("--include-pending").out.split("goes to DISK with this")[1]
    assert "goes to RUNTIME" not in section
    assert "DISK only" in section
    applied("--include-pending")
    assert in_layers(instance, STATUS)["DISK"] == [("ONLINE",)]


def test_a_drain_that_was_loaded_and_not_saved_would_be_saved(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_SOFT", LOAD)
    says(plan(), 0, f"left alone   {DB3} OFFLINE_SOFT, set by an operator")
    in_sync.write(WEIGHT)
    found = plan()
    says(found, 2, "status not saved to DISK, or edited there (ONLINE -> OFFLINE_SOFT)")
    assert not left_alone(found)
    found = plan("--include-pending")
    assert "goes to DISK with this" in found.out
    assert not left_alone(found)
    # Without a SAVE nothing of it moves.
    assert f"left alone   {DB3} OFFLINE_SOFT" in applied("--no-save").out
    assert in_layers(instance, STATUS)["DISK"] == [("ONLINE",)]
    set_status(instance, "OFFLINE_SOFT", SAVE)
    in_sync.write(FILES)
    assert f"left alone   {DB3} OFFLINE_SOFT" in applied().out


def test_a_drain_that_was_not_loaded_is_not_left_alone_where_it_goes_along(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_SOFT")
    says(plan(), 0, f"left alone   {DB3} OFFLINE_SOFT in MEMORY, not loaded")
    in_sync.write(WEIGHT)
    assert not left_alone(plan())
    found = plan("--include-pending")
    assert "goes to RUNTIME with this, edited in MEMORY by others" in found.out
    assert not left_alone(found)
    applied("--include-pending")
    assert in_layers(instance, STATUS)["RUNTIME"] == [("OFFLINE_SOFT",)]
