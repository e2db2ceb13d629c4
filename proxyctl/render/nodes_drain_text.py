"""What became of a node that was drained, or serves again, for a terminal."""

from __future__ import annotations

from proxyctl.state.families import Node, node_text
from proxyctl.text import printable


def drained_text(node: Node, *, was_before: bool) -> str:
    """Return that the node is drained; `was_before`: nothing was changed for it."""
    if was_before:
        return f"{_name(node)} is drained already\n"
    return f"{_name(node)} is drained: it takes no new connections until it is restored\n"


def unused_text(node: Node) -> str:
    """Return that nothing uses the node any more."""
    return f"{_name(node)}: no connection is in use\n"


def restored_text(node: Node, *, was_drained: bool) -> str:
    """Return that the node serves again, or did so before."""
    return f"{_name(node)} {'serves again' if was_drained else 'is not drained: nothing to do'}\n"


def _name(node: Node) -> str:
    return printable(node_text(node))
