"""Sockets that end a wait: a peer neither holds us for ever nor fills our memory.

The timeout of a socket begins anew with every byte. A peer that sends one byte every few seconds
keeps such a client for days, and one that never ends its answer fills the memory of it.
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

SLOWEST = 10_000
"""Below this speed a long answer runs out of time. Units: bytes a second."""

LOGIN_S = 10.0
LOGIN_LIMIT = 1 << 20
"""The most seconds and bytes of a greeting and the rest of a login."""
ANSWER_LIMIT = 8 << 20
"""The most bytes of an answer, and of some rows of one that nobody holds as a whole."""
TABLE_LIMIT = 512 << 20
"""The most bytes of the tables that one statement reads: millions of rows."""


class AnswerTooLargeError(OSError):
    """The peer sent more than fits into any honest answer."""


class _Bounded(socket.socket):
    """A socket whose reads share a time and a size, from `begin` on.

    Only the time in which it waits for the peer counts.
    """

    _time_s: float = LOGIN_S
    _speed: float = 0.0
    _limit: int = LOGIN_LIMIT
    _waited_s: float = 0.0
    _received: int = 0

    def begin(self, time_s: float, *, limit: int, speed: int = SLOWEST) -> None:
        """Begin the wait for an answer: `time_s`, and more as it arrives at `speed`.

        Units: `speed` bytes a second, 0: no more time; `limit` bytes.
        """
        self._time_s, self._speed, self._limit = time_s, speed, limit
        self._waited_s, self._received = 0.0, 0

    def recv_into(self, buffer: WriteableBuffer, nbytes: int | None = None, flags: int = 0) -> int:
        """Read what has come. Raises: TimeoutError, AnswerTooLargeError."""
        left = self._time_s - self._waited_s
        if self._speed:
            left += self._received / self._speed
        if left <= 0:
            raise TimeoutError("timed out")
        self.settimeout(left)
        began = time.monotonic()
        count = super().recv_into(buffer, nbytes or memoryview(buffer).nbytes, flags)
        self._waited_s += time.monotonic() - began
        self._received += count
        if self._received > self._limit:
            raise AnswerTooLargeError(f"the answer is larger than {self._limit >> 20} MiB")
        return count

    def sendall(self, data: ReadableBuffer, flags: int = 0) -> None:
        """Send everything within the time of an answer."""
        self.settimeout(self._time_s)
        super().sendall(data, flags)


class BoundedSocket(_Bounded):
    """A TCP or Unix socket."""


class BoundedTLSSocket(_Bounded, ssl.SSLSocket):
    """A socket with TLS; `sslsocket_class` of a context makes it."""


def connected(host: str, port: int, path: str | None, time_s: float) -> BoundedSocket:
    """Return a socket that is connected, and waits at most `time_s` for a login.

    `path`: of a Unix socket, instead of host and port. Raises: OSError, UnicodeError.
    """
    if path is None:
        opened = socket.create_connection((host, port), time_s)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    else:
        opened = socket.socket(socket.AF_UNIX)
        try:
            opened.settimeout(time_s)
            opened.connect(path)
        except OSError:
            opened.close()
            raise
    bounded = BoundedSocket(fileno=opened.detach())
    bounded.begin(time_s, limit=LOGIN_LIMIT, speed=0)
    return bounded
