"""The plans of many instances for a terminal: each plan once, then who has it; the count last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyctl.cluster.electing import together
from proxyctl.errors import counted
from proxyctl.fleet.outcome import DriftingFleet, Failed, Fleet, Planned
from proxyctl.render.drift_text import drift_text
from proxyctl.render.plan_text import plan_text
from proxyctl.render.style import PLAIN, Style, printable

MOST_NAMES = 8
"""Names of instances that a line lists; the rest is counted."""


def fleet_text(fleet: Fleet, style: Style = PLAIN) -> str:
    """Return all plans, each once, those without a plan, and one line that counts."""
    last = "".join(f"{line}\n" for line in (summary(fleet), *_clusters(fleet)))
    return "\n".join([*_plans(fleet, style), *failures(fleet.failed, style), last])


def _clusters(fleet: Fleet) -> Iterator[str]:
    """Yield which instances are members of one cluster, where some of them would change."""
    for positions in together([one.plan.members for one in fleet.planned]):
        members = [fleet.planned[position] for position in positions]
        if len(members) > 1 and not all(one.is_in_sync for one in members):
            yield f"One ProxySQL Cluster: {names(members)}; one is changed, and the others follow."


def drifting_fleet_text(fleet: DriftingFleet, style: Style = PLAIN) -> str:
    """Return the drift of those that have one, those that could not be read, and one line."""
    parts = [drift_text(drift, style) for drift in fleet.drifted]
    return "\n".join([*parts, *failures(fleet.failed, style), _drift_summary(fleet) + "\n"])


def _drift_summary(fleet: DriftingFleet) -> str:
    quiet = len(fleet.found) - len(fleet.drifted)
    parts = [f"{quiet} without drift"] if quiet else []
    if fleet.drifted:
        named = listed_names([drift.plan.name for drift in fleet.drifted])
        parts.append(f"{len(fleet.drifted)} drifted: {named}")
    return fleet_of(len(fleet.found) + len(fleet.failed), parts, fleet.failed)


def fleet_of(count: int, parts: list[str], failed: Sequence[Failed]) -> str:
    """Return the line that counts: these parts, and who could not be read."""
    unread = [f"{len(failed)} not read: {names(failed)}"] if failed else []
    return f"Fleet of {counted(count, 'instance')}: {', '.join([*parts, *unread])}."


def _plans(fleet: Fleet, style: Style) -> Iterator[str]:
    for alike in fleet.alike:
        if len(alike) == 1:
            yield plan_text(alike[0].plan, style)
            continue
        version = printable(alike[0].version)
        headline = f"{names(alike)}  {counted(len(alike), 'instance')} alike, ProxySQL {version}"
        yield plan_text(alike[0].plan, style, headline=headline)


def failures(listed: Sequence[Failed], style: Style) -> Iterator[str]:
    """Yield the lines about instances that could not be read."""
    for failed in listed:
        first, *rest = (line for entry in failed.error.lines() for line in entry.split("\n"))
        place = f"{failed.name}  " if failed.name != failed.address else ""
        yield printable(f"{place}{failed.address}")
        yield f"{style('refuse', 'error:')} {printable(first)}"
        yield from map(printable, rest)
        yield ""


def summary(fleet: Fleet) -> str:
    """Return how many instances are in sync, would change, and have no plan; who they are."""
    parts = []
    in_sync, alike = fleet.in_sync, fleet.alike
    if in_sync:
        parts.append(f"{len(in_sync)} in sync")
    if alike:
        count = sum(map(len, alike))
        several = "" if len(alike) == 1 else f" in {len(alike)} ways"
        listed = "; ".join(names(group) for group in alike)
        parts.append(f"{count} would change{several}: {listed}")
    return fleet_of(fleet.count, parts, fleet.failed)


def names(listed: Sequence[Planned | Failed]) -> str:
    """Return the names of instances; of many the first ones, and how many more."""
    return listed_names([one.name for one in listed])


def listed_names(listed: Sequence[str]) -> str:
    """Return names; of many the first ones, and how many more."""
    shown = ", ".join(map(printable, listed[:MOST_NAMES]))
    more = len(listed) - MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
