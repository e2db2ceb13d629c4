"""What lint finds in the files, said where their changes are reviewed. Pure.

The guard `lint` warns unless the files say `refuse`. Errors are shown in full, warnings counted.
Only an error that this plan brings refuses it: one that was there before is none of its doing.
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

IsBrought = Callable[[Placed], bool]
"""Tells whether a plan brings a finding."""


@lru_cache(maxsize=8)  # the instances of a fleet share their files
def report_of(project: Project) -> Report | None:
    """Return what lint finds in the files.

    None under variables with which ProxySQL itself ends: no digest is known then.
    """
    return _report(project.configuration, project.ignores)


def _report(configuration: Configuration, ignores: Sequence[Ignore]) -> Report | None:
    try:
        return run(Subject(configuration), [*all_checks().values()], ignores)
    except ValueError:
        return None


def brought_by(diffs: Mapping[str, TableDiff], project: Project) -> IsBrought:
    """Return what tells whether a plan brings a finding of the files.

    It does if it adds or changes the row at RUNTIME, or if lint does not find it in the files
    without the changes of the plan.
    """
    touched = {(name, key) for name, diff in diffs.items() for key in _written(diff)}
    report = _report(_unchanged(diffs, project), project.ignores)
    known = {at for one in report.findings for at in _rows(one)} if report else set()

    def is_brought(one: Placed) -> bool:
        return any(at not in known or at[1:] in touched for at in _rows(one))

    return is_brought


def _rows(one: Placed) -> Iterator[tuple[str, str, Key]]:
    for finding in (at.finding for at in (one, *one.others)):
        for key in (finding.key, *finding.also):
            yield finding.code, finding.table, key


def _written(diff: TableDiff) -> Iterator[Key]:
    """Yield the keys of the rows that the plan adds or changes at RUNTIME."""
    for change in diff.changes[Layer.RUNTIME]:
        if change.desired is not None:
            yield diff.layout.key_of(cast("Row", change.desired))


def _unchanged(diffs: Mapping[str, TableDiff], project: Project) -> Configuration:
    """Return what the files say, with RUNTIME's rows where the plan changes RUNTIME."""
    fitted = {name: diff.desired for name, diff in diffs.items() if diff.desired is not None}
    desired = replace(project.desired, tables={**project.desired.tables, **fitted})
    found = replace(project, desired=desired).configuration
    tables, variables = dict(found.tables), dict(found.variables)
    for name in fitted:
        diff, changes = diffs[name], diffs[name].changes[Layer.RUNTIME]
        before = [change.current for change in changes if change.current is not None]
        if diff.layout.table.prefix is not None:
            variables |= variables_of(before)
            continue
        rows = dict(tables[name].rows)
        for key in _written(diff):
            rows.pop(key, None)
        rows |= {diff.layout.key_of(row): row for row in before}
        tables[name] = Held(diff.layout, rows, tables[name].is_whole)
    return replace(found, tables=tables, variables=variables)


def dangers(found: Iterable[Placed], is_brought: IsBrought) -> Iterator[Danger]:
    """Yield one danger for the errors that the plan brings."""
    brought = sum(map(is_brought, found))
    if brought:
        listed = counted(brought, "error")
        which = "it as its finding says" if brought == 1 else "them as their findings say"
        yield Danger(LINT, f"lint finds {listed} in what changes", f"mend {which}")


def errors(report: Report) -> tuple[Placed, ...]:
    """Return the errors, which a plan shows in full."""
    return tuple(one for one in report.findings if one.severity is Severity.ERROR)


def summary(report: Report) -> Iterator[str]:
    """Yield how much there is: `lint: 1 error, 2 warnings`."""
    words = [
        counted(report.counts[severity], severity.value)
        for severity in (Severity.ERROR, Severity.WARNING)
        if report.counts[severity]
    ]
    if words:
        rest = "; proxyctl lint shows all" if report.counts[Severity.WARNING] else ""
        yield f"lint: {', '.join(words)}{rest}"
