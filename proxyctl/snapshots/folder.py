"""The folder of snapshots.

    STATE/snapshots/HOST_PORT/20260105T101500.000000Z.jsonl.gz

Folders are 0700 and files 0600. The newest 20 of an instance are kept.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from proxyctl.errors import ProxyctlError, os_reason
from proxyctl.snapshots.file import SUFFIX, SnapshotFileError, read_header, read_snapshot
from proxyctl.snapshots.snapshot import Kept, Snapshot

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


def store(address: str, name: str, write: Callable[[BinaryIO], None]) -> Path:
    """Write a snapshot, remove the oldest ones, and return its path.

    The file gets its name once it is complete. Raises: ProxyctlError when it cannot be written.
    """
    folder = folder_of(address)
    path = folder / f"{name}{SUFFIX}"
    try:
        for part in (state_folder(), folder.parent, folder):
            part.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        handle, unfinished = tempfile.mkstemp(prefix=".", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.rename(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
        others = [other for other in _paths(folder) if other != path]
        for stale in others[KEPT - 1 :]:
            stale.unlink(missing_ok=True)
    except OSError as error:
        raise ProxyctlError(
            f"cannot write a snapshot to {folder}: {os_reason(error)}; nothing was changed",
            fix="choose another folder with PROXYCTL_STATE_DIR",
        ) from error
    return path


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


def _kept(number: int, path: Path) -> Kept:
    try:
        return Kept(number, _name(path), path, path.stat().st_size, read_header(path))
    except SnapshotFileError as error:
        return Kept(number, _name(path), path, path.stat().st_size, None, error.message)


def find(address: str, which: str | None) -> Path:
    """Return a snapshot by its number or name in `history`, or by its path.

    None is the newest one. Raises: ProxyctlError.
    """
    paths = _paths(folder_of(address))
    fix = f"proxyctl history lists the snapshots of {address}"
    if which is None:
        if not paths:
            raise ProxyctlError(
                f"there is no snapshot of {address} in {folder_of(address)}",
                fix="every apply takes one; choose another folder with PROXYCTL_STATE_DIR",
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
    """Return the snapshot of a file. Raises: SnapshotFileError that names the file."""
    try:
        return read_snapshot(path, _name(path))
    except SnapshotFileError as error:
        raise SnapshotFileError(
            f"{path}: {error.message}", fix="proxyctl history lists the other snapshots"
        ) from error
