"""Rollback to a snapshot: an ordinary plan whose desired rows are the rows that served traffic.

Like an export, a rollback folds RUNTIME back into configuration, with MEMORY for rows that RUNTIME
does not show. It restores only the scope of the apply that took the snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from proxyctl.catalog import TABLES, Layout, Role, parse_version
from proxyctl.catalog.variable_rules import is_out_of_reach
from proxyctl.catalog.variables import READ_ONLY, RESTART_ONLY
from proxyctl.errors import RefusedError
from proxyctl.instance.client import AdminClient
from proxyctl.interchange.fold import from_runtime
from proxyctl.plan.files import planned
from proxyctl.plan.guards.shard_moves import shard_section_of
from proxyctl.plan.inspect import inspect, read_info
from proxyctl.plan.instance_state import InstanceState
from proxyctl.plan.make import PlanOptions, select
from proxyctl.plan.plan import Plan
from proxyctl.plan.secrets import hidden_row
from proxyctl.proxysql.load_image import runtime_image
from proxyctl.proxysql.topology import MonitorSettings, Topology
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.rows.desired import SNAPSHOT, Desired, DesiredTable, Scope
from proxyctl.rows.row import Key, Layer, Row, Rows, Where, named_rows, sorted_keys
from proxyctl.snapshots.folder import history
from proxyctl.snapshots.snapshot import References, Snapshot, TableScope

CORRECT_FILES = "correct the files, too, or the next apply makes the change again"
"""What remains to do after a rollback, which changes no files."""
_NOT_SET = "(null)"
"""RUNTIME shows this text for an interface that is not set. No statement may set it as a value."""


def check_fit(client: AdminClient, snapshot: Snapshot) -> None:
    """Refuse a snapshot of another instance, or of another ProxySQL version.

    Raises: RefusedError.
    """
    header = snapshot.header
    if header.address != client.address:
        raise RefusedError(
            f"{snapshot.name} is a snapshot of {header.address}, not of {client.address}",
            fix="to copy a configuration to another instance, use export and apply",
        )
    if header.version.split(".")[:2] != client.version_text.split(".")[:2]:
        raise RefusedError(
            f"{snapshot.name} was taken from ProxySQL {header.version}; this is"
            f" {client.version_text}",
            fix="apply the files of that time: a snapshot can only be restored to the same version",
        )


def rollback_plan(
    client: AdminClient,
    snapshot: Snapshot,
    options: PlanOptions,
    taken_over: Mapping[str, bool] | None = None,
) -> tuple[Plan, InstanceState]:
    """Return the plan that restores a snapshot, and the state that it was made from.

    `taken_over`: see `read_info`. Raises: ConfigError, InstanceError, RefusedError, UsageError.
    """
    info = read_info(client, taken_over)
    desired = desired_of(snapshot, info.layouts, _references(snapshot, client.address))
    desired = select(desired, options.only)
    current = inspect(client, desired, info)
    return planned(desired, current, options), current


def _references(snapshot: Snapshot, address: str) -> dict[str, frozenset[str]]:
    """Return the columns and variables to mask: those of all snapshots of the instance.

    A later apply may have put a secret where this snapshot has none.
    """
    references: dict[str, frozenset[str]] = dict(snapshot.header.references)
    for kept in history(address):
        for table, names in (kept.header.references if kept.header else {}).items():
            references[table] = references.get(table, frozenset()) | names
    return references


# -- a snapshot as desired rows -------------------------------------------------------------------


def desired_of(
    snapshot: Snapshot, layouts: Mapping[str, Layout], references: References
) -> Desired:
    """Return the snapshot as desired rows. `layouts`: of the instance.

    Raises: RefusedError if a table has other columns in the instance.
    """
    header = snapshot.header
    for name, held_table in snapshot.tables.items():
        if name not in layouts or layouts[name].names != held_table.columns:
            raise RefusedError(
                f"{snapshot.name} holds {name} with columns that this instance does not have",
                fix="apply the files of that time",
            )
    scope = header.scope
    if scope is None:
        scope = dict.fromkeys(snapshot.tables, TableScope())
    held = {name: table.layers for name, table in snapshot.tables.items()}
    topology = Topology.placed(layouts, held, _monitor_settings(snapshot))
    tables: dict[str, DesiredTable] = {}
    warnings: list[str] = []
    for name in TABLES:
        if name not in scope or name not in snapshot.tables:
            continue
        layout = layouts[name]
        layers = {
            layer: {layout.key_of(row): row for row in rows}
            for layer, rows in snapshot.tables[name].layers.items()
        }
        rows = _configured(layout, layers, topology)
        if layout.table.prefix is not None:
            settable = _settable(layout, rows, layers[Layer.DISK])
            warnings += _left_alone(rows.keys() - settable.keys(), scope[name])
            rows = settable
        tables[name] = table = _desired(
            layout, rows, scope[name], Where(snapshot.name, 0, 0), references.get(name, ())
        )
        warnings += _differences(table, layers)
    return Desired(
        tables,
        parse_version(header.version),
        header.hostgroup_names,
        warnings=tuple(warnings),
        source=SNAPSHOT,
    )


def _monitor_settings(snapshot: Snapshot) -> MonitorSettings:
    """Return the settings of the monitor at the time of the snapshot, as if it was on.

    A snapshot without variables does not tell whether the monitor discovered nodes of Amazon RDS.
    """
    variables = {
        str(name): str(value)
        for table in ("mysql_variables", "pgsql_variables")
        if table in snapshot.tables
        for name, value in snapshot.tables[table].layers[Layer.RUNTIME]
    }
    return MonitorSettings.of(variables).as_if_on()


def _configured(layout: Layout, layers: Mapping[Layer, Rows], topology: Topology) -> Rows:
    """Return RUNTIME as configuration, without drains and nodes that the monitor discovered."""
    rows = from_runtime(layout, layers, topology)
    if layout.table.role is not Role.SERVERS:
        return rows
    families = topology.of_servers(layout).families
    discovering = Topology(tuple(family for family in families if family.discovers))
    configured = set(map(discovering.identity, layers[Layer.MEMORY]))
    return {
        key: row
        for key, row in rows.items()
        if discovering.family_of(key[0]) is None or discovering.identity(key) in configured
    }


def _settable(layout: Layout, rows: Rows, disk: Rows) -> Rows:
    """Return the variables that a statement can set; restart-only variables as on DISK."""
    result: Rows = {}
    for key, row in rows.items():
        name, value = str(key[0]), str(row[1])
        if name in RESTART_ONLY and key in disk:
            result[key] = disk[key]
        elif not (
            name in RESTART_ONLY | READ_ONLY
            or value == _NOT_SET
            or is_out_of_reach(name, value, layout.version)
        ):
            result[key] = row
    return result


def _left_alone(keys: Iterable[Key], scope: TableScope) -> Iterator[str]:
    """Yield a warning for each variable that no statement can restore."""
    for (name,) in sorted_keys(keys):
        if scope.rows is not None and scope.rows.owns((name,)):
            yield f"{name}: left alone: no statement restores its earlier value"


def _desired(
    layout: Layout, rows: Rows, scope: TableScope, where: Where, hidden: Collection[str]
) -> DesiredTable:
    owned = scope.rows
    if layout.table.prefix is not None:
        text = "the variables of the snapshot" if owned is None else owned.text
        rows = {key: row for key, row in rows.items() if owned is None or owned.owns(key)}
        owned = Scope(rows.__contains__, text, {} if owned is None else owned.terms)
    elif owned is not None:
        rows = {key: row for key, row in rows.items() if owned.owns(key)}
    places = {key: _place(layout, row, where) for key, row in rows.items()}
    return DesiredTable(
        layout,
        {key: hidden_row(layout, key, row, hidden) for key, row in rows.items()}
        if hidden
        else rows,
        places,
        keep_on_update=scope.ignored,
        scope=owned,
        references=frozenset(hidden),
        origins=frozenset(filter(None, (place.origin for place in places.values()))),
    )


def _place(layout: Layout, row: Row, where: Where) -> Where:
    section = shard_section_of(layout, row)
    return where if section is None else where._replace(origin=f"sharding {section}")


def _differences(table: DesiredTable, layers: Mapping[Layer, Rows]) -> Iterator[str]:
    """Yield a warning if MEMORY or DISK differed from RUNTIME: only RUNTIME is restored."""
    layout = table.layout
    image = runtime_image(layout, dict(table.rows))
    for layer in (Layer.MEMORY, Layer.DISK):
        rows_of_layer = fold_users(layout, layers[layer])
        keys: set[Key] = {key for key in rows_of_layer if table.owns(key)} | table.rows.keys()
        loaded = runtime_image(layout, rows_of_layer)
        different = [
            key
            for key in keys
            if rows_of_layer.get(key) != table.rows.get(key)
            # A LOAD makes NULL and '' the same. A row that no LOAD takes is compared as it is.
            and (key not in image or loaded.get(key) != image[key])
        ]
        if different:
            yield (
                f"{layout.name}: {layer.upper()} and RUNTIME differed in"
                f" {named_rows(layout.name, different)} then; all layers will get what RUNTIME"
                " held"
            )
