"""Wait until nothing uses servers that take no new connections and are about to leave."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from proxyctl.admin.client import AdminClient
from proxyctl.errors import InstanceError, counted
from proxyctl.state import Key

_POLL_S = 0.2


def wait_for_leavers(
    client: AdminClient,
    leaving: frozenset[Key],
    *,
    followers: Sequence[AdminClient],
    timeout_s: float,
    renew: Callable[[], None],
    progress: Callable[[str], None],
) -> dict[Key, int]:
    """Return what is still in use after `timeout_s`, by server: nothing if all have ended before.

    `leaving` are keys of mysql_servers. `followers` are the members of its cluster that take the
    servers over: those give them new connections until they have followed. `renew` keeps the lock;
    `progress` is told what is waited for whenever that changes.
    """
    asked = [*followers]
    end = time.monotonic() + timeout_s
    last = ""
    while True:
        used = Counter(_pools(client, leaving)[0])
        awaited = []
        for one in [*asked]:
            try:
                theirs, takes_new = _pools(one, leaving)
            except InstanceError as error:
                asked.remove(one)
                reason = error.message
                progress(f"{one.address}: its connections are not waited for ({reason})")
                continue
            used.update(theirs)
            if takes_new:
                awaited.append(f"{one.address} to follow")
        awaited = [*([in_use(used)] if used else []), *awaited]
        if awaited and ", ".join(awaited) != last:
            last = ", ".join(awaited)
            progress(f"waiting for {last}")
        if not awaited or time.monotonic() >= end:
            return dict(used)
        renew()
        time.sleep(_POLL_S)


def _pools(client: AdminClient, leaving: frozenset[Key]) -> tuple[dict[Key, int], bool]:
    """Return the connections in use to servers that leave, and whether one takes new ones."""
    rows = client.query(
        "SELECT hostgroup, srv_host, srv_port, status, ConnUsed FROM stats_mysql_connection_pool",
        width=5,
    )
    found: dict[Key, tuple[str | None, int]] = {
        (client.number(hostgroup), host, client.number(port)): (status, client.number(count))
        for hostgroup, host, port, status, count in rows
    }
    left = {key: one for key, one in found.items() if key in leaving}
    used = {key: count for key, (_, count) in left.items() if count}
    return used, any(status == "ONLINE" for status, _ in left.values())


def in_use(used: Mapping[Key, int]) -> str:
    """Return how many connections are in use, by server, in words."""
    return ", ".join(
        f"{counted(count, 'connection')} to {key[1]}:{key[2]} in hostgroup {key[0]}"
        for key, count in sorted(used.items(), key=repr)
    )
