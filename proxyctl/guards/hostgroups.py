"""Guards: hostgroups that lose their last server while something needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from proxyctl.catalog import Layout, Value
from proxyctl.compare import Difference
from proxyctl.errors import counted
from proxyctl.families import Family
from proxyctl.guards.danger import Danger
from proxyctl.plan import ModulePlan
from proxyctl.state import GuardAction, GuardLimits, Layer, Rows

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
    module: ModulePlan, families: Iterable[Family], needs: HostgroupNeeds, limits: GuardLimits
) -> Iterator[Danger]:
    """Yield each needed hostgroup that has an ONLINE server now and would have none.

    A hostgroup that several guards are about is said once, by the strictest of them, of those by
    the first. Afterwards is what the last LOAD brings. A SHUNNED server counts as ONLINE: ProxySQL
    tries it again. `module`: MYSQL SERVERS.
    """
    survey = module.surveys[SERVERS]
    layout = survey.layout
    if not survey.changes[Layer.RUNTIME]:
        return
    loaded, runtime = loaded_servers(module), survey.runtime or {}
    families = list(families)
    new = {key: row for key, row in loaded.items() if key not in runtime}
    waiting = _families_of_waiting_nodes(layout, new, families)
    gone = serving(layout, runtime) - with_families(serving(layout, loaded), families)
    for hostgroup in sorted(gone, key=str):
        guards = _needs_of(hostgroup, needs)
        if not guards:
            continue
        guard = min(guards, key=lambda name: _SEVERITY[limits.action(name)])
        message = (
            f"hostgroup {needs.shown(hostgroup)} is {_listed([*guards.values()])}"
            " and would have no ONLINE server"
        )
        family = waiting.get(hostgroup)
        if family is not None:
            message += (
                f" until the monitor takes the new nodes out of {needs.shown(family.offline)}"
            )
            message += "; add them in one apply and remove the old ones in the next"
        yield Danger(guard, message)


def loaded_servers(module: ModulePlan) -> Rows:
    """Return the servers of the last LOAD of MYSQL SERVERS."""
    return module.images[-1][SERVERS] if module.images else module.surveys[SERVERS].target


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


MOST_NAMES = 3


def stray_users(
    layout: Layout,
    changes: Iterable[Difference],
    before: frozenset[Value],
    after: frozenset[Value],
    needs: HostgroupNeeds,
) -> Iterator[Danger]:
    """Yield the hostgroups without a server that users get as default, who had a better one.

    `changes`: of mysql_users at RUNTIME. `before` and `after`: the hostgroups that serve.
    """
    username, position = layout.index["username"], layout.index["default_hostgroup"]
    stray: dict[Value, list[str]] = {}
    for current, hostgroup in default_changes(layout, changes):
        # What serves now and would not afterwards is said of the hostgroup.
        if hostgroup not in before | after and current[position] in before:
            stray.setdefault(hostgroup, []).append(str(current[username]))
    for hostgroup, users in sorted(stray.items(), key=repr):
        names = ", ".join(users[:MOST_NAMES]) + (" ..." if len(users) > MOST_NAMES else "")
        yield Danger(
            DEFAULT_HOSTGROUP,
            f"hostgroup {needs.shown(hostgroup)} would be the default hostgroup of"
            f" {counted(len(users), 'user')} ({names}) and has no ONLINE server",
        )


def default_changes(
    layout: Layout, changes: Iterable[Difference]
) -> Iterator[tuple[tuple[Value, ...], Value]]:
    """Yield the users at RUNTIME who get another default hostgroup, and that hostgroup."""
    position = layout.index["default_hostgroup"]
    for change in changes:
        if change.current is not None and change.desired is not None:
            hostgroup = change.desired[position]
            if isinstance(hostgroup, int) and hostgroup != change.current[position]:
                yield change.current, hostgroup


def serving(layout: Layout, rows: Rows) -> frozenset[Value]:
    """Return the hostgroups with a server that is ONLINE, or SHUNNED for the time being.

    One without connections, as a drained node of a Galera family, serves nobody.
    """
    hostgroup, status = layout.index["hostgroup_id"], layout.index["status"]
    limit = layout.index["max_connections"]
    return frozenset(
        row[hostgroup]
        for row in rows.values()
        if row[limit] != 0 and str(row[status]).upper().startswith(("ONLINE", "SHUNNED"))
    )


def with_families(serving: frozenset[Value], families: Iterable[Family]) -> frozenset[Value]:
    """Return the hostgroups that will serve: the monitor fills a family's from one healthy node.

    The offline hostgroup is where it keeps the others. Only in a Galera cluster every node can be
    the writer: elsewhere the monitor waits until another server says that it is.
    """
    for family in families:
        healthy = family.hostgroups - {family.offline}
        if serving & healthy:
            serving |= healthy if family.is_galera else healthy - {family.writer}
    return serving


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
