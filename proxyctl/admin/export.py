"""Read one layer of an instance for an export; `proxyctl.export` decides what a row becomes."""

from __future__ import annotations

from proxyctl.admin.client import AdminClient
from proxyctl.admin.read import TableReader, read_facts, read_layouts
from proxyctl.catalog import TABLES, Layout
from proxyctl.compare import fold_users
from proxyctl.errors import counted
from proxyctl.export import Exported, export_variables, from_runtime, sorted_rows, with_secrets
from proxyctl.families import FAMILY_TABLES, Family, families_in, monitored
from proxyctl.state import Layer, Rows
from proxyctl.survey import Surroundings, survey_table


def export_layer(client: AdminClient, layer: Layer, secrets: str) -> Exported:
    """Return everything that a layer holds, as configuration rows.

    Warnings say which tables differ between the layers: an export is one layer, not all three.
    """
    layouts = read_layouts(client)
    reader = TableReader(client)
    families = _families(client, reader, layouts)
    exported = Exported(client.version, layouts)
    for name in TABLES:
        if name in layouts:
            _export_table(exported, reader, layouts[name], families, layer=layer, secrets=secrets)
    return exported


def _export_table(
    exported: Exported,
    reader: TableReader,
    layout: Layout,
    families: tuple[Family, ...],
    *,
    layer: Layer,
    secrets: str,
) -> None:
    read = reader.layers_of(layout)
    layers: dict[Layer, Rows] = {}

    def remembered(which: Layer) -> Rows:
        layers[which] = read(which)
        return layers[which]

    found = survey_table(layout, None, remembered, Surroundings(memory_families=families))
    memory = layers[Layer.MEMORY]
    rows = layers[layer]
    if layer is Layer.RUNTIME:
        rows = from_runtime(layout, rows, memory, families)
    elif "frontend" in layout.index:
        rows = fold_users(layout, rows)
    if layout.table.prefix is not None:
        export_variables(exported, rows.values(), secrets)
    elif rows:
        exported.tables[layout.name] = with_secrets(exported, layout, sorted_rows(rows), secrets)
    if found.unpublished:
        exported.warnings.append(
            f"{layout.name}: MEMORY and RUNTIME differ in {counted(len(found.unpublished), 'row')}"
        )
    if found.unsaved:
        exported.warnings.append(
            f"{layout.name}: MEMORY and DISK differ in {counted(len(found.unsaved), 'row')}"
        )


def _families(
    client: AdminClient, reader: TableReader, layouts: dict[str, Layout]
) -> tuple[Family, ...]:
    """Return the families that the monitor places, as MEMORY configures them."""
    facts = read_facts(client)
    if not facts.monitor_enabled:
        return ()

    def found(layer: Layer) -> list[Family]:
        rows = {
            name: reader.read(layouts[name], layer).values()
            for name in FAMILY_TABLES
            if name in layouts
        }
        return families_in(layouts, rows, rds_discovery=facts.rds_discovery)

    return tuple(monitored(found(Layer.MEMORY), found(Layer.RUNTIME)))
