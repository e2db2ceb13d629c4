"""What lint finds in the files, said where their changes are reviewed. Pure.

The guard `lint` warns unless the files say `refuse`. Errors stand in full, warnings are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from proxyctl.config.desired import Project
from proxyctl.errors import counted
from proxyctl.lint.check import Severity, all_checks
from proxyctl.lint.run import Report
from proxyctl.lint.run import lint as run
from proxyctl.lint.subject import Subject
from proxyctl.plan.guards.danger import Danger
from proxyctl.state.row import LINT

MOST_ROWS = 2_000
"""Rows of all tables up to which lint takes no time that anybody would notice."""


@lru_cache(maxsize=8)  # the instances of a fleet share their files
def report_of(project: Project) -> Report | None:
    """Return what lint finds in the files; None where that would take long.

    Also None under variables with which ProxySQL itself ends: no digest is known then.
    """
    if sum(len(table.rows) for table in project.desired.tables.values()) > MOST_ROWS:
        return None
    try:
        return run(Subject(project.configuration), [*all_checks().values()], project.ignores)
    except ValueError:
        return None


def dangers(report: Report | None) -> Iterator[Danger]:
    """Yield the errors."""
    for one in report.findings if report else ():
        if one.severity is Severity.ERROR:
            place = f" at {one.where}" if one.where else ""
            yield Danger(LINT, f"lint {one.finding.code}{place}: {one.finding.text}")


def summary(report: Report | None) -> Iterator[str]:
    """Yield how much there is: `lint: 1 error, 2 warnings`."""
    if report is None:
        yield f"lint: skipped for more than {MOST_ROWS:,} rows; run proxyctl lint"
        return
    words = [
        counted(report.counts[severity], severity.value)
        for severity in (Severity.ERROR, Severity.WARNING)
        if report.counts[severity]
    ]
    if words:
        yield f"lint: {', '.join(words)}; proxyctl lint shows all, with their fixes"
