"""What became of a node that was drained or put back, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proxyctl.catalog import Value
from proxyctl.control_characters import printable
from proxyctl.drains import Drain
from proxyctl.errors import counted
from proxyctl.families import Node, node_text


def drained_text(drain: Drain, *, was_before: bool) -> str:
    """Return that the node is drained; `was_before`: nothing was changed for it."""
    if was_before:
        return f"{_name(drain.node)} is drained already: {printable(drain.text())}\n"
    return f"{_name(drain.node)} is drained: it takes no new connections until it is restored\n"


def not_noted_text(node: Node, reason: str) -> str:
    """Return that a reason comes too late: the node was drained for another one."""
    text = f"{node_text(node)}: the reason {reason!r} is not noted: the one on record stays"
    return printable(text)


def unused_text(node: Node, peers: int = 0) -> str:
    """Return that nothing uses the node any more. `peers`: how many said so, too."""
    where = f", here and at {counted(peers, 'peer')}" if peers else ""
    return f"{_name(node)}: no connection is in use{where}\n"


def followed_text(node: Node, peers: int) -> str:
    """Return how many peers have taken over that the node is back."""
    verb = "follows" if peers == 1 else "follow"
    return f"{_name(node)}: {counted(peers, 'peer')} {verb}\n"


def restored_text(
    node: Node,
    drain: Drain | None,
    *,
    was_drained: bool,
    is_changed: bool,
    is_gone: bool = False,
    is_unsaved: bool = False,
    left_out: Mapping[Value, str] | None = None,
    unnamed: Sequence[Value] = (),
) -> str:
    """Return that the node is back, or never was away, and what DISK still has."""
    if drain is None and left_out:
        where = ", ".join(f"hostgroup {number} ({how})" for number, how in left_out.items())
        lines = [
            f"{_name(node)} is on no record as drained: nothing was changed",
            f"MEMORY lets no connection to it in {where}, and no file says what it is to have"
            f" there: proxyctl nodes restore {_name(node)} --force opens it",
        ]
    elif drain is None and is_gone:
        lines = [f"{_name(node)} is no server any more"]
    elif drain is None:
        lines = [f"{_name(node)} is {'back' if was_drained else 'not drained: nothing to do'}"]
    elif is_gone:
        lines = [f"{_name(node)} is no server any more, and is off the record ({_past(drain)})"]
    elif not was_drained:
        lines = [
            f"{_name(node)} is as configured; it did not show as drained any more ({_past(drain)})"
        ]
    else:
        lines = [f"{_name(node)} is back ({_past(drain)})"]
    if is_changed:
        lines.append("its configuration was changed in the meantime: it has the new one")
    if unnamed:
        where = f"hostgroup{'s' if len(unnamed) > 1 else ''} {', '.join(map(str, unnamed))}"
        lines.append(
            f"it takes connections again in {where}, too, which no record and no file names"
        )
    if is_unsaved:
        what = "it" if is_gone else "it drained"
        lines.append(f"DISK still has {what}: a restart of ProxySQL brings that back")
    return "\n".join(lines) + "\n"


def _past(drain: Drain) -> str:
    return printable(drain.text())


def _name(node: Node) -> str:
    return printable(node_text(node))
