"""Reads how long the monitor's last pings took, and which servers are too slow for ProxySQL."""

from __future__ import annotations

from collections.abc import Mapping

from proxyctl.admin.client import AdminClient
from proxyctl.state import Key


def read_pings_ms(client: AdminClient) -> dict[Key, float]:
    """Return how long the last ping took, by hostgroup, host and port; 0 where none was answered.

    Units: milliseconds. Raises: InstanceError.
    """
    rows = client.query(
        "SELECT hostgroup, srv_host, srv_port, Latency_us FROM stats_mysql_connection_pool",
    )
    return {
        (client.number(hostgroup), str(host), client.number(port)): client.number(latency) / 1000
        for hostgroup, host, port, latency in rows
    }


def read_most_latency_ms(client: AdminClient) -> int:
    """Return the most for servers without a max_latency_ms. Raises: InstanceError."""
    rows = client.query(
        "SELECT variable_value FROM runtime_global_variables"
        " WHERE variable_name='mysql-default_max_latency_ms'"
    )
    return client.number(rows[0][0]) if rows else 1000


def read_too_slow(client: AdminClient, limits: Mapping[Key, int]) -> frozenset[Key]:
    """Return the servers whose pings take too long, so that ProxySQL sends them nothing.

    `limits`: max_latency_ms by server. Where nothing is left to any ping it is so of all, pinged or
    not. Source: ProxySQL 2.5.5, 2.7.1 and 3.0.0, run. Raises: InstanceError.
    """
    default, pings = read_most_latency_ms(client), read_pings_ms(client)
    return frozenset(key for key, most in limits.items() if (most or default) <= pings.get(key, 0))
