"""Asking before acting, and the lock while its owner lives."""

from __future__ import annotations

import os
import time

import pytest

from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import READ_TIMEOUT_S, Login
from proxyctl.instance.lock import LEASE_S, RENEW_S, Lock
from tests.journeys.held_lock import dead_pid, drop_lock, hold_lock
from tests.journeys.layers import dump
from tests.journeys.story import FILES, applied, apply, plan, said
from tests.journeys.watched import failed_apply
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance


def test_apply_without_a_terminal_asks_for_a_decision(project: Project, instance: Instance) -> None:
    project.write(FILES)
    before = dump(instance)
    found = proxyctl("apply")
    assert found.code == 64
    assert "--auto-approve" in found.err
    assert "Plan: 9 to add" in found.out
    assert dump(instance) == before


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
    hold_lock(instance, host=host, pid=dead_pid(), for_s=60, space="2f1c8a9e-4026532177")
    said(apply("--lock-timeout", "0"), 3, "is locked")
    drop_lock(instance)


def test_apply_waits_for_the_lock_until_it_expires(instance: Instance) -> None:
    hold_lock(instance, host="elsewhere", pid=1, modules='{"MYSQL USERS": true}', for_s=3600)
    told: list[str] = []

    def waiting(text: str) -> None:
        told.append(text)
        instance.execute("UPDATE proxyctl_lock SET expires=expires-3600")

    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=3600, waiting=waiting)
        assert told == ["waiting for the lock: apply by pid 1 on elsewhere, staging MEMORY"]
        assert lock.leftovers == {"MYSQL USERS": True}
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


def test_the_lock_is_renewed(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """It outlives a statement that is still awaited."""

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

    error = failed_apply(instance, stop)
    assert "the lock was taken by somebody else" in str(error)
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
