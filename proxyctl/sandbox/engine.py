"""One statement in, one answer out: the admin interface without its network side."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from proxyctl.catalog import NO_ADDITIONS, Additions, Version
from proxyctl.catalog.variables import RESTART_ONLY
from proxyctl.sandbox import chatter, commands, show, statistics, tables
from proxyctl.sandbox.database import Database
from proxyctl.sandbox.logins import Logins, Proof, Role, Session
from proxyctl.sandbox.replies import (
    OK,
    Cell,
    Result,
    refusal,
    sqlite_error,
)
from proxyctl.sandbox.runtime import as_tuples
from proxyctl.sandbox.sample_traffic import UPTIME_S, SampleTraffic
from proxyctl.sandbox.statements import normalised, single
from proxyctl.sandbox.tables import CHECKSUM_COLUMNS, VARIABLE_COLUMNS
from proxyctl.sandbox.transfer import Transfer
from proxyctl.sandbox.variables import first_on_disk, starting_values
from proxyctl.sandbox.variables import rows as variable_rows

_CLEARS_DIGESTS = re.compile(r"TRUNCATE (TABLE )?(STATS\.)?STATS_MYSQL_QUERY_DIGEST(_RESET)?")


class Engine:
    """All that a ProxySQL has behind its admin port. One statement at a time, whoever sends it.

    DISK lives in the file `path`; without one it begins with the image `disk`, or empty.
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
        self.product = product
        self._lock = threading.RLock()
        self._layouts = tables.layouts(version, additions)
        self._modules = tables.modules(version)
        self._clock = clock
        self._started = clock()
        self._database = Database(
            {
                "disk": str(path.absolute()) if path else ":memory:",
                "stats": ":memory:",
                "monitor": ":memory:",
                "stats_history": ":memory:",
            }
        )
        self._stats_database = Database({"monitor": ":memory:", "stats_history": ":memory:"})
        self.stats: dict[str, list[tuple[Cell, ...]]] = {}
        """Rows that tests put into a statistics table, by its name, in column order."""
        self._traffic: SampleTraffic | None = None
        self._logins = Logins()
        try:
            self._create_tables(version, disk)
            running = starting_values(version, product)
            running.update(dict.fromkeys(additions.variables, ""))
            self._transfer = Transfer(
                self._database, version, self._layouts, self._modules, running, clock
            )
            self._start(overrides)
        except BaseException:
            self.close()
            raise

    def _create_tables(self, version: Version, disk: bytes) -> None:
        if disk:
            self._database.restore("disk", disk)
        tables.create_all(self._database, version, self._layouts)
        tables.create_for_readers(self._stats_database, version)
        self._stats = {
            Role.ADMIN: statistics.Statistics(self._database, "stats", version),
            Role.STATS: statistics.Statistics(self._stats_database, "main", version),
        }

    def _start(self, overrides: Mapping[str, str]) -> None:
        """Go through ProxySQL's start-up: DISK to MEMORY, defaults for what is missing, RUNTIME."""
        running = self._transfer.running
        unknown = set(overrides) - set(running)
        if unknown:
            raise ValueError(f"this version has no variable {', '.join(sorted(unknown))}")
        running.update(overrides)
        on_disk = self._database.fetch(
            "SELECT variable_name, variable_value FROM disk.global_variables"
        )
        running.update((str(name), str(value)) for name, value in on_disk if name in RESTART_ONLY)
        self._database.insert("main.global_variables", VARIABLE_COLUMNS, on_disk)
        self._transfer.add_missing_variables()
        for table in self._layouts:
            self._database.execute(f"INSERT INTO main.{table} SELECT * FROM disk.{table}")
        self._transfer.start()
        self._database.insert(
            "disk.global_variables",
            VARIABLE_COLUMNS,
            variable_rows(first_on_disk(self._transfer.version, running)),
            verb="OR IGNORE",
        )
        self._logins.load_credentials(running)
        self._load_proxy_users()

    @property
    def transfer(self) -> Transfer:
        """The layers, open to tests that play the monitor."""
        return self._transfer

    def begin_traffic(self) -> None:
        """Let the statistics be those of the sample shop, whose configuration is at RUNTIME."""
        with self._lock:
            now = self._clock()
            self._started = now - UPTIME_S
            self._traffic = SampleTraffic(self._transfer, self._clock)

    @property
    def lock(self) -> threading.RLock:
        """Held while a statement runs."""
        return self._lock

    @property
    def uptime_s(self) -> int:
        """How long ago it started, in seconds."""
        return int(self._clock() - self._started)

    def disk_image(self) -> bytes:
        """Return all that DISK holds, for a restart without a file."""
        with self._lock:
            return self._database.image("disk")

    def close(self) -> None:
        """Close the databases. What DISK holds in a file stays."""
        self._database.close()
        self._stats_database.close()

    # --- logins ---------------------------------------------------------------------------------

    def log_in(self, user: str, host: str, proof: Proof, *, is_remote: bool) -> Session:
        """Return the session of a client that may come in.

        Raises: AdminError as ProxySQL words it.
        """
        with self._lock:
            return self._logins.log_in(
                user, host, proof, self._transfer.running, is_remote=is_remote
            )

    def variable(self, name: str) -> str:
        """Return what a variable is at RUNTIME; empty when this version lacks it."""
        with self._lock:
            return self._transfer.running.get(name, "")

    def _load_proxy_users(self) -> None:
        users = self._transfer.rows["mysql_users"]
        self._logins.load_users(str(user["username"]) for user in users if user["frontend"] == 1)

    # --- statements -----------------------------------------------------------------------------

    def execute(self, sql: str, session: Session) -> Result:
        """Return the answer to a client's text.

        Raises: AdminError for everything that gets an error packet.
        """
        with self._lock:
            statement = single(sql)
            text = normalised(statement)
            if chatter.is_ignored(text, session):
                return OK
            if session.role is Role.STATS:
                return self._execute_stats(statement, text, session)
            return self._execute_admin(statement, text, session)

    def _execute_admin(self, statement: str, text: str, session: Session) -> Result:
        command = commands.parse(text, self._modules)
        if command is not None:
            return self._move(command)
        unmodelled = commands.unmodelled(text)
        if unmodelled is not None:
            raise unmodelled
        self._refresh(statement, text)
        return (
            self._own_command(text)
            or show.described(text, self._database)
            or self._talk(text, session, self._database)
            or self._run(statement)
        )

    def _talk(self, text: str, session: Session, database: Database) -> Result | None:
        """Return the answer to SET, SHOW and what clients ask, or None for SQL."""
        readonly = session.role is Role.STATS or self._transfer.is_read_only
        error = chatter.dollar_error(text, self._transfer.running["mysql-server_version"])
        if error is not None:
            raise error
        numbers = chatter.numbers(text, read_only=self._transfer.is_read_only)
        if numbers is not None:
            return numbers
        query = chatter.rewritten(
            text, session, self.product, read_only=self._transfer.is_read_only
        ) or show.rewritten(text, session.role, self.product)
        if query is not None:
            self._refresh_stats(query, session.role)
            return database.run(query, readonly=readonly)
        return chatter.set_variable(text, database, self._transfer.running, readonly=readonly)

    def _run(self, statement: str) -> Result:
        result = self._database.run(statement, readonly=self._transfer.is_read_only)
        if not result.columns and "runtime_" in statement.lower():
            # A client wrote into a twin: the next look at it shows RUNTIME again.
            self._transfer.rows.stale.update(self._layouts)
        return result

    def _move(self, command: commands.Command) -> Result:
        result = self._transfer.run(command)
        if command.direction is commands.Direction.MEMORY_TO_RUNTIME:
            if command.module == "ADMIN VARIABLES":
                self._logins.load_credentials(self._transfer.running)
            elif command.module == "MYSQL USERS":
                self._load_proxy_users()
        return result

    def _own_command(self, text: str) -> Result | None:
        match text.upper():
            case "PROXYSQL READONLY":
                self._transfer.running["admin-read_only"] = "true"
            case "PROXYSQL READWRITE":
                self._transfer.running["admin-read_only"] = "false"
            case upper if _CLEARS_DIGESTS.fullmatch(upper):
                return Result(affected=self._clear_stats("stats_mysql_query_digest"))
            case _:
                return None
        return OK

    def _execute_stats(self, statement: str, text: str, session: Session) -> Result:
        if text.upper().startswith(("PRAGMA", "ATTACH")):
            raise sqlite_error("Command not allowed")
        self._refresh_stats(statement, Role.STATS)
        database = self._stats_database
        return self._talk(text, session, database) or database.run(statement, readonly=True)

    # --- what a text refreshes ------------------------------------------------------------------

    def _refresh(self, statement: str, text: str) -> None:
        """Refill the tables whose lower-case name occurs anywhere in the text, as ProxySQL does."""
        if "runtime_" in statement:
            self._refresh_runtime(statement)
        if "global_variables" in statement or text.upper().startswith(("SET ", "SHOW ")):
            self._transfer.add_missing_variables()
            self._database.refill(
                "main.runtime_global_variables",
                VARIABLE_COLUMNS,
                sorted(variable_rows(self._transfer.running)),
            )
        self._refresh_stats(statement, Role.ADMIN)

    def _refresh_runtime(self, statement: str) -> None:
        rows = self._transfer.rows
        for module in self._modules.values():
            if not any(f"runtime_{table}" in statement for table in module):
                continue
            for table in rows.stale.intersection(module):
                self._show_runtime(table)
            rows.stale.difference_update(module)
        if "runtime_checksums_values" in statement:
            self._database.refill(
                "main.runtime_checksums_values", CHECKSUM_COLUMNS, self._checksum_rows()
            )

    def _show_runtime(self, table: str) -> None:
        layout = self._layouts[table]
        rows = as_tuples(layout, self._transfer.rows[table])
        try:
            self._database.refill(f"main.runtime_{table}", layout.names, rows)
        except sqlite3.IntegrityError as error:
            # A number that did not fit 32 bits, or two texts that are one number.
            raise refusal(
                f"refuses to show runtime_{table}: {error}. ProxySQL dies here, or drops the row"
            ) from error

    def _checksum_rows(self) -> Iterable[tuple[Cell, ...]]:
        return [
            (name, checksum.version, checksum.epoch, checksum.checksum)
            for name, checksum in sorted(self._transfer.checksums.items())
        ]

    def _refresh_stats(self, statement: str, role: Role) -> None:
        if "stats_" not in statement:
            return
        for name in self._stats[role].refresh(statement, self._stats_rows):
            if name.endswith("_reset"):
                self._clear_stats(name.removesuffix("_reset"))

    def _clear_stats(self, table: str) -> int:
        """Begin the counters of a table again at 0; return how many rows it had."""
        count = len(self._stats_rows(table))
        self.stats.pop(table, None)
        if self._traffic is not None:
            self._traffic.clear(table)
        return count

    def _stats_rows(self, table: str) -> Sequence[Sequence[Cell]]:
        if table in self.stats:
            return self.stats[table]
        traffic = self._traffic
        if traffic is not None and (played := traffic.rows(table)) is not None:
            return played
        rows = self._transfer.rows
        match table:
            case "stats_mysql_connection_pool":
                return statistics.pool_rows(rows["mysql_servers"], self._transfer.used)
            case "stats_mysql_users":
                return statistics.user_rows(rows["mysql_users"])
            case "stats_mysql_query_rules":
                return statistics.hit_rows(rows["mysql_query_rules"])
            case "stats_mysql_global":
                return statistics.global_rows(
                    self._transfer.running,
                    uptime_s=self.uptime_s,
                    servers_version=self._transfer.checksums["mysql_servers"].version,
                    counted=traffic.counters() if traffic else statistics.NOTHING,
                )
            case "stats_mysql_commands_counters":
                return statistics.command_rows()
            case "stats_proxysql_servers_metrics":
                return statistics.peer_rows(rows["proxysql_servers"])
            case "stats_proxysql_servers_checksums":
                return statistics.peer_checksum_rows(rows["proxysql_servers"])
            case "stats_memory_metrics":
                digests = self._stats_rows("stats_mysql_query_digest")
                memory = traffic.memory() if traffic else statistics.NOTHING
                return statistics.memory_rows(len(digests), memory)
            case _:
                return ()
