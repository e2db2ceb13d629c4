"""A watch of a hundred instances in sync: a round against single plans; and a hundred rounds."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.bench.fleet import PASSWORD, plan, served, write_files
from tests.support.commands.measure import Line
from tests.support.servers.instances import free_port

INSTANCES, ROUNDS = 100, 5
FEW, EARLY, LATE = 10, 20, 100
"""For the memory over many rounds: the instances, and the rounds after which it is read."""


@dataclass(frozen=True)
class Figures:
    """What a watch says of its own process."""

    rounds: int
    cpu_s: float
    megabytes: float
    files: float


def lines(folder: Path) -> list[Line]:
    """Measure in a folder of its own; return the lines of the table."""
    folder.mkdir()
    with _watched(folder / "many", INSTANCES) as (port, single_s):
        # The first round fills the instances.
        first, last = _after(port, 2), _after(port, 2 + ROUNDS)
        each_s = (last.cpu_s - first.cpu_s) / (last.rounds - first.rounds) / INSTANCES
    with _watched(folder / "few", FEW) as (port, _):
        early, late = _after(port, EARLY), _after(port, LATE)
    return [
        Line("watch of 100: processor time an instance / a plan", each_s, single_s, 0.06),
        Line(
            "watch: memory after 100 rounds / 20 rounds",
            late.megabytes,
            early.megabytes,
            1.05,
            "MB",
        ),
        Line("watch: open files after 100 rounds", late.files, 30, 1.0, ""),
    ]


@contextmanager
def _watched(folder: Path, instances: int) -> Iterator[tuple[int, float]]:
    """Yield the port of a watch's metrics, and the processor time of one plan. Units: seconds."""
    folder.mkdir()
    with served(folder, instances):
        write_files(folder)
        single_s = min(
            plan(folder, "--port", admin_port).cpu_s for admin_port in _ports(folder)[:3]
        )
        port = free_port()
        command = [
            *(sys.executable, "-m", "proxyctl", "watch", "-f", str(folder / "proxyctl.yaml")),
            *("--all", "--instances-from", f"cat {folder}/all.json", "--every", "1s"),
            *("--apply", "--strategy", "canary", "--metrics", f"127.0.0.1:{port}"),
        ]
        env = {**os.environ, **PASSWORD, "PROXYCTL_STATE_DIR": str(folder / "state")}
        with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as process:
            try:
                yield port, single_s
            finally:
                process.terminate()


def _ports(folder: Path) -> list[str]:
    return (folder / "ports").read_text().split()


def _after(port: int, rounds: int) -> Figures:
    """Return the figures once so many rounds have ended."""
    while True:
        try:
            found = _figures(port)
        except OSError:
            found = None  # it still starts
        if found is not None and found.rounds >= rounds:
            return found
        time.sleep(0.5)


def _figures(port: int) -> Figures:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        value = {sample.name: sample.value for family in families for sample in family.samples}
    return Figures(
        int(value["proxyctl_watch_rounds_total"]),
        value["process_cpu_seconds_total"],
        value["process_resident_memory_bytes"] / 2**20,
        value["process_open_fds"],
    )
