"""Which members follow the one that is changed first, and which are changed by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proxyctl.cluster.electing import loaded_for_all
from proxyctl.plan import Plan


@dataclass(frozen=True)
class Followers:
    """Members by their positions among the others.

    `following` take over something of what the first one loads, or need nothing. `apart` has those
    that take over nothing of an admin module, by the module and why; they may follow in others.
    """

    following: Sequence[int] = ()
    apart: Mapping[tuple[str, str], Sequence[int]] = field(default_factory=dict)


def followers(first: Plan, others: Sequence[Plan]) -> Followers:
    """Return who follows the first one of a cluster, where all these plans are applied."""
    loaded = loaded_for_all([first])
    following: list[int] = []
    apart: dict[tuple[str, str], list[int]] = {}
    for position, plan in enumerate(others):
        wanted = loaded_for_all([plan])
        why = {module: plan.untaken[module] for module in wanted if module in plan.untaken}
        if plan.version != first.version:
            why = dict.fromkeys(wanted, f"ProxySQL {plan.version} beside {first.version}")
        for module in sorted(why):
            apart.setdefault((module, why[module]), []).append(position)
        if loaded and (not why or (wanted & loaded) - why.keys()):
            following.append(position)
    return Followers(following, apart)
