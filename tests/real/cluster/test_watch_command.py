"""`watch --apply` on members of one native cluster of real ProxySQL."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.cluster.rig import SERVERS, agree, members
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import listed
from tests.support.servers.instances import ProxySQL
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]


def watch(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> Outcome:
    """Watch with a step between two rounds, and one more round."""
    left, sleep = iter(steps), time.sleep

    def pause(seconds: float) -> None:
        if seconds < 1000:  # an apply waits
            sleep(seconds)
        elif (step := next(left, None)) is None:
            raise KeyboardInterrupt
        else:
            step()

    monkeypatch.setattr(time, "sleep", pause)
    options = ("--every", "1h", "--apply", "--grace", "0s", "--log-format", "json")
    return proxyctl("watch", "--all", *options)


def events(found: Outcome, name: str) -> list[str]:
    lines = [json.loads(line) for line in found.out.splitlines()]
    return [line["event"] for line in lines if line["name"] == name]


def servers(one: ProxySQL) -> list[tuple[str | None, ...]]:
    return one.instance.query("SELECT hostname FROM runtime_mysql_servers ORDER BY hostname")


def test_one_member_changes_and_the_other_follows(tmp_path: Path, offline: Project) -> None:
    with members(tmp_path, 2) as (first, second):
        offline.write("version: 1\n" + SERVERS + listed([first.port, second.port]))

        def edit() -> None:
            second.instance.execute("DELETE FROM mysql_servers WHERE hostname = 'a'")
            second.instance.load("MYSQL SERVERS", saves=True)
            until(lambda: servers(first) == [("b",)])
            until(lambda: agree(first, [second]) and agree(second, [first]))

        found = watch(offline.monkeypatch, edit, lambda: None)
        assert found.code == 0, found.text
        assert events(found, "px1") == ["differs", "applied", "differs", "applied"], found.out
        assert events(found, "px2") == ["differs", "followed", "differs", "followed"], found.out
        assert servers(first) == servers(second) == [("a",), ("b",)]
