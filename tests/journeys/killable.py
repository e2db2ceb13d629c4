"""A command line that is killed, as `kill -9` does, right after a statement that it sent."""

from __future__ import annotations

from dataclasses import dataclass

from tests.faults.forked import Forked, login
from tests.faults.kinds import killed_after
from tests.faults.proxy import FaultyProxy, Place
from tests.support.cli import Outcome, Project


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
