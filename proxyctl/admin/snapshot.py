"""Snapshots: what an instance held before an apply, as ProxySQL stores it.

One readable JSON file an apply, under the state folder by host and port, readable by its owner
only. It is filled while the plan reads the tables and kept only if the apply changes something.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from proxyctl.admin.client import AdminClient
from proxyctl.catalog import Layout
from proxyctl.errors import ProxyctlError
from proxyctl.state import Layer

KEPT = 20
_ABANDONED_S = 3600
"""A file under way that nobody wrote to for so long was left by a proxyctl that was killed."""


def state_folder() -> Path:
    """Return the folder for snapshots: PROXYCTL_STATE_DIR, else the XDG state folder."""
    own = os.environ.get("PROXYCTL_STATE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "proxyctl"


def folder_of(address: str) -> Path:
    """Return the folder of one instance's snapshots."""
    return state_folder() / "snapshots" / re.sub(r"[^0-9A-Za-z.-]+", "_", address)


def _new_file(folder: Path) -> tuple[int, Path]:
    """Return an open file in the folder, and its path.

    Raises: ProxyctlError when the folder cannot be used.
    """
    try:
        for part in (state_folder(), folder.parent, folder):
            part.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        for left in folder.glob(".taking-*.json"):
            if time.time() - left.stat().st_mtime > _ABANDONED_S:
                left.unlink(missing_ok=True)
        handle, name = tempfile.mkstemp(prefix=".taking-", suffix=".json", dir=folder)
    except OSError as error:
        raise ProxyctlError(
            f"no snapshot can be taken in {folder}: {error.strerror}; nothing was changed",
            hint="PROXYCTL_STATE_DIR names another folder",
        ) from error
    return handle, Path(name)


@dataclass
class SnapshotWriter:
    """Collects the tables of one instance as they are read.

    Shape of the file: {"format": 1, "address", "version", "taken_at", "tables": [{"table",
    "layer", "columns", "rows": [[...], ...]}, ...]}. A layer that holds the same text as the one
    before it of the same table has "same_as" in place of "rows".
    """

    client: AdminClient
    _path: Path | None = None
    _last: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    _is_first: bool = True

    def add(self, layout: Layout, layer: Layer, chunks: list[bytes]) -> None:
        """Write one table of one layer: JSON texts of its rows without the outer brackets."""
        path = self._file()
        text = b",\n".join(chunks)
        head: dict[str, object] = {
            "table": layout.name,
            "layer": layer.value,
            "columns": list(layout.names),
        }
        before = self._last.get(layout.name)
        with path.open("ab") as file:
            file.write(b"" if self._is_first else b",\n")
            if before is not None and before[1] == text:
                file.write(json.dumps({**head, "same_as": before[0]}).encode())
            else:
                file.write(json.dumps(head).encode()[:-1] + b', "rows": [' + text + b"]}")
                if before is None:
                    self._last = {layout.name: (layer.value, text)}
        self._is_first = False

    def _file(self) -> Path:
        if self._path is None:
            handle, self._path = _new_file(folder_of(self.client.address))
            header = {
                "format": 1,
                "address": self.client.address,
                "version": self.client.version_text,
                "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps(header).encode()[:-1] + b', "tables": [\n')
        return self._path

    def keep(self) -> Path:
        """Finish the file, give it its name, and remove the oldest beyond KEPT; return its path."""
        path = self._file()
        with path.open("ab") as file:
            file.write(b"\n]}\n")
            file.flush()
            os.fsync(file.fileno())
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        final = path.with_name(f"{stamp}.json")
        path.rename(final)
        self._path = None
        old = sorted(p for p in final.parent.glob("*.json") if not p.name.startswith("."))
        for stale in old[:-KEPT]:
            stale.unlink(missing_ok=True)
        return final

    def discard(self) -> None:
        """Remove what was written: nothing was changed."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None
