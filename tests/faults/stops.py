"""An apply that stands still while another one and an operator go on: nothing of theirs is lost.

It stands still at a statement: its process is stopped, or a terminal that is stopped takes no more
of its output. Its lock expires meanwhile. When it goes on, the instance has to stay as they left
it: none of their rows in MEMORY may reach RUNTIME or DISK.
"""

from __future__ import annotations

import os
import pty
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.faults.promises import PART_WAY, REFUSED
from tests.faults.rig import Boundary, Rig
from tests.faults.state import State
from tests.support.commands.forked import Forked
from tests.support.every_module import AFTER
from tests.support.protocol.faulty_proxy import Exchange, Fault

THEIRS = (
    AFTER.replace("mysql-max_connections: 4000", "mysql-max_connections: 4444")
    .replace("max_connections: 600", "max_connections: 444")
    .replace("rule_id: 30", "rule_id: 44")
    .replace("username: report", "username: theirs")
    .replace("interval_ms: 100000000", "interval_ms: 44444444")
)
"""The files of the other apply: they differ from those of the first in each large module."""

EDITS = (
    "INSERT INTO mysql_users(username,password,default_hostgroup) VALUES('unpublished','x',10)",
    "INSERT INTO mysql_query_rules(rule_id,active,comment) VALUES(999,1,'unpublished')",
    "INSERT INTO mysql_servers(hostgroup_id,hostname) VALUES(30,'unpublished')",
    "UPDATE global_variables SET variable_value='999' WHERE variable_name='mysql-max_connections'",
    "DELETE FROM scheduler",
)
"""What an operator then writes to MEMORY, and does not publish."""

LATE_S = 0.3
"""When the first apply takes the answer to a renewal for late: less than it stands still."""
QUIET_S = 0.4
"""After this time without a statement, the first apply is taken for blocked."""
_TRIES = 20

STOPPED, BLOCKED, BLOCKED_DEBUG = "stopped", "output blocked", "output blocked, --debug"
STOPS = (STOPPED, BLOCKED, BLOCKED_DEBUG)


@dataclass(frozen=True)
class StopCase:
    """What the others left, what the instance holds when the first apply has ended, its output."""

    theirs: State
    state: State
    code: int
    text: str


def broken_by_stop(case: StopCase) -> Iterator[str]:
    """Yield every violation in the case."""
    for (module, layer), rows in case.theirs.parts.items():
        if case.state[module, layer] != rows:
            yield f"{layer} of {module} is not as the others left it:\n{case.text}"
    if case.code not in (0, REFUSED, PART_WAY) or "Traceback" in case.text:
        yield f"exit code {case.code}:\n{case.text}"


class Stops:
    """Lets applies of a rig stand still."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._theirs: State | None = None
        self._others: threading.Thread | None = None

    def attempt(self, boundary: Boundary, kind: str) -> StopCase:
        """Apply, stand still with this statement's answer on its way, and go on."""
        rig = self._rig
        rig.put_back()
        self._theirs = self._others = None
        with terminal() as (screen, shown):
            options = ("--debug",) if kind == BLOCKED_DEBUG else ()
            process = rig.process(boundary.course.files, rig.proxy.port, *options)
            process.terminal, process.late_s = os.ttyname(screen), LATE_S
            fault = self._stopped(process) if kind == STOPPED else self._blocked(screen)
            rig.proxy.arm({**boundary.prior, boundary.place: fault})
            process.start()
            outcome = process.outcome()
            rig.proxy.settle()
            if self._others is not None:
                self._others.join()
        assert boundary.place in rig.proxy.happened, f"{boundary.text()} was not reached: {shown}"
        assert self._theirs is not None
        text = outcome.out + b"".join(shown).decode()
        return StopCase(self._theirs, rig.look(), outcome.code, text)

    def _stopped(self, process: Forked) -> Fault:
        def fault(exchange: Exchange) -> None:
            answer = exchange.ask()
            process.pause()
            self._meanwhile()
            time.sleep(LATE_S)
            exchange.deliver(answer)
            process.resume()

        return fault

    def _blocked(self, screen: int) -> Fault:
        def fault(exchange: Exchange) -> None:
            answer = exchange.ask()
            termios.tcflow(screen, termios.TCOOFF)
            self._others = threading.Thread(target=go_on)
            self._others.start()
            exchange.deliver(answer)

        def go_on() -> None:
            try:
                self._meanwhile(self._until_quiet)
            finally:
                termios.tcflow(screen, termios.TCOON)

        return fault

    def _until_quiet(self) -> None:
        log = self._rig.proxy.log
        count = -1
        while count != len(log):
            count = len(log)
            time.sleep(QUIET_S)

    def _meanwhile(self, wait: Callable[[], None] = lambda: None) -> None:
        """The lock expires, another apply takes over and ends, and somebody edits MEMORY.

        `wait` until the first apply stands still. One that was only slow has renewed its lock, and
        is waited for again.
        """
        rig = self._rig
        for _ in range(_TRIES):
            wait()
            rig.expire_lock()
            other = rig.other_apply(THEIRS)
            other.start()
            done = other.outcome()
            if done.code == 0:
                break
        assert done.code == 0, done.text
        for sql in EDITS:
            rig.instance.run(sql)
        self._theirs = rig.look()


@contextmanager
def terminal() -> Iterator[tuple[int, list[bytes]]]:
    """Yield a terminal, and the list that gets what is written to it."""
    reader, screen = pty.openpty()
    shown: list[bytes] = []

    def read() -> None:
        while True:
            try:
                shown.append(os.read(reader, 65536))
            except OSError:  # nobody has it open any more
                return

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield screen, shown
    finally:
        os.close(screen)
        thread.join()
        os.close(reader)
