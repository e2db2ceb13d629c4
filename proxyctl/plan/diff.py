"""The differences of one table: between its layers and the files, and between its layers. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import cast

from proxyctl.catalog import Layout, Role
from proxyctl.catalog.variables import RESTART_ONLY
from proxyctl.plan.secrets import IdentityOf, hide_references
from proxyctl.proxysql.compare import (
    Difference,
    differences,
    differences_from_memory,
    same_rows,
    value_of,
)
from proxyctl.proxysql.compare_servers import ServersVerdict, compare_servers
from proxyctl.proxysql.load_image import is_copied, runtime_image, still_secret
from proxyctl.proxysql.servers import drained_nodes, server_reader, stays_shunned, without_off
from proxyctl.proxysql.topology import Node, Topologies, Topology
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.rows.desired import DesiredTable
from proxyctl.rows.row import KEEP, DesiredRow, Key, Layer, Row, Rows, sorted_keys


@dataclass(frozen=True)
class TableDiff:
    """The differences of one table."""

    layout: Layout
    """The table in the instance's version."""
    desired: DesiredTable | None
    """The rows of the files; None: the files do not manage the table."""
    memory: Rows
    """MEMORY as stored: users in halves stay halves."""
    runtime: Rows
    """RUNTIME as stored."""
    running: Rows
    """RUNTIME with the halves of users joined."""
    disk: Rows
    """DISK as stored."""
    target: Rows
    """MEMORY after staging."""
    changes: Mapping[Layer, list[Difference]]
    """The differences of each layer from the files."""
    unpublished: list[Difference]
    """The differences of RUNTIME from MEMORY, managed or not: RUNTIME's row is `current`, and
    MEMORY's `desired`."""
    unsaved: list[Difference]
    """The differences of DISK from MEMORY, in the same way."""
    memory_count: int
    """The number of rows of MEMORY; a user, and a node of a family, counts once."""
    runtime_count: int
    """The number of rows of RUNTIME, counted likewise."""
    unowned: int = 0
    """The number of MEMORY rows outside the scope of the files."""

    @property
    def is_in_sync(self) -> bool:
        """Whether no layer differs from the files."""
        return not any(self.changes.values())

    @property
    def stages(self) -> bool:
        """Whether an apply writes MEMORY."""
        return bool(self.changes[Layer.MEMORY])

    @property
    def restart_only(self) -> Rows:
        """The variables on DISK that ProxySQL reads only at start."""
        if self.layout.table.prefix is None:
            return {}
        return {(name,): self.disk[name,] for name in RESTART_ONLY if (name,) in self.disk}

    @cached_property
    def coming(self) -> Rows:
        """RUNTIME after an apply, with the halves of users joined; `running` if nothing changes.

        The monitor may place servers elsewhere.
        """
        changes = self.changes[Layer.RUNTIME]
        if not changes:
            return self.running
        if changes is self.changes[Layer.MEMORY] and self.running is self.memory:
            return self.target
        return staged(self.layout, self.running, self.running, changes)

    @property
    def of_plugins(self) -> Counter[str]:
        """The number of MEMORY rows that a plugin owns, by plugin."""
        if self.desired is None or self.desired.plugin_of is None:
            return Counter()
        return _of_plugins(self.desired, fold_users(self.layout, self.memory))

    def identity(self, key: Key) -> Key:
        """Return what the keys of the same row have in common, in every layer."""
        return key


@dataclass(frozen=True, kw_only=True)
class ServerDiff(TableDiff):
    """The differences of a table of servers, where the monitor moves nodes.

    `runtime` and `running` have no OFFLINE_HARD rows.
    """

    topology: Topology
    """The families whose nodes the monitor places."""
    drained: frozenset[Node]
    """The nodes that RUNTIME alone shows drained."""
    discovered: tuple[Node, ...]
    """The nodes that a monitor discovered."""
    shunned: frozenset[Key]
    """The keys at RUNTIME of the servers that ProxySQL leaves SHUNNED."""
    draining: frozenset[Key]
    """The keys of the OFFLINE_HARD rows."""
    as_placed: tuple[Layer, ...]
    """The layers that differ from the files by placement alone."""

    @property
    def removed(self) -> Collection[Key]:
        """The keys of the MEMORY rows that an apply removes."""
        return self.memory.keys() - self.target.keys()

    def identity(self, key: Key) -> Key:
        """Return what all keys of a node of a family have in common; elsewhere the key."""
        return self.topology.identity(key)


