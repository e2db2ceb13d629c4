"""Which instances of a fleet are members of one ProxySQL Cluster, and which of them goes first.

One member is changed, and the others take it over. What does not travel is then applied to each of
them. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from proxyctl.cluster.electing import as_follower, first_of, together
from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.plan import Plan


def units(fleet: Fleet) -> list[list[Planned]]:
    """Return the instances that change as one: one alone, or the members of a cluster.

    Shape: of a cluster the member that is changed first comes first; units in which nothing differs
    are left out.
    """
    found = []
    for positions in together([one.plan.members for one in fleet.planned]):
        members = [fleet.planned[position] for position in positions]
        if all(one.is_in_sync for one in members):
            continue
        plans, checksums = [one.plan for one in members], [one.checksums for one in members]
        first = members[first_of(plans, checksums)]
        found.append([first, *(one for one in members if one is not first)])
    return found


def clusters(fleet: Fleet) -> list[list[Planned]]:
    """Return the units of several instances."""
    return [unit for unit in units(fleet) if len(unit) > 1]


def as_applied(fleet: Fleet) -> Fleet:
    """Return the plans as an apply to all of these instances finds them.

    A member that is behind its peers is so no longer once the first one is changed: that refusal
    becomes a warning.
    """
    first_of_name = {one.name: unit[0].name for unit in clusters(fleet) for one in unit[1:]}
    following: dict[tuple[int, str], Plan] = {}

    def follower(one: Planned, first: str) -> Planned:
        plan = following.setdefault((id(one.plan), first), as_follower(one.plan, first))
        return replace(one, plan=plan)

    return replace(
        fleet,
        planned=[
            follower(one, first_of_name[one.name]) if one.name in first_of_name else one
            for one in fleet.planned
        ],
    )
