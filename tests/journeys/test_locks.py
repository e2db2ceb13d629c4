"""The lock: respected while its owner lives, taken over from a dead owner, and lost on the way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from proxyctl.errors import ApplyError, ProxyctlError, RefusedError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import READ_TIMEOUT_S, Login
from proxyctl.instance.lock import LEASE_S, RENEW_S, Lock
from tests.journeys.held_lock import dead_pid, hold_dead_lock, hold_lock
from tests.journeys.watched import at_step, failed_apply
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import FILES, applied, apply, ended, plan
from tests.support.servers.instances import Instance
from tests.support.servers.layers import dump, everywhere


def test_apply_without_a_terminal_asks_for_a_decision(project: Project, instance: Instance) -> None:
    project.write(FILES)
    before = dump(instance)
    found = proxyctl("apply")
    assert found.code == 64
    assert "--auto-approve" in found.err
    assert "Plan: 9 to add" in found.out
    assert dump(instance) == before


def test_a_process_number_of_another_container_tells_nothing(
    project: Project, instance: Instance
) -> None:
    """Two containers may share a host name; the process may live in the other one."""
    project.write(FILES)
    host = os.uname().nodename
    hold_lock(instance, host=host, pid=dead_pid(), for_s=60, space="2f1c8a9e-4026532177")
    ended(apply("--lock-timeout", "0"), 3, "is locked")


def test_apply_waits_for_the_lock_until_it_expires(instance: Instance) -> None:
    hold_lock(instance, host="elsewhere", pid=1, modules='{"MYSQL USERS": true}', for_s=3600)
    messages: list[str] = []

    def waiting(text: str) -> None:
        messages.append(text)
        instance.execute("UPDATE proxyctl_lock SET expires=expires-3600")

    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=3600, waiting=waiting)
        assert messages == ["waiting for the lock: apply by pid 1 on elsewhere, staging MEMORY"]
        assert lock.leftovers == {"MYSQL USERS": True}
        assert instance.query("SELECT owner FROM proxyctl_lock") == [(lock.owner,)]


LEFT_S = "SELECT expires-CAST(strftime('%s','now') AS INT) FROM proxyctl_lock"


def test_the_lock_is_renewed(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock does not expire during a long statement."""

    def left_s() -> int:
        return int(str(instance.query(LEFT_S)[0][0]))

    assert LEASE_S >= READ_TIMEOUT_S
    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        assert LEASE_S - 50 < left_s() <= LEASE_S
        instance.execute("UPDATE proxyctl_lock SET expires=expires-50")
        lock.renew()
        assert left_s() <= LEASE_S - 50, "it was renewed a moment ago"
        now = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: now() + RENEW_S)
        lock.renew()
        assert LEASE_S - 50 < left_s() <= LEASE_S
        lock.release()


@pytest.mark.parametrize("stopped_s", [0.0, RENEW_S + 0.1])
@pytest.mark.parametrize("change", ["weight: 70", "port: 3307, weight: 70"])
def test_one_that_was_stopped_for_a_while_writes_nothing_when_it_goes_on(
    project: Project, instance: Instance, change: str, stopped_s: float
) -> None:
    """Another apply took over meanwhile: its staged rows are neither overwritten nor extended."""
    project.write(FILES)
    applied()
    before = dump(instance)
    project.write(FILES.replace("weight: 100", change))

    def stop(text: str) -> None:
        if "write MEMORY" in text:
            instance.execute("UPDATE proxyctl_lock SET owner='them', host='elsewhere'")
            time.sleep(stopped_s)

    error = failed_apply(instance, stop)
    assert "another command took the lock" in str(error)
    assert dump(instance) == before


def test_apply_waits_for_the_lock_as_long_as_it_may(project: Project, instance: Instance) -> None:
    project.write(FILES)
    hold_lock(instance, host="elsewhere", pid=1, for_s=3600)
    held, before = dump(instance), time.monotonic()
    found = apply("--lock-timeout", "1.2")
    assert time.monotonic() - before >= 1.2
    ended(found, 3, "is locked: apply by pid 1 on elsewhere, staging MEMORY", "--lock-timeout")
    assert dump(instance) == held
    assert plan().code == 2
    assert "removed the lock of apply by pid 1 on elsewhere" in proxyctl("unlock").err
    assert proxyctl("unlock").err == "there is no lock\n"
    applied("--lock-timeout", "0")
    assert instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]


