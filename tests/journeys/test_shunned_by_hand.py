"""SHUNNED that somebody wrote: ProxySQL does not take it back, as it does its own."""

from __future__ import annotations

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.failing import CHANGED, Once, fail
from tests.journeys.held_lock import drop_lock, hold_dead_lock
from tests.journeys.layers import in_layers
from tests.journeys.story import FILES, applied, apply, plan, said
from tests.journeys.test_guards import MONITOR, MONITORED
from tests.journeys.test_unmanaged_status import (
    DB3,
    LOAD,
    SAVE,
    STATUS,
    WEIGHT,
    in_sync,
    left_alone,
    says,
    set_status,
)
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

__all__ = ["in_sync"]

ONLY_DB3 = "".join(
    line
    for line in FILES.splitlines(keepends=True)
    if "reader, hostname: db1" not in line and "hostname: db2" not in line
)
"""Files whose reader hostgroup has one server."""
NOT_LOADED = (
    "mysql_servers 20:db3:3306: status edited in MEMORY, not loaded to RUNTIME"
    " (ONLINE -> SHUNNED); not in the files   allow with --include-pending"
)
ALL_SHUNNED = {layer: [("SHUNNED",)] for layer in ("RUNTIME", "MEMORY", "DISK")}


@pytest.mark.parametrize("saved", [[], [SAVE]], ids=["in MEMORY", "saved"])
def test_it_is_told_and_does_not_go_along_unasked(
    in_sync: Project, instance: Instance, saved: list[str]
) -> None:
    set_status(instance, "SHUNNED", *saved)
    told = f"{DB3} SHUNNED in MEMORY, not loaded"
    assert f"no drift ({told})" in proxyctl("drift").out
    says(plan(), 0, f"left alone   {told}")
    in_sync.write(WEIGHT)
    found = plan()
    says(found, 2, NOT_LOADED)
    assert not left_alone(found)
    assert f"pending      {told}" in proxyctl("drift").out
    for options in ([], ["--no-save"]):
        said(apply(*options), 3, NOT_LOADED)
    assert in_layers(instance, STATUS)["RUNTIME"] == [("ONLINE",)]


def test_the_plan_says_what_it_does_where_it_goes_along(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "SHUNNED")
    in_sync.write(WEIGHT)
    found = plan("--include-pending")
    section = found.out.split("goes to RUNTIME with this, edited in MEMORY by others")[1]
    assert "status                  ONLINE -> SHUNNED" in section
    assert "0 to add, 2 to change, 0 to delete at RUNTIME. 1 pending edit of others" in section
    warning = f"warning      {DB3} is loaded SHUNNED: it gets no query until another LOAD ends that"
    assert warning in found.out
    applied("--include-pending")
    assert in_layers(instance, STATUS) == ALL_SHUNNED
    says(plan(), 0, f"left alone   {DB3} SHUNNED, set by an operator")
    assert f"no drift ({DB3} SHUNNED, set by an operator)" in proxyctl("drift").out
    # It is left alone: another change goes by.
    in_sync.write(FILES)
    found = applied()
    assert "is loaded SHUNNED" not in found.out
    assert in_layers(instance, STATUS) == ALL_SHUNNED


def test_it_takes_the_last_server_of_a_hostgroup_out(in_sync: Project, instance: Instance) -> None:
    in_sync.write(ONLY_DB3)
    applied("--force")
    set_status(instance, "SHUNNED")
    multiplexed = ONLY_DB3.replace("multiplex: false", "multiplex: true")
    in_sync.write(multiplexed)
    refused = "hostgroup 20 (reader) is the default hostgroup of users and used by rules"
    found = plan("--include-pending")
    assert refused in found.out
    assert "would have no ONLINE server" in found.out
    said(apply("--include-pending"), 3, refused)
    # What was so before is no reason to refuse, also where rules turn to other hostgroups.
    instance.run(LOAD)
    instance.run(SAVE)
    applied()
    in_sync.write(
        multiplexed.replace(
            "'^SELECT', destination_hostgroup: reader", "'^SELECT', destination_hostgroup: writer"
        )
    )
    applied()
    in_sync.write(multiplexed)
    said(apply(), 3, "would be the destination of 1 rule (20) and has no server that takes queries")


