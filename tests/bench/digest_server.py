"""A ProxySQL with a million digests, the commands that read them, and the mariadb client.

ProxySQL fills its own map with random digests (PROXYSQLTEST 1): as many entries as one wants within
seconds, of ten thousand digest texts under a hundred users and schemas.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.measure import Run, run
from tests.support.servers import NO_BINARY, ProxySQL, proxysql_binary

THOUSANDS = 1_022
"""Some of them are the same: this leaves a million entries."""


class DigestServer:
    """The server. Its processor time counts with that of whoever asks it."""

    def __init__(self, server: ProxySQL, client: str) -> None:
        self._server = server
        self._client = [
            client, "--no-defaults", "-h127.0.0.1", f"-P{server.port}", "-uradmin", "-pradmin",
        ]  # fmt: skip

    def proxyctl(self, *arguments: str) -> Run:
        """Run a command of ours."""
        environment = {
            "PROXYCTL_PORT": str(self._server.port),
            "PROXYCTL_USER": "radmin",
            "PROXYCTL_PASSWORD": "radmin",
        }
        command = [sys.executable, "-m", "proxyctl", *arguments]
        return _checked(run(command, env=environment, server=self._server.pid))

    def select(self, statement: str) -> Run:
        """Let the client run one statement."""
        return _checked(run([*self._client, "-e", statement], server=self._server.pid))

    def dump(self, table: str, path: Path) -> Run:
        """Let the client write a table into a file, compressed as ours is."""
        # The client holds nothing back (--quick), and gzip runs beside it.
        shell = '"$@" | gzip -1 > "$0"'
        read = [*self._client, "--quick", "-N", "-e", f"SELECT * FROM {table}"]
        return _checked(run(["sh", "-c", shell, str(path), *read], server=self._server.pid))


def _checked(found: Run) -> Run:
    assert found.code == 0, found.output
    return found


@contextmanager
def digest_server(folder: Path) -> Iterator[DigestServer | None]:
    """Yield the server; None, and say why, where a program is missing."""
    binary, client = proxysql_binary(), shutil.which("mariadb") or shutil.which("mysql")
    if binary is None or client is None:
        print(f"SKIPPED: {NO_BINARY if binary is None else 'no mariadb client'}")  # noqa: T201
        yield None
        return
    with ProxySQL(binary, folder) as server:
        server.instance.execute(f"PROXYSQLTEST 1 {THOUSANDS}")
        yield DigestServer(server, client)
