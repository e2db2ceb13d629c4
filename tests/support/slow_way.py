"""A long way to a server: a port of this machine that hands on what it gets, each time later."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

from tests.support.tcp_server import TcpServer


class SlowWay(TcpServer):
    """Leads from `port` to a port of this machine; what clients send takes `delay_s` more.

    `only`: where it has this text in it.
    """

    def __init__(
        self, to: int, *, delay_s: float, only: bytes = b"", host: str = "127.0.0.1"
    ) -> None:
        super().__init__(self._lead)
        self._to = (host, to)
        self._only = only
        self._delay_s = delay_s

    def _lead(self, client: socket.socket) -> None:
        with socket.create_connection(self._to) as server:
            back = (server, client, 0.0, self._only)
            answering = threading.Thread(target=_hand_on, args=back, daemon=True)
            answering.start()
            _hand_on(client, server, self._delay_s, self._only)
            answering.join()


def _hand_on(source: socket.socket, target: socket.socket, delay_s: float, only: bytes) -> None:
    with suppress(OSError):
        while sent := source.recv(1 << 16):
            if only in sent:
                time.sleep(delay_s)
            target.sendall(sent)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
