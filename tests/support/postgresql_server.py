"""A primary and a standby of PostgreSQL on loopback, which can change roles."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.support.servers import free_port

USER = "postgres"
MISSING = [name for name in ("initdb", "pg_ctl") if shutil.which(name) is None]
"""The programs that are not there."""


class PostgreSQL:
    """A server that lets everybody in. Shape: `port` of 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self.port = free_port()

    def create(self, template: PostgreSQL | None = None) -> None:
        """Make its data directory, as a copy of that of a stopped server if there is one."""
        if template is None:
            run("initdb", "-D", self._data, "-U", USER, "-A", "trust", "--no-sync")
        else:
            run("cp", "-a", template._data, self._data)

    def start(self, *, is_standby: bool) -> None:
        """Start it; a standby says that it is in recovery, which is what ProxySQL asks for."""
        signal = self._data / "standby.signal"
        run("touch" if is_standby else "rm", *([] if is_standby else ["-f"]), signal)
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
            f" -c shared_buffers=8MB -c fsync=off"
        )
        log = self._folder / "output.log"
        run("pg_ctl", "-D", self._data, "-o", options, "-l", log, "-w", "start")

    def stop(self) -> None:
        """Stop it at once."""
        run("pg_ctl", "-D", self._data, "-m", "fast", "-w", "stop")


class Pair:
    """Two servers, of which `primary` takes writes."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="proxyctl-pg-"))
        if os.geteuid() == 0:
            account = pwd.getpwnam(USER)
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        folders = [self._folder / name for name in ("one", "two")]
        for folder in folders:
            run("mkdir", folder)
        self.primary, self.standby = map(PostgreSQL, folders)

    def __enter__(self) -> Self:
        self.primary.create()
        self.standby.create(self.primary)
        self.primary.start(is_standby=False)
        self.standby.start(is_standby=True)
        return self

    def __exit__(self, *exc: object) -> None:
        for server in (self.primary, self.standby):
            with suppress(subprocess.CalledProcessError):
                server.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def fail_over(self) -> None:
        """Let the standby take the writes, and the primary become a standby."""
        self.primary, self.standby = self.standby, self.primary
        for server in (self.standby, self.primary):
            server.stop()
        self.primary.start(is_standby=False)
        self.standby.start(is_standby=True)


def run(*command: object) -> None:
    """Run a command of PostgreSQL, which refuses root."""
    words = [str(word) for word in command]
    if os.geteuid() == 0:
        words = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *words]
    subprocess.run(words, check=True, capture_output=True, cwd="/")
