"""The sandbox as an object: start it, talk to it, stop it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from proxyctl.catalog import NO_DEVIATIONS, Deviations, parse_version
from proxyctl.catalog.plugins import simulated_version
from proxyctl.errors import ProxyctlError
from proxyctl.sandbox import sample_shop
from proxyctl.sandbox.engine import AdminEngine, Start
from proxyctl.sandbox.layers import RuntimeRows
from proxyctl.sandbox.logins import ClientSession, LoginRole
from proxyctl.sandbox.replies import Answer, Options, SqliteValue, address_text
from proxyctl.sandbox.runtime import server_key

if TYPE_CHECKING:
    from proxyctl.sandbox.server import AdminServer

_INSIDE = ClientSession("admin", LoginRole.ADMIN)


class Sandbox:
    """An embedded ProxySQL admin interface, served over the MySQL protocol from background threads.

    `users` and `stats_users` are the logins at start, `variables` other global variables that
    differ from the defaults of `version`. `deviations`: what the sandbox has beyond that version,
    as a future ProxySQL may. DISK is the file `path`, or in memory. `clock` returns unix seconds.
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
        deviations: Deviations = NO_DEVIATIONS,
        path: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        # A version beyond the catalogue is simulated only as far as its deviations say.
        parsed = (simulated_version if deviations is NO_DEVIATIONS else parse_version)(version)
        admins = {"admin": "admin", "radmin": "radmin"} if users is None else users
        readers = {"stats": "stats"} if stats_users is None else stats_users
        overrides = {
            "admin-admin_credentials": _credentials(admins),
            "admin-stats_credentials": _credentials(readers),
            **(variables or {}),
        }
        product = f"{version}-sandbox" if str(parsed) == version else version
        start = Start(parsed, product, tuple(overrides.items()), deviations)
        self._make_engine: Callable[[bytes], AdminEngine] = lambda disk: start.engine(
            path, disk, clock
        )
        self._engine = self._first_engine(path)
        self._server: AdminServer | None = None
        self.host = ""
        self.port = 0
        self.options = Options()

    def _first_engine(self, path: Path | None) -> AdminEngine:
        try:
            return self._make_engine(b"")
        except sqlite3.DatabaseError as error:
            raise ProxyctlError(
                f"{path} cannot be used as DISK: {error}",
                fix="name a file made by a sandbox of this version, or a new file in a folder that"
                " you can write to",
            ) from error

    # --- serving --------------------------------------------------------------------------------

    def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Serve from background threads and return the port; 0 picks a free one.

        Raises: ProxyctlError when the address is taken or not of this machine.
        """
        from proxyctl.sandbox.server import AdminServer

        self._server = AdminServer(self._engine, self.options, host, port)
        self.host, self.port = host, self._server.port
        return self.port

    @property
    def address(self) -> str:
        """The address that the sandbox listens on, as people write it."""
        return address_text(self.host, self.port)

    def stop(self) -> None:
        """Stop serving. Clients are cut off; MEMORY, RUNTIME and DISK stay as they are."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    def close(self) -> None:
        """Stop serving and forget everything that is not in the file."""
        self.stop()
        self._engine.close()

    def restart(self) -> None:
        """Restart as ProxySQL does: only DISK comes back. The port stays the same."""
        is_serving = self._server is not None
        self.stop()
        disk = self._engine.disk_image()
        self._engine.close()
        self._engine = self._make_engine(disk)
        if is_serving:
            self.start(self.host, self.port)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- looking inside -------------------------------------------------------------------------

    @property
    def runtime(self) -> RuntimeRows:
        """RUNTIME by table. Assign a table to play the monitor or traffic."""
        return self._engine.layers.rows

    @property
    def stats(self) -> dict[str, list[tuple[SqliteValue, ...]]]:
        """The rows that statistics tables show, by table name, in column order."""
        return self._engine.statistics.fixed

    def fill_with_sample(self) -> None:
        """Put a made-up shop into all layers, with statistics of traffic that continues.

        Raises: AdminError if rows conflict with existing ones. A restart forgets the statistics.
        """
        for sql in sample_shop.statements():
            self.run(sql)
        for node in sample_shop.NODES:
            if node.is_shunned:
                self.shun(node.hostgroup, node.hostname, sample_shop.PORT)
        with self._engine.lock:
            self._engine.statistics.begin_traffic()

    def shun(self, hostgroup: int, hostname: str, port: int) -> None:
        """Make one server SHUNNED at RUNTIME, as a failed ping does."""
        with self._engine.lock:
            self.runtime["mysql_servers"] = [
                {**row, "status": "SHUNNED"}
                if server_key(row) == (hostgroup, hostname, port)
                else row
                for row in self.runtime["mysql_servers"]
            ]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make all statements wait, as a long statement of another client does."""
        with self._engine.lock:
            yield

    def run(self, sql: str) -> Answer:
        """Run one statement as an administrator, without the network.

        Raises: AdminError where a client would get an error packet.
        """
        return self._engine.execute(sql, _INSIDE)

    def query(self, sql: str) -> list[tuple[SqliteValue, ...]]:
        """Return the rows of one statement, with SQLite's own types."""
        return self.run(sql).rows


def _credentials(users: Mapping[str, str]) -> str:
    return ";".join(f"{name}:{password}" for name, password in users.items())
