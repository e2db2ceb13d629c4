"""`make test-version`: is proxyctl right about this ProxySQL? Ends with a table, in markdown.

Runs the conformance cases, the journeys, the catalogue, and the routing of random queries on one
ProxySQL, which may be any version that proxyctl knows. The table goes to stdout, the rest to
stderr. Exit 1 when something differs from what proxyctl expects, or is unknown to it.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import proxyctl
from proxyctl.catalog import known_version
from tests.support.servers import binary_version
from tests.versions.image import unpacked

PAIRS = 2_000
SUBJECTS = {
    "tests/versions/test_as_catalogued.py::test_tables": "tables, columns and checks",
    "tests/versions/test_as_catalogued.py::test_variables": "variables and their defaults",
    "tests/conformance/": "answers of the admin interface",
    "tests/versions/": "journeys on every table",
    "tests/journeys/": "journeys",
    "tests/real/test_routing.py::test_random": f"routing of {PAIRS:,} random queries",
    "tests/real/test_routing.py": "routing of queries made by hand",
}
"""What a test is about, by how its name begins: the first that fits counts."""
PATHS = ["tests/versions", "tests/conformance", "tests/journeys", "tests/real/test_routing.py"]


@dataclass
class Row:
    """One line of the table."""

    known: int = 0
    differs: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)


class Outcomes:
    """A pytest plugin that keeps what became of every test."""

    def __init__(self) -> None:
        self._reports: dict[str, pytest.TestReport] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report of a test: of the phase that failed, or of the test itself."""
        if report.when == "call" or not report.passed:
            self._reports[report.nodeid] = report

    def rows(self) -> dict[str, Row]:
        """Return the lines of the table by subject."""
        rows = {subject: Row() for subject in SUBJECTS.values()}
        for name, report in self._reports.items():
            row = next(rows[SUBJECTS[begin]] for begin in SUBJECTS if name.startswith(begin))
            noted = [(key, str(value)) for key, value in report.user_properties]
            row.known += sum(int(value) for key, value in noted if key == "known")
            row.differs.update((value, None) for key, value in noted if key == "differs")
            row.unknown.update((value, None) for key, value in noted if key == "unknown")
            if not noted:
                row.known += report.passed
                if report.failed:
                    row.differs[name.partition("::")[2]] = None
        return rows

    def not_run(self) -> dict[str, int]:
        """Return why tests were not run, and how many for each reason."""
        reasons: dict[str, int] = {}
        for report in self._reports.values():
            if report.skipped and isinstance(report.longrepr, tuple):
                reason = report.longrepr[2].removeprefix("Skipped: ")
                reasons[reason] = reasons.get(reason, 0) + 1
        return reasons

    def failed(self) -> list[str]:
        """Return the names of the tests that failed."""
        return [name for name, report in self._reports.items() if report.failed]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument("binary", nargs="?", help="a proxysql that this machine can run")
    parser.add_argument("--image", help="an image with a proxysql; needs docker")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    if bool(given.binary) == bool(given.image):
        parser.error("name one: make test-version PROXYSQL=/path/to/proxysql, or IMAGE=name:tag")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        binary = unpacked(given.image, Path(folder)) if given.image else given.binary
        version = binary_version(binary)
        known_version(str(version))
        os.environ["PROXYCTL_TEST_PROXYSQL"] = str(Path(binary).absolute())
        os.environ["PROXYCTL_TEST_ROUTING_PAIRS"] = str(PAIRS)
        with redirect_stdout(sys.stderr):
            outcomes = _run(given.jobs)
    rows = outcomes.rows()
    name = f"ProxySQL {version}" + (f" of `{given.image}`" if given.image else "")
    sys.stdout.write("\n".join(_table(name, rows, outcomes.not_run())) + "\n")
    return int(any(row.differs or row.unknown for row in rows.values()))


def _run(jobs: int) -> Outcomes:
    """Run the tests; what fails, perhaps since the machine is busy, runs again by itself."""
    outcomes = Outcomes()
    options = ["-q", "-m", "real and not alone", "-p", "no:cacheprovider"]
    pytest.main([*options, "-n", str(jobs), "--dist", "worksteal", *PATHS], plugins=[outcomes])
    if failed := outcomes.failed():
        pytest.main([*options, *failed], plugins=[outcomes])
    return outcomes


def _table(name: str, rows: dict[str, Row], not_run: dict[str, int]) -> Iterator[str]:
    yield f"{name}, seen by proxyctl {proxyctl.__version__} on {platform.machine()}:"
    yield ""
    yield "| what | as known | differs | unknown to proxyctl |"
    yield "| --- | --- | --- | --- |"
    for subject, row in rows.items():
        yield f"| {subject} | {row.known:,} | {_listed(row.differs)} | {_listed(row.unknown)} |"
    for reason, count in not_run.items():
        yield ""
        yield f"Not run: {count} of these tests, since {reason}."


def _listed(names: dict[str, None]) -> str:
    return ", ".join(f"`{name.replace('|', '¦')}`" for name in names) or "nothing"


if __name__ == "__main__":
    sys.exit(main())
