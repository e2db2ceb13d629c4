"""What the doctor says of members of a replication group that are out of service."""

from __future__ import annotations

from tests.real.test_doctor_kept_out_real import kept_out
from tests.real.test_draining_groups_real import (
    READER,
    WRITER,
    behind_group,
    drained,
    group,
    places,
    pytestmark,
)
from tests.real.test_draining_real import until
from tests.support.galera_nodes import GaleraCluster
from tests.support.group_nodes import GroupNode
from tests.support.servers import ProxySQL

__all__ = ["behind_group", "group", "pytestmark"]


def node(cluster: GaleraCluster, host: str) -> GroupNode:
    found = cluster.nodes[host]
    assert isinstance(found, GroupNode)
    return found


def test_a_member_that_is_no_viable_candidate_is_said_with_the_reason(
    behind_group: ProxySQL, group: GaleraCluster
) -> None:
    assert kept_out(behind_group) == []
    node(group, READER).is_viable = False
    until(lambda: places(behind_group, READER) == {(40, "ONLINE")})
    assert kept_out(behind_group) == [
        f"{READER}:{group.port}: the monitor keeps it in the offline hostgroup 40: viable_candidate"
        " NO, as of a member that is not ONLINE in its group or has lost the majority"
    ]
    node(group, READER).is_viable = True
    until(lambda: places(behind_group, READER) == {(30, "ONLINE")})
    assert kept_out(behind_group) == []


def test_the_primary_that_is_no_viable_candidate(
    behind_group: ProxySQL, group: GaleraCluster
) -> None:
    node(group, WRITER).is_viable = False
    until(lambda: places(behind_group, WRITER) == {(40, "ONLINE")})
    (said,) = kept_out(behind_group)
    assert said.startswith(f"{WRITER}:{group.port}: the monitor keeps it in the offline hostgroup")


def test_a_drained_member_is_no_surprise(behind_group: ProxySQL, group: GaleraCluster) -> None:
    drained(behind_group, READER)
    node(group, READER).is_viable = False
    until(lambda: places(behind_group, READER) == {(40, "OFFLINE_SOFT")})
    assert kept_out(behind_group) == []


def test_a_member_that_is_shunned_since_it_is_behind(
    behind_group: ProxySQL, group: GaleraCluster
) -> None:
    for sql in (
        "UPDATE mysql_group_replication_hostgroups SET max_transactions_behind=10",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ):
        behind_group.instance.execute(sql)
    node(group, READER).transactions_behind = 500
    until(lambda: places(behind_group, READER) == {(30, "SHUNNED")})
    assert kept_out(behind_group) == []
    assert kept_out(behind_group, "server-shunned") == [
        f"{READER}:{group.port}: it takes no queries: SHUNNED in hostgroup 30; it was 500"
        " transactions behind at its last check"
    ]
