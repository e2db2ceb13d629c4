"""Compare the members that a Galera cluster reports with the nodes in the files."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import cast

from proxyctl.catalog import Layout, Value
from proxyctl.config.files import ConfigFiles
from proxyctl.errors import InstanceError, UsageError
from proxyctl.instance.authentication import Trust
from proxyctl.instance.backend import NodeAnswer, ask_nodes, monitor_account
from proxyctl.instance.client import AdminClient
from proxyctl.interchange.yaml import quoted
from proxyctl.proxysql.servers import server_reader
from proxyctl.proxysql.topology import Family, MonitorSettings, Node, Topology
from proxyctl.rows.row import DesiredRow, Key, Rows, replace_cells
from proxyctl.text import counted

PRIMARY = "Primary"
"""The wsrep_cluster_status of a node in the component that stays in service."""

_PORT = 3306

_MOST_MEMBERS = 1000
"""The most members to ask. A Galera cluster has some dozens; each silent member takes a timeout."""

_NO_ADDRESS = ("unspecified", "AUTO")
"""The hosts that a node reports if it does not know its own address."""

_PORT_NUMBER = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True)
class ClusterComparison:
    """A Galera cluster compared with the files."""

    cluster: str
    """The name of the cluster."""
    members: Mapping[Node, NodeAnswer]
    """The members, sorted by host, with their answers."""
    hostgroups: tuple[Value, ...] = ()
    """The hostgroups of the compared family in the files; none if the files have no such family."""
    missing: tuple[Node, ...] = ()
    """The members that no file names."""
    gone: tuple[Node, ...] = ()
    """The configured nodes that are no members."""

    @property
    def agrees(self) -> bool:
        """Whether the files and the cluster list the same nodes."""
        return not (self.missing or self.gone)


def members_in(addresses: str) -> tuple[Node, ...]:
    """Return the nodes of a wsrep_incoming_addresses, without members that report no address.

    A garbd has an empty entry. Shape: sorted, since the cluster orders members by random
    identifiers.
    """
    return tuple(sorted({node for node in _nodes_in(addresses) if node[0] not in _NO_ADDRESS}))


def silent_in(addresses: str) -> int:
    """Return the number of members in a wsrep_incoming_addresses that report no address."""
    return sum(host in _NO_ADDRESS for host, _ in _nodes_in(addresses))


def listed_members(answers: Iterable[NodeAnswer], seed: NodeAnswer) -> tuple[frozenset[Node], int]:
    """Return the members that these nodes list, and the number of members that none of them lists.

    Only the answers of nodes in the primary component of the seed's cluster are used. A node may
    permanently list fewer members than wsrep_cluster_size, which includes garbds. Source: seen on
    the second node of a three-node MariaDB cluster.
    """
    of_cluster = [answer for answer in (seed, *answers) if _cluster_of(answer) == _cluster_of(seed)]
    lists = [answer.status.get("wsrep_incoming_addresses", "") for answer in of_cluster]
    nodes = frozenset(node for addresses in lists for node in members_in(addresses))
    garbds = max(map(_garbds_in, lists))
    size = max(_count(answer.status.get("wsrep_cluster_size", "")) for answer in of_cluster)
    return nodes, max(size - len(nodes) - garbds, *map(silent_in, lists))


def _garbds_in(addresses: str) -> int:
    return sum(not address.strip() for address in addresses.split(",")) if addresses else 0


def _cluster_of(answer: NodeAnswer) -> tuple[str, str]:
    status = answer.status.get("wsrep_cluster_status", PRIMARY)
    return answer.variables.get("wsrep_cluster_name", ""), status


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _nodes_in(addresses: str) -> Iterator[Node]:
    """Yield all members except garbds, in the order of the cluster."""
    for address in addresses.split(","):
        host, _, port = address.strip().rpartition(":")
        is_bare_ipv6 = ":" in host and not host.endswith("]")
        if is_bare_ipv6 or not _PORT_NUMBER.fullmatch(port):
            host, port = address.strip(), str(_PORT)
        host = host.strip("[]")
        if host:
            yield host, int(port)


def seed_node(seed: str) -> Node:
    """Return the node to ask first. Raises: UsageError."""
    nodes = members_in(seed)
    is_one = len(nodes) == 1 and not {",", "/"} & set(seed)
    if not (is_one and _may_be_host(str(nodes[0][0])) and 0 < int(nodes[0][1] or 0) < 65536):
        raise UsageError("--seed: expected one node, HOST or HOST:PORT")
    return nodes[0]


def _may_be_host(name: str) -> bool:
    """Return whether a name can be a host: with a colon it must be an IPv6 address."""
    if ":" not in name:
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def read_members(
    client: AdminClient, first: Node, trust: Trust
) -> tuple[str, dict[Node, NodeAnswer]]:
    """Return the name of the cluster, and its members with their answers.

    Raises: InstanceError when the seed does not answer, is no node of a cluster, or is not in the
    primary component; also when members do not report their address.
    """
    account = monitor_account(client, trust)
    answer = ask_nodes([first], account)[first]
    seed = f"{first[0]}:{first[1]}"
    if answer.unreachable is not None:
        raise InstanceError(
            f"{seed}: {answer.unreachable}",
            fix=answer.fix
            or "check the host and the port: proxyctl connects from this machine as"
            " mysql-monitor_username",
        )
    component = answer.status.get("wsrep_cluster_status", PRIMARY)
    if component != PRIMARY:
        # It lists only the members of its own component, while the cluster runs without them.
        raise InstanceError(
            f"{seed}: the node is not in the primary component ({component})",
            fix="choose another node as --seed",
        )
    nodes, silent = listed_members([], answer)
    if not nodes and not silent:
        raise InstanceError(f"{seed}: wsrep_incoming_addresses does not list any cluster members")
    answers: dict[Node, NodeAnswer] = {}
    while unasked := nodes - answers.keys():
        if len(nodes) > _MOST_MEMBERS:
            raise InstanceError(
                f"{seed}: wsrep_incoming_addresses lists {len(nodes):,} members, more than any"
                " cluster has"
            )
        answers |= ask_nodes(sorted(unasked), account)
        nodes, silent = listed_members(answers.values(), answer)
    if silent:
        raise InstanceError(
            f"{seed}: {counted(silent, 'member')} of the cluster"
            f" {'does not report its' if silent == 1 else 'do not report their'} address",
            fix="set wsrep_node_incoming_address on those nodes",
        )
    members = {node: answers[node] for node in sorted(nodes)}
    return answer.variables.get("wsrep_cluster_name", ""), members


def nodes_by_family(
    layout: Layout, servers: Mapping[Key, DesiredRow], topology: Topology
) -> dict[Family, tuple[Node, ...]]:
    """Return the configured nodes of each Galera family."""
    read = server_reader(layout)
    return {
        family: tuple(
            dict.fromkeys(
                server.node
                for server in map(read, servers.values())
                if server.hostgroup in family.hostgroups
            )
        )
        for family in topology.families
        if family.is_galera
    }


def configured_nodes(client: AdminClient, parsed: ConfigFiles) -> dict[Family, tuple[Node, ...]]:
    """Return the nodes of each Galera family in the files, also of families that are not active."""
    tables = parsed.project(
        client.version, takes_dead_rules=True, needs_secrets=False
    ).desired.tables
    servers, galera = tables.get("mysql_servers"), tables.get("mysql_galera_hostgroups")
    if servers is None or galera is None:
        return {}
    layouts = {"mysql_galera_hostgroups": galera.layout}
    rows = cast("Rows", galera.rows).values()
    switched_on = [replace_cells(galera.layout, row, active=1) for row in rows]
    topology = Topology.of(layouts, {"mysql_galera_hostgroups": switched_on}, MonitorSettings())
    return nodes_by_family(servers.layout, servers.rows, topology)


def compared(
    cluster: str,
    members: Mapping[Node, NodeAnswer],
    configured: Mapping[Family, Collection[Node]],
    addresses_of: Callable[[Collection[str]], Mapping[str, Collection[str]]],
) -> ClusterComparison:
    """Compare the cluster with the family that shares the most nodes, or with the only family.

    `addresses_of` resolves hosts, since the cluster may list addresses while the files name hosts.
    It is called once, with the hosts that only one side has.
    """
    unresolved: set[str] = set()
    for nodes in configured.values():
        unlisted, unmatched = members.keys() - {*nodes}, {*nodes} - members.keys()
        if unlisted and unmatched:
            unresolved |= {str(host) for host, _ in unlisted | unmatched}
    addresses = addresses_of(unresolved)
    shared = {family: _pairs(members, nodes, addresses) for family, nodes in configured.items()}
    family = max(shared, key=lambda candidate: len(shared[candidate]), default=None)
    if family is None or (not shared[family] and len(shared) > 1):
        return ClusterComparison(cluster, members)
    pairs = shared[family]
    return ClusterComparison(
        cluster,
        members,
        (family.writer, *sorted(family.hostgroups - {family.writer}, key=lambda h: int(h or 0))),
        tuple(member for member in members if member not in pairs),
        tuple(node for node in configured[family] if node not in pairs.values()),
    )


def _pairs(
    members: Iterable[Node], nodes: Collection[Node], addresses: Mapping[str, Collection[str]]
) -> dict[Node, Node]:
    """Return the members that are configured, with their configured nodes."""
    pairs = {member: member for member in members if member in nodes}
    unmatched = [node for node in nodes if node not in pairs]

    def names(node: Node) -> set[str]:
        host = str(node[0])
        return {host, *addresses.get(host, ())}

    for member in members:
        if member in pairs:
            continue
        member_names = names(member)
        for node in unmatched:
            if node[1] == member[1] and names(node) & member_names and node not in pairs.values():
                pairs[member] = node
                break
    return pairs


_HOSTGROUPS = {"writer": 10, "backup_writer": 20, "reader": 30, "offline": 40}


def pxc_section(cluster: str, nodes: Iterable[Node]) -> str:
    """Return a configuration file with the cluster; its hostgroups are a proposal."""
    name = re.sub(r"[^0-9A-Za-z_-]", "_", cluster) or "main"
    lines = ["version: 1", "hostgroups:"]
    lines += [f"  {role}: {{id: {number}}}" for role, number in _HOSTGROUPS.items()]
    lines += ["pxc_clusters:", f"  - name: {quoted(name)}"]
    lines += [f"    {role}_hostgroup: {role}" for role in _HOSTGROUPS]
    lines += ["    max_writers: 1", "    writer_is_also_reader: 2", "    nodes:"]
    for host, port in nodes:
        port_text = f", port: {port}" if port != 3306 else ""
        lines.append(f"      - {{hostname: {quoted(str(host))}{port_text}}}")
    return "\n".join(lines) + "\n"
