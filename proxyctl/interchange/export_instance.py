"""One layer of an instance -> what `export` writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from proxyctl.catalog import NOT_MANAGED, TABLES, Layout, Role
from proxyctl.config.files import mistakes_in
from proxyctl.instance.client import AdminClient
from proxyctl.instance.facts import read_facts
from proxyctl.instance.plugins import read_ledger
from proxyctl.instance.read import read_deviations, read_layouts, read_tables
from proxyctl.interchange.content import (
    FileContent,
    add_variables,
    propose_environment,
    with_secrets,
)
from proxyctl.interchange.fold import from_runtime, passed_over
from proxyctl.interchange.write import WrittenFile, written_file
from proxyctl.proxysql.compare import Difference, differences_from_memory
from proxyctl.proxysql.compare_servers import compare_servers
from proxyctl.proxysql.load_image import runtime_image
from proxyctl.proxysql.plugin_ledger import PluginLedger
from proxyctl.proxysql.servers import drained_nodes, stays_shunned, without_off
from proxyctl.proxysql.topology import Topology
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.rows.row import Layer, Rows, named_rows, sorted_keys
from proxyctl.rows.sql import quoted_name
from proxyctl.text import counted


def export_instance(client: AdminClient, layer: Layer, form: str, secrets: str) -> WrittenFile:
    """Return a layer as a file in the form `yaml`, `sql` or `cnf`.

    A warning names each table whose layers differ. `secrets`: the form of passwords: `hash`,
    `omit` or `clear`. Raises: InstanceError.
    """
    layouts = read_layouts(client)
    facts = read_facts(client)
    deviations = read_deviations(client, layouts)
    content = FileContent(client.version, layouts, deviations, is_for_version=True)
    tables = read_tables(client, layouts.values())
    ledger = content.ledger = read_ledger(client)
    placing = {
        name: {layer: rows.values() for layer, rows in table.rows.items()}
        for name, table in tables.items()
    }
    topology = Topology.placed(layouts, placing, facts.monitor)
    left_out: Counter[str] = Counter()
    for name in TABLES:
        if name in layouts:
            layers, of_plugins = _without_plugins(layouts[name], tables[name].rows, ledger, layer)
            left_out.update(of_plugins)
            _add_table(content, layouts[name], layers, topology, layer=layer, secrets=secrets)
    notes = [
        f"left out: {counted(rows, 'row')} of plugin {plugin}, which writes them itself"
        for plugin, rows in sorted(left_out.items())
    ]
    content.warnings += notes
    content.warnings += [
        f"{name}: left out: proxyctl does not know this table, and plans leave it alone"
        for name in _unknown_tables(client)
    ]
    return written_file(
        content,
        form,
        secrets,
        header=[f"{layer.upper()} of {client.address}, ProxySQL {client.version_text}", *notes],
        check=lambda text: mistakes_in(text, client.version, deviations),
    )


def _without_plugins(
    layout: Layout, layers: Mapping[Layer, Rows], ledger: PluginLedger, shown: Layer
) -> tuple[Mapping[Layer, Rows], Counter[str]]:
    """Return the layers without the rows of plugins, and how many the layer `shown` has of each."""
    owner = ledger.owner_by_key(layout)
    if owner is None:
        return layers, Counter()
    kept = {
        layer: {key: row for key, row in rows.items() if owner(key) is None}
        for layer, rows in layers.items()
    }
    owners = map(owner, fold_users(layout, layers[shown]))
    return kept, Counter(plugin for plugin in owners if plugin is not None)


def _add_table(
    content: FileContent,
    layout: Layout,
    layers: Mapping[Layer, Rows],
    topology: Topology,
    *,
    layer: Layer,
    secrets: str,
) -> None:
    """Add the rows of a layer, and a warning for each layer that differs. Changes: content."""
    if layer is Layer.RUNTIME:
        rows = from_runtime(layout, layers, topology)
    else:
        rows = fold_users(layout, layers[layer])
    if layout.table.prefix is not None:
        add_variables(content, rows.values(), secrets)
    elif rows:
        ordered = [rows[key] for key in sorted_keys(rows)]
        content.tables[layout.name] = with_secrets(content, layout, ordered, secrets)
        content.leave_out(layout.name, passed_over(layout, layer, layers))
        if secrets == "hash" and layout.table.role is Role.USERS:
            propose_environment(content, layout)
    for other, differences in _differences(layout, layers, topology).items():
        if differences:
            names = named_rows(layout.name, (difference.key for difference in differences))
            content.warnings.append(f"{layout.name}: MEMORY and {other.name} differ in {names}")


def _differences(
    layout: Layout, layers: Mapping[Layer, Rows], topology: Topology
) -> dict[Layer, list[Difference]]:
    """Return how RUNTIME and DISK differ from MEMORY, apart from what the monitor does."""
    runtime, disk = layers[Layer.RUNTIME], fold_users(layout, layers[Layer.DISK])
    memory = fold_users(layout, layers[Layer.MEMORY])
    loaded = runtime_image(layout, memory)
    if layout.table.role is Role.SERVERS:
        live = without_off(layout, runtime)
        drained = drained_nodes(layout, live, memory, disk)
        shunned = stays_shunned(layout, live, memory, disk, topology)
        unpublished = compare_servers(
            layout, live, loaded, topology, drained=drained, shunned=shunned
        ).differences
    else:
        unpublished = differences_from_memory(layout, fold_users(layout, runtime), loaded)
    return {
        Layer.RUNTIME: unpublished,
        Layer.DISK: differences_from_memory(layout, disk, memory),
    }


def _unknown_tables(client: AdminClient) -> list[str]:
    """Return the tables that the catalogue lacks and that have rows and a runtime table."""
    rows = client.query(
        "SELECT m.name FROM sqlite_master m JOIN sqlite_master r ON r.name='runtime_'||m.name"
        " WHERE m.type='table' ORDER BY m.name",
    )
    known = {*(table.sql_name for table in TABLES.values()), *NOT_MANAGED}
    names = [str(name) for (name,) in rows if name not in known]
    return [name for name in names if client.query(f"SELECT 1 FROM {quoted_name(name)} LIMIT 1")]
