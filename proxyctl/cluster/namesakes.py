"""Which addresses mean the same member where their hosts are spelled differently. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from proxyctl.families import Node

AddressesOf = Callable[[Collection[str]], Mapping[str, frozenset[str]]]
"""Gives the addresses of hosts, and the names themselves."""


def namesakes(
    nodes: Collection[Node], others: Collection[Node], addresses_of: AddressesOf
) -> dict[Node, Node]:
    """Return which of the others each node is; one that is none of them, or may be several, is not.

    It is the one with its host and port, or the one with its port and an address of its host. No
    name is looked up where nothing depends on it.
    """
    found = {node: node for node in nodes if node in others}
    ports = {port for _, port in others}
    unlike = [node for node in nodes if node not in found and node[1] in ports]
    if not unlike:
        return found
    ports = {port for _, port in unlike}
    near = [one for one in others if one[1] in ports]
    addresses = addresses_of({str(host) for host, _ in (*unlike, *near)})
    for node in unlike:
        alike = [
            one
            for one in near
            if one[1] == node[1] and addresses[str(one[0])] & addresses[str(node[0])]
        ]
        if len(alike) == 1:
            found[node] = alike[0]
    return found


def in_one_spelling(
    listed: Sequence[Collection[str]], addresses_of: AddressesOf
) -> list[list[str]]:
    """Return lists of members, as host:port, in which each member has the same name everywhere.

    Two names mean one member where their ports agree and their hosts have an address in common. No
    name is looked up that stands in all lists where its port does.
    """
    distinct = {frozenset(names) for names in listed}
    lists_with_port = Counter(port for names in distinct for port in {*map(_port, names)})
    lists_with_name = Counter(name for names in distinct for name in names)
    unlike = sorted(n for n, count in lists_with_name.items() if count < lists_with_port[_port(n)])
    addresses = addresses_of({_host(name) for name in unlike}) if unlike else {}
    spelled: dict[str, str] = {}
    for name in unlike:
        alike = (
            one
            for one in spelled.values()
            if _port(one) == _port(name) and addresses[_host(one)] & addresses[_host(name)]
        )
        spelled[name] = next(alike, name)
    return [[spelled.get(name, name) for name in names] for names in listed]


def _host(name: str) -> str:
    return name.rpartition(":")[0]


def _port(name: str) -> str:
    return name.rpartition(":")[2]
