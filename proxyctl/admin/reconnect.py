"""A connection that broke in the middle of an apply: open it again, and learn what it was.

The lock is a row of a TEMP table, so it is gone with the process. Where it is gone, ProxySQL was
restarted: MEMORY and RUNTIME of every module came from DISK, whatever we had loaded.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import Lock
from proxyctl.errors import ConnectionLostError, InstanceError

RECONNECT_S = 15

RESTARTED = "ProxySQL was restarted meanwhile: MEMORY and RUNTIME of every module came from DISK"


@dataclass
class Reconnect:
    """The way back to an instance. `is_gone`: it stayed away when we last tried."""

    client: AdminClient
    lock: Lock
    is_gone: bool = False
    was_restarted: bool = False

    def again(self, cause: ConnectionLostError) -> bool:
        """Connect, waiting for a ProxySQL that is starting. Return whether it was restarted.

        Then the lock is taken anew. Raises: `cause` when the instance stays away; RefusedError when
        somebody else holds the lock now.
        """
        end = time.monotonic() + (0 if self.is_gone else RECONNECT_S)
        while True:
            try:
                self.client.connect()
                is_new = self.lock.take_again()
            except InstanceError:
                if time.monotonic() >= end:
                    self.is_gone = True
                    raise cause from None
                time.sleep(0.5)
            else:
                self.was_restarted = self.was_restarted or is_new
                return is_new
