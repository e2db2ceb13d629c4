"""A drain that is done is noted as done."""

from __future__ import annotations

from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import drain_is_done
from proxyctl.admin.interrupts import uninterrupted
from proxyctl.draining.changed_already import changed_already
from proxyctl.families import Node, node_text


def note_done(client: AdminClient, node: Node) -> None:
    """Note it. Raises: ApplyError that says so where the node is drained, and that is not noted."""
    name = node_text(node)
    said = f"{name} is drained, and on record as half drained"
    hint = f"proxyctl nodes restore {name} puts it back"
    with uninterrupted(), changed_already(said, hint=hint):
        drain_is_done(client, node)
