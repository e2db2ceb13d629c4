"""Reads how far the clocks of the members of a ProxySQL Cluster are apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from proxyctl.admin.client import AdminClient
from proxyctl.admin.cluster import read_clock
from proxyctl.admin.login import Login
from proxyctl.admin.members import Members, same_account
from proxyctl.errors import InstanceError
from proxyctl.families import Node

_TIMEOUT_S = 3


def read_peer_clocks(
    client: AdminClient, login_at: Callable[[Login, Node], Login] = same_account
) -> dict[Node, float]:
    """Return by how much the clock of each member that lets us in is ahead of the instance's.

    Sends SELECTs only. Units: seconds; below 0 it is behind. What the answers took is no
    difference. Raises: InstanceError.
    """

    def login_soon(node: Node) -> Login:
        return replace(login_at(client.login, node), connect_timeout_s=_TIMEOUT_S)

    members = Members(client, login_soon, lambda _text: None)
    found: dict[Node, float] = {}
    try:
        members.connect()
        members.wait_at_most(_TIMEOUT_S)
        for node, contact in members.contacts.items():
            before = read_clock(client)
            try:
                theirs = read_clock(contact)
            except InstanceError:
                continue
            found[node] = theirs - min(max(theirs, before), read_clock(client))
    finally:
        members.close()
    return found
