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

    Returns their addresses. Units: `timeout_s` seconds; 0 waits for nobody.

    Raises: ApplyError where a member has the node drained after that, or could not be asked;
    InterruptedApplyError.
    """
    if not (restored.is_loaded and timeout_s):
        return []
    name = node_text(restored.node)
    members = Members(client, partial(login_at, client.login), progress)
    try:
        with interruptible():
            members.connect()
            if not members.listed:
                return []
            followers, found = _followers(members, restored)
            left = wait_until_settled(
                client,
                partial(_state, restored),
                followers=followers,
                timeout_s=timeout_s,
                progress=progress,
            )
    except KeyboardInterrupt as error:
        said = f"interrupted: {name} is back here; whether the peers follow is not known"
        raise InterruptedApplyError(said) from error
    except InstanceError as error:
        said = f"{name} was put back; whether the peers follow is not known"
        raise ApplyError(error.message, then=[*error.then, said], hint=error.hint) from error
    finally:
        members.close()
    after = f"after {timeout_s:g} s"
    found += [f"{one} still has it drained {after}" for one in left.to_follow]
    found += [still_placing(one, after) for one in left.placing]
    lost = {f"{host}:{port}": reason for (host, port), reason in members.problems.items()}
    found += [
        f"{address} could not be asked, and may have it drained ({reason})"
        for address, reason in {**left.lost, **lost}.items()
    ]
    if found:
        raise ApplyError(f"{name} is back here, but {found[0]}", then=found[1:])
    return [one.address for one in followers]


def _followers(members: Members, restored: Restored) -> tuple[list[AdminClient], list[str]]:
    """Return the members to wait for, and what is to be said of the others."""
    following = members.followers_of("MYSQL SERVERS")
    waited_for: list[AdminClient] = []
    reasons: list[str] = []
    for (host, port), contact in sorted(members.contacts.items()):
        if contact in following:
            waited_for.append(contact)
            continue
        try:
            is_out = _state(restored, contact).is_behind
        except InstanceError as error:
            reasons.append(
                f"{contact.address} could not be asked, and may have it drained ({error.message})"
            )
            continue
        if is_out:
            reasons.append(
                f"{host}:{port} takes no servers over from here, and has it drained:"
                " restore it there, too"
            )
    return waited_for, reasons


def _state(restored: Restored, client: AdminClient) -> Use:
    """Return whether a member has the node drained still, wherever its monitor has placed it."""
    host, port = restored.node
    rows = client.query(
        "SELECT count(*), coalesce(sum(status NOT LIKE 'OFFLINE%' AND max_connections<>0), 0)"
        f" FROM runtime_mysql_servers WHERE hostname={literal(host)} AND port={literal(port)}",
        width=2,
    )
    listed, usable = (client.number(cell) for cell in rows[0])
    return Use({}, listed > 0 and usable == 0, is_placing(client, restored.families))
