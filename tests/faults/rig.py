"""One instance, a proxy before it, and proxyctl behind the proxy: a case is a fault at a place."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.promises import Case
from tests.faults.state import Look, put_back
from tests.support.commands.cli import Outcome
from tests.support.commands.forked import Forked, login
from tests.support.every_module import AFTER, BEFORE
from tests.support.protocol.fault_kinds import FREEZES, KINDS, error
from tests.support.protocol.faulty_proxy import Exchange, Fault, FaultyProxy, Place
from tests.support.protocol.mysql_servers import result
from tests.support.servers.instances import Instance

BACK = ("--allow-shard-moves",)
"""What the way back needs: a schema of fast routing leaves the sharding."""

AGAIN = ("--lock-timeout", "0")
"""The second run takes no option that allows anything, and does not wait for a lock."""

PATIENCE_S = (1.0, 5.0, 30.0)
"""How long proxyctl waits for an answer where a fault freezes the connection."""


_REFUSED = "  mysql-eventslog_filename: /no/such/folder/events\n"
"""A variable that RUNTIME does not take, without a word."""


@dataclass(frozen=True)
class Course:
    """One course that an apply can take.

    `files`: the files to apply. `behind`: faults are tried only after this statement, at which
    `goes_wrong` happens each time. `is_watched`: the apply is watched and does harm; faults are
    tried from then on, so they meet a rollback.
    """

    name: str
    files: str = AFTER
    behind: str | None = None
    goes_wrong: Fault | None = None
    is_watched: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The further options of the apply."""
        return ("--watch", "2s", *BACK) if self.is_watched else ()


WAITING = result([b"hostgroup", b"count(*)"], [[b"99", b"3"]])
"""Sessions that wait for a connection, in a hostgroup that answers nobody."""
APPLIED = "SAVE ADMIN VARIABLES TO DISK"
"""The last statement of an apply that writes."""


def sessions_wait(exchange: Exchange) -> None:
    """Sessions wait for a connection."""
    exchange.deliver(WAITING)


WATCHED = Course("rolled back: the watch sees harm", is_watched=True)
COURSES = (
    Course("apply"),
    Course("put back: a SAVE fails", behind="SAVE ADMIN VARIABLES TO DISK", goes_wrong=error),
    Course(
        "put back: RUNTIME refuses",
        files=AFTER.replace("variables:\n", f"variables:\n{_REFUSED}"),
        behind="LOAD MYSQL VARIABLES TO RUNTIME",
    ),
)


@dataclass(frozen=True)
class Boundary:
    """A statement of a course at which a fault is tried; `prior` are the statements before it."""

    course: Course
    place: Place
    sql: str
    prior: Mapping[Place, Fault]

    def text(self) -> str:
        """Return the statement's place, for people."""
        sql = self.sql if len(self.sql) <= 80 else f"{self.sql[:77]}..."
        return f"statement {self.place.statement} of connection {self.place.connection} ({sql})"


