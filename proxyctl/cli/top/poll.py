"""A thread that looks at the instance, and tells the view what it saw.

ProxySQL may keep an answer back for seconds: keys and signals must not wait for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from textual.message import Message

from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.stats.live.read import Looker
from proxyctl.stats.live.view import Look

_FIRST_S = 1.0
"""The second look comes as soon: there are no rates before it."""
_AGAIN_S = 2.0
"""How long after a connection was lost, or could not be opened, the next one is tried."""


class Looked(Message):
    """A look, or why there was none.

    After an InstanceError there will be another try; another error is a bug, and the last message.
    """

    def __init__(self, found: Look | Exception) -> None:
        super().__init__()
        self.found = found


class Poller(threading.Thread):
    """Looks until it is stopped. Owns the client, which it closes at the end."""

    def __init__(
        self, client: AdminClient, interval_s: float, post: Callable[[Message], bool]
    ) -> None:
        # A daemon: a look that takes long must not hold up the end of the process.
        super().__init__(name="poller", daemon=True)
        self._client = client
        self._looker = Looker(client)
        self._post = post
        self._wake = threading.Event()
        self._is_stopped = False
        self._is_paused = False
        self._interval_s = interval_s

    def stop(self) -> None:
        """End as soon as the look that is under way is there."""
        self._is_stopped = True
        self._wake.set()

    def pause(self, *, is_paused: bool) -> None:
        """Look no more, or again."""
        self._is_paused = is_paused
        self._wake.set()

    def run(self) -> None:
        """Look, tell, wait; again and again."""
        try:
            looks, is_lost = 0, False
            while not self._is_stopped:
                start = time.monotonic()
                try:
                    if is_lost:
                        self._client.connect()
                    self._tell(self._looker.look(self._interval_s))
                    looks, is_lost = looks + 1, False
                except InstanceError as error:
                    self._tell(error)
                    is_lost = True
                first = min(self._interval_s, _FIRST_S) if looks == 1 else self._interval_s
                self._wait(start + (_AGAIN_S if is_lost else first))
        except Exception as error:
            self._tell(error)
        finally:
            self._client.close()

    def _wait(self, until: float) -> None:
        """Wait until the next look is due."""
        while not self._is_stopped:
            self._wake.clear()
            left = None if self._is_paused else until - time.monotonic()
            if left is not None and left <= 0:
                return
            self._wake.wait(left)

    def _tell(self, found: Look | Exception) -> None:
        # The view may have ended meanwhile, and its event loop with it.
        with suppress(RuntimeError):
            self._post(Looked(found))
