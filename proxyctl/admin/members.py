"""The other members of an instance's cluster: connections to them, and their locks.

A LOAD at one member travels to all, so that an apply holds the lock of each that can be reached.
Everybody takes the locks in the same order: of two who begin at different members one waits. It is
the order of their uuids, since members may list one another by different names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from proxyctl.admin.client import AdminClient
from proxyctl.admin.cluster import (
    read_clock,
    read_cluster_variables,
    read_member,
    read_membership,
    read_peers,
)
from proxyctl.admin.connect import Login
from proxyctl.admin.lock import Lock, read_holder
from proxyctl.admin.own_address import read_itself, read_uuid
from proxyctl.admin.slow_answers import told_when_slow
from proxyctl.at_once import at_once
from proxyctl.catalog import AdminModule
from proxyctl.cluster.membership import Member, Membership, lacks_account
from proxyctl.cluster.refusing import MOST_AHEAD_S
from proxyctl.errors import InstanceError, ProxyctlError
from proxyctl.families import Node

R = TypeVar("R")

_HERE: Node = ("", 0)
"""The instance itself, where it is not known as what it is listed."""

WORKERS = 10
"""How many members are connected to at the same time."""

PATIENCE_S = 5
"""How long a member may take to answer: a healthy one takes milliseconds, and one that hangs must
not hold up the others."""

_COARSE_S = 0.1
"""The clock that gives an epoch lags some milliseconds behind the one that SQL reads: measured."""

_SILENT_S = 2.0
"""Waiting for longer is said."""


def same_account(login: Login, node: Node) -> Login:
    """Return the same login at another member."""
    host, port = node
    return replace(login, host=str(host), port=int(port or 0), socket=None, name="")


@dataclass
class Members:
    """The members of an instance's cluster, as far as they let us in.

    Nobody is `listed` where it is in none, or has no account to ask the others with. `login_at`
    tells who we are at a member. `itself`: the listed member that is the instance; `again`: further
    addresses of members that are known by another one.
    """

    client: AdminClient
    login_at: Callable[[Node], Login]
    say: Callable[[str], None]
    itself: Node | None = None
    again: set[Node] = field(default_factory=set)
    listed: tuple[Node, ...] = ()
    contacts: dict[Node, AdminClient] = field(default_factory=dict)
    problems: dict[Node, str] = field(default_factory=dict)
    _uuid: str = ""
    """By what the instance knows itself."""
    _alike: set[Node] = field(default_factory=set)
    """Members that know themselves by the same; clones of a DISK do."""

    def connect(self) -> None:
        """Open a connection to each member that is listed and was not tried yet.

        Who was listed when this was called before, and is not any more, is named.
        """
        known, self.listed = self.listed, read_peers(self.client)
        for node in known:
            if node not in {*self.listed, *self.again, self.itself}:
                self.say(f"{node[0]}:{node[1]} is no member any more: not waited for")
        if self.listed and (empty := lacks_account(read_cluster_variables(self.client))):
            if known:
                self.say(f"{empty} is empty now: nobody is waited for")
            self.listed = ()
        login = self.client.login
        if login.socket is None and (login.host, login.port) in self.listed:
            self.itself = (login.host, login.port)
        if self.listed and self.itself is None:
            self.itself = read_itself(self.client, self.listed)
        tried = {*self.contacts, *self.problems, *self.again, self.itself}
        nodes = [node for node in self.listed if node not in tried]
        for node, found in at_once(nodes, self._connected, workers=WORKERS):
            if isinstance(found, AdminClient):
                self.contacts[node] = found
            elif isinstance(found, ProxyctlError):
                self.problems[node] = found.message
            else:
                raise found

    def _connected(self, node: Node) -> AdminClient:
        login = self.login_at(node)
        login = replace(
            login,
            connect_timeout_s=min(login.connect_timeout_s, PATIENCE_S),
            read_timeout_s=min(login.read_timeout_s, PATIENCE_S),
        )
        with self._told_when_slow(node, login.connect_timeout_s):
            return self.client.beside(login)

    def _told_when_slow(self, node: Node, most_s: float) -> AbstractContextManager[None]:
        text = f"{node[0]}:{node[1]} does not answer yet: {most_s:g} s at most"
        return told_when_slow(self.say, text)

    def close(self) -> None:
        """Close the connections."""
        for contact in self.contacts.values():
            contact.close()
        self.contacts = {}

    def take(self, lock: Lock, *, timeout_s: float) -> None:
        """Take the lock of the instance, and those of the members, which are held beside it.

        What was taken before it fails is for the caller to give back. Raises: RefusedError that
        names a holder; InstanceError.
        """
        self.connect()
        end = time.monotonic() + timeout_s
        for node in self._in_order():
            if node in (self.itself, _HERE):
                self._take(lock, end)
            else:
                self._take_at(node, lock, end)
        for node, problem in self.problems.items():
            self.say(
                f"{node[0]}:{node[1]}: no lock there ({problem}): nothing keeps others from a LOAD"
            )

    def _in_order(self) -> list[Node]:
        """Return the members that let us in, and the instance, which is none of the contacts."""
        if not self.contacts:
            return [_HERE]
        self._uuid = read_uuid(self.client)
        uuids = self.answers([*self.contacts], lambda _node, contact: read_uuid(contact))
        self._alike = {node for node, uuid in uuids.items() if uuid and uuid == self._uuid}
        peers = [(uuid, node) for node, uuid in uuids.items()]
        if self.itself is None and not self._uuid:
            # Its place is not known, until its lock is found to be one that was taken already.
            return [*(node for _, node in sorted(peers)), _HERE]
        return [node for _, node in sorted([*peers, (self._uuid, self.itself or _HERE)])]

    def _take(self, lock: Lock, end: float) -> bool:
        return lock.take(timeout_s=max(end - time.monotonic(), 0), waiting=self.say)

    def _take_at(self, node: Node, lock: Lock, end: float) -> None:
        contact = self.contacts[node]
        # It has to outlive a statement here, for which more patience is needed.
        least_s = lock.client.login.read_timeout_s
        theirs = Lock(contact, lock.purpose, owner=lock.owner, least_lease_s=least_s)
        try:
            self._ask(node, contact, read_holder)
            is_new = self._take(theirs, end)
        except InstanceError as error:
            self._lose(node, error)
            return
        if not is_new:
            self._forget(node)
            if self.itself is None and node in self._alike:
                self.itself = node
            else:
                self.again.add(node)
            return
        is_unknown = self.itself is None and not self._uuid
        holder = read_holder(self.client) if is_unknown else None
        if holder is not None and holder.owner == lock.owner:
            # The row is that of the instance itself, which the caller holds and gives back.
            self._forget(node)
            self.itself = node
            self._take(lock, end)
            return
        lock.beside.append(theirs)

    def _forget(self, node: Node) -> None:
        self.contacts.pop(node).close()

    def _lose(self, node: Node, error: ProxyctlError) -> None:
        self._forget(node)
        self.problems[node] = error.message

    def wait_at_most(self, read_timeout_s: float) -> None:
        """Let no answer of a member take longer than this from now on. Units: seconds."""
        for contact in self.contacts.values():
            contact.wait_at_most(read_timeout_s)

    @contextmanager
    def as_patient_as(self, read_timeout_s: float) -> Iterator[None]:
        """Let answers of members take that long in the block: whole tables may be large.

        Units: seconds.
        """
        before = [(one, one.login.read_timeout_s) for one in self.contacts.values()]
        self.wait_at_most(read_timeout_s)
        try:
            yield
        finally:
            for contact, timeout_s in before:
                contact.wait_at_most(timeout_s)

    def asked(self) -> dict[Node, Member]:
        """Return what the members say of themselves, or why they do not."""
        found = self.answers([*self.contacts], read_member)
        return {
            **{node: Member(node, problem=text) for node, text in self.problems.items()},
            **found,
        }

    def answers(
        self, nodes: Collection[Node], question: Callable[[Node, AdminClient], R]
    ) -> dict[Node, R]:
        """Return what each of these members answers; who does not is not asked again.

        Changes: contacts, problems.
        """
        listed = [(node, self.contacts[node]) for node in nodes if node in self.contacts]

        def ask(one: tuple[Node, AdminClient]) -> R:
            node, contact = one
            return self._ask(node, contact, lambda _: question(node, contact))

        found: dict[Node, R] = {}
        for (node, _), said in at_once(listed, ask, workers=WORKERS):
            if isinstance(said, InstanceError):
                self._lose(node, said)
            elif isinstance(said, BaseException):
                raise said
            else:
                found[node] = said
        return found

    def _ask(self, node: Node, contact: AdminClient, question: Callable[[AdminClient], R]) -> R:
        with self._told_when_slow(node, contact.login.read_timeout_s):
            return question(contact)

    def look(self) -> Membership:
        """Return what is known of all members now. Raises: InstanceError."""
        if not self.listed:
            return Membership()
        return read_membership(self.client, self.asked(), itself=self.itself, again=self.again)

    def followers_of(self, module: str) -> list[AdminClient]:
        """Return connections to the members that take an admin module over from here."""
        here = self.look()
        name = here.name_of(module)
        if name is None:
            return []
        nodes = [one.node for one in here.others if here.is_followed_by(one, name)]
        return [self.contacts[node] for node in nodes if node in self.contacts]

    def wait_for_a_later_second(self, module: AdminModule) -> None:
        """Wait until a LOAD of a module is newer than the last one at any member.

        Two LOADs within one second, also two here, would leave members split for ever.

        Raises: InstanceError where that takes too long.
        """
        if not self.listed:
            return
        here = self.look()
        if not here.travels(module.name):
            return
        later = here.newest_epoch(module.name) + 1 + _COARSE_S
        end = time.monotonic() + MOST_AHEAD_S
        now = here.now
        if later - now > _SILENT_S:
            self.say(
                f"{module.name}: waiting {later - now:.0f} s: its last LOAD at a member is that far"
                " ahead of the clock here"
            )
        while now < later:
            if time.monotonic() > end:
                raise InstanceError(
                    f"{module.name}: its last LOAD at a member lies ahead of this one's clock"
                )
            time.sleep(min(later - now, 1.0))
            now = read_clock(self.client)
