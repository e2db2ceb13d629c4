"""What of a plan stays at the member where it is applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from proxyctl.cluster.checksums import switch
from proxyctl.cluster.membership import Membership, is_off, lacks_account
from proxyctl.errors import counted
from proxyctl.plan import Change, ModulePlan
from proxyctl.state import Layer
from proxyctl.survey import TableSurvey, value_of

STAYING_VARIABLES = frozenset(
    {
        "admin-mysql_ifaces",
        "admin-restapi_port",
        "admin-telnet_admin_ifaces",
        "admin-telnet_stats_ifaces",
        "admin-web_port",
        "mysql-interfaces",
        "mysql-threads",
    }
)
"""Variables that each member has for itself. Source: ProxySQL 2.7.1, lib/ProxySQL_Admin.cpp."""

_ACTIVE_ONLY = {"mysql_query_rules": "rule", "mysql_users": "user"}
"""Tables of which members take the active rows only, and what a row is."""


def is_own(change: Change) -> bool:
    """Return whether a change is of a variable that each member has for itself."""
    return change.layout.table.prefix is not None and change.key[0] in STAYING_VARIABLES


def what_stays(
    modules: Sequence[ModulePlan], membership: Membership, *, saves: bool
) -> Iterator[str]:
    """Yield what these plans change that the peers do not take over, and what peers do besides."""
    changed = [module for module in modules if module.changes or module.does_something]
    staying = [module.name for module in changed if not membership.travels(module.name)]
    if staying:
        yield f"{', '.join(staying)}: does not travel to the peers; apply at each member"
    travelling = [module for module in changed if membership.travels(module.name)]
    for module in travelling:
        names = [str(change.key[0]) for change in module.changes if is_own(change)]
        if names:
            yield f"{', '.join(names)}: each member has its own; apply at each member"
        for found in module.surveys.values():
            yield from _inactive(module, found)
        name = membership.name_of(module.name)
        if name is not None and module.images and is_off(name, membership.variables):
            yield (
                f"{module.name}: {switch(name)} is 0 here; a peer where it is 0 as well takes"
                " nothing over"
            )
    loaded = [module for module in travelling if module.images]
    empty = lacks_account(membership.variables)
    if loaded and empty:
        yield f"{empty} is empty here; a peer where it is empty as well takes nothing over"
    if loaded and not saves:
        yield "peers save what they take over, although nothing is saved here"


def _inactive(module: ModulePlan, found: TableSurvey) -> Iterator[str]:
    noun = _ACTIVE_ONLY.get(found.layout.name)
    if noun is None:
        return
    active = found.layout.index["active"]
    rows = module.final.get(found.layout.name, found.target)
    count = sum(1 for row in rows.values() if row[active] == 0)
    changes = any(_is_inactive(change) for change in module.changes)
    if count and (module.images or changes):
        verb = "is" if count == 1 else "are"
        yield (
            f"{module.name}: {counted(count, noun)} that {verb} not active"
            f" {'stays' if count == 1 else 'stay'} here; peers take the active ones, and drop their"
            " own others"
        )


def _is_inactive(change: Change) -> bool:
    row = change.shown.desired
    if change.table not in _ACTIVE_ONLY or row is None:
        return False
    return value_of(row, change.layout.index["active"]) == 0


def left(modules: Iterable[ModulePlan]) -> Counter[str]:
    """Return how many rows differ at RUNTIME, by admin module, without those that stay."""
    return Counter(
        module.name
        for module in modules
        for change in module.changes
        if Layer.RUNTIME in change.layers and not is_own(change)
    )
