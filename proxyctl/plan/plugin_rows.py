"""Rows that plugins of the instance own: a plan leaves them alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proxyctl.catalog.plugins import PluginObject
from proxyctl.errors import ConfigError, Mistake
from proxyctl.plan.misfits import mistake_at
from proxyctl.proxysql.plugin_ledger import PluginLedger
from proxyctl.rows.desired import SNAPSHOT, Desired, DesiredTable
from proxyctl.rows.row import Key, row_name

_Collision = tuple[Key, tuple[str, str]]
"""The key of a row, the problem, and its fix."""
_INTERFACES: Key = ("mysql-interfaces",)


def left_to_plugins(desired: Desired, ledger: PluginLedger) -> Desired:
    """Return the desired rows, with those of plugins left alone.

    Rows of a snapshot that a plugin owns now are left out. Raises: ConfigError when the files have
    such a row: the plugin would write it again.
    """
    if not ledger.objects:
        return desired
    tables: dict[str, DesiredTable] = {}
    mistakes: list[Mistake] = []
    for name, table in desired.tables.items():
        prefix = table.layout.table.prefix
        taken = dict(_taken(table, ledger))
        mistakes += [
            mistake_at(table.where.get(key), name if prefix is None else str(key[0]), *taken[key])
            for key in taken
        ]
        kept = {key: row for key, row in table.rows.items() if key not in taken}
        tables[name] = replace(
            table,
            rows=kept if taken else table.rows,
            plugin_of=ledger.owner_by_key(table.layout),
        )
    if mistakes and desired.source is not SNAPSHOT:
        raise ConfigError(mistakes)
    return replace(desired, tables=tables)


def _taken(table: DesiredTable, ledger: PluginLedger) -> Iterator[_Collision]:
    """Yield the rows that collide with a plugin's, each with the problem and its fix."""
    for key, row in table.rows.items():
        owner = ledger.owner_of(table.layout, row)
        if owner is not None:
            problem = f"{row_name(table.layout.name, key)} belongs to plugin {owner}"
            yield key, (problem, "remove it from the files: the plugin writes this row itself")
    value = table.rows.get(_INTERFACES)
    listed = () if value is None else str(value[1]).split(";")
    owners = ledger.objects.get(PluginObject.INTERFACE, {}) if listed else {}
    closed = [str(interface) for interface in owners if interface not in listed]
    if closed:
        plugins = " and ".join(sorted({owners[interface] for interface in closed}))
        problem = (
            f"plugin {plugins} listens on {' and '.join(closed)}, which this value would close"
        )
        fix = "add it to the value, or leave mysql-interfaces out of the files"
        yield _INTERFACES, (problem, fix)
