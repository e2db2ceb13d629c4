"""An instance that answers late, because somebody reads a large table, is waited for."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.commands.cli import Project
from tests.support.commands.story import FILES, applied
from tests.support.servers.instances import Instance

pytestmark = pytest.mark.sweep

HELD_S = 20
"""As long as ProxySQL is busy with millions of digests; a login by itself has 10 s."""
COMMANDS = (
    "plan", "drift", "apply --auto-approve -f changed.yaml", "export", "doctor --no-ask",
    "nodes list --no-ask", "digest top", "rules", "snapshot",
)  # fmt: skip
COUNT = """\
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{}) SELECT count(*) FROM n
"""


@contextmanager
def busy(instance: Instance) -> Iterator[None]:
    """Let no statement of others run for HELD_S or longer."""
    if instance.sandbox is not None:
        until = time.monotonic() + HELD_S
        options = instance.sandbox.options
        options.before_statement = lambda _: time.sleep(max(0, until - time.monotonic()))
        yield
        options.before_statement = lambda _: None
        return
    other = Instance(instance.host, instance.port)
    began, sample = time.monotonic(), 1_000_000
    other.query(COUNT.format(sample))
    number = int(sample * HELD_S / (time.monotonic() - began))
    thread = threading.Thread(target=other.query, args=(COUNT.format(number),))
    thread.start()
    time.sleep(0.5)  # until the statement runs, which nothing shows
    yield
    thread.join()
    other.close()


def test_every_command_waits_for_a_busy_instance(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    project.write(FILES.replace("weight: 1}", "weight: 7}"), "changed.yaml")
    instance.close()
    began = time.monotonic()
    with busy(instance):
        running = [
            subprocess.Popen(
                [sys.executable, "-m", "proxyctl", *command.split()],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )
            for command in COMMANDS
        ]  # fmt: skip
        outputs = [process.communicate()[0] for process in running]
    assert time.monotonic() - began > HELD_S / 2
    # The apply may be done before the drift, and still hold the lock at the snapshot.
    others = {"drift": 2, "snapshot": 3}
    for command, process, output in zip(COMMANDS, running, outputs, strict=True):
        assert process.returncode in (0, others.get(command, 0)), output
