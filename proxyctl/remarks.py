"""What a plan says beside its changes: what is left alone, what a LOAD does by the way. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from proxyctl.catalog import Value
from proxyctl.catalog.variables import RESTART_TO_TAKE_EFFECT
from proxyctl.change import ADD
from proxyctl.compare import Difference
from proxyctl.drains import ended_text, no_writer_text
from proxyctl.errors import counted
from proxyctl.families import Family, Node, ServerColumns, node_text
from proxyctl.plan import ModulePlan
from proxyctl.runtime_image import runtime_image
from proxyctl.shunned import is_shunned
from proxyctl.state import KEEP, DesiredTable, Key, Row
from proxyctl.survey import (
    TableSurvey,
    stays_shunned,
    taken_off,
    to_be_taken_off,
)

_MOST_NAMED = 3
"""Servers that one remark names; the rest is counted."""


def left_alone(found: TableSurvey, moved: Container[Key] = ()) -> Iterator[str]:
    """Yield what one table holds that the files do not ask for, and that stays.

    `moved`: servers whose status a LOAD or SAVE would carry to another layer.
    """
    table = found.layout.name
    scope = found.desired.scope if found.desired and not found.layout.table.prefix else None
    if scope and found.unowned:
        yield f"{table}: {counted(found.unowned, 'row')} outside {scope.text}"
    yield from taken_out(found, moved)
    for host, port in found.discovered:
        yield f"{host}:{port} discovered by the monitor"
    if found.draining:
        yield f"{table}: {counted(found.draining, 'row')} OFFLINE_HARD, draining"


def taken_out(found: TableSurvey, without: Container[Key] = ()) -> Iterator[str]:
    """Yield the servers that an operator took out, where the files do not say otherwise.

    And those that are on record as such, and are out no more. `without`: servers that are not told
    by their status.
    """
    for node, end in found.ended_drains.items():
        yield f"{node_text(node)} {ended_text(found.drains[node], end)}"
    for node in found.drained:
        if node in found.ended_drains:
            continue
        drain = found.drains.get(node)
        how = (
            drain.with_way_out()
            if drain
            else f"drained (max_connections 0 {_drained_where(found, node)})"
        )
        if node in found.without_writer:
            how += f" ({no_writer_text(found.without_writer[node])})"
        yield f"{node_text(node)} {how}"
    if found.layout.name == "pgsql_servers" and found.desired is not None:
        yield from _out_of_postgresql(found, found.desired, without)
    if found.layout.name != "mysql_servers" or found.desired is None:
        return
    status = found.layout.index["status"]
    in_files, in_memory = _by_place(found, found.desired.rows), _by_place(found, found.memory)
    for key, row in (found.runtime or {}).items():
        # The monitor may have moved the node out of the hostgroup that the files say.
        own = in_files(key)
        if own is None or (row[1], row[2]) in found.drained or own in without:
            continue
        if found.desired.rows[own][status] is not KEEP:
            continue
        at = in_memory(key)
        held = None if at is None else found.memory[at]
        if own != key and (held is None or held[status] != row[status]):
            continue
        if row[status] == "OFFLINE_SOFT":
            yield f"{_named(row)} OFFLINE_SOFT, set by an operator"
        elif is_shunned(found.layout, row) and held and stays_shunned(found, key, held):
            yield f"{_named(row)} SHUNNED, set by an operator"
    yield from _status_in_one_layer(found, found.desired, without)
    yield from _without_effect(found, found.desired, without)
    for key in sorted(taken_off(found), key=repr):
        if key not in without:
            yield f"{_named(key)} OFFLINE_HARD in MEMORY, set by an operator: RUNTIME is without it"


def _out_of_postgresql(
    found: TableSurvey, desired: DesiredTable, without: Container[Key]
) -> Iterator[str]:
    """Yield the servers of PostgreSQL that are OFFLINE_SOFT at RUNTIME: no monitor moves them."""
    status = found.layout.index["status"]
    # RUNTIME is kept where it differs from MEMORY only.
    at_runtime = found.memory if found.runtime is None else found.runtime
    for key, row in at_runtime.items():
        wanted = desired.rows.get(key)
        if wanted is None or wanted[status] is not KEEP or key in without:
            continue
        if row[status] == "OFFLINE_SOFT":
            yield f"pgsql {_named(row)} OFFLINE_SOFT, set by an operator"


def _drained_where(found: TableSurvey, node: Node) -> str:
    """Return in which layers a node is drained of which nothing is on record here."""
    columns = ServerColumns.of(found.layout)
    rows = [row for row in found.memory.values() if columns.node(row) == node]
    if not rows or any(row[columns.max_connections] != 0 for row in rows):
        return "at RUNTIME"
    on_disk = found.disk if found.unsaved and found.disk is not None else found.memory
    saved = [row for row in on_disk.values() if columns.node(row) == node]
    if not saved or any(row[columns.max_connections] != 0 for row in saved):
        return "at RUNTIME and in MEMORY"
    return "at RUNTIME, in MEMORY and on DISK: a restart does not end it"


def _by_place(found: TableSurvey, keys: Iterable[Key]) -> Callable[[Key], Key | None]:
    """Return a function to these keys: to the same one, else to one of the same node's family."""
    there, place = set(keys), found.place
    if place is None:
        return lambda key: key if key in there else None
    by_place = {place(key): key for key in there if place(key) != key}
    return lambda key: key if key in there else by_place.get(place(key))


