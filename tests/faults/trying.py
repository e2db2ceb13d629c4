"""Try one kind of fault at the statements of every course, and count the results."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from proxyctl.sandbox import Sandbox
from tests.faults.promises import KILLED, Case, broken, state_reached
from tests.faults.rig import COURSES, WATCHED, Boundary, Rig, rig_on
from tests.faults.stops import STOPS, StopCase, Stops, broken_by_stop
from tests.support.protocol.fault_kinds import KINDS, can_happen
from tests.support.servers.instances import Instance, ProxySQL, proxysql_binary

CODES = {0: "exit 0", 1: "exit 1", 3: "exit 3", 4: "exit 4", KILLED: "killed"}
ENDS = ("finished", "as before", "part way")
AGAIN = ("nothing to do", "finishes", "fails")


@dataclass
class Tally:
    """The cases of one kind of fault on one server.

    Shape: `broken` lists, for each broken promise, the places and the violations.
    """

    server: str
    kind: str
    boundaries: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, boundary: Boundary, case: Case) -> None:
        self.boundaries += 1
        self.counts[CODES.get(case.outcome.code, "other")] += 1
        self.counts[state_reached(case)] += 1
        again = 0 if case.again is None else 1 if case.again.code == 0 else 2
        self.counts[AGAIN[again]] += 1
        where = f"{self.server}, {boundary.course.name}, {self.kind} at {boundary.text()}"
        self.broken += [f"{where}: {text}" for text in broken(case)]

    def add_stop(self, boundary: Boundary, kind: str, case: StopCase) -> None:
        self.boundaries += 1
        self.counts[CODES.get(case.code, "other")] += 1
        where = f"{self.server}, {boundary.course.name}, {kind} at {boundary.text()}"
        self.broken += [f"{where}: {text}" for text in broken_by_stop(case)]

    def numbers(self) -> list[int]:
        """Return the counts in the order of the table's columns."""
        return [self.boundaries, *(self.counts[name] for name in _COUNTED), len(self.broken)]


_COUNTED = (*CODES.values(), *ENDS, *AGAIN)


def table(tallies: Sequence[Tally]) -> str:
    """Return the counts as a table: one line per server and kind, and a total."""
    nothing = Tally("", "").numbers()
    found = [nothing, *(tally.numbers() for tally in tallies)]
    sums = [sum(column) for column in zip(*found, strict=True)]
    rows = [
        ["server", "fault", "tried", *_COUNTED, "broken"],
        *([tally.server, tally.kind, *map(str, tally.numbers())] for tally in tallies),
        ["all", "", *map(str, sums)],
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


ALL_KINDS = (*KINDS, *STOPS)

_WATCHED_STEP = 20
"""A watched apply takes seconds, so one in so many statements is tried."""

SANDBOX, REAL = "sandbox", "real"


@contextmanager
def rig_for(server: str) -> Iterator[Rig]:
    """Yield a rig on an instance of its own, whose monitor is off."""
    with tempfile.TemporaryDirectory(dir=_memory()) as name:
        folder = Path(name)
        with _served(server, folder) as instance, rig_on(instance, folder) as rig:
            yield rig


@contextmanager
def _served(server: str, folder: Path) -> Iterator[Instance]:
    if server == SANDBOX:
        with Sandbox(variables={"mysql-monitor_enabled": "false"}) as sandbox:
            yield Instance(sandbox.host, sandbox.port, sandbox=sandbox)
        return
    binary = proxysql_binary()
    assert binary is not None
    with ProxySQL(binary, folder / "proxysql") as proxysql:
        yield proxysql.instance


def _memory() -> str | None:
    """Return a folder in memory, if there is one: SAVE and snapshots are slow on a disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def tried(server: str, kind: str, every: int) -> Tally:
    """Try one kind of fault, or of standing still, at one statement in `every`."""
    tally = Tally(server, kind)
    with rig_for(server) as rig:
        stops = Stops(rig)
        for course in (*COURSES, WATCHED):
            if course.is_watched and kind in STOPS:
                continue  # a rollback that stands still is an apply that stands still
            # Kinds begin at different statements, so that together they try more of them.
            step = every * (_WATCHED_STEP if course.is_watched else 1)
            begin = ALL_KINDS.index(kind) % step
            possible = [
                boundary for boundary in rig.boundaries(course) if can_happen(kind, boundary.sql)
            ]
            for boundary in possible[begin::step]:
                try:
                    if kind in STOPS:
                        tally.add_stop(boundary, kind, stops.attempt(boundary, kind))
                    else:
                        tally.add(boundary, rig.attempt(boundary, kind))
                except AssertionError as error:
                    tally.broken.append(f"{server}, {course.name}: {error}")
    return tally
