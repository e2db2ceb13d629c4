"""A MariaDB with a data directory of its own, and sysbench that sends queries through ProxySQL."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tests.support.servers.instances import ProxySQL, free_port, needed_binary

USER = PASSWORD = "sb"
_GRANT = (
    "CREATE DATABASE sbtest;"
    f" CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';"
    f" GRANT ALL ON *.* TO {USER}@'127.0.0.1'"
)
MISSING = [
    name for name in ("mariadb-install-db", "mariadbd", "mariadb", "sysbench")
    if shutil.which(name) is None
]  # fmt: skip
"""The programs that are not there."""


class MariaDB:
    """A server on a loopback port, with the user that sysbench logs in as.

    Temporary tables are in `folder`: a MariaDB that starts deletes those of others in /tmp.
    `setup`: statements for its administrator, when it has started. `options`: further options.
    """

    def __init__(self, folder: Path, *, setup: str = "", options: Sequence[str] = ()) -> None:
        self._folder = folder
        self._first_statements = f"{_GRANT};{setup}"
        self._options = options
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        subprocess.run(
            [
                "mariadb-install-db", "--no-defaults", f"--datadir={self._data}", "--skip-test-db",
                "--auth-root-authentication-method=normal", f"--tmpdir={self._folder}",
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
        self.start()
        return self

    def start(self, *options: str) -> None:
        """Start it, with further options, and wait until it answers."""
        with (self._folder / "output.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "mariadbd", "--no-defaults", f"--datadir={self._data}", f"--port={self.port}",
                    f"--tmpdir={self._folder}",
                    "--bind-address=127.0.0.1", f"--socket={self._socket}", "--user=root",
                    "--skip-log-bin", *self._options, *options,
                ],
                stdout=log,
                stderr=log,
            )  # fmt: skip
        try:
            self._wait()
        except BaseException:
            self._stop()
            raise

    def __exit__(self, *exc: object) -> None:
        self._stop()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _socket(self) -> Path:
        return self._folder / "s"

    def run(self, sql: str) -> None:
        """Run statements as its administrator."""
        subprocess.run(self._client(sql), check=True, capture_output=True)

    def _client(self, sql: str) -> list[str]:
        return ["mariadb", "--no-defaults", "-uroot", f"-S{self._socket}", "-e", sql]

    def _wait(self) -> None:
        client = self._client(self._first_statements)
        deadline = time.monotonic() + 60
        while subprocess.run(client, capture_output=True, check=False).returncode:
            if time.monotonic() > deadline:
                log = (self._folder / "output.log").read_text(errors="replace")
                raise RuntimeError(f"MariaDB does not answer:\n{log[-2000:]}")
            time.sleep(0.1)
        self._first_statements = "DO 1"

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def send_signal(self, number: int) -> None:
        """Send the process a signal: SIGSTOP and SIGCONT make it hang for a while."""
        assert self._process is not None
        self._process.send_signal(number)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait()


def sysbench(port: int, *arguments: str) -> str:
    """Run oltp_read_write with these arguments through a ProxySQL; return its output."""
    command = _sysbench(port, *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def running_sysbench(port: int, *arguments: str) -> Iterator[None]:
    """Run sysbench in the background until the end of the block."""
    command = [*_sysbench(port, "--time=0", *arguments), "run"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def _sysbench(port: int, *arguments: str) -> list[str]:
    return [
        "sysbench", "oltp_read_write", "--db-driver=mysql", "--mysql-host=127.0.0.1",
        f"--mysql-port={port}", f"--mysql-user={USER}", f"--mysql-password={PASSWORD}",
        "--tables=2", "--table-size=500", "--db-ps-mode=disable", "--threads=1",
        "--mysql-ignore-errors=all", *arguments,
    ]  # fmt: skip


@contextmanager
def sysbench_rig(folder: Path) -> Iterator[tuple[ProxySQL, MariaDB]]:
    """Yield MariaDB and ProxySQL. DISK equals RUNTIME; all servers are the one MariaDB."""
    with (
        MariaDB(folder) as mariadb,
        ProxySQL(needed_binary(), folder / "proxysql", monitor=True) as server,
    ):
        server.instance.execute(
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port, status) VALUES"
            f" (10, '127.0.0.1', {mariadb.port}, 'ONLINE'),"
            f" (20, '127.0.0.1', {mariadb.port}, 'ONLINE'),"
            f" (20, '127.0.0.2', {mariadb.port}, 'OFFLINE_SOFT')",
            "INSERT INTO mysql_users (username, password, default_hostgroup,"
            f" transaction_persistent) VALUES ('{USER}', '{PASSWORD}', 10, 0)",
            "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup,"
            " apply) VALUES (100, 1, '^SELECT.*FOR UPDATE', 10, 1), (200, 1, '^SELECT', 20, 1)",
            f"SET mysql-monitor_username='{USER}'",
            f"SET mysql-monitor_password='{PASSWORD}'",
            "SET mysql-monitor_ping_interval=1000",
        )
        server.instance.load(
            "MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES", saves=True
        )
        sysbench(server.traffic_port, "prepare")
        yield server, mariadb
