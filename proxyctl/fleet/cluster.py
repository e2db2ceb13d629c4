"""Which instances of a fleet are members of one ProxySQL Cluster, and which of them goes first.

One member is changed, and the others take it over. What does not travel is then applied to each of
them. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.plan.change import Change
from proxyctl.plan.guards.members import STALE_MEMBER
from proxyctl.plan.plan import Plan
from proxyctl.state.row import DesiredRow, Key, Layer


def units(fleet: Fleet) -> list[list[Planned]]:
    """Return the instances that change as one: one alone, or the members of a cluster.

    Shape: of a cluster the member that is changed first comes first; units in which nothing differs
    are left out.
    """
    found = []
    for positions in _together([one.plan.members for one in fleet.planned]):
        members = [fleet.planned[position] for position in positions]
        if all(one.is_in_sync for one in members):
            continue
        first = _first_of(members)
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
        plan = following.setdefault((id(one.plan), first), _as_follower(one.plan, first))
        return replace(one, plan=plan)

    return replace(
        fleet,
        planned=[
            follower(one, first_of_name[one.name]) if one.name in first_of_name else one
            for one in fleet.planned
        ],
    )


def _together(listed: Sequence[Collection[str]]) -> list[list[int]]:
    """Return the positions of instances that are in one cluster, each once, in their order.

    `listed`: the members that each instance lists. Those who list the same one are together; who
    lists nobody is alone.
    """
    groups: list[tuple[list[int], set[str]]] = []
    for position, names in enumerate(listed):
        found, known = [position], set(names)
        apart = []
        for positions, theirs in groups:
            if theirs & known:
                found = [*positions, *found]
                known |= theirs
            else:
                apart.append((positions, theirs))
        groups = [*apart, (found, known)]
    return sorted(sorted(positions) for positions, _ in groups)


def is_behind(plan: Plan) -> bool:
    """Return whether other members hold newer content, which this one has yet to take over."""
    return any(one.code == STALE_MEMBER for one in plan.refusals)


def _first_of(members: Sequence[Planned]) -> Planned:
    """Return the member that is changed first.

    It is the one that shows a drained node, for it alone knows that this is no configuration; else
    the first that is not behind another one.
    """

    def merit(one: Planned) -> tuple[bool, bool]:
        diffs = (diff for module in one.plan.modules for diff in module.diffs.values())
        return any(diff.drained for diff in diffs), not one.is_behind

    return max(members, key=merit)


def _as_follower(plan: Plan, first: str) -> Plan:
    """Return the plan of a member that is changed after the first one, from which it takes over.

    That it is behind the first one now is no reason to refuse then; it is a warning.
    """
    behind = [one for one in plan.refusals if one.code == STALE_MEMBER]
    if not behind:
        return plan
    said = [f"{one.message}; {first} is changed first, and this one follows" for one in behind]
    others = [one for one in plan.refusals if one not in behind]
    return replace(plan, refusals=others, warnings=[*plan.warnings, *said])


def is_covered(found: Plan, approved: Plan) -> bool:
    """Return whether a plan changes nothing at RUNTIME that the approved one does not.

    What a member took over in the meantime is not in it any more. In MEMORY and on DISK it may
    have to write again what a member does not keep when it takes rows over.
    """
    wanted = {_wish(one) for module in approved.modules for one in module.changes}
    changes = (one for module in found.modules for one in module.changes)
    return all(_wish(one) in wanted for one in changes if Layer.RUNTIME in one.layers)


def _wish(change: Change) -> tuple[str, Key, DesiredRow | None]:
    """Return what a change makes of its row, by table and key; None where it deletes it."""
    return change.table, change.key, change.shown.desired
