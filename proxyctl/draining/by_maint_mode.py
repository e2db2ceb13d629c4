"""Drain a node by its own pxc_maint_mode: every ProxySQL in front of it takes it out.

note it -> SET GLOBAL pxc_maint_mode on the node -> wait for ProxySQL's monitor
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.admin.backend import Account, monitor_account
from proxyctl.admin.drains import forget_drain, record_drain
from proxyctl.admin.interrupts import uninterrupted
from proxyctl.admin.lock import LEASE_S
from proxyctl.admin.pxc_maint_mode import OFF, ON, MaintMode, read_maint_mode, set_maint_mode
from proxyctl.draining.changed_already import changed_already
from proxyctl.draining.noting_done import note_done
from proxyctl.draining.placing import NO_OTHER_WRITER, serves_less, wait_until_placed
from proxyctl.draining.refusals import MONITOR_IS_OFF
from proxyctl.draining.request import DrainRequest, Restored
from proxyctl.draining.taking_back import take_back
from proxyctl.drains import Drain, DrainMethod
from proxyctl.errors import (
    ApplyError,
    InstanceError,
    ProxyctlError,
    RefusedError,
)
from proxyctl.families import Node, node_text
from proxyctl.held_servers import HeldServers

_METHOD = DrainMethod.PXC_MAINT_MODE
_LONGEST_TRANSITION_S = LEASE_S - 15
"""Others may take the lock when it was not renewed for longer."""


def checked(
    servers: HeldServers, node: Node, request: DrainRequest, reasons: Iterable[str]
) -> MaintMode:
    """Return what the node says now. The node is asked only when nothing else speaks against it.

    Raises: RefusedError for these reasons and others; InstanceError when it cannot be asked.
    """
    said = [*reasons, *_reasons_in_proxysql(servers, node)]
    if not said:
        mode = read_maint_mode(node, request.account or monitor_account(servers.client))
        said = [*_reasons_on_the_node(servers, node, mode)]
    if said:
        raise RefusedError(f"{servers.client.address}: nothing was changed", reasons=said)
    return mode


def _reasons_in_proxysql(servers: HeldServers, node: Node) -> Iterator[str]:
    standing = servers.standing
    if not servers.is_monitored:
        yield f"{MONITOR_IS_OFF}: nothing looks at pxc_maint_mode"
    for row in standing.runtime.values():
        hostgroup = row[standing.columns.hostgroup]
        family = standing.family_of(hostgroup)
        if standing.columns.node(row) == node and (family is None or not family.is_galera):
            yield (
                f"{node_text(node)} is in hostgroup {hostgroup}, where no Galera monitor looks"
                " after it"
            )


def _reasons_on_the_node(servers: HeldServers, node: Node, mode: MaintMode) -> Iterator[str]:
    name = node_text(node)
    if mode.mode is None:
        yield f"{name} has no pxc_maint_mode: it is no Percona XtraDB Cluster"
    elif mode.mode not in (OFF, ON) or (mode.mode == ON and node not in servers.drains):
        yield f"pxc_maint_mode of {name} is {mode.mode} already, and not by nodes drain"
    if not mode.version.startswith(("5.7", "8")):
        yield (
            f"{name} is of version {mode.version}: ProxySQL reads pxc_maint_mode of 5.7 and 8 only"
        )
    if mode.transition_s > _LONGEST_TRANSITION_S:
        yield (
            f"{name} keeps whoever sets pxc_maint_mode waiting for {mode.transition_s:g} s"
            f" (pxc_maint_transition_period): set that to {_LONGEST_TRANSITION_S} at most"
        )


def drain(servers: HeldServers, node: Node, request: DrainRequest, mode: MaintMode) -> None:
    """Note the drain, and set the mode. Takes everything back when it does not succeed."""
    client = servers.client
    account, is_set = request.account or monitor_account(client), False
    try:
        record_drain(client, node, request.who, request.purpose, {}, _METHOD)
        servers.lock.renew()
        if mode.mode != ON:
            wait = f", which takes {mode.transition_s:g} s" if mode.transition_s else ""
            request.progress(f"{node_text(node)}: pxc_maint_mode is set to {ON}{wait}")
            set_maint_mode(node, account, ON, mode)
            is_set = True
        servers.lock.renew()

        def lacks(now: HeldServers) -> str | None:
            if not now.shows(node, _METHOD):
                return f"the monitor did not take {node_text(node)} out"
            # Where it wrote, another one has to write now.
            wrote = (one.writer for one in servers.standing.families)
            for writer in filter(servers.standing.usable, wrote):
                if not now.standing.usable(writer):
                    return NO_OTHER_WRITER
            return serves_less(servers.standing, now.standing, node)

        hint = "pxc_maint_mode is put back; nodes list shows what the monitor sees"
        wait_until_placed(servers, lacks, hint=hint)
    except (ProxyctlError, KeyboardInterrupt) as error:
        take_back(servers, node, error, lambda: _set_back(node, account, mode))
        if not is_set:
            raise
        with changed_already("pxc_maint_mode was set, and put back"):
            raise
    note_done(client, node)


def _set_back(node: Node, account: Account, mode: MaintMode) -> None:
    """Set what was, if the node says anything else."""
    if read_maint_mode(node, account).mode != OFF:
        set_maint_mode(node, account, OFF, mode)


def restore(
    servers: HeldServers, node: Node, request: DrainRequest, found: Drain | None
) -> Restored:
    """Put pxc_maint_mode back to DISABLED, and wait until the monitor placed the node.

    Raises: InstanceError, RefusedError before anything was changed; ApplyError when it did not
    come back.
    """
    account = request.account or monitor_account(servers.client)
    mode = read_maint_mode(node, account)
    if mode.mode not in (OFF, ON, None):
        raise RefusedError(f"pxc_maint_mode of {node_text(node)} is {mode.mode}: it shuts down")
    if mode.mode == ON:
        request.progress(f"{node_text(node)}: pxc_maint_mode is set to {OFF}")
        set_maint_mode(node, account, OFF, mode)
    elif found is None:
        return Restored(node, None, was_drained=False)
    name = node_text(node)
    with changed_already(
        f"pxc_maint_mode of {name} is {OFF}; whether the monitor placed it is not known",
        hint=f"proxyctl nodes restore {name} tries again",
    ):
        _wait_until_back(servers, node)
    return Restored(node, found, was_drained=mode.mode == ON)


def _wait_until_back(servers: HeldServers, node: Node) -> None:
    """Take the node off the record, and wait until the monitor placed it.

    Raises: ApplyError when it did not come back.
    """
    with uninterrupted():
        forget_drain(servers.client, node)
    if not servers.is_monitored:
        raise ApplyError(
            f"pxc_maint_mode of {node_text(node)} is {OFF}, but {MONITOR_IS_OFF} and does not place"
            " it",
            hint="switch the monitor on: it gives the node its place at its next check",
        )
    away = f"pxc_maint_mode of {node_text(node)} is {OFF}, but the monitor did not place it"
    wait_until_placed(
        servers,
        lambda now: away if now.shows(node, _METHOD) else None,
        hint="nodes list shows what keeps it away",
    )


def is_off(servers: HeldServers, node: Node, request: DrainRequest) -> bool:
    """Return whether the node says that it is not in maintenance; False where it says nothing."""
    try:
        mode = read_maint_mode(node, request.account or monitor_account(servers.client))
    except InstanceError:
        return False
    return mode.mode == OFF


def release(servers: HeldServers, node: Node, request: DrainRequest) -> bool:
    """Set the mode of a node back that is no server any more, and may not even run.

    Says what keeps the mode as it is. Returns whether it was set.
    """
    account = request.account or monitor_account(servers.client)
    try:
        mode = read_maint_mode(node, account)
        if mode.mode == ON:
            request.progress(f"{node_text(node)}: pxc_maint_mode is set to {OFF}")
            set_maint_mode(node, account, OFF, mode)
    except InstanceError as error:
        request.progress(f"pxc_maint_mode is left as it is: {error.message}")
        return False
    return mode.mode == ON
