"""What RUNTIME holds before and after an apply, as two whole configurations. Pure.

Whatever judges a plan reads these two: they have the rows of the files, the rows that the files
leave alone, and the tables that the files do not manage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from proxyctl.catalog import Value
from proxyctl.catalog.destinations import destinations_of
from proxyctl.config.project import places_in
from proxyctl.plan.diff import ServerDiff, TableDiff
from proxyctl.plan.instance_state import InstanceState
from proxyctl.plan.plan import ModulePlan
from proxyctl.proxysql.configuration import (
    BeforeAfter,
    ConfigTable,
    Configuration,
    PlaceFinder,
    variables_of,
)
from proxyctl.proxysql.load_image import runtime_image
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.rows.desired import FILES, Desired
from proxyctl.rows.row import DesiredRow, Key, Layer, Rows, Where


def before_after(
    modules: Iterable[ModulePlan], current: InstanceState, desired: Desired
) -> BeforeAfter:
    """Return the configurations before and after an apply of these modules.

    A table that was not read is not whole and has no rows. Both are the same object if nothing
    changes.
    """
    plans = {name: module for module in modules for name in module.diffs}
    tables: tuple[dict[str, ConfigTable], dict[str, ConfigTable]] = {}, {}
    variables: tuple[dict[str, str], dict[str, str]] = {}, {}
    for name, layout in current.info.layouts.items():
        plan = plans.get(name)
        running = plan.diffs[name].running if plan else current.at_runtime(name)
        before = {} if running is None else running
        if plan is None:
            before = fold_users(layout, before)
        after = _after(plan, plan.diffs[name]) if plan else before
        for side, rows in enumerate((before, after)):
            if layout.table.prefix is not None:
                variables[side].update(variables_of(rows.values()))
            else:
                tables[side][name] = ConfigTable(layout, rows, is_whole=running is not None)
    names, version = desired.hostgroup_names, current.info.version
    place, lacks = _places(desired, plans), desired.source.lacks if desired.source is FILES else ""
    plugins = current.info.ledger.plugins
    first, second = (
        Configuration(version, held, values, names, place, lacks, plugins)
        for held, values in zip(tables, variables, strict=True)
    )
    is_same = first.variables == second.variables and all(
        held.rows is second.tables[name].rows for name, held in first.tables.items()
    )
    return BeforeAfter(first, first if is_same else second)


class HostgroupsInUse(NamedTuple):
    """The hostgroups that RUNTIME sends traffic to before and after an apply, by table."""

    before: Mapping[str, frozenset[Value]]
    after: Mapping[str, frozenset[Value]]

    @property
    def at_any_time(self) -> frozenset[Value]:
        """The hostgroups before or after the apply."""
        return frozenset().union(*self.before.values(), *self.after.values())


def hostgroups_in_use(
    servers: str, diffs: Mapping[str, TableDiff], current: InstanceState
) -> HostgroupsInUse:
    """Return the hostgroups of a table of servers that are in use.

    A table that was not read does not change.
    """
    before, after = {}, {}
    for name, column in destinations_of(servers).items():
        layout, rows = current.info.layouts.get(name), current.at_runtime(name)
        before[name] = after[name] = current.destinations.get(name, frozenset())
        if layout is None or rows is None:
            continue
        position = layout.index[column]
        before[name] = after[name] = _hostgroups_in(rows.values(), position)
        if name in diffs and diffs[name].changes[Layer.RUNTIME]:
            after[name] = _hostgroups_in(diffs[name].coming.values(), position)
    return HostgroupsInUse(before, after)


def _hostgroups_in(rows: Iterable[DesiredRow], position: int) -> frozenset[Value]:
    """Return the hostgroups in one column of these rows."""
    return frozenset(cell for row in rows if isinstance(cell := row[position], int))


def _after(module: ModulePlan, diff: TableDiff) -> Rows:
    """Return the rows of a table at RUNTIME after an apply; `running` itself if none changes.

    Servers are those of the last LOAD, where the monitor has them.
    """
    if not (isinstance(diff, ServerDiff) and diff.changes[Layer.RUNTIME]):
        return diff.coming
    image = module.images[-1] if module.images else {}
    loaded = runtime_image(diff.layout, image.get(diff.layout.name, diff.target))
    return cast("Rows", loaded)


def _places(desired: Desired, plans: Mapping[str, ModulePlan]) -> PlaceFinder:
    """Return the function that finds rows in the files, also nodes that the monitor has moved."""
    in_files = places_in(desired.tables)
    configured: dict[str, dict[Key, Key]] = {}
    for name, plan in plans.items():
        diff = plan.diffs[name]
        if isinstance(diff, ServerDiff) and name in desired.tables:
            configured[name] = {diff.identity(key): key for key in desired.tables[name].rows}

    def place(name: str, key: Key, column: str | None) -> Where | None:
        if name in configured and key not in desired.tables[name].rows:
            key = configured[name].get(plans[name].diffs[name].identity(key), key)
        return in_files(name, key, column)

    return place
