"""Members of one cluster that are all to hold the same: which are together, and who is changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from proxyctl.change import Change
from proxyctl.cluster.checksums import MODULES, Checksum, configured
from proxyctl.cluster.refusing import BEHIND
from proxyctl.plan import Plan
from proxyctl.state import DesiredRow, Key, Layer


def together(listed: Sequence[Collection[str]]) -> list[list[int]]:
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


def elected(candidates: Sequence[Mapping[str, Checksum]], modules: Iterable[str]) -> int:
    """Return the position of the member that is changed first, by the checksums of each.

    It is the one that holds the newest content of most of these admin modules, so that no LOAD
    brings older content back; among those the one that stands at version 1 in the fewest, then the
    first.
    """
    names = [name for m in modules for name in {configured(one).get(m) for one in candidates}]

    def merit(position: int) -> tuple[int, int, int]:
        own = candidates[position]
        newest = fresh = 0
        for name in names:
            if name is None or name not in own:
                continue
            sources = [one[name] for one in candidates if name in one and one[name].version > 1]
            last = max(sources, key=lambda one: one.epoch, default=own[name])
            newest += own[name].checksum == last.checksum
            fresh += own[name].version <= 1
        return (newest, -fresh, -position)

    return max(range(len(candidates)), key=merit)


def first_of(plans: Sequence[Plan], held: Sequence[Mapping[str, Checksum]]) -> int:
    """Return the position of the member that is changed first, where these plans are applied."""
    return elected(held, sorted(loaded_for_all(plans)))


def loaded_for_all(plans: Iterable[Plan]) -> set[str]:
    """Return the admin modules that these plans load and that travel to other members."""
    return {
        module.name
        for plan in plans
        for module in plan.modules
        if module.images and module.name in MODULES.values()
    }


def as_follower(plan: Plan, first: str) -> Plan:
    """Return the plan of a member that is changed after the first one, from which it takes over.

    That it is behind the first one now is no reason to refuse then; it is a remark.
    """
    behind = [one for one in plan.refusals if one.code in BEHIND]
    if not behind:
        return plan
    said = [f"{one.message}; so {first} comes first, and this one follows" for one in behind]
    others = [one for one in plan.refusals if one not in behind]
    return replace(plan, refusals=others, warnings=[*plan.warnings, *said])


def is_covered(found: Plan, approved: Plan) -> bool:
    """Return whether a plan changes nothing at RUNTIME that the approved one does not.

    What a member took over in the meantime is not in it any more. In MEMORY and on DISK it may
    have to write again what a peer does not keep when it takes rows over.
    """
    wanted = {wish(one) for module in approved.modules for one in module.changes}
    changes = (one for module in found.modules for one in module.changes)
    return all(wish(one) in wanted for one in changes if Layer.RUNTIME in one.layers)


Wish = tuple[str, Key, DesiredRow | None]
"""The table and the key of a row, and the row as it is to be; None where it is to go."""


def wish(change: Change) -> Wish:
    """Return what a change makes of its row."""
    return change.table, change.key, change.shown.desired
