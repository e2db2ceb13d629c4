"""What proxyctl promises, and whether the tests that prove it hold.

promises.toml is the list; docs/reference/safety.md says the same to users in sentences.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests.faults.trying import in_columns

ROOT = Path(__file__).parents[2]
PROMISES = Path(__file__).with_name("promises.toml")
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class Promise:
    """One promise of the list. Shape: `tests` are path and name of a function."""

    section: str
    text: str
    tests: tuple[tuple[str, str], ...]


@dataclass
class Proof:
    """What came of the tests of one section's promises.

    `counts`: test cases by outcome. `broken`: promises with a case that failed, or with none.
    """

    section: str
    promises: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def promises() -> Iterator[Promise]:
    """Yield the promises of the list, in its order."""
    for entry in tomllib.loads(PROMISES.read_text(encoding="utf-8"))["promise"]:
        tests = [test.split("::") for test in entry["tests"]]
        yield Promise(entry["section"], entry["text"], tuple((path, name) for path, name in tests))


def proofs() -> list[Proof]:
    """Run every test that the list names, on all servers there are, and return what came of it."""
    all_promises = [*promises()]
    named = sorted({test for promise in all_promises for test in promise.tests})
    outcomes = _outcomes([f"{path}::{name}" for path, name in named])
    found: dict[str, Proof] = {}
    for promise in all_promises:
        proof = found.setdefault(promise.section, Proof(promise.section))
        proof.promises += 1
        cases: Counter[str] = Counter()
        for test in promise.tests:
            cases += outcomes.get(test, Counter())
        proof.counts += cases
        if cases[FAILED] or not cases[PASSED] + cases[SKIPPED]:
            proof.broken.append(promise.text)
    return [*found.values()]


def _outcomes(named: Sequence[str]) -> dict[tuple[str, str], Counter[str]]:
    """Return how many cases of each test passed, failed and were skipped."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ("-q", "-o", "junit_family=xunit1", f"--junitxml={report}")
        command = [sys.executable, "-m", "pytest", *options, *named]
        subprocess.run(command, cwd=ROOT, check=False)
        if not report.exists():
            return {}
        cases = ElementTree.parse(report).iter("testcase")
        found: dict[tuple[str, str], Counter[str]] = {}
        for case in cases:
            path = case.get("classname", "").replace(".", "/") + ".py"
            name = case.get("name", "").partition("[")[0]
            found.setdefault((path, name), Counter())[_outcome(case)] += 1
        return found


def _outcome(case: ElementTree.Element) -> str:
    children = {child.tag for child in case}
    if children & {"failure", "error"}:
        return FAILED
    return SKIPPED if "skipped" in children else PASSED


def table(found: Sequence[Proof]) -> str:
    """Return the counts as a table: a line a section of the list, and one for all."""
    outcomes = (PASSED, SKIPPED, FAILED)
    numbers = [
        [proof.promises, *(proof.counts[outcome] for outcome in outcomes), len(proof.broken)]
        for proof in found
    ]
    sums = [sum(column) for column in zip(*numbers, strict=True)]
    rows = [
        ["promises of", "number", *(f"cases {outcome}" for outcome in outcomes), "broken"],
        *([p.section, *map(str, row)] for p, row in zip(found, numbers, strict=True)),
        ["all", *map(str, sums)],
    ]
    return in_columns(rows, left=1)
