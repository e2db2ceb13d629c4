"""`watch` beside another command that holds the lock of an instance."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.journeys.held_lock import hold_dead_lock, hold_lock
from tests.journeys.watched_fleet import CHANGED, Fleet, events, line_of, nothing
from tests.support.commands.cli import proxyctl
from tests.support.paths import ROOT
from tests.support.waiting import until


def test_a_lock_is_named_and_the_others_go_on(synced: Fleet) -> None:
    def lock() -> None:
        hold_lock(synced.instances[0], host="px", pid=1, for_s=60, space="elsewhere")
        synced.write(CHANGED)

    found = synced.watch(
        "--apply",
        steps=[
            lock,
            nothing,
            lambda: synced.instances[0].execute("DROP TABLE proxyctl_lock"),
        ],
    )
    assert events(found, "px1") == ["in_sync", "locked", "differs", "applied"]
    assert "apply by pid 1 on px" in line_of(found, "locked")["message"]
    assert events(found, "px2") == ["in_sync", "differs", "applied"]


def test_a_lock_that_is_taken_after_the_plan(synced: Fleet) -> None:
    """As by a second watch of the same fleet."""
    taken: list[str] = []

    def take(_connection: int, sql: str, _answer: bytes) -> None:
        if sql.startswith("CREATE TEMP TABLE") and not taken:
            taken.append(sql)
            hold_lock(synced.instances[0], host="px", pid=1, for_s=60, space="elsewhere")

    def begin() -> None:
        synced.proxy.watch = take
        synced.write(CHANGED)

    release = "DROP TABLE proxyctl_lock"
    found = synced.watch("--apply", steps=[begin, lambda: synced.instances[0].execute(release)])
    assert events(found, "px1") == ["in_sync", "differs", "not_applied", "applied"]
    line = line_of(found, "not_applied")
    assert "is locked: apply by pid 1 on px" in line["message"]
    assert line["details"] == ["fix: wait: the next round plans and tries again"]


def test_two_watches_apply_a_change_once(fleet: Fleet) -> None:
    arguments = ("watch", "--all", "--every", "1s", "--apply", "--log-format", "json")
    logs = [Path(name) for name in ("first.log", "second.log")]
    with ExitStack() as stack:
        watches = []
        for log in logs:
            out = stack.enter_context(log.open("w"))
            command = [sys.executable, "-m", "proxyctl", *arguments]
            env = {**os.environ, "PYTHONPATH": str(ROOT)}
            watches.append(subprocess.Popen(command, env=env, stdout=out))
        until(lambda: all(_ends_in_sync(log) for log in logs), most_s=120)
        for watch in watches:
            watch.send_signal(signal.SIGTERM)
        assert [watch.wait(60) for watch in watches] == [0, 0]
    assert len(fleet.project.snapshots()) == 2
    assert (fleet.weight(0), fleet.weight(1)) == ("100", "100")


def _ends_in_sync(log: Path) -> bool:
    """Return whether the last that a log says of each instance is that it matches the files."""
    lines = [json.loads(line) for line in log.read_text().split("\n")[:-1]]
    last = {line["name"]: line["event"] for line in lines if line["name"]}
    return len(last) == 2 and {*last.values()} <= {"in_sync", "applied"}


def test_an_apply_that_was_killed_is_finished_by_the_next_watch(synced: Fleet) -> None:
    px1 = synced.instances[0]
    synced.edit()
    px1.execute("UPDATE mysql_servers SET weight = 8 WHERE hostname = 'db2'")
    hold_dead_lock(px1, "MYSQL SERVERS")
    found = synced.watch("--apply", "--grace", "1h")
    assert events(found, "px1") == ["differs", "note", "applied"]
    note = line_of(found, "note")
    assert (note["name"], note["level"]) == ("px1", "warning")
    assert note["message"].startswith("MYSQL SERVERS: a command was killed")
    assert line_of(found, "differs")["message"] == "an apply was killed"
    assert synced.weight() == "100"


def test_a_second_watch_says_that_a_watch_holds_the_lock(synced: Fleet) -> None:
    seen: list[str] = []

    def look(_connection: int, sql: str, _answer: bytes) -> None:
        if sql.startswith("LOAD MYSQL SERVERS TO RUNTIME") and not seen:
            seen.append(_first_line_about("px1"))

    def begin() -> None:
        synced.proxy.watch = look
        synced.write(CHANGED)

    found = synced.watch("--apply", steps=[begin])
    (line,) = map(json.loads, seen)
    assert (line["event"], line["level"]) == ("locked", "warning")
    holder = f"another command holds the lock: watch by pid {os.getpid()} on {os.uname().nodename}"
    assert line["message"].startswith(holder)
    assert events(found, "px1") == ["in_sync", "differs", "applied"]
    assert "before watch of ./proxyctl.yaml by" in proxyctl("history", "--instance", "px1").out


def _first_line_about(name: str) -> str:
    """Return what the first round of another watch says about an instance."""
    command = [sys.executable, "-m", "proxyctl", "watch", "--all", "--log-format", "json"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = next(line for line in process.stdout if f'"{name}"' in line)
        process.send_signal(signal.SIGTERM)
    return found
