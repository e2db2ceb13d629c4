"""A watch of two sandboxes, whose pauses between rounds do something."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from proxyctl.sandbox import Sandbox
from tests.support.commands.cli import SECRETS, Outcome, Project, proxyctl
from tests.support.commands.story import FILES, listed
from tests.support.protocol.faulty_proxy import FaultyProxy
from tests.support.servers.instances import Instance

EDIT = "UPDATE mysql_servers SET weight = 7 WHERE hostname = 'db2'"
CHANGED = FILES.replace("max_connections: 500", "max_connections: 501")


@dataclass
class Fleet:
    """Sandboxes px1, px2 and so on, px1 behind a proxy, and a watch whose pauses do something."""

    project: Project
    proxy: FaultyProxy
    instances: list[Instance]
    out: list[list[dict[str, Any]]] = field(default_factory=list)

    def write(self, text: str = FILES) -> None:
        ports = [self.proxy.port, *(instance.port for instance in self.instances[1:])]
        self.project.write(text + listed(ports))

    def watch(self, *arguments: str, steps: Sequence[Callable[[], object]] = ()) -> Outcome:
        """See `watched`."""
        return watched(*arguments, steps=steps)

    def edit(self, number: int = 0) -> None:
        """Edit a server by hand, in all layers."""
        self.instances[number].execute(EDIT)
        self.instances[number].load("MYSQL SERVERS", saves=True)

    def weight(self, number: int = 0) -> str | None:
        """Return the weight at RUNTIME that `edit` changes; None if there is no such server."""
        rows = self.instances[number].query(
            "SELECT weight FROM runtime_mysql_servers WHERE hostname = 'db2'"
        )
        return rows[0][0] if rows else None


def watched(*arguments: str, steps: Sequence[Callable[[], object]] = ()) -> Outcome:
    """Watch with one round more than steps: each step happens between two rounds."""
    left = iter(steps)
    sleep = time.sleep

    def pause(seconds: float) -> None:
        if seconds < 1000:  # an apply waits
            sleep(seconds)
            return
        if (step := next(left, None)) is None:
            raise KeyboardInterrupt
        step()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "sleep", pause)
        given = ("--all", "--every", "1h", "--log-format", "json", *arguments)
        return proxyctl("watch", *given)


def nothing() -> None:
    """A pause in which nothing happens."""


@contextmanager
def watched_fleet(offline: Project) -> Iterator[Fleet]:
    """Serve two empty sandboxes, with files that list them."""
    quiet = {"mysql-monitor_enabled": "false"}
    with (
        Sandbox(variables=quiet) as px1,
        Sandbox(variables=quiet) as px2,
        FaultyProxy(px1.host, px1.port) as proxy,
    ):
        instances = [
            Instance(sandbox.host, sandbox.port, sandbox=sandbox) for sandbox in (px1, px2)
        ]
        offline.monkeypatch.delenv("PROXYCTL_PASSWORD", raising=False)
        made = Fleet(offline, proxy, instances)
        made.write()
        yield made
        for instance in instances:
            instance.close()


def events(found: Outcome, name: str | None = None) -> list[str]:
    """Return the events of the log, of all instances or of one."""
    lines = [json.loads(line) for line in found.out.splitlines()]
    assert not any(secret in found.text for secret in SECRETS.values())
    return [line["event"] for line in lines if name in (None, line["name"])]


def line_of(found: Outcome, event: str) -> dict[str, Any]:
    """Return the first line of an event."""
    return next(line for line in map(json.loads, found.out.splitlines()) if line["event"] == event)
