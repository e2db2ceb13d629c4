"""Edits of others at a member that are gone when it takes over what is loaded at another one."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.cluster.electing import Wish, edits_going_live, loaded_for_all, wish
from proxyctl.cluster.followers import followers
from proxyctl.errors import counted
from proxyctl.plan import ModulePlan, Plan, Refusal

EDITS_LOST = "edits_lost"


def lost_edits(plan: Plan, first: Plan, name: str) -> Iterator[Refusal]:
    """Yield what is to go along at a member, and would be lost, since it takes the module over.

    `first`: the plan of the member that is changed before it, `name` what people call that one.
    An edit that both have is none.
    """
    apart = {module for module, _ in followers(first, [plan]).apart}
    taken = loaded_for_all([first]) - apart
    kept = {one for module in first.modules for one in _going_live(module)}
    for module in plan.modules:
        count = len(_going_live(module) - kept) if module.name in taken else 0
        if count:
            yield Refusal(
                EDITS_LOST,
                f"{module.name}: {counted(count, 'edit')} of others in MEMORY would be lost:"
                f" {name} is changed first, and this member takes the module over from there;"
                " apply at this one alone before, or undo them",
            )


def _going_live(module: ModulePlan) -> set[Wish]:
    return {wish(one) for one in edits_going_live([module]) if not one.is_members_own}
