"""Connects, and knows the names of hostgroups where there are files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from proxyctl.cli.connection import connected, opened
from proxyctl.cli.options import ConnectionOptions, FileOptions

if TYPE_CHECKING:
    from proxyctl.admin.client import AdminClient


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
