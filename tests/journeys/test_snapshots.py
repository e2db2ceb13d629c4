"""snapshot and history: kept snapshots, their descriptions, and unusable files."""

from __future__ import annotations

import gzip
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.lock import Lock
from proxyctl.sandbox import Sandbox
from tests.journeys.watched import Killable
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import FILES, applied, ended
from tests.support.protocol.faulty_proxy import FaultyProxy
from tests.support.servers.instances import Instance
from tests.support.servers.layers import dump

CHANGED = FILES.replace("weight: 100", "weight: 70").replace("8.0.36", "8.4.0")


def history() -> list[dict[str, object]]:
    found = proxyctl("history", "--format", "json")
    assert found.code == 0, found.text
    snapshots: list[dict[str, object]] = found.json["snapshots"]
    return snapshots


# -- one by hand ----------------------------------------------------------------------------------


def test_a_snapshot_by_hand_holds_everything(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    before = dump(instance)
    taken = proxyctl("snapshot")
    assert taken.code == 0, taken.text
    path = Path(taken.out.strip())
    assert path.parent == project.snapshots()[0].parent
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert dump(instance) == before, "taking one changes nothing"
    instance.execute(
        "DELETE FROM mysql_query_rules",
        "UPDATE mysql_servers SET weight=3",
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('app', 'tenant', 0, 3, '')",
    )
    instance.load("MYSQL SERVERS")
    instance.load("MYSQL QUERY RULES", saves=True)
    assert proxyctl("rollback", "--auto-approve", "--force").code == 0
    assert dump(instance) == before


def test_only_the_newest_are_kept(sandbox_project: Project) -> None:
    for _ in range(22):
        assert proxyctl("snapshot").code == 0
    assert [snapshot["number"] for snapshot in history()] == [*range(1, 21)]


# -- files that cannot be used --------------------------------------------------------------------


def _newer(data: bytes) -> bytes:
    return gzip.compress(gzip.decompress(data).replace(b'{"format": 1', b'{"format": 9', 1))


def _flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]


def _with(cell: bytes) -> Callable[[bytes], bytes]:
    """Return a function that replaces the empty texts of a snapshot's cells."""

    def damage(data: bytes) -> bytes:
        head, _, tables = gzip.decompress(data).partition(b"\n")
        return gzip.compress(head + b"\n" + tables.replace(b'""', cell))

    return damage


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda data: data[:-1], "damaged, or not a snapshot"),
        (_flip, "damaged, or not a snapshot"),
        (_newer, "a snapshot of format 9; this proxyctl reads format 1"),
        (lambda _data: gzip.compress(b'{"format": 1}\n'), "not a snapshot"),
        (_with(b'"\\u0000"'), "contains text with a NUL, which no statement can write back"),
        (_with(b'"\\ud800"'), "not a snapshot"),
        (_with(b"Infinity"), "not a snapshot"),
    ],
)
def test_a_damaged_file(
    sandbox_project: Project,
    sandbox_instance: Instance,
    damage: Callable[[bytes], bytes],
    text: str,
) -> None:
    sandbox_project.write(FILES)
    applied()
    sandbox_project.write(CHANGED)
    applied()
    before = dump(sandbox_instance)
    path = sandbox_project.snapshots()[-1]
    path.write_bytes(damage(path.read_bytes()))
    found = proxyctl("rollback", "--auto-approve")
    ended(
        found,
        1,
        f"error: {path}: {text}",
        "choose another snapshot: list them with proxyctl history",
    )
    assert len(found.err.splitlines()) == 2
    assert dump(sandbox_instance) == before
    assert len(history()) == 2
    older = proxyctl("rollback", "2", "--auto-approve", "--force")
    assert older.code == 0, older.text


def test_another_instance_is_refused(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    applied()
    path = str(sandbox_project.snapshots()[-1])
    with Sandbox() as other:
        arguments = ("rollback", path, "--auto-approve", "--port", str(other.port))
        ended(proxyctl(*arguments), 3, f"not of 127.0.0.1:{other.port}")


def test_another_version_is_refused(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    applied()
    (path,) = sandbox_project.snapshots()
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(text.replace(b'"version": "2.7', b'"version": "2.6', 1)))
    ended(proxyctl("rollback", "--auto-approve"), 3, "was taken from ProxySQL 2.6.1")


# -- like any other apply -------------------------------------------------------------------------


def test_it_asks_first(sandbox_project: Project, sandbox_instance: Instance) -> None:
    sandbox_project.write(FILES)
    applied()
    sandbox_project.write(CHANGED)
    applied()
    before = dump(sandbox_instance)
    ended(proxyctl("rollback"), 64, "rollback asks for approval", "--auto-approve")
    shown = proxyctl("rollback", "--dry-run")
    assert "Nothing has been changed yet." in shown.out
    assert proxyctl("rollback", "--dry-run", "--format", "json").json["instances"][0]["modules"]
    assert dump(sandbox_instance) == before
    assert len(sandbox_project.snapshots()) == 2


def test_a_lock_holds(sandbox_project: Project, sandbox: Sandbox) -> None:
    sandbox_project.write(FILES)
    applied()
    with AdminClient(Login(port=sandbox.port, password="admin")) as client:
        lock = Lock(client, "rollback")
        lock.take(timeout_s=0)
        found = proxyctl("rollback", "--auto-approve", "--force", "--lock-timeout", "0")
        ended(found, 3, "is locked: rollback by pid")
        ended(proxyctl("snapshot"), 3, "is locked: rollback by pid")
        lock.release()


@pytest.fixture
def proxy(project: Project, instance: Instance) -> Iterator[FaultyProxy]:
    """A proxy for all commands: snapshots are kept by host and port."""
    with FaultyProxy(instance.host, instance.port) as running:
        project.connect(replace(instance, host="127.0.0.1", port=running.port))
        yield running


@pytest.mark.parametrize(
    "statement",
    ["UPDATE mysql_servers", "LOAD MYSQL SERVERS", "SAVE MYSQL VARIABLES", "SAVE MYSQL SERVERS"],
)
def test_after_an_apply_that_was_killed(
    project: Project, instance: Instance, proxy: FaultyProxy, statement: str
) -> None:
    project.write(FILES)
    applied()
    before = dump(instance)
    project.write(CHANGED)
    Killable(project, proxy, ("apply", "--auto-approve")).kill_after_first(statement)
    assert dump(instance) != before
    found = proxyctl("rollback", "--auto-approve")
    assert found.code == 0, found.text
    assert dump(instance) == before


def test_what_a_killed_apply_left_in_memory_does_not_come_back(
    project: Project, instance: Instance, proxy: FaultyProxy
) -> None:
    """MEMORY still holds the killed apply's rows when the next apply takes its snapshot."""
    project.write(FILES)
    applied()
    before = dump(instance)
    project.write(CHANGED)
    apply = Killable(project, proxy, ("apply", "--auto-approve"))
    apply.kill_after_first("UPDATE mysql_servers")
    project.write(FILES.replace("8.0.36", "8.4.0").replace("weight: 1}", "weight: 2}"))
    applied()
    found = proxyctl("rollback", "--auto-approve")
    assert found.code == 0, found.text
    assert dump(instance) == before
