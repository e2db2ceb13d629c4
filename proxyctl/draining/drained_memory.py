"""A drained node that MEMORY itself has drained: what it is to have when it is put back."""

from __future__ import annotations

from collections.abc import Mapping

from proxyctl.catalog import Layout
from proxyctl.draining.refusals import check_not_configured_out
from proxyctl.draining.request import DrainRequest
from proxyctl.drains import Drain
from proxyctl.errors import ConfigError, RefusedError
from proxyctl.families import Node, node_text
from proxyctl.held_servers import HeldServers
from proxyctl.nodes.giving_back import given_back, is_said_out
from proxyctl.state import KEEP, DesiredRow, Key


def as_meant(
    servers: HeldServers, node: Node, request: DrainRequest, found: Drain | None
) -> HeldServers:
    """Return the servers with the rows that MEMORY is to hold once the node is put back.

    In a ProxySQL Cluster a peer that loads sends the drain back, into MEMORY and DISK: what is on
    record counts then. With `force` it counts anywhere, then what the files say, then what a new
    server has.

    Raises: RefusedError where nothing says what the node had; ConfigError for files that are
    needed and wrong.
    """
    how = servers.how_configured_out(node)
    if how is None or how == "OFFLINE_HARD":
        return servers
    if found is None and not request.force:
        check_not_configured_out(servers, node)
    files = _files(servers.layout, request, is_needed=found is None)
    if is_said_out(servers.layout, files, node):
        raise RefusedError(
            f"{node_text(node)} has {how} in MEMORY, and the files say so",
            hint="let the files say otherwise, apply them, and then this again",
        )
    sources: list[Mapping[Key, DesiredRow]] = [] if found is None else [found.memory]
    is_ours = found is not None and servers.survey.surroundings.is_cluster_member
    if request.force:
        sources.append(files)
    if is_ours or request.force:
        rows = given_back(
            servers.layout,
            servers.truth,
            servers.standing.families,
            node,
            sources,
            or_defaults=request.force,
        )
        servers = servers.as_if(rows)
    how = servers.how_configured_out(node)
    if how is not None:
        raise RefusedError(
            f"{node_text(node)} has {how} in MEMORY, so that it would stay drained",
            hint="somebody took it out there since it was drained; --force puts it back",
        )
    return servers


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
