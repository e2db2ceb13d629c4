"""One table surveyed: what differs from the files, and what MEMORY holds that nobody loaded.

Rows come through a callable, a layer at a time, so that a large table is never held in more layers
than are being compared. The callable is the only thing here that may reach a server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import cast

from proxyctl.catalog import Layout, Role
from proxyctl.catalog.variable_effects import go_together
from proxyctl.catalog.variable_rules import CHARSET, COLLATION, is_out_of_reach
from proxyctl.catalog.variables import READ_ONLY, RESTART_ONLY
from proxyctl.state.compare import Difference, differences, fold_users, value_of
from proxyctl.state.families import Family, Node, drained_nodes, place_of
from proxyctl.state.row import KEEP, DesiredRow, DesiredTable, Key, Layer, Row, Rows, Scope
from proxyctl.state.runtime import is_copied, runtime_image, still_secret
from proxyctl.state.servers import ServersVerdict, compare_servers

NOT_PUBLISHED = frozenset(RESTART_ONLY | READ_ONLY)
"""Variables that are not compared between MEMORY and RUNTIME."""


@dataclass
class TableSurvey:
    """What one table needs, and what stands in the way.

    Shape: `memory` and `target` are MEMORY now and after staging, as stored (users in halves stay
    halves); they are the same object where nothing is staged. `changes` lists per layer where it
    differs from the files. `unpublished` and `unsaved` list where RUNTIME and DISK differ from
    MEMORY, ours or not: `current` is the layer's row, `desired` MEMORY's. `runtime` and `disk` are
    kept only where a restore, a placement or several LOADs need them. `memory_count` and
    `runtime_count` count a user and a node of a family once, however many rows they have; `place`
    tells by a row's key what it counts as, `families` are those of servers, `drained` the nodes
    that RUNTIME alone shows drained.
    """

    layout: Layout
    desired: DesiredTable | None
    memory: Rows
    target: Rows
    changes: dict[Layer, list[Difference]] = field(default_factory=dict)
    unpublished: list[Difference] = field(default_factory=list)
    unsaved: list[Difference] = field(default_factory=list)
    runtime: Rows | None = None
    disk: Rows | None = None
    memory_count: int = 0
    runtime_count: int = 0
    place: Callable[[Key], Key] | None = None
    families: tuple[Family, ...] = ()
    disk_restart_only: dict[Key, Row] = field(default_factory=dict)
    drained: frozenset[Node] = frozenset()
    discovered: list[Node] = field(default_factory=list)
    draining: int = 0
    unowned: int = 0

    @property
    def is_in_sync(self) -> bool:
        """Whether no layer differs from the files."""
        return not any(self.changes.values())

    @property
    def is_of_servers(self) -> bool:
        """Whether it is a table of servers."""
        return self.layout.table.role is Role.SERVERS


@dataclass(frozen=True)
class Surroundings:
    """What a survey of servers has to know about the instance.

    `families` are the desired families that the monitor places now; `memory_families` those of the
    MEMORY rows. `is_cluster_member`: MEMORY and DISK may hold placed rows that a peer sent.
    """

    families: tuple[Family, ...] = ()
    memory_families: tuple[Family, ...] = ()
    is_cluster_member: bool = False


def one_key_a_node(
    survey: TableSurvey, place: Callable[[Key], Key], lists: list[list[Difference]]
) -> list[list[Difference]]:
    """Return the differences with one key for all rows of a node that leaves its family.

    RUNTIME has them in other hostgroups than MEMORY; the key is that of a row that both have, if
    there is one.
    """
    staying = set(map(place, survey.desired.rows)) if survey.desired else set()
    keys: dict[Key, Key] = {}

    def renamed(difference: Difference) -> Difference:
        where = place(difference.key)
        if difference.desired is not None or where in staying:
            return difference
        return replace(difference, key=keys.setdefault(where, difference.key))

    return [
        [renamed(one) for one in sorted(found, key=lambda one: one.key not in survey.memory)]
        for found in lists
    ]


def taken_off(survey: TableSurvey) -> set[Key]:
    """Return the servers that MEMORY will have OFFLINE_HARD, and that RUNTIME has no more."""
    found = {key for key, row in survey.target.items() if is_offline_hard(survey.layout, row)}
    place = survey.place or (lambda key: key)
    live = {place(key) for key in survey.runtime or {}} if found else set()
    return {key for key in found if place(key) not in live}


def is_offline_hard(layout: Layout, row: DesiredRow) -> bool:
    """Return whether a row of servers is in MEMORY or on DISK only, by its status."""
    return str(row[layout.index["status"]]).upper() == "OFFLINE_HARD"


def survey_table(
    layout: Layout,
    desired: DesiredTable | None,
    read: Callable[[Layer], Rows],
    surroundings: Surroundings,
) -> TableSurvey:
    """Read the table layer by layer and compare it with the files and with MEMORY."""
    if desired is not None and layout.name == "mysql_variables":
        read = cache(read)
        desired = without_guess(desired, read)
    memory = read(Layer.MEMORY)
    survey = TableSurvey(layout, desired, memory, memory)
    folded = _folded(layout, memory)
    families = (*surroundings.memory_families, *surroundings.families)
    if survey.is_of_servers and families:
        survey.place = place_of(families)
        survey.families = families
    survey.memory_count = _count(survey, folded)
    _against_memory(survey, folded, surroundings)
    _against_disk(survey, folded, read(Layer.DISK), surroundings)
    _against_runtime(survey, folded, read(Layer.RUNTIME), surroundings)
    return survey


def _count(survey: TableSurvey, folded: Rows) -> int:
    return len(folded) if survey.place is None else len(set(map(survey.place, folded)))


def _folded(layout: Layout, rows: Rows) -> Rows:
    return fold_users(layout, rows) if layout.table.role is Role.USERS else rows


def _wanted(desired: DesiredTable, layer: Layer) -> Mapping[Key, DesiredRow]:
    """Return the desired rows that count in this layer."""
    if desired.layout.table.prefix is not None and layer is not Layer.DISK:
        return {key: row for key, row in desired.rows.items() if key[0] not in RESTART_ONLY}
    return desired.rows


def _removals(
    desired: DesiredTable, current: Rows, wanted: Mapping[Key, object]
) -> Iterable[Difference]:
    """Yield the rows that should not be there. Variables cannot be removed."""
    if desired.layout.table.prefix is not None or current.keys() <= wanted.keys():
        return
    for key, row in current.items():
        if key not in wanted and desired.owns(key):
            yield Difference(key, row, None)


def _compare(
    survey: TableSurvey, current: Rows, layer: Layer, surroundings: Surroundings
) -> list[Difference]:
    """Return where `current` (folded) differs from the desired rows, exactly."""
    desired = survey.desired
    if desired is None:
        return []
    wanted = _wanted(desired, layer)
    layout = survey.layout
    if survey.is_of_servers and surroundings.is_cluster_member and surroundings.families:
        return _by_family(desired, current, wanted, surroundings).differences
    if current == wanted:
        return []
    exact = list(differences(layout, current, wanted.items(), ignored=desired.keep_on_update))
    exact.extend(_removals(desired, current, wanted))
    return exact


def _against_memory(survey: TableSurvey, folded: Rows, surroundings: Surroundings) -> None:
    found = _compare(survey, folded, Layer.MEMORY, surroundings)
    survey.changes[Layer.MEMORY] = found
    if survey.desired is not None:
        survey.unowned = sum(1 for key in folded if not survey.desired.owns(key))
    if found:
        survey.target = staged(survey.layout, survey.memory, folded, found)


def _against_disk(
    survey: TableSurvey, folded: Rows, disk: Rows, surroundings: Surroundings
) -> None:
    if survey.layout.table.prefix is not None:
        survey.disk_restart_only = {k: disk[k] for k in disk if k[0] in RESTART_ONLY}
    if disk is survey.memory or disk == survey.memory:
        survey.changes[Layer.DISK] = list(survey.changes[Layer.MEMORY])
        if survey.layout.table.prefix is not None:
            survey.changes[Layer.DISK] = _compare(survey, folded, Layer.DISK, surroundings)
        return
    rows = _folded(survey.layout, disk)
    survey.changes[Layer.DISK] = _compare(survey, rows, Layer.DISK, surroundings)
    survey.unsaved = _both_ways(survey.layout, rows, folded)
    if survey.unsaved:
        survey.disk = disk


def _both_ways(layout: Layout, layer: Rows, memory: Mapping[Key, DesiredRow]) -> list[Difference]:
    """Return where a layer differs from MEMORY; the layer's row is `current`."""
    if layer == memory:
        return []
    found = list(differences(layout, layer, memory.items()))
    if layout.table.prefix is not None:
        # A variable that only DISK has is one this ProxySQL does not know: LOAD removed it from
        # MEMORY, and no SAVE ever removes it from DISK.
        return [one for one in found if one.key[0] not in NOT_PUBLISHED and counts(layout, one)]
    found.extend(Difference(key, row, None) for key, row in layer.items() if key not in memory)
    return found


