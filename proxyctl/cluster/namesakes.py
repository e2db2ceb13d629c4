"""Which addresses mean the same member where their hosts are spelled differently. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

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
