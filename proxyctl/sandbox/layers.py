"""MEMORY, RUNTIME and DISK, and what LOAD and SAVE move between them.

As in ProxySQL, MEMORY and DISK are schemas of the database, and RUNTIME is rows outside it. A LOAD
or SAVE always answers OK, even if it drops rows.
"""

from __future__ import annotations

import hashlib
from collections import UserDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from proxyctl.catalog import Deviations, Layout, Role, Version, parse_version
from proxyctl.catalog.plugins import LEDGER_TABLES, has_plugins
from proxyctl.catalog.releases import LOAD_COUNTS_VARIABLES
from proxyctl.catalog.variable_rules import side_effects
from proxyctl.catalog.variables import RESTART_ONLY
from proxyctl.sandbox import runtime, tables
from proxyctl.sandbox.database import Database
from proxyctl.sandbox.replies import OK, Answer, SqliteValue
from proxyctl.sandbox.runtime import NamedValues
from proxyctl.sandbox.statements import LayerCopy

_CHECKSUMS: dict[str, tuple[tuple[str, str], ...]] = {
    "ADMIN VARIABLES": (("admin_variables", "2.4.0"),),
    "MYSQL QUERY RULES": (("mysql_query_rules", "2.4.0"),),
    "MYSQL SERVERS": (("mysql_servers", "2.4.0"), ("mysql_servers_v2", "2.6.0")),
    "MYSQL USERS": (("mysql_users", "2.4.0"),),
    "MYSQL VARIABLES": (("mysql_variables", "2.4.0"),),
    "PGSQL QUERY RULES": (("pgsql_query_rules", "3.0.0"),),
    "PGSQL SERVERS": (("pgsql_servers", "3.0.0"), ("pgsql_servers_v2", "3.0.8")),
    "PGSQL USERS": (("pgsql_users", "3.0.0"),),
    "PGSQL VARIABLES": (("pgsql_variables", "3.0.8"),),
    "PROXYSQL SERVERS": (("proxysql_servers", "2.4.0"),),
}
"""The checksums of each admin module, each with the version that introduced it."""


_OUTCOMES = ("Updated", "Rejected", "Unknown")
"""What a LOAD does with a variable, in the order in which its answer counts them."""


@dataclass
class ChecksumRow:
    """One row of runtime_checksums_values. Units: epoch in unix seconds."""

    version: int
    epoch: int
    checksum: str


class RuntimeRows(UserDict[str, list[NamedValues]]):
    """The rows at RUNTIME by table name, open to tests that play the monitor.

    Assign a whole table to change it; never edit a returned row in place. Missing columns get their
    defaults. `stale`: the tables whose `runtime_` table is out of date.
    """

    def __init__(self, layouts: Mapping[str, Layout]) -> None:
        self._layouts = {name: tables.at_runtime(layout) for name, layout in layouts.items()}
        self.stale: set[str] = set()
        super().__init__({name: [] for name in layouts})

    def __setitem__(self, table: str, rows: Iterable[Mapping[str, SqliteValue]]) -> None:
        layout = self._layouts[table]
        defaults = dict(zip(layout.names, layout.defaults, strict=True))
        self.data[table] = [{**defaults, **row} for row in rows]
        self.stale.add(table)


