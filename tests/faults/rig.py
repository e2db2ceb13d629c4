"""One instance, a proxy before it, and proxyctl run through that: a case is a fault at a place."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cli import SECRETS, Outcome
from tests.faults.change import AFTER, BEFORE
from tests.faults.courses import Course
from tests.faults.forked import Forked
from tests.faults.kinds import KINDS
from tests.faults.promises import Case
from tests.faults.proxy import Fault, FaultyProxy, Place
from tests.faults.state import Look, put_back
from tests.servers import Instance

AGAIN = ("--lock-timeout", "0")
"""The second run takes no option that allows anything, and does not wait for a lock."""

READ_TIMEOUT_S = 0.5
"""How long proxyctl waits where a fault freezes the connection."""


@dataclass(frozen=True)
class Boundary:
    """A statement of a course at which a fault is tried."""

    course: Course
    place: Place
    sql: str
    first: Place | None = None

    def text(self) -> str:
        """Return which statement it is, for people."""
        sql = self.sql if len(self.sql) <= 80 else f"{self.sql[:77]}..."
        return f"statement {self.place.statement} of connection {self.place.connection} ({sql})"


class Rig:
    """Everything to try faults on one instance with. The instance is used up by it."""

    def __init__(self, instance: Instance, proxy: FaultyProxy, folder: Path) -> None:
        self.instance = instance
        self._proxy = proxy
        self._folder = folder
        self._formats = itertools.cycle(("text", "json"))
        self._look = Look(instance)
        self._apply(BEFORE)
        self.before = self._look()
        self._apply(AFTER)
        self.after = self._look()

    def _apply(self, files: str) -> None:
        done = self._run(files, self.instance.port)
        assert done.code == 0, done.text

    def boundaries(self, course: Course) -> list[Boundary]:
        """Let an apply take this course, and return its statements, in their order."""
        self._put_back()
        first = None
        if course.first is not None:
            sql, fault = course.first
            first = self._place_of(sql)
            self._put_back()
            self._through_proxy(course.files, {first: fault})
        else:
            self._through_proxy(course.files, {})
        log = self._proxy.log
        begin = 0
        if course.begins_at or course.first:
            start = course.first[0] if course.first else course.begins_at
            begin = 1 + next(at for at, (_, sql) in enumerate(log) if sql == start)
        return [Boundary(course, place, sql, first) for place, sql in log[begin:]]

    def _place_of(self, sql: str) -> Place:
        self._through_proxy(AFTER, {})
        return next(place for place, found in self._proxy.log if found == sql)

    def attempt(self, boundary: Boundary, kind: str) -> Case:
        """Apply with this fault at this statement, and look what came of it."""
        self._put_back()
        faults: dict[Place, Fault] = {boundary.place: KINDS[kind]}
        if boundary.first is not None and boundary.course.first is not None:
            faults[boundary.first] = boundary.course.first[1]
        outcome = self._through_proxy(
            boundary.course.files, faults, waits_for_ever=kind not in ("frozen", "late")
        )
        assert boundary.place in self._proxy.happened, (boundary, outcome.text)
        state, left_s = self._look(), self._locks()
        is_untouched = state == self.before and not left_s
        return Case(
            before=self.before,
            after=self.after,
            state=state,
            outcome=outcome,
            locks=_live(left_s),
            again=None if is_untouched else self._run(AFTER, self.instance.port, *AGAIN),
            state_again=state if is_untouched else self._look(),
            locks_again=_live(self._locks()),
        )

    def _put_back(self) -> None:
        put_back(self.instance, self._look(), self.before)
        assert self._look() == self.before, "the state before the case could not be put back"

    def _locks(self) -> list[int]:
        """Return in how many seconds the lock expires; at most one, and none without a lock.

        One that has expired only keeps what was begun.
        """
        tables = "SELECT count(*) FROM sqlite_temp_master WHERE name='proxyctl_lock'"
        if self.instance.query(tables) == [("0",)]:
            return []
        left = "SELECT expires-CAST(strftime('%s','now') AS INT) FROM proxyctl_lock"
        return [int(str(seconds)) for (seconds,) in self.instance.query(left)]

    def _through_proxy(
        self, files: str, faults: Mapping[Place, Fault], *, waits_for_ever: bool = True
    ) -> Outcome:
        self._proxy.arm(faults)
        options = [] if waits_for_ever else ["--read-timeout", str(READ_TIMEOUT_S)]
        outcome = self._run(
            files, self._proxy.port, "--format", next(self._formats), *options, proxy=self._proxy
        )
        self._proxy.settle()
        return outcome

    def _run(
        self, files: str, port: int, *options: str, proxy: FaultyProxy | None = None
    ) -> Outcome:
        (self._folder / "proxyctl.yaml").write_text(files)
        process = Forked(
            ["apply", "--auto-approve", *options],
            self._folder,
            {
                **SECRETS,
                "PROXYCTL_HOST": self.instance.host,
                "PROXYCTL_PORT": str(port),
                "PROXYCTL_USER": self.instance.user,
                "PROXYCTL_PASSWORD": self.instance.password,
                "PROXYCTL_STATE_DIR": str(self._folder / ".state"),
            },
        )
        has_started = threading.Event()

        def kill() -> None:
            has_started.wait()
            process.kill()

        if proxy is not None:
            proxy.kill = kill
        process.start()
        has_started.set()
        return process.outcome()


def _live(left_s: list[int]) -> int:
    return sum(seconds > 0 for seconds in left_s)


@contextmanager
def rig_on(instance: Instance, folder: Path) -> Iterator[Rig]:
    """Yield a rig on this instance."""
    with FaultyProxy(instance.host, instance.port) as proxy:
        yield Rig(instance, proxy, folder)
        instance.close()
