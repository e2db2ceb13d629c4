"""The rows that an export writes: of one layer of an instance, or of the files."""

from __future__ import annotations

from collections.abc import Mapping

from proxyctl.catalog import NOT_MANAGED, TABLES, Layout
from proxyctl.instance.client import AdminClient
from proxyctl.instance.facts import RuntimeFacts, read_facts
from proxyctl.instance.read import TableLayers, read_deviations, read_layouts, read_tables
from proxyctl.interchange.fold import (
    Exported,
    export_variables,
    from_runtime,
    passed_over,
    sorted_rows,
    with_secrets,
    without_references,
)
from proxyctl.plan.diff import ServerDiff, diff_table
from proxyctl.state.compare import fold_users
from proxyctl.state.row import Desired, Layer, named_rows
from proxyctl.state.sql import quoted_name
from proxyctl.state.topology import Topologies, Topology


def exported_files(desired: Desired, secrets: str) -> Exported:
    """Return the rows that the files compile to, as an export writes them.

    `secrets`: the form of passwords: `hash`, `omit` or `clear`.
    """
    result = Exported(desired.version)
    for name, table in desired.tables.items():
        layout = result.layouts[name] = table.layout
        if layout.table.prefix is not None:
            variables = table.rows.values()
            export_variables(result, variables, secrets, keeps_defaults=True, keeps_local=True)
            continue
        rows = sorted_rows(dict(table.rows))
        if secrets != "clear":
            rows = without_references(result, layout, rows)
        result.tables[name] = with_secrets(result, layout, rows, secrets)
    return result


def export_layer(client: AdminClient, layer: Layer, secrets: str) -> Exported:
    """Return a layer as configuration rows, with a warning for each table whose layers differ."""
    layouts = read_layouts(client)
    facts = read_facts(client)
    deviations = read_deviations(client, layouts)
    exported = Exported(client.version, layouts, deviations, is_for_version=True)
    tables = read_tables(client, layouts.values())
    topology = _topology(layouts, tables, facts)
    for name in TABLES:
        if name in layouts:
            _export_table(exported, tables[name], topology, layer=layer, secrets=secrets)
    exported.warnings += [
        f"{name}: left out: proxyctl does not know this table, and plans leave it alone"
        for name in unknown_tables(client)
    ]
    return exported


def _export_table(
    exported: Exported,
    table: TableLayers,
    topology: Topology,
    *,
    layer: Layer,
    secrets: str,
) -> None:
    layout, layers = table.layout, table.rows
    diff = diff_table(layout, None, layers, Topologies(memory=topology))
    memory = layers[Layer.MEMORY]
    if layer is Layer.RUNTIME:
        found = (diff.drained, diff.shunned) if isinstance(diff, ServerDiff) else ()
        rows = from_runtime(layout, layers[layer], memory, topology, *found)
    else:
        rows = fold_users(layout, layers[layer])
    if layout.table.prefix is not None:
        export_variables(exported, rows.values(), secrets)
    elif rows:
        exported.tables[layout.name] = with_secrets(exported, layout, sorted_rows(rows), secrets)
        exported.leave_out(layout.name, passed_over(layout, layer, layers[layer], memory))
    for other, differences in ((Layer.RUNTIME, diff.unpublished), (Layer.DISK, diff.unsaved)):
        if differences:
            names = named_rows(layout.name, (one.key for one in differences))
            text = f"MEMORY and {other.name} differ in {names}"
            exported.warnings.append(f"{layout.name}: {text}")


def unknown_tables(client: AdminClient) -> list[str]:
    """Return the tables that the catalogue lacks and that have rows and a runtime table."""
    rows = client.query(
        "SELECT m.name FROM sqlite_master m JOIN sqlite_master r ON r.name='runtime_'||m.name"
        " WHERE m.type='table' ORDER BY m.name",
    )
    known = {*(table.sql_name for table in TABLES.values()), *NOT_MANAGED}
    names = [str(name) for (name,) in rows if name not in known]
    return [name for name in names if client.query(f"SELECT 1 FROM {quoted_name(name)} LIMIT 1")]


def _topology(
    layouts: Mapping[str, Layout], tables: Mapping[str, TableLayers], facts: RuntimeFacts
) -> Topology:
    """Return the families that the monitor places, as MEMORY configures them."""
    names = facts.monitor.family_tables
    rows_by_table = {name: tables[name].rows for name in names if name in tables}
    sides = {
        name: (rows[Layer.MEMORY], rows[Layer.MEMORY], rows[Layer.RUNTIME])
        for name, rows in rows_by_table.items()
    }
    return Topologies.of(layouts, sides, facts.monitor).memory