class Layers:
    """The three layers of one instance. `running` are the variables at RUNTIME."""

    def __init__(
        self,
        database: Database,
        version: Version,
        deviations: Deviations,
        running: dict[str, str],
        clock: Callable[[], float],
    ) -> None:
        self.database = database
        self.version = version
        self.layouts = tables.layouts(version, deviations)
        self.modules = tables.modules(version, self.layouts)
        self.rows = RuntimeRows(self.layouts)
        self.running = running
        self.checksums: dict[str, ChecksumRow] = {}
        self._deviations = deviations
        self._clock = clock

    def copy(self, clock: Callable[[], float]) -> Layers:
        """Return the layers of another instance that started the same way, with an empty DISK."""
        database, running = self.database.copy(), dict(self.running)
        twin = Layers(database, self.version, self._deviations, running, clock)
        for name, checksum in self.checksums.items():
            epoch = int(clock()) if checksum.epoch else 0
            twin.checksums[name] = replace(checksum, epoch=epoch)
        return twin

    def start(self) -> None:
        """Go through ProxySQL's start-up: DISK to MEMORY, defaults for what is missing, RUNTIME.

        RUNTIME begins at version 1.
        """
        tables.create_all(self.database, self.layouts, self.version)
        on_disk = self.database.fetch(
            "SELECT variable_name, variable_value FROM disk.global_variables"
        )
        self.running.update(
            (str(name), str(value)) for name, value in on_disk if name in RESTART_ONLY
        )
        self.database.insert("main.global_variables", on_disk)
        self._add_missing_variables()
        for table in (*self.layouts, *(LEDGER_TABLES if has_plugins(self.version) else ())):
            self.database.execute(f"INSERT INTO main.{table} SELECT * FROM disk.{table}")
        for module in self.modules:
            self._load(module)
        for checksum in self.checksums.values():
            checksum.version = 1
        if "PGSQL VARIABLES" in self.modules:
            # ProxySQL has this row in every 3.0, but computes its checksum only from 3.0.8.
            self.checksums.setdefault("pgsql_variables", ChecksumRow(0, 0, ""))
        self.database.insert(
            "disk.global_variables",
            runtime.variable_rows(runtime.first_on_disk(self.version, self.running)),
            verb="OR IGNORE",
        )
        self.show_variables()

    def run(self, command: LayerCopy) -> Answer:
        """Carry out one LOAD or SAVE."""
        module, source, target = command
        prefix = _prefix(module)
        if target == "runtime":
            return self._load(module)
        if prefix and source != "runtime":
            return self._copy_variables(source, target, prefix)
        if prefix:
            self._save_variables(prefix)
        elif source == "runtime":
            self._save(module)
        else:
            self._copy(source, target, self.modules[module])
        return OK

    @property
    def is_read_only(self) -> bool:
        """Whether clients may not write: admin-read_only at RUNTIME."""
        return self.running.get("admin-read_only") == "true"

    def show_variables(self) -> None:
        """Refill the tables of variables, as ProxySQL does whenever a text names them.

        Variables that were deleted from MEMORY come back.
        """
        self._add_missing_variables()
        self.database.refill(
            "main.runtime_global_variables", sorted(runtime.variable_rows(self.running))
        )

    def _copy(self, source: str, target: str, names: Sequence[str]) -> None:
        with self.database.transaction():
            for name in names:
                self.database.execute(f"DELETE FROM {target}.{name}")
                self.database.execute(f"INSERT INTO {target}.{name} SELECT * FROM {source}.{name}")

    def _copy_variables(self, source: str, target: str, prefix: str) -> Answer:
        # One INSERT OR REPLACE: rows that only the target has stay. It is SQL of the client's
        # session, so admin-read_only refuses it.
        return self.database.run(
            f"INSERT OR REPLACE INTO {target}.global_variables"
            f" SELECT * FROM {source}.global_variables WHERE variable_name LIKE '{prefix}%'",
            readonly=self.is_read_only,
        )

    # --- LOAD: MEMORY to RUNTIME ----------------------------------------------------------------

    def _load(self, module: str) -> Answer:
        prefix, result = _prefix(module), OK
        if prefix:
            outcomes = self._load_variables(prefix)
            if self.version.has(LOAD_COUNTS_VARIABLES):
                counts = (f"{word}: {outcomes.count(word)}" for word in _OUTCOMES)
                result = Answer(info=" ".join((f"Records: {len(outcomes)}", *counts)))
        for table in self.modules[module]:
            self.rows[table] = self._loaded(table)
        self._renew_checksums(module)
        return result

    def _loaded(self, table: str) -> list[NamedValues]:
        layout = self.layouts[table]
        columns = ", ".join(f'"{name}"' for name in layout.names)
        memory = self.database.fetch(f"SELECT {columns} FROM main.{table} ORDER BY rowid")
        rows = [dict(zip(layout.names, row, strict=True)) for row in memory]
        if layout.table.role is Role.USERS:
            hashes = self.running.get("admin-hash_passwords") == "true"
            return runtime.loaded_users(layout, rows, hash_passwords=hashes)
        return runtime.loaded_rows(layout, rows)

    def _load_variables(self, prefix: str) -> list[str]:
        memory = self.database.fetch(
            "SELECT variable_name, variable_value FROM main.global_variables"
            " WHERE variable_name LIKE ? ORDER BY rowid",
            (f"{prefix}%",),
        )
        texts = [
            (runtime.c_text(runtime.c_field(name)), runtime.c_text(runtime.c_field(value)))
            for name, value in memory
        ]
        runtime.refuse_unmodelled(dict(texts))
        outcomes = [self._load_variable(name, text) for name, text in texts]
        self._add_missing_variables()
        return outcomes

    def _load_variable(self, name: str, text: str) -> str:
        known = runtime.known_name(name, self.running)
        if known is None:
            self.database.execute(
                "DELETE FROM main.global_variables WHERE variable_name=?", (name,)
            )
            return "Unknown"
        value = runtime.accepted(known, text, self.running, self.version)
        if value is None:
            self.running[known] = runtime.put_back(known, self.running)
            row = (name, self.running[known])
            self.database.insert("main.global_variables", [row], verb="OR REPLACE")
            return "Rejected"
        self.running[known] = value
        self.running.update(side_effects(known, value, self.running))
        return "Updated"

    def _add_missing_variables(self) -> None:
        rows = runtime.variable_rows(self.running)
        self.database.insert("main.global_variables", rows, verb="OR IGNORE")

    # --- SAVE TO MEMORY: RUNTIME to MEMORY ------------------------------------------------------

    def _save_variables(self, prefix: str) -> None:
        with self.database.transaction():
            self.database.execute(
                "DELETE FROM main.global_variables WHERE variable_name LIKE ?", (f"{prefix}%",)
            )
            self._add_missing_variables()

    def _save(self, module: str) -> None:
        if module == "RESTAPI":
            # ProxySQL saves the scheduler here; the routes in MEMORY stay as they are.
            module = "SCHEDULER"
        for table in self.modules[module]:
            layout, rows = self.layouts[table], self.rows[table]
            role = layout.table.role
            rows = [row for row in rows if not row.get("auto_generated")]
            if role is Role.SERVERS:
                rows = runtime.saved_servers(rows)
            cells = runtime.as_tuples(layout, rows)
            if role is Role.USERS:
                self.database.execute(f"UPDATE main.{table} SET active=0")
                self.database.insert(f"main.{table}", cells, verb="OR REPLACE")
            else:
                self.database.refill(f"main.{table}", cells)

    # --- checksums ------------------------------------------------------------------------------

    def _renew_checksums(self, module: str) -> None:
        """Give the module's checksums a new version and epoch, as every LOAD does."""
        for name, since in _CHECKSUMS.get(module, ()):
            if not self.version.has(parse_version(since)):
                continue
            old = self.checksums.get(name)
            self.checksums[name] = ChecksumRow(
                version=old.version + 1 if old else 1,
                epoch=int(self._clock()),
                checksum=self._digest(module),
            )

    def _digest(self, module: str) -> str:
        prefix = _prefix(module)
        content: list[object] = [
            runtime.as_tuples(self.layouts[table], self.rows[table])
            for table in self.modules[module]
        ]
        if prefix:
            content = [item for item in sorted(self.running.items()) if item[0].startswith(prefix)]
        if not any(content):
            return "0x0000000000000000"
        raw = repr(content).encode("utf-8", "surrogateescape")
        return "0x" + hashlib.blake2b(raw, digest_size=8).hexdigest().upper()


def _prefix(module: str) -> str:
    """Return the prefix of the variables of a module; empty for a module of tables."""
    return f"{module.split()[0].lower()}-" if module.endswith(" VARIABLES") else ""
