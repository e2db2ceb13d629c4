"""The rows of an instance's three layers, read with SQL and not with proxyctl."""

from __future__ import annotations

from proxyctl import catalog
from tests.support.servers.instances import Instance

RUNTIME, MEMORY, DISK = "main.runtime_", "main.", "disk."
LAYERS = {"RUNTIME": RUNTIME, "MEMORY": MEMORY, "DISK": DISK}
TABLES = {
    table.sql_name for table in catalog.TABLES.values() if table.exists_in(catalog.Version(2, 7, 1))
}

Dump = dict[tuple[str, str], list[tuple[str | None, ...]]]


def in_layers(instance: Instance, what: str) -> dict[str, list[tuple[str | None, ...]]]:
    """Return the rows of `SELECT ... FROM {}table ...` in each layer."""
    return {
        layer: instance.query(what.format(schema).replace("disk.runtime_", "disk."))
        for layer, schema in LAYERS.items()
    }


def everywhere(instance: Instance, what: str) -> list[tuple[str | None, ...]]:
    """Return the rows; all three layers have to agree on them."""
    found = in_layers(instance, what)
    assert found["RUNTIME"] == found["MEMORY"] == found["DISK"], found
    return found["RUNTIME"]


def dump(instance: Instance) -> Dump:
    """Return every row of every configuration table in each layer, sorted."""
    there = {name for (name,) in instance.query("SELECT name FROM main.sqlite_master")}
    return {
        (layer, table): sorted(instance.query(f"SELECT * FROM {schema}{table}"), key=repr)
        for layer, schema in LAYERS.items()
        for table in sorted(TABLES & there)
    }


def of_layer(dumped: Dump, layer: str) -> Dump:
    """Return the part of a dump for one layer."""
    return {place: rows for place, rows in dumped.items() if place[0] == layer}