def counts(layout: Layout, difference: Difference) -> bool:
    """Return whether a variable means one thing here and another one there.

    Not where it has a value that this version does not take: nobody gave it, and nobody can.
    """
    texts = [str(row[1]) for row in (difference.current, difference.desired) if row is not None]
    return not all(is_out_of_reach(str(difference.key[0]), t, layout.version) for t in texts)


def _against_runtime(
    survey: TableSurvey, folded: Rows, runtime: Rows, surroundings: Surroundings
) -> None:
    layout = survey.layout
    survey.runtime_count = len(runtime)
    if runtime is survey.memory and is_copied(layout):
        survey.changes[Layer.RUNTIME] = list(survey.changes[Layer.MEMORY])
        return
    if survey.is_of_servers:
        _servers_at_runtime(survey, runtime, surroundings)
        return
    rows = _folded(layout, runtime)
    survey.runtime_count = len(rows)
    memory_image = runtime_image(layout, folded)
    survey.unpublished = _both_ways(layout, rows, memory_image)
    if survey.unpublished or layout.name == "admin_variables":
        survey.runtime = runtime
    if survey.desired is None or not (survey.unpublished or survey.changes[Layer.MEMORY]):
        # RUNTIME shows MEMORY, and MEMORY is what the files say.
        survey.changes[Layer.RUNTIME] = []
    else:
        image = _wanted_image(survey, survey.desired)
        found = differences(layout, rows, image.items(), ignored=survey.desired.keep_on_update)
        survey.changes[Layer.RUNTIME] = [*found, *_removals(survey.desired, rows, image)]