def diff_table(
    layout: Layout,
    desired: DesiredTable | None,
    rows: Mapping[Layer, Rows],
    topologies: Topologies = Topologies(),
) -> TableDiff:
    """Compare the three layers of a table with the files and with one another.

    `desired` None: the files do not manage the table. `rows` by layer; layers that are the same
    object are compared faster.
    """
    if desired is not None:
        rows = hide_references(desired, rows, _identity_of(layout, topologies))
    if layout.table.role is Role.SERVERS:
        return _diff_servers(layout, desired, rows, topologies)
    return _diff_rows(layout, desired, rows)


def _identity_of(layout: Layout, topologies: Topologies) -> IdentityOf:
    """Return the function that maps the keys of a user, or of a node of a family, to one."""
    if layout.table.role is Role.USERS:
        return itemgetter(0)
    if layout.table.role is Role.SERVERS:
        return topologies.around(layout).identity
    return lambda key: key


def _diff_rows(
    layout: Layout, desired: DesiredTable | None, rows: Mapping[Layer, Rows]
) -> TableDiff:
    """Compare a table other than a table of servers."""
    memory, runtime, disk = rows[Layer.MEMORY], rows[Layer.RUNTIME], rows[Layer.DISK]
    folded = fold_users(layout, memory)
    in_memory = _file_differences(layout, desired, folded, Layer.MEMORY)
    target = staged(layout, memory, folded, in_memory) if in_memory else memory
    if same_rows(disk, memory):
        saved, unsaved = folded, []
    else:
        saved = fold_users(layout, disk)
        unsaved = differences_from_memory(layout, saved, folded)
    is_same = saved is folded and layout.table.prefix is None
    on_disk = in_memory if is_same else _file_differences(layout, desired, saved, Layer.DISK)
    if runtime is memory and is_copied(layout):
        running, unpublished, at_runtime = folded, [], in_memory
    else:
        running = fold_users(layout, runtime)
        unpublished = _unpublished(layout, running, folded)
        at_runtime = []
        # Otherwise RUNTIME shows MEMORY, and MEMORY agrees with the files.
        if desired is not None and (unpublished or in_memory):
            image = _wanted_image(desired, target)
            ignored = desired.keep_on_update
            at_runtime = [*differences(layout, running, image.items(), ignored=ignored)]
            at_runtime += _removals(desired, running, image)
    return TableDiff(
        layout,
        desired,
        memory,
        runtime,
        running,
        disk,
        target,
        changes={
            Layer.MEMORY: in_memory,
            Layer.RUNTIME: at_runtime,
            Layer.DISK: on_disk,
        },
        unpublished=unpublished,
        unsaved=unsaved,
        memory_count=len(folded),
        runtime_count=len(running),
        unowned=_unowned(desired, folded),
    )


def _unpublished(layout: Layout, running: Rows, memory: Rows) -> list[Difference]:
    """Return how RUNTIME differs from what it shows after a LOAD of MEMORY; users are folded."""
    if same_rows(running, memory):  # RUNTIME shows MEMORY as it is
        return []
    return differences_from_memory(layout, running, runtime_image(layout, memory))


