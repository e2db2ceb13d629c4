"""Trying one kind of fault at the statements of every course, on a server of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proxyctl.sandbox import Sandbox
from tests.faults.kinds import KINDS, can_happen
from tests.faults.rig import COURSES, Rig, rig_on
from tests.faults.tally import Tally
from tests.support.servers import Instance, ProxySQL, proxysql_binary

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
    """Return a folder in memory, if there is one: SAVE and snapshots wait for the disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def tried(server: str, kind: str, every: int) -> Tally:
    """Try one kind of fault at every statement, or one in so many."""
    tally = Tally(server, kind)
    with rig_for(server) as rig:
        for course in COURSES:
            # Kinds begin at different statements, so that together they try more of them.
            begin = [*KINDS].index(kind) % every
            possible = [one for one in rig.boundaries(course) if can_happen(kind, one.sql)]
            for boundary in possible[begin::every]:
                try:
                    tally.add(boundary, rig.attempt(boundary, kind))
                except AssertionError as error:
                    tally.broken.append(f"{server}, {course.name}: {error}")
    return tally
