"""Taking a snapshot: before an apply, of the tables that its plan read, or by hand, of all."""

from __future__ import annotations

import getpass
import gzip
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from proxyctl.catalog import Layout
from proxyctl.errors import RefusedError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.lock import read_holder
from proxyctl.instance.read import TableReader, read_layouts
from proxyctl.snapshots.file import header_line, same_line, table_line
from proxyctl.snapshots.folder import store
from proxyctl.snapshots.snapshot import BY_HAND, Header
from proxyctl.state.row import Layer


@dataclass
class TablesRead:
    """The tables of one instance as they were read, in the JSON text that ProxySQL gave.

    Shape: by table, its columns and the texts of its rows by layer. Layers that hold the same
    share one list.
    """

    _tables: dict[str, tuple[Layout, dict[Layer, list[bytes]]]] = field(default_factory=dict)

    def add(self, layout: Layout, layer: Layer, chunks: list[bytes]) -> None:
        """Take one table of one layer: JSON texts of its rows without the outer brackets."""
        _, layers = self._tables.setdefault(layout.name, (layout, {}))
        layers[layer] = next((known for known in layers.values() if known == chunks), chunks)

    def keep(self, header: Header) -> Path:
        """Write the tables into a new snapshot and return its path.

        `header`: without time and person. Raises: ProxyctlError when it cannot be written.
        """
        now = datetime.now(UTC)
        header = replace(header, taken_at=now.isoformat(timespec="seconds"), by=_whoami())

        def write(file: BinaryIO) -> None:
            with gzip.open(file, "wb", compresslevel=1) as packed:
                packed.write(header_line(header))
                packed.writelines(self._lines())

        return store(header.address, now.strftime("%Y%m%dT%H%M%S.%fZ"), write)

    def _lines(self) -> Iterator[bytes]:
        for name, (layout, layers) in self._tables.items():
            written: dict[int, Layer] = {}
            for layer, chunks in layers.items():
                other = written.setdefault(id(chunks), layer)
                if other is layer:
                    yield table_line(name, layer, layout.names, chunks)
                else:
                    yield same_line(name, layer, layout.names, other)


def _whoami() -> str:
    """Return `user@host`, as far as the system tells."""
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
    """Keep everything that the instance holds now. Sends SELECTs only.

    Raises: RefusedError in the middle of an apply; InstanceError; ProxyctlError when the file
    cannot be written.
    """
    holder = read_holder(client)
    if holder is not None and not holder.is_dead():
        raise RefusedError(
            f"{client.address} is locked: {holder.text()}", hint="take it when that is done"
        )
    tables = TablesRead()
    reader = TableReader(client, tee=tables.add)
    layouts = read_layouts(client).values()
    rows = 0
    for layout in layouts:
        read = reader.layers_of(layout)
        held = {layer: read(layer) for layer in Layer}
        rows += len(held[Layer.MEMORY])
    path = tables.keep(Header(client.address, client.version_text, BY_HAND))
    return Taken(path, len(layouts), rows)