def _wanted_image(survey: TableSurvey, desired: DesiredTable) -> Mapping[Key, DesiredRow]:
    """Return what RUNTIME shows once the desired rows are loaded.

    What it shows of a variable depends on others, also on those that the files do not name.
    """
    wanted = _wanted(desired, Layer.RUNTIME)
    if survey.layout.table.prefix is None:
        return runtime_image(survey.layout, dict(wanted))
    image = runtime_image(survey.layout, survey.target)
    ours = ((key, row) for key, row in image.items() if key in wanted)
    # What MEMORY holds already is a plain text there, and a secret in the files all the same.
    return dict(still_secret(ours, wanted))


def _servers_at_runtime(survey: TableSurvey, runtime: Rows, surroundings: Surroundings) -> None:
    layout = survey.layout
    status = layout.index["status"]
    live = {key: row for key, row in runtime.items() if str(row[status]).upper() != "OFFLINE_HARD"}
    survey.draining = len(runtime) - len(live)
    survey.runtime_count = _count(survey, live)
    survey.runtime = live
    disk = survey.memory if survey.disk is None else survey.disk
    survey.drained = drained_nodes(layout, live, survey.memory, disk)
    survey.changes[Layer.RUNTIME] = []
    if survey.desired is not None:
        image = runtime_image(layout, dict(survey.desired.rows))
        for key in taken_off(survey):
            image.pop(key, None)
        verdict = _by_family(
            survey.desired,
            live,
            image,
            surroundings,
            drained=survey.drained,
        )
        survey.changes[Layer.RUNTIME] = verdict.differences
        survey.discovered = verdict.discovered
    survey.unpublished = compare_servers(
        layout,
        live,
        runtime_image(layout, survey.memory),
        surroundings.memory_families,
        drained=survey.drained,
    ).differences


