"""snapshot and history: what is kept, what it says of itself, and files that cannot be used."""

from __future__ import annotations

import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import Lock
from proxyctl.admin.login import Login
from proxyctl.sandbox import Sandbox
from tests.journeys.layers import dump
from tests.journeys.story import FILES, applied, apply, plan, said
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
    assert (newest["number"], newest["before"], newest["sources"], newest["outcome"]) == (
        1,
        "apply",
        ["proxyctl.yaml"],
        "applied",
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


def test_history_needs_no_proxysql(sandbox_project: Project, sandbox: Sandbox) -> None:
    sandbox_project.write(FILES)
    applied()
    sandbox.stop()
    assert len(history()) == 1


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


def test_a_snapshot_in_a_file(project: Project) -> None:
    project.write(FILES)
    applied()
    taken = proxyctl("snapshot", "-o", "before.json", "--format", "json").json
    assert (taken["path"], taken["format"]) == ("before.json", 1)
    assert stat.S_IMODE(Path("before.json").stat().st_mode) == 0o600
    assert len(history()) == 1
    project.write(CHANGED)
    applied()
    found = proxyctl("rollback", "before.json", "--auto-approve")
    assert found.code == 0, found.text
    project.write(FILES)
    assert plan().code == 0
    assert proxyctl("snapshot", "-o", "before.json").code == 0, "a snapshot may be replaced"
    said(proxyctl("snapshot", "-o", "proxyctl.yaml"), 3, "is there, and is no snapshot")
    said(proxyctl("snapshot", "-o", "none/x.json"), 1, "no snapshot can be taken in none")


def test_a_snapshot_in_the_middle_of_an_apply_says_so(
    sandbox_project: Project, sandbox: Sandbox
) -> None:
    with AdminClient(Login(port=sandbox.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        said(proxyctl("snapshot"), 0, "taken in the middle of a change: apply by pid")
        lock.release()


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

    assert [meant(), meant("1"), meant("2"), meant("3")] == [
        newest.stem,
        newest.stem,
        middle.stem,
        oldest.stem,
    ]
    assert meant(middle.stem) == meant(middle.stem[:-3]) == meant(str(middle)) == middle.stem
    said(proxyctl("rollback", "4"), 1, "there is no snapshot 4 of", "proxyctl history")
    said(proxyctl("rollback", "2026"), 1, "there is no snapshot 2026 of")
    said(proxyctl("rollback", "nothing"), 1, "and no such file")
    said(proxyctl("rollback", "./nothing"), 1, "nothing: No such file or directory")
    said(proxyctl("rollback", middle.stem[:5]), 1, "3 snapshots begin with")


def test_only_the_newest_are_kept(sandbox_project: Project) -> None:
    for weight in (1, 2, 3):
        sandbox_project.write(FILES.replace("weight: 1}", f"weight: {weight}}}"))
        applied("--snapshots-kept", "2")
    assert [one["number"] for one in history()] == [1, 2]
    assert len(list(sandbox_project.state.rglob("*.outcome"))) == 2
    said(apply("--snapshots-kept", "0"), 64)


def test_the_one_just_taken_is_kept_after_a_clock_was_set_back(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    applied()
    (first,) = sandbox_project.snapshots()
    first.rename(first.with_name("29990101T000000.000000Z.json"))
    sandbox_project.write(FILES.replace("weight: 1}", "weight: 2}"))
    applied("--snapshots-kept", "1")
    (kept,) = sandbox_project.snapshots()
    assert not kept.name.startswith("2999")


# -- files that cannot be used --------------------------------------------------------------------


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flip(data: bytes) -> bytes:
    return data.replace(b'"db1"', b'"db9"', 1)


def _newer(data: bytes) -> bytes:
    return data.replace(b'{"format": 1', b'{"format": 9', 1)


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (_cut, "the snapshot is cut short: its checksum is missing"),
        (lambda data: data[:-1], "the snapshot is cut short"),
        (_flip, "the snapshot was damaged or changed: its checksum does not fit"),
        (_newer, "a snapshot of format 9; this proxyctl reads format 1"),
        (lambda _data: b"", "not a snapshot"),
        (lambda _data: b"\x00\xff" * 99, "not a snapshot"),
        (lambda _data: b"version: 1\n", "not a snapshot"),
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
    said(found, 1, f"error: {path}: {text}", "rollback takes the number of another one")
    assert len(found.err.splitlines()) == 2
    assert text in str(history()[0]["problem"])
    assert f"cannot be used: {text}" in proxyctl("history").out
    assert dump(sandbox_instance) == before
    older = proxyctl("rollback", "2", "--auto-approve", "--force")
    assert older.code == 0, older.text
    assert f"{path}: " in older.out, "what its apply owned is not known"


def test_a_folder_is_no_snapshot(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    applied()
    said(proxyctl("rollback", "."), 1, "Is a directory")


def test_another_instance_is_refused(sandbox_project: Project, sandbox: Sandbox) -> None:
    sandbox_project.write(FILES)
    applied()
    assert proxyctl("snapshot", "-o", "one.json").code == 0
    with Sandbox(variables={"mysql-monitor_enabled": "false"}) as other:
        arguments = ("rollback", "one.json", "--auto-approve", "--port", str(other.port))
        said(proxyctl(*arguments), 3, f"not of 127.0.0.1:{other.port}", "--other-instance")
        found = proxyctl(*arguments, "--other-instance")
        assert found.code == 0, found.text
        assert plan("--port", str(other.port)).code == 0


def test_another_version_is_refused(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    applied()
    assert proxyctl("snapshot", "-o", "one.json").code == 0
    with Sandbox(version="2.6.0", variables={"mysql-monitor_enabled": "false"}) as older:
        where = ("--auto-approve", "--port", str(older.port), "--other-instance")
        said(proxyctl("rollback", "one.json", *where), 3, "ProxySQL 2.7.1", "--other-version")
        found = proxyctl("rollback", "one.json", *where, "--other-version", "--force")
        assert found.code == 0, found.text
        assert "this ProxySQL has no such" in found.out
        assert plan("--port", str(older.port)).code == 0


# -- like any other apply -------------------------------------------------------------------------


def test_it_asks_first(sandbox_project: Project, sandbox_instance: Instance) -> None:
    sandbox_project.write(FILES)
    applied()
    sandbox_project.write(CHANGED)
    applied()
    before = dump(sandbox_instance)
    said(proxyctl("rollback"), 64, "rollback asks before it acts", "--auto-approve")
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


def test_without_a_save_a_restart_takes_it_back(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    sandbox_project.write(FILES)
    applied()
    sandbox_project.write(CHANGED)
    applied()
    found = proxyctl("rollback", "--auto-approve", "--no-save")
    assert "DISK was left alone" in found.out
    weights = "SELECT DISTINCT weight FROM {}mysql_servers WHERE hostname='db3'"
    assert sandbox_instance.query(weights.format("disk.")) == [("70",)]
    assert sandbox_instance.query(weights.format("main.runtime_")) == [("100",)]


KILLED = """
import os, signal, sys
from proxyctl.admin.client import AdminClient
from proxyctl.cli.main import run
whole = AdminClient.execute
def execute(self, statement):
    done = whole(self, statement)
    if statement.sql.startswith(os.environ["KILL_AFTER"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return done
AdminClient.execute = execute
sys.exit(run(["apply", "--auto-approve"]))
"""


@pytest.mark.parametrize(
    "statement",
    ["UPDATE mysql_servers", "LOAD MYSQL SERVERS", "SAVE MYSQL VARIABLES", "SAVE MYSQL SERVERS"],
)
def test_after_an_apply_that_was_killed(
    project: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    project.write(FILES)
    applied()
    before = dump(instance)
    project.write(CHANGED)
    monkeypatch.setenv("KILL_AFTER", statement)
    killed = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert dump(instance) != before
    assert history()[0]["outcome"] is None
    assert "outcome not known" in proxyctl("history").out
    found = proxyctl("rollback", "--auto-approve")
    assert found.code == 0, found.text
    assert dump(instance) == before


def test_what_a_killed_apply_left_in_memory_does_not_come_back(
    project: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next apply finds it there when it takes its snapshot."""
    project.write(FILES)
    applied()
    before = dump(instance)
    project.write(CHANGED)
    monkeypatch.setenv("KILL_AFTER", "UPDATE mysql_servers")
    subprocess.run([sys.executable, "-c", KILLED], capture_output=True, check=False)
    project.write(FILES.replace("8.0.36", "8.4.0").replace("weight: 1}", "weight: 2}"))
    applied()
    found = proxyctl("rollback", "--auto-approve")
    assert found.code == 0, found.text
    assert dump(instance) == before
