"""snapshot and history: what is kept, what it says of itself, and files that cannot be used."""

from __future__ import annotations

import gzip
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.lock import Lock
from proxyctl.sandbox import Sandbox
from tests.faults.proxy import FaultyProxy
from tests.journeys.killable import Killable
from tests.journeys.layers import dump
from tests.journeys.story import FILES, applied, plan, said
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

CHANGED = FILES.replace("weight: 100", "weight: 70").replace("8.0.36", "8.4.0")


def history() -> list[dict[str, object]]:
    found = proxyctl("history", "--format", "json")
    assert found.code == 0, found.text
    snapshots: list[dict[str, object]] = found.json["snapshots"]
    return snapshots


def test_history_tells_what_each_apply_was_about(project: Project) -> None:
    project.write(FILES)
    applied()
    project.write(CHANGED)
    applied("-f", "proxyctl.yaml")
    newest, oldest = history()
    assert newest["changes"] == [
        {"module": "MYSQL VARIABLES", "add": 0, "change": 1, "delete": 0},
        {"module": "MYSQL SERVERS", "add": 0, "change": 2, "delete": 0},
    ]
    assert (newest["number"], newest["before"], newest["sources"]) == (
        1,
        "apply",
        ["proxyctl.yaml"],
    )
    assert (oldest["number"], oldest["problem"]) == (2, None)
    assert re.fullmatch(r".+@.+", str(newest["by"]))
    shown = proxyctl("history").out.splitlines()
    assert re.match(r"1  taken \S+Z, before apply of proxyctl.yaml by \S+$", shown[0])
    assert shown[1].endswith("MYSQL VARIABLES 1 changed; MYSQL SERVERS 2 changed")
    project.write(FILES)
    assert proxyctl("rollback", "--auto-approve").code == 0
    assert history()[0]["before"] == "rollback"
    assert history()[0]["sources"] == [newest["name"]]


def test_there_is_none_yet(sandbox_project: Project) -> None:
    said(proxyctl("rollback"), 1, "there is no snapshot of 127.0.0.1:", "PROXYCTL_STATE_DIR")
    said(proxyctl("history"), 0, "there is no snapshot of 127.0.0.1:")


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
    for sql in (
        "DELETE FROM mysql_query_rules",
        "UPDATE mysql_servers SET weight=3",
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('app', 'tenant', 0, 3, '')",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
        "SAVE MYSQL QUERY RULES TO DISK",
    ):
        instance.execute(sql)
    assert proxyctl("rollback", "--auto-approve", "--force").code == 0
    assert dump(instance) == before


def test_a_copy_elsewhere_is_a_snapshot_too(project: Project) -> None:
    project.write(FILES)
    applied()
    taken = proxyctl("snapshot", "--format", "json").json
    assert (taken["format"], taken["path"]) == (1, str(project.snapshots()[-1]))
    shutil.copy(taken["path"], "before.gz")
    project.write(CHANGED)
    applied()
    found = proxyctl("rollback", "before.gz", "--auto-approve")
    assert found.code == 0, found.text
    project.write(FILES)
    assert plan().code == 0