def _named(row: Row | Key) -> str:
    return f"{row[1]}:{row[2]} in hostgroup {row[0]}"


def _status_in_one_layer(
    found: TableSurvey, desired: DesiredTable, without: Container[Key]
) -> Iterator[str]:
    """Yield the servers whose status, which the files do not set, was not loaded or not saved."""
    status = found.layout.index["status"]
    kept = {k for k, row in desired.rows.items() if row[status] is KEEP and k not in without}
    for key in sorted(to_be_taken_off(found).keys() & kept, key=repr):
        yield f"{_named(key)} OFFLINE_HARD in MEMORY, not loaded"
    # RUNTIME may have a node of a family in several hostgroups, for one row of MEMORY.
    to_load = {one.key: one for one in found.unpublished if _is_status_to_load(found, one)}
    for key, one in to_load.items():
        is_kept = key in kept and key[1:3] not in found.drained
        if is_kept and one.desired is not None:
            yield f"{_named(key)} {one.desired[status]} in MEMORY, not loaded"
    for one in found.unsaved:
        row = one.current
        is_out = row is not None and str(row[status]).upper() != "ONLINE"
        if one.key in kept and status in one.columns and row is not None and is_out:
            yield f"{_named(one.key)} {row[status]} on DISK, unlike in MEMORY: a restart brings it"


def _is_status_to_load(found: TableSurvey, unpublished: Difference) -> bool:
    """Whether a LOAD gives a server another status, or brings one that is not ONLINE."""
    status, row = found.layout.index["status"], unpublished.desired
    if unpublished.current is None and row is not None:
        is_galera = any(unpublished.key[0] in f.hostgroups for f in found.families if f.is_galera)
        is_soft = row[status] == "OFFLINE_SOFT" and not is_galera
        return is_soft or stays_shunned(found, unpublished.key, row)
    return status in unpublished.columns


def _without_effect(
    found: TableSurvey, desired: DesiredTable, without: Container[Key]
) -> Iterator[str]:
    """Yield the nodes of families with a status in MEMORY, set by no file, that RUNTIME never gets.

    Galera's monitor gives every node its status, that of group replication ends SHUNNED. Any may
    have moved a node out of the hostgroup of its row in MEMORY.
    """
    place, status, runtime = found.place, found.layout.index["status"], found.runtime or {}
    if place is None:
        return
    told = {one.key for one in found.unpublished if _is_status_to_load(found, one)}
    unsaved = {one.key for one in found.unsaved if one.current is None or status in one.columns}
    at_runtime = _by_place(found, runtime)
    for key, row in found.memory.items():
        wanted, value = desired.rows.get(key), str(row[status]).upper()
        is_kept = wanted is not None and wanted[status] is KEEP and key not in without
        if not is_kept or value not in ("OFFLINE_SOFT", "SHUNNED") or place(key) == key:
            continue
        at = at_runtime(key)
        is_held = at is not None and runtime[at][status] == value
        is_ended = value == "SHUNNED" and not stays_shunned(found, key, row)
        if key not in told and (is_ended or not is_held):
            layers = "in MEMORY, not on DISK" if key in unsaved else "in MEMORY"
            yield f"{_named(key)} {value} {layers}; RUNTIME is as the monitor places it"


