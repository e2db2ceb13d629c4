"""The members of a Galera cluster in its own words, against the nodes that files name. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from proxyctl.catalog import Layout, Value
from proxyctl.instance.backend import Said
from proxyctl.state.families import Family, Node, ServerColumns
from proxyctl.state.row import DesiredRow, Key

PRIMARY = "Primary"
"""What a node says of the component that goes on."""


_PORT = 3306


_NO_ADDRESS = ("unspecified", "AUTO")
"""What a node says that does not know its own address."""


_PORT_NUMBER = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True)
class Membership:
    """A cluster against the files.

    Shape: `members` sorted by host, with what each answered. `hostgroups` are those of
    the family in the files that was compared; none where the files have no such family. `missing`
    are members that no file names, `gone` nodes of the files that are no members. `silent` is how
    many members do not say their address; where there are such, a node of the files that is none
    of the others may be one of them: it is `unsure`, not `gone`.
    """

    cluster: str
    members: Mapping[Node, Said]
    hostgroups: tuple[Value, ...] = ()
    missing: tuple[Node, ...] = ()
    gone: tuple[Node, ...] = ()
    silent: int = 0
    unsure: tuple[Node, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether files and cluster name the same nodes."""
        return not (self.missing or self.gone or self.silent)


def members_in(addresses: str) -> tuple[Node, ...]:
    """Return the nodes of a wsrep_incoming_addresses, without those that do not say theirs.

    A garbd has none, and stands there as an empty one. Sorted: the cluster's own order is one of
    random identifiers, and another one after each start.
    """
    return tuple(sorted({node for node in _nodes_in(addresses) if node[0] not in _NO_ADDRESS}))


def silent_in(addresses: str) -> int:
    """Return how many members of a wsrep_incoming_addresses do not say their address."""
    return sum(host in _NO_ADDRESS for host, _ in _nodes_in(addresses))


def named_by(said: Iterable[Said], seed: Said) -> tuple[frozenset[Node], int]:
    """Return the members that these nodes name, and how many more there are.

    Only those of the seed's cluster count, in its primary component. One of them may name fewer
    than there are, for good, while it counts them all; garbds count there, and name no address.
    Source: seen on a node of a three-node MariaDB cluster that had joined as the second.
    """
    ours = [one for one in (seed, *said) if _cluster_of(one) == _cluster_of(seed)]
    lists = [one.status.get("wsrep_incoming_addresses", "") for one in ours]
    nodes = frozenset(node for one in lists for node in members_in(one))
    garbds = max(_garbds_in(one) for one in lists)
    size = max(_count(one.status.get("wsrep_cluster_size", "")) for one in ours)
    return nodes, max(size - len(nodes) - garbds, *map(silent_in, lists))


def _garbds_in(addresses: str) -> int:
    return sum(not one.strip() for one in addresses.split(",")) if addresses else 0


def _cluster_of(said: Said) -> tuple[str, str]:
    status = said.status.get("wsrep_cluster_status", PRIMARY)
    return said.variables.get("wsrep_cluster_name", ""), status


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _nodes_in(addresses: str) -> Iterator[Node]:
    """Yield all members but garbds, in the cluster's own order."""
    for address in addresses.split(","):
        host, _, port = address.strip().rpartition(":")
        is_bare_ipv6 = ":" in host and not host.endswith("]")
        if is_bare_ipv6 or not _PORT_NUMBER.fullmatch(port):
            host, port = address.strip(), str(_PORT)
        host = host.strip("[]")
        if host:
            yield host, int(port)


def nodes_by_family(
    layout: Layout, servers: Mapping[Key, DesiredRow], families: Iterable[Family]
) -> dict[Family, tuple[Node, ...]]:
    """Return the configured nodes of each Galera family."""
    columns = ServerColumns.of(layout)
    return {
        family: tuple(
            dict.fromkeys(
                columns.node(row)
                for row in servers.values()
                if row[columns.hostgroup] in family.hostgroups
            )
        )
        for family in families
        if family.is_galera
    }


def compared(
    cluster: str,
    members: Mapping[Node, Said],
    configured: Mapping[Family, Collection[Node]],
    addresses_of: Callable[[Collection[str]], Mapping[str, Collection[str]]],
    *,
    silent: int = 0,
) -> Membership:
    """Return the cluster against the family that shares a node with it, or against the only one.

    `addresses_of` gives hosts with their addresses, since the cluster may name nodes by address
    where the files name them by host. It is asked once, for those that one side alone has.
    `silent`: how many members are not among these, as `silent_in` says.
    """
    asked: set[str] = set()
    for nodes in configured.values():
        new, rest = members.keys() - {*nodes}, {*nodes} - members.keys()
        if new and rest:
            asked |= {str(host) for host, _ in new | rest}
    addresses = addresses_of(asked)
    shared = {family: _alike(members, nodes, addresses) for family, nodes in configured.items()}
    family = max(shared, key=lambda one: len(shared[one]), default=None)
    if family is None or (not shared[family] and len(shared) > 1):
        return Membership(cluster, members, silent=silent)
    pairs = shared[family]
    others = tuple(node for node in configured[family] if node not in pairs.values())
    return Membership(
        cluster,
        members,
        (family.writer, *sorted(family.hostgroups - {family.writer}, key=lambda h: int(h or 0))),
        tuple(member for member in members if member not in pairs),
        () if silent else others,
        silent,
        others if silent else (),
    )


def _alike(
    members: Iterable[Node], nodes: Collection[Node], addresses: Mapping[str, Collection[str]]
) -> dict[Node, Node]:
    """Return the configured node of each member that has one."""
    found = {member: member for member in members if member in nodes}
    rest = [node for node in nodes if node not in found]

    def names(node: Node) -> set[str]:
        host = str(node[0])
        return {host, *addresses.get(host, ())}

    for member in members:
        if member in found:
            continue
        mine = names(member)
        for node in rest:
            if node[1] == member[1] and names(node) & mine and node not in found.values():
                found[member] = node
                break
    return found
