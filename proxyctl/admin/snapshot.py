"""Taking a snapshot: what an instance holds, as ProxySQL stores it, into a file.

Before an apply it is filled while the plan reads the tables, and kept only if the apply changes
something. The text is that of `admin.snapshot_file`.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proxyctl import __version__
from proxyctl.admin import snapshot_file
from proxyctl.admin.client import AdminClient
from proxyctl.admin.rows_text import parse_rows
from proxyctl.admin.snapshot_folder import folder_of, new_file, newest_summary, no_place, prune
from proxyctl.catalog import Layout
from proxyctl.snapshot import OMITTED, Cell, HiddenCells, Occasion
from proxyctl.sql import is_secret
from proxyctl.state import Layer, Row

KEPT = 20


@dataclass(frozen=True)
class SnapshotRules:
    """How snapshots are taken. `kept`: how many stay in the folder of an instance."""

    omits_secrets: bool = False
    kept: int = KEPT


DEFAULT_RULES = SnapshotRules()


@dataclass
class SnapshotWriter:
    """Collects the tables of one instance as they are read.

    `out`: the file to write, instead of one in the folder of the instance. Where secrets are left
    out the tables wait in memory: which cells hold one is known when the plan is made.
    """

    client: AdminClient
    rules: SnapshotRules = DEFAULT_RULES
    out: Path | None = None
    _path: Path | None = None
    _hash: Any = field(default_factory=hashlib.sha256)
    _last: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    _waiting: list[tuple[Layout, Layer, list[bytes]]] = field(default_factory=list)
    _is_first: bool = True

    def add(self, layout: Layout, layer: Layer, chunks: list[bytes]) -> None:
        """Take one table of one layer: JSON texts of its rows without the outer brackets."""
        if self.rules.omits_secrets:
            self._waiting.append((layout, layer, chunks))
        else:
            self._add(layout, layer, b",\n".join(chunks))

    def _add(self, layout: Layout, layer: Layer, text: bytes) -> None:
        head = snapshot_file.table_head(layout.name, layer, layout.names)
        before = self._last.get(layout.name)
        if before is not None and before[1] == text:
            entry = snapshot_file.same_table(head, before[0])
        else:
            entry = snapshot_file.table(head, text)
            if before is None:
                self._last = {layout.name: (layer.value, text)}
        self._write((b"" if self._is_first else b",\n") + entry)
        self._is_first = False

    def _write(self, data: bytes) -> None:
        path = self._file()
        with _said(path.parent), path.open("ab") as file:
            file.write(data)
        self._hash.update(data)

    def _file(self) -> Path:
        if self._path is None:
            is_ours = self.out is None
            folder = folder_of(self.client.address) if self.out is None else self.out.parent
            handle, self._path = new_file(folder, is_ours=is_ours)
            taken_at = datetime.now(UTC).isoformat(timespec="seconds")
            head = snapshot_file.header(self.client.address, self.client.version_text, taken_at)
            with os.fdopen(handle, "wb") as file:
                file.write(head)
            self._hash = hashlib.sha256(head)
        return self._path

    def keep(self, occasion: Occasion) -> Path:
        """Finish the file, give it its name, and remove the oldest ones; return its path.

        What the snapshots before it knew of secrets goes along: they may be pruned.
        """
        occasion = replace(
            occasion,
            by=_whoami(),
            proxyctl=__version__,
            secrets=occasion.secrets | known_secrets(self.client.address),
            omits_secrets=self.rules.omits_secrets,
        )
        self._add_waiting(occasion.secrets)
        self._write(snapshot_file.footer(occasion))
        path = self._file()
        final = self.out or path.with_name(f"{_stamp()}.json")
        with _said(path.parent), path.open("ab") as file:
            file.write(snapshot_file.seal(self._hash.hexdigest()))
            file.flush()
            os.fsync(file.fileno())
            path.replace(final)
        self._path = None
        if self.out is None:
            prune(final, self.rules.kept)
        return final

    def _add_waiting(self, secrets: frozenset[Cell]) -> None:
        if not self._waiting:
            return
        for layout, layer, chunks in self._waiting:
            rows = parse_rows(layout, chunks).values()
            self._add(layout, layer, snapshot_file.rows_text(_without(layout, rows, secrets)))
        self._waiting = []

    def discard(self) -> None:
        """Remove what was written: nothing was changed."""
        self._waiting = []
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None


@contextmanager
def _said(folder: Path) -> Iterator[None]:
    """Turn what goes wrong with a file of the folder into an error for people."""
    try:
        yield
    except OSError as error:
        raise no_place(folder, error) from error


def known_secrets(address: str) -> frozenset[Cell]:
    """Return the cells of an instance that held a secret by reference, as its snapshots tell.

    Each snapshot keeps what those before it knew, so that of the newest usable one is enough.
    """
    newest = newest_summary(address)
    return frozenset() if newest is None else newest.occasion.secrets


def _without(layout: Layout, rows: Iterable[Row], secrets: frozenset[Cell]) -> Iterable[Row]:
    """Yield the rows with OMITTED in place of their secrets."""
    hidden = HiddenCells(layout, secrets)
    for row in rows:
        found = hidden.of(layout.key_of(row))
        yield tuple(
            OMITTED
            if is_secret(layout, position, row) or (cell is not None and position in found)
            else cell
            for position, cell in enumerate(row)
        )


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def _whoami() -> str:
    """Return `user@host`, as far as the system tells."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