def entering_servers(module: ModulePlan, families: Iterable[Family]) -> dict[Key, Value]:
    """Return the new nodes that enter through another hostgroup than their own, and that hostgroup.

    A node that joins a placed Galera family is loaded into its offline hostgroup first: as a writer
    it would take writes beside the one that is there.
    """
    if "mysql_servers" not in module.surveys:
        return {}
    loaded = module.images[-1].get("mysql_servers", {}) if module.images else {}
    added = {
        change.key
        for change in module.changes
        if change.table == "mysql_servers" and change.action == ADD
    }
    return {
        key: family.offline
        for family in families
        if family.is_galera and family.offline is not None
        for key in added
        if key[0] in family.hostgroups
        and key not in loaded
        and (family.offline, *key[1:]) in loaded
    }


def fought_over(families: Iterable[Family]) -> Iterator[str]:
    """Yield the families whose nodes several monitors place."""
    for family in families:
        if family.also:
            kinds = ", ".join((family.kind, *family.also))
            hostgroups = ", ".join(map(str, sorted(family.hostgroups, key=str)))
            yield (
                f"hostgroups {hostgroups} belong to rows of several monitors ({kinds}), which move"
                " each other's nodes"
            )


def left_by_drains(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield that commands for these nodes died, and who puts MEMORY right."""
    for node in nodes:
        name = node_text(node)
        yield (
            f"a command for {name} did not finish, and its rows stand in MEMORY: proxyctl nodes"
            f" restore {name} undoes that"
        )


def leaving_servers(module: ModulePlan) -> frozenset[Key]:
    """Return the servers that RUNTIME has and no more after the last LOAD of MYSQL SERVERS."""
    survey = module.surveys["mysql_servers"]
    image = module.images[-1]["mysql_servers"] if module.images else {}
    loaded, runtime = runtime_image(survey.layout, image), survey.runtime or {}
    return frozenset(key for key in runtime if key not in loaded)


def cut_connections(
    leaving: frozenset[Key], used: Mapping[Key, int], *, is_member: bool = False
) -> Iterator[str]:
    """Yield how many connections in use are cut, by server. `used`: counted at the instance.

    `is_member`: of a cluster, where others cut connections of their own.
    """
    here = " at this member" if is_member else ""
    for key, count in sorted(used.items(), key=repr):
        if key in leaving:
            connections = counted(count, "connection")
            yield (
                f"{key[1]}:{key[2]} leaves hostgroup {key[0]}: {connections} in use{here} will be"
                f" cut; drain it first: proxyctl nodes drain {key[1]}:{key[2]}"
            )
    if is_member and leaving:
        servers = ", ".join(f"{key[1]}:{key[2]}" for key in sorted(leaving, key=repr)[:_MOST_NAMED])
        more = f" and {len(leaving) - _MOST_NAMED} more" if len(leaving) > _MOST_NAMED else ""
        yield (
            f"{servers}{more}: members that take this over cut connections of their own;"
            " those are not counted here"
        )


def unshunned(module: ModulePlan, families: Iterable[Family]) -> Iterator[str]:
    """Yield the servers that ProxySQL itself has SHUNNED and that the LOAD sets ONLINE."""
    found = module.surveys["mysql_servers"]
    image = module.images[-1].get("mysql_servers", {}) if module.images else {}
    writers = {family.writer for family in families if family.is_galera}
    status = found.layout.index["status"]
    for key, row in (found.runtime or {}).items():
        loaded = image.get(key)
        if not (str(row[status]).startswith("SHUNNED") and loaded and loaded[status] == "ONLINE"):
            continue
        if key[0] in writers:
            yield f"{row[1]}:{row[2]} becomes the writer in hostgroup {row[0]}: another one leaves"
        else:
            yield f"{row[1]}:{row[2]} in hostgroup {row[0]} is SHUNNED; the LOAD sets it ONLINE"


def shunned_by_load(module: ModulePlan) -> Iterator[str]:
    """Yield the servers that the LOAD sets SHUNNED, as MEMORY or the files have them."""
    found = module.surveys["mysql_servers"]
    image = module.images[-1].get("mysql_servers", {}) if module.images else {}
    runtime = found.runtime or {}
    for key, row in image.items():
        was = runtime.get(key)
        if stays_shunned(found, key, row) and not (was and is_shunned(found.layout, was)):
            yield f"{_named(key)} is loaded SHUNNED: it gets no query until another LOAD ends that"


def restart_required(modules: Iterable[ModulePlan]) -> Iterator[str]:
    """Yield the changed variables that work only after a restart."""
    for module in modules:
        if not module.name.endswith("VARIABLES"):
            continue
        for change in module.changes:
            if change.key[0] in RESTART_TO_TAKE_EFFECT:
                yield str(change.key[0])
