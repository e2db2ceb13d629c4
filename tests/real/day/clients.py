"""Clients of a pod, and somebody who scrapes the watch: each notes every second what it sees."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.real.watched_pods import Pod, Watcher

PROGRAM = Path(__file__).with_name("traffic.lua")
_SECOND = re.compile(r"\[ \d+s \] .* qps: ([\d.]+) .* err/s: ([\d.]+) reconn/s: ([\d.]+)")
_AGAIN_S = 0.2


@dataclass(frozen=True)
class Second:
    """A second of the clients of a pod. Units: `at` as time.monotonic()."""

    at: float
    queries: float
    errors: float


class _Noting:
    """Work in a thread until the end of a block."""

    def __init__(self) -> None:
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_over.set()
        self._end()
        self._thread.join()

    def _end(self) -> None:
        """End what the work waits for."""

    def _work(self) -> None:
        raise NotImplementedError


class Traffic(_Noting):
    """sysbench at the port for clients of a pod.

    It does not outlive a lost connection: each end of it is an error, and it starts again.
    """

    def __init__(self, pod: Pod, *, user: str, password: str, schema: str) -> None:
        super().__init__()
        self.seconds: list[Second] = []
        self._process: subprocess.Popen[str] | None = None
        self._command = [
            "sysbench", str(PROGRAM), "--db-driver=mysql", f"--mysql-host={pod.address}",
            f"--mysql-port={pod.traffic_port}", f"--mysql-user={user}",
            f"--mysql-password={password}", f"--mysql-db={schema}", "--db-ps-mode=disable",
            "--threads=2", "--rate=10", "--time=0", "--report-interval=1",
            "--mysql-ignore-errors=all", "run",
        ]  # fmt: skip

    def errors(self, began: float, ended: float) -> float:
        """Return how many errors the clients met in a time."""
        return sum(second.errors for second in self.seconds if began < second.at <= ended)

    def is_well_since(self, moment: float, *, seconds: int = 3) -> bool:
        """Return whether the last seconds since a moment had queries, and no error."""
        last = [second for second in self.seconds[-seconds:] if second.at > moment]
        return len(last) == seconds and all(second.queries and not second.errors for second in last)

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()

    def _work(self) -> None:
        while not self._is_over.is_set():
            with subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            ) as self._process:
                for line in self._process.stdout or ():
                    if found := _SECOND.match(line):
                        queries, errors, reconnects = map(float, found.groups())
                        self._note(queries, errors + reconnects)
            self._note(0, 1)
            self._is_over.wait(_AGAIN_S)

    def _note(self, queries: float, errors: float) -> None:
        self.seconds.append(Second(time.monotonic(), queries, errors))


Samples = dict[tuple[str, ...], float]


class Scraper(_Noting):
    """Scrapes the metrics each second; a scrape without an answer has no samples."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()
        self._watcher = watcher
        self.scrapes: list[Samples] = []

    def _work(self) -> None:
        while not self._is_over.wait(1):
            try:
                self.scrapes.append(self._watcher.metrics())
            except OSError:
                self.scrapes.append({})
