"""Texts about the plans of a fleet: the counts, its clusters, the instances in sync."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyctl.fleet.failed import Failed
from proxyctl.fleet.members import clusters
from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.plan.plan import Plan
from proxyctl.render.fleet import counts_line
from proxyctl.render.skipped_checks import lint_counts
from proxyctl.render.style import PLAIN, listed_names
from proxyctl.text import printable


def instance_names(instances: Sequence[Planned | Failed]) -> str:
    """Return the names of instances, the first ones of many with the count of the others."""
    return listed_names([instance.name for instance in instances])


def summary(fleet: Fleet) -> str:
    """Return the counts of instances that are in sync, would change, and were not read."""
    parts = [f"{len(fleet.in_sync)} in sync"] if fleet.in_sync else []
    if groups := fleet.alike:
        ways = "" if len(groups) == 1 else f" in {len(groups)} ways"
        listed = "; ".join(map(instance_names, groups))
        parts.append(f"{len(fleet.differing)} would change{ways}: {listed}")
    return counts_line(len(fleet.planned), parts, fleet.failed)


def cluster_lines(fleet: Fleet) -> Iterator[str]:
    """Yield which instances are members of one cluster, and which of them is changed first."""
    for members in clusters(fleet):
        first = members[0]
        listed = instance_names([planned for planned in fleet.planned if planned in members])
        order_text = "" if first.is_in_sync else f"; {printable(first.name)} is changed first"
        yield f"One ProxySQL Cluster: {listed}{order_text}."


def in_sync_lines(fleet: Fleet) -> Iterator[str]:
    """Yield remarks on instances in sync, whose plans are not shown.

    The remarks name servers that an operator removed from service, and repeat the warnings, the
    findings of lint and the number of its checks that did not run.
    """
    remarks: dict[str, list[Planned]] = {}
    for planned in fleet.in_sync:
        if planned.plan.out_of_service:
            remarks.setdefault(f" ({'; '.join(planned.plan.out_of_service)})", []).append(planned)
    first_alike: dict[str, Plan] = {}
    for planned in fleet.in_sync:
        warnings = (f"warning: {warning}" for warning in planned.warnings)
        first = first_alike.setdefault(planned.plan.likeness, planned.own_plan)
        for text in (*warnings, *_lint_remarks(first)):
            remarks.setdefault(f"; {text}", []).append(planned)
    for remark, instances in remarks.items():
        yield f"{instance_names(instances)}: in sync{printable(remark)}"


def _lint_remarks(plan: Plan) -> Iterator[str]:
    if plan.findings:
        from proxyctl.render.lint import finding_lines  # importing lint takes a while

        for finding in plan.findings:
            yield f"lint: {next(iter(finding_lines(finding, PLAIN)))}"
    yield from (f"lint: {text}" for text in lint_counts(plan))