def _by_family(
    desired: DesiredTable,
    current: Rows,
    wanted: Mapping[Key, DesiredRow],
    surroundings: Surroundings,
    *,
    drained: frozenset[Node] = frozenset(),
) -> ServersVerdict:
    index = desired.layout.index
    return compare_servers(
        desired.layout,
        current,
        wanted,
        surroundings.families,
        owned={key: desired.owns(key) for key in current},
        ignored=frozenset(index[name] for name in desired.keep_on_update if name in index),
        drained=drained,
    )


def staged(layout: Layout, memory: Rows, folded: Rows, changes: Iterable[Difference]) -> Rows:
    """Return MEMORY after the changes: KEEP keeps what is there, or becomes ProxySQL's default.

    A user held in two halves becomes one row as soon as anything about it changes.
    """
    result = dict(memory)
    is_users = folded is not memory
    found = list(changes)
    # All rows leave before any comes: the second half of a user that goes may be a row that comes.
    # A variable stays where it is, as in MEMORY: a LOAD takes them in their order.
    is_variables = layout.table.prefix is not None
    for change in found:
        if change.current is not None and not is_variables:
            # Not change.key: a node of a family may stand elsewhere than where it is configured.
            _remove(result, layout.key_of(change.current), memory, folded, is_users=is_users)
    for change in found:
        if change.desired is None:
            continue
        if change.current is None and KEEP not in change.desired:
            row = cast("Row", change.desired)
        elif change.current is None:
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


def without_guess(desired: DesiredTable, read: Callable[[Layer], Rows]) -> DesiredTable:
    """Return the desired variables without a guessed one that the instance does not need.

    Files that name only a character set, or only a collation, are compiled with the default of the
    other. If the instance has another value that goes with the named one, that was somebody's
    choice and stays. If a layer has one that does not go with it, all layers get the value of
    RUNTIME where that one does, else the default.
    """
    for guessed, named in ((COLLATION, CHARSET), (CHARSET, COLLATION)):
        key = (guessed,)
        where = desired.where.get(key)
        if where is None or where.origin != named:
            continue
        text = str(desired.rows[(named,)][1])
        held = {layer: _text(read(layer), key) for layer in Layer}
        fits = {layer: go_together({named: text, guessed: held[layer]}) for layer in Layer}
        if all(fits.values()):
            return _without(desired, key)
        if fits[Layer.RUNTIME]:
            rows = {**desired.rows, key: (guessed, held[Layer.RUNTIME])}
            return replace(desired, rows=rows)
    return desired


def _text(rows: Rows, key: Key) -> str:
    return str(rows[key][1]) if key in rows else ""


def _without(desired: DesiredTable, key: Key) -> DesiredTable:
    rows = {other: row for other, row in desired.rows.items() if other != key}
    text = desired.scope.text if desired.scope else ""
    scope = Scope(lambda other: other != key and desired.owns(other), text)
    return replace(desired, rows=rows, scope=scope)
