"""`python -m tests.fuzz`: fuzz for long, and print what was tried and what was found."""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.attempt import LIMIT_MB, LIMIT_S, TOO_LARGE, Defect, Slate, defect_in
from tests.fuzz.target import ROOT, Target
from tests.fuzz.targets import TARGETS

_MOST_ENDS = 20
"""How often the process of a target may be ended before it is given up."""


@dataclass
class Tally:
    """What came of one target."""

    target: Target
    inputs: int = 0
    slowest_s: float = 0.0
    peak_mb: float = 0.0
    defects: list[Path] = field(default_factory=list)

    def cells(self) -> tuple[str, ...]:
        """Return a row of the table."""
        return (
            self.target.name,
            self.target.group,
            f"{self.inputs:,}",
            f"{self.slowest_s:.3f}",
            f"{self.peak_mb:.0f}",
            str(len(self.defects)),
        )


_HEAD = ("target", "group", "inputs", "slowest (s)", "peak (MB)", "defects")


def main() -> int:
    """Run the command line; return 1 when a defect was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this; repeatable")
    parser.add_argument("--inputs", type=int, default=100_000, help="inputs for each target")
    parser.add_argument("--seed", type=int, default=0, help="another seed tries other inputs")
    parser.add_argument("--jobs", type=int, default=1, help="targets at the same time")
    parser.add_argument("--found", type=Path, default=ROOT / ".fuzz", help="where inputs are saved")
    parser.add_argument("--again", type=Path, help="try one saved input; needs --target")
    options = parser.parse_args()
    targets = [TARGETS[name] for name in options.target or TARGETS]
    if options.again:
        return _again(targets[0], options.again.read_bytes())
    with ThreadPoolExecutor(options.jobs) as pool:
        tallies = list(pool.map(lambda one: _fuzz(one, options), targets))
    _say_table([_HEAD, *(tally.cells() for tally in tallies)])
    _say(f"limits: {LIMIT_S:g} s of processor time an input, {LIMIT_MB} MB")
    for tally in tallies:
        for path in tally.defects:
            sign = path.with_suffix(".txt").read_text(errors="replace").partition("\n")[0]
            _say(f"{tally.target.name}: {sign}")
            _say(f"  python -m tests.fuzz --target {tally.target.name} --again {path}")
    return int(any(tally.defects for tally in tallies))


def _again(target: Target, data: bytes) -> int:
    """Try one input in this process, and print what happens."""
    with tempfile.TemporaryDirectory() as folder, target.opened(Path(folder)) as run:
        defect = defect_in(run, data)
    _say(defect.text if defect else "no defect")
    return int(defect is not None)


def _fuzz(target: Target, options: argparse.Namespace) -> Tally:
    """Fuzz one target, in one process after the other where inputs end it."""
    tally = Tally(target)
    for end in range(_MOST_ENDS):
        with tempfile.TemporaryDirectory(prefix="fuzz.") as name:
            left, seed = options.inputs - tally.inputs, options.seed * 1000 + end
            _run_worker(tally, left, seed, Path(name), options.found)
        if tally.inputs >= options.inputs:
            break
    sys.stderr.write(f"{target.name}: {tally.inputs:,} inputs\n")
    saved = (options.found / target.name).glob("*.txt")
    tally.defects = sorted(path.with_suffix("") for path in saved)
    return tally


def _run_worker(tally: Tally, inputs: int, seed: int, folder: Path, found: Path) -> None:
    name = tally.target.name
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.run(
            [
                *(sys.executable, "-m", "tests.fuzz.worker", "--target", name),
                *("--inputs", str(inputs), "--seed", str(seed)),
                *("--folder", str(folder), "--found", str(found / name)),
            ],
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    said = log.read_text(errors="replace")
    slate = Slate(folder / "slate")
    tally.inputs += slate.inputs
    tally.slowest_s = max(tally.slowest_s, slate.slowest_s)
    tally.peak_mb = max(tally.peak_mb, slate.peak_mb)
    if process.returncode == 0:
        return
    if slate.inputs == 0:
        raise SystemExit(f"{name}: the process did not come up:\n{said[-3000:]}")
    _ended(process.returncode, slate.data, folder / "trace", said).save(found / name)


def _ended(code: int, data: bytes, trace: Path, said: str) -> Defect:
    """Return the defect that ended a process."""
    where = trace.read_text(errors="replace") if trace.exists() else ""
    if code == -signal.SIGPROF:
        places = re.findall(r'File ".*?/proxyctl/(.*?)", line (\d+)', where)
        place = ":".join(places[0]) if places else "?"
        return Defect(f"more than {LIMIT_S:g} s at {place}", where, data)
    if code == TOO_LARGE:
        return Defect(f"more than {LIMIT_MB} MB", where, data)
    return Defect(f"the process ended with {code}", where + said[-5000:], data)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _say_table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        _say("  ".join(cells).rstrip())


if __name__ == "__main__":
    sys.exit(main())
