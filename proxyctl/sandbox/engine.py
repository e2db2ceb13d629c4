"""One statement in, one answer out: the admin interface without its network side."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from proxyctl.catalog import NO_DEVIATIONS, Deviations, Version
from proxyctl.catalog.releases import PURGES_DIGESTS
from proxyctl.sandbox import statements, tables
from proxyctl.sandbox.database import Database
from proxyctl.sandbox.layers import Layers
from proxyctl.sandbox.logins import AdminAccounts, ClientSession, LoginRole, Proof, denied
from proxyctl.sandbox.replies import OK, Answer, not_modelled, refusal
from proxyctl.sandbox.runtime import as_tuples, starting_values
from proxyctl.sandbox.statistics import Statistics
from proxyctl.sandbox.text import normalised, single

_ATTACHED = ("stats", "monitor", "stats_history")
_CLEAR_DIGESTS = ("TRUNCATE STATS_MYSQL_QUERY_DIGEST", "TRUNCATE TABLE STATS_MYSQL_QUERY_DIGEST")
_PURGE_DIGESTS = re.compile(
    r"PURGE (?:TABLE )?(?:STATS\.)?STATS_MYSQL_QUERY_DIGEST TO ([0-9]{1,18})"
)


class AdminEngine:
    """Everything behind ProxySQL's admin port. Runs one statement at a time for all sessions."""

    def __init__(self, layers: Layers, clock: Callable[[], float]) -> None:
        self.lock = threading.RLock()
        """Held while a statement runs."""
        self.layers = layers
        self.statistics = Statistics(layers, clock)
        self._database = layers.database
        self._are_variables_shown = True
        self._logins = AdminAccounts()

    def disk_image(self) -> bytes:
        """Return the content of DISK, for a restart without a file."""
        with self.lock:
            return self._database.image("disk")

    def close(self) -> None:
        """Close the database. A file that holds DISK stays."""
        self._database.close()

    # --- logins ---------------------------------------------------------------------------------

    def log_in(self, user: str, host: str, proof: Proof, *, is_remote: bool) -> ClientSession:
        """Log a client in and return its session.

        Raises: AdminError, in ProxySQL's words, for a refused login.
        """
        with self.lock:
            users = self.layers.rows["mysql_users"]
            if any(row["username"] == user and row["frontend"] == 1 for row in users):
                raise denied(user, host, proof)  # even if an administrator has the same name
            return self._logins.log_in(user, host, proof, self.layers.running, is_remote=is_remote)

    def variable(self, name: str) -> str:
        """Return the value of a variable at RUNTIME; empty if this version lacks it."""
        with self.lock:
            return self.layers.running.get(name, "")

    # --- statements -----------------------------------------------------------------------------

    def execute(self, sql: str, session: ClientSession) -> Answer:
        """Return the answer to a client's text.

        Raises: AdminError for everything that gets an error packet.
        """
        with self.lock:
            statement = single(sql)
            text = normalised(statement)
            running = self.layers.running
            if reply := statements.greeting(text, session, running):
                return reply
            if session.role is LoginRole.STATS:
                raise not_modelled("what accounts of admin-stats_credentials may read")
            command = statements.load_or_save(text, self.layers.modules)
            if command is not None:
                self._are_variables_shown = False
                return self.layers.run(command)
            statements.refuse_unmodelled(text)
            self._refresh(statement, text)
            if not text.upper().startswith("SELECT"):
                # The statement may write variables.
                self._are_variables_shown = False
            return (
                self._own_command(text.upper())
                or statements.answer(text, self._database, running)
                or self._run(statement)
            )

    def _own_command(self, upper: str) -> Answer | None:
        if upper in ("PROXYSQL READONLY", "PROXYSQL READWRITE"):
            is_read_only = upper == "PROXYSQL READONLY"
            self.layers.running["admin-read_only"] = str(is_read_only).lower()
            return OK
        if upper == "SHOW PROMETHEUS METRICS":
            return Answer(("Data",), [(self.statistics.metrics(),)])
        if upper in _CLEAR_DIGESTS:
            return Answer(affected=self.statistics.clear_digests())
        purge = _PURGE_DIGESTS.fullmatch(upper)
        if purge and self.layers.version.has(PURGES_DIGESTS):
            return Answer(affected=self.statistics.purge_digests(int(purge[1])))
        return None

    def _run(self, statement: str) -> Answer:
        result = self._database.run(statement, readonly=self.layers.is_read_only)
        if not result.columns and "runtime_" in statement.lower():
            # A client wrote into a runtime_ table: the next SELECT shows RUNTIME again.
            self.layers.rows.stale.update(self.layers.layouts)
        return result

    # --- what a text refreshes ------------------------------------------------------------------

    def _refresh(self, statement: str, text: str) -> None:
        """Refill the tables whose lower-case name occurs anywhere in the text, as ProxySQL does."""
        if "runtime_" in statement:
            self._refresh_runtime(statement)
        if "global_variables" in statement or text.upper().startswith(("SET ", "SHOW ")):
            if not self._are_variables_shown:
                self.layers.show_variables()
            self._are_variables_shown = True
        if "stats_" in statement:
            self.statistics.refresh(statement, self._database)

    def _refresh_runtime(self, statement: str) -> None:
        rows = self.layers.rows
        for module in self.layers.modules.values():
            if not any(f"runtime_{table}" in statement for table in module):
                continue
            for table in rows.stale.intersection(module):
                self._show_runtime(table)
            rows.stale.difference_update(module)
        if "runtime_checksums_values" in statement:
            checksums = sorted(self.layers.checksums.items())
            self._database.refill(
                "main.runtime_checksums_values",
                [(name, row.version, row.epoch, row.checksum) for name, row in checksums],
            )

    def _show_runtime(self, table: str) -> None:
        layout = tables.at_runtime(self.layers.layouts[table])
        rows = as_tuples(layout, self.layers.rows[table])
        try:
            self._database.refill(f"main.runtime_{table}", rows)
        except sqlite3.IntegrityError as error:
            # A number that did not fit 32 bits, or two texts for the same number.
            raise refusal(
                f"refuses to show runtime_{table}: {error}. ProxySQL crashes here, or drops the row"
            ) from error


