"""A drained node that MEMORY itself has drained: what it is to have when it is put back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from proxyctl.catalog import Layout, Value
from proxyctl.draining.refusals import check_not_configured_out
from proxyctl.draining.request import DrainRequest
from proxyctl.drains import Drain
from proxyctl.errors import ConfigError, RefusedError
from proxyctl.families import Node, by_hostgroup, drained_columns, node_text
from proxyctl.held_servers import HeldServers
from proxyctl.nodes.giving_back import given_back, is_said_out, kept_drained, said_by_nobody
from proxyctl.state import KEEP, DesiredRow, Key


@dataclass(frozen=True)
class Meant:
    """The servers with the rows that MEMORY is to hold once a node is put back.

    Hostgroups where MEMORY has the node drained, of which nothing says what it had: those that stay
    so, and how, and those that get what a new server has, or what the node has elsewhere.
    """

    servers: HeldServers
    left_out: Mapping[Value, str] = field(default_factory=dict)
    unnamed: tuple[Value, ...] = ()


def as_meant(servers: HeldServers, node: Node, request: DrainRequest, found: Drain | None) -> Meant:
    """Return the rows that MEMORY is to hold once the node is put back.

    In a ProxySQL Cluster a peer that loads sends the drain back, into MEMORY and DISK: what is on
    record counts then. With `force` it counts anywhere, then what the files say, then what a new
    server has. Each row counts by itself: a peer may have let the node serve elsewhere.

    The same servers where MEMORY has it all already. Raises: RefusedError where nothing says what
    the node had, or a row of it would stay drained; ConfigError for files that are needed and
    wrong.
    """
    layout, families = servers.layout, servers.standing.families
    how = servers.how_configured_out(node)
    columns = servers.standing.columns
    in_family = by_hostgroup(families)
    mine = servers.rows_of(node, servers.truth).values()
    has_drained = any(
        drained_columns(in_family.get(row[columns.hostgroup]), columns, row, {node}) for row in mine
    )
    if how == "OFFLINE_HARD" or (how is None and not has_drained):
        return Meant(servers)
    if found is None and not request.force:
        check_not_configured_out(servers, node)
    files = _files(layout, request, is_needed=found is None and request.force)
    if how is not None and is_said_out(layout, files, node):
        raise RefusedError(
            f"{node_text(node)} has {how} in MEMORY, and the files say so",
            hint="let the files say otherwise, apply them, and then this again",
        )
    sources: list[Mapping[Key, DesiredRow]] = [] if found is None else [found.memory]
    is_ours = found is not None and servers.survey.surroundings.is_cluster_member
    if request.force:
        sources.append(files)
    meant = servers
    if is_ours or request.force:
        rows = given_back(layout, servers.truth, families, node, sources, or_defaults=request.force)
        if rows != servers.truth:
            meant = servers.as_if(rows)
    how = meant.how_configured_out(node)
    if how is not None:
        raise _stays_drained(f"{node_text(node)} has {how} in MEMORY")
    said = files if found is None else found.memory
    kept = kept_drained(layout, meant.truth, families, node, said, files)
    if kept:
        hows = " and ".join(sorted({*kept.values()}, reverse=True))
        where = f"hostgroup{'s' if len(kept) > 1 else ''} {', '.join(map(str, kept))}"
        text = f"{node_text(node)} has {hows} in MEMORY in {where}"
        if found is None:
            raise RefusedError(
                f"{text}, and is not on record as drained",
                hint=f"the files say otherwise: proxyctl nodes restore {node_text(node)} --force",
            )
        raise _stays_drained(text)
    if request.force:
        unnamed = said_by_nobody(layout, servers.truth, families, node, sources)
        return Meant(meant, unnamed=tuple(unnamed))
    if found is None:
        return Meant(meant, said_by_nobody(layout, servers.truth, families, node, [files]))
    return Meant(meant)


def _stays_drained(text: str) -> RefusedError:
    return RefusedError(
        f"{text}, so that it would stay drained",
        hint="somebody took it out there since it was drained; --force puts it back",
    )


def _files(layout: Layout, request: DrainRequest, *, is_needed: bool) -> dict[Key, DesiredRow]:
    """Return the servers of the files as rows of this layout, by key; none where there are none.

    Raises: ConfigError, but where they are not needed.
    """
    try:
        table = request.files()
    except ConfigError:
        if is_needed:
            raise
        return {}
    if table is None:
        return {}
    index = table.layout.index
    return {
        key: tuple(row[index[name]] if name in index else KEEP for name in layout.names)
        for key, row in table.rows.items()
    }
