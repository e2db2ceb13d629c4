"""Real ProxySQL without disks behind one DNS name, and a watch in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.commands.cli import SECRETS, Project
from tests.support.metrics import samples
from tests.support.paths import ROOT
from tests.support.servers.instances import CONFIG, Instance, ProxySQL
from tests.support.waiting import until

NAME = "proxysql.pods.example"
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

PATIENCE_S = 600
"""The longest wait for an event: how busy the machine is must not matter."""
GRACE_S = 10
"""How long the watch leaves a hand edit."""
HAND_EDIT = (
    "UPDATE mysql_servers SET weight = 7",
    "LOAD MYSQL SERVERS TO RUNTIME",
    "SAVE MYSQL SERVERS TO DISK",
)


class Pod(ProxySQL):
    """A ProxySQL on a loopback address of its own, which loses its disk when it is replaced."""

    def __init__(
        self, binary: str, folder: Path, address: str, port: int, *, monitor: bool = False
    ) -> None:
        config = CONFIG.replace("127.0.0.1:", f"{address}:")
        super().__init__(binary, folder, config=config, monitor=monitor)
        self.address, self.port = address, port
        self.instance = Instance(address, port)

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
    """`watch --apply` in a process of its own, with a log for each start."""

    project: Project
    metrics_port: int
    logs: list[Path] = field(default_factory=list)
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        address = f"127.0.0.1:{self.metrics_port}"
        self.logs.append(Path(f"watch-{len(self.logs) + 1}.log"))
        with self.logs[-1].open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "proxyctl", "watch", "--all", "--every", "1s"),
                    *(
                        "--apply",
                        "--grace",
                        f"{GRACE_S}s",
                        "--metrics",
                        address,
                        "--log-format",
                        "json",
                    ),
                ],
                env={**os.environ, "PYTHONPATH": f"{self.project.folder}{os.pathsep}{ROOT}"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def end(self, number: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(60)

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        if self._process is not None and self.is_running:
            self._process.kill()
            self._process.wait()

    def lines(self) -> list[dict[str, Any]]:
        """Return the whole lines of all logs."""
        text = "".join(map(_whole_lines, self.logs))
        assert not any(secret in text for secret in SECRETS.values())
        return [*map(json.loads, text.splitlines())]

    def events(self, address: str | None) -> list[str]:
        """Return what the newest log says of an instance, or of none."""
        lines = map(json.loads, _whole_lines(self.logs[-1]).splitlines())
        return [line["event"] for line in lines if line["name"] == address]

    def waits_for(self, address: str | None, *events: str) -> None:
        """Wait until the last events of an instance are these."""
        until(
            lambda: self.events(address)[-len(events) :] == [*events],
            most_s=PATIENCE_S,
            what=_whole_lines(self.logs[-1]),
        )

    def metrics(self) -> dict[tuple[str, ...], float]:
        url = f"http://127.0.0.1:{self.metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return samples(answer.read().decode())


def _whole_lines(log: Path) -> str:
    text = log.read_text(encoding="utf-8")
    return text[: text.rfind("\n") + 1]


def resolve(*pods: Pod) -> None:
    """Let the name have the addresses of these pods."""
    Path("addresses.new").write_text(" ".join(pod.address for pod in pods))
    Path("addresses.new").replace("addresses")


def uptime(pod: Pod) -> int:
    rows = pod.instance.query(
        "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name='ProxySQL_Uptime'"
    )
    return int(rows[0][0] or 0)
