"""Reads the little that RUNTIME says beside its rows: switches, destinations, connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proxyctl.catalog import Layout, Value
from proxyctl.catalog.destinations import DESTINATIONS
from proxyctl.catalog.variables import READ_ONLY_SWITCH
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import refuse_lethal_numbers
from proxyctl.state.row import Key
from proxyctl.state.sql import literal


@dataclass(frozen=True)
class RuntimeFacts:
    """The variables at RUNTIME that decide how a plan has to read the rest, and who may act."""

    monitor_enabled: bool
    rds_discovery: bool
    regex_engine: int
    admin_names: frozenset[str]
    is_cluster_member: bool
    is_read_only: bool


_FACTS = (
    "mysql-monitor_enabled",
    "mysql-monitor_aws_rds_topology_discovery_interval",
    "mysql-query_processor_regex",
    "admin-admin_credentials",
    "admin-stats_credentials",
    READ_ONLY_SWITCH,
    "mysql-monitor_galera_healthcheck_interval",
)


def read_facts(client: AdminClient) -> RuntimeFacts:
    """Return what RUNTIME says about monitor, regex engine, administrators and cluster."""
    names = ",".join(map(literal, _FACTS))
    rows = client.query(
        "SELECT variable_name, variable_value FROM runtime_global_variables"
        f" WHERE variable_name IN ({names})",
    )
    values = {str(row[0]): row[1] for row in rows}
    refuse_lethal_numbers(client, "PROXYSQL SERVERS")
    peers = client.query("SELECT count(*) FROM runtime_proxysql_servers")
    lists = (values.get("admin-admin_credentials"), values.get("admin-stats_credentials"))
    return RuntimeFacts(
        monitor_enabled=values.get("mysql-monitor_enabled") == "true",
        rds_discovery=(values.get("mysql-monitor_aws_rds_topology_discovery_interval") or "0")
        != "0",
        regex_engine=client.number(values.get("mysql-query_processor_regex") or "1"),
        admin_names=frozenset(
            entry.split(":", 1)[0] for text in lists if text for entry in text.split(";") if entry
        ),
        is_cluster_member=peers != [("0",)],
        is_read_only=values.get(READ_ONLY_SWITCH) == "true",
    )


def used_hostgroups(
    client: AdminClient, layouts: Mapping[str, Layout]
) -> dict[str, frozenset[Value]]:
    """Return the hostgroups that RUNTIME sends traffic to, by table of DESTINATIONS."""
    tables = [table for table in DESTINATIONS if table in layouts]
    refuse_lethal_numbers(client, "MYSQL QUERY RULES")
    parts = [
        f"SELECT DISTINCT {literal(table)}, {DESTINATIONS[table]} FROM runtime_{table}"
        f" WHERE {DESTINATIONS[table]} IS NOT NULL"
        for table in tables
    ]
    found: dict[str, set[Value]] = {table: set() for table in tables}
    for name, hostgroup in client.query(" UNION ".join(parts)):
        if hostgroup:
            found[str(name)].add(client.number(hostgroup))
    return {table: frozenset(hostgroups) for table, hostgroups in found.items()}


def used_connections(client: AdminClient) -> dict[Key, int]:
    """Return the connections in use by server. Shape: keyed like mysql_servers; only above 0."""
    rows = client.query(
        "SELECT hostgroup, srv_host, srv_port, ConnUsed FROM stats_mysql_connection_pool"
        " WHERE ConnUsed>0",
    )
    return {
        (client.number(hostgroup), host, client.number(port)): client.number(count)
        for hostgroup, host, port, count in rows
    }
