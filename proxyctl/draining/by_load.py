"""Drain a node by what ProxySQL loads: MEMORY and RUNTIME only, and MEMORY is as it was after that.

note it -> move the writer by weight -> LOAD the drained node -> MEMORY as it was
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from proxyctl.admin.drains import record_drain
from proxyctl.catalog import Value
from proxyctl.draining.back import is_out
from proxyctl.draining.changed_already import changed_already
from proxyctl.draining.drained_memory import Meant, as_meant
from proxyctl.draining.moving import Moving
from proxyctl.draining.noting_done import note_done
from proxyctl.draining.placing import NO_OTHER_WRITER, serves_less, wait_until_placed
from proxyctl.draining.refusals import (
    MONITOR_IS_OFF,
    reasons_against_crowds,
    reasons_against_edits,
)
from proxyctl.draining.request import DrainRequest, Restored
from proxyctl.draining.taking_back import take_back
from proxyctl.drains import Drain
from proxyctl.errors import (
    ApplyError,
    ProxyctlError,
    RefusedError,
)
from proxyctl.families import Family, Node, drained_columns, node_text
from proxyctl.held_servers import HeldServers
from proxyctl.nodes.draining import (
    moving_families,
    with_another_writer,
    with_drained,
    without_second_writer,
)
from proxyctl.nodes.giving_back import has_same_attributes
from proxyctl.state import Key, Rows


def drain(servers: HeldServers, node: Node, request: DrainRequest) -> None:
    """Note the drain, move the writer, drain. Takes everything back when it does not succeed."""
    client, saves = servers.client, False
    moving: Moving | None = None
    # One on record is half drained: what died may have loaded.
    servers.has_loaded = node in servers.drains
    try:
        # Noted before anything is loaded: what a drain that dies leaves has to be known as ours.
        record_drain(client, node, request.who, request.purpose, servers.truth)
        families = moving_families(servers.standing, node)
        if not servers.is_monitored and servers.is_in_family(node):
            request.progress(f"{MONITOR_IS_OFF}: every other node stays where it is")
        if families:
            request.progress(f"{node_text(node)} is the writer: another node takes over first")
            rows = with_another_writer(servers.standing, servers.placed(node), families, node)
            moving = Moving.begin(servers, rows)
            servers.load(node, rows, moves_writer=True)
            servers = _with_another_writer(servers, families, node, request)
            if not request.include_pending:
                moving.check(servers)
            servers, saves = moving.without(servers)
        drained = with_drained(servers.standing, servers.placed(node), node)
        found = [*reasons_against_edits(servers, drained, request)] if moving is not None else []
        if found:
            raise ApplyError("edits were made while the writer moved", then=found)
        servers.load(node, drained, saves=saves)
        if not servers.again().shows(node):
            raise ApplyError(f"{node_text(node)} does not show as drained after the LOAD")
        if moving is not None and not saves:
            moving.warn_of_disk(servers, request)
    except (ProxyctlError, KeyboardInterrupt) as error:
        # What an apply left in MEMORY, or somebody else is at, is for the next command.
        if isinstance(error, RefusedError) or servers.lock.leftovers:
            name = node_text(node)
            said = f"{name} is half drained: what the drain had loaded was not taken back"
            hint = f"proxyctl nodes restore {name} puts it back"
        else:
            take_back(servers, node, error, lambda: _reload(servers, node, moving, request))
            said, hint = "what the drain had loaded before was taken back", None
        if not servers.has_loaded:
            raise
        with changed_already(said, hint=hint):
            raise
    note_done(client, node)


def _reload(servers: HeldServers, node: Node, moving: Moving | None, request: DrainRequest) -> None:
    """Load the node as it is configured. Where nothing was loaded, there is nothing to undo.

    A LOAD would undo that of somebody else then, which may be what kept us from ours.
    """
    if not servers.has_loaded:
        return
    now = servers.when_due()
    if moving is not None:
        moving.take_back(now, node, lambda meant: _released(meant, node), request)
    else:
        now.load(node, _released(now, node))


def _released(servers: HeldServers, node: Node) -> Rows:
    """Return the rows with which the node serves again where the monitor has it."""
    return without_second_writer(servers.standing, servers.placed(node), node)


def _with_another_writer(
    servers: HeldServers, families: Collection[Family], node: Node, request: DrainRequest
) -> HeldServers:
    """Return the servers once RUNTIME has another writer in each of these families.

    And the other nodes serve as before. Raises: ApplyError when the monitor does not move it in
    time.
    """

    def lacks(now: HeldServers) -> str | None:
        for family in families:
            writers = now.standing.usable(family.writer)
            if not writers or node in writers:
                return NO_OTHER_WRITER
        return serves_less(servers.standing, now.standing, node)

    hint = "its weights are put back; nodes list shows what keeps the others away"
    now = wait_until_placed(servers, lacks, hint=hint)
    writers = {one for family in families for one in now.standing.usable(family.writer)}
    request.progress(f"{', '.join(sorted(map(node_text, writers)))} writes now")
    return now


def restore(servers: HeldServers, node: Node, request: DrainRequest) -> Restored:
    """Put a drained node back as it is configured, or find that it is not drained.

    Raises: RefusedError before anything was changed; ApplyError when it did not succeed.
    """
    found = servers.drains.get(node)
    showed = _drained_rows(servers, node)
    edited: list[str] = []
    if found is not None and not request.include_pending:
        edited = [*_edited_since(servers, node, found)]
    found_out = Meant(servers) if edited else as_meant(servers, node, request, found)
    meant = found_out.servers
    is_as_it_was = meant is servers and not _is_released(servers, node, showed)
    # Somebody may have removed one in MEMORY that was taken out by hand.
    is_leaving = bool(showed) and servers.is_removed(node)
    if found is None and is_as_it_was and not is_leaving:
        out_in, left_out = _out_in(servers, node), found_out.left_out
        return Restored(node, None, was_drained=False, out_in=out_in, left_out=left_out)
    released = _released(meant, node)
    reasons = [
        *edited,
        *reasons_against_edits(servers, released, request),
        *reasons_against_crowds(servers, released, request),
    ]
    servers.check(node, reasons, include_pending=request.include_pending)
    # DISK may have the drain as well then. Saved only where that carries nothing else there.
    saves = meant is not servers and servers.is_saved
    try:
        meant.load(node, released, saves=saves)
    except ProxyctlError:
        # What goes live with a second try is asked for then.
        if found is not None:
            servers.note_again(found)
        raise
    name = node_text(node)
    with changed_already(
        f"{name} was loaded as it is configured; whether it is back is not known",
        hint=f"proxyctl nodes restore {name} tries again",
    ):
        now = servers.again()
        on_disk = now.disk
        if now.shows(node):
            raise ApplyError(f"{name} still shows as drained at RUNTIME after the LOAD")
        if found is not None:
            servers.forget(node)
    is_gone = now.is_gone(node)
    return Restored(
        node,
        found,
        was_drained=found is None or bool(showed - _drained_rows(now, node)),
        is_changed=found is not None and _is_changed(meant, node, found),
        is_gone=is_gone,
        is_unsaved=bool(now.rows_of(node, on_disk)) if is_gone else _is_out_on(on_disk, now, node),
        is_loaded=True,
        out_in=_out_in(now, node),
        unnamed=found_out.unnamed,
    )


def _is_released(servers: HeldServers, node: Node, showed: Iterable[Key]) -> bool:
    """Return whether a LOAD of what MEMORY holds lets connections to a node on no record.

    `showed`: its rows of RUNTIME that let none.
    """
    standing = servers.standing
    columns = standing.columns
    released = servers.placed(node)
    return released != servers.placed() or any(
        key in released
        and not drained_columns(standing.family_of(key[0]), columns, released[key], {node})
        for key in showed
    )


def _drained_rows(servers: HeldServers, node: Node) -> set[Key]:
    """Return the rows of RUNTIME that show the node drained."""
    standing = servers.standing
    columns = standing.columns
    return {
        key
        for key, row in standing.runtime.items()
        if drained_columns(standing.family_of(row[columns.hostgroup]), columns, row, {node})
    }


def _is_out_on(disk: Rows, now: HeldServers, node: Node) -> bool:
    """Return whether DISK lets no connection to a row of the node where MEMORY does not so."""
    columns = now.standing.columns

    def out(rows: Rows) -> set[Key]:
        return {
            key
            for key, row in now.rows_of(node, rows).items()
            if is_out(str(row[columns.status]), row[columns.max_connections])
        }

    return bool(out(disk) - out(now.truth))


def _out_in(servers: HeldServers, node: Node) -> frozenset[Value]:
    """Return the hostgroups where RUNTIME has the node and lets no connection to it.

    Of a family all of them: each member's monitor places the node by itself.
    """
    standing = servers.standing
    columns = standing.columns
    found = {
        row[columns.hostgroup]
        for row in servers.rows_of(node, standing.runtime).values()
        if is_out(str(row[columns.status]), row[columns.max_connections])
    }
    families = [family for family in standing.families if family.hostgroups & found]
    return frozenset(found).union(*(family.hostgroups for family in families))


def _is_changed(servers: HeldServers, node: Node, found: Drain) -> bool:
    """Return whether the node is configured otherwise than it was when it was drained."""
    before, now = servers.rows_of(node, found.memory), servers.rows_of(node, servers.truth)
    return not has_same_attributes(servers.layout, servers.standing.families, before, now)


def _edited_since(servers: HeldServers, node: Node, found: Drain) -> Iterable[str]:
    """Yield that somebody edited the rows of the node in MEMORY while they were not in use."""
    rows = servers.rows_of(node, servers.truth)
    on_disk = servers.rows_of(node, servers.disk)
    if rows not in (servers.rows_of(node, found.memory), on_disk):
        yield (
            f"mysql_servers: the rows of {node_text(node)} were edited in MEMORY since it was"
            " drained   allow with --include-pending"
        )
