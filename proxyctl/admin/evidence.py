"""What an instance knows of its own past: who holds its lock, when its modules were loaded."""

from __future__ import annotations

from dataclasses import replace

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import read_holder
from proxyctl.cluster.checksums import MODULES
from proxyctl.drift import Evidence, LastLoad
from proxyctl.plan import Plan

_PLACED = "mysql_servers"
"""Each move of the monitor counts in this checksum as a LOAD does."""


def read_evidence(client: AdminClient, plan: Plan) -> Evidence:
    """Return what the instance knows. Nothing is asked where nothing differs."""
    if plan.is_in_sync:
        return Evidence()
    holder = read_holder(client)
    members = _members(client)
    evidence = Evidence(is_cluster_member=bool(members), loads=_loads(client, members))
    if holder is None:
        return evidence
    is_dead = holder.is_dead()
    return replace(
        evidence,
        running="" if is_dead else holder.text(),
        dead=holder.text() if is_dead else "",
        modules=frozenset(holder.modules),
    )


_Members = dict[tuple[str, str], tuple[str, ...]]


def _members(client: AdminClient) -> _Members:
    """Return the members of the cluster by what they hold: name and value of a checksum."""
    rows = client.query(
        "SELECT name, checksum, hostname, port FROM stats_proxysql_servers_checksums"
        " WHERE version>0 ORDER BY hostname, port"
    )
    found: _Members = {}
    for name, checksum, hostname, port in rows:
        key = (str(name), str(checksum))
        found[key] = (*found.get(key, ()), f"{hostname}:{port}")
    return found


def _loads(client: AdminClient, members: _Members) -> dict[str, LastLoad]:
    rows = client.query(
        "SELECT name, version, epoch, checksum FROM runtime_checksums_values WHERE version>0"
    )
    return {
        MODULES[name]: LastLoad(
            int(epoch or 0), version == "1", members.get((name, str(checksum)), ())
        )
        for name, version, epoch, checksum in rows
        if name in MODULES and name != _PLACED
    }
