"""Who writes to a Galera cluster at the members that take a LOAD of its servers over. Pure.

A member hands a row that is SHUNNED at RUNTIME on as ONLINE. So nodes that only wait to be the
writer are writers at the others until their own monitor's next check. Rows that wait cannot be left
out of the LOAD: their connections in use would be cut, at every member.
Source: ProxySQL 2.7.1, three members in front of simulated nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from proxyctl.catalog import Value
from proxyctl.cluster.following import Why, way_out
from proxyctl.cluster.membership import Member, Membership
from proxyctl.errors import counted
from proxyctl.families import Family, ServerColumns, node_text
from proxyctl.plan import ModulePlan
from proxyctl.result import NotFollowing
from proxyctl.state import Row

_TABLE = "mysql_servers"
_INTERVAL = "mysql-monitor_galera_healthcheck_interval"


def further_writers(
    modules: Iterable[ModulePlan],
    membership: Membership,
    check_ms: int,
    *,
    moves_writer: bool = False,
) -> Iterator[str]:
    """Yield which nodes peers take for writers for a while. `check_ms`: the interval here.

    `moves_writer`: a peer whose monitor moves the writer first hands that on to this member, too.
    """
    for module in modules:
        found = module.surveys.get(_TABLE)
        if found is None or not module.images or not membership.travels(module.name):
            continue
        columns = ServerColumns.of(found.layout)
        for family in placed_by_monitor(found.families):
            waiting = [
                node_text(columns.node(row))
                for row in module.images[-1][_TABLE].values()
                if _takes_writes(columns, family, row, "SHUNNED")
            ]
            if waiting:
                too = "; so may this member, from a peer that moves the writer first"
                yield (
                    f"{module.name}: a peer that takes this over has {', '.join(sorted(waiting))}"
                    f" ONLINE in {family.writer} as well, until its monitor's next check"
                    f" ({_INTERVAL}, {check_ms} ms here){too if moves_writer else ''}"
                )


def not_placed(modules: Iterable[ModulePlan], member: Member) -> Iterator[NotFollowing]:
    """Yield where the monitor of a peer has yet to choose the writers. `modules`: as read there."""
    for module in modules:
        found = module.surveys.get(_TABLE)
        if found is None:
            continue
        columns = ServerColumns.of(found.layout)
        for family in placed_by_monitor(found.families):
            rows = (found.runtime or {}).values()
            online = sum(1 for row in rows if _takes_writes(columns, family, row, "ONLINE"))
            most = _most(family)
            if online > most:
                text = (
                    f"{counted(online, 'ONLINE writer')} in {family.writer}, where {most} may be:"
                    " its monitor places them"
                )
                holds = "it holds what was loaded"
                yield NotFollowing(
                    module.name, Why.PLACING, text, holds, way_out(Why.PLACING, member)
                )


def has_too_many(families: Iterable[Family], online: Mapping[Value, int]) -> bool:
    """Return whether a monitor has yet to choose the writers of one of these.

    `online`: how many servers of each hostgroup take connections at RUNTIME.
    """
    return any(online.get(family.writer, 0) > _most(family) for family in families)


def placed_by_monitor(families: Iterable[Family]) -> list[Family]:
    """Return the Galera families, each once, that one monitor places."""
    found = {family.writer: family for family in families}
    return [family for family in found.values() if family.is_galera and not family.also]


def _most(family: Family) -> int:
    """Return how many writers there may be. With 0 the monitor may choose a last resort."""
    return max(family.max_writers, 1)


def _takes_writes(columns: ServerColumns, family: Family, row: Row, status: str) -> bool:
    """Whether a row with this status, where it is ONLINE, takes new connections that write."""
    return (
        row[columns.hostgroup] == family.writer
        and str(row[columns.status]).upper() == status
        and row[columns.max_connections] != 0
    )
