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
    """A look, of an instance that calls itself `version`, or why there was none.

    After an InstanceError there will be another try; another error is a bug, and the last message.
    """

    def __init__(self, found: Look | Exception, version: str = "") -> None:
        super().__init__()
        self.found = found
        self.version = version


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
        self._looks = 0

    def stop(self) -> None:
        """End as soon as the look that is under way is there."""
        self._is_stopped = True
        self._wake.set()

    def set_pace(self, interval_s: float, *, is_paused: bool) -> None:
        """Look so often from now on, or not at all."""
        self._interval_s = interval_s
        self._is_paused = is_paused
        self._wake.set()

    def run(self) -> None:
        """Look, tell, wait; again and again."""
        try:
            is_lost = False
            while not self._is_stopped:
                start = time.monotonic()
                is_lost = not self._look(is_lost=is_lost)
                self._wait(start, is_lost=is_lost)
        except Exception as error:
            self._tell(Looked(error))
        finally:
            self._client.close()

    def _look(self, *, is_lost: bool) -> bool:
        """Look once, and tell what came of it. Return whether there was an answer."""
        try:
            if is_lost:
                self._client.connect()
            look = self._looker.look(self._interval_s)
        except InstanceError as error:
            self._tell(Looked(error))
            return False
        self._looks += 1
        self._tell(Looked(look, self._client.version_text))
        return True

    def _wait(self, start: float, *, is_lost: bool) -> None:
        """Wait until the next look is due. A new pace counts from the start of the last one."""
        while not self._is_stopped:
            self._wake.clear()
            pause: float | None = None
            if not self._is_paused:
                pause = start + self._pause_s(is_lost=is_lost) - time.monotonic()
                if pause <= 0:
                    return
            self._wake.wait(pause)

    def _pause_s(self, *, is_lost: bool) -> float:
        if is_lost:
            return _AGAIN_S
        return min(self._interval_s, _FIRST_S) if self._looks == 1 else self._interval_s

    def _tell(self, message: Message) -> None:
        # The view may have ended meanwhile, and its event loop with it.
        with suppress(RuntimeError):
            self._post(message)
