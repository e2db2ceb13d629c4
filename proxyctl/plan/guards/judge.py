"""Asks every guard about the changes of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from proxyctl.catalog import Layout
from proxyctl.catalog.destinations import DESTINATIONS
from proxyctl.plan.guards.access import Access, blind_monitor, lockouts, replaced_logins
from proxyctl.plan.guards.danger import Danger
from proxyctl.plan.guards.deletes import deletions
from proxyctl.plan.guards.hostgroups import Needs, Servers, emptied_hostgroups, strays
from proxyctl.plan.plan import ModulePlan
from proxyctl.state.row import GuardLimits


@dataclass(frozen=True)
class Logins:
    """Names of users and of logins of the admin interface that are the same.

    `users` and `admins`: once everything is applied; `before`: those that are both already.
    """

    users: frozenset[str] = frozenset()
    admins: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Situation:
    """What guards have to know of the instance beside the changes.

    `servers` None where nothing changes who serves, or who is sent where. `layouts` by table.
    """

    access: Access
    monitor_is_on: bool
    layouts: Mapping[str, Layout]
    needs: Needs
    servers: Servers | None = None
    logins: Logins = field(default_factory=Logins)


def dangers(
    modules: Iterable[ModulePlan], situation: Situation, limits: GuardLimits
) -> Iterator[Danger]:
    """Yield what the guards find in these changes."""
    plans = list(modules)
    changes = {
        name: found for plan in plans for name in plan.surveys if (found := plan.at_runtime(name))
    }
    yield from deletions(plans, limits)
    servers, needs = situation.servers, situation.needs
    if servers is not None:
        if "mysql_servers" in changes:
            yield from emptied_hostgroups(servers, needs, limits)
        for name in DESTINATIONS:
            if name in changes:
                yield from strays(situation.layouts[name], changes[name], servers, needs)
    yield from lockouts(changes.get("admin_variables", ()), situation.access)
    logins = situation.logins
    yield from replaced_logins(logins.users, logins.admins, before=logins.before)
    yield from blind_monitor(changes.get("mysql_variables", ()), is_on=situation.monitor_is_on)