@pytest.mark.parametrize("modules", ["MYSQL USERS", "{}", ""])
def test_a_row_of_the_lock_that_somebody_wrote_by_hand(
    project: Project, instance: Instance, modules: str
) -> None:
    """A lock whose expiry is not a number is taken over."""
    project.write(FILES)
    hold_lock(instance, host="elsewhere", pid=1, modules=modules, for_s=3600)
    huge = f"host='{os.uname().nodename}', pid=99999999999999999"
    instance.execute(f"UPDATE proxyctl_lock SET {huge}, expires=strftime('%s','now')+60")
    assert plan().code == 2
    instance.execute("UPDATE proxyctl_lock SET pid='me', expires='tomorrow'")
    applied("--lock-timeout", "0")


# -- of one that is dead ---------------------------------------------------------------------------


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
    if death == "expired":
        modules = '{"MYSQL QUERY RULES": true}'
        hold_lock(instance, host="elsewhere", pid=1, modules=modules, for_s=-1)
    else:
        hold_dead_lock(instance, "MYSQL QUERY RULES")
    applied("--lock-timeout", "0")
    assert plan().code == 0


@pytest.mark.parametrize("way", ["saved plan", "unlocked", "refused before"])
def test_leftovers_of_an_interrupted_apply_stay_ours_until_one_finishes(
    project: Project, instance: Instance, way: str
) -> None:
    project.write(FILES)
    applied()
    instance.execute("UPDATE mysql_query_rules SET cache_ttl=4 WHERE rule_id=20")
    hold_dead_lock(instance, "MYSQL QUERY RULES")
    shown = plan("--out", "plan.out")
    assert "refused" not in shown.out
    assert "the next apply begins with LOAD MYSQL QUERY RULES FROM DISK" in shown.out
    if way == "unlocked":
        message = proxyctl("unlock").err
        assert "removed the lock" in message
        assert "LOAD MYSQL QUERY RULES FROM DISK;\n" in message
        assert proxyctl("unlock").err == "there is no lock\n"
    if way == "refused before":
        instance.execute("UPDATE mysql_users SET default_schema='x'")
        assert apply().code == 3
        instance.execute("UPDATE mysql_users SET default_schema=NULL")
    done = apply() if way == "unlocked" else proxyctl("apply", "plan.out")
    assert done.code == 0, done.text
    assert plan().code == 0
    assert instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]


def test_memory_is_put_back_once_also_by_an_apply_of_other_modules(
    project: Project, instance: Instance
) -> None:
    """What MEMORY holds afterwards is somebody's edit."""
    project.write("version: 1\nmysql_servers:\n  - {hostgroup_id: 10, hostname: db1}\n")
    instance.execute("INSERT INTO mysql_users(username,password) VALUES('half','x')")
    hold_dead_lock(instance, "MYSQL USERS")
    applied()
    assert instance.query("SELECT username FROM mysql_users") == []
    for name in ("edit", "later"):
        instance.execute(f"INSERT INTO mysql_users(username,password) VALUES('{name}','x')")
        applied()
    assert instance.query("SELECT username FROM mysql_users") == [("edit",), ("later",)]


def test_where_memory_had_edits_before_they_are_listed_and_nothing_is_put_back(
    project: Project, instance: Instance
) -> None:
    scope = "\nmanage:\n  mysql_query_rules: {rule_id: '10-99'}\n"
    project.write(FILES + scope)
    applied()
    project.write(FILES.replace("'^SELECT', dest", "'^SELECT', cache_ttl: 5, dest") + scope)
    instance.execute("UPDATE mysql_query_rules SET cache_ttl=5 WHERE rule_id=20")
    instance.execute("INSERT INTO mysql_query_rules (rule_id, active) VALUES (500, 1)")
    hold_dead_lock(instance, "MYSQL QUERY RULES", was_saved=False)
    assert "which held edits that are not on DISK" in plan().out
    assert "MEMORY held edits that are not on DISK" in proxyctl("unlock").err
    refused = apply()
    assert refused.code == 3
    assert "rule 500: row added in MEMORY" in refused.text
    assert "rule 20: row" not in refused.text
    assert "rule 20: cache_ttl edited" not in refused.text
    assert ("500",) in instance.query("SELECT rule_id FROM mysql_query_rules")
    instance.execute("DELETE FROM mysql_query_rules WHERE rule_id=500")
    applied()
    assert plan().code == 0


