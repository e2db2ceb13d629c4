"""Who interrupts an apply of many instances is told what became of each."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

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


@pytest.fixture
def proxy(offline: Project) -> Iterator[FaultyProxy]:
    """The first of two instances is behind a proxy."""
    with Sandbox() as px1, Sandbox() as px2, FaultyProxy(px1.host, px1.port) as running:
        offline.write(FILES.format(running.port, px2.port))
        yield running


def interrupt_behind(proxy: FaultyProxy, statement: str, *, after: str = "") -> None:
    """End the process when this statement is answered, for the first time behind another one."""
    is_armed = not after

    def watch(_connection: int, sql: str, _answer: bytes) -> None:
        nonlocal is_armed
        if is_armed and statement in sql:
            is_armed = False
            os.kill(os.getpid(), signal.SIGTERM)
        elif sql == after:
            is_armed = True

    proxy.watch = watch


def test_an_apply_that_is_alone_in_its_batch_is_put_back(proxy: FaultyProxy) -> None:
    interrupt_behind(proxy, "LOAD MYSQL SERVERS TO RUNTIME")
    found = proxyctl("apply", "--all", "--auto-approve")
    assert found.code == 130, found.text
    assert found.out.endswith("Fleet of 2 instances: 1 failed: px1; 1 not touched: px2.\n")
    assert "everything was restored" in found.out


def test_several_that_have_begun_are_finished(proxy: FaultyProxy) -> None:
    interrupt_behind(proxy, "LOAD MYSQL SERVERS TO RUNTIME")
    found = proxyctl("apply", "--all", "--auto-approve", "--max-unavailable", "2")
    assert found.code == 130, found.text
    assert found.out.endswith("Fleet of 2 instances: 2 applied: px1, px2.\n")
    assert "interrupted: finishing the instances that have begun\n" in found.err


def test_between_two_batches_nothing_more_is_begun(proxy: FaultyProxy) -> None:
    interrupt_behind(proxy, "stats_mysql_connection_pool", after="SAVE MYSQL SERVERS TO DISK")
    found = proxyctl("apply", "--all", "--auto-approve")
    assert found.code == 130, found.text
    assert found.out.endswith("Fleet of 2 instances: 1 applied: px1; 1 not touched: px2.\n")
