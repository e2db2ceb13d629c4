"""Real ProxySQL without disks behind one DNS name, and a watch that keeps them at the files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands.cli import SECRETS, Project
from tests.support.metrics import samples
from tests.support.paths import ROOT
from tests.support.servers.instances import CONFIG, Instance, ProxySQL, free_port, needed_binary
from tests.support.waiting import until

pytestmark = pytest.mark.real

NAME = "proxysql.pods.example"
FILES = """\
version: 1
instances: [{{dns: {name}, port: {port}, password: admin}}]
mysql_servers:
  - {{hostgroup_id: 10, hostname: 127.0.0.1, port: 1, weight: 100}}
mysql_users: [{{username: app, password: {{env: APP_PASSWORD}}, default_hostgroup: 10}}]
"""
DNS = f"""\
import socket
from pathlib import Path
system = socket.getaddrinfo

def look_up(host, *rest, **options):
    if host != {NAME!r}:
        return system(host, *rest, **options)
    addresses = Path("addresses").read_text().split()
    if not addresses:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return [(0, 0, 0, "", (address, 0)) for address in addresses]

socket.getaddrinfo = look_up
"""
"""What makes a Python process see the addresses of a file under the name."""

HAND_EDIT = (
    "UPDATE mysql_servers SET weight = 7",
    "LOAD MYSQL SERVERS TO RUNTIME",
    "SAVE MYSQL SERVERS TO DISK",
)


class Pod(ProxySQL):
    """A ProxySQL on a loopback address of its own, which loses its disk when it is replaced."""

    def __init__(self, binary: str, folder: Path, address: str, port: int) -> None:
        super().__init__(binary, folder, config=CONFIG.replace("127.0.0.1:", f"{address}:"))
        self.address, self.port = address, port
        self.instance = Instance(address, port)

    def _wait_for_traffic(self) -> None:
        """Nobody sends any."""

    def replace(self) -> None:
        """Kill it, and start another one with an empty disk."""
        self.kill()
        self.instance.close()
        self.start(initial=True)

    def is_filled(self) -> bool:
        """Return whether all layers have the server and the user of the files, and no other."""
        return all(
            self.instance.query(f"SELECT weight FROM {layer}mysql_servers") == [("100",)]
            and self.instance.query(f"SELECT DISTINCT username FROM {layer}mysql_users")
            == [("app",)]
            for layer in ("", "runtime_", "disk.")
        )


@dataclass
class Watcher:
    """`watch --apply` in a process of its own."""

    project: Project
    metrics_port: int

    def start(self) -> None:
        address = f"127.0.0.1:{self.metrics_port}"
        with Path("watch.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "proxyctl", "watch", "--all", "--every", "1s"),
                    *("--apply", "--grace", "5s", "--metrics", address, "--log-format", "json"),
                ],
                env={**os.environ, "PYTHONPATH": f"{self.project.folder}{os.pathsep}{ROOT}"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def end(self, number: signal.Signals) -> int:
        self._process.send_signal(number)
        return self._process.wait(60)

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def lines(self, address: str | None) -> list[dict[str, Any]]:
        text = Path("watch.log").read_text(encoding="utf-8")
        assert not any(secret in text for secret in SECRETS.values())
        whole = text[: text.rfind("\n") + 1]
        return [line for line in map(json.loads, whole.splitlines()) if line["name"] == address]

    def events(self, address: str | None) -> list[str]:
        return [line["event"] for line in self.lines(address)]

    def waits_for(self, address: str | None, *events: str) -> None:
        """Wait until the last events of an instance are these."""
        until(
            lambda: self.events(address)[-len(events) :] == [*events],
            most_s=120,
            what=Path("watch.log").read_text(encoding="utf-8"),
        )

    def metrics(self) -> dict[tuple[str, ...], float]:
        url = f"http://127.0.0.1:{self.metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return samples(answer.read().decode())


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


def resolve(*pods: Pod) -> None:
    """Let the name have the addresses of these pods."""
    Path("addresses.new").write_text(" ".join(pod.address for pod in pods))
    Path("addresses.new").replace("addresses")


def test_pods_come_and_go(watcher: Watcher, pods: list[Pod]) -> None:
    first, second, third = pods
    for pod in (first, second):
        watcher.waits_for(pod.address, "differs", "applied")
        assert pod.is_filled()

    second.replace()
    watcher.waits_for(second.address, "differs", "applied")
    assert second.is_filled()

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
    until(lambda: uptime(second) > 6)
    second.instance.execute(*HAND_EDIT)
    watcher.start()
    watcher.waits_for(first.address, "differs", "applied")
    assert first.is_filled()
    watcher.waits_for(second.address, "edited", "differs", "applied")
    assert second.is_filled()
    applies = watcher.metrics()["instance_applies_total", second.address, "success"]
    assert applies == 1
    assert watcher.end(signal.SIGTERM) == 0


def uptime(pod: Pod) -> int:
    rows = pod.instance.query(
        "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name='ProxySQL_Uptime'"
    )
    return int(rows[0][0] or 0)
