"""Small builders, so that a test shows only what matters to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from proxyctl.catalog import (
    ADMIN_MODULES,
    REFERENCE,
    TABLES,
    Deviations,
    Layout,
    Value,
    Version,
    layout_of,
)
from proxyctl.instance.connect import Login
from proxyctl.instance.facts import RuntimeFacts
from proxyctl.instance.read import TableLayers
from proxyctl.plan.diff import TableDiff, diff_table
from proxyctl.plan.instance_state import InstanceInfo, InstanceState
from proxyctl.plan.plan import ModulePlan, plan_module
from proxyctl.proxysql.topology import Family, MonitorSettings, Topologies, Topology
from proxyctl.routing.router import SERVING_TABLES
from proxyctl.rows.desired import DesiredTable, Scope
from proxyctl.rows.row import KEEP, DesiredRow, Layer, Row, Rows


def layout(table: str, version: Version = REFERENCE) -> Layout:
    """The layout of a table."""
    return layout_of(TABLES[table], version)


def row(table: str, **values: Value) -> Row:
    """A row with ProxySQL's defaults for missing columns; rules and users are active."""
    columns = layout(table).columns
    unknown = set(values) - {column.name for column in columns}
    assert not unknown, unknown
    if "active" in layout(table).index:
        values.setdefault("active", 1)
    return tuple(
        values.get(
            c.name, "" if c.notnull and c.default is None and not c.is_numeric else c.default
        )
        for c in columns
    )


def rows(table: str, *given: Mapping[str, Value]) -> Rows:
    """Rows by key."""
    made = [row(table, **values) for values in given]
    return {layout(table).key_of(entry): entry for entry in made}


def servers(text: str) -> Rows:
    """Servers that are written as `HOSTGROUP HOST [STATUS] [column=number]`, with commas."""
    made: list[dict[str, Value]] = []
    for hostgroup, host, *rest in map(str.split, filter(None, text.split(","))):
        cells: dict[str, Value] = {"hostgroup_id": int(hostgroup), "hostname": host}
        for word in rest:
            name, is_cell, number = word.partition("=")
            cells |= {name: int(number)} if is_cell else {"status": word}
        made.append(cells)
    return rows("mysql_servers", *made)


def servers_text(found: Rows) -> str:
    """Return servers as sorted text that `servers` reads; it omits defaults."""
    usual = {"status": "ONLINE", "weight": 1, "max_connections": 1000}
    made = []
    for server in sorted(found.values(), key=repr):
        cells = dict(zip(layout("mysql_servers").names, server, strict=True))
        unusual = {name: cells[name] for name in usual if cells[name] != usual[name]}
        words = [str(cells["hostgroup_id"]), str(cells["hostname"])]
        words += [str(unusual.pop("status"))] if "status" in unusual else []
        made.append(" ".join([*words, *(f"{name}={value}" for name, value in unusual.items())]))
    return ", ".join(made)


def current(tables: Mapping[str, Rows]) -> InstanceState:
    """The state of an instance of the reference version with these rows in all layers."""
    layouts = {name: layout(name) for name in SERVING_TABLES}
    held = {
        name: TableLayers(of, dict.fromkeys(Layer, tables.get(name, {})), {})
        for name, of in layouts.items()
    }
    facts = RuntimeFacts(
        monitor=MonitorSettings(is_on_for_pgsql=False),
        regex_engine=1,
        admin_names=frozenset({"admin"}),
        is_cluster_member=False,
        is_read_only=False,
    )
    login = Login("127.0.0.1", 6032, "admin", "admin")
    info = InstanceInfo(
        "px", "px:6032", str(REFERENCE), login, layouts, Deviations(), facts, {}, {}
    )
    return InstanceState(info, held)


def placed(*families: Family, is_cluster_member: bool = False) -> Topologies:
    """The topologies of an instance whose files, MEMORY and RUNTIME have these families."""
    topology = Topology(families)
    return Topologies(topology, topology, topology, is_cluster_member)


def desired(
    table: str,
    *given: Mapping[str, Value],
    scope: Scope | None = None,
    keep_on_update: Iterable[str] = (),
) -> DesiredTable:
    """A managed table: a missing status or password is left alone, as in files."""
    found: dict[tuple[Value, ...], DesiredRow] = {}
    of = layout(table)
    for values in given:
        cells: list[object] = list(row(table, **values))
        for name in ("status", "password"):
            if name in of.index and name not in values and not table.endswith("hostgroups"):
                cells[of.index[name]] = KEEP
        key = of.key_of(row(table, **values))
        found[key] = tuple(cells)  # type: ignore[arg-type]
    return DesiredTable(of, found, keep_on_update=frozenset(keep_on_update), scope=scope)


def diff(
    wanted: DesiredTable | None,
    memory: Rows,
    *,
    runtime: Rows | None = None,
    disk: Rows | None = None,
    table: str = "",
    topologies: Topologies = Topologies(),
) -> TableDiff:
    """Survey a table with these layers; RUNTIME and DISK default to MEMORY's rows."""
    layers = {
        Layer.MEMORY: memory,
        Layer.RUNTIME: dict(memory) if runtime is None else runtime,
        Layer.DISK: dict(memory) if disk is None else disk,
    }
    of = wanted.layout if wanted else layout(table)
    return diff_table(of, wanted, layers, topologies)


def module_plan(*diffs: TableDiff) -> ModulePlan:
    """The plan of the admin module these tables belong to."""
    name = diffs[0].layout.table.admin_module
    return plan_module(ADMIN_MODULES[name], {s.layout.name: s for s in diffs})
