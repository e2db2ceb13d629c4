"""An apply whose lock is gone reports what it can know, which is not what the layers hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from proxyctl.errors import ApplyError, ProxyctlError, RefusedError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.lock import Lock
from tests.journeys.held_lock import drop_lock
from tests.journeys.layers import everywhere
from tests.journeys.story import FILES, applied, plan
from tests.journeys.watched import at_step, failed_apply
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

NOT_KNOWN = "MEMORY unknown, RUNTIME unknown, DISK unknown"


@pytest.fixture
def first(project: Project, instance: Instance) -> Iterator[Callable[..., ProxyctlError]]:
    """Apply weight 7 where 1 was, and do something once it says a step. Returns how it ended."""

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

    yield run
    drop_lock(instance)


STEPS = ["MYSQL SERVERS: write MEMORY", "LOAD MYSQL SERVERS", "SAVE MYSQL SERVERS"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("way", ["unlocked", "expired"])
def test_another_apply_went_on_and_finished(
    first: Callable[..., ProxyctlError], instance: Instance, step: str, way: str
) -> None:
    """The layers hold what that one made of them, so nothing is claimed, and nothing put back."""

    def another() -> None:
        if way == "unlocked":
            proxyctl("unlock")
        else:
            instance.execute("UPDATE proxyctl_lock SET expires=1")
        applied("--lock-timeout", "0")

    error = first(step, another)
    assert isinstance(error, ApplyError)
    assert error.layers == [f"MYSQL SERVERS: {NOT_KNOWN}"]
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
    assert error.layers == [f"MYSQL SERVERS: {NOT_KNOWN}"]
    assert "the lock was taken by somebody else: apply by pid 7 on elsewhere" in str(error)
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
    drop_lock(instance)


def unlock() -> None:
    assert proxyctl("unlock").code == 0


def test_a_lock_removed_while_the_connection_was_lost_is_no_restart(
    project: Project, instance: Instance
) -> None:
    """Nobody is told that ProxySQL was restarted, and the lock is not taken again in silence."""
    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        assert not lock.take_again()
        assert proxyctl("unlock").code == 0
        with pytest.raises(RefusedError, match="the lock was removed, by unlock or"):
            lock.take_again()
        assert instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]
    drop_lock(instance)
