"""A lock held by another proxyctl, by a dead one, or by one on another machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from proxyctl.instance.lock import process_space
from tests.support.servers.instances import Instance

LOCK = (
    "CREATE TEMP TABLE IF NOT EXISTS proxyctl_lock(id INTEGER PRIMARY KEY CHECK(id=1), owner, host,"
    " pid INT, purpose, stage, modules, expires INT)"
)


def hold_lock(
    instance: Instance,
    *,
    host: str,
    pid: int,
    modules: str = "{}",
    for_s: int,
    space: str | None = None,
) -> None:
    owner = f"them@{process_space() if space is None else space}"
    instance.execute("DROP TABLE IF EXISTS proxyctl_lock")
    instance.execute(LOCK)
    instance.execute(
        f"INSERT INTO proxyctl_lock VALUES (1, '{owner}', '{host}', {pid}, 'apply',"
        f" 'staging MEMORY', '{modules}', CAST(strftime('%s','now') AS INT)+{for_s})"
    )


def hold_dead_lock(instance: Instance, *modules: str, was_saved: bool = True) -> None:
    """Hold a lock whose owner was killed on this machine while it staged these admin modules.

    `was_saved`: MEMORY of the modules was equal to DISK before.
    """
    host, text = os.uname().nodename, json.dumps(dict.fromkeys(modules, was_saved))
    hold_lock(instance, host=host, pid=dead_pid(), modules=text, for_s=60)


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    return process.pid
