"""One statement in, one answer out: the admin interface without its network side."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from proxyctl.catalog import NO_ADDITIONS, Additions, Version
from proxyctl.catalog.variables import RESTART_ONLY
from proxyctl.sandbox import commands, questions, tables
from proxyctl.sandbox.database import Database
from proxyctl.sandbox.layers import Layers
from proxyctl.sandbox.logins import Logins, Proof, Role, Session
from proxyctl.sandbox.replies import OK, Result, refusal, sqlite_error
from proxyctl.sandbox.runtime import as_tuples
from proxyctl.sandbox.statements import normalised, single
from proxyctl.sandbox.statistics import Statistics
from proxyctl.sandbox.tables import CHECKSUM_COLUMNS, VARIABLE_COLUMNS
from proxyctl.sandbox.variables import first_on_disk, starting_values
from proxyctl.sandbox.variables import rows as variable_rows

_ATTACHED = ("stats", "monitor", "stats_history")
_CLEAR_DIGESTS = ("TRUNCATE STATS_MYSQL_QUERY_DIGEST", "TRUNCATE TABLE STATS_MYSQL_QUERY_DIGEST")


class Engine:
    """All that a ProxySQL has behind its admin port. One statement at a time, whoever sends it.

    `overrides` are variables that differ from the defaults of `version`. DISK lives in the file
    `path`; without one it begins with the image `disk`, or empty.
    """

    def __init__(
        self,
        version: Version,
        product: str,
        overrides: Mapping[str, str],
        *,
        additions: Additions = NO_ADDITIONS,
        path: Path | None = None,
        disk: bytes = b"",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.lock = threading.RLock()
        """Held while a statement runs."""
        self._version = version
        self._layouts = tables.layouts(version, additions)
        self._modules = tables.modules(version)
        file = str(path.absolute()) if path else ":memory:"
        self._database = Database({"disk": file, **dict.fromkeys(_ATTACHED, ":memory:")})
        self._readers_database = Database(dict.fromkeys(_ATTACHED[1:], ":memory:"))
        self._logins = Logins()
        try:
            if disk:
                self._database.restore("disk", disk)
            tables.create_all(self._database, self._layouts, version)
            tables.create_statistics(self._readers_database, "main", version)
            running = starting_values(version, product)
            running.update(dict.fromkeys(additions.variables, ""))
            self.layers = Layers(
                self._database, version, self._layouts, self._modules, running, clock
            )
            self.statistics = Statistics(self.layers, clock)
            self._start(overrides)
        except BaseException:
            self.close()
            raise

    def _start(self, overrides: Mapping[str, str]) -> None:
        """Go through ProxySQL's start-up: DISK to MEMORY, defaults for what is missing, RUNTIME."""
        running = self.layers.running
        unknown = set(overrides) - set(running)
        if unknown:
            raise ValueError(f"this version has no variable {', '.join(sorted(unknown))}")
        running.update(overrides)
        on_disk = self._database.fetch(
            "SELECT variable_name, variable_value FROM disk.global_variables"
        )
        running.update((str(name), str(value)) for name, value in on_disk if name in RESTART_ONLY)
        self._database.insert("main.global_variables", VARIABLE_COLUMNS, on_disk)
        self.layers.add_missing_variables()
        for table in self._layouts:
            self._database.execute(f"INSERT INTO main.{table} SELECT * FROM disk.{table}")
        self.layers.start()
        self._database.insert(
            "disk.global_variables",
            VARIABLE_COLUMNS,
            variable_rows(first_on_disk(self._version, running)),
            verb="OR IGNORE",
        )
        self._logins.load_credentials(running)
        self._load_proxy_users()

    def disk_image(self) -> bytes:
        """Return all that DISK holds, for a restart without a file."""
        with self.lock:
            return self._database.image("disk")

    def close(self) -> None:
        """Close the databases. What DISK holds in a file stays."""
        self._database.close()
        self._readers_database.close()

    # --- logins ---------------------------------------------------------------------------------

    def log_in(self, user: str, host: str, proof: Proof, *, is_remote: bool) -> Session:
        """Return the session of a client that may come in.

        Raises: AdminError as ProxySQL words it.
        """
        with self.lock:
            return self._logins.log_in(user, host, proof, self.layers.running, is_remote=is_remote)

    def variable(self, name: str) -> str:
        """Return what a variable is at RUNTIME; empty when this version lacks it."""
        with self.lock:
            return self.layers.running.get(name, "")

    def _load_proxy_users(self) -> None:
        users = self.layers.rows["mysql_users"]
        self._logins.load_users(str(user["username"]) for user in users if user["frontend"] == 1)

    # --- statements -----------------------------------------------------------------------------

    def execute(self, sql: str, session: Session) -> Result:
        """Return the answer to a client's text.

        Raises: AdminError for everything that gets an error packet.
        """
        with self.lock:
            statement = single(sql)
            text = normalised(statement)
            if session.role is Role.STATS:
                return self._execute_for_reader(statement, text, session)
            command = commands.parse(text, self._modules)
            if command is not None:
                return self._move(command)
            unmodelled = commands.unmodelled(text)
            if unmodelled is not None:
                raise unmodelled
            self._refresh(statement, text)
            return (
                self._own_command(text.upper())
                or questions.answered(text, session, self._database, self.layers.running)
                or self._run(statement)
            )

    def _execute_for_reader(self, statement: str, text: str, session: Session) -> Result:
        """Answer a client of the stats role, which has a database of its own."""
        if text.upper().startswith(("PRAGMA", "ATTACH")):
            raise sqlite_error("Command not allowed")
        database = self._readers_database
        if "stats_" in statement:
            self.statistics.refresh(statement, database, "main", self._version)
        return questions.answered(text, session, database, self.layers.running) or database.run(
            statement, readonly=True
        )

    def _move(self, command: commands.Command) -> Result:
        result = self.layers.run(command)
        if command.direction is commands.Direction.MEMORY_TO_RUNTIME:
            if command.module == "ADMIN VARIABLES":
                self._logins.load_credentials(self.layers.running)
            elif command.module == "MYSQL USERS":
                self._load_proxy_users()
        return result

    def _own_command(self, upper: str) -> Result | None:
        if upper in ("PROXYSQL READONLY", "PROXYSQL READWRITE"):
            is_read_only = upper == "PROXYSQL READONLY"
            self.layers.running["admin-read_only"] = str(is_read_only).lower()
            return OK
        if upper in _CLEAR_DIGESTS:
            return Result(affected=self.statistics.clear_digests())
        return None

    def _run(self, statement: str) -> Result:
        result = self._database.run(statement, readonly=self.layers.is_read_only)
        if not result.columns and "runtime_" in statement.lower():
            # A client wrote into a twin: the next look at it shows RUNTIME again.
            self.layers.rows.stale.update(self._layouts)
        return result

    # --- what a text refreshes ------------------------------------------------------------------

    def _refresh(self, statement: str, text: str) -> None:
        """Refill the tables whose lower-case name occurs anywhere in the text, as ProxySQL does."""
        if "runtime_" in statement:
            self._refresh_runtime(statement)
        if "global_variables" in statement or text.upper().startswith(("SET ", "SHOW ")):
            self.layers.add_missing_variables()
            self._database.refill(
                "main.runtime_global_variables",
                VARIABLE_COLUMNS,
                sorted(variable_rows(self.layers.running)),
            )
        if "stats_" in statement:
            self.statistics.refresh(statement, self._database, "stats", self._version)

    def _refresh_runtime(self, statement: str) -> None:
        rows = self.layers.rows
        for module in self._modules.values():
            if not any(f"runtime_{table}" in statement for table in module):
                continue
            for table in rows.stale.intersection(module):
                self._show_runtime(table)
            rows.stale.difference_update(module)
        if "runtime_checksums_values" in statement:
            found = sorted(self.layers.checksums.items())
            self._database.refill(
                "main.runtime_checksums_values",
                CHECKSUM_COLUMNS,
                [(name, one.version, one.epoch, one.checksum) for name, one in found],
            )

    def _show_runtime(self, table: str) -> None:
        layout = self._layouts[table]
        rows = as_tuples(layout, self.layers.rows[table])
        try:
            self._database.refill(f"main.runtime_{table}", layout.names, rows)
        except sqlite3.IntegrityError as error:
            # A number that did not fit 32 bits, or two texts that are one number.
            raise refusal(
                f"refuses to show runtime_{table}: {error}. ProxySQL dies here, or drops the row"
            ) from error
