"""What a command of ours left in MEMORY when it was killed: rows staged for a LOAD. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping

from proxyctl.drains import Drain
from proxyctl.families import Node
from proxyctl.state import Rows

_NODE = "MYSQL SERVERS: as on record of "


def as_on_record(node: Node) -> str:
    """Return how the lock says that the record of this node has what MEMORY is meant to hold.

    Removed when MYSQL SERVERS is finished. Other records may be of long before.
    """
    return f"{_NODE}{json.dumps(node)}"


def on_no_record(leftovers: Mapping[str, bool]) -> dict[str, bool]:
    """Return these without what says which record has the rows that MEMORY is meant to hold."""
    return {one: was for one, was in leftovers.items() if not one.startswith(_NODE)}


def meant_rows(leftovers: Collection[str], drains: Iterable[Drain]) -> Rows | None:
    """Return what MEMORY is meant to hold, as the record has it of the one whose command died.

    None where no record that counts has it.
    """
    # Only that one: half drained nodes may be on record with what was there long ago.
    found = (one.memory for one in drains if as_on_record(one.node) in leftovers)
    return next(filter(None, found), None)
