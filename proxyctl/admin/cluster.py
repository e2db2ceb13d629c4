"""Reads the members of a ProxySQL Cluster, and what this instance has seen of them."""

from __future__ import annotations

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lethal_numbers import refuse_lethal_numbers
from proxyctl.cluster.checksums import Checksum, PeerChecksum
from proxyctl.families import Node


def read_peers(client: AdminClient) -> tuple[Node, ...]:
    """Return the members that RUNTIME lists. Raises: InstanceError."""
    refuse_lethal_numbers(client, "PROXYSQL SERVERS")
    rows = client.query(
        "SELECT hostname, port FROM runtime_proxysql_servers ORDER BY hostname, port", width=2
    )
    return tuple((str(host), client.number(port)) for host, port in rows)


def read_own_checksums(client: AdminClient) -> dict[str, Checksum]:
    """Return the checksums of this instance, by name. Raises: InstanceError."""
    rows = client.query(
        "SELECT name, version, epoch, checksum FROM runtime_checksums_values", width=4
    )
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
        width=7,
    )
    return tuple(
        PeerChecksum(
            (str(host), number(port)),
            str(name),
            Checksum(number(version), number(epoch), checksum or ""),
            number(seen_at),
        )
        for host, port, name, version, epoch, checksum, seen_at in rows
    )
