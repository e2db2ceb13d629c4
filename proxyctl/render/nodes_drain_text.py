"""What became of a node that was drained or put back, for a terminal."""

from __future__ import annotations

from proxyctl.drains import Drain
from proxyctl.families import Node
from proxyctl.render.style import printable, shown


def drained_text(drain: Drain, *, was_before: bool) -> str:
    """Return that the node is drained; `was_before`: nothing was changed for it."""
    if was_before:
        return f"{_name(drain.node)} is drained already: {printable(drain.text())}\n"
    return f"{_name(drain.node)} is drained: it takes no new connections until it is restored\n"


def unused_text(node: Node) -> str:
    """Return that nothing uses the node any more."""
    return f"{_name(node)}: no connection is in use\n"


def restored_text(node: Node, drain: Drain | None, *, was_drained: bool, is_changed: bool) -> str:
    """Return that the node is back, or never was away."""
    if drain is None:
        return f"{_name(node)} is {'back' if was_drained else 'not drained: nothing to do'}\n"
    if not was_drained:
        lines = [
            f"{_name(node)} is as configured; it did not show as drained any more"
            f" ({printable(drain.text())})"
        ]
    else:
        lines = [f"{_name(node)} is back ({printable(drain.text())})"]
    if is_changed:
        lines.append("its configuration was changed in the meantime: it has the new one")
    return "\n".join(lines) + "\n"


def _name(node: Node) -> str:
    return f"{shown(node[0])}:{node[1]}"
