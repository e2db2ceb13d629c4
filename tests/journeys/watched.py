"""Disturb an apply at a step that it announces, or kill it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from proxyctl.apply.execute import apply_plan
from proxyctl.apply.request import Reporter
from proxyctl.config.files import ConfigFiles, Sources
from proxyctl.errors import InstanceError, ProxyctlError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.lock import Lock
from proxyctl.plan.files import plan_files
from proxyctl.plan.make import PlanOptions
from tests.support.commands.cli import Outcome, Project
from tests.support.commands.forked import Forked, login
from tests.support.protocol.fault_kinds import killed_after
from tests.support.protocol.faulty_proxy import FaultyProxy, Place
from tests.support.servers.instances import Instance


def failed_apply(
    instance: Instance,
    progress: Callable[[str], None],
    *,
    saves: bool = True,
    first: Callable[[], None] = lambda: None,
) -> ProxyctlError:
    """Apply `proxyctl.yaml`, which has to fail, and return the error.

    `progress` is called with each step before it runs; `first` is called after planning.
    """
    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        sources = Sources(("proxyctl.yaml",))
        plan = plan_files(client, ConfigFiles(sources), PlanOptions(saves=saves))
        first()
        with pytest.raises(ProxyctlError) as caught:
            apply_plan(client, plan, lock, Reporter(progress))
        with suppress(InstanceError):
            lock.release()
    return caught.value


def at_step(start: str, act: Callable[[], None]) -> Callable[[str], None]:
    """Return a function that acts once, at the first step with this prefix."""
    happened: list[str] = []

    def progress(text: str) -> None:
        if text.startswith(start) and not happened:
            happened.append(text)
            act()

    return progress


@dataclass
class Killable:
    """Runs a command line in a process of its own, through a proxy in front of the instance."""

    project: Project
    proxy: FaultyProxy
    arguments: tuple[str, ...]

    def statements(self, begin: str, end: str) -> list[tuple[Place, str]]:
        """Run the command, and return its statements except queries.

        They begin with the first statement that contains `begin`, and end with the last that starts
        with `end`.
        """
        self.proxy.arm({})
        done = self._run()
        assert done.code == 0, done.text
        sent = [sql for _, sql in self.proxy.log]
        first = next(number for number, sql in enumerate(sent) if begin in sql)
        last = max(number for number, sql in enumerate(sent) if sql.startswith(end))
        sent_there = self.proxy.log[first : last + 1]
        return [(place, sql) for place, sql in sent_there if not sql.startswith("SELECT")]

    def kill_after(self, place: Place) -> None:
        """Run the command again, and kill it after the instance has executed this statement."""
        self.proxy.arm({place: killed_after})
        done = self._run()
        assert done.code == -9, done.text

    def kill_after_first(self, start: str) -> None:
        """Run the command; kill it after the instance has executed a statement that starts so."""

        def watch(_connection: int, sql: str, _answer: bytes) -> None:
            if sql.startswith(start):
                self.proxy.kill()

        self.proxy.arm({})
        before, self.proxy.watch = self.proxy.watch, watch
        done = self._run()
        self.proxy.watch = before
        assert done.code == -9, done.text

    def _run(self) -> Outcome:
        settings = login(self.proxy.port, self.project.state)
        process = Forked(self.arguments, self.project.folder, settings)
        self.proxy.kill = process.kill
        process.start()
        done = process.outcome()
        self.proxy.settle()
        return done
