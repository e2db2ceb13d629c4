"""Drift: changes by hand on an instance, and their report."""

from __future__ import annotations

from typing import Any

import pytest

from proxyctl.plan.drift import PATTERNS
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import FILES, applied, plan
from tests.support.servers.instances import Instance
from tests.support.servers.layers import everywhere, in_layers

DB3 = "UPDATE mysql_servers SET {} WHERE hostname='db3'"
LOAD, SAVE = "LOAD MYSQL SERVERS TO RUNTIME", "SAVE MYSQL SERVERS TO DISK"


@pytest.fixture
def in_sync(project: Project) -> Project:
    project.write(FILES)
    applied()
    return project


def patterns(found: Outcome) -> dict[str, list[str]]:
    """Return the reported patterns, by admin module."""
    (instance,) = found.json["instances"]
    modules: list[dict[str, Any]] = instance["modules"]
    return {
        module["module"]: [change["pattern"] for change in module["changes"]]
        for module in modules
        if module["changes"]
    }


def drift(*arguments: str) -> Outcome:
    return proxyctl("drift", *arguments)


def test_files_that_manage_nothing(project: Project, instance: Instance) -> None:
    project.write(f"instances: [{{name: px1, host: {instance.host}, port: {instance.port}}}]\n")
    nothing = "the files manage nothing, so nothing was compared\n"
    found = drift()
    assert (found.code, found.out) == (0, f"{instance.host}:{instance.port}: {nothing}")
    found = drift("--all")
    summary = "Fleet of 1 instance: 1 not managed.\n"
    assert (found.code, found.out.partition(": ")[2]) == (0, f"{nothing}{summary}")
    assert drift("--quiet").text == ""


@pytest.mark.parametrize(
    ("statements", "pattern"),
    [
        ([DB3.format("weight=7")], "memory"),
        ([DB3.format("weight=7"), LOAD], "not_saved"),
        ([DB3.format("weight=7"), SAVE], "not_loaded"),
        ([DB3.format("weight=7"), LOAD, SAVE], "everywhere"),
        (["DELETE FROM disk.mysql_servers WHERE hostname='db3'"], "disk"),
    ],
)
def test_what_somebody_did_by_hand(
    in_sync: Project, instance: Instance, statements: list[str], pattern: str
) -> None:
    assert (drift().code, drift("--quiet").text) == (0, "")
    for statement in statements:
        instance.run(statement)
    found = drift("--quiet")
    assert (found.code, found.err) == (2, "")
    (text,) = {known.text for known in PATTERNS.values() if known.name == pattern}
    assert f"MYSQL SERVERS\n  {text}\n" in found.out
    assert patterns(drift("--format", "json")) == {"MYSQL SERVERS": [pattern]}
    assert f'pattern="{pattern}"}} 1' in drift("--format", "prometheus").out
    applied("--discard-pending")
    assert drift("--quiet").code == 0


def test_a_variable_of_the_restart(in_sync: Project, instance: Instance) -> None:
    in_sync.write(FILES.replace("variables:\n", "variables:\n  mysql-threads: 2\n"))
    found = drift()
    assert "DISK differs: it is read at a restart" in found.out
    assert patterns(drift("--format", "json")) == {"MYSQL VARIABLES": ["restart_only"]}
    assert "restart" in plan().out
    assert instance.query("SELECT 1") == [("1",)]


def test_an_error_is_not_taken_for_drift(sandbox_project: Project) -> None:
    sandbox_project.write("mysql_servers: [{hostname: 1}]\n")
    assert drift("--quiet").code == 1


# -- a status that no file sets --------------------------------------------------------------------


NODE = "db3:3306 in hostgroup 20"
WEIGHT = FILES.replace("db2, weight: 100", "db2, weight: 50")
"""Another change of the same admin module."""
STATUS = "SELECT status FROM {}mysql_servers WHERE hostname='db3'"


@pytest.mark.parametrize(
    ("status", "reported"),
    [
        ("OFFLINE_SOFT", "OFFLINE_SOFT"),
        ("OFFLINE_HARD", "OFFLINE_HARD in MEMORY and on DISK"),
    ],
)
def test_a_status_that_was_loaded_and_saved_stays_and_is_named(
    in_sync: Project, instance: Instance, status: str, reported: str
) -> None:
    instance.run(f"UPDATE mysql_servers SET status='{status}' WHERE hostname='db3'")
    assert f"left alone   {NODE} {status} in MEMORY, set by an operator\n" in plan().out
    instance.load("MYSQL SERVERS", saves=True)
    found = plan()
    assert found.code == 0, found.text
    assert f"left alone   {NODE} {reported}, set by an operator\n" in found.out
    drift = proxyctl("drift")
    assert drift.code == 0
    assert f"no drift ({NODE} {reported}, set by an operator)" in drift.out
    in_sync.write(WEIGHT)
    assert f"left alone   {NODE} {reported}, set by an operator\n" in applied().out
    held = in_layers(instance, STATUS)
    assert held["MEMORY"] == held["DISK"] == [(status,)]
    assert held["RUNTIME"] == ([] if status == "OFFLINE_HARD" else [(status,)])
    in_sync.write(WEIGHT.replace("hostname: db3,", "hostname: db3, status: ONLINE,"))
    drift = proxyctl("drift")
    assert (drift.code, f"status is {status}, the files say ONLINE" in drift.out) == (2, True)
    applied()
    assert everywhere(instance, STATUS) == [("ONLINE",)]
