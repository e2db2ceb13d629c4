"""Guards: the policies of the files. Pure.

Lint judges the rows that RUNTIME will hold, so a plan breaks a policy for a table only where the
rows did not break it before. A policy for changes is judged here, once a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from proxyctl.catalog import Value
from proxyctl.config.project import Project
from proxyctl.lint.check import all_checks
from proxyctl.lint.finding import Severity
from proxyctl.lint.policy import (
    BROKEN_POLICY,
    FOR_CHANGE,
    judge,
    named_hostgroups,
    visible_cells,
)
from proxyctl.lint.run import LocatedFinding
from proxyctl.plan.change import Change
from proxyctl.plan.guards import Danger
from proxyctl.rows.desired import POLICIES, Desired
from proxyctl.rows.row import KEEP, Key, Row, named_rows


def broken_by_changes(
    project: Project, changes: Iterable[Change], desired: Desired, instance: str
) -> Iterator[LocatedFinding]:
    """Yield a finding for each change that breaks a policy. `instance`: its name or address."""
    policies = [policy for policy in project.policies if policy.target == FOR_CHANGE]
    if not policies:
        return
    check = all_checks()[BROKEN_POLICY]
    hostgroups = named_hostgroups(desired.hostgroup_names)
    for change in changes:
        layout, before, after = change.layout, change.before, _row_after(change)
        values = {
            "table": change.table,
            "action": change.action,
            "before": None if before is None else visible_cells(layout, before, layout.names),
            "after": None if after is None else visible_cells(layout, after, layout.names),
            "instance": instance,
            "hostgroups": hostgroups,
        }
        for policy in policies:
            if finding := judge(policy, values, change.table, change.key):
                where, owner = finding.where or change.where, f" ({desired.source.lacks})"
                located = replace(finding, code=check.code)
                yield LocatedFinding(located, check, where, owner="" if where else owner)


def _row_after(change: Change) -> Row | None:
    """Return the row that the instance will hold: what the files leave alone stays as it is."""
    if change.after is None:
        return None
    columns = change.layout.columns
    kept: Sequence[Value] = change.before or [column.default for column in columns]
    return tuple(
        old if cell is KEEP else cell for cell, old in zip(change.after, kept, strict=True)
    )


def dangers(findings: Iterable[LocatedFinding]) -> Iterator[Danger]:
    """Yield a danger for each policy that rows or changes break and that refuses them."""
    broken: dict[tuple[str, str, str], list[Key]] = {}
    for located in findings:
        finding = located.finding
        if finding.code == BROKEN_POLICY and located.severity is Severity.ERROR:
            cause = finding.table, finding.message, finding.fix or ""
            broken.setdefault(cause, []).append(finding.key)
    for (table, message, fix), keys in broken.items():
        yield Danger(POLICIES, f"{named_rows(table, keys)}: {message}", fix)
