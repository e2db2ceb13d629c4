"""What the formats for machines call the instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxyctl.instance.client import AdminClient
    from proxyctl.render.nodes_machine import Instance


def instance_of(client: AdminClient) -> Instance:
    """Return what JSON says of the instance."""
    from proxyctl.render.nodes_machine import Instance

    return Instance(client.login.name or client.address, client.address, client.version_text)