def _diff_servers(
    layout: Layout,
    desired: DesiredTable | None,
    rows: Mapping[Layer, Rows],
    topologies: Topologies,
) -> ServerDiff:
    """Compare servers. The monitor moves nodes of families between hostgroups at RUNTIME."""
    memory, disk = rows[Layer.MEMORY], rows[Layer.DISK]
    topology = topologies.around(layout)
    runtime = without_off(layout, rows[Layer.RUNTIME])
    drained = drained_nodes(layout, runtime, memory, disk)
    shunned = stays_shunned(layout, runtime, memory, disk, topology)

    def stored(layer_rows: Rows, layer: Layer) -> list[Difference]:
        if desired is not None and topologies.is_cluster_member and topology.families:
            return _stored_by_family(desired, layer_rows, topologies)
        return _file_differences(layout, desired, layer_rows, layer)

    in_memory = stored(memory, Layer.MEMORY)
    target = staged(layout, memory, memory, in_memory) if in_memory else memory
    removed = memory.keys() - target.keys()
    at_runtime = ServersVerdict([], [])
    if desired is not None:
        image = _servers_image(desired, target, runtime, topology)
        at_runtime = _by_family(
            desired,
            runtime,
            image,
            topologies,
            drained=drained,
            shunned=shunned,
            removed=removed,
        )
    loaded = runtime_image(layout, memory)
    published = compare_servers(
        layout, runtime, loaded, topologies.memory, drained=drained, shunned=shunned
    )
    changes = {
        Layer.MEMORY: in_memory,
        Layer.RUNTIME: at_runtime.differences,
        Layer.DISK: in_memory if disk == memory else stored(disk, Layer.DISK),
    }
    return ServerDiff(
        layout,
        desired,
        memory,
        runtime,
        runtime,
        disk,
        target,
        changes=changes,
        unpublished=published.differences,
        unsaved=differences_from_memory(layout, disk, memory),
        memory_count=topology.count(memory),
        runtime_count=topology.count(runtime),
        topology=topology,
        drained=drained,
        discovered=tuple(at_runtime.discovered),
        shunned=shunned,
        draining=frozenset(rows[Layer.RUNTIME].keys() - runtime.keys()),
        unowned=_unowned(desired, memory),
        as_placed=tuple(
            layer
            for layer in (Layer.MEMORY, Layer.DISK)
            if changes[layer]
            and removed.isdisjoint(difference.key for difference in at_runtime.differences)
            and _is_as_placed(desired, rows[layer], topologies)
        ),
    )


def _servers_image(
    desired: DesiredTable, target: Rows, runtime: Rows, topology: Topology
) -> Mapping[Key, DesiredRow]:
    """Return the servers that RUNTIME shows once the desired rows are loaded."""
    layout = desired.layout
    off = switched_off(layout, target, runtime, topology)
    image = runtime_image(layout, dict(desired.rows))
    return {key: row for key, row in image.items() if key not in off}


def _is_as_placed(desired: DesiredTable | None, layer_rows: Rows, topologies: Topologies) -> bool:
    """Return whether the rows differ only by the hostgroups of nodes of families."""
    if desired is None or not topologies.desired.families:
        return False
    return not _stored_by_family(desired, layer_rows, topologies)


def _stored_by_family(
    desired: DesiredTable, layer_rows: Rows, topologies: Topologies
) -> list[Difference]:
    """Return the differences of MEMORY or DISK from the files, wherever a node is in its family.

    A SHUNNED in these layers is never ProxySQL's own.
    """
    shunned = stays_shunned(desired.layout, layer_rows, layer_rows, layer_rows, topologies.desired)
    return _by_family(desired, layer_rows, desired.rows, topologies, shunned=shunned).differences


def _unowned(desired: DesiredTable | None, rows: Rows) -> int:
    """Return the number of rows outside the scope of the files that no plugin owns."""
    if desired is None or desired.scope is None:
        return 0
    outside = sum(1 for key in rows if not desired.owns(key))
    return outside - sum(_of_plugins(desired, rows).values())


def _of_plugins(desired: DesiredTable, rows: Rows) -> Counter[str]:
    """Return the number of rows of each plugin."""
    owners = map(desired.plugin_of, rows) if desired.plugin_of else ()
    return Counter(owner for owner in owners if owner is not None)


def _file_differences(
    layout: Layout, desired: DesiredTable | None, current: Rows, layer: Layer
) -> list[Difference]:
    """Return the exact differences of rows (users folded) from the files."""
    if desired is None:
        return []
    wanted = _wanted(desired, layer)
    if same_rows(current, wanted):
        return []
    if not current:
        # In the order of the keys, like everything that is made of a first apply.
        return [Difference(key, None, wanted[key]) for key in sorted_keys(wanted)]
    exact = list(differences(layout, current, wanted.items(), ignored=desired.keep_on_update))
    exact.extend(_removals(desired, current, wanted))
    return exact