def test_a_lock_that_names_what_is_no_module_is_taken_over(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    """Anybody may write the row."""
    sandbox_project.write(FILES)
    hold_dead_lock(sandbox_instance, "no such module", "MYSQL USERS; PROXYSQL SHUTDOWN")
    assert plan().code == 2
    applied()
    assert plan().code == 0


# -- that is gone when its owner goes on -----------------------------------------------------------


LOCK_LOST = ", ".join(f"{layer} unknown (lock lost)" for layer in ("MEMORY", "RUNTIME", "DISK"))


@pytest.fixture
def first(project: Project, instance: Instance) -> Callable[..., ProxyctlError]:
    """Change weight 1 to 7, call `meanwhile` at a step, and return the error of the apply."""

    def weighing(weight: int) -> str:
        return FILES.replace("hostname: db1, weight: 1}", f"hostname: db1, weight: {weight}}}")

    def run(step: str, meanwhile: Callable[[], None]) -> ProxyctlError:
        project.write(weighing(1))
        applied()
        project.write(weighing(7))

        def act() -> None:
            happened.append(step)
            project.write(weighing(9))
            meanwhile()

        happened: list[str] = []
        error = failed_apply(instance, at_step(step, act))
        assert happened
        return error

    return run


STEPS = ["MYSQL SERVERS: write MEMORY", "LOAD MYSQL SERVERS", "SAVE MYSQL SERVERS"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("way", ["unlocked", "expired"])
def test_another_apply_went_on_and_finished(
    first: Callable[..., ProxyctlError], instance: Instance, step: str, way: str
) -> None:
    """The layers hold the other apply's changes, so this one claims and restores nothing."""

    def another() -> None:
        if way == "unlocked":
            proxyctl("unlock")
        else:
            instance.execute("UPDATE proxyctl_lock SET expires=1")
        applied("--lock-timeout", "0")

    error = first(step, another)
    assert isinstance(error, ApplyError)
    assert error.layers == [f"MYSQL SERVERS: {LOCK_LOST}"]
    assert "the lock was removed, by unlock or by another apply that has finished" in str(error)
    assert "nothing was restored" in str(error)
    assert error.fix == "run plan again to see the current state"
    where = "WHERE hostgroup_id=20 AND hostname='db1'"
    assert everywhere(instance, f"SELECT weight FROM {{}}mysql_servers {where}") == [("9",)]
    assert plan().code == 0


@pytest.mark.parametrize("step", STEPS)
def test_the_one_that_holds_the_lock_now_is_named(
    first: Callable[..., ProxyctlError], instance: Instance, step: str
) -> None:
    def another() -> None:
        instance.execute("UPDATE proxyctl_lock SET owner='them', host='elsewhere', pid=7")
        instance.execute("UPDATE mysql_servers SET weight=9")
        instance.execute("SAVE MYSQL SERVERS TO DISK")

    error = first(step, another)
    assert isinstance(error, ApplyError)
    assert error.layers == [f"MYSQL SERVERS: {LOCK_LOST}"]
    assert "another command took the lock: apply by pid 7 on elsewhere" in str(error)
    assert "removed" not in str(error)
    assert instance.query("SELECT owner FROM proxyctl_lock") == [("them",)]
    assert instance.query("SELECT DISTINCT weight FROM disk.mysql_servers") == [("9",)]


def test_a_lock_removed_before_anything_was_written_changes_nothing(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    error = failed_apply(instance, lambda _: None, first=unlock)
    assert isinstance(error, RefusedError)
    assert "the lock was removed, by unlock or" in str(error)


def unlock() -> None:
    assert proxyctl("unlock").code == 0


def test_a_lock_removed_while_the_connection_was_lost_is_no_restart(
    project: Project, instance: Instance
) -> None:
    """The message does not claim a restart, and the lock is not silently taken again."""
    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        assert not lock.take_again()
        assert proxyctl("unlock").code == 0
        with pytest.raises(RefusedError, match="the lock was removed, by unlock or"):
            lock.take_again()
        assert instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]
