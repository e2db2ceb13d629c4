"""A thread that looks at the instance and sends each look to the view.

ProxySQL may delay an answer for seconds, and keys and signals must not wait for it.
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
from proxyctl.stats.live.view import LiveStatistics

_FIRST_S = 1.0
"""The longest time to the second look: only then does the view have rates."""
_RETRY_S = 2.0
"""The time from a lost or refused connection to the next attempt."""


class Looked(Message):
    """A look at the instance, or the error that prevented it.

    After an InstanceError the poller tries again. Any other error is a bug, and the last message.
    """

    def __init__(self, result: LiveStatistics | Exception) -> None:
        super().__init__()
        self.result = result


class Poller(threading.Thread):
    """Looks at the instance until `stop`. Owns the client, and closes it at the end."""

    def __init__(
        self, client: AdminClient, interval_s: float, post: Callable[[Message], bool]
    ) -> None:
        # A daemon: a slow look must not delay the end of the process.
        super().__init__(name="poller", daemon=True)
        self._client = client
        self._looker = Looker(client)
        self._post = post
        self._wake = threading.Event()
        self._is_stopped = False
        self._is_paused = False
        self._interval_s = interval_s

    def stop(self) -> None:
        """End the thread after the current look."""
        self._is_stopped = True
        self._wake.set()

    def pause(self, *, is_paused: bool) -> None:
        """Stop looking, or continue."""
        self._is_paused = is_paused
        self._wake.set()

    def run(self) -> None:
        """Look, send, wait, and repeat."""
        try:
            looks, is_lost = 0, False
            while not self._is_stopped:
                start = time.monotonic()
                try:
                    if is_lost:
                        self._client.connect()
                    self._send(self._looker.look(self._interval_s))
                    looks, is_lost = looks + 1, False
                except InstanceError as error:
                    self._send(error)
                    is_lost = True
                pause_s = min(self._interval_s, _FIRST_S) if looks == 1 else self._interval_s
                self._wait(start + (_RETRY_S if is_lost else pause_s))
        except Exception as error:
            self._send(error)
        finally:
            self._client.close()

    def _wait(self, until: float) -> None:
        """Wait until the next look is due."""
        while not self._is_stopped:
            self._wake.clear()
            timeout = None if self._is_paused else until - time.monotonic()
            if timeout is not None and timeout <= 0:
                return
            self._wake.wait(timeout)

    def _send(self, result: LiveStatistics | Exception) -> None:
        # The view and its event loop may have ended meanwhile.
        with suppress(RuntimeError):
            self._post(Looked(result))
