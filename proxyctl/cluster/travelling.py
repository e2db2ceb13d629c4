"""What of a plan stays at the member where it is applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from proxyctl.change import Change
from proxyctl.cluster.membership import Membership, lacks_account, off_by
from proxyctl.compare import value_of
from proxyctl.errors import counted
from proxyctl.plan import ModulePlan
from proxyctl.state import Layer
from proxyctl.survey import TableSurvey

ACTIVE_ONLY = {"mysql_query_rules": "rule", "mysql_users": "user"}
"""Tables of which members take the active rows only, and what a row is."""


def what_stays(
    modules: Sequence[ModulePlan], membership: Membership, *, saves: bool
) -> Iterator[str]:
    """Yield what these plans change that the peers do not take over, and what peers do besides."""
    changed = [module for module in modules if module.changes or module.does_something]
    staying = [module.name for module in changed if not membership.travels(module.name)]
    if staying:
        does = "does" if len(staying) == 1 else "do"
        yield f"{', '.join(staying)}: {does} not travel to the peers; apply at each member"
    travelling = [module for module in changed if membership.travels(module.name)]
    for module in travelling:
        names = dict.fromkeys(
            str(change.key[0]) for change in module.changes if change.is_members_own
        )
        if names:
            yield f"{', '.join(names)}: each member has its own; apply at each member"
        for found in module.surveys.values():
            yield from _inactive(module, found)
        name = membership.name_of(module.name)
        off = off_by(name, membership.variables) if name is not None and module.images else None
        if off:
            yield f"{module.name}: {off} here; a peer where it is so as well takes nothing over"
    loaded = [module for module in travelling if module.images]
    empty = lacks_account(membership.variables)
    if loaded and empty:
        yield f"{empty} is empty here; a peer where it is empty as well takes nothing over"
    if loaded and not saves:
        yield "peers save what they take over, although nothing is saved here"


def untaken(modules: Iterable[ModulePlan], membership: Membership) -> dict[str, str]:
    """Return the admin modules that are loaded and that this member takes from no peer, and why."""
    empty = lacks_account(membership.variables)
    found: dict[str, str] = {}
    for module in modules:
        name = membership.name_of(module.name)
        if name is None or not module.images:
            continue
        why = off_by(name, membership.variables) or (f"{empty} is empty" if empty else None)
        if why:
            found[module.name] = why
    return found


def _inactive(module: ModulePlan, found: TableSurvey) -> Iterator[str]:
    noun = ACTIVE_ONLY.get(found.layout.name)
    if noun is None:
        return
    active = found.layout.index["active"]
    rows = module.final.get(found.layout.name, found.target)
    count = sum(1 for row in rows.values() if row[active] == 0)
    changes = any(is_inactive(change) for change in module.changes)
    if count and (module.images or changes):
        verb = "is" if count == 1 else "are"
        yield (
            f"{module.name}: {counted(count, noun)} that {verb} not active"
            f" {'stays' if count == 1 else 'stay'} here; peers take the active ones, and drop their"
            " own others"
        )


def loads_nothing_that_travels(module: ModulePlan) -> bool:
    """Return whether a LOAD changes nothing but variables that each member has itself.

    The checksum stays as it is: a peer that holds the same now takes nothing over.
    Source: ProxySQL 2.7.1, run.
    """
    loaded = [change for change in module.changes if Layer.RUNTIME in change.layers]
    return bool(loaded) and all(change.is_members_own for change in loaded)


def is_inactive(change: Change) -> bool:
    """Return whether a change makes a row inactive, or changes one that members do not take."""
    row = change.shown.desired
    if change.table not in ACTIVE_ONLY or row is None:
        return False
    return value_of(row, change.layout.index["active"]) == 0


def rows_left(modules: Iterable[ModulePlan]) -> Counter[str]:
    """Return how many rows differ at RUNTIME, by admin module, without those that stay."""
    return Counter(
        module.name
        for module in modules
        for change in module.changes
        if Layer.RUNTIME in change.layers and not change.is_members_own
    )