class Rig:
    """Everything needed to try faults on one instance, which is not usable afterwards."""

    def __init__(self, instance: Instance, proxy: FaultyProxy, folder: Path) -> None:
        self.instance = instance
        self.proxy = proxy
        proxy.instead = self._harm
        self._folder = folder
        self._formats = itertools.cycle(("text", "json"))
        self.look = Look(instance)
        self._apply(BEFORE)
        self.before = self.look()
        self._apply(AFTER)
        self.after = self.look()

    def _apply(self, files: str) -> None:
        done = self.run(files, self.instance.port)
        assert done.code == 0, done.text

    def boundaries(self, course: Course) -> list[Boundary]:
        """Run an apply on this course, and return its statements in order."""
        if course.is_watched:
            return self._watched_boundaries(course)
        log = self._log(course.files, {})
        begin, prior = 0, {}
        if course.behind is not None:
            begin = 1 + next(at for at, (_, sql) in enumerate(log) if sql == course.behind)
        if course.goes_wrong is not None:
            prior = {log[begin - 1][0]: course.goes_wrong}
            log = self._log(course.files, prior)
        return [Boundary(course, place, sql, prior) for place, sql in log[begin:]]

    def _watched_boundaries(self, course: Course) -> list[Boundary]:
        """Return the statements of the last connection: of the watch, and of the rollback."""
        log = self._log(course.files, {}, *course.options)
        watch = log[-1][0].connection
        statements = [entry for entry in log if entry[0].connection == watch]
        # Digests are read every five seconds, so the end comes a statement earlier or later.
        return [Boundary(course, *entry, {}) for entry in statements[:-2]]

    def _log(
        self, files: str, faults: Mapping[Place, Fault], *options: str
    ) -> list[tuple[Place, str]]:
        self.put_back()
        self._through_proxy(files, faults, None, *options)
        return self.proxy.log

    def attempt(self, boundary: Boundary, kind: str) -> Case:
        """Apply with this fault at this statement, and read the state that it leaves."""
        outcome = self._until_it_happens(boundary, kind)
        state, left_s = self.look(), self._locks()
        # A rollback goes the other way: back from what the apply has made.
        files, before, after, again = AFTER, self.before, self.after, AGAIN
        if boundary.course.is_watched:
            files, before, after, again = BEFORE, after, before, (*AGAIN, *BACK)
        is_untouched = state == before and not left_s and not boundary.course.is_watched
        return Case(
            kind=kind,
            before=before,
            after=after,
            state=state,
            outcome=outcome,
            locks=_live(left_s),
            again=None if is_untouched else self.run(files, self.instance.port, *again),
            state_again=state if is_untouched else self.look(),
            locks_again=_live(self._locks()),
            is_rollback=boundary.course.is_watched,
        )

    def _until_it_happens(self, boundary: Boundary, kind: str) -> Outcome:
        """Repeat the apply until it reaches the fault.

        On a slow, busy machine proxyctl may give up before; then it gets more time.
        """
        faults = {**boundary.prior, boundary.place: KINDS[kind]}
        for patience_s in PATIENCE_S if kind in FREEZES else (None,):
            self.put_back()
            course = boundary.course
            outcome = self._through_proxy(course.files, faults, patience_s, *course.options)
            if boundary.place in self.proxy.happened:
                return outcome
        raise AssertionError(f"{kind} at {boundary.text()} did not happen: {outcome.text}")

    def put_back(self) -> None:
        put_back(self.instance, self.look(), self.before)
        assert self.look() == self.before, "the state before the case could not be put back"

    def _locks(self) -> list[int]:
        """Return in how many seconds each live lock expires: at most one number.

        An expired lock only keeps the record of what was begun.
        """
        tables = "SELECT count(*) FROM sqlite_temp_master WHERE name='proxyctl_lock'"
        if self.instance.query(tables) == [("0",)]:
            return []
        left = "SELECT expires-CAST(strftime('%s','now') AS INT) FROM proxyctl_lock"
        return [int(str(seconds)) for (seconds,) in self.instance.query(left)]

    def _harm(self, sql: str) -> Fault | None:
        """Let sessions wait after an apply that is watched."""
        if "stats_mysql_processlist" not in sql:
            return None
        return sessions_wait if any(sent == APPLIED for _, sent in self.proxy.log) else None

    def _through_proxy(
        self,
        files: str,
        faults: Mapping[Place, Fault],
        patience_s: float | None = None,
        *options: str,
    ) -> Outcome:
        self.proxy.arm(faults)
        outcome = self.run(
            files,
            self.proxy.port,
            "--format",
            next(self._formats),
            *options,
            proxy=self.proxy,
            patience_s=patience_s,
        )
        self.proxy.settle()
        return outcome

    def process(self, files: str, port: int, *options: str) -> Forked:
        """Return an apply of the files at a port, which is not started yet."""
        return _apply_in(self._folder, files, port, *options)

    def other_apply(self, files: str) -> Forked:
        """Return an apply of other files, from a folder of its own and past the proxy."""
        folder = self._folder / "other"
        folder.mkdir(exist_ok=True)
        return _apply_in(folder, files, self.instance.port)

    def expire_lock(self) -> None:
        """Let the lock expire, if there is one."""
        if self._locks():
            self.instance.run("UPDATE proxyctl_lock SET expires=0")

    def run(
        self,
        files: str,
        port: int,
        *options: str,
        proxy: FaultyProxy | None = None,
        patience_s: float | None = None,
    ) -> Outcome:
        process = self.process(files, port, *options)
        process.patience_s = patience_s
        has_started = threading.Event()

        def kill() -> None:
            has_started.wait()
            process.kill()

        if proxy is not None:
            proxy.kill = kill
        process.start()
        has_started.set()
        return process.outcome()


def _apply_in(folder: Path, files: str, port: int, *options: str) -> Forked:
    (folder / "proxyctl.yaml").write_text(files)
    command = ["apply", "--auto-approve", *options]
    return Forked(command, folder, login(port, folder / ".state"))


def _live(left_s: list[int]) -> int:
    return sum(seconds > 0 for seconds in left_s)


@contextmanager
def rig_on(instance: Instance, folder: Path) -> Iterator[Rig]:
    """Yield a rig on this instance."""
    with FaultyProxy(instance.host, instance.port) as proxy:
        yield Rig(instance, proxy, folder)
        instance.close()
