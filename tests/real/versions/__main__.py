"""`make test-version`: is proxyctl right about this ProxySQL? Ends with a table, in markdown.

Runs the conformance cases, the journeys, the catalogue, and the routing of random queries on one
ProxySQL. A ProxySQL newer than every known version is compared with the newest known one. The table
goes to stdout, all else to stderr. Exit 1 when something differs from what proxyctl expects, is
unknown to it, or cannot be run.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import proxyctl
from proxyctl.catalog import Version, known_version
from proxyctl.catalog.releases import NEWEST_KNOWN
from tests.real.versions.image import unpacked
from tests.support.servers.instances import binary_version

PAIRS = 2_000
SUBJECTS = {
    "tests/real/versions/test_as_catalogued.py::test_tables": "tables, columns and checks",
    "tests/real/versions/test_as_catalogued.py::test_variables": "variables and their defaults",
    "tests/real/conformance/": "answers of the admin interface",
    "tests/real/versions/": "journeys on every table",
    "tests/journeys/": "journeys",
    "tests/real/test_routing.py::test_random": f"routing of {PAIRS:,} random queries",
    "tests/real/test_routing.py": "routing of queries made by hand",
    "tests/real/test_pgsql_routing.py::test_random": f"routing of {PAIRS:,} PostgreSQL queries",
    "tests/real/test_pgsql_routing.py": "digests of PostgreSQL",
}
"""What a test is about, by how its name begins: the first that fits counts."""
PATHS = ["tests/real/versions", "tests/real/conformance", "tests/journeys"]
PATHS += ["tests/real/test_routing.py", "tests/real/test_pgsql_routing.py"]


@dataclass
class Row:
    """One line of the table."""

    known: int = 0
    differs: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)


class Outcomes:
    """A pytest plugin that keeps the result of every test."""

    def __init__(self) -> None:
        self._reports: dict[str, pytest.TestReport] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report of a test: of the failed phase, or of the call."""
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
        """Return the reasons why tests did not run, with a count for each."""
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
    parser = argparse.ArgumentParser(prog="python -m tests.real.versions", description=__doc__)
    parser.add_argument("binary", nargs="?", help="a proxysql that this machine can run")
    parser.add_argument("--image", help="an image with a proxysql; needs docker")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    if bool(given.binary) == bool(given.image):
        parser.error("name one: make test-version PROXYSQL=/path/to/proxysql, or IMAGE=name:tag")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            binary = unpacked(given.image, Path(folder)) if given.image else _found(given.binary)
            version = _version_of(binary)
        except RuntimeError as error:
            sys.stderr.write(f"make test-version: {error}\n")
            return 1
        os.environ["PROXYCTL_TEST_PROXYSQL"] = str(Path(binary).absolute())
        os.environ["PROXYCTL_TEST_ROUTING_PAIRS"] = str(PAIRS)
        with redirect_stdout(sys.stderr):
            outcomes = _run(given.jobs)
    rows = outcomes.rows()
    name = f"ProxySQL {version}" + (f" of `{given.image}`" if given.image else "")
    if version > NEWEST_KNOWN:
        name += f", unknown to us and compared with {NEWEST_KNOWN}"
    sys.stdout.write("\n".join(_table(name, rows, outcomes.not_run())) + "\n")
    return int(any(row.differs or row.unknown for row in rows.values()))


def _found(binary: str) -> str:
    """Return the path of a program, if necessary from PATH."""
    return shutil.which(binary) or binary


def _version_of(binary: str) -> Version:
    """Return the version of a ProxySQL.

    Raises: RuntimeError when it does not run here, or is too old.
    """
    fix = "name a proxysql that runs on this machine, or IMAGE=name:tag"
    try:
        version = binary_version(binary)
    except OSError as error:
        raise RuntimeError(f"{binary}: {error.strerror}; {fix}") from None
    except (subprocess.SubprocessError, ValueError):
        message = f"`{binary} --version` names no version of ProxySQL"
        raise RuntimeError(f"{message}; {fix}") from None
    if version < NEWEST_KNOWN:
        try:
            known_version(str(version))
        except ValueError as error:
            raise RuntimeError(f"{binary}: {error}; take one of these") from None
    return version


def _run(jobs: int) -> Outcomes:
    """Run the tests; run failed tests again alone, as a busy machine may be the reason."""
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
