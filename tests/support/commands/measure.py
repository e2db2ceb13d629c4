"""Run a command and measure its wall time, processor time and peak memory.

A process inherits the peak of its parent, and a benchmark holds many rows. So a small process of
its own starts each command and measures it; this file is its program.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """One measured command. Units: seconds and megabytes.

    `cpu_s` is the processor time of the command, and of a server that worked for it.
    """

    seconds: float
    megabytes: float
    code: int
    output: str
    cpu_s: float = 0.0


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    discard: bool = False,
    server: int | None = None,
) -> Run:
    """Run a command to its end. `discard` sends its output to /dev/null, as the client's is.

    `server`: the process whose processor time counts as well.
    """
    before = processor_time(server)
    with open(stdin or os.devnull, "rb") as source:
        starter = subprocess.run(
            [sys.executable, "-S", __file__, "1" if discard else "", *command],
            stdin=source,
            capture_output=True,
            env={**os.environ, **(env or {})},
            check=True,
        )
    seconds, cpu_s, megabytes, code = json.loads(starter.stderr)
    text = starter.stdout.decode(errors="replace")
    return Run(seconds, megabytes, code, text, cpu_s + processor_time(server) - before)


def _start(command: Sequence[str], *, discard: bool) -> None:
    """Run a command with our stdout; then write its measurements to stderr as JSON."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL if discard else None,
        stderr=subprocess.DEVNULL if discard else sys.stdout,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    code = process.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = usage.ru_utime + usage.ru_stime
    json.dump([seconds, cpu_s, usage.ru_maxrss / 1024, code], sys.stderr)


def processor_time(pid: int | None) -> float:
    """Return the processor time that a process has used so far, 0 for none. Unit: seconds."""
    if pid is None:
        return 0.0
    # Behind the name, which may hold blanks, utime and stime are the 12th and 13th field.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def login(port: int) -> dict[str, str]:
    """Return the environment that names the admin interface to proxyctl."""
    names = {"PORT": str(port), "USER": "radmin", "PASSWORD": "radmin"}
    return {f"PROXYCTL_{name}": value for name, value in names.items()}


def client(port: int) -> list[str]:
    """Return the command line of the mariadb client, or nothing where it is not installed."""
    found = shutil.which("mariadb") or shutil.which("mysql")
    options = ["--no-defaults", "-h127.0.0.1", f"-P{port}", "-uradmin", "-pradmin"]
    return [found, *options] if found else []


def best(times: int, measured: Callable[[], Run]) -> Run:
    """Return the fastest of several runs: noise only ever adds time."""
    return min((measured() for _ in range(times)), key=lambda timing: timing.seconds)


class Fastest(dict[str, Run]):
    """The fastest run of each command, with the peak memory of all its runs."""

    def add(self, name: str, found: Run) -> None:
        before = self.get(name, found)
        faster = min(before, found, key=lambda timing: timing.seconds)
        self[name] = replace(faster, megabytes=max(before.megabytes, found.megabytes))


@dataclass(frozen=True)
class Line:
    """A line of the printed table: the measurement, its yardstick, and the bar."""

    name: str
    value: float
    yardstick: float
    bar: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.value / self.yardstick if self.yardstick else 0.0

    @property
    def holds(self) -> bool:
        return self.ratio <= self.bar

    def text(self) -> str:
        verdict = "ok" if self.holds else "MISSED"
        return (
            f"{self.name:<52} {self.value:>9.3f} {self.unit:<2} {self.yardstick:>9.3f}"
            f" {self.ratio:>7.2f} {self.bar:>7.2f}  {verdict}"
        )


if __name__ == "__main__":
    _start(sys.argv[2:], discard=bool(sys.argv[1]))
