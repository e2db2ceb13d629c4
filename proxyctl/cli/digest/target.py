"""The file that a digest command writes: what it is called, and whether it may be written."""

from __future__ import annotations

import re
import time
from pathlib import Path

from proxyctl.cli.target import check_new


def snapshot_path(out: str | None, name: str) -> Path:
    """Return where a snapshot goes: what -o says, else a name for an instance of that `name`.

    The default is in the working folder; its time is that of this machine, in UTC. Raises:
    RefusedError where a file is there already, which may be the only one that holds its counters;
    ProxyctlError where none can be. Both before the instance is asked to copy its statistics.
    """
    path = Path(out) if out else _default(name)
    check_new(path)
    return path


def _default(name: str) -> Path:
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return Path(f"digests-{re.sub('[^A-Za-z0-9.]+', '-', name).strip('-')}-{moment}.jsonl.gz")
