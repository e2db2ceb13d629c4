"""Admin interfaces for the tests: one handle for sandbox and real, and a real ProxySQL process.

A real ProxySQL has its own data directory and loopback ports, and is stopped by its pid.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Self

import pymysql
import pytest

from proxyctl.catalog import Version, parse_version
from proxyctl.catalog.releases import NEWEST_KNOWN
from proxyctl.sandbox import Sandbox

NO_BINARY = "no proxysql binary: set PROXYCTL_TEST_PROXYSQL or put it on PATH"

ADMIN = ("admin", "admin")
REMOTE_ADMIN = ("radmin", "radmin")

Record = tuple[str | None, ...]
"""One row as the admin interface sends it: text or NULL, never a number."""


@dataclass(frozen=True)
class Reply:
    """The whole answer to one statement.

    Shape: `columns` and `rows` are empty unless the statement gave a result set.
    """

    affected: int
    info: str
    columns: tuple[str, ...] = ()
    rows: tuple[Record, ...] = ()


def _text(value: object) -> str | None:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else None


@dataclass
class Instance:
    """An admin interface of a test. Bytes that are not UTF-8 become surrogate escapes."""

    host: str
    port: int
    user: str = ADMIN[0]
    password: str = ADMIN[1]
    sandbox: Sandbox | None = None
    _connection: pymysql.Connection | None = field(default=None, init=False, repr=False)

    @property
    def kind(self) -> str:
        """`sandbox` or `real`."""
        return "sandbox" if self.sandbox else "real"

    @property
    def version(self) -> Version:
        """The version that ProxySQL reports."""
        [(text,)] = self.query("SELECT version()")
        return parse_version(str(text))

    def connect(
        self,
        user: str | None = None,
        password: str | None = None,
        *,
        read_timeout: float | None = None,
    ) -> pymysql.Connection:
        """Return a new PyMySQL connection, which the caller closes.

        It has no TLS: PyMySQL takes 20 ms of processor time to read the CA certificates.
        Units: `read_timeout` in seconds; without one it waits for an answer for ever.
        """
        return pymysql.connect(
            host=self.host,
            port=self.port,
            user=self.user if user is None else user,
            password=self.password if password is None else password,
            charset="utf8mb4",
            use_unicode=False,
            autocommit=True,
            connect_timeout=30,
            read_timeout=read_timeout,
            ssl_disabled=True,
        )

    def run(self, sql: str) -> Reply:
        """Run one statement on the handle's own connection.

        Raises: pymysql.err.MySQLError when the server answers with an error packet.
        """
        if self._connection is None:
            self._connection = self.connect()
        return run(self._connection, sql)

    def query(self, sql: str) -> list[Record]:
        """Return the rows of one statement."""
        return list(self.run(sql).rows)

    def execute(self, *statements: str) -> int:
        """Run statements and return the number of rows that the last one affected."""
        return [self.run(sql).affected for sql in statements][-1]

    def load(self, *modules: str, saves: bool = False) -> None:
        """Load admin modules to RUNTIME and, if requested, save them to DISK."""
        for module in modules:
            self.run(f"LOAD {module} TO RUNTIME")
            if saves:
                self.run(f"SAVE {module} TO DISK")

    def close(self) -> None:
        """Close the handle's own connection; the next statement opens another one."""
        if self._connection is not None:
            with suppress(pymysql.err.Error):
                self._connection.close()
            self._connection = None


@contextmanager
def sandbox_of(version: Version) -> Iterator[Instance]:
    """Serve a sandbox of a version, with its monitor off, as on the real ProxySQL.

    For a version newer than every known one, it is a sandbox of the newest known version.
    """
    with Sandbox(
        str(min(version, NEWEST_KNOWN)), variables={"mysql-monitor_enabled": "false"}
    ) as sandbox:
        handle = Instance(sandbox.host, sandbox.port, sandbox=sandbox)
        yield handle
        handle.close()


def run(connection: pymysql.Connection, sql: str) -> Reply:
    """Run one statement on a PyMySQL connection made by `Instance.connect`."""
    with closing(connection.cursor()) as cursor:
        # PyMySQL takes bytes as they are, which its types do not say.
        cursor.execute(sql.encode("utf-8", "surrogateescape"))  # type: ignore[call-overload]
        if cursor.description is None:
            # The info text comes length-encoded: its first byte counts the rest.
            info = cursor._result.message or b""
            return Reply(cursor.rowcount, info[1:].decode("utf-8", "surrogateescape"))
        rows = tuple(tuple(map(_text, row)) for row in cursor.fetchall())
        return Reply(cursor.rowcount, "", tuple(c[0] for c in cursor.description), rows)


def proxysql_binary() -> str | None:
    """Return the real ProxySQL that tests may start, or None."""
    return os.environ.get("PROXYCTL_TEST_PROXYSQL") or shutil.which("proxysql")


def needed_binary() -> str:
    """Return the real ProxySQL that tests may start; where there is none, the test is skipped."""
    return proxysql_binary() or pytest.skip(NO_BINARY)


@cache
def binary_version(binary: str) -> Version:
    """Return the version that a ProxySQL reports."""
    asked = [binary, "--version"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60)
    return parse_version(done.stdout.partition("ProxySQL version ")[2])


