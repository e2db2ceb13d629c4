"""Real ProxySQL without disks behind one DNS name, and a watch that keeps them at the files."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.real.watched_pods import (
    DNS,
    GRACE_S,
    HAND_EDIT,
    NAME,
    PATIENCE_S,
    Pod,
    Watcher,
    resolve,
    uptime,
)
from tests.support.commands.cli import Project
from tests.support.servers.instances import free_port, needed_binary
from tests.support.waiting import until

pytestmark = pytest.mark.real

FILES = """\
version: 1
instances: [{{dns: {name}, port: {port}, password: admin}}]
mysql_servers:
  - {{hostgroup_id: 10, hostname: 127.0.0.1, port: 1, weight: 100}}
mysql_users: [{{username: app, password: {{env: APP_PASSWORD}}, default_hostgroup: 10}}]
"""


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[list[Pod]]:
    binary, port = needed_binary(), free_port()
    addresses = [f"127.0.0.{number}" for number in (11, 12, 13)]
    with ExitStack() as stack:
        yield [
            stack.enter_context(Pod(binary, tmp_path / address, address, port))
            for address in addresses
        ]


@pytest.fixture
def watcher(offline: Project, pods: list[Pod]) -> Iterator[Watcher]:
    offline.write(FILES.format(name=NAME, port=pods[0].port))
    offline.write(DNS, "sitecustomize.py")
    resolve(*pods[:2])
    made = Watcher(offline, free_port())
    made.start()
    yield made
    made.stop()


def test_pods_come_and_go(watcher: Watcher, pods: list[Pod]) -> None:
    first, second, third = pods
    for pod in (first, second):
        watcher.waits_for(pod.address, "differs", "applied")
        assert pod.is_filled()

    second.replace()
    until(second.is_filled, most_s=PATIENCE_S)
    watcher.waits_for(second.address, "differs", "applied")

    resolve(second, third)
    watcher.waits_for(third.address, "differs", "applied")
    watcher.waits_for(first.address, "gone")
    assert third.is_filled()
    assert first.is_filled()

    resolve()
    watcher.waits_for(None, "instances_unknown")
    assert watcher.metrics()["watch_instances_known",] == 0
    resolve(second, third)
    watcher.waits_for(None, "instances_known")

    second.instance.execute(*HAND_EDIT)
    watcher.waits_for(second.address, "edited")
    until(lambda: watcher.metrics().get(("instance_state", second.address, "edited")))
    watcher.waits_for(second.address, "edited", "differs", "applied")
    assert second.is_filled()
    assert watcher.events(third.address) == ["differs", "applied"]
    assert watcher.end(signal.SIGTERM) == 0


def test_a_watcher_that_was_killed_starts_again(watcher: Watcher, pods: list[Pod]) -> None:
    first, second, _ = pods
    watcher.waits_for(first.address, "applied")
    watcher.waits_for(second.address, "applied")
    assert watcher.end(signal.SIGKILL) == -signal.SIGKILL
    first.replace()
    # Older than the grace: then only an empty instance is known to have no hand edit.
    until(lambda: uptime(second) > GRACE_S + 1)
    second.instance.execute(*HAND_EDIT)
    watcher.start()
    watcher.waits_for(first.address, "differs", "applied")
    assert first.is_filled()
    watcher.waits_for(second.address, "edited", "differs", "applied")
    assert second.is_filled()
    applies = watcher.metrics()["instance_applies_total", second.address, "success"]
    assert applies == 1
    assert watcher.end(signal.SIGTERM) == 0
