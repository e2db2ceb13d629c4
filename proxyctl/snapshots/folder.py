"""The folder of snapshots: writes, lists and finds their files.

    STATE/snapshots/HOST_PORT/20260105T101500.000000Z.jsonl.gz

Folders are 0700 and files 0600. The newest 20 snapshots of an instance are kept.
"""

from __future__ import annotations

import getpass
import gzip
import os
import re
import socket
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from proxyctl.errors import ProxyctlError, RefusedError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.lock import read_holder
from proxyctl.instance.read import TableLayers, read_layouts, read_tables
from proxyctl.rows.row import Layer
from proxyctl.snapshots.snapshot import (
    BY_HAND,
    SUFFIX,
    Header,
    Kept,
    Snapshot,
    SnapshotFileError,
    lines_of,
    read_header,
    read_snapshot,
)
from proxyctl.text import os_reason

KEPT = 20


def state_folder() -> Path:
    """Return the folder for snapshots: PROXYCTL_STATE_DIR, else the XDG state folder."""
    own = os.environ.get("PROXYCTL_STATE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "proxyctl"


def folder_of(address: str) -> Path:
    """Return the folder of one instance's snapshots."""
    return state_folder() / "snapshots" / re.sub(r"[^0-9A-Za-z.-]+", "_", address)


# -- writing --------------------------------------------------------------------------------------


def keep(header: Header, tables: Mapping[str, TableLayers]) -> Path:
    """Write tables to a new snapshot, remove the oldest snapshots, and return the new path.

    `header`: without time and user. The file gets its name once it is complete. Raises:
    ProxyctlError when it cannot be written.
    """
    now = datetime.now(UTC)
    header = replace(header, taken_at=now.isoformat(timespec="seconds"), by=_whoami())
    folder = folder_of(header.address)
    path = folder / f"{now.strftime('%Y%m%dT%H%M%S.%fZ')}{SUFFIX}"
    try:
        for part in (state_folder(), folder.parent, folder):
            part.mkdir(parents=True, exist_ok=True, mode=0o700)
            _refuse_foreign(part)
        folder.chmod(0o700)
        handle, unfinished = tempfile.mkstemp(prefix=".", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                with gzip.open(file, "wb", compresslevel=1) as packed:
                    packed.writelines(lines_of(header, tables))
                file.flush()
                os.fsync(file.fileno())
            os.rename(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
        earlier = [other for other in _paths(folder) if other != path]
        for stale in earlier[KEPT - 1 :]:
            stale.unlink(missing_ok=True)
    except OSError as error:
        raise ProxyctlError(
            f"cannot write a snapshot to {folder}: {os_reason(error)}; nothing was changed",
            fix="choose another folder with PROXYCTL_STATE_DIR",
        ) from error
    return path


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that leads elsewhere, or to which others can write: it gets passwords.

    Raises: ProxyctlError, OSError.
    """
    status = folder.lstat()
    ways = "or choose another folder with PROXYCTL_STATE_DIR"
    if stat.S_ISLNK(status.st_mode):
        reason, fix = "a symbolic link", f"use the folder itself, {ways}"
    elif status.st_uid != os.geteuid():
        reason, fix = "it belongs to another user", f"chown it, {ways}"
    elif status.st_mode & 0o022:
        reason, fix = "others can write to it", f"chmod go-w {folder}, {ways}"
    else:
        return
    message = f"{folder}: {reason}, and snapshots hold passwords; nothing was changed"
    raise ProxyctlError(message, fix=fix)


def _whoami() -> str:
    """Return `user@host`."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


@dataclass(frozen=True)
class Taken:
    """A snapshot that a person took."""

    address: str
    """The address of the instance."""
    path: Path
    """The path of the file."""
    tables: int
    """The number of tables."""
    rows: int
    """The number of rows in MEMORY."""


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
    return Taken(client.address, path, len(tables), rows)


# -- listing and reading --------------------------------------------------------------------------


def _paths(folder: Path) -> list[Path]:
    """Return the snapshots in a folder, newest first. Raises: ProxyctlError."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ProxyctlError(
            f"{folder}: {os_reason(error)}", fix="choose another folder with PROXYCTL_STATE_DIR"
        ) from error
    kept = (name for name in names if name.endswith(SUFFIX) and name[0] != ".")
    return [folder / name for name in sorted(kept, reverse=True)]


def _name(path: Path) -> str:
    return path.name.removesuffix(SUFFIX)


def history(address: str) -> list[Kept]:
    """Return the snapshots of an instance, newest first. Raises: ProxyctlError."""
    return [_kept(number, path) for number, path in enumerate(_paths(folder_of(address)), 1)]


@dataclass(frozen=True)
class InstanceHistory:
    """The snapshots of one instance of the files."""

    name: str
    """The name of the instance in the files."""
    address: str
    """The address of the admin interface."""
    snapshots: list[Kept]
    """The snapshots, newest first."""


def _kept(number: int, path: Path) -> Kept:
    try:
        return Kept(number, _name(path), path, path.stat().st_size, read_header(path))
    except SnapshotFileError as error:
        return Kept(number, _name(path), path, path.stat().st_size, None, error.message)


def find(address: str, which: str | None) -> Path:
    """Return the path of a snapshot by its number or name in `history`, or by its path.

    `which` None: the newest snapshot. Raises: ProxyctlError.
    """
    paths = _paths(folder_of(address))
    fix = f"list the snapshots of {address} with proxyctl history"
    if which is None:
        if not paths:
            raise ProxyctlError(
                f"there is no snapshot of {address} in {folder_of(address)}",
                fix="take one with proxyctl snapshot, or choose another folder: PROXYCTL_STATE_DIR",
            )
        return paths[0]
    if re.fullmatch("[0-9]{1,4}", which):
        if not 1 <= int(which) <= len(paths):
            raise ProxyctlError(f"there is no snapshot {which} of {address}", fix=fix)
        return paths[int(which) - 1]
    named = [path for path in paths if _name(path) == which]
    if named or os.sep in which or Path(which).exists():
        return named[0] if named else Path(which)
    raise ProxyctlError(f"there is no snapshot {which} of {address}, and no such file", fix=fix)


def read(path: Path) -> Snapshot:
    """Return the snapshot in a file. Raises: SnapshotFileError that names the file."""
    try:
        return read_snapshot(path, _name(path))
    except SnapshotFileError as error:
        raise SnapshotFileError(
            f"{path}: {error.message}",
            fix="choose another snapshot: list them with proxyctl history",
        ) from error
