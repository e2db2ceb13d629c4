"""Waits until the peers of a cluster hold what was applied, and says which do not, and why.

A peer follows when its checksums agree with those of this instance, and, where it lets us in, its
rows do and its monitor has chosen the writers of every Galera cluster. Nothing is sent but SELECTs,
what keeps the locks alive, DELETEs of servers that have left and that the peer keeps in MEMORY
and on DISK, and UPDATEs of variables there that wait for its restart, which it has dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from proxyctl.admin.awaiting_restart import MODULE as VARIABLES
from proxyctl.admin.awaiting_restart import AwaitingRestart
from proxyctl.admin.client import AdminClient
from proxyctl.admin.kept_offline import take_out
from proxyctl.admin.lock import Lock
from proxyctl.admin.members import PATIENCE_S, Members
from proxyctl.cluster.checksums import MODULES, Checksum
from proxyctl.cluster.following import FINAL, Why, reasons, rows_differ, saves_nothing
from proxyctl.cluster.kept_offline import keeps, kept_offline, taken_out
from proxyctl.cluster.membership import Member, Membership
from proxyctl.cluster.travelling import rows_left
from proxyctl.cluster.writers import not_placed
from proxyctl.errors import InstanceError, ProxyctlError, counted
from proxyctl.families import Node
from proxyctl.plan import ModulePlan
from proxyctl.result import NotFollowing, PeerResult

_POLL_S = 0.5
_LEAST_READ_S = 1.0
"""The shorter the wait, the less patience with the answer of a peer that hangs."""


@dataclass
class PeersWaiting:
    """One wait. `modules_at` compares what was loaded with a peer; `awaiting`: what waits there."""

    members: Members
    lock: Lock
    modules_at: Callable[[AdminClient], Sequence[ModulePlan]]
    say: Callable[[str], None]
    awaiting: AwaitingRestart
    loaded: dict[str, Checksum] = field(default_factory=dict)
    results: dict[Node, PeerResult] = field(default_factory=dict)

    def wait(self, modules: Iterable[str], timeout_s: float) -> list[PeerResult]:
        """Return what became of the peers, those that were listed after the apply.

        `modules`: the admin modules that were loaded. Raises: InstanceError where this instance
        does not answer any more.
        """
        self.members.connect()
        self._be_impatient(timeout_s)
        here = self.members.look()
        names = [name for module in modules if (name := here.name_of(module))]
        self.loaded = {name: here.own[name] for name in names}
        if not names or not here.others:
            return []
        awaited = [one for one in here.others if not self._is_hopeless(one, here)]
        if awaited:
            self.say(f"waiting for {counted(len(awaited), 'peer')} to follow")
        end = time.monotonic() + timeout_s
        while True:
            waiting = [one for one in here.others if not self._is_settled(one, here)]
            if not waiting or time.monotonic() >= end:
                return [self.results[one.node] for one in here.others]
            time.sleep(min(_POLL_S, max(end - time.monotonic(), 0)))
            self._be_impatient(end - time.monotonic())
            self.lock.renew()
            here = self.members.look()

    def _be_impatient(self, left_s: float) -> None:
        self.members.wait_at_most(min(max(round(left_s), _LEAST_READ_S), PATIENCE_S))

    def _is_hopeless(self, member: Member, here: Membership) -> bool:
        """Return whether a peer will not follow, whatever the time."""
        found = [one.code for one in reasons(self.loaded, member, here)]
        return bool(found) and FINAL.issuperset(found)

    def _is_settled(self, member: Member, here: Membership) -> bool:
        """Return whether waiting for a peer is over. Changes: results."""
        before = self.results.get(member.node)
        if before is not None and before.follows:
            return True
        found = self._result(member, here)
        self.results[member.node] = found
        if found.follows:
            self.say(f"{member.name} follows")
        return all(reason.code in FINAL for reason in found.reasons)

    def _result(self, member: Member, here: Membership) -> PeerResult:
        missing = tuple(reasons(self.loaded, member, here))
        before = self.results.get(member.node)
        said = before.notes if before is not None else ()
        notes = tuple(dict.fromkeys((*said, *saves_nothing(self.loaded, member))))
        contact = self.members.contacts.get(member.node)
        if contact is None or any(one.code != Why.OTHER_VERSION for one in missing):
            return PeerResult(member.name, missing, notes=notes)
        try:
            found = self._travelling_at(contact)
        except ProxyctlError as error:
            text = f"its checksums agree, and its rows could not be read: {error.lines()[0]}"
            return PeerResult(member.name, (NotFollowing("", Why.OTHER, text),), notes=notes)
        left = rows_left(found)
        if missing:
            # Checksums of two versions may differ over equal rows: the rows decide.
            missing = tuple(one for one in missing if left.get(one.module))
        else:
            missing = tuple(rows_differ(left, member))
        if not missing:
            missing, more = self._finish_at(member, contact, found)
            notes = (*notes, *more)
        if not missing:
            missing = tuple(not_placed(found, member))
        return PeerResult(member.name, missing, rows_read=not missing, notes=notes)

    def _travelling_at(self, contact: AdminClient) -> list[ModulePlan]:
        """Compare what was loaded, and travels, with a peer."""
        travelling = {MODULES[name] for name in self.loaded}
        return [one for one in self.modules_at(contact) if one.name in travelling]

    def _has_pulled(self, member: Member, module: str) -> bool:
        """Return whether a peer, as it was asked, took what it has of an admin module from here.

        Then MEMORY there is what the peer wrote, and holds nobody's edit of before. One that held
        the same content already pulls nothing.
        """
        ours = {MODULES[name]: (name, one.epoch) for name, one in self.loaded.items()}
        name, epoch = ours.get(module, ("", 0))
        return name in member.checksums and member.checksums[name].epoch == epoch

    def _finish_at(
        self, member: Member, contact: AdminClient, found: Sequence[ModulePlan]
    ) -> tuple[tuple[NotFollowing, ...], tuple[str, ...]]:
        """Take out what a peer whose RUNTIME agrees keeps in the other layers all the same.

        What it has dropped there and should keep is put back.
        What an apply of ours had left half done there came from here, and that is noted there.
        Returns why the peer does not follow, and what is to be known of it.
        """
        lock = next((one for one in self.lock.beside if one.client is contact), None)
        kept = kept_offline(found) if self._has_pulled(member, "MYSQL SERVERS") else {}
        if kept:
            try:
                if lock is None:
                    return (keeps(kept, member),), ()
                take_out(lock, kept)
                found = self._travelling_at(contact)
            except ProxyctlError as error:
                return (keeps(kept, member, error.lines()[0]),), ()
            left = kept_offline(found)
            if left:
                return (keeps(left, member),), ()
        notes = [*taken_out(kept), *self._put_back_at(member, lock)]
        if lock is not None:
            lock.finished(module.name for module in found if module.is_in_sync)
        return (), tuple(notes)

    def _put_back_at(self, member: Member, lock: Lock | None) -> Iterator[str]:
        """Put back what waits for a restart of a peer and was dropped; yield what that was."""
        if not self._has_pulled(member, VARIABLES):
            self.awaiting.stays(member.node)
            return
        # Where that fails, the apply says what is gone there.
        with suppress(InstanceError):
            yield from self.awaiting.put_back(member.node, lock)
