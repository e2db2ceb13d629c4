"""Drift of a server that somebody set OFFLINE_HARD, where the files want something else of it."""

from __future__ import annotations

import pytest

from tests.journeys.layers import in_layers
from tests.journeys.story import FILES, applied, plan
from tests.journeys.test_unmanaged_status import DB3, LOAD, SAVE, STATUS, in_sync, set_status
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

__all__ = ["in_sync"]

LIGHTER = FILES.replace("db3, weight: 100", "db3, weight: 50")
WITHOUT = "RUNTIME is without the server, OFFLINE_HARD in MEMORY"


def set_weight(instance: Instance, weight: int, *then: str) -> None:
    instance.run(f"UPDATE mysql_servers SET weight={weight} WHERE hostname='db3'")
    for statement in then:
        instance.run(statement)


def drifts(of: str = "db3") -> list[str]:
    """Return what drift says of the server: the cause, and the lines below it."""
    found = proxyctl("drift").out.splitlines()
    at = next(number for number, line in enumerate(found) if f"{of}:3306" in line)
    below = [line.strip() for line in found[at + 1 :] if line.startswith("     ")]
    return [found[at - 1].strip(), *below]


def cause() -> str:
    (module,) = proxyctl("drift", "--format", "json").json["instances"][0]["modules"][1:2]
    assert module["module"] == "MYSQL SERVERS"
    (change,) = module["changes"]
    return str(change["cause"]["code"])


