"""What is said of many instances, whatever the command: which ones, who could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyctl.errors import counted
from proxyctl.fleet.members import clusters
from proxyctl.fleet.outcome import Failed, Fleet, Planned
from proxyctl.render.encode import Shape
from proxyctl.render.style import Style, listed_names, named_address
from proxyctl.text import printable

FAILED: Shape[Failed] = Shape(
    "instance that could not be read",
    "name address error exit_code",
    error=lambda one: "\n".join(one.error.lines()),
    exit_code=lambda one: int(one.error.exit_code),
)


def names(listed: Sequence[Planned | Failed]) -> str:
    """Return the names of instances; of many the first ones, and how many more."""
    return listed_names([one.name for one in listed])


def alike_text(listed: Sequence[str], version: str) -> str:
    """Return the heading of what several instances have in common."""
    return f"{listed_names(listed)}  {len(listed)} instances alike, ProxySQL {printable(version)}"


def fleet_of(read: int, parts: Sequence[str], failed: Sequence[Failed]) -> str:
    """Return the line that counts: these parts of those that were read, and who was not."""
    unread = [f"{len(failed)} not read: {names(failed)}"] if failed else []
    return f"Fleet of {counted(read + len(failed), 'instance')}: {', '.join([*parts, *unread])}."


def failures(listed: Sequence[Failed], style: Style) -> Iterator[str]:
    """Yield the lines about instances that could not be read."""
    for failed in listed:
        first, *rest = failed.error.lines()
        yield named_address(failed.name, failed.address)
        begin, *more = style.line(printable(f"error: {first}"))
        yield begin.replace("error:", style("refuse", "error:"), 1)
        yield from more
        for line in rest:
            yield from style.line(printable(line))
        yield ""


def summary(fleet: Fleet) -> str:
    """Return how many instances are in sync, would change, and have no plan; who they are."""
    parts = [f"{len(fleet.in_sync)} in sync"] if fleet.in_sync else []
    if alike := fleet.alike:
        several = "" if len(alike) == 1 else f" in {len(alike)} ways"
        listed = "; ".join(names(group) for group in alike)
        parts.append(f"{len(fleet.differing)} would change{several}: {listed}")
    return fleet_of(len(fleet.planned), parts, fleet.failed)


def cluster_lines(fleet: Fleet) -> Iterator[str]:
    """Yield which instances are members of one cluster, and which of them is changed first."""
    for members in clusters(fleet):
        first = members[0]
        listed = names([one for one in fleet.planned if one in members])
        order_text = "" if first.is_in_sync else f"; {printable(first.name)} is changed first"
        yield f"One ProxySQL Cluster: {listed}{order_text}."


def in_sync_lines(fleet: Fleet) -> Iterator[str]:
    """Yield what is to be known of instances in sync, whose plans are not shown.

    The servers that an operator took out, and the warnings.
    """
    remarks: dict[str, list[Planned]] = {}
    for one in fleet.in_sync:
        if one.plan.out_of_service:
            remarks.setdefault(f" ({'; '.join(one.plan.out_of_service)})", []).append(one)
    for one in fleet.in_sync:
        for warning in one.plan.warnings:
            remarks.setdefault(f"; warning: {warning}", []).append(one)
    for remark, alike in remarks.items():
        yield f"{names(alike)}: in sync{printable(remark)}"