def test_none_is_taken_in_the_middle_of_an_apply(
    sandbox_project: Project, sandbox: Sandbox
) -> None:
    with AdminClient(Login(port=sandbox.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        said(proxyctl("snapshot"), 3, "is locked: apply by pid")
        lock.release()
    assert not sandbox_project.snapshots()


# -- which one ------------------------------------------------------------------------------------


def test_it_is_named_by_number_name_or_path(sandbox_project: Project) -> None:
    for weight in (1, 2, 3):
        sandbox_project.write(FILES.replace("weight: 1}", f"weight: {weight}}}"))
        applied()
    oldest, middle, newest = sandbox_project.snapshots()

    def meant(*which: str) -> str:
        found = proxyctl("rollback", *which, "--dry-run", "--force")
        assert found.code == 0, found.text
        return found.err.split()[2].rstrip(",")

    names = [path.name.removesuffix(".jsonl.gz") for path in (newest, newest, middle, oldest)]
    assert [meant(), meant("1"), meant("2"), meant("3")] == names
    assert meant(names[2]) == meant(str(middle)) == names[2]
    said(proxyctl("rollback", "4"), 1, "there is no snapshot 4 of", "proxyctl history")
    said(proxyctl("rollback", "2026"), 1, "there is no snapshot 2026 of")
    said(proxyctl("rollback", "nothing"), 1, "and no such file")
    said(proxyctl("rollback", "./nothing"), 1, "nothing: No such file or directory")


def test_only_the_newest_are_kept(sandbox_project: Project) -> None:
    for _ in range(22):
        assert proxyctl("snapshot").code == 0
    assert [one["number"] for one in history()] == [*range(1, 21)]


# -- files that cannot be used --------------------------------------------------------------------


def _newer(data: bytes) -> bytes:
    return gzip.compress(gzip.decompress(data).replace(b'{"format": 1', b'{"format": 9', 1))


def _flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda data: data[: len(data) // 2], "damaged, or not a snapshot"),
        (lambda data: data[:-1], "damaged, or not a snapshot"),
        (_flip, "damaged, or not a snapshot"),
        (_newer, "a snapshot of format 9; this proxyctl reads format 1"),
        (lambda _data: b"", "not a snapshot"),
        (lambda _data: b"version: 1\n", "damaged, or not a snapshot"),
        (lambda _data: gzip.compress(b'{"format": 1}\n'), "not a snapshot"),
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
    said(found, 1, f"error: {path}: {text}", "proxyctl history lists the other snapshots")
    assert len(found.err.splitlines()) == 2
    assert dump(sandbox_instance) == before
    assert len(history()) == 2
    older = proxyctl("rollback", "2", "--auto-approve", "--force")
    assert older.code == 0, older.text


def test_history_names_what_is_no_snapshot(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    applied()
    sandbox_project.snapshots()[-1].write_bytes(b"version: 1\n")
    assert history()[0]["problem"] == "damaged, or not a snapshot"
    assert "cannot be used: damaged, or not a snapshot" in proxyctl("history").out


def test_another_instance_is_refused(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    applied()
    path = str(sandbox_project.snapshots()[-1])
    with Sandbox() as other:
        arguments = ("rollback", path, "--auto-approve", "--port", str(other.port))
        said(proxyctl(*arguments), 3, f"not of 127.0.0.1:{other.port}")


def test_another_version_is_refused(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    applied()
    (path,) = sandbox_project.snapshots()
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(text.replace(b'"version": "2.7', b'"version": "2.6', 1)))
    said(proxyctl("rollback", "--auto-approve"), 3, "was taken of ProxySQL 2.6.1")


# -- like any other apply -------------------------------------------------------------------------


def test_it_asks_first(sandbox_project: Project, sandbox_instance: Instance) -> None:
    sandbox_project.write(FILES)
    applied()
    sandbox_project.write(CHANGED)
    applied()
    before = dump(sandbox_instance)
    said(proxyctl("rollback"), 64, "rollback asks for approval", "--auto-approve")
    shown = proxyctl("rollback", "--dry-run")
    assert "Nothing has been changed yet." in shown.out
    assert proxyctl("rollback", "--dry-run", "--format", "json").json["instances"][0]["modules"]
    assert dump(sandbox_instance) == before
    assert len(sandbox_project.snapshots()) == 2


def test_guards_hold(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    applied()
    said(
        proxyctl("rollback", "--auto-approve"),
        3,
        "mysql_servers: nothing would be left; 4 rows would be deleted (guards.table_emptied)",
    )


def test_a_lock_holds(sandbox_project: Project, sandbox: Sandbox) -> None:
    sandbox_project.write(FILES)
    applied()
    with AdminClient(Login(port=sandbox.port, password="admin")) as client:
        lock = Lock(client, "rollback")
        lock.take(timeout_s=0)
        found = proxyctl("rollback", "--auto-approve", "--force", "--lock-timeout", "0")
        said(found, 3, "is locked: rollback by pid")
        lock.release()


@pytest.fixture
def proxy(project: Project, instance: Instance) -> Iterator[FaultyProxy]:
    """A proxy that all commands go through: snapshots are kept by host and port."""
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
    """The next apply finds it there when it takes its snapshot."""
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
