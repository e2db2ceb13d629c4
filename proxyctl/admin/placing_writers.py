"""Asks an instance whether its monitor has chosen who writes."""

from __future__ import annotations

from collections.abc import Sequence

from proxyctl.admin.client import AdminClient
from proxyctl.admin.runtime_facts import read_facts
from proxyctl.catalog import Value
from proxyctl.cluster.writers import has_too_many
from proxyctl.families import Family


def is_placing(client: AdminClient, families: Sequence[Family]) -> bool:
    """Return whether a monitor that is on has yet to choose the writers of one of these.

    Raises: InstanceError.
    """
    return (
        bool(families)
        and has_too_many(families, _usable_by_hostgroup(client))
        and read_facts(client).monitor_enabled
    )


def _usable_by_hostgroup(client: AdminClient) -> dict[Value, int]:
    """Return how many servers of a hostgroup are ONLINE at RUNTIME with a limit above 0."""
    rows = client.query(
        "SELECT hostgroup_id, count(*) FROM runtime_mysql_servers"
        " WHERE status='ONLINE' AND max_connections<>0 GROUP BY hostgroup_id",
    )
    return {client.number(hostgroup): client.number(count) for hostgroup, count in rows}