def _wanted(desired: DesiredTable, layer: Layer) -> Mapping[Key, DesiredRow]:
    """Return the desired rows of this layer: restart-only variables are desired on DISK alone."""
    if desired.layout.table.prefix is not None and layer is not Layer.DISK:
        return {key: row for key, row in desired.rows.items() if key[0] not in RESTART_ONLY}
    return desired.rows


def _removals(
    desired: DesiredTable, current: Rows, wanted: Mapping[Key, object]
) -> Iterable[Difference]:
    """Yield the rows to remove. Variables cannot be removed."""
    if desired.layout.table.prefix is not None or current.keys() <= wanted.keys():
        return
    for key, row in current.items():
        if key not in wanted and desired.owns(key):
            yield Difference(key, row, None)


def _wanted_image(desired: DesiredTable, target: Rows) -> Mapping[Key, DesiredRow]:
    """Return the rows that RUNTIME shows once the desired rows are loaded.

    How RUNTIME shows a variable may depend on a variable that the files do not name.
    """
    layout, wanted = desired.layout, _wanted(desired, Layer.RUNTIME)
    if layout.table.prefix is None:
        return runtime_image(layout, dict(wanted))
    image = runtime_image(layout, target)
    ours = ((key, row) for key, row in image.items() if key in wanted)
    # The image has plain texts where MEMORY already holds a secret of the files.
    return dict(still_secret(ours, wanted))


def switched_off(layout: Layout, target: Rows, runtime: Rows, topology: Topology) -> set[Key]:
    """Return the servers that will be OFFLINE_HARD in MEMORY and that RUNTIME lacks."""
    read = server_reader(layout)
    off = {key for key, row in target.items() if read(row).is_off}
    live = set(map(topology.identity, runtime)) if off else set()
    return {key for key in off if topology.identity(key) not in live}


def _by_family(
    desired: DesiredTable,
    current: Rows,
    wanted: Mapping[Key, DesiredRow],
    topologies: Topologies,
    *,
    drained: frozenset[Node] = frozenset(),
    shunned: frozenset[Key] = frozenset(),
    removed: Collection[Key] = (),
) -> ServersVerdict:
    index = desired.layout.index
    return compare_servers(
        desired.layout,
        current,
        wanted,
        topologies.desired,
        owned={key: desired.owns(key) for key in current},
        ignored=frozenset(index[name] for name in desired.keep_on_update if name in index),
        drained=drained,
        shunned=shunned,
        removed=removed,
    )


def staged(layout: Layout, memory: Rows, folded: Rows, changes: Sequence[Difference]) -> Rows:
    """Return MEMORY after the changes. KEEP keeps the present value, or becomes the default.

    A changed user in two halves becomes one row.
    """
    result = dict(memory)
    is_users = layout.table.role is Role.USERS
    # Remove all rows before adding any: the second half of a removed user may be an added row.
    # A variable keeps its place: a LOAD takes variables in the order of MEMORY.
    is_variables = layout.table.prefix is not None
    for change in changes:
        if change.current is not None and not is_variables:
            # Not change.key: a node of a family may be in another hostgroup than configured.
            _remove(result, layout.key_of(change.current), memory, folded, is_users=is_users)
    for change in changes:
        if change.desired is None:
            continue
        if change.current is None and KEEP not in change.desired:
            result[change.key] = cast("Row", change.desired)
            continue
        if change.current is None:
            row = tuple(
                default if cell is KEEP else cell
                for cell, default in zip(change.desired, layout.defaults, strict=True)
            )
        else:
            cells = list(change.current)
            for position in change.columns:
                cells[position] = value_of(change.desired, position)
            row = tuple(cells)
        result[layout.key_of(row)] = row
    return result


def _remove(result: Rows, key: Key, memory: Rows, folded: Rows, *, is_users: bool) -> None:
    result.pop(key, None)
    if is_users and key[1] == 1 and (key[0], 0) in memory and (key[0], 0) not in folded:
        result.pop((key[0], 0), None)
