"""Take a snapshot: of the tables that a plan read before its apply, or of all tables by hand."""

from __future__ import annotations

import getpass
import gzip
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from proxyctl.errors import RefusedError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.lock import read_holder
from proxyctl.instance.read import TableRows, read_layouts, read_tables
from proxyctl.snapshots.file import header_line, same_line, table_line
from proxyctl.snapshots.folder import store
from proxyctl.snapshots.snapshot import BY_HAND, Header
from proxyctl.state.row import Layer


def keep(header: Header, tables: Mapping[str, TableRows]) -> Path:
    """Write tables, as the JSON text that ProxySQL gave, into a new snapshot; return its path.

    `header`: without time and user. Raises: ProxyctlError when it cannot be written.
    """
    now = datetime.now(UTC)
    header = replace(header, taken_at=now.isoformat(timespec="seconds"), by=_whoami())

    def write(file: BinaryIO) -> None:
        with gzip.open(file, "wb", compresslevel=1) as packed:
            packed.write(header_line(header))
            packed.writelines(_lines(tables))

    return store(header.address, now.strftime("%Y%m%dT%H%M%S.%fZ"), write)


def _lines(tables: Mapping[str, TableRows]) -> Iterator[bytes]:
    """Yield one line a layer; a layer equal to another one refers to it."""
    for name, table in tables.items():
        written: dict[int, Layer] = {}
        for layer, chunks in table.texts.items():
            other = written.setdefault(id(chunks), layer)
            if other is layer:
                yield table_line(name, layer, table.layout.names, chunks)
            else:
                yield same_line(name, layer, table.layout.names, other)


def _whoami() -> str:
    """Return `user@host`."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


@dataclass(frozen=True)
class Taken:
    """A snapshot that was taken by hand. `rows`: of MEMORY."""

    path: Path
    tables: int
    rows: int


def take_by_hand(client: AdminClient) -> Taken:
    """Take a snapshot of the whole instance. Sends SELECTs only.

    Raises: RefusedError during an apply; InstanceError; ProxyctlError when the file
    cannot be written.
    """
    holder = read_holder(client)
    if holder is not None and not holder.is_dead():
        raise RefusedError(
            f"{client.address} is locked: {holder.text()}",
            fix="try again when that apply has finished",
        )
    tables = read_tables(client, read_layouts(client).values())
    rows = sum(len(table.rows[Layer.MEMORY]) for table in tables.values())
    path = keep(Header(client.address, client.version_text, BY_HAND), tables)
    return Taken(path, len(tables), rows)
