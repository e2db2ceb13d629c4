"""Wait until nothing uses servers that take no new connections, and until peers have followed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proxyctl.admin.client import AdminClient
from proxyctl.errors import InstanceError, counted
from proxyctl.state import Key

_POLL_S = 0.2


@dataclass(frozen=True)
class Use:
    """What one instance does with such servers.

    Shape: `used` connections in use, keyed like mysql_servers, only above 0. `is_behind`: whether
    it has yet to follow, as it gives them new ones. `is_placing`: whether its monitor has yet to
    choose who writes.
    """

    used: Mapping[Key, int]
    is_behind: bool
    is_placing: bool = False


@dataclass
class Waited:
    """What is left after a wait, by the addresses of instances.

    `used` are connections in use, by server. `is_behind_here`: the instance itself is behind.
    `to_follow` has peers that are behind still, `placing` those whose monitor has not chosen the
    writers; `lost` why the others could not be asked to the end.
    """

    used: dict[str, Mapping[Key, int]] = field(default_factory=dict)
    is_behind_here: bool = False
    to_follow: list[str] = field(default_factory=list)
    placing: list[str] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    has_peers: bool = False

    def text(self) -> str:
        """Return what is waited for. Where peers have a say, it is said who uses a server."""
        used = [
            f"{in_use(one)} at {address}" if self.has_peers else in_use(one)
            for address, one in self.used.items()
        ]
        here = ["the monitor here to take it out again"] if self.is_behind_here else []
        behind = [f"{address} to follow" for address in self.to_follow]
        placing = [f"{address} to choose the writers" for address in self.placing]
        return ", ".join([*used, *here, *behind, *placing])


def wait_until_settled(
    client: AdminClient,
    ask: Callable[[AdminClient], Use],
    *,
    followers: Sequence[AdminClient],
    timeout_s: float,
    renew: Callable[[], None] = lambda: None,
    progress: Callable[[str], None],
    waits_here: bool = False,
) -> Waited:
    """Return what is still in use after `timeout_s`, or nothing when all has ended before.

    `followers` are the members of its cluster that take the servers over: those give them new
    connections until they have followed. `renew` keeps the lock; `progress` is told what is waited
    for whenever that changes. `waits_here`: also for the monitor of the instance itself, which
    takes a server out again. Raises: InstanceError where the instance itself cannot be asked.
    """
    asked = [*followers]
    lost: dict[str, str] = {}
    end = time.monotonic() + timeout_s
    last = ""
    while True:
        left = Waited(lost=lost, has_peers=bool(followers))
        ours = ask(client)
        if ours.used:
            left.used[client.address] = ours.used
        left.is_behind_here = waits_here and ours.is_behind
        for one in [*asked]:
            try:
                theirs = ask(one)
            except InstanceError as error:
                asked.remove(one)
                lost[one.address] = error.message
                progress(f"{one.address}: its connections are not waited for ({error.message})")
                continue
            if theirs.used:
                left.used[one.address] = theirs.used
            if theirs.is_behind:
                left.to_follow.append(one.address)
            elif theirs.is_placing:
                left.placing.append(one.address)
        awaited = left.text()
        if awaited and awaited != last:
            last = awaited
            progress(f"waiting for {awaited}")
        if not awaited or time.monotonic() >= end:
            return left
        renew()
        time.sleep(_POLL_S)


def in_use(used: Mapping[Key, int]) -> str:
    """Return how many connections are in use, by server, in words."""
    return ", ".join(
        f"{counted(count, 'connection')} to {key[1]}:{key[2]} in hostgroup {key[0]}"
        for key, count in sorted(used.items(), key=repr)
    )
