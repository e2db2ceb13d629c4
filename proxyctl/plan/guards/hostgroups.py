"""Guards: hostgroups that lose their last server while traffic needs them.

Also users, rules and fast routing that change from a hostgroup with servers to one without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.catalog import Layout, Value
from proxyctl.catalog.destinations import DESTINATIONS
from proxyctl.errors import counted
from proxyctl.plan.guards import Danger
from proxyctl.state.compare import Difference
from proxyctl.state.families import Family, ServerColumns
from proxyctl.state.row import Row, Rows

EMPTY_HOSTGROUP = "empty_hostgroup"


_USERS = {"mysql_users", "pgsql_users"}


_MOST_NAMES = 3


@dataclass(frozen=True)
class Needs:
    """The hostgroups that are needed once everything is applied.

    Shape: `writers` are those of the monitored families; `destinations` the hostgroups that rules,
    fast routing and users send traffic to, by table. `names` by number. `noun`: what a hostgroup
    is called.
    """

    writers: frozenset[Value]
    destinations: Mapping[str, frozenset[Value]]
    names: Mapping[int, str]
    noun: str = "hostgroup"

    def called(self, hostgroup: Value) -> str:
        """Return `hostgroup 10 (writer)`, or `pgsql hostgroup 10`."""
        return f"{self.noun} {self.shown(hostgroup)}"

    def shown(self, hostgroup: Value) -> str:
        """Return the number of a hostgroup, with its name in the files."""
        name = self.names.get(hostgroup) if isinstance(hostgroup, int) else None
        return f"{hostgroup} ({name})" if name else str(hostgroup)

    def of(self, hostgroup: Value) -> list[str]:
        """Return what needs a hostgroup; empty if nothing does."""
        found = ["a writer hostgroup"] if hostgroup in self.writers else []
        used_by = {table for table, used in self.destinations.items() if hostgroup in used}
        if used_by & _USERS:
            found.append("the default hostgroup of users")
        if used_by - _USERS:
            found.append("a destination of rules")
        return found


@dataclass(frozen=True)
class Servers:
    """The servers at RUNTIME, now and after the last LOAD.

    `families`: those whose nodes the monitor places, now and afterwards.
    """

    layout: Layout
    now: Rows
    loaded: Rows
    families: tuple[Family, ...] = ()

    @property
    def served_now(self) -> frozenset[Value]:
        """The hostgroups with a server that gets queries."""
        return self._served(self.now)

    @property
    def served_afterwards(self) -> frozenset[Value]:
        """The hostgroups that keep a server that gets queries, or get a new one."""
        columns = ServerColumns.of(self.layout)
        return self._served(
            {
                key: row
                for key, row in self.loaded.items()
                if key not in self.now or columns.takes_queries(self.now[key])
            }
        )

    def _served(self, rows: Rows) -> frozenset[Value]:
        """Return the hostgroups of these servers, and those that the monitor fills from them.

        In a replication family the monitor waits for a server with read_only off.
        """
        columns = ServerColumns.of(self.layout)
        found = frozenset(r[columns.hostgroup] for r in rows.values() if columns.takes_queries(r))
        for family in self.families:
            healthy = family.hostgroups - {family.offline}
            if found & healthy:
                waiting = {family.writer} if family.kind == "replication" else frozenset()
                found |= healthy - waiting
        return found


def emptied_hostgroups(servers: Servers, needs: Needs) -> Iterator[Danger]:
    """Yield each needed hostgroup that would lose its last server in use."""
    for hostgroup in sorted(servers.served_now - servers.served_afterwards, key=str):
        reasons = needs.of(hostgroup)
        if not reasons:
            continue
        message = f"{needs.called(hostgroup)} would have {_nothing_left(servers, hostgroup)}"
        family, fix = _waiting_family(servers, hostgroup), None
        if family is not None:
            offline = needs.called(family.offline)
            message += f" until the monitor takes the new nodes out of {offline}"
            fix = "add the new nodes in one apply and remove the old ones in the next"
        yield Danger(EMPTY_HOSTGROUP, f"{message}, but is {_listed(reasons)}", fix)


def _nothing_left(servers: Servers, hostgroup: Value) -> str:
    """Return what remains in a hostgroup that would serve nobody."""
    columns = ServerColumns.of(servers.layout)
    left = [row for row in servers.loaded.values() if row[columns.hostgroup] == hostgroup]
    if any(str(row[columns.status]).upper() == "ONLINE" for row in left):
        if any(columns.takes_queries(row) for row in left):
            return "only servers that are SHUNNED now"
        return "only servers of weight 0 or max_connections 0"
    return "no ONLINE server"


def _waiting_family(servers: Servers, hostgroup: Value) -> Family | None:
    """Return the family of a hostgroup, if its new nodes wait in its offline hostgroup."""
    hostgroups = {key[0] for key in servers.loaded if key not in servers.now}
    return next(
        (
            family
            for family in servers.families
            if hostgroup in family.hostgroups and family.offline in hostgroups
        ),
        None,
    )


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


class _Wording(NamedTuple):
    """The words for a row of a table: noun, predicate, and the columns that name it."""

    noun: str
    consequence: str
    named_by: tuple[str, ...]


_WORDINGS = {
    f"{protocol}_{table}": wording
    for protocol, schema in (("mysql", "schemaname"), ("pgsql", "database"))
    for table, wording in (
        ("users", _Wording("user", "would be the default hostgroup of", ("username",))),
        ("query_rules", _Wording("rule", "would be the destination of", ("rule_id",))),
        (
            "query_rules_fast_routing",
            _Wording("row", "would be the destination of fast routing in", ("username", schema)),
        ),
    )
}


def strays(
    layout: Layout, changes: Iterable[Difference], servers: Servers, needs: Needs
) -> Iterator[Danger]:
    """Yield the hostgroups without a server that rows would use instead of one with servers.

    `layout`: of a table of DESTINATIONS; `changes`: of that table at RUNTIME. A new row is no
    transition. A hostgroup that loses its servers is reported by `emptied_hostgroups`.
    """
    wording, position = _WORDINGS[layout.name], layout.index[DESTINATIONS[layout.name]]
    served_now = servers.served_now
    served = served_now | servers.served_afterwards
    stray: dict[Value, list[str]] = {}
    for current, hostgroup in redirected(layout, changes):
        if hostgroup not in served and current[position] in served_now:
            name = "/".join(str(current[layout.index[column]]) for column in wording.named_by)
            stray.setdefault(hostgroup, []).append(name)
    for hostgroup, names in sorted(stray.items(), key=repr):
        yield Danger(
            EMPTY_HOSTGROUP,
            f"{needs.called(hostgroup)} {wording.consequence}"
            f" {counted(len(names), wording.noun)} ({_some(names)})"
            " and has no server that takes queries",
        )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (" ..." if len(names) > _MOST_NAMES else "")


def redirected(layout: Layout, changes: Iterable[Difference]) -> Iterator[tuple[Row, Value]]:
    """Yield the present rows at RUNTIME that get another destination, with the new hostgroup."""
    position = layout.index[DESTINATIONS[layout.name]]
    for change in changes:
        if change.current is not None and change.desired is not None:
            hostgroup = change.desired[position]
            if isinstance(hostgroup, int) and hostgroup != change.current[position]:
                yield change.current, hostgroup
