"""Where snapshots are kept, which of them there are, and what became of the apply behind each.

    STATE/snapshots/HOST_PORT/20260105T101500.000000Z.json      the snapshot
    STATE/snapshots/HOST_PORT/20260105T101500.000000Z.outcome   how the apply ended

Folders are 0700 and files 0600. Only the newest are kept.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from proxyctl.admin.snapshot_file import SnapshotFileError, read_snapshot, read_summary
from proxyctl.errors import ApplyError, ProxyctlError
from proxyctl.snapshot import Kept, Outcome, Snapshot, Summary

_ABANDONED_S = 3600
"""A file under way that nobody wrote to for so long was left by a proxyctl that was killed."""


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


def new_file(folder: Path, *, is_ours: bool) -> tuple[int, Path]:
    """Return an open file in the folder, and its path.

    `is_ours`: the folder is made where it is missing, closed to others, and what a proxyctl that
    was killed left in it is removed.

    Raises: ProxyctlError when the folder cannot be used.
    """
    try:
        if is_ours:
            for part in (state_folder(), folder.parent, folder):
                part.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
            for left in folder.glob(".taking-*.json"):
                if time.time() - left.stat().st_mtime > _ABANDONED_S:
                    left.unlink(missing_ok=True)
        handle, name = tempfile.mkstemp(prefix=".taking-", suffix=".json", dir=folder)
    except OSError as error:
        raise no_place(folder, error) from error
    return handle, Path(name)


def no_place(folder: Path, error: OSError) -> ProxyctlError:
    """Return what to say where a snapshot cannot be written."""
    is_ours = folder.is_relative_to(state_folder())
    return ProxyctlError(
        f"no snapshot can be taken in {folder}: {error.strerror}; nothing was changed",
        hint="PROXYCTL_STATE_DIR names another folder" if is_ours else None,
    )


def prune(newest: Path, keep: int) -> None:
    """Remove the oldest snapshots beyond `keep`, and what is known of their applies.

    The newest one stays: after a clock was set back its name may be an old one.
    """
    others = [path for path in _paths(newest.parent) if path != newest]
    for stale in others[keep - 1 :]:
        stale.unlink(missing_ok=True)
        stale.with_suffix(".outcome").unlink(missing_ok=True)


def _paths(folder: Path) -> list[Path]:
    """Return the snapshots in a folder, newest first. Raises: ProxyctlError."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ProxyctlError(
            f"{folder}: {error.strerror}", hint="PROXYCTL_STATE_DIR names another folder"
        ) from error
    return sorted((folder / n for n in names if n.endswith(".json") and n[0] != "."), reverse=True)


@contextmanager
def outcome_kept(snapshot: Path) -> Iterator[None]:
    """Note beside a snapshot how the apply ended that it was taken before."""
    try:
        yield
    except ApplyError:
        _note(snapshot, Outcome.INCOMPLETE)
        raise
    except BaseException:
        _note(snapshot, Outcome.NOTHING_CHANGED)
        raise
    _note(snapshot, Outcome.APPLIED)


def _note(snapshot: Path, outcome: Outcome) -> None:
    """Write it in one step. A full disk must not turn an apply that is done into an error."""
    path = snapshot.with_suffix(".outcome")
    with suppress(OSError):
        handle, name = tempfile.mkstemp(prefix=".noting-", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps({"outcome": outcome.value}) + "\n")
        Path(name).rename(path)


def _outcome(snapshot: Path) -> Outcome | None:
    try:
        return Outcome(json.loads(snapshot.with_suffix(".outcome").read_bytes())["outcome"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def kept(address: str) -> list[Kept]:
    """Return the snapshots of an instance, newest first. Damaged ones say so."""
    return [_kept(number, path) for number, path in enumerate(_paths(folder_of(address)), 1)]


def newest_summary(address: str) -> Summary | None:
    """Return what the snapshot of an instance that was written last says; None without any.

    Damaged ones are passed over. Names go by the clock, which may have been set back since.
    """
    found = {path: _written(path) for path in _paths(folder_of(address))}
    for path in sorted(found, key=found.__getitem__, reverse=True):
        summary = _kept(1, path).summary
        if summary is not None:
            return summary
    return None


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0  # pruned meanwhile


def _kept(number: int, path: Path) -> Kept:
    summary, problem, data = None, "", b""
    try:
        data = _data(path)
        summary = read_summary(data)
    except ProxyctlError as error:
        problem = error.message
    return Kept(number, path, len(data), summary, problem, _outcome(path))


def find(address: str, which: str | None) -> Path:
    """Return the snapshot that is meant: a number or a name of `history`, or a path.

    None means the newest one. Raises: ProxyctlError.
    """
    folder = folder_of(address)
    paths = _paths(folder)
    hint = f"proxyctl history lists the snapshots of {address}"
    if which is None:
        if not paths:
            raise ProxyctlError(
                f"there is no snapshot of {address} in {folder}",
                hint="every apply takes one; PROXYCTL_STATE_DIR names another folder",
            )
        return paths[0]
    if which.isascii() and which.isdigit() and len(which) < 5:
        if not 1 <= int(which) <= len(paths):
            raise ProxyctlError(f"there is no snapshot {which} of {address}", hint=hint)
        return paths[int(which) - 1]
    named = [path for path in paths if path.stem.startswith(which)]
    exact = [path for path in named if path.stem == which]
    if exact or len(named) == 1:
        return (exact or named)[0]
    if named:
        raise ProxyctlError(f"{len(named)} snapshots begin with {which}", hint=hint)
    if os.sep in which or Path(which).exists():
        return Path(which)
    raise ProxyctlError(f"there is no snapshot {which} of {address}, and no such file", hint=hint)


def read(path: Path) -> Snapshot:
    """Return the snapshot of a file.

    Raises: SnapshotFileError that names the file.
    """
    try:
        return read_snapshot(_data(path), path.stem)
    except SnapshotFileError as error:
        raise SnapshotFileError(f"{path}: {error.message}", hint=_OTHERS) from error


_OTHERS = (
    "proxyctl history says which snapshots are whole; rollback takes the number of another one"
)


def _data(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SnapshotFileError(str(error.strerror)) from error
