"""Instances of a fleet that are members of the same ProxySQL Cluster. Pure.

A rollout changes one member first, and the others copy the change. Changes that they do not
synchronise are then applied to each member.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.plan.guards.members import STALE_MEMBER
from proxyctl.plan.plan import Refusal

MIXED_VERSIONS = "mixed_versions"
SEVERAL_MEMBERS = "several_members"


def units(fleet: Fleet) -> list[list[Planned]]:
    """Return the units of a rollout: a single instance, or the members of a cluster.

    Shape: each unit begins with the member to change first. Units in sync are left out.
    """
    ordered = []
    for positions in group_by_cluster([member.plan.members for member in fleet.planned]):
        members = [fleet.planned[position] for position in positions]
        if all(member.is_in_sync for member in members):
            continue
        first = _first_of(members)
        ordered.append([first, *(member for member in members if member is not first)])
    return ordered


def clusters(fleet: Fleet) -> list[list[Planned]]:
    """Return the units with several members."""
    return [unit for unit in units(fleet) if len(unit) > 1]


def as_applied(fleet: Fleet) -> Fleet:
    """Return the fleet with the refusals and notes of an apply to all of it.

    A member that is behind its peers catches up after the change of the first member, so its
    refusal becomes a note. Members of different versions never follow each other, so each of them
    is refused.
    """
    by_name: dict[str, Planned] = {}
    for unit in clusters(fleet):
        first, *others = unit
        mixed = [*_mixed_versions(unit)]
        for member in (first, *(_follower(other, first.name) for other in others)):
            by_name[member.name] = replace(member, refusals=[*member.refusals, *mixed])
    return replace(fleet, planned=[by_name.get(planned.name, planned) for planned in fleet.planned])


def as_rolled_back(fleet: Fleet) -> Fleet:
    """Return the fleet with the refusals of a rollback of all of it.

    The snapshot of a member that followed holds what the first member had loaded before: its
    rollback would load that again, and all members would copy it.
    """
    refused: dict[str, Refusal] = {}
    for unit in clusters(fleet):
        listed = ", ".join(member.name for member in unit)
        refusal = Refusal(
            SEVERAL_MEMBERS,
            f"{listed} are members of one ProxySQL Cluster: the snapshot of a member that followed"
            " holds what the first member had already loaded",
            fix="apply the files of that time with apply --all",
        )
        refused |= {member.name: refusal for member in unit}
    planned = [
        replace(instance, refusals=[*instance.refusals, refused[instance.name]])
        if instance.name in refused
        else instance
        for instance in fleet.planned
    ]
    return replace(fleet, planned=planned)


def _mixed_versions(unit: Sequence[Planned]) -> Iterator[Refusal]:
    """Yield the refusal of members with different versions, since these do not synchronise."""
    if len({member.plan.version for member in unit}) > 1:
        listed = ", ".join(f"{member.name} has {member.plan.version}" for member in unit)
        yield Refusal(
            MIXED_VERSIONS,
            f"members of a ProxySQL Cluster with different versions do not synchronise: {listed}",
            fix="upgrade all of them first, or apply to each with --instance",
        )


def _follower(member: Planned, first: str) -> Planned:
    """Return a member that changes later: being behind is a note, no refusal."""
    behind, order = _behind(member), f"{first} is changed first, and this member follows"
    return replace(
        member,
        refusals=[refusal for refusal in member.refusals if refusal not in behind],
        notes=[f"{refusal.message}; {order}" for refusal in behind],
    )


def _behind(member: Planned) -> list[Refusal]:
    """Return the refusals of a member that has yet to copy newer content of its peers."""
    return [refusal for refusal in member.plan.refusals if refusal.code == STALE_MEMBER]


def group_by_cluster(listed: Sequence[Collection[str]]) -> list[list[int]]:
    """Group instances by cluster; return their positions, each once, in order.

    `listed`: the members that each instance lists. Instances that list a common member are in the
    same cluster; an instance that lists no member is a group of its own.
    """
    groups: list[tuple[list[int], set[str]]] = []
    for position, names in enumerate(listed):
        together, members = [position], set(names)
        separate = []
        for positions, names_of_group in groups:
            if names_of_group & members:
                together = [*positions, *together]
                members |= names_of_group
            else:
                separate.append((positions, names_of_group))
        groups = [*separate, (together, members)]
    return sorted(sorted(positions) for positions, _ in groups)


def _first_of(members: Sequence[Planned]) -> Planned:
    """Return the member to change first: one with a drained node, otherwise one that is not behind.

    Other members copy a drain as configuration.
    """

    def preference(member: Planned) -> tuple[bool, bool]:
        servers = (module.servers for module in member.plan.modules)
        return any(diff is not None and diff.drained for diff in servers), not _behind(member)

    return max(members, key=preference)
