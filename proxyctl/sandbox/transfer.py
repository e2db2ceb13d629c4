"""LOAD and SAVE: rows on their way between MEMORY, RUNTIME and DISK."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from proxyctl.catalog import Layout, Version, parse_version
from proxyctl.catalog.variable_effects import taken_along
from proxyctl.sandbox import runtime, variables
from proxyctl.sandbox.commands import COREDUMP, Command, Direction
from proxyctl.sandbox.database import Database
from proxyctl.sandbox.replies import OK, Result
from proxyctl.sandbox.runtime import Row, Server
from proxyctl.sandbox.store import RuntimeRows

_SERVERS = frozenset({"mysql_servers", "pgsql_servers"})
_USERS = frozenset({"mysql_users", "pgsql_users"})
_RULES = frozenset({"mysql_query_rules", "pgsql_query_rules"})
_ATTRIBUTES = frozenset({"mysql_hostgroup_attributes", "pgsql_hostgroup_attributes"})
_REPLICATION = frozenset({"mysql_replication_hostgroups", "pgsql_replication_hostgroups"})
_FAMILIES = _REPLICATION | frozenset(
    {
        "mysql_aws_aurora_hostgroups",
        "mysql_galera_hostgroups",
        "mysql_group_replication_hostgroups",
    }
)
_CHECKSUMS: dict[str, tuple[tuple[str, str], ...]] = {
    "ADMIN VARIABLES": (("admin_variables", "2.0.18"),),
    "MYSQL QUERY RULES": (("mysql_query_rules", "2.0.1"),),
    "MYSQL SERVERS": (("mysql_servers", "2.0.1"), ("mysql_servers_v2", "2.6.0")),
    "MYSQL USERS": (("mysql_users", "2.0.1"),),
    "MYSQL VARIABLES": (("mysql_variables", "2.0.18"),),
    "PGSQL QUERY RULES": (("pgsql_query_rules", "3.0.0"),),
    "PGSQL SERVERS": (("pgsql_servers", "3.0.0"), ("pgsql_servers_v2", "3.0.0")),
    "PGSQL USERS": (("pgsql_users", "3.0.0"),),
    "PGSQL VARIABLES": (("pgsql_variables", "3.0.0"),),
    "PROXYSQL SERVERS": (("proxysql_servers", "2.0.1"),),
}


@dataclass
class Checksum:
    """One row of runtime_checksums_values. Units: epoch in unix seconds."""

    version: int
    epoch: int
    checksum: str


class Transfer:
    """Moves admin modules between the layers, as ProxySQL does: always OK, whatever is dropped."""

    def __init__(
        self,
        database: Database,
        version: Version,
        layouts: Mapping[str, Layout],
        modules: Mapping[str, tuple[str, ...]],
        running: dict[str, str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self.version = version
        self._layouts = layouts
        self._modules = modules
        self._clock = clock
        self.rows = RuntimeRows(layouts)
        self.running = running
        self.checksums: dict[str, Checksum] = {}
        self.used: dict[Server, int] = {}
        """Connections in use by server: such a server stays at RUNTIME when it is removed."""

    def start(self) -> None:
        """Bring up RUNTIME as a start of ProxySQL does: from MEMORY, at version 1."""
        for module in self._modules:
            self._load(module)
        for checksum in self.checksums.values():
            checksum.version = 1

    def run(self, command: Command) -> Result:
        """Carry out one LOAD or SAVE."""
        prefix = self._prefix(command.module)
        match command.direction:
            case Direction.MEMORY_TO_RUNTIME:
                self._load(command.module)
                return OK
            case Direction.RUNTIME_TO_MEMORY if prefix:
                self._save_variables(prefix)
                return OK
            case Direction.RUNTIME_TO_MEMORY:
                self._save(command.module)
                return OK
            case Direction.DISK_TO_MEMORY if prefix:
                return self._copy_variables("disk", "main", prefix)
            case Direction.MEMORY_TO_DISK if prefix:
                return self._copy_variables("main", "disk", prefix)
            case Direction.DISK_TO_MEMORY:
                return self._copy("disk", "main", self._modules[command.module])
            case Direction.MEMORY_TO_DISK:
                return self._copy("main", "disk", self._modules[command.module])

    def _prefix(self, module: str) -> str:
        return f"{module.split()[0].lower()}-" if module.endswith(" VARIABLES") else ""

    def _copy(self, source: str, target: str, tables: Sequence[str]) -> Result:
        with self._database.transaction():
            for table in tables:
                self._database.execute(f"DELETE FROM {target}.{table}")
                self._database.execute(
                    f"INSERT INTO {target}.{table} SELECT * FROM {source}.{table}"
                )
        return OK

    def _copy_variables(self, source: str, target: str, prefix: str) -> Result:
        # One INSERT OR REPLACE, so rows of the target that the source lacks stay; and being SQL of
        # the client's session it is refused while admin-read_only is on.
        return self._database.run(
            f"INSERT OR REPLACE INTO {target}.global_variables"
            f" SELECT * FROM {source}.global_variables WHERE variable_name LIKE '{prefix}%'",
            readonly=self.is_read_only,
        )

    @property
    def is_read_only(self) -> bool:
        """Whether clients may not write: admin-read_only at RUNTIME."""
        return self.running.get("admin-read_only") == "true"

    def memory(self, table: str) -> list[Row]:
        """Return the rows of a MEMORY table."""
        names = self._layouts[table].names
        columns = ", ".join(f'"{name}"' for name in names)
        rows = self._database.fetch(f"SELECT {columns} FROM main.{table} ORDER BY rowid")
        return [dict(zip(names, map(runtime.c_field, row), strict=True)) for row in rows]

    # --- LOAD: MEMORY to RUNTIME ----------------------------------------------------------------

    def _load(self, module: str) -> None:
        prefix = self._prefix(module)
        if prefix:
            self._load_variables(prefix)
        if module == COREDUMP:
            filters = self._database.fetch("SELECT filename, line FROM main.coredump_filters")
            self._database.refill("main.runtime_coredump_filters", ("filename", "line"), filters)
        for table in self._modules[module]:
            self.rows[table] = self._loaded(table)
        self._touch(module)

    def _loaded(self, table: str) -> list[Row]:
        layout, rows = self._layouts[table], self.memory(table)
        if table in _SERVERS:
            return runtime.loaded_servers(layout, rows, self.rows[table], self.used)
        if table in _USERS:
            hashes = self.running.get("admin-hash_passwords") == "true"
            return runtime.loaded_users(layout, rows, hash_passwords=hashes)
        if table in _RULES:
            return runtime.loaded_rules(layout, rows)
        if table in _FAMILIES:
            kept = runtime.compatible_hostgroups(layout, rows)
            if table in _REPLICATION:
                return runtime.loaded_replication(kept)
            return runtime.loaded_numbers(layout, kept)
        if table in _ATTRIBUTES:
            return runtime.loaded_attributes(layout, rows)
        if table == "scheduler":
            return runtime.loaded_schedule(layout, rows)
        if table == "restapi_routes":
            return runtime.loaded_routes(layout, rows)
        if table == "proxysql_servers":
            return runtime.loaded_members(layout, rows)
        return runtime.loaded_numbers(layout, rows)

    def _load_variables(self, prefix: str) -> None:
        before = dict(self.running)
        memory = self._database.fetch(
            "SELECT variable_name, variable_value FROM main.global_variables"
            " WHERE variable_name LIKE ? ORDER BY rowid",
            (f"{prefix}%",),
        )
        for name, value in memory:
            self._load_variable(
                runtime.c_text(runtime.c_field(name)), runtime.c_text(runtime.c_field(value))
            )
        if prefix == "mysql-":
            for name, value in variables.reconciled(before, self.running).items():
                self.running[name] = value
                self.write_variable(name, value)
        self.add_missing_variables()

    def _load_variable(self, name: str, text: str) -> None:
        known = variables.known_name(name, self.running)
        if known is None:
            self._database.execute(
                "DELETE FROM main.global_variables WHERE variable_name=?", (name,)
            )
            return
        value = variables.accepted(known, text, self.running, self.version)
        if value is None:
            self.running[known] = variables.put_back(known, text, self.running)
            self.write_variable(name, self.running[known])
            return
        self.running[known] = value
        self.running.update(taken_along(known, value, self.running))

    def write_variable(self, name: str, value: str) -> None:
        """Put a value into MEMORY."""
        self._database.insert(
            "main.global_variables", ("variable_name", "variable_value"), [(name, value)],
            verb="OR REPLACE",
        )  # fmt: skip

    def add_missing_variables(self) -> None:
        """Put back what was deleted from MEMORY: ProxySQL does it whenever the table is named."""
        self._database.insert(
            "main.global_variables", ("variable_name", "variable_value"),
            variables.rows(self.running), verb="OR IGNORE",
        )  # fmt: skip

    # --- SAVE TO MEMORY: RUNTIME to MEMORY ------------------------------------------------------

    def _save_variables(self, prefix: str) -> None:
        with self._database.transaction():
            self._database.execute(
                "DELETE FROM main.global_variables WHERE variable_name LIKE ?", (f"{prefix}%",)
            )
            self.add_missing_variables()

    def _save(self, module: str) -> None:
        if module == "RESTAPI":
            # ProxySQL saves the scheduler here; the routes in MEMORY stay as they are.
            module = "SCHEDULER"
        for table in self._modules[module]:
            layout, rows = self._layouts[table], self.rows[table]
            if table in _SERVERS:
                rows = runtime.saved_servers(rows)
            if table in _USERS:
                self._database.execute(f"UPDATE main.{table} SET active=0")
                cells = runtime.as_tuples(layout, rows)
                self._database.insert(f"main.{table}", layout.names, cells, verb="OR REPLACE")
            else:
                self._database.refill(
                    f"main.{table}", layout.names, runtime.as_tuples(layout, rows)
                )

    # --- checksums ------------------------------------------------------------------------------

    def _touch(self, module: str) -> None:
        """Give the module a new version and epoch, as every LOAD does, changed or not."""
        for name, since in _CHECKSUMS.get(module, ()):
            if self.version < parse_version(since):
                continue
            old = self.checksums.get(name)
            self.checksums[name] = Checksum(
                version=old.version + 1 if old else 1,
                epoch=int(self._clock()),
                checksum=self._digest(module),
            )

    def _digest(self, module: str) -> str:
        prefix = self._prefix(module)
        content: list[object] = [runtime.as_tuples(self._layouts[table], self.rows[table])
                                 for table in self._modules[module]]  # fmt: skip
        if prefix:
            content = [item for item in sorted(self.running.items()) if item[0].startswith(prefix)]
        if not any(content):
            return "0x0000000000000000"
        raw = repr(content).encode("utf-8", "surrogateescape")
        return "0x" + hashlib.blake2b(raw, digest_size=8).hexdigest().upper()
