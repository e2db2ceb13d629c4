"""Drift at an instance: what was done to it, and what the report says of that."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.held_lock import drop_lock, hold_lock
from tests.journeys.story import FILES, applied, plan, said
from tests.journeys.test_guards import MONITOR, MONITORED
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import Instance

DB3 = "UPDATE mysql_servers SET {} WHERE hostname='db3'"
LOAD, SAVE = "LOAD MYSQL SERVERS TO RUNTIME", "SAVE MYSQL SERVERS TO DISK"


@pytest.fixture
def in_sync(project: Project) -> Project:
    project.write(FILES)
    applied()
    return project


def causes(found: Outcome) -> dict[str, list[str]]:
    """The causes that are named, by admin module."""
    (instance,) = found.json["instances"]
    modules: list[dict[str, Any]] = instance["modules"]
    return {
        module["module"]: [change["cause"]["code"] for change in module["changes"]]
        for module in modules
        if module["changes"]
    }


def drift(*arguments: str) -> Outcome:
    return proxyctl("drift", *arguments)


@pytest.mark.since("2.6.0", "the checksum of its servers counts moves of the monitor, too")
def test_when_servers_were_loaded_last(in_sync: Project, instance: Instance) -> None:
    instance.run(DB3.format("weight=7"))
    assert "MYSQL SERVERS   loaded last 20" in drift().out
    applied("--discard-pending")


@pytest.mark.parametrize(
    ("statements", "cause", "text"),
    [
        ([DB3.format("weight=7")], "pending_edit", "MEMORY only: edited there, not loaded"),
        ([DB3.format("weight=7"), LOAD], "loaded_not_saved", "not saved; a restart takes it back"),
        ([DB3.format("weight=7"), SAVE], "saved_not_loaded", "MEMORY and DISK: saved, not loaded"),
        ([DB3.format("weight=7"), LOAD, SAVE], "files_or_saved", "the files are newer, or"),
        (["DELETE FROM disk.mysql_servers WHERE hostname='db3'"], "unsaved", "DISK only"),
    ],
)
def test_what_somebody_did_by_hand(
    in_sync: Project, instance: Instance, statements: list[str], cause: str, text: str
) -> None:
    assert (drift().code, drift("--quiet").text) == (0, "")
    for statement in statements:
        instance.run(statement)
    found = drift("--quiet")
    assert (found.code, found.err) == (2, "")
    assert text in found.out
    assert causes(drift("--format", "json")) == {"MYSQL SERVERS": [cause]}
    assert f'cause="{cause}"}} 1' in drift("--format", "prometheus").out
    applied("--discard-pending")
    assert drift("--quiet").code == 0


def test_an_operators_offline_soft(in_sync: Project, instance: Instance) -> None:
    instance.run(DB3.format("status='OFFLINE_SOFT'"))
    instance.run(LOAD)
    # The files do not say: it is left alone, and still told in the one line.
    found = drift()
    assert (found.code, len(found.out.splitlines())) == (0, 1)
    assert "no drift (db3:3306 in hostgroup 20 OFFLINE_SOFT, set by an operator)" in found.out
    assert drift("--quiet").text == ""
    in_sync.write(FILES.replace("hostname: db3,", "hostname: db3, status: ONLINE,"))
    found = drift()
    assert found.code == 2
    assert "MEMORY and RUNTIME: an operator took it out of service" in found.out
    assert "status is OFFLINE_SOFT, the files say ONLINE" in found.out
    assert causes(drift("--format", "json")) == {"MYSQL SERVERS": ["offline_soft"]}


STAGED = '["MYSQL SERVERS"]'


def test_an_apply_that_was_killed_is_named_until_the_next_one(
    in_sync: Project, instance: Instance
) -> None:
    hold_lock(instance, host="ci", pid=7, modules=STAGED, for_s=-5)
    instance.run(DB3.format("weight=7"))
    found = drift()
    assert found.code == 2
    assert "an apply did not finish: apply by pid 7 on ci, staging MEMORY" in found.out
    assert causes(drift("--format", "json")) == {"MYSQL SERVERS": ["dead_apply"]}
    applied()
    assert drift("--quiet").text == ""


def test_an_apply_at_work_is_no_riddle(in_sync: Project, instance: Instance) -> None:
    hold_lock(instance, host="ci", pid=7, modules=STAGED, for_s=60)
    instance.run(DB3.format("weight=7"))
    assert causes(drift("--format", "json")) == {"MYSQL SERVERS": ["running_apply"]}
    assert "an apply is at work: apply by pid 7 on ci" in drift().out
    drop_lock(instance)


def test_a_variable_of_the_restart(in_sync: Project, instance: Instance) -> None:
    in_sync.write(FILES.replace("variables:\n", "variables:\n  mysql-threads: 2\n"))
    found = drift()
    assert "it is read there at a restart" in found.out
    assert causes(drift("--format", "json")) == {"MYSQL VARIABLES": ["restart_only"]}
    assert "restart" in plan().out
    assert instance.query("SELECT 1") == [("1",)]


def test_metrics_are_never_quiet(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    said(drift("--quiet", "--format", "prometheus"), 64, "--quiet has no place in metrics")


def test_an_error_is_not_taken_for_drift(sandbox_project: Project) -> None:
    sandbox_project.write("mysql_servers: [{hostname: 1}]\n")
    assert drift("--quiet").code == 1


@pytest.mark.parametrize(
    ("statements", "text"),
    [
        ([DB3.format("status='OFFLINE_SOFT'")], "OFFLINE_SOFT in MEMORY, not loaded"),
        (
            [DB3.format("status='OFFLINE_SOFT'"), SAVE, DB3.format("status='ONLINE'")],
            "OFFLINE_SOFT on DISK, unlike in MEMORY: a restart brings it",
        ),
        (
            [DB3.format("status='OFFLINE_HARD'"), LOAD],
            "OFFLINE_HARD in MEMORY, set by an operator: RUNTIME is without it",
        ),
    ],
)
def test_a_status_that_the_files_do_not_set_is_told_in_any_layer(
    in_sync: Project, instance: Instance, statements: list[str], text: str
) -> None:
    for statement in statements:
        instance.run(statement)
    found = drift()
    assert (found.code, len(found.out.splitlines())) == (0, 1)
    assert f"db3:3306 in hostgroup 20 {text}" in found.out
    assert text in plan().out


def test_a_server_that_an_operator_took_off_stays_off(in_sync: Project, instance: Instance) -> None:
    for statement in (DB3.format("status='OFFLINE_HARD'"), LOAD, SAVE):
        instance.run(statement)
    in_sync.write(FILES.replace("hostname: db3,", "hostname: db3, compression: 1,"))
    applied()
    seen = "SELECT count(*) FROM runtime_mysql_servers WHERE hostname='db3' AND status='ONLINE'"
    assert instance.query(seen) == [("0",)]
    assert proxyctl("plan", "--detailed-exitcode").code == 0
    in_sync.write(FILES.replace("hostname: db3,", "hostname: db3, status: ONLINE,"))
    applied()
    assert instance.query(seen) == [("1",)]


@pytest.mark.parametrize(
    ("schemas", "code"),
    [
        (["disk."], "unsaved"),
        ([""], "pending_edit"),
        (["", "disk."], "saved_not_loaded"),
    ],
)
def test_a_server_that_a_layer_lacks_was_not_moved_there_by_the_monitor(
    project: Project, instance: Instance, schemas: list[str], code: str
) -> None:
    project.write(FILES.replace("variables:\n", MONITOR) + MONITORED)
    applied()
    for schema in schemas:
        instance.run(f"DELETE FROM {schema}mysql_servers WHERE hostname='db3'")
    found = proxyctl("drift", "--format", "prometheus")
    assert f'cause="{code}"}} 1' in found.out
    assert "monitor_placement" not in found.out


def test_drift_as_metrics(project: Project) -> None:
    project.write(FILES)
    found = proxyctl("drift", "--format", "prometheus")
    assert found.code == 2
    assert "} 0\n" in found.out.split("proxyctl_drift_changes")[0]
    assert 'table="mysql_query_rules",action="add"} 2' in found.out
    applied()
    found = proxyctl("drift", "--format", "prometheus")
    assert found.code == 0
    assert "proxyctl_drift_in_sync{" in found.out
    assert "proxyctl_drift_changes" not in found.out