# --- start-up -------------------------------------------------------------------------------------


class Start(NamedTuple):
    """A ProxySQL that is about to start."""

    version: Version
    """The version that it behaves like."""
    product: str
    """The text of its version."""
    overrides: tuple[tuple[str, str], ...] = ()
    """The variables that differ from the defaults of `version`."""
    deviations: Deviations = NO_DEVIATIONS
    """The tables, columns and variables that differ from those of `version`."""

    def engine(self, path: Path | None, disk: bytes, clock: Callable[[], float]) -> AdminEngine:
        """Return an engine after ProxySQL's start-up.

        DISK is the file `path`; without a file it begins with the image `disk`, or empty.
        Raises: sqlite3.DatabaseError for a file that cannot be DISK.
        """
        if path is None and not disk:
            return AdminEngine(_first_start(self).copy(clock), clock)
        file = str(path.absolute()) if path else ":memory:"
        database = Database({"disk": file, **dict.fromkeys(_ATTACHED, ":memory:")})
        if path is None:
            database.restore("disk", disk)
        return AdminEngine(self.layers(database, clock), clock)

    def layers(self, database: Database, clock: Callable[[], float]) -> Layers:
        """Create the tables and return the layers. Changes: database, closed after an error."""
        try:
            running = starting_values(self.version, self.product)
            running.update(dict.fromkeys(self.deviations.variables, ""))
            unknown = {name for name, _ in self.overrides} - set(running)
            if unknown:
                raise ValueError(f"this version has no variable {', '.join(sorted(unknown))}")
            running.update(self.overrides)
            layers = Layers(database, self.version, self.deviations, running, clock)
            layers.start()
        except BaseException:
            database.close()
            raise
        return layers


@cache
def _first_start(start: Start) -> Layers:
    """Start once with an empty DISK: a copy takes a hundredth of the time."""
    database = Database(dict.fromkeys(("disk", *_ATTACHED), ":memory:"))
    return start.layers(database, time.time)
