"""Connects, and knows names: of hostgroups where there are files, and of the instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from proxyctl.cli.connection import connected, opened
from proxyctl.cli.options import ConnectionOptions, FileOptions

if TYPE_CHECKING:
    from proxyctl.admin.client import AdminClient
    from proxyctl.render.nodes_machine import Instance


@contextmanager
def connected_with_names(
    files: FileOptions, connection: ConnectionOptions
) -> Iterator[tuple[AdminClient, Mapping[int, str]]]:
    """Connect as `connected` does; the names by number are empty without files.

    Raises: InstanceError, UsageError, ConfigError.
    """
    if files.file or Path(files.paths()[0]).exists():
        with opened(files, connection) as (client, parsed):
            yield client, parsed.hostgroup_names()
    else:
        with connected(files, connection) as client:
            yield client, {}


def instance_of(client: AdminClient) -> Instance:
    """Return what JSON says of the instance."""
    from proxyctl.render.nodes_machine import Instance

    return Instance(client.login.name or client.address, client.address, client.version_text)
