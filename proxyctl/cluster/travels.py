"""What of a plan reaches the other members of a ProxySQL Cluster, and what stays. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from proxyctl.cluster.checksums import MODULES
from proxyctl.cluster.membership import Membership
from proxyctl.errors import counted
from proxyctl.plan import ModulePlan, Plan

_ACTIVE_ONLY = {"mysql_query_rules": "rule", "mysql_users": "user"}
"""Tables of which members take the active rows only, and what a row is."""


def what_stays(modules: Sequence[ModulePlan], membership: Membership) -> Iterator[str]:
    """Yield what these plans change that the other members do not take over."""
    changed = [module for module in modules if module.does_something]
    staying = [module.name for module in changed if membership.name_of(module.name) is None]
    if staying:
        verb = "does" if len(staying) == 1 else "do"
        yield f"{', '.join(staying)}: {verb} not travel to the other members; apply at each"
    for module in changed:
        own = {str(change.key[0]): None for change in module.changes if change.is_members_own}
        if own:
            yield f"{', '.join(own)}: each member has its own; apply at each"
        for name, found in module.surveys.items():
            rows = module.final.get(name, found.target)
            active = found.layout.index.get("active")
            if name not in _ACTIVE_ONLY or active is None or not module.images:
                continue
            count = sum(1 for row in rows.values() if row[active] == 0)
            if count:
                inactive = counted(count, f"inactive {_ACTIVE_ONLY[name]}")
                yield (
                    f"{module.name}: {inactive} {'stays' if count == 1 else 'stay'} here; the other"
                    " members take the active ones, and drop their own inactive ones"
                )


def travelling(plans: Iterable[Plan]) -> set[str]:
    """Return the admin modules that these plans load and that travel to other members."""
    return {
        module.name
        for plan in plans
        for module in plan.modules
        if module.images and module.name in MODULES.values()
    }
