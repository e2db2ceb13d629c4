"""The file that a digest command writes: what it is called, and whether it may be written."""

from __future__ import annotations

import re
import time
from pathlib import Path

from proxyctl.errors import ProxyctlError, RefusedError


def snapshot_path(out: str | None, name: str) -> Path:
    """Return where a snapshot goes: what -o says, else a name for an instance of that `name`.

    The default is in the working folder; its time is that of this machine, in UTC. Raises:
    RefusedError where a file is there already, which may be the only one that holds its counters;
    ProxyctlError where none can be. Both before the instance is asked to copy its statistics.
    """
    path = Path(out) if out else _default(name)
    check_place(path)
    if path.exists():
        raise RefusedError(
            f"{path}: is there already", hint="name a new file with -o, or remove this one"
        )
    return path


def check_place(path: Path) -> None:
    """Refuse a path that cannot be a file. Raises: ProxyctlError."""
    if path.is_dir():
        raise ProxyctlError(f"{path}: cannot be written: it is a folder")
    if not path.parent.is_dir():
        raise ProxyctlError(f"{path}: cannot be written: no such folder")


def _default(name: str) -> Path:
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return Path(f"digests-{re.sub('[^A-Za-z0-9.]+', '-', name).strip('-')}-{moment}.jsonl.gz")
