"""Read variables, destinations and server connections at RUNTIME."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.catalog import Layout, Value
from proxyctl.catalog.destinations import DESTINATIONS
from proxyctl.catalog.variables import READ_ONLY_SWITCH
from proxyctl.instance.client import AdminClient
from proxyctl.instance.lethal import reject_rows_that_crash_proxysql
from proxyctl.proxysql.topology import MONITOR_VARIABLES, MonitorSettings
from proxyctl.rows.row import Key
from proxyctl.rows.sql import literal


@dataclass(frozen=True)
class RuntimeFacts:
    """Variables at RUNTIME that a plan depends on."""

    monitor: MonitorSettings
    """The variables that decide which nodes a monitor places."""
    regex_engine: int
    """The value of mysql-query_processor_regex: 1 is PCRE, 2 is RE2."""
    admin_names: frozenset[str]
    """The accounts of the admin interface."""
    is_cluster_member: bool
    """Whether the instance copies what is loaded at other members of a ProxySQL Cluster."""
    is_read_only: bool
    """Whether the admin interface refuses changes (admin-read_only)."""


CREDENTIALS = ("admin-admin_credentials", "admin-stats_credentials")
"""The variables with the accounts of the admin interface."""


_FACTS = (
    *MONITOR_VARIABLES,
    "mysql-query_processor_regex",
    *CREDENTIALS,
    READ_ONLY_SWITCH,
)


def read_variables(client: AdminClient, *patterns: str) -> dict[str, str]:
    """Return the variables at RUNTIME whose names are LIKE a pattern; all if there is no pattern.

    Raises: InstanceError.
    """
    like = " OR ".join(f"variable_name LIKE {literal(pattern)}" for pattern in patterns) or "1"
    rows = client.query(
        f"SELECT variable_name, variable_value FROM runtime_global_variables WHERE {like}"
    )
    return {str(name): value or "" for name, value in rows}


def read_facts(client: AdminClient) -> RuntimeFacts:
    """Return the facts of RUNTIME about monitor, regex engine, administrators and cluster."""
    values = read_variables(client, *_FACTS)
    reject_rows_that_crash_proxysql(client, "PROXYSQL SERVERS")
    peers = client.query("SELECT count(*) FROM runtime_proxysql_servers")
    logins = ";".join(values.get(name, "") for name in CREDENTIALS)
    return RuntimeFacts(
        monitor=MonitorSettings.of(values),
        regex_engine=client.number(values.get("mysql-query_processor_regex") or "1"),
        admin_names=frozenset(login.split(":", 1)[0] for login in logins.split(";") if login),
        is_cluster_member=peers != [("0",)],
        is_read_only=values.get(READ_ONLY_SWITCH) == "true",
    )


def used_hostgroups(
    client: AdminClient, layouts: Mapping[str, Layout]
) -> dict[str, frozenset[Value]]:
    """Return the hostgroups that RUNTIME sends traffic to, by the table that names them."""
    tables = [table for table in DESTINATIONS if table in layouts]
    reject_rows_that_crash_proxysql(client, "MYSQL QUERY RULES")
    parts = [
        f"SELECT DISTINCT {literal(table)}, {DESTINATIONS[table]} FROM runtime_{table}"
        f" WHERE {DESTINATIONS[table]} IS NOT NULL"
        for table in tables
    ]
    by_table: dict[str, set[Value]] = {table: set() for table in tables}
    for name, hostgroup in client.query(" UNION ".join(parts)):
        if hostgroup:
            by_table[str(name)].add(client.number(hostgroup))
    return {table: frozenset(hostgroups) for table, hostgroups in by_table.items()}


def read_uptime(client: AdminClient) -> int | None:
    """Return the seconds since ProxySQL started; None if not reported. Raises: InstanceError."""
    rows = client.query(
        "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name='ProxySQL_Uptime'"
    )
    return client.number(rows[0][0]) if rows else None


class PoolServer(NamedTuple):
    """A row of stats_mysql_connection_pool or stats_pgsql_connection_pool."""

    hostgroup: int
    """The hostgroup of the server."""
    host: str
    """The column srv_host."""
    port: int
    """The column srv_port."""
    status: str
    """The status at RUNTIME."""
    used: int
    """The connections in use."""
    free: int
    """The open connections that are not in use."""
    errors: int
    """The connections that failed since the start of ProxySQL."""
    queries: int
    """The queries since the start of ProxySQL."""
    latency_us: int
    """The round trip of the monitor's last ping; 0 without a ping. Units: microseconds."""

    @property
    def key(self) -> Key:
        """The key of the server in its table."""
        return (self.hostgroup, self.host, self.port)


def read_pool(client: AdminClient, servers: str = "mysql_servers") -> list[PoolServer]:
    """Return the connection pool: one row per server of a hostgroup. Raises: InstanceError."""
    protocol = servers.partition("_")[0]
    rows = client.query(
        "SELECT hostgroup, srv_host, srv_port, status, ConnUsed, ConnFree, ConnERR, Queries,"
        f" Latency_us FROM stats_{protocol}_connection_pool",
    )
    number = client.number
    return [
        PoolServer(number(hostgroup), str(host), number(port), str(status), *map(number, counters))
        for hostgroup, host, port, status, *counters in rows
    ]


def shunned_servers(pool: Sequence[PoolServer]) -> list[PoolServer]:
    """Return the SHUNNED servers of a pool whose node is ONLINE in none of its hostgroups.

    A node that waits to become the Galera writer is SHUNNED there, and ONLINE in another hostgroup.
    The status of a server that lags is SHUNNED_REPLICATION_LAG.
    """
    online = {(server.host, server.port) for server in pool if server.status == "ONLINE"}
    shunned = (server for server in pool if server.status.startswith("SHUNNED"))
    return [server for server in shunned if (server.host, server.port) not in online]


def used_connections(client: AdminClient, servers: str = "mysql_servers") -> dict[Key, int]:
    """Return the connections in use by server. Shape: keyed like `servers`; only above 0."""
    return {server.key: server.used for server in read_pool(client, servers) if server.used}
