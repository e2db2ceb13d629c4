"""Guards: lint findings in the changes of a plan. Pure.

The guard `lint` warns unless the files say `refuse`. A plan shows errors in full and counts
warnings. Only an error that the plan introduces refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast

from proxyctl.config.desired import Project
from proxyctl.errors import counted
from proxyctl.lint.check import Severity, all_checks
from proxyctl.lint.run import Ignore, Placed, Report
from proxyctl.lint.run import lint as run
from proxyctl.lint.subject import Subject
from proxyctl.plan.diff import TableDiff
from proxyctl.plan.guards import Danger
from proxyctl.state.configuration import Configuration, Held, variables_of
from proxyctl.state.row import LINT, Key, Layer, Row

IsIntroduced = Callable[[Placed], bool]
"""Tells whether a plan introduces a finding."""


@lru_cache(maxsize=8)  # the instances of a fleet share their files
def report_of(project: Project) -> Report | None:
    """Return the lint findings of the files.

    None if their variables would end ProxySQL: no digest can be computed then.
    """
    return _report(project.configuration, project.ignores)


def _report(configuration: Configuration, ignores: Sequence[Ignore]) -> Report | None:
    try:
        return run(Subject(configuration), [*all_checks().values()], ignores)
    except ValueError:
        return None


def introduced_by(diffs: Mapping[str, TableDiff], project: Project) -> IsIntroduced:
    """Return a function that tells whether the plan introduces a finding.

    The plan introduces a finding if it adds or changes the row at RUNTIME, or if lint does not
    find it in the files without the changes of the plan.
    """
    touched = {(name, key) for name, diff in diffs.items() for key in _written_keys(diff)}
    report = _report(_without_changes(diffs, project), project.ignores)
    known = {row for placed in report.findings for row in _rows_of(placed)} if report else set()

    def is_introduced(placed: Placed) -> bool:
        return any(row not in known or row[1:] in touched for row in _rows_of(placed))

    return is_introduced


def _rows_of(placed: Placed) -> Iterator[tuple[str, str, Key]]:
    for finding in (at.finding for at in (placed, *placed.others)):
        for key in (finding.key, *finding.also):
            yield finding.code, finding.table, key


def _written_keys(diff: TableDiff) -> Iterator[Key]:
    """Yield the keys of the rows that the plan adds or changes at RUNTIME."""
    for change in diff.changes[Layer.RUNTIME]:
        if change.desired is not None:
            yield diff.layout.key_of(cast("Row", change.desired))


def _without_changes(diffs: Mapping[str, TableDiff], project: Project) -> Configuration:
    """Return the configuration of the files, with RUNTIME rows where the plan changes RUNTIME."""
    fitted = {name: diff.desired for name, diff in diffs.items() if diff.desired is not None}
    desired = replace(project.desired, tables={**project.desired.tables, **fitted})
    configuration = replace(project, desired=desired).configuration
    tables, variables = dict(configuration.tables), dict(configuration.variables)
    for name in fitted:
        diff, changes = diffs[name], diffs[name].changes[Layer.RUNTIME]
        before = [change.current for change in changes if change.current is not None]
        if diff.layout.table.prefix is not None:
            variables |= variables_of(before)
            continue
        rows = dict(tables[name].rows)
        for key in _written_keys(diff):
            rows.pop(key, None)
        rows |= {diff.layout.key_of(row): row for row in before}
        tables[name] = Held(diff.layout, rows, tables[name].is_whole)
    return replace(configuration, tables=tables, variables=variables)


def dangers(findings: Iterable[Placed], is_introduced: IsIntroduced) -> Iterator[Danger]:
    """Yield one danger for all errors that the plan introduces."""
    introduced = sum(map(is_introduced, findings))
    if introduced:
        listed = counted(introduced, "error")
        pronouns = "it as its finding says" if introduced == 1 else "them as their findings say"
        yield Danger(LINT, f"lint finds {listed} in the changes", f"correct {pronouns}")


def errors(report: Report) -> tuple[Placed, ...]:
    """Return the errors, which a plan shows in full."""
    return tuple(one for one in report.findings if one.severity is Severity.ERROR)


def summary(report: Report) -> Iterator[str]:
    """Yield the numbers of errors and warnings: `lint: 1 error, 2 warnings`."""
    words = [
        counted(report.counts[severity], severity.value)
        for severity in (Severity.ERROR, Severity.WARNING)
        if report.counts[severity]
    ]
    if words:
        pointer = "; proxyctl lint shows all" if report.counts[Severity.WARNING] else ""
        yield f"lint: {', '.join(words)}{pointer}"
