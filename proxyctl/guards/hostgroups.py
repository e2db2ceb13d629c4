"""Guards: hostgroups that lose their last server while something needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from proxyctl.catalog import Layout, Value
from proxyctl.families import DECIDE_WHO_SERVES, Family, ServerColumns
from proxyctl.guards.crowds import Crowd
from proxyctl.guards.danger import Danger
from proxyctl.guards.serving import serving, serving_now, with_families
from proxyctl.online_limits import crowd_text
from proxyctl.plan import ModulePlan
from proxyctl.shunned import is_shunned, shunned_by_hand
from proxyctl.state import GuardAction, GuardLimits, Rows
from proxyctl.survey import is_offline_hard, stays_shunned

LAST_WRITER, DEFAULT_HOSTGROUP = "last_writer", "default_hostgroup"
EMPTY_HOSTGROUP = "empty_hostgroup"
SERVERS, USERS = "mysql_servers", "mysql_users"

_SEVERITY = {GuardAction.REFUSE: 0, GuardAction.WARN: 1, GuardAction.OFF: 2}


@dataclass(frozen=True)
class HostgroupNeeds:
    """What needs hostgroups once everything is applied.

    Shape: `writers` are those of the monitored families; `destinations` the hostgroups that rules,
    fast routing and users send traffic to, by table. `names` by number.
    """

    writers: frozenset[Value]
    destinations: Mapping[str, frozenset[Value]]
    names: Mapping[int, str]

    def shown(self, hostgroup: Value) -> str:
        """Return the number, and the name that the files give it."""
        name = self.names.get(hostgroup) if isinstance(hostgroup, int) else None
        return f"{hostgroup} ({name})" if name else str(hostgroup)


def emptied_hostgroups(
    module: ModulePlan,
    families: Iterable[Family],
    needs: HostgroupNeeds,
    limits: GuardLimits,
    crowds: Mapping[Value, Crowd] = MappingProxyType({}),
) -> Iterator[Danger]:
    """Yield each needed hostgroup that has a server that is used now and would have none.

    A hostgroup that several guards are about is said once, by the strictest of them, of those by
    the first. Afterwards is what the last LOAD brings. A SHUNNED server counts as ONLINE, since
    ProxySQL tries it again; one that is loaded SHUNNED does not. `module`: MYSQL SERVERS;
    `families` as they would be; `crowds`: hostgroups that stop for having too many servers.
    """
    survey = module.surveys[SERVERS]
    layout = survey.layout
    if not (crowds or any(map(module.at_runtime, DECIDE_WHO_SERVES))):
        return
    loaded, runtime = loaded_servers(module), running_servers(module)
    families = list(families)
    new = {key: row for key, row in loaded.items() if key not in runtime}
    waiting = _families_of_waiting_nodes(layout, new, families)
    will_serve = with_families(layout, loaded, families) - crowds.keys()
    for hostgroup in sorted(serving_now(layout, runtime, families) - will_serve, key=str):
        guards = _needs_of(hostgroup, needs)
        if not guards:
            continue
        guard = min(guards, key=lambda name: _SEVERITY[limits.action(name)])
        message = (
            f"hostgroup {needs.shown(hostgroup)} is {_listed([*guards.values()])}"
            f" and would have {_nothing_left(layout, loaded, hostgroup, crowds.get(hostgroup))}"
        )
        family = waiting.get(hostgroup) if hostgroup not in crowds else None
        if family is not None:
            message += (
                f" until the monitor takes the new nodes out of {needs.shown(family.offline)}"
            )
            message += "; add them in one apply and remove the old ones in the next"
        yield Danger(guard, message)


def _nothing_left(layout: Layout, loaded: Rows, hostgroup: Value, crowd: Crowd | None) -> str:
    """Return what a hostgroup is left with that serves nobody."""
    if crowd is not None:
        return crowd_text(crowd.online, crowd.most)
    if hostgroup in serving(layout, loaded):
        return "no ONLINE server once the monitor has placed the nodes"
    columns = ServerColumns.of(layout)
    for row in loaded.values():
        is_out = row[columns.weight] == 0 or row[columns.max_connections] == 0
        is_online = str(row[columns.status]).upper() == "ONLINE"
        if row[columns.hostgroup] == hostgroup and is_online and is_out:
            return "only servers of weight 0 or max_connections 0"
    return "no ONLINE server"


def loaded_servers(module: ModulePlan) -> Rows:
    """Return the servers that RUNTIME has after the last LOAD of MYSQL SERVERS, if there is one.

    Without those that it gets SHUNNED: they serve nobody.
    """
    survey = module.surveys[SERVERS]
    if not module.load:
        return running_servers(module)
    rows = module.images[-1][SERVERS] if module.images else survey.target
    return {
        key: row
        for key, row in rows.items()
        if not (is_offline_hard(survey.layout, row) or stays_shunned(survey, key, row))
    }


def running_servers(module: ModulePlan) -> Rows:
    """Return the servers that RUNTIME has now, without those that somebody loaded SHUNNED."""
    survey = module.surveys[SERVERS]
    return without_shunned(survey.layout, survey.runtime or {}, survey.memory, survey.families)


def without_shunned(
    layout: Layout, runtime: Rows, memory: Rows, families: Iterable[Family]
) -> Rows:
    """Return the servers of RUNTIME without those that somebody loaded SHUNNED, as MEMORY tells.

    RUNTIME may have a node of a family in another hostgroup than MEMORY.
    """
    by_hand = shunned_by_hand(layout, runtime, memory, families)
    return {
        key: row for key, row in runtime.items() if not (key in by_hand and is_shunned(layout, row))
    }


def _needs_of(hostgroup: Value, needs: HostgroupNeeds) -> dict[str, str]:
    """Return the guards that a hostgroup without servers concerns, and why."""
    found: dict[str, str] = {}
    if hostgroup in needs.writers:
        found[LAST_WRITER] = "a writer hostgroup"
    if hostgroup in needs.destinations.get(USERS, ()):
        found[DEFAULT_HOSTGROUP] = "the default hostgroup of users"
    if any(hostgroup in used for table, used in needs.destinations.items() if table != USERS):
        found[EMPTY_HOSTGROUP] = "used by rules"
    return found


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _families_of_waiting_nodes(
    layout: Layout, new: Rows, families: Iterable[Family]
) -> dict[Value, Family]:
    """Return, by hostgroup, the families with new nodes that wait in the offline hostgroup."""
    entered = serving(layout, new)
    return {
        hostgroup: family
        for family in families
        if family.offline in entered
        for hostgroup in family.hostgroups
    }