def other_binary() -> str:
    """Return the ProxySQL on PATH if it is another version than the tests run on, or skip."""
    binary, on_path = needed_binary(), shutil.which("proxysql")
    if on_path is None or binary_version(on_path) == binary_version(binary):
        pytest.skip("no second version: PROXYCTL_TEST_PROXYSQL names none beside that on PATH")
    return on_path


def free_port() -> int:
    """Return a loopback port that is free now, outside the range for outgoing connections."""
    for port in random.sample(range(18000, 32000), 200):
        with closing(socket.socket()) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port between 18000 and 32000")


CONFIG = """\
datadir="{folder}"
admin_variables=
{{
    admin_credentials="admin:admin;radmin:radmin"
    mysql_ifaces="127.0.0.1:{port}"
    refresh_interval=2000
}}
mysql_variables=
{{
    interfaces="127.0.0.1:{traffic_port}"
    monitor_enabled={monitor}
}}
"""


_STARTS = 3
"""How often one that crashes is started: on a busy machine its first load of servers may come
before the thread that it wakes is there."""
_CRASHED = "Error: signal "


def _on_loopback(config: str) -> str:
    """Return a .cnf whose PostgreSQL side listens on loopback, not on all addresses."""
    if "pgsql_ifaces" not in config:
        interface = f'pgsql_ifaces="127.0.0.1:{free_port()}"'
        config = re.sub(r"(admin_variables\s*=\s*\{)", rf"\1\n    {interface}", config)
    if "pgsql_variables" not in config:
        config += f'pgsql_variables=\n{{\n    interfaces="127.0.0.1:{free_port()}"\n}}\n'
    return config


class ProxySQL:
    """A real ProxySQL process with a data directory of its own.

    `config` is the text of its .cnf, with `{folder}`, `{port}`, `{traffic_port}` and `{monitor}`.
    """

    def __init__(
        self, binary: str, folder: Path, *, monitor: bool = False, config: str = CONFIG
    ) -> None:
        self._config = config
        self.binary = binary
        self.folder = folder
        self.port = free_port()
        self.traffic_port = free_port()
        self._monitor = monitor
        self._process: subprocess.Popen[bytes] | None = None
        self.instance = Instance("127.0.0.1", self.port)

    def __enter__(self) -> Self:
        self.start(initial=True)
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process id.

        Raises: RuntimeError when it is not running.
        """
        if self._process is None:
            raise RuntimeError("ProxySQL is not running")
        return self._process.pid

    def configuration(self) -> str:
        """Return the text of its .cnf."""
        text = self._config.format(
            folder=self.folder,
            port=self.port,
            traffic_port=self.traffic_port,
            monitor="true" if self._monitor else "false",
        )
        return text if binary_version(self.binary) < (3, 0, 0) else _on_loopback(text)

    def start(self, *, initial: bool = False) -> None:
        """Start it and wait until it takes administrators and clients. `initial` discards DISK."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "proxysql.cnf"
        config.write_text(self.configuration(), encoding="utf-8", errors="surrogateescape")
        arguments = [self.binary, "-f", "-D", str(self.folder), "-c", str(config)]
        for _ in range(_STARTS):
            with (self.folder / "output.log").open("ab") as log:
                self._process = subprocess.Popen(
                    [*arguments, *(["--initial"] if initial else [])],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            if self._has_started():
                self._wait_for_traffic()
                return
        raise RuntimeError(f"ProxySQL did not start:\n{self.log_tail()}")

    def _has_started(self) -> bool:
        """Wait for a login; return whether it succeeded without a crash before.

        Raises: RuntimeError when the process ended by itself, or does not answer.
        """
        deadline = time.monotonic() + 120
        while True:
            if self._process is None or self._process.poll() is not None:
                if _CRASHED in self.log_tail():
                    return False
                raise RuntimeError(f"ProxySQL did not start:\n{self.log_tail()}")
            try:
                # A 3.0.3 that still starts may take a connection and never greet it.
                self.instance.connect(read_timeout=10).close()
            except pymysql.err.OperationalError:
                if time.monotonic() > deadline:
                    self.stop()
                    raise RuntimeError(f"ProxySQL does not answer:\n{self.log_tail()}") from None
                time.sleep(0.05)
            else:
                return True

    def _wait_for_traffic(self) -> None:
        """Wait until clients can connect: it listens for them after its administrators."""
        if "{traffic_port}" not in self._config:
            return
        deadline = time.monotonic() + 120
        while True:
            with socket.socket() as client:
                if client.connect_ex((self.instance.host, self.traffic_port)) == 0:
                    return
            if time.monotonic() > deadline:
                raise RuntimeError(f"ProxySQL takes no clients:\n{self.log_tail()}")
            time.sleep(0.02)

    def log_tail(self) -> str:
        """Return the last lines of ProxySQL's log."""
        log = self.folder / "output.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        return "\n".join(text.splitlines()[-25:])

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the process: SIGTERM, then SIGKILL."""
        self.instance.close()
        self._end(signal.SIGTERM)

    def restart(self) -> None:
        """Stop and start again, with the configuration of DISK."""
        self.stop()
        self.start()

    def _end(self, sign: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(sign)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
