"""The MEMORY rows for every LOAD of an apply, and those before its SAVE. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from proxyctl.catalog import Value
from proxyctl.catalog.destinations import destinations_of
from proxyctl.plan.diff import ServerDiff
from proxyctl.plan.plan import ModulePlan
from proxyctl.proxysql.compare import value_of
from proxyctl.proxysql.placement import placed_rows, with_successors
from proxyctl.proxysql.topology import Topology
from proxyctl.rows.row import Key, Rows


def with_images(
    modules: Iterable[ModulePlan],
    topology: Topology,
    used_hostgroups: Mapping[str, frozenset[Value]],
) -> list[ModulePlan]:
    """Return the modules with the rows that each loads, and with those before its SAVE.

    A module of servers loads placed rows. If servers leave a hostgroup that traffic still uses
    while rules or users change in the same apply, a first LOAD has the old and the new rows: a
    query routed to an emptied hostgroup would wait the whole connect timeout. `topology`: the
    desired families whose nodes the monitor places now. `used_hostgroups` by table of servers.
    """
    plans = list(modules)

    def reroutes(servers: str) -> bool:
        return any(
            plan.load and not destinations_of(servers).keys().isdisjoint(plan.diffs)
            for plan in plans
        )

    def completed(plan: ModulePlan) -> ModulePlan:
        target = {name: diff.target for name, diff in plan.diffs.items()}
        final = _with_restart_only(plan) if plan.save else target
        if not plan.load:
            return replace(plan, final=final)
        if plan.servers is not None:
            name = plan.servers.layout.name
            monitored = topology.of_servers(plan.servers.layout)
            used = used_hostgroups.get(name, frozenset()) if reroutes(name) else frozenset()
            images = _server_images(plan.servers, target, monitored, used)
            return replace(plan, final=final, images=images, monitored=monitored)
        return replace(plan, final=final, images=[target])

    return [completed(plan) for plan in plans]


def _server_images(
    diff: ServerDiff,
    target: dict[str, Rows],
    topology: Topology,
    used_hostgroups: frozenset[Value],
) -> list[dict[str, Rows]]:
    """Return the rows of each LOAD. `used_hostgroups`: those in use before or after the apply."""
    layout, runtime = diff.layout, diff.runtime
    placed = placed_rows(
        layout, diff.target, runtime, topology, drained=diff.drained, removed=diff.removed
    )
    loaded = with_successors(layout, placed, runtime, topology)
    image = {**target, layout.name: loaded}
    hostgroup = layout.index["hostgroup_id"]
    leaving = {
        key: row
        for key, row in runtime.items()
        if key not in placed and row[hostgroup] in used_hostgroups
    }
    if not leaving:
        return [image]
    union = {**leaving, **placed}
    union = placed_again(diff, union, runtime, topology) or union
    return [{**image, layout.name: union}, image]


def placed_again(
    diff: ServerDiff,
    image: Rows,
    runtime: Rows,
    topology: Topology,
) -> Rows | None:
    """Return the image with the nodes of families in their present hostgroups at RUNTIME.

    The monitor moves nodes during an apply: a LOAD of their hostgroups at the time of the plan
    would give the writes back to a node that has failed since. None if no node has moved.
    """
    topology = topology.of_servers(diff.layout)
    in_family, identity = topology.by_hostgroup, topology.identity
    configured = {key: row for key, row in diff.target.items() if key[0] in in_family}
    staying = set(map(identity, configured))

    def is_kept(key: Key) -> bool:
        """Whether the row is of no family, or its node leaves the family with another LOAD."""
        family = in_family.get(key[0])
        return family is None or not (family.discovers or identity(key) in staying)

    kept = {key: row for key, row in image.items() if is_kept(key)}
    layout, leaving = diff.layout, {(key[1], key[2]) for key in kept if key[0] in in_family}
    placed = placed_rows(
        layout,
        {**kept, **configured},
        runtime,
        topology,
        drained=diff.drained,
        leaving=leaving,
        removed=diff.removed,
    )
    loaded = with_successors(layout, placed, runtime, topology)
    return None if loaded == image else loaded


def _with_restart_only(plan: ModulePlan) -> dict[str, Rows]:
    """Return the MEMORY rows before a SAVE: restart-only variables from the files, else from DISK.

    A LOAD puts the running values back into MEMORY; a SAVE of those would revert DISK.
    """
    final = {name: diff.target for name, diff in plan.diffs.items()}
    for name, diff in plan.diffs.items():
        if not diff.restart_only:
            continue
        rows = {**diff.target, **diff.restart_only}
        for key, wanted in diff.desired.rows.items() if diff.desired else ():
            if key in diff.restart_only:
                rows[key] = (key[0], value_of(wanted, 1))
        final[name] = rows
    return final
