"""A member of a ProxySQL Cluster that pulled its servers from a peer, placement included."""

from __future__ import annotations

import pytest

from tests.real.galera_rig import apply, files, limits, plan
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.servers.galera_family import FILES, HOSTS
from tests.support.servers.galera_nodes import GaleraCluster
from tests.support.servers.instances import ProxySQL
from tests.support.servers.placement_samples import online, placement, settle
from tests.support.waiting import until

pytestmark = pytest.mark.real


def on_disk(node: ProxySQL, what: str, table: str) -> set[str | None]:
    return {row[0] for row in node.instance.query(f"SELECT {what} FROM disk.{table}")}


def has_copied(node: ProxySQL) -> bool:
    """Return whether the member has saved rules, and the servers as the monitor placed them."""
    limits = on_disk(node, "max_connections", "mysql_servers")
    return "77" in limits and bool(on_disk(node, "rule_id", "mysql_query_rules"))


def test_rows_that_a_peer_placed_are_no_difference(
    nodes: tuple[ProxySQL, ProxySQL], cluster: GaleraCluster
) -> None:
    first, second = nodes
    wanted = files(cluster, HOSTS)
    apply(first, wanted)
    settle(first.instance, HOSTS)
    # Otherwise its monitor could move nodes after the next LOAD, and the first would copy that.
    settle(second.instance, HOSTS)
    # A LOAD at the first node after the monitor has placed the nodes: the peer copies it.
    changed = files(cluster, HOSTS, **{HOSTS[0]: {"max_connections": 77}})
    apply(first, changed)
    until(lambda: has_copied(second))
    assert on_disk(second, "hostgroup_id", "mysql_servers") > {"10"}
    assert plan(second, changed).is_in_sync
    assert plan(first, changed).is_in_sync

    # What the peer sent was the state of a moment; the second monitor places the nodes anew.
    settle(second.instance, HOSTS)
    before = placement(second.instance)
    apply(second, files(cluster, HOSTS, **{HOSTS[0]: {"max_connections": 88}}))
    assert online(placement(second.instance)[10]) == online(before[10])
    assert plan(second, files(cluster, HOSTS, **{HOSTS[0]: {"max_connections": 88}})).is_in_sync


def test_a_node_that_the_other_member_drained_has_to_be_restored_there(
    nodes: tuple[ProxySQL, ProxySQL], cluster: GaleraCluster, offline: Project
) -> None:
    """The second member has pulled the drain into MEMORY and DISK."""
    first, second = nodes
    apply(first, files(cluster, HOSTS))
    settle(first.instance, HOSTS)
    offline.write(FILES.format(port=cluster.port))
    (node, *_) = online(placement(first.instance)[10])

    def at(member: ProxySQL, *arguments: str) -> Outcome:
        offline.connect(member.instance)
        return proxyctl(*arguments)

    done = at(first, "nodes", "drain", node)
    assert done.code == 0, done.text
    until(lambda: "0" in on_disk(second, "max_connections", "mysql_servers"))
    settle(second.instance, HOSTS)
    assert limits(second, node) == {("0", "0")}

    refused = at(second, "apply", "--auto-approve")
    assert refused.code == 3, refused.text
    assert f"{node}:{cluster.port} has weight 0 and max_connections 0 in all layers" in refused.err
    restored = at(second, "nodes", "restore", node)
    assert restored.code == 3, restored.text
    assert "on the ProxySQL Cluster member where it was drained" in restored.err

    assert at(first, "nodes", "restore", node).code == 0
    for member in nodes:
        until(lambda: limits(member, node) == {("1", "1000")})  # noqa: B023
    assert at(second, "plan", "--detailed-exitcode").code == 0
