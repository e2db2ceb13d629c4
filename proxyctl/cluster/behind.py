"""Peers that do not follow, where several members of one cluster are changed. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from proxyctl.cluster.namesakes import AddressesOf, namesakes
from proxyctl.families import Node
from proxyctl.result import PeerResult


@dataclass
class PeersBehind:
    """Who does not follow, and why, after one apply after the other.

    Members may list a peer by different names; it is called as it was found last.
    """

    addresses_of: AddressesOf
    _found: dict[Node, PeerResult] = field(default_factory=dict)

    def note(self, peers: Collection[PeerResult], loaded: Collection[str]) -> None:
        """Note what became of the peers of an apply that loaded these admin modules.

        Of what others loaded before, it says nothing. Changes: itself.
        """
        same = namesakes([peer.node for peer in peers], [*self._found], self.addresses_of)
        for peer in peers:
            before = self._found.pop(same.get(peer.node, peer.node), None)
            known = before.reasons if before is not None else ()
            left = tuple(one for one in known if one.module and one.module not in loaded)
            reasons = (*left, *peer.reasons)
            if reasons:
                self._found[peer.node] = replace(peer, reasons=reasons)

    @property
    def nodes(self) -> list[Node]:
        """Their hosts and ports."""
        return [*self._found]

    def without(self, nodes: Collection[Node]) -> Iterator[PeerResult]:
        """Yield what is to be said of those that are none of these."""
        yield from (peer for node, peer in self._found.items() if node not in nodes)