def test_a_status_that_the_files_say_ends_it(in_sync: Project, instance: Instance) -> None:
    online = FILES.replace("hostname: db3,", "hostname: db3, status: ONLINE,")
    in_sync.write(online)
    applied()
    set_status(instance, "SHUNNED")
    said(apply(), 3, "status edited in MEMORY, not loaded to RUNTIME (ONLINE -> SHUNNED)")
    applied("--discard-pending")
    assert in_layers(instance, STATUS)["MEMORY"] == [("ONLINE",)]
    set_status(instance, "SHUNNED", LOAD, SAVE)
    found = plan()
    says(found, 2, "status                  SHUNNED -> ONLINE")
    assert "1 to change, 0 to delete at RUNTIME" in found.out
    applied()
    online_everywhere = {layer: [("ONLINE",)] for layer in ("RUNTIME", "MEMORY", "DISK")}
    assert in_layers(instance, STATUS) == online_everywhere


def test_it_is_an_edit_where_a_monitor_places_the_replicas_too(
    project: Project, instance: Instance
) -> None:
    monitored = FILES.replace("variables:\n", MONITOR) + MONITORED
    project.write(monitored)
    applied()
    set_status(instance, "SHUNNED")
    says(plan(), 0, f"left alone   {DB3} SHUNNED in MEMORY, not loaded")
    project.write(monitored.replace("db2, weight: 100", "db2, weight: 50"))
    said(apply(), 3, NOT_LOADED)
    applied("--include-pending")
    assert in_layers(instance, STATUS)["RUNTIME"] == [("SHUNNED",)]
    says(plan(), 0, f"left alone   {DB3} SHUNNED, set by an operator")


def test_it_is_not_taken_for_what_a_dead_apply_left(in_sync: Project, instance: Instance) -> None:
    set_status(instance, "SHUNNED", LOAD, SAVE)
    in_sync.write(WEIGHT)
    hold_dead_lock(instance, "MYSQL SERVERS")
    applied()
    assert in_layers(instance, STATUS) == ALL_SHUNNED
    drop_lock(instance)


def test_what_proxysql_has_shunned_itself_is_no_edit(
    sandbox_project: Project, sandbox: Sandbox
) -> None:
    sandbox_project.write(ONLY_DB3)
    applied()
    sandbox.monitor.shun(20, ("db3", 3306))
    assert proxyctl("drift").out.endswith(": no drift\n")
    sandbox_project.write(ONLY_DB3.replace("multiplex: false", "multiplex: true"))
    applied()


def test_what_proxysql_has_shunned_itself_is_not_put_back_by_hand(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance
) -> None:
    """Loaded SHUNNED, it would stay so."""
    sandbox_project.write(FILES)
    applied()
    sandbox.monitor.shun(20, ("db3", 3306))
    sandbox_instance.run("UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='db2'")
    sandbox_project.write(CHANGED)
    sandbox.options.before_statement = Once("SAVE MYSQL USERS", fail)
    said(apply("--include-pending"), 4, "everything was restored")
    assert in_layers(sandbox_instance, STATUS)["RUNTIME"] == [("ONLINE",)]
    soft = "SELECT status FROM runtime_mysql_servers WHERE hostname='db2'"
    assert sandbox_instance.query(soft) == [("ONLINE",)]


def test_the_layers_do_not_tell_whose_it_is_once_memory_was_put_back(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "SHUNNED", LOAD)
    assert f"no drift ({DB3} SHUNNED, set by an operator)" in proxyctl("drift").out
    instance.run("LOAD MYSQL SERVERS FROM DISK")
    assert proxyctl("drift").out.endswith(": no drift\n")
    assert in_layers(instance, STATUS)["RUNTIME"] == [("SHUNNED",)]
    assert "db3:3306  SHUNNED 20" in proxyctl("nodes", "list", "--no-ask").out
    instance.run(LOAD)
    assert in_layers(instance, STATUS)["RUNTIME"] == [("ONLINE",)]