def test_what_was_loaded_and_saved_does_not_come_with_a_restart(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_HARD", LOAD, SAVE)
    in_sync.write(LIGHTER)
    by = "the files are newer, or an administrator saved this"
    assert drifts() == [f"MEMORY and DISK: {by}; {WITHOUT}", "weight is 100, the files say 50"]
    assert cause() == "files_or_saved"
    applied()
    assert proxyctl("drift").code == 0


def test_an_edit_of_a_server_that_runtime_is_without_is_not_loaded_by_anybody(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_HARD", LOAD, SAVE)
    set_weight(instance, 7)
    assert drifts()[0] == f"MEMORY only: edited there, not saved; {WITHOUT}"
    assert cause() == "pending_edit"
    set_weight(instance, 7, SAVE)
    set_weight(instance, 100)
    assert drifts()[0] == f"DISK only: not saved since; {WITHOUT}"
    assert cause() == "unsaved"


def test_nobody_saved_a_new_server_that_memory_alone_has(
    project: Project, instance: Instance
) -> None:
    db3 = next(line for line in FILES.splitlines(keepends=True) if "hostname: db3" in line)
    project.write(FILES.replace(db3, ""))
    applied()
    instance.run(
        "INSERT INTO mysql_servers (hostgroup_id, hostname, status, weight)"
        " VALUES (20, 'db3', 'OFFLINE_HARD', 7)"
    )
    project.write(FILES)
    assert drifts() == [
        f"MEMORY and DISK: edited in MEMORY, not saved; {WITHOUT}",
        "MEMORY: weight is 7, the files say 100",
        "DISK: it is not there",
    ]
    assert cause() == "pending_edit"


def test_a_removal_that_the_files_say_is_no_other(in_sync: Project, instance: Instance) -> None:
    removed = FILES.replace("db3, weight: 100", "db3, status: OFFLINE_HARD, weight: 100")
    in_sync.write(removed)
    applied("--force")
    in_sync.write(removed.replace("OFFLINE_HARD, weight: 100", "OFFLINE_HARD, weight: 50"))
    assert drifts()[0].endswith(f"an administrator saved this; {WITHOUT}")


@pytest.mark.parametrize(
    "then", [[], [SAVE], [SAVE, STATUS]], ids=["in MEMORY", "in MEMORY and on DISK", "on DISK"]
)
def test_a_removal_that_was_not_loaded_makes_no_second_line(
    in_sync: Project, instance: Instance, then: list[str]
) -> None:
    set_status(instance, "OFFLINE_HARD", *then[:1])
    if STATUS in then:
        set_status(instance, "ONLINE")
    in_sync.write(LIGHTER)
    by = "the files are newer, or an administrator loaded and saved this"
    assert drifts() == [f"all layers: {by}", "weight is 100, the files say 50"]
    assert f"pending      {DB3} OFFLINE_HARD" in proxyctl("drift").out


def test_a_removal_that_the_files_do_not_want_is_told_by_layer(
    in_sync: Project, instance: Instance
) -> None:
    in_sync.write(FILES.replace("hostname: db3,", "hostname: db3, status: ONLINE,"))
    set_status(instance, "OFFLINE_HARD", LOAD, SAVE)
    by = "the files are newer, or an administrator loaded and saved this"
    hard = "status is OFFLINE_HARD, the files say ONLINE"
    everywhere = [f"all layers: {by}", "RUNTIME: it is not there", f"MEMORY and DISK: {hard}"]
    assert drifts() == everywhere
    set_status(instance, "ONLINE", LOAD)
    set_status(instance, "OFFLINE_HARD")
    assert drifts() == [
        "MEMORY and DISK: saved, not loaded; a restart makes RUNTIME like them",
        hard,
    ]


def test_a_server_that_comes_back_comes_with_the_status_of_memory(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_HARD", LOAD, SAVE)
    set_status(instance, "OFFLINE_SOFT")
    found = plan()
    assert "+ server 20 (reader) db3:3306" in found.out
    assert "RUNTIME only\n        weight 100\n        arrives OFFLINE_SOFT, as MEMORY has it" in (
        found.out
    )
    assert "arrives OFFLINE_SOFT" in plan("--format", "markdown").out
    (change,) = plan("--format", "json").json["instances"][0]["modules"][1]["changes"]
    assert change["remark"] == "arrives OFFLINE_SOFT, as MEMORY has it"
    assert f"pending      {DB3} OFFLINE_SOFT in MEMORY, not loaded" in proxyctl("drift").out
    assert f"{DB3} OFFLINE_SOFT" not in found.out
    saved = plan("--out", "approved.plan")
    assert saved.code == 2
    applied()
    assert in_layers(instance, STATUS)["RUNTIME"] == [("OFFLINE_SOFT",)]


@pytest.mark.parametrize("status", ["OFFLINE_SOFT", "OFFLINE_HARD", "SHUNNED"])
@pytest.mark.parametrize("loaded", [[], [LOAD]], ids=["not loaded", "loaded"])
def test_a_server_that_disk_lacks_is_saved_with_the_status_of_memory(
    in_sync: Project, instance: Instance, status: str, loaded: list[str]
) -> None:
    set_status(instance, status, *loaded)
    instance.run("DELETE FROM disk.mysql_servers WHERE hostname='db3'")
    found = plan()
    assert f"arrives on DISK {status}, as MEMORY has it" in found.out
    assert "left alone" not in found.out
    assert f"pending      {DB3} {status}" in proxyctl("drift").out
    found = applied("--no-save")
    assert f"left alone   {DB3} {status}" in found.out
    assert "arrives" not in found.out
    applied()
    assert in_layers(instance, STATUS)["DISK"] == [(status,)]


def test_a_plan_is_another_where_the_server_comes_with_another_status(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_HARD", LOAD)
    set_status(instance, "OFFLINE_SOFT", SAVE)
    assert plan("--out", "approved").code == 2
    set_status(instance, "ONLINE", SAVE)
    found = proxyctl("apply", "approved", "--auto-approve")
    assert found.code == 3, found.text
    assert in_layers(instance, STATUS)["RUNTIME"] == []


def test_disk_that_still_has_the_server_off_is_not_said_to_lack_it(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_HARD", LOAD, SAVE)
    set_status(instance, "OFFLINE_SOFT")
    in_sync.write(LIGHTER)
    _, *lines = drifts()
    assert lines == ["RUNTIME: it is not there", "MEMORY and DISK: weight is 100, the files say 50"]
