"""Reads the members of a ProxySQL Cluster, and what this instance has seen of them.

A member may be asked itself, with a connection of its own: what it says then counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lethal_numbers import refuse_lethal_numbers
from proxyctl.cluster.checksums import Checksum, PeerChecksum
from proxyctl.cluster.membership import Member, Membership
from proxyctl.families import Node


def read_peers(client: AdminClient) -> tuple[Node, ...]:
    """Return the members that RUNTIME lists. Raises: InstanceError."""
    refuse_lethal_numbers(client, "PROXYSQL SERVERS")
    rows = client.query(
        "SELECT hostname, port FROM runtime_proxysql_servers ORDER BY hostname, port"
    )
    return tuple((str(host), client.number(port)) for host, port in rows)


def read_own_checksums(client: AdminClient) -> dict[str, Checksum]:
    """Return the checksums of this instance, by name. Raises: InstanceError."""
    rows = client.query("SELECT name, version, epoch, checksum FROM runtime_checksums_values")
    return {
        str(name): Checksum(client.number(version), client.number(epoch), str(checksum))
        for name, version, epoch, checksum in rows
    }


def read_peer_checksums(client: AdminClient) -> tuple[PeerChecksum, ...]:
    """Return what was last seen of each module at each peer. Raises: InstanceError."""
    number = client.number
    rows = client.query(
        "SELECT hostname, port, name, version, epoch, checksum, updated_at"
        " FROM stats_proxysql_servers_checksums ORDER BY hostname, port, name",
    )
    return tuple(
        PeerChecksum(
            (str(host), number(port)),
            str(name),
            Checksum(number(version), client.number(epoch), checksum or ""),
            number(seen_at),
        )
        for host, port, name, version, epoch, checksum, seen_at in rows
    )


def read_clock(client: AdminClient) -> float:
    """Return the time of the instance's clock. Units: unix seconds. Raises: InstanceError."""
    rows = client.query("SELECT CAST((julianday('now')-2440587.5)*86400000 AS INT)")
    return client.number(rows[0][0]) / 1000


def read_cluster_variables(client: AdminClient) -> dict[str, str]:
    """Return the variables of the cluster, and of checksums, at RUNTIME. Raises: InstanceError."""
    rows = client.query(
        "SELECT variable_name, variable_value FROM runtime_global_variables"
        " WHERE variable_name LIKE 'admin-cluster_%' OR variable_name LIKE 'admin-checksum_%'",
    )
    return {str(name): value or "" for name, value in rows}


def read_member(node: Node, client: AdminClient) -> Member:
    """Return what a member says of itself. Raises: InstanceError."""
    return Member(
        node,
        read_own_checksums(client),
        None,
        client.version_text,
        read_cluster_variables(client),
        read_peers(client),
    )


def _as_seen(member: Member, seen: Collection[PeerChecksum]) -> Member:
    """Return a member that was not asked, with what the instance has seen of it."""
    return replace(
        member,
        checksums={one.name: one.seen for one in seen},
        seen_at={one.name: one.seen_at for one in seen},
    )


def read_membership(
    client: AdminClient,
    asked: Mapping[Node, Member] | None = None,
    *,
    itself: Node | None = None,
    again: Collection[Node] = (),
) -> Membership:
    """Return the members that an instance lists, as it has seen them, or as they say themselves.

    `asked`: those that were asked, or why they could not be. `itself`: the one that is the
    instance. `again`: further addresses of members that are listed by another one, to be left out.
    Raises: InstanceError.
    """
    listed = read_peers(client)
    if not listed:
        return Membership()
    seen: dict[Node, list[PeerChecksum]] = {node: [] for node in listed}
    for one in read_peer_checksums(client):
        if one.peer in seen:
            seen[one.peer].append(one)
    members = []
    for node in listed:
        known = (asked or {}).get(node, Member(node))
        members.append(known if known.was_asked else _as_seen(known, seen[node]))
    return Membership(
        listed,
        read_own_checksums(client),
        read_cluster_variables(client),
        tuple(one for one in members if one.node != itself and one.node not in again),
        client.version_text,
        read_clock(client),
        itself,
    )
