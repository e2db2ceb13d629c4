"""What an instance knows of its own past: who holds its lock, when its modules were loaded."""

from __future__ import annotations

from dataclasses import replace

from proxyctl.admin.client import AdminClient
from proxyctl.admin.cluster import read_cluster_variables, read_own_checksums
from proxyctl.admin.lock import read_holder
from proxyctl.cluster.checksums import MODULES, configured
from proxyctl.cluster.membership import is_off, lacks_account
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
    pulled = _pulled(client) if members else frozenset()
    evidence = Evidence(pulled=pulled, loads=_loads(client, members))
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
        " WHERE version>0 ORDER BY hostname, port",
        width=4,
    )
    found: _Members = {}
    for name, checksum, hostname, port in rows:
        key = (str(name), str(checksum))
        found[key] = (*found.get(key, ()), f"{hostname}:{port}")
    return found


def _pulled(client: AdminClient) -> frozenset[str]:
    """Return the admin modules that the instance takes over from peers."""
    variables = read_cluster_variables(client)
    if lacks_account(variables):
        return frozenset()
    names = configured(read_own_checksums(client))
    return frozenset(module for module, name in names.items() if not is_off(name, variables))


def _loads(client: AdminClient, members: _Members) -> dict[str, LastLoad]:
    rows = client.query(
        "SELECT name, version, epoch, checksum FROM runtime_checksums_values WHERE version>0",
        width=4,
    )
    return {
        MODULES[name]: LastLoad(
            client.moment(epoch), version == "1", members.get((name, str(checksum)), ())
        )
        for name, version, epoch, checksum in rows
        if name in MODULES and name != _PLACED
    }
