"""Instances of a fleet that are members of one ProxySQL Cluster, and the one that changes first.

One member is changed and the others take the change over. What does not travel is then applied to
each of them. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.plan.change import Change
from proxyctl.plan.guards.members import STALE_MEMBER
from proxyctl.plan.plan import Plan, Refusal
from proxyctl.state.row import DesiredRow, Key, Layer

MIXED_VERSIONS = "mixed_versions"


def units(fleet: Fleet) -> list[list[Planned]]:
    """Return the units of a rollout: a single instance, or the members of a cluster.

    Shape: the member that changes first comes first. Units in sync are left out.
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
    """Return the units with several members."""
    return [unit for unit in units(fleet) if len(unit) > 1]


def as_applied(fleet: Fleet) -> Fleet:
    """Return the plans as an apply to the whole fleet will find them.

    A member that is behind its peers catches up once the first member is changed, so that refusal
    becomes a warning. Members of different versions never follow one another: they are refused.
    """
    fleet = _without_mixed_versions(fleet)
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


def _without_mixed_versions(fleet: Fleet) -> Fleet:
    """Refuse the plans of members whose versions differ, since they do not sync."""
    refusals: dict[str, Refusal] = {}
    for unit in clusters(fleet):
        if len({one.plan.version for one in unit}) > 1:
            listed = ", ".join(f"{one.name} has {one.plan.version}" for one in unit)
            refusal = Refusal(
                MIXED_VERSIONS,
                "members of a ProxySQL Cluster with different versions do not synchronise:"
                f" {listed}",
                fix="upgrade all of them first, or apply to each with --instance",
            )
            refusals |= {one.name: refusal for one in unit}

    def refused(one: Planned) -> Planned:
        plan = replace(one.plan, refusals=[*one.plan.refusals, refusals[one.name]])
        return replace(one, plan=plan)

    planned = [refused(one) if one.name in refusals else one for one in fleet.planned]
    return replace(fleet, planned=planned)


def _together(listed: Sequence[Collection[str]]) -> list[list[int]]:
    """Group instances by cluster; return their positions, each once, in order.

    `listed`: the members that each instance lists. Instances that list a common member are in one
    cluster; an instance that lists no member is alone.
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
    """Return whether this member has yet to take over newer content of its peers."""
    return any(one.code == STALE_MEMBER for one in plan.refusals)


def _first_of(members: Sequence[Planned]) -> Planned:
    """Return the member to change first.

    A member that shows a drained node goes first: only there is the drain told from configuration.
    Otherwise it is the first member that is not behind its peers.
    """

    def preference(one: Planned) -> tuple[bool, bool]:
        diffs = (diff for module in one.plan.modules for diff in module.diffs.values())
        return any(diff.drained for diff in diffs), not one.is_behind

    return max(members, key=preference)


def _as_follower(plan: Plan, first: str) -> Plan:
    """Return the plan of a member that changes after the first one.

    Being behind the first member is a warning there, no refusal.
    """
    behind = [one for one in plan.refusals if one.code == STALE_MEMBER]
    if not behind:
        return plan
    notes = [f"{one.message}; {first} is changed first, and this one follows" for one in behind]
    others = [one for one in plan.refusals if one not in behind]
    return replace(plan, refusals=others, warnings=[*plan.warnings, *notes])


def is_covered(found: Plan, approved: Plan) -> bool:
    """Return whether everything that a plan changes at RUNTIME is in the approved plan.

    The plan may lack changes that the member has taken over meanwhile. It may write more to MEMORY
    and DISK: rows that a member drops when it takes over others.
    """
    wanted = {_intent(one) for module in approved.modules for one in module.changes}
    changes = (one for module in found.modules for one in module.changes)
    return all(_intent(one) in wanted for one in changes if Layer.RUNTIME in one.layers)


def _intent(change: Change) -> tuple[str, Key, DesiredRow | None]:
    """Return the table, the key and the desired row of a change; no row for a deletion."""
    return change.table, change.key, change.shown.desired
