"""Who interrupts an apply of many instances does not wait for one that hangs, and is told so."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from proxyctl.sandbox import Sandbox
from tests.faults.proxy import FaultyProxy
from tests.support.cli import Project, proxyctl

FILES = """\
version: 1
instances:
  - {{name: px1, host: 127.0.0.1, port: {0}, password: admin}}
  - {{name: px2, host: 127.0.0.1, port: {1}, password: admin}}
mysql_servers: [{{hostgroup_id: 10, hostname: db1}}]
"""
LOOK = "stats_mysql_errors"


@pytest.fixture
def proxy(offline: Project) -> Iterator[FaultyProxy]:
    """The second of two instances is behind a proxy."""
    with Sandbox() as px1, Sandbox() as px2, FaultyProxy(px2.host, px2.port) as running:
        offline.write(FILES.format(px1.port, running.port))
        yield running


def apply(*options: str) -> list[str]:
    return ["apply", "--all", "--auto-approve", "--settle", "0.1", *options]


@dataclass
class Interrupt:
    """Ends the process when px2 is looked at for the `at`th time, and answers px2's look later.

    Shape: `answered_late`: nobody let it answer for half a minute.
    """

    at: int
    hangs: bool = False
    go_on: threading.Event = field(default_factory=threading.Event)
    answered_late: bool = False
    _looks: int = 0

    def watch(self, _connection: int, sql: str, _answer: bytes) -> None:
        self._looks += LOOK in sql
        if LOOK in sql and self._looks == self.at:
            os.kill(os.getpid(), signal.SIGTERM)
            self.answered_late = self.hangs and not self.go_on.wait(30)


@pytest.mark.parametrize("look", [1, 2])
def test_before_the_first_batch_nobody_waits_for_one_that_hangs(
    proxy: FaultyProxy, look: int
) -> None:
    interrupt = Interrupt(look, hangs=True)
    proxy.watch = interrupt.watch
    found = proxyctl(*apply())
    interrupt.go_on.set()
    proxy.settle()
    assert not interrupt.answered_late
    assert found.code == 130, found.text
    assert found.out.endswith("Fleet of 2 instances: 2 not touched: px1, px2.\n")
    assert "interrupted: nothing more is begun\n" in found.err


def test_after_the_last_batch_what_was_done_is_told(proxy: FaultyProxy) -> None:
    proxy.watch = Interrupt(3).watch
    found = proxyctl(*apply("--strategy", "all"))
    assert found.code == 130, found.text
    assert found.out.endswith("Fleet of 2 instances: 2 applied: px1, px2.\n")
    assert "interrupted: nothing more is begun\n" in found.err
