"""Wait until nothing uses servers that take no new connections and are about to leave."""

from __future__ import annotations

import time
from collections.abc import Callable

from proxyctl.admin.client import AdminClient
from proxyctl.admin.read import used_connections
from proxyctl.errors import counted
from proxyctl.state import Key

_POLL_S = 0.2


def wait_for_leavers(
    client: AdminClient,
    leaving: frozenset[Key],
    *,
    timeout_s: float,
    renew: Callable[[], None],
    progress: Callable[[str], None],
) -> dict[Key, int]:
    """Return what is still in use after `timeout_s`, by server: nothing if all have ended before.

    `leaving` are keys of mysql_servers. `renew` keeps the lock; `progress` is told how many are in
    use whenever that changes.
    """
    end = time.monotonic() + timeout_s
    last: dict[Key, int] = {}
    while True:
        used = {key: n for key, n in used_connections(client).items() if key in leaving}
        if used and used != last:
            progress(f"waiting for {in_use(used)}")
            last = used
        if not used or time.monotonic() >= end:
            return used
        renew()
        time.sleep(_POLL_S)


def in_use(used: dict[Key, int]) -> str:
    """Return how many connections are in use, by server, in words."""
    return ", ".join(
        f"{counted(count, 'connection')} to {key[1]}:{key[2]} in hostgroup {key[0]}"
        for key, count in sorted(used.items(), key=repr)
    )
