"""Waits until the peers give connections again to a node that was put back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from proxyctl.admin.client import AdminClient
from proxyctl.admin.interrupts import interruptible
from proxyctl.admin.leaving import Use, wait_until_settled
from proxyctl.admin.login import Login
from proxyctl.admin.members import Members, same_account
from proxyctl.admin.placing_writers import is_placing
from proxyctl.catalog import Value
from proxyctl.draining.request import Restored
from proxyctl.draining.unused import still_placing
from proxyctl.errors import ApplyError, InstanceError, InterruptedApplyError
from proxyctl.families import Node, node_text
from proxyctl.sql import literal


def wait_until_back(
    client: AdminClient,
    restored: Restored,
    *,
    timeout_s: float,
    progress: Callable[[str], None],
    login_at: Callable[[Login, Node], Login] = same_account,
) -> list[str]:
    """Wait until the members that take servers over have followed, and chosen the writers.

    Returns their addresses. Where nothing was loaded, members may have the node drained still: a
    `restore` before may have ended too early for them. Units: `timeout_s` seconds; 0 waits for
    nobody.

    Raises: ApplyError where a member has the node drained after that, or could not be asked though
    something was loaded; InterruptedApplyError.
    """
    if restored.out_in is None or not timeout_s:
        return []
    name = node_text(restored.node)
    here = f"{name} is {'back' if restored.is_loaded else 'not drained'} here"
    members = Members(client, partial(login_at, client.login), progress)
    try:
        with interruptible():
            members.connect()
            if not members.listed:
                return []
            followers, found, unasked = _followers(members, restored)
            left = wait_until_settled(
                client,
                partial(_state, restored),
                followers=followers,
                timeout_s=timeout_s,
                progress=progress,
            )
    except KeyboardInterrupt as error:
        said = f"interrupted: {here}; whether the peers follow is not known"
        raise InterruptedApplyError(said) from error
    except InstanceError as error:
        said = f"{here}; whether the peers follow is not known"
        raise ApplyError(error.message, then=[*error.then, said], hint=error.hint) from error
    finally:
        members.close()
    after = f"after {timeout_s:g} s"
    found += [f"{one} still has it drained {after}" for one in left.to_follow]
    found += [still_placing(one, after) for one in left.placing]
    lost = {f"{host}:{port}": reason for (host, port), reason in members.problems.items()}
    not_asked = [
        f"{address} could not be asked, and may have it drained ({reason})"
        for address, reason in {**left.lost, **unasked, **lost}.items()
    ]
    # A member that is down says nothing of a node that was never drained.
    if restored.is_loaded:
        found += not_asked
    if found:
        raise ApplyError(f"{here}, but {found[0]}", then=found[1:])
    for text in not_asked:
        progress(text)
    return [one.address for one in followers if one.address not in left.lost]


def _followers(
    members: Members, restored: Restored
) -> tuple[list[AdminClient], list[str], dict[str, str]]:
    """Return the members to wait for, what is to be said of others, and why some were not asked."""
    following = members.followers_of("MYSQL SERVERS")
    waited_for: list[AdminClient] = []
    reasons: list[str] = []
    unasked: dict[str, str] = {}
    for (host, port), contact in sorted(members.contacts.items()):
        if contact in following:
            waited_for.append(contact)
            continue
        try:
            is_behind = _state(restored, contact).is_behind
        except InstanceError as error:
            unasked[contact.address] = error.message
            continue
        if is_behind:
            reasons.append(
                f"{host}:{port} takes no servers over from here, and has it drained:"
                " restore it there, too, with --force where it is not on record"
            )
    return waited_for, reasons, unasked


def _state(restored: Restored, client: AdminClient) -> Use:
    """Return whether a member has the node drained still, wherever its monitor has placed it.

    In any hostgroup but those where it takes no connection here either.
    """
    host, port = restored.node
    rows = client.query(
        "SELECT hostgroup_id, status, max_connections FROM runtime_mysql_servers"
        f" WHERE hostname={literal(host)} AND port={literal(port)}",
    )
    out = {
        client.number(hostgroup)
        for hostgroup, status, limit in rows
        if status != "OFFLINE_HARD" and is_out(status or "", client.number(limit))
    }
    serves = any(not is_out(status or "", client.number(limit)) for _, status, limit in rows)
    meant = restored.out_in or frozenset[Value]()
    is_behind = bool(out - meant) or (restored.is_loaded and bool(rows) and not serves)
    return Use({}, is_behind, is_placing(client, restored.families))


def is_out(status: str, max_connections: Value) -> bool:
    """Return whether a row at RUNTIME takes no connection, however well its server is."""
    return status.upper().startswith("OFFLINE") or max_connections == 0
