"""The plans of many instances for a terminal: each plan once, then who has it; the count last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyctl.errors import counted
from proxyctl.fleet.cluster import clusters
from proxyctl.fleet.outcome import Failed, Fleet, Planned
from proxyctl.render.drift_text import drift_text
from proxyctl.render.plan_text import plan_text
from proxyctl.render.style import PLAIN, Style
from proxyctl.text import printable

MOST_NAMES = 8
"""Names of instances that a line lists; the rest is counted."""


def fleet_text(fleet: Fleet, style: Style = PLAIN) -> str:
    """Return all plans, each once, those without a plan, who is out of service, and the count."""
    lines = (*told_in_sync(fleet), summary(fleet), *cluster_lines(fleet))
    last = "".join(f"{line}\n" for line in lines)
    return "\n".join([*_plans(fleet, style), *failures(fleet.failed, style), last])


def cluster_lines(fleet: Fleet) -> Iterator[str]:
    """Yield which instances are members of one cluster, and which of them is changed first."""
    for members in clusters(fleet):
        first = members[0]
        listed = names([one for one in fleet.planned if one in members])
        goes_first = "" if first.is_in_sync else f"; {printable(first.name)} is changed first"
        yield f"One ProxySQL Cluster: {listed}{goes_first}."


def told_in_sync(fleet: Fleet) -> Iterator[str]:
    """Yield what is to be known where nothing differs, by instance: no plan tells of it.

    The servers that an operator took out, and the warnings.
    """
    taken_out: dict[str, list[Planned]] = {}
    warnings: dict[str, list[Planned]] = {}
    for one in fleet.in_sync:
        if one.plan.taken_out:
            taken_out.setdefault("; ".join(one.plan.taken_out), []).append(one)
        for warning in one.plan.warnings:
            warnings.setdefault(warning, []).append(one)
    for text, alike in taken_out.items():
        yield f"{names(alike)}: in sync ({printable(text)})"
    for text, alike in warnings.items():
        yield f"{names(alike)}: in sync; warning: {printable(text)}"


def fleet_drift_text(fleet: Fleet, style: Style = PLAIN) -> str:
    """Return the drift of those that have one, those that could not be read, and the count.

    Of those without drift it names the ones with servers that an operator took out.
    """
    parts = [drift_text(one.own_plan, style) for one in fleet.differing]
    quiet = [one.own_plan for one in fleet.in_sync if one.plan.taken_out]
    last = "".join([*(drift_text(plan, style) for plan in quiet), _drift_summary(fleet) + "\n"])
    return "\n".join([*parts, *failures(fleet.failed, style), last])


def _drift_summary(fleet: Fleet) -> str:
    parts = [f"{len(fleet.in_sync)} without drift"] if fleet.in_sync else []
    if fleet.differing:
        parts.append(f"{len(fleet.differing)} drifted: {names(fleet.differing)}")
    return fleet_of(fleet.count, parts, fleet.failed)


def fleet_of(count: int, parts: list[str], failed: Sequence[Failed]) -> str:
    """Return the line that counts: these parts, and who could not be read."""
    unread = [f"{len(failed)} not read: {names(failed)}"] if failed else []
    return f"Fleet of {counted(count, 'instance')}: {', '.join([*parts, *unread])}."


def _plans(fleet: Fleet, style: Style) -> Iterator[str]:
    for alike in fleet.alike:
        if len(alike) == 1:
            yield plan_text(alike[0].own_plan, style)
            continue
        version = printable(alike[0].plan.version)
        headline = f"{names(alike)}  {counted(len(alike), 'instance')} alike, ProxySQL {version}"
        yield plan_text(alike[0].plan, style, headline=headline)


def failures(listed: Sequence[Failed], style: Style) -> Iterator[str]:
    """Yield the lines about instances that could not be read."""
    for failed in listed:
        first, *rest = failed.error.lines()
        place = f"{failed.name}  " if failed.name != failed.address else ""
        yield printable(f"{place}{failed.address}")
        yield f"{style('refuse', 'error:')} {printable(first)}"
        yield from map(printable, rest)
        yield ""


def summary(fleet: Fleet) -> str:
    """Return how many instances are in sync, would change, and have no plan; who they are."""
    parts = []
    alike = fleet.alike
    if fleet.in_sync:
        parts.append(f"{len(fleet.in_sync)} in sync")
    if alike:
        several = "" if len(alike) == 1 else f" in {len(alike)} ways"
        listed = "; ".join(names(group) for group in alike)
        parts.append(f"{len(fleet.differing)} would change{several}: {listed}")
    return fleet_of(fleet.count, parts, fleet.failed)


def names(listed: Sequence[Planned | Failed]) -> str:
    """Return the names of instances; of many the first ones, and how many more."""
    return listed_names([one.name for one in listed])


def listed_names(listed: Sequence[str]) -> str:
    """Return names; of many the first ones, and how many more."""
    shown = ", ".join(map(printable, listed[:MOST_NAMES]))
    more = len(listed) - MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
