"""An apply that a test interferes with: at a step that it announces, or by killing it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from proxyctl.apply.execute import apply_plan
from proxyctl.apply.run import ApplyOptions
from proxyctl.config.project import ParsedFiles, Sources
from proxyctl.errors import InstanceError, ProxyctlError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.lock import Lock
from proxyctl.plan.files import plan_files
from proxyctl.plan.make import PlanOptions
from tests.faults.forked import Forked, login
from tests.faults.kinds import killed_after
from tests.faults.proxy import FaultyProxy, Place
from tests.support.cli import Outcome, Project
from tests.support.servers import Instance


def failed_apply(
    instance: Instance,
    progress: Callable[[str], None],
    *,
    saves: bool = True,
    first: Callable[[], None] = lambda: None,
) -> ProxyctlError:
    """Apply `proxyctl.yaml`, which has to fail, and return how.

    `progress` is told each step before it is taken; `first` is called when the plan is made.
    """
    with AdminClient(Login(port=instance.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        sources = Sources(("proxyctl.yaml",))
        plan = plan_files(client, ParsedFiles(sources), PlanOptions(saves=saves))
        first()
        with pytest.raises(ProxyctlError) as caught:
            apply_plan(client, plan, lock, ApplyOptions(save=saves, progress=progress))
        with suppress(InstanceError):
            lock.release()
    return caught.value


def at_step(start: str, act: Callable[[], None]) -> Callable[[str], None]:
    """Return what acts, once, when a step is announced whose text starts so."""
    happened: list[str] = []

    def progress(text: str) -> None:
        if text.startswith(start) and not happened:
            happened.append(text)
            act()

    return progress


@dataclass
class Killable:
    """Runs `arguments` in a process of its own, through a proxy in front of the instance."""

    project: Project
    proxy: FaultyProxy
    arguments: tuple[str, ...]

    def statements(self, begin: str, end: str) -> list[tuple[Place, str]]:
        """Run it, and return what it sent, but for queries.

        From the first statement with the text `begin` to the last one that starts with `end`.
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
        """Run it again, and kill it when the instance has carried out this statement."""
        self.proxy.arm({place: killed_after})
        done = self._run()
        assert done.code == -9, done.text

    def kill_after_first(self, start: str) -> None:
        """Run it, and kill it when the instance has carried out a statement that starts so."""

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
