"""Reads who sends queries where at RUNTIME, and the servers that are there to take them.

`protocol` is `mysql` or, since ProxySQL 3.0, `pgsql`, whose tables have the same columns.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import NamedTuple

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lethal_numbers import refuse_lethal_numbers
from proxyctl.admin.pings import read_pings_ms
from proxyctl.doctor.facts import Rule, Server, Side, User
from proxyctl.families import Node
from proxyctl.state import Key


def read_servers(client: AdminClient, protocol: str = "mysql") -> tuple[Server, ...]:
    """Return the servers at RUNTIME, without OFFLINE_HARD. Raises: InstanceError."""
    refuse_lethal_numbers(client, f"{protocol.upper()} SERVERS")
    number = client.number
    return tuple(
        Server(
            number(hostgroup),
            str(host),
            number(port),
            str(status).upper(),
            number(weight),
            number(limit),
            use_ssl == "1",
            number(latency),
        )
        for hostgroup, host, port, status, weight, limit, use_ssl, latency in client.query(
            "SELECT hostgroup_id, hostname, port, status, weight, max_connections, use_ssl,"
            f" max_latency_ms FROM runtime_{protocol}_servers WHERE status<>'OFFLINE_HARD'",
            width=8,
        )
    )


def with_latencies(
    client: AdminClient, servers: tuple[Server, ...], default_ms: int
) -> tuple[Server, ...]:
    """Return MySQL servers with `too_slow_ms` and `may_take_no_time`.

    `default_ms` is the most for those that have no max_latency_ms. 0 leaves them no time at all,
    whether they were pinged or not. Source: ProxySQL 2.7.1, run. Raises: InstanceError.
    """
    pings_ms = read_pings_ms(client)

    def judged(one: Server) -> Server:
        most = one.max_latency_ms or default_ms
        if most <= 0:
            return one._replace(may_take_no_time=True)
        found = pings_ms.get((one.hostgroup, one.hostname, one.port), 0)
        return one._replace(too_slow_ms=found) if most <= found else one

    return tuple(map(judged, servers))


def read_failing(client: AdminClient) -> frozenset[Key]:
    """Return the servers that lag, or that no connection for clients could be opened to.

    By hostgroup, host and port. The latter since ProxySQL began to count. Raises: InstanceError.
    """
    rows = client.query(
        "SELECT hostgroup, srv_host, srv_port FROM stats_mysql_connection_pool"
        " WHERE status='SHUNNED_REPLICATION_LAG' OR ConnERR>0",
        width=3,
    )
    number = client.number
    return frozenset((number(hostgroup), str(host), number(port)) for hostgroup, host, port in rows)


def read_users(client: AdminClient, protocol: str = "mysql") -> tuple[User, ...]:
    """Return the users that clients log in as. Raises: InstanceError."""
    rows = client.query(
        "SELECT username, default_hostgroup, use_ssl, fast_forward"
        f" FROM runtime_{protocol}_users WHERE frontend=1",
        width=4,
    )
    return tuple(
        User(str(name), client.number(group), ssl == "1", fast == "1")
        for name, group, ssl, fast in rows
    )


def read_fast_routing(client: AdminClient, protocol: str = "mysql") -> dict[int, int]:
    """Return how many rows of fast routing send to a hostgroup. Raises: InstanceError."""
    refuse_lethal_numbers(client, f"{protocol.upper()} QUERY RULES")
    rows = client.query(
        "SELECT destination_hostgroup, count(*)"
        f" FROM runtime_{protocol}_query_rules_fast_routing"
        " GROUP BY destination_hostgroup",
        width=2,
    )
    return {client.number(hostgroup): client.number(count) for hostgroup, count in rows}


class FastRows(NamedTuple):
    """Rows of fast routing that are alike. `username` empty: of everybody."""

    destination: int
    username: str
    flag: int
    rows: int


def read_fast_routing_to(client: AdminClient, hostgroups: Collection[int]) -> list[FastRows]:
    """Return the rows of fast routing that send to these hostgroups. Raises: InstanceError."""
    rows = client.query(
        "SELECT destination_hostgroup, username, flagIN, count(*)"
        " FROM runtime_mysql_query_rules_fast_routing"
        f" WHERE destination_hostgroup IN ({', '.join(map(str, hostgroups))})"
        " GROUP BY destination_hostgroup, username, flagIN",
        width=4,
    )
    number = client.number
    return [
        FastRows(number(hostgroup), name or "", number(flag), number(count))
        for hostgroup, name, flag, count in rows
    ]


def read_side(client: AdminClient, protocol: str, rules: tuple[Rule, ...]) -> Side:
    """Return all of that for one protocol, with these rules. Raises: InstanceError."""
    return Side(
        protocol,
        read_servers(client, protocol),
        rules,
        read_users(client, protocol),
        read_fast_routing(client, protocol),
    )


_SINCE = (2, 0, 4)
"""The first ProxySQL that describes its unused connections."""

_MOST_CONNECTIONS = 5_000


def read_pooled_versions(client: AdminClient, nodes: Collection[Node]) -> dict[Node, str]:
    """Return the versions that open, unused connections to these servers were told.

    Empty where there are very many of them: ProxySQL describes each. Raises: InstanceError.
    """
    if not nodes or client.version < _SINCE:
        return {}
    counts = client.query("SELECT ConnFree FROM stats_mysql_connection_pool", width=1)
    if sum(client.number(count) for (count,) in counts) > _MOST_CONNECTIONS:
        return {}
    rows = client.query(
        "SELECT srv_host, srv_port, mysql_info FROM stats_mysql_free_connections", width=3
    )
    found: dict[Node, str] = {}
    for host, port, info in rows:
        node = (str(host), client.number(port))
        if node in nodes and node not in found and (text := _server_version(info or "")):
            found[node] = text
    return found


def _server_version(info: str) -> str:
    """Return the version in what ProxySQL writes about a connection; empty where it is not."""
    try:
        parsed = json.loads(info)
    except ValueError:
        return ""
    text = parsed.get("server_version") if isinstance(parsed, dict) else None
    return text if isinstance(text, str) else ""
