"""`hostgroups` and `pxc_clusters`: names for numbers, attributes, clusters and their nodes.

Both become rows of mysql_hostgroup_attributes, mysql_galera_hostgroups and mysql_servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proxyctl.catalog import MAX_INT
from proxyctl.config.context import Compilation, FileSection, SectionPath
from proxyctl.config.mistakes import ValueProblem
from proxyctl.config.rows import RowPlace, SourceRows, table_rows
from proxyctl.config.validation import check_items
from proxyctl.config.yaml import plain_value
from proxyctl.rows.row import Where

ATTRIBUTES = "mysql_hostgroup_attributes"
GALERA = "mysql_galera_hostgroups"
SERVERS = "mysql_servers"
FAMILY = ("writer_hostgroup", "backup_writer_hostgroup", "reader_hostgroup", "offline_hostgroup")


def compile_hostgroups(
    parts: list[FileSection], context: Compilation
) -> tuple[dict[int, str], SourceRows | None]:
    """Return the names by number, and the rows of attributes; None if no row is managed.

    Changes: context, the numbers and mistakes.
    """
    names: dict[int, str] = {}
    places: dict[str, Where] = {}
    rows: list[tuple[dict[str, Any], RowPlace]] = []
    for part in parts:
        right = check_items(part, context)
        for name in part.value:
            where = part.where(name, of_key=True)
            first = places.setdefault(name, where)
            if first is not where:
                message = f"duplicate name (first defined at {first})"
                context.note(part, (name,), message, of_key=True)
                continue
            if name not in right:
                # A substitute for the number: one mistake must not cause a second.
                context.hostgroups[name] = MAX_INT - len(context.hostgroups)
                continue
            if not _is_text(name):
                message = (
                    "without quotes YAML readers take this name for a number, a boolean or null"
                )
                context.note(part, (name,), message, "choose another name", of_key=True)
            number = context.hostgroups[name] = right[name].pop("id")
            known = names.setdefault(number, name)
            if known != name:
                message = f"hostgroup {number} is already called {known!r}, at {places[known]}"
                context.note(part, (name, "id"), message)
            if right[name]:
                place = RowPlace(part, (name,), f"hostgroups {name}", (), {"hostgroup_id": "id"})
                rows.append(({"hostgroup_id": number, **right[name]}, place))
    layout = context.layouts.get(ATTRIBUTES)
    return names, table_rows(layout, *zip(*rows, strict=True)) if layout and rows else None


def _is_text(name: str) -> bool:
    """Return whether every YAML reader takes the name for text without quotes."""
    try:
        return plain_value(name) == name
    except ValueProblem:
        return False


def compile_clusters(parts: list[FileSection], context: Compilation) -> Iterator[SourceRows]:
    """Yield the rows of all clusters in all files. Changes: context.mistakes."""
    for name in (GALERA, SERVERS) if parts else ():
        # An empty section owns both tables too.
        yield SourceRows(context.layouts[name])
    for part in parts:
        for position, cluster in check_items(part, context).items():
            yield from _cluster(part, position, cluster, context)


def _cluster(
    part: FileSection, position: int, cluster: Mapping[str, Any], context: Compilation
) -> Iterator[SourceRows]:
    """Yield the rows of one cluster. Changes: context.mistakes."""
    origin = f"pxc_clusters {cluster['name']}"
    layout = context.layouts[GALERA]
    row = {key: value for key, value in cluster.items() if key in layout.index}
    yield table_rows(layout, [row], [RowPlace(part, (position,), origin)])
    defaults: Mapping[str, Any] = cluster.get("node_defaults", {})
    fallbacks: tuple[SectionPath, ...] = ((position, "node_defaults"), (position,))
    rows: list[dict[str, Any]] = []
    places: list[RowPlace] = []
    for number, node in enumerate(cluster["nodes"]):
        merged = {"hostgroup": cluster["writer_hostgroup"], **defaults, **node}
        is_named = "hostgroup" in node or "hostgroup" in defaults
        renamed = {"hostgroup_id": "hostgroup" if is_named else "writer_hostgroup"}
        place = RowPlace(part, (position, "nodes", number), origin, fallbacks, renamed)
        hostgroup = merged.pop("hostgroup")
        rows.append({"hostgroup_id": hostgroup, **merged})
        places.append(place)
        if hostgroup not in (cluster[name] for name in FAMILY):
            message = f"hostgroup {hostgroup} is not one of the cluster's: no monitor places nodes"
            fix = f"add the row to {SERVERS} if that is intended"
            context.mistakes.add(*place.field("hostgroup_id"), f"{message} there", fix)
    yield table_rows(context.layouts[SERVERS], rows, places)
