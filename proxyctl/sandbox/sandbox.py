"""The sandbox as an object: start it, talk to it, stop it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from proxyctl.catalog import NO_ADDITIONS, Additions, known_version
from proxyctl.errors import InternalError, ProxyctlError
from proxyctl.sandbox import sample_shop
from proxyctl.sandbox.engine import Engine
from proxyctl.sandbox.layers import RuntimeRows
from proxyctl.sandbox.logins import Role, Session
from proxyctl.sandbox.monitor import Monitor
from proxyctl.sandbox.options import Options
from proxyctl.sandbox.replies import Cell, Result
from proxyctl.sandbox.runtime import Server as Backend
from proxyctl.sandbox.starting import check_host, disk_error, listen_error

if TYPE_CHECKING:
    from proxyctl.sandbox.server import Server

_INSIDE = Session("admin", Role.ADMIN)


class Sandbox:
    """An embedded ProxySQL admin interface, served over the MySQL protocol from a thread.

    `users` and `stats_users` are the logins at start, `variables` other global variables that
    differ from the defaults of `version`. `additions` are what it has beyond that version, as a
    ProxySQL of tomorrow has. DISK is kept in the file `path`, or in memory.
    `clock` tells the time in unix seconds.
    Raises: ProxyctlError for a version that the catalogue does not know, and for a file that cannot
    be used.
    """

    def __init__(
        self,
        version: str = "2.7.1",
        users: Mapping[str, str] | None = None,
        *,
        stats_users: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        additions: Additions = NO_ADDITIONS,
        path: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        parsed = known_version(version)
        admins = {"admin": "admin", "radmin": "radmin"} if users is None else users
        readers = {"stats": "stats"} if stats_users is None else stats_users
        overrides = {
            "admin-admin_credentials": _credentials(admins),
            "admin-stats_credentials": _credentials(readers),
            **(variables or {}),
        }
        product = f"{version}-sandbox" if str(parsed) == version else version
        self._make_engine: Callable[[bytes], Engine] = lambda disk: Engine(
            parsed, product, overrides, additions=additions, path=path, disk=disk, clock=clock
        )
        self._engine = self._first_engine(path)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = threading.Event()
        self._is_stopping = threading.Lock()
        self.host = ""
        self.port = 0
        self.options = Options()

    def _first_engine(self, path: Path | None) -> Engine:
        try:
            return self._make_engine(b"")
        except sqlite3.DatabaseError as error:
            raise disk_error(path or Path(), error) from error

    # --- serving --------------------------------------------------------------------------------

    def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Serve from a background thread and return the port; 0 picks a free one.

        Raises: ProxyctlError when the address is taken or is none of this machine, or when the
        library for the protocol is missing.
        """
        if self._thread is not None:
            raise InternalError("the sandbox is already serving")
        check_host(host)
        server = self._server()
        started: Future[int] = Future()
        self._ended.clear()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(server, host, port, started)),
            name="proxyctl-sandbox",
            daemon=True,
        )
        self._thread.start()
        try:
            self.port = started.result()
        except (OSError, UnicodeError, OverflowError) as error:
            raise listen_error(host, port, error) from error
        finally:
            if started.exception() is not None:
                self._thread.join()
                self._thread = None
        self.host = host
        return self.port

    def stop(self) -> None:
        """Stop serving. Clients are cut off; MEMORY, RUNTIME and DISK stay as they are."""
        with self._is_stopping:
            if self._thread is None or self._loop is None:
                return
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()
            self._thread = self._loop = None

    def close(self) -> None:
        """Stop serving and forget everything that is not in the file."""
        self.stop()
        self._engine.close()

    def restart(self) -> None:
        """Do what a restart of ProxySQL does: DISK is all that comes back. The port stays."""
        host, port, is_serving = self.host, self.port, self._thread is not None
        self.stop()
        disk = self._engine.disk_image()
        self._engine.close()
        self._engine = self._make_engine(disk)
        if is_serving:
            self.start(host, port)

    def serve_forever(
        self, host: str = "127.0.0.1", port: int = 6032, ready: Callable[[int], None] | None = None
    ) -> None:
        """Serve until interrupted or stopped from another thread; `ready` is told the port."""
        try:
            found = self.start(host, port)
            if ready is not None:
                ready(found)
            # A timeout keeps the main thread open to the interrupt key on every platform.
            while not self._ended.wait(1):
                pass
        finally:
            self.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _server(self) -> Server:
        try:
            from proxyctl.sandbox.server import Server
        except ModuleNotFoundError as error:
            raise ProxyctlError(
                f"the sandbox needs the package {error.name}",
                hint="in the checkout of proxyctl: pip install '.[sandbox]'",
            ) from error
        return Server(self._engine, self.options)

    async def _serve(self, server: Server, host: str, port: int, started: Future[int]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        try:
            started.set_result(await server.start(host, port))
        except BaseException as error:
            # Whatever it is, `start` waits for it.
            started.set_exception(error)
            return
        await self._stopping.wait()
        await server.stop()
        self._ended.set()

    # --- looking inside -------------------------------------------------------------------------

    @property
    def runtime(self) -> RuntimeRows:
        """RUNTIME by table. Assign a table to do what the monitor or traffic would do."""
        return self._engine.layers.rows

    @property
    def monitor(self) -> Monitor:
        """Moves nodes at RUNTIME as ProxySQL's monitor would."""
        return Monitor(self._engine)

    @property
    def used_connections(self) -> dict[Backend, int]:
        """Connections in use by (hostgroup, hostname, port): such a server leaves only slowly."""
        return self._engine.layers.used

    @property
    def stats(self) -> dict[str, list[tuple[Cell, ...]]]:
        """Rows to be shown by a statistics table, by its name, in column order."""
        return self._engine.statistics.fixed

    def fill_with_sample(self) -> None:
        """Put a made-up shop into all layers, with statistics of traffic that goes on.

        Raises: AdminError where rows are in the way. A restart forgets the statistics.
        """
        for sql in sample_shop.statements():
            self.run(sql)
        for node in sample_shop.NODES:
            if node.is_shunned:
                self.monitor.shun(node.hostgroup, (node.hostname, sample_shop.PORT))
        with self._engine.lock:
            self._engine.statistics.begin_traffic()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let all statements wait, as a long statement of somebody else does."""
        with self._engine.lock:
            yield

    def run(self, sql: str) -> Result:
        """Run one statement as an administrator, without the network.

        Raises: AdminError where a client would get an error packet.
        """
        return self._engine.execute(sql, _INSIDE)

    def query(self, sql: str) -> list[tuple[Cell, ...]]:
        """Return the rows of one statement, with SQLite's own types."""
        return self.run(sql).rows


def _credentials(users: Mapping[str, str]) -> str:
    return ";".join(f"{name}:{password}" for name, password in users.items())
