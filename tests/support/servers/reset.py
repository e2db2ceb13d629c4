"""Reset a used ProxySQL to the state after its start, without a restart."""

from __future__ import annotations

from dataclasses import dataclass

from proxyctl.catalog import ADMIN_MODULES
from tests.support.servers.instances import Instance

_LAYERS = ("main.", "disk.", "main.runtime_")
_VARIABLE_MODULES = {"mysql-": "MYSQL", "pgsql-": "PGSQL", "admin-": "ADMIN"}


@dataclass(frozen=True)
class Baseline:
    """The state of a fresh ProxySQL: its tables in the schemas main and disk, and its variables.

    Its configuration tables are empty in all layers.
    """

    tables: frozenset[tuple[str, str]]
    variables: dict[str, str]

    @classmethod
    def of(cls, instance: Instance) -> Baseline:
        """Read the baseline from an instance just after its start."""
        return cls(_tables(instance), _variables(instance, "main.runtime_global_variables"))

    def restore(self, instance: Instance) -> bool:
        """Reset the instance; return False where only a restart would help.

        Raises: pymysql.err.MySQLError when it does not let us in.
        """
        instance.close()
        instance.run("PROXYSQL READWRITE")
        for schema, table in _tables(instance) - self.tables:
            instance.run(f"DROP TABLE {schema}.{table}")
        for module, tables in self._modules().items():
            self._empty(instance, module, tables)
        for schema in ("main", "disk"):
            instance.run(f"DELETE FROM {schema}.sqlite_sequence")
        is_clean = self._restore_variables(instance)
        # Logins that a test took away by the credential lists come back with this LOAD.
        instance.run("LOAD MYSQL USERS TO RUNTIME")
        return is_clean

    def _modules(self) -> dict[str, list[str]]:
        names = {table for _, table in self.tables}
        modules = {
            module: [table.name for table in admin_module.tables if table.name in names]
            for module, admin_module in ADMIN_MODULES.items()
        }
        return {module: tables for module, tables in modules.items() if tables}

    def _empty(self, instance: Instance, module: str, tables: list[str]) -> None:
        counts = " UNION ALL ".join(
            f"SELECT '{layer}', '{table}' FROM (SELECT 1 FROM {layer}{table} LIMIT 1)"
            for layer in _LAYERS
            for table in tables
        )
        filled = instance.query(counts)
        for layer, table in filled:
            if layer != "main.runtime_":
                instance.run(f"DELETE FROM {layer}{table}")
        if any(layer == "main.runtime_" for layer, _ in filled):
            instance.run(f"LOAD {module} TO RUNTIME")

    def _restore_variables(self, instance: Instance) -> bool:
        if _variables(instance, "main.runtime_global_variables") != self.variables:
            self._write(instance, "main")
            for prefix, module in _VARIABLE_MODULES.items():
                if any(name.startswith(prefix) for name in self.variables):
                    instance.run(f"LOAD {module} VARIABLES TO RUNTIME")
        for schema in ("main", "disk"):
            if _variables(instance, f"{schema}.global_variables") != self.variables:
                self._write(instance, schema)
        return _variables(instance, "main.runtime_global_variables") == self.variables

    def _write(self, instance: Instance, schema: str) -> None:
        rows = ",".join(f"({_quoted(n)},{_quoted(v)})" for n, v in self.variables.items())
        instance.run(f"DELETE FROM {schema}.global_variables")
        instance.run(f"INSERT OR REPLACE INTO {schema}.global_variables VALUES {rows}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _tables(instance: Instance) -> frozenset[tuple[str, str]]:
    found = set()
    for schema, master in (
        ("main", "main.sqlite_master"),
        ("disk", "disk.sqlite_master"),
        ("temp", "sqlite_temp_master"),
    ):
        rows = instance.query(f"SELECT name FROM {master} WHERE type='table'")
        found |= {(schema, str(name)) for (name,) in rows if name != "sqlite_sequence"}
    return frozenset(found)


def _variables(instance: Instance, table: str) -> dict[str, str]:
    rows = instance.query(f"SELECT variable_name, variable_value FROM {table}")
    return {str(name): str(value) for name, value in rows}
