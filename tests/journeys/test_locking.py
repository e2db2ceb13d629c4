"""Asking before acting, the lock, and an apply that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from proxyctl.admin.apply import ApplyOptions, apply_plan
from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import LEASE_S, RENEW_S, Lock, process_space
from proxyctl.admin.login import Login
from proxyctl.config.load import ParsedFiles, Sources
from proxyctl.errors import ApplyError
from proxyctl.workflow import plan_files
from tests.cli import Project, proxyctl
from tests.journeys.layers import dump, everywhere, in_layers, of_layer
from tests.journeys.story import FILES, MANY, applied, apply, plan, said
from tests.servers import Instance


def test_apply_without_a_terminal_asks_for_a_decision(project: Project, instance: Instance) -> None:
    project.write(FILES)
    before = dump(instance)
    found = proxyctl("apply")
    assert found.code == 64
    assert "--auto-approve" in found.err
    assert "Plan: 9 to add" in found.out
    assert dump(instance) == before


LOCK = (
    "CREATE TEMP TABLE IF NOT EXISTS proxyctl_lock(id INTEGER PRIMARY KEY CHECK(id=1), owner, host,"
    " pid INT, purpose, stage, modules, expires INT)"
)


def hold_lock(
    instance: Instance,
    *,
    host: str,
    pid: int,
    modules: str = "[]",
    for_s: int,
    space: str | None = None,
) -> None:
    owner = f"them@{process_space() if space is None else space}"
    instance.execute("DROP TABLE IF EXISTS proxyctl_lock")
    instance.execute(LOCK)
    instance.execute(
        f"INSERT INTO proxyctl_lock VALUES (1, '{owner}', '{host}', {pid}, 'apply',"
        f" 'staging MEMORY', '{modules}', CAST(strftime('%s','now') AS INT)+{for_s})"
    )


def drop_lock(instance: Instance) -> None:
    instance.execute("DROP TABLE IF EXISTS proxyctl_lock")


def test_the_lock_of_another_apply_is_respected(project: Project, instance: Instance) -> None:
    project.write(FILES)
    hold_lock(instance, host="elsewhere", pid=1, for_s=60)
    before = dump(instance)
    found = apply("--lock-timeout", "0")
    assert found.code == 3
    assert "locked: apply by pid 1 on elsewhere, staging MEMORY" in found.err
    assert "--lock-timeout" in found.err
    assert dump(instance) == before
    assert plan().code == 2
    removed = proxyctl("unlock")
    assert "removed the lock of apply by pid 1 on elsewhere" in removed.err
    assert proxyctl("unlock").err == "there is no lock\n"
    applied("--lock-timeout", "0")
    assert instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]
    drop_lock(instance)


def test_a_process_number_of_another_container_tells_nothing(
    project: Project, instance: Instance
) -> None:
    """Two containers may have one host name; what is no process here lives there."""
    project.write(FILES)
    host = os.uname().nodename
    hold_lock(instance, host=host, pid=_dead_pid(), for_s=60, space="2f1c8a9e-4026532177")
    said(apply("--lock-timeout", "0"), 3, "is locked")
    drop_lock(instance)


def test_apply_waits_for_the_lock_until_it_expires(instance: Instance) -> None:
    hold_lock(instance, host="elsewhere", pid=1, modules='["MYSQL USERS"]', for_s=3600)
    told: list[str] = []

    def waiting(text: str) -> None:
        told.append(text)
        instance.execute("UPDATE proxyctl_lock SET expires=expires-3600")

    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=3600, waiting=waiting)
        assert told == ["waiting for the lock: apply by pid 1 on elsewhere, staging MEMORY"]
        assert lock.leftovers == {"MYSQL USERS"}
        assert instance.query("SELECT owner FROM proxyctl_lock") == [(lock.owner,)]
    drop_lock(instance)


def test_apply_waits_for_the_lock_as_long_as_it_may(project: Project, instance: Instance) -> None:
    project.write(FILES)
    hold_lock(instance, host="elsewhere", pid=1, for_s=3600)
    before = time.monotonic()
    found = apply("--lock-timeout", "1.2")
    assert time.monotonic() - before >= 1.2
    assert found.code == 3
    assert "is locked: apply by pid 1 on elsewhere" in found.err
    drop_lock(instance)


LEFT_S = "SELECT expires-CAST(strftime('%s','now') AS INT) FROM proxyctl_lock"


@pytest.mark.parametrize(("read_timeout_s", "lease_s"), [(60, 60), (299.5, 300)])
def test_the_lock_is_renewed(instance: Instance, read_timeout_s: float, lease_s: int) -> None:
    """It outlives a statement that is still awaited, however long that may take."""

    def left_s() -> int:
        return int(str(instance.query(LEFT_S)[0][0]))

    login = Login(port=instance.port, password="admin", read_timeout_s=read_timeout_s)
    with AdminClient(login) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        assert lease_s - 50 < left_s() <= lease_s
        instance.execute("UPDATE proxyctl_lock SET expires=expires-50")
        lock.renew()
        assert left_s() <= lease_s - 50, "it was renewed a moment ago"
        lock._renewed -= LEASE_S / 3
        lock.renew()
        assert lease_s - 50 < left_s() <= lease_s
        lock.release()
    drop_lock(instance)


LOST = {"taken over": "taken by somebody else", "unlocked": "removed"}


@pytest.mark.parametrize("way", LOST)
@pytest.mark.parametrize("step", ["MYSQL QUERY RULES: write MEMORY", "LOAD MYSQL QUERY RULES"])
def test_an_apply_that_loses_its_lock_stops(
    project: Project, instance: Instance, step: str, way: str
) -> None:
    """It leaves everything to the one that holds the lock now, who knows what was begun."""
    project.write(FILES)
    applied()
    before = dump(instance)
    project.write(FILES.replace("weight: 100", "weight: 70").replace("'^SELECT.*F", "'^SELECT .*F"))

    def lose(text: str) -> None:
        if text.startswith(step) and way == "taken over":
            instance.execute("UPDATE proxyctl_lock SET owner='them', host='elsewhere'")
        elif text.startswith(step):
            proxyctl("unlock")

    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        found = plan_files(client, ParsedFiles(Sources(("proxyctl.yaml",))))
        with pytest.raises(ApplyError, match=f"the lock was {LOST[way]}") as caught:
            apply_plan(client, found, lock, ApplyOptions(progress=lose))
        lock.release()
    assert "nothing was put back" in caught.value.message
    assert of_layer(dump(instance), "DISK") == of_layer(before, "DISK")
    if way == "taken over":
        assert instance.query("SELECT owner FROM proxyctl_lock") == [("them",)]
        instance.execute("UPDATE proxyctl_lock SET expires=0")
    applied("--lock-timeout", "0")
    assert plan().code == 0
    drop_lock(instance)


@pytest.mark.parametrize("stopped_s", [0.0, RENEW_S + 0.1])
@pytest.mark.parametrize("change", ["weight: 70", "port: 3307, weight: 70"])
def test_one_that_was_stopped_for_a_while_writes_nothing_when_it_goes_on(
    project: Project, instance: Instance, change: str, stopped_s: float
) -> None:
    """Another apply took over meanwhile: what it staged is not written over, nor added to."""
    project.write(FILES)
    applied()
    before = dump(instance)
    project.write(FILES.replace("weight: 100", change))

    def stop(text: str) -> None:
        if "write MEMORY" in text:
            instance.execute("UPDATE proxyctl_lock SET owner='them', host='elsewhere'")
            time.sleep(stopped_s)

    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        found = plan_files(client, ParsedFiles(Sources(("proxyctl.yaml",))))
        with pytest.raises(ApplyError, match="the lock was taken by somebody else"):
            apply_plan(client, found, lock, ApplyOptions(progress=stop))
    assert dump(instance) == before
    drop_lock(instance)


def test_a_lock_whose_expiry_is_no_number_is_taken_over(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    hold_lock(instance, host="elsewhere", pid=1, for_s=60)
    instance.execute("UPDATE proxyctl_lock SET expires='soon'")
    applied("--lock-timeout", "0")
    drop_lock(instance)


def _dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    return process.pid


@pytest.fixture
def unnoticed_death() -> Iterator[int]:
    """The pid of a process that has ended, for which its parent has not waited yet."""
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    yield process.pid
    process.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which process has ended")
def test_a_dead_owner_is_dead_before_its_parent_noticed(
    instance: Instance, unnoticed_death: int
) -> None:
    hold_lock(instance, host=os.uname().nodename, pid=unnoticed_death, for_s=60)
    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        lock.release()
    drop_lock(instance)


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
    host = os.uname().nodename
    if death == "expired":
        modules = '["MYSQL QUERY RULES"]'
        hold_lock(instance, host="elsewhere", pid=1, modules=modules, for_s=-1)
    else:
        hold_lock(instance, host=host, pid=_dead_pid(), modules='["MYSQL QUERY RULES"]', for_s=60)
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
    modules = '["MYSQL QUERY RULES"]'
    hold_lock(instance, host=os.uname().nodename, pid=_dead_pid(), modules=modules, for_s=60)
    shown = plan("--out", "plan.out")
    assert "refused" not in shown.out
    if way == "unlocked":
        assert "removed the lock" in proxyctl("unlock").err
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


def test_an_edit_of_somebody_else_is_no_leftover_of_a_dead_apply(
    project: Project, instance: Instance
) -> None:
    scope = "\nmanage:\n  mysql_query_rules: {rule_id: '10-99'}\n"
    project.write(FILES + scope)
    instance.execute("INSERT INTO mysql_query_rules (rule_id, active) VALUES (500, 1)")
    applied("--include-pending")
    project.write(FILES.replace("'^SELECT', dest", "'^SELECT', cache_ttl: 5, dest") + scope)
    instance.execute("UPDATE mysql_query_rules SET cache_ttl=4 WHERE rule_id=20")
    instance.execute("UPDATE mysql_query_rules SET destination_hostgroup=66 WHERE rule_id=500")
    modules = '["MYSQL QUERY RULES"]'
    hold_lock(instance, host=os.uname().nodename, pid=_dead_pid(), modules=modules, for_s=60)
    refused = apply()
    assert refused.code == 3
    assert "mysql_query_rules 500: destination_hostgroup edited in MEMORY" in refused.text
    assert "mysql_query_rules 20:" not in refused.text
    found = instance.query("SELECT destination_hostgroup FROM runtime_mysql_query_rules")
    assert ("66",) not in found
    instance.execute("UPDATE mysql_query_rules SET destination_hostgroup=NULL WHERE rule_id=500")
    applied()
    drop_lock(instance)


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
    modules = '["MYSQL SERVERS"]'
    hold_lock(instance, host=os.uname().nodename, pid=_dead_pid(), modules=modules, for_s=60)
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
    process = subprocess.Popen(
        [sys.executable, "-m", "proxyctl", "apply", "--auto-approve"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=project.folder,
    )
    # Wait until it says that it is there; however far it gets before the signal, the law holds.
    while process.poll() is None:
        rows = instance.query(
            "SELECT 1 FROM sqlite_temp_master WHERE name='proxyctl_lock'"
        ) and instance.query("SELECT stage FROM proxyctl_lock")
        if rows and str(rows[0][0]).startswith(stage):
            break
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()

    found = in_layers(instance, "SELECT count(*) FROM {}mysql_query_rules")
    whole = {(str(2),), (str(2 + 2900),)}
    assert set(found["RUNTIME"]) <= whole
    assert set(found["DISK"]) <= whole
    applied("--lock-timeout", "0")
    assert everywhere(instance, "SELECT count(*) FROM {}mysql_query_rules") == [("2902",)]
    assert plan().code == 0
    drop_lock(instance)


@pytest.mark.parametrize("modules", ["MYSQL USERS", "{}", "7", ""])
def test_a_row_of_the_lock_that_somebody_wrote_by_hand(
    project: Project, instance: Instance, modules: str
) -> None:
    project.write(FILES)
    hold_lock(instance, host="elsewhere", pid=1, modules=modules, for_s=3600)
    instance.execute("UPDATE proxyctl_lock SET pid='me', expires='tomorrow'")
    assert plan().code == 2
    huge = f"host='{os.uname().nodename}', pid=99999999999999999"
    instance.execute(f"UPDATE proxyctl_lock SET {huge}, expires=strftime('%s','now')+60")
    assert plan().code == 2
    assert proxyctl("unlock").code == 0
    applied()
