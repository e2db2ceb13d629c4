"""Which member an address in the files means."""

from __future__ import annotations

from collections.abc import Collection

from proxyctl.cluster.namesakes import namesakes

ADDRESSES = {"px1": {"10.0.0.1"}, "px2": {"10.0.0.2", "fd00::2"}, "any": {"10.0.0.1", "10.0.0.2"}}
LISTED = (("10.0.0.1", 6032), ("10.0.0.2", 6032), ("px2", 6033))


def addresses_of(hosts: Collection[str]) -> dict[str, frozenset[str]]:
    return {host: frozenset({host} | ADDRESSES.get(host, set())) for host in hosts}


def nobody_is_looked_up(hosts: Collection[str]) -> dict[str, frozenset[str]]:
    raise AssertionError(hosts)


def test_the_same_host_and_port_goes_first() -> None:
    nodes = [("10.0.0.2", 6032), ("px2", 6033)]
    assert namesakes(nodes, LISTED, nobody_is_looked_up) == {node: node for node in nodes}


def test_another_name_of_the_host_is_found_by_its_address() -> None:
    found = namesakes([("px1", 6032), ("fd00::2", 6033)], LISTED, addresses_of)
    assert found == {("px1", 6032): LISTED[0], ("fd00::2", 6033): LISTED[2]}


def test_what_may_be_several_or_has_another_port_is_none() -> None:
    assert namesakes([("any", 6032), ("px3", 6032)], LISTED, addresses_of) == {}
    assert namesakes([("px1", 6034)], LISTED, nobody_is_looked_up) == {}
