"""Why a node must not be drained."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from proxyctl.admin.client import AdminClient
from proxyctl.admin.pings import read_too_slow
from proxyctl.admin.runtime_facts import used_hostgroups
from proxyctl.catalog import Value
from proxyctl.cluster.membership import Membership
from proxyctl.cluster.refusing import dangers
from proxyctl.draining.request import DrainRequest
from proxyctl.drains import DrainMethod
from proxyctl.errors import RefusedError, counted
from proxyctl.families import Node, node_text
from proxyctl.held_servers import SERVERS, HeldServers
from proxyctl.nodes.draining import (
    in_order,
    last_of_family,
    left_without,
    lost_with_edits,
    undrainable,
    with_drained,
)
from proxyctl.online_limits import ATTRIBUTES, crowd_text, crowded, online_limits
from proxyctl.state import Key, Rows

_FORCE = "allow with --force"
MONITOR_IS_OFF = "the monitor is off (mysql-monitor_enabled)"


def check_not_behind(client: AdminClient, membership: Membership) -> None:
    """Refuse a LOAD at a member of a cluster that is about to take over newer servers.

    Raises: RefusedError.
    """
    found = [danger.message for danger in dangers([SERVERS.name], membership)]
    if found:
        raise RefusedError(
            f"{client.address}: nothing was changed",
            hint="try again when this member has followed; doctor says what keeps it",
            reasons=found,
        )


def check_not_configured_out(servers: HeldServers, node: Node) -> None:
    """Refuse a node that MEMORY itself lets take no connection: there is nothing to put back.

    Raises: RefusedError.
    """
    how = servers.how_configured_out(node)
    if how is not None:
        raise RefusedError(
            f"{node_text(node)} has {how} in MEMORY, and is not on record as drained",
            hint="it was taken out by hand, by the files, or on another member of a ProxySQL"
            " Cluster: put it back the same way; where nobody has it on record any more,"
            f" proxyctl nodes restore {node_text(node)} --force",
        )


def reasons_against_edits(
    servers: HeldServers, image: Rows, request: DrainRequest
) -> Iterable[str]:
    """Yield why edits of others must not go along when these rows are loaded."""
    if request.include_pending and not request.force:
        used = used_hostgroups(servers.client, servers.survey.layouts)
        yield from _lost_with_edits(servers, image, frozenset[Value]().union(*used.values()))


def _lost_with_edits(servers: HeldServers, image: Rows, used: Collection[Value]) -> Iterator[str]:
    standing = servers.standing
    for hostgroup in lost_with_edits(standing, standing.once_loaded(image), used):
        yield (
            f"hostgroup {hostgroup} would have no usable node: edits in MEMORY take its last one"
            f" out   {_FORCE}"
        )


def reasons_against_crowds(
    servers: HeldServers, image: Rows, request: DrainRequest
) -> Iterator[str]:
    """Yield the hostgroups that stop for too many servers once these rows are loaded.

    Also those to which the node is nothing: the LOAD sets servers ONLINE that are SHUNNED now.
    """
    limited = servers.surveys.get(ATTRIBUTES)
    if request.force or limited is None:
        return
    # The LOAD brings the limits that MEMORY holds.
    limits = online_limits(limited.layout, limited.memory)
    runtime = servers.standing.runtime
    now = crowded(servers.layout, runtime, online_limits(limited.layout, limited.runtime or {}))
    for hostgroup, online in crowded(servers.layout, image, limits).items():
        if hostgroup not in now:
            back = [key for key in _unshunned(servers, image) if key[0] == hostgroup]
            why = f"; the LOAD sets {counted(len(back), 'SHUNNED one')} ONLINE" if back else ""
            yield (
                f"hostgroup {hostgroup} would have {crowd_text(online, limits[hostgroup])}{why}"
                f"   {_FORCE}"
            )


def _unshunned(servers: HeldServers, image: Rows) -> Iterator[Key]:
    """Yield the servers that are SHUNNED now, and ONLINE in these rows."""
    status = servers.standing.columns.status
    for key, row in servers.standing.runtime.items():
        if key in image and (row[status], image[key][status]) == ("SHUNNED", "ONLINE"):
            yield key


def reasons_against(
    servers: HeldServers, node: Node, method: DrainMethod, request: DrainRequest
) -> Iterable[str]:
    """Yield why the node must not be drained."""
    standing = servers.standing
    if method is DrainMethod.PROXYSQL:
        configured = {standing.columns.node(row) for row in servers.truth.values()}
        why = undrainable(standing, node, configured)
        if why is not None:
            yield f"{node_text(node)} {why}"
        drained = with_drained(standing, servers.placed(node), node)
        yield from reasons_against_crowds(servers, drained, request)
    used = used_hostgroups(servers.client, servers.survey.layouts)
    in_use = frozenset[Value]().union(*used.values())
    if method is DrainMethod.PROXYSQL and request.include_pending:
        if not request.force:
            yield from _lost_with_edits(servers, servers.placed(), in_use)
        standing = standing.once_loaded(servers.placed())
    limit = servers.layout.index["max_latency_ms"]
    limits = {key: int(row[limit] or 0) for key, row in standing.runtime.items()}
    standing = replace(standing, too_slow=read_too_slow(servers.client, limits))
    ours, heirs = left_without(standing, node, in_use)
    family = last_of_family(standing, node)
    if request.force:
        return
    for hostgroup in ours:
        moves = standing.is_monitored or standing.family_of(hostgroup) is None
        why = "" if moves else f", and {MONITOR_IS_OFF}: it makes no other one serve there"
        if any(key[0] == hostgroup for key in standing.too_slow):
            why += ", as pings of others there take longer than max_latency_ms"
        yield f"{node_text(node)} is the last usable node of hostgroup {hostgroup}{why}   {_FORCE}"
    if family is not None and not ours:
        hostgroups = ", ".join(str(one) for one in in_order(family.hostgroups))
        yield (
            f"every other node of hostgroups {hostgroups} is drained already: nobody would serve"
            f" there   {_FORCE}"
        )
    for hostgroup in heirs:
        yield (
            f"hostgroup {hostgroup} would have no usable node: its last one becomes the writer"
            f"   {_FORCE}"
        )
