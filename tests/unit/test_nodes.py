"""Nodes, combined from rows, checks and answers, and their text."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from proxyctl.instance.backend import NodeAnswer
from proxyctl.nodes.list import node_groups, with_answers
from proxyctl.nodes.model import Connections, MonitorCheck, NodeReport
from proxyctl.proxysql.topology import Family, Topology
from proxyctl.render.nodes import NODES, nodes_text
from tests.support.build import layout, servers

GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)


def report(memory: str, runtime: str, **by_host: NodeAnswer) -> NodeReport:
    groups = node_groups(
        layout("mysql_servers"),
        servers(memory),
        servers(runtime),
        Topology((GALERA,)),
        {(30, "n2", 3306): Connections(used=3, free=4), (20, "n2", 3306): Connections(used=1)},
        {
            ("n1", 3306): MonitorCheck(
                datetime(2026, 1, 1, tzinfo=UTC), wsrep={"wsrep_local_state": "4"}
            )
        },
    )
    answers = {(host, 3306): answer for host, answer in by_host.items()}
    return NodeReport("px1", "10.0.0.1:6032", "2.7.1", with_answers(groups, answers))


def test_rows_of_a_node_are_grouped_inside_a_family() -> None:
    found = report("10 n1, 10 n2, 100 n1", "20 n2, 10 n1, 30 n2, 100 n1")
    family, other = found.groups
    assert family.hostgroups == (10, 20, 30, 40)
    assert other.hostgroups == (100,)
    assert other.family is None
    second = family.nodes[1]
    assert [row.server.hostgroup for row in second.runtime] == [20, 30]
    assert second.connections == Connections(used=4, free=4)


def test_a_removed_server_is_gone_once_nothing_uses_it() -> None:
    found = report("", "10 n1 OFFLINE_HARD")
    assert found.groups == ()


def test_a_node_that_rejects_queries_is_marked() -> None:
    """The monitor keeps such a node out of service, though it is Synced."""
    answer = NodeAnswer(variables={"wsrep_reject_queries": "ALL"})
    assert "  rejects queries\n" in nodes_text(report("10 n1", "10 n1", n1=answer))
    answer = NodeAnswer(variables={"wsrep_reject_queries": "NONE"})
    assert "rejects queries" not in nodes_text(report("10 n1", "10 n1", n1=answer))


def test_unusual_states_are_shown() -> None:
    found = report(
        "10 n1, 10 n2, 10 n3",
        "10 n1, 10 n2 SHUNNED weight=0 max_connections=0, 20 n2 weight=0 max_connections=0, 30 n4",
        n2=NodeAnswer(
            version="8.0.36",
            status={"wsrep_local_state_comment": "Synced", "wsrep_cluster_status": "non-Primary"},
            variables={"read_only": "ON", "wsrep_provider_options": "gmcast.segment = 2;"},
        ),
        n3=NodeAnswer(unreachable="Can't connect \x1b[2J"),
    )
    assert nodes_text(found) == (
        "px1  10.0.0.1:6032  ProxySQL 2.7.1\n"
        "\n"
        "galera: hostgroups 10, 20, 30, 40\n"
        "  node     RUNTIME                weight  limit  used  free  says\n"
        "  n1:3306  ONLINE 10                   1   1000     0     0  monitor: Synced\n"
        "  n2:3306  ONLINE 20, SHUNNED 10       0      0     1     0  drained, Synced,"
        " non-Primary, read_only, segment 2, 8.0.36\n"
        "  n3:3306  not there                   1   1000     0     0  not reached from here:"
        " Can't connect \\x1b[2J\n"
        "  n4:3306  ONLINE 30                   1   1000     0     0  not configured\n"
    )


def test_a_mariadb_outside_galera_is_not_disconnected() -> None:
    """Without a provider it has a cluster status, and no state. Source: MariaDB 10.11, run."""
    answer = NodeAnswer(version="10.11", status={"wsrep_cluster_status": "Disconnected"})
    text = nodes_text(report("100 n1", "100 n1", n1=answer))
    assert "10.11" in text
    assert "Disconnected" not in text


def test_hostgroups_have_the_names_of_the_files() -> None:
    found = replace(report("100 n1", ""), hostgroup_names={100: "shard0"})
    assert "hostgroup 100 (shard0)\n" in nodes_text(found)
    assert '"name": "shard0"' in NODES.document(found)


def test_a_narrow_terminal_shows_the_report_of_a_node_below_it() -> None:
    found = report(
        "10 n1, 10 /run/mysqld.sock port=0",
        "10 n1, 10 /run/mysqld.sock port=0",
        n1=NodeAnswer(
            unreachable="Can't connect to MySQL server on 'n1' (Name or service not known)"
        ),
    )
    lines = nodes_text(found, width=70).splitlines()[3:]
    assert lines == [
        "  node              RUNTIME    weight  limit  used  free",
        "  /run/mysqld.sock  ONLINE 10       1   1000     0     0",
        "  n1:3306           ONLINE 10       1   1000     0     0",
        "      not reached from here: Can't connect to MySQL server on 'n1'",
        "      (Name or service not known), monitor: Synced",
    ]
    piped = nodes_text(found).splitlines()[3:]
    assert len(piped) == 3
    assert nodes_text(found, width=200).splitlines()[3:] == piped
