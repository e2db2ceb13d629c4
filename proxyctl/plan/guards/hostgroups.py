"""Guards: hostgroups that lose their last server while traffic needs them.

Also users, rules and fast routing that change from a hostgroup with servers to one without servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from proxyctl.catalog import Layout, Value
from proxyctl.catalog.destinations import DESTINATIONS
from proxyctl.plan.guards import Danger
from proxyctl.proxysql.compare import Difference
from proxyctl.proxysql.servers import Server, server_reader
from proxyctl.proxysql.topology import Family, Node, Topology, node_text
from proxyctl.routing.servers import family_text
from proxyctl.rows.row import DesiredRow, Rows
from proxyctl.text import counted

EMPTY_HOSTGROUP = "empty_hostgroup"


_USERS = {"mysql_users", "pgsql_users"}


_MOST_NAMES = 3


@dataclass(frozen=True)
class Needs:
    """The hostgroups that are needed."""

    writers: frozenset[Value]
    """The writer hostgroups of monitored families."""
    before: Mapping[str, frozenset[Value]]
    """The hostgroups that rules, fast routing and users send traffic to now, by table, whoever owns
    their rows."""
    after: Mapping[str, frozenset[Value]]
    """The same hostgroups after the apply."""
    names: Mapping[int, str]
    """The names of hostgroups, by number."""
    noun: str = "hostgroup"
    """The word for a hostgroup."""

    def called(self, hostgroup: Value) -> str:
        """Return `hostgroup 10 (writer)`, or `pgsql hostgroup 10`."""
        return f"{self.noun} {self.shown(hostgroup)}"

    def shown(self, hostgroup: Value) -> str:
        """Return the number of a hostgroup, with its name in the files."""
        name = self.names.get(hostgroup) if isinstance(hostgroup, int) else None
        return f"{hostgroup} ({name})" if name else str(hostgroup)

    def of(self, hostgroup: Value) -> list[str]:
        """Return the uses of a hostgroup after the apply; empty if nothing needs it."""
        reasons = ["a writer hostgroup"] if hostgroup in self.writers else []
        used_by = {table for table, used in self.after.items() if hostgroup in used}
        if used_by & _USERS:
            reasons.append("the default hostgroup of users")
        if used_by - _USERS:
            reasons.append("a destination of rules")
        return reasons


class Servers:
    """The servers at RUNTIME, now and after the last LOAD, by key.

    `topology`: the families whose nodes the monitor places now and afterwards.
    """

    def __init__(
        self, layout: Layout, now: Rows, loaded: Rows, topology: Topology = Topology()
    ) -> None:
        read = server_reader(layout)
        self.now = {key: read(row) for key, row in now.items()}
        self.loaded = {key: read(row) for key, row in loaded.items()}
        self.topology = topology

    @property
    def served_now(self) -> frozenset[Value]:
        """The hostgroups with a server that takes queries."""
        return self._served(self.now.values())

    @property
    def served_afterwards(self) -> frozenset[Value]:
        """The hostgroups that keep a server that takes queries, or get a new server."""
        return self._served(self._staying)

    @property
    def filled(self) -> frozenset[Value]:
        """The hostgroups that have such a server at RUNTIME, now or once the rows are loaded."""
        return _serving(self.now.values()) | _serving(self._staying)

    @property
    def _staying(self) -> list[Server]:
        """The loaded servers that are new, or take queries now."""
        return [
            server
            for key, server in self.loaded.items()
            if key not in self.now or self.now[key].serves
        ]

    def filled_by(self, topology: Topology) -> frozenset[Value]:
        """Return the hostgroups that the monitor fills with loaded nodes of these families."""
        loaded = {server.hostgroup for server in self.loaded.values()}
        filled = (family for family in topology.families if family.hostgroups & loaded)
        return frozenset().union(*(family.hostgroups - {family.offline} for family in filled))

    def _served(self, servers: Iterable[Server]) -> frozenset[Value]:
        """Return the hostgroups of these servers, and those into which the monitor moves them.

        It fills the writer hostgroup of a replication family only with a server that has read_only
        off.
        """
        served = _serving(servers)
        for family in self.topology.families:
            healthy = family.hostgroups - {family.offline}
            if served & healthy:
                waiting = {family.writer} if family.kind == "replication" else frozenset()
                served |= healthy - waiting
        return served


def _serving(servers: Iterable[Server]) -> frozenset[Value]:
    """Return the hostgroups with a server that takes queries."""
    return frozenset(server.hostgroup for server in servers if server.serves)


def renumbered_families(
    servers: Servers, needs: Needs, before: Topology, after: Topology
) -> dict[frozenset[Value], Danger]:
    """Return the families that would get other hostgroups in one LOAD, and break traffic by it.

    A family is known by its nodes. Until the monitor's next check its new hostgroups hold the rows
    that are loaded: often every node in the writer hostgroup, and none in the reader hostgroup.

    Shape: by the hostgroups of the family before and after. `before` and `after`: those of
    RUNTIME. Source: Galera and replication on 2.7.1 and 3.0.3, run. Group replication and Aurora
    were not run; a LOAD takes their rows in the same way.
    """

    def nodes(family: Family, servers: Iterable[Server]) -> set[Node]:
        return {server.node for server in servers if server.hostgroup in family.hostgroups}

    found: dict[frozenset[Value], Danger] = {}
    leaving_families = (family for family in before.families if family not in after.families)
    coming_families = [family for family in after.families if family not in before.families]
    for leaving, coming in product(leaving_families, coming_families):
        loaded = nodes(coming, servers.loaded.values())
        if nodes(leaving, servers.now.values()).isdisjoint(loaded):
            continue
        if gaps := [*_gaps(servers, needs, leaving, coming)]:
            found[leaving.hostgroups | coming.hostgroups] = Danger(
                EMPTY_HOSTGROUP,
                f"{family_text(leaving)} would get different hostgroups in one LOAD: until the"
                f" monitor's next check {', and '.join(gaps)}",
                "add a new family beside the old one, then point users and rules to it, then"
                f" remove the old one, in three applies: {_RENUMBER_PAGE}",
            )
    return found


def _gaps(servers: Servers, needs: Needs, leaving: Family, coming: Family) -> Iterator[str]:
    """Yield the new hostgroups that would not serve as those in use do that they replace."""
    used: frozenset[Value] = frozenset().union(*needs.before.values())

    def serving(servers: Iterable[Server], hostgroup: Value) -> set[str]:
        return {
            node_text(server.node)
            for server in servers
            if server.hostgroup == hostgroup and server.serves
        }

    for old, new in zip(leaving.roles, coming.roles, strict=True):
        if old == new or old not in used:
            continue
        now, loaded = serving(servers.now.values(), old), serving(servers.loaded.values(), new)
        if now and not loaded:
            yield f"{needs.called(new)} would have no server"
        elif new == coming.writer and not loaded <= now:
            names = (_first_names(sorted(nodes)) or "no server" for nodes in (loaded, now))
            yield f"{needs.called(new)} would have {' instead of '.join(names)}"


_RENUMBER_PAGE = "docs/how-to/renumber-hostgroups.md"


def emptied_hostgroups(
    servers: Servers, needs: Needs, renumbered: frozenset[Value] = frozenset()
) -> Iterator[Danger]:
    """Yield the needed hostgroups that would lose their last server that takes queries.

    `renumbered`: the hostgroups of `renumbered_families`.
    """
    for hostgroup in sorted(servers.served_now - servers.served_afterwards - renumbered, key=str):
        reasons = needs.of(hostgroup)
        if not reasons:
            continue
        message = f"{needs.called(hostgroup)} would have {_remainder(servers, hostgroup)}"
        fix = f"keep a server in it, or {_unused_first(needs, hostgroup)}"
        family = _waiting_family(servers, hostgroup)
        if family is not None:
            offline = needs.called(family.offline)
            message += f" until the monitor takes the new nodes out of {offline}"
            fix = "add the new nodes in one apply and remove the old ones in the next"
        yield Danger(EMPTY_HOSTGROUP, f"{message}, but is {_listed(reasons)}", fix)


def _unused_first(needs: Needs, hostgroup: Value) -> str:
    """Return how nothing needs a hostgroup any more before its servers go."""
    used_by = [f"`{table}`" for table, used in needs.after.items() if hostgroup in used]
    if hostgroup not in needs.writers:
        return f"send {_listed(used_by)} elsewhere in the same apply"
    after = f", after an apply that sends {_listed(used_by)} elsewhere" if used_by else ""
    return f"delete it together with its family{after}"


def _remainder(servers: Servers, hostgroup: Value) -> str:
    """Return what remains in a hostgroup without a server that takes queries."""
    remaining = [server for server in servers.loaded.values() if server.hostgroup == hostgroup]
    if any(server.status == "ONLINE" for server in remaining):
        if any(server.serves for server in remaining):
            return "only servers that are SHUNNED now"
        return "only servers of weight 0 or max_connections 0"
    return "no ONLINE server"


def _waiting_family(servers: Servers, hostgroup: Value) -> Family | None:
    """Return the family of a hostgroup if its new nodes wait in the offline hostgroup."""
    hostgroups = {key[0] for key in servers.loaded if key not in servers.now}
    return next(
        (
            family
            for family in servers.topology.families
            if hostgroup in family.hostgroups and family.offline in hostgroups
        ),
        None,
    )


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


class _Wording(NamedTuple):
    """The words for a row of a table: noun and predicate, and the columns that identify the row."""

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


def unserved_destinations(
    layout: Layout,
    changes: Iterable[Difference],
    servers: Servers,
    needs: Needs,
    topology: Topology,
    renumbered: frozenset[Value] = frozenset(),
) -> Iterator[Danger]:
    """Yield the hostgroups without servers that changed or new rows would send traffic to.

    `layout`: of a table of DESTINATIONS; `changes`: of that table at RUNTIME; `topology`: the
    families after the apply, whose hostgroups the monitor fills later: soon enough for a new row,
    and too late for one that has a server now. A row that had no server before is no transition,
    and neither is a new row where no hostgroup has a server, or beside others that send to the same
    hostgroup.
    `emptied_hostgroups` reports a hostgroup that loses its servers.
    """
    wording = _WORDINGS[layout.name]
    served_now = servers.served_now
    filled = servers.filled | renumbered
    awaited = servers.served_afterwards | servers.filled_by(topology)
    in_use: frozenset[Value] = frozenset().union(*needs.before.values())
    stray: dict[int, list[str]] = {}
    for row, previous, hostgroup in directed_rows(layout, changes):
        is_transition = (
            previous in served_now
            if previous is not None
            else bool(served_now) and hostgroup not in in_use
        )
        served = filled | awaited if previous is None else filled
        if is_transition and hostgroup not in served:
            name = "/".join(str(row[layout.index[column]]) for column in wording.named_by)
            stray.setdefault(hostgroup, []).append(name)
    for hostgroup, names in sorted(stray.items(), key=repr):
        yield Danger(
            EMPTY_HOSTGROUP,
            f"{needs.called(hostgroup)} {wording.consequence} {counted(len(names), wording.noun)}"
            f" ({_first_names(names)}) but has no server that can receive queries",
            "apply the servers first, and this once `proxyctl nodes list` shows a server in it"
            if hostgroup in awaited
            else "add a server to it in the same apply, or choose another hostgroup",
        )


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (" ..." if len(names) > _MOST_NAMES else "")


def directed_rows(
    layout: Layout, changes: Iterable[Difference]
) -> Iterator[tuple[DesiredRow, Value, int]]:
    """Yield the rows that get a destination, their hostgroup now (None: none) and the new one."""
    position = layout.index[DESTINATIONS[layout.name]]
    for change in changes:
        if change.desired is not None:
            previous = None if change.current is None else change.current[position]
            hostgroup = change.desired[position]
            if isinstance(hostgroup, int) and hostgroup != previous:
                yield change.desired, previous, hostgroup
