"""`python -m tests.properties.fuzz`: fuzz for long, and print the tried inputs and the defects.

Each target has a process of its own: an input that takes too long or too much memory ends it.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from tests.properties.fuzz.mutation import mutated
from tests.properties.fuzz.readers import TARGETS
from tests.properties.fuzz.target import Target, defect_in
from tests.support.paths import ROOT

LIMIT_S = 2
"""Longest time for one input. Units: seconds of processor time, since machines are shared."""
LIMIT_MB = 500
MOST_STRUCTURED = 1_000
"""Inputs that the strategy of a target makes: it is slow, and many more find little more."""


def main() -> int:
    """Run the command line; return 1 when a defect was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.properties.fuzz", description=__doc__)
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this; repeatable")
    parser.add_argument("--inputs", type=int, default=100_000, help="inputs for each target")
    parser.add_argument("--seed", type=int, default=0, help="another seed tries other inputs")
    parser.add_argument("--found", type=Path, default=ROOT / ".fuzz", help="where inputs are saved")
    parser.add_argument("--again", type=Path, help="try one saved input; needs --target")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.target or [*TARGETS]
    if options.again:
        return _again(TARGETS[names[0]], options.again.read_bytes())
    if options.here:
        _fuzz(TARGETS[names[0]], options)
        return 0
    ended = False
    for name in names:
        command = [sys.executable, "-m", "tests.properties.fuzz", "--here", "--target", name]
        command += ["--inputs", str(options.inputs), "--seed", str(options.seed)]
        code = subprocess.run([*command, "--found", options.found], check=False).returncode
        if code:
            ended = True
            _say(f"{name}: ended with {code} on {options.found / name / 'last'}; the rest is left")
    found = [path for name in names for path in sorted((options.found / name).glob("*.txt"))]
    for path in found:
        _say(path.read_text(errors="replace").strip().rpartition("\n")[2])
        again = f"--target {path.parent.name} --again {path.with_suffix('')}"
        _say(f"  python -m tests.properties.fuzz {again}")
    return int(ended or bool(found))


def _again(target: Target, data: bytes) -> int:
    """Try one input in this process, and print what happens."""
    with tempfile.TemporaryDirectory() as folder, target.opened(Path(folder)) as run:
        defect = defect_in(run, data)
    _say(defect or "no defect")
    return int(defect is not None)


def _fuzz(target: Target, options: argparse.Namespace) -> None:
    """Fuzz one target in this process, and print its line of the table."""
    found = options.found / target.name
    found.mkdir(parents=True, exist_ok=True)
    last, inputs, slowest_s = found / "last", 0, 0.0
    faulthandler.register(signal.SIGPROF, chain=True)
    with tempfile.TemporaryDirectory(prefix="fuzz.") as folder, target.opened(Path(folder)) as run:
        for data in _inputs(target, options):
            last.write_bytes(data)
            # A signal that no code can keep off, compiled code included.
            signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
            start = time.process_time()
            defect = defect_in(run, data)
            slowest_s = max(slowest_s, time.process_time() - start)
            signal.setitimer(signal.ITIMER_PROF, 0)
            inputs += 1
            if defect is not None:
                places = re.findall(r'File "(.*?/proxyctl/.*?)", line (\d+)', defect)
                sign = repr((places[-1:], defect.strip().splitlines()[-1].partition(":")[0]))
                path = found / hashlib.sha256(sign.encode()).hexdigest()[:12]
                path.write_bytes(data)
                path.with_suffix(".txt").write_text(defect, errors="replace")
            peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            if peak_mb > LIMIT_MB:
                # Not by an exception: what called us might catch it.
                sys.stderr.write(f"more than {LIMIT_MB} MB\n")
                os._exit(77)
    last.unlink()
    _say(f"{target.name:14}{inputs:10,} inputs, slowest {slowest_s:.3f} s, peak {peak_mb:.0f} MB")


def _inputs(target: Target, options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the seeds, inputs from the target's strategy, and changed seeds."""
    seeds, words = list(target.seeds()), list(target.words())
    made = [*seeds, *_structured(target, min(options.inputs // 20, MOST_STRUCTURED), options.seed)]
    yield from made[: options.inputs]
    source = Random(options.seed)
    for _ in range(options.inputs - len(made)):
        yield mutated(source, source.choice(seeds), seeds, words)


def _structured(target: Target, count: int, seed: int) -> list[bytes]:
    made: list[bytes] = []
    if target.structured is not None and count:
        quiet = settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        seeded(seed)(quiet(given(target.structured())(lambda data: made.append(data))))()
    return made


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
