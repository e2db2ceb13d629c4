"""Members as a cluster reports them, and nodes that the files lack or have in excess."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from proxyctl.instance.backend import NodeAnswer
from proxyctl.nodes.discover import ClusterComparison, compared, members_in, pxc_section
from proxyctl.proxysql.topology import Family, Node
from proxyctl.render.nodes import membership_text

MAIN = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)
OTHER = Family("galera", 50, frozenset({50, 60, 70, 80}), offline=80)
HOSTS = {"pxc1": "10.0.0.1", "pxc2": "10.0.0.2"}


def node(host: str) -> Node:
    return (host, 3306)


def addresses(hosts: Collection[str]) -> dict[str, frozenset[str]]:
    return {host: frozenset({host, HOSTS.get(host, host)}) for host in hosts}


def found(members: list[str], **configured: list[str]) -> ClusterComparison:
    families = {"main": MAIN, "other": OTHER}
    return compared(
        "shop",
        {node(host): NodeAnswer(version="8.0.36") for host in members},
        {families[name]: [node(host) for host in hosts] for name, hosts in configured.items()},
        addresses,
    )


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("10.0.0.1:3306,10.0.0.2:3307", [("10.0.0.1", 3306), ("10.0.0.2", 3307)]),
        ("pxc1, pxc2:3306", [("pxc1", 3306), ("pxc2", 3306)]),
        ("[fd00::1]:3306", [("fd00::1", 3306)]),
        (",10.0.0.1:3306", [("10.0.0.1", 3306)]),
        ("unspecified,AUTO:3306", []),
        ("", []),
    ],
)
def test_members_are_read_as_nodes_write_them(text: str, nodes: list[Node]) -> None:
    assert list(members_in(text)) == nodes


def test_an_ipv6_address_needs_no_brackets_without_a_port() -> None:
    assert members_in("::1") == members_in("[::1]:3306") == members_in("[::1]") == (("::1", 3306),)
    assert members_in("[fd00::2]:3307") == (("fd00::2", 3307),)


def test_of_several_clusters_the_one_that_shares_a_node_is_compared() -> None:
    one = found(["n8", "n9"], main=["n1"], other=["n8"])
    assert one.hostgroups[0] == 50
    assert one.missing == (node("n9"),)
    none = found(["n9"], main=["n1"], other=["n8"])
    assert none.hostgroups == ()
    assert "no Galera hostgroups with a node of this cluster" in membership_text(none)


def test_a_section_starts_files() -> None:
    assert pxc_section("my shop", [node("10.0.0.1"), ("10.0.0.2", 3307)]) == (
        "version: 1\n"
        "hostgroups:\n"
        "  writer: {id: 10}\n"
        "  backup_writer: {id: 20}\n"
        "  reader: {id: 30}\n"
        "  offline: {id: 40}\n"
        "pxc_clusters:\n"
        "  - name: my_shop\n"
        "    writer_hostgroup: writer\n"
        "    backup_writer_hostgroup: backup_writer\n"
        "    reader_hostgroup: reader\n"
        "    offline_hostgroup: offline\n"
        "    max_writers: 1\n"
        "    writer_is_also_reader: 2\n"
        "    nodes:\n"
        "      - {hostname: 10.0.0.1}\n"
        "      - {hostname: 10.0.0.2, port: 3307}\n"
    )
