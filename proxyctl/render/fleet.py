"""Texts about a fleet that all commands share: names, counts, instances that could not be read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from proxyctl.errors import counted
from proxyctl.fleet.failed import Failed
from proxyctl.fleet.members import clusters
from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.plan.plan import Plan
from proxyctl.render.encode import INSTANCE, Shape
from proxyctl.render.skipped_checks import lint_counts
from proxyctl.render.style import PLAIN, Style, listed_names, named_address
from proxyctl.stats.top.model import CountedInstance
from proxyctl.text import printable

FAILED: Shape[Failed] = Shape(
    "instance that could not be read",
    "name address error exit_code",
    error=lambda failed: "\n".join(failed.error.lines()),
    exit_code=lambda failed: int(failed.error.exit_code),
)
READ: Shape[CountedInstance] = Shape("instance that was read", f"{INSTANCE} taken_at")


def instance_names(instances: Sequence[Planned | Failed]) -> str:
    """Return the names of instances, the first ones of many with the count of the others."""
    return listed_names([instance.name for instance in instances])


def instances_text(names: Sequence[str]) -> str:
    """Return the heading over sums of many instances: `3 instances: px1, px2, px3`."""
    return f"{counted(len(names), 'instance')}: {listed_names(names)}"


def alike_text(names: Sequence[str], version: str) -> str:
    """Return the heading over the report that several instances share."""
    return f"{listed_names(names)}  {len(names)} instances alike, ProxySQL {printable(version)}"


def counts_line(read: int, parts: Sequence[str], failed: Sequence[Failed]) -> str:
    """Return the last line of a fleet's report: `Fleet of 3 instances: 2 in sync, ...`.

    `parts`: the counts of the `read` instances that were read.
    """
    unread = [f"{len(failed)} not read: {instance_names(failed)}"] if failed else []
    return f"Fleet of {counted(read + len(failed), 'instance')}: {', '.join([*parts, *unread])}."


def states_line(
    names_by_state: Mapping[str, Sequence[str]],
    failed: Sequence[Failed],
    *,
    counted_only: Collection[str] = (),
) -> str:
    """Return the last line about instances that a command changed: `Fleet of 3 instances: ...`.

    `names_by_state`: the instances of each state, in the order to show. `counted_only`: the states
    whose instances are counted and not named.
    """
    parts = [
        f"{len(names)} {state}{'' if state in counted_only else f': {listed_names(names)}'}"
        for state, names in names_by_state.items()
        if names
    ]
    if failed:
        parts.append(f"{len(failed)} not read: {instance_names(failed)}")
    count = counted(sum(map(len, names_by_state.values())) + len(failed), "instance")
    return f"Fleet of {count}: {'; '.join(parts)}."


def failures(instances: Sequence[Failed], style: Style) -> Iterator[str]:
    """Yield the lines about instances that could not be read."""
    for failed in instances:
        message, *details = failed.error.lines()
        yield named_address(failed.name, failed.address)
        first, *further = style.line(printable(f"error: {message}"))
        yield first.replace("error:", style("refuse", "error:"), 1)
        yield from further
        for line in details:
            yield from style.line(printable(line))
        yield ""


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
    for planned in fleet.in_sync:
        warnings = (f"warning: {warning}" for warning in planned.warnings)
        for text in (*warnings, *_lint_remarks(planned.plan)):
            remarks.setdefault(f"; {text}", []).append(planned)
    for remark, instances in remarks.items():
        yield f"{instance_names(instances)}: in sync{printable(remark)}"


def _lint_remarks(plan: Plan) -> Iterator[str]:
    if plan.findings:
        from proxyctl.render.lint import finding_lines  # importing lint takes a while

        for finding in plan.findings:
            yield f"lint: {next(iter(finding_lines(finding, PLAIN)))}"
    yield from (f"lint: {text}" for text in lint_counts(plan))
