"""How findings show servers, hostgroups, lists and times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from proxyctl.families import Node, node_text

_LISTED = 4
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def nodes_text(nodes: Iterable[Node]) -> str:
    """Return the first few, sorted, so that instances in front of the same servers say the same."""
    return listed(sorted(map(node_text, nodes)))


def hostgroup_text(hostgroup: int, names: Mapping[int, str]) -> str:
    """Return `hostgroup 10`, or `hostgroup 10 (writer)`."""
    name = names.get(hostgroup)
    return f"hostgroup {hostgroup} ({name})" if name else f"hostgroup {hostgroup}"


def listed(things: Iterable[object], unsure: int = 0) -> str:
    """Return the first few, and how many more there are; `unsure`: there may be so many others."""
    found = [str(one) for one in things]
    more = len(found) - _LISTED
    if unsure:
        return f"{', '.join(found[:_LISTED])} and up to {max(more, 0) + unsure} more"
    # One more would take as much room as to say that there is one.
    if more <= 1:
        return ", ".join(found)
    return f"{', '.join(found[:_LISTED])} and {more} more"


def lasting(seconds: float) -> str:
    """Return how long something has lasted: `3 min`, rounded down."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "0 s"
