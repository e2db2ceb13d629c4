"""Run a command and measure it: wall time and peak memory of that process alone."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """One measured command. Units: seconds and megabytes."""

    seconds: float
    megabytes: float
    code: int
    output: str


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    discard: bool = False,
) -> Run:
    """Run a command to its end. `discard` sends its output to /dev/null, as the client's is."""
    with open(stdin or os.devnull, "rb") as source:
        start = time.perf_counter()
        process = subprocess.Popen(
            list(command),
            stdin=source,
            stdout=subprocess.DEVNULL if discard else subprocess.PIPE,
            stderr=subprocess.DEVNULL if discard else subprocess.STDOUT,
            env={**os.environ, **(env or {})},
        )
        output = process.stdout.read() if process.stdout else b""
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    return Run(seconds, usage.ru_maxrss / 1024, process.returncode, output.decode(errors="replace"))


def best(times: int, measured: Callable[[], Run]) -> Run:
    """Return the fastest of several runs: noise only ever adds time."""
    return min((measured() for _ in range(times)), key=lambda found: found.seconds)


class Fastest(dict[str, Run]):
    """The fastest run of each thing that is measured, with the most memory that a run took."""

    def add(self, name: str, found: Run) -> None:
        before = self.get(name, found)
        faster = min(before, found, key=lambda one: one.seconds)
        self[name] = replace(faster, megabytes=max(before.megabytes, found.megabytes))
