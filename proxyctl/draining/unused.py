"""Waits until a drained node is not used any more, at the instance and at its peers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import is_on_record
from proxyctl.admin.interrupts import interruptible
from proxyctl.admin.leaving import Use, wait_until_settled
from proxyctl.admin.login import Login
from proxyctl.admin.members import Members, same_account
from proxyctl.admin.placing_writers import is_placing
from proxyctl.admin.runtime_facts import used_connections
from proxyctl.draining.request import StillUsed
from proxyctl.drains import DrainMethod
from proxyctl.errors import ApplyError, InstanceError, InterruptedApplyError, counted
from proxyctl.families import Family, Node, node_text
from proxyctl.sql import literal


def wait_until_unused(
    client: AdminClient,
    node: Node,
    *,
    timeout_s: float,
    progress: Callable[[str], None],
    method: DrainMethod = DrainMethod.PROXYSQL,
    login_at: Callable[[Login, Node], Login] = same_account,
    families: Sequence[Family] = (),
    told: Callable[[StillUsed], None] = lambda _left: None,
) -> list[str]:
    """Wait until no connection to the node is in use here and at the members of the cluster.

    And until the monitors of the members have chosen the writers of these `families`. What is
    waited for is said whenever it changes. `method` is that of the drain, and `login_at` tells who
    we are at a member. Returns the addresses of the members that use it no more. `told` is given
    who uses it where the time is over, right before the error.

    Raises: ApplyError as soon as servers were loaded here that let the node take connections, or it
    was put back; when a connection is in use after `timeout_s`, or it cannot be read, or a member
    may use the node: it gives it new connections, or could not be asked; or it has more writers
    than there may be; InterruptedApplyError.
    """
    members = Members(client, partial(login_at, client.login), progress)
    try:
        with interruptible():
            members.connect()
            return _Wait(client, node, method, members, progress, families, told).go(timeout_s)
    except KeyboardInterrupt as error:
        raise InterruptedApplyError(
            f"interrupted: {node_text(node)} is drained, and may still be in use", hint=_hint(node)
        ) from error
    except InstanceError as error:
        # Nothing is taken back: the node is drained, unless ProxySQL itself went down.
        raise ApplyError(
            error.message,
            then=[*error.then, f"{node_text(node)} was drained; whether it is in use is not known"],
            hint=_hint(node),
        ) from error
    finally:
        members.close()


@dataclass
class _Wait:
    """One wait for a node. `members` are connected."""

    client: AdminClient
    node: Node
    method: DrainMethod
    members: Members
    progress: Callable[[str], None]
    families: Sequence[Family]
    told: Callable[[StillUsed], None]

    def go(self, timeout_s: float) -> list[str]:
        """Wait. Returns the peers that use the node no more. Raises: ApplyError, InstanceError."""
        followers, reasons = self._followers()
        left = wait_until_settled(
            self.client,
            self._use,
            followers=followers,
            timeout_s=timeout_s,
            progress=self.progress,
            waits_here=True,
        )
        after = f"after {timeout_s:g} s"
        used = {address: sum(one.values()) for address, one in left.used.items()}
        found = [
            f"{counted(count, 'connection')} to it still in use {after}"
            + (f" at {address}" if left.has_peers else "")
            for address, count in used.items()
        ]
        if left.is_behind_here:
            found.append(f"{self.client.address} gives it new connections again {after}")
        found += [f"{one} still gives it new connections {after}" for one in left.to_follow]
        found += [still_placing(one, after) for one in left.placing]
        found += reasons
        found += [_not_asked(address, reason) for address, reason in left.lost.items()]
        found += [
            _not_asked(f"{host}:{port}", reason)
            for (host, port), reason in self.members.problems.items()
        ]
        if found:
            waited_for = {*left.used, *left.to_follow, *left.placing, *left.lost}
            unused = [one.address for one in followers if one.address not in waited_for]
            self.told(StillUsed(left.used, unused))
            raise ApplyError(
                f"{node_text(self.node)} is drained, but {found[0]}",
                then=found[1:],
                hint=_hint(self.node),
            )
        return [one.address for one in followers]

    def _followers(self) -> tuple[list[AdminClient], list[str]]:
        """Return the members to wait for, and what is to be said of the others.

        One that takes nothing over from here is waited for where the node is drained there, too.
        """
        contacts = self.members.contacts
        if self.method is DrainMethod.PXC_MAINT_MODE:
            # The node itself tells everybody: no member has to follow another one.
            return [contacts[node] for node in sorted(contacts)], []
        following = self.members.followers_of("MYSQL SERVERS")
        waited_for: list[AdminClient] = []
        reasons: list[str] = []
        for member, contact in sorted(contacts.items()):
            try:
                if contact in following or not self._use(contact).is_behind:
                    waited_for.append(contact)
                    continue
            except InstanceError as error:
                reasons.append(_not_asked(contact.address, error.message))
                continue
            name = f"{member[0]}:{member[1]}"
            reasons.append(
                f"{name} takes no servers over from here, and gives it new connections:"
                " drain it there, too"
            )
        return waited_for, reasons

    def _use(self, client: AdminClient) -> Use:
        """Return the connections to the node that are in use, and whether it may get new ones.

        Raises: InstanceError; ApplyError where the drain has ended: no monitor puts that right.
        """
        used = {
            key: count
            for key, count in used_connections(client).items()
            if (key[1], key[2]) == self.node
        }
        is_here, may_get_new_ones = client is self.client, self._may_get_new_ones(client)
        ended = self._why_ended() if is_here and may_get_new_ones else None
        if ended is not None:
            raise ApplyError(
                f"{node_text(self.node)} is not drained any more: {ended}, and it takes new"
                " connections",
                hint="the same command drains it again; nodes list says who has it on record",
            )
        placing = not is_here and is_placing(client, self.families)
        return Use(used, may_get_new_ones, placing)

    def _why_ended(self) -> str | None:
        """Return what has ended the drain, where the node is out no more at the instance itself.

        None for one in maintenance that is on record: it may be ONLINE until the next check.
        """
        if self.method is DrainMethod.PROXYSQL:
            return "servers were loaded meanwhile, here or at a peer"
        return None if is_on_record(self.client, self.node) else "it was put back meanwhile"

    def _may_get_new_ones(self, client: AdminClient) -> bool:
        """Return whether a row of RUNTIME lets new connections to the node.

        Who sets pxc_maint_mode leaves it ONLINE in the offline hostgroup, and SHUNNED elsewhere.
        """
        host, port = self.node
        is_out = (
            "status<>'ONLINE'"
            if self.method is DrainMethod.PXC_MAINT_MODE
            else "status LIKE 'OFFLINE%'"
        )
        rows = client.query(
            "SELECT count(*) FROM runtime_mysql_servers"
            f" WHERE hostname={literal(host)} AND port={literal(port)}"
            f" AND NOT ({is_out}) AND max_connections<>0 AND hostgroup_id NOT IN"
            " (SELECT offline_hostgroup FROM runtime_mysql_galera_hostgroups)",
        )
        return client.number(rows[0][0]) > 0


def still_placing(address: str, after: str) -> str:
    """Return that a peer has writers too many."""
    return f"{address} has more ONLINE writers than there may be {after}: its monitor places them"


def _not_asked(address: str, reason: str) -> str:
    return f"{address} could not be asked, and may use it ({reason})"


def _hint(node: Node) -> str:
    return f"run the command again to go on waiting, or proxyctl nodes restore {node_text(node)}"
