"""A long way to a server: a port of this machine that hands on what it gets, each time later."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self


class SlowWay:
    """Leads from `port` to a port of this machine; what clients send takes `delay_s` more.

    `only`: where it has this text in it.
    """

    def __init__(
        self, to: int, *, delay_s: float, only: bytes = b"", host: str = "127.0.0.1"
    ) -> None:
        self._to = (host, to)
        self._only = only
        self._delay_s = delay_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A listener that is only closed leaves its thread in accept().
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._to)
            ways = ((client, server, self._delay_s), (server, client, 0.0))
            for way in ways:
                threading.Thread(target=_hand_on, args=(*way, self._only), daemon=True).start()


def _hand_on(source: socket.socket, target: socket.socket, delay_s: float, only: bytes) -> None:
    with suppress(OSError):
        while sent := source.recv(1 << 16):
            if only in sent:
                time.sleep(delay_s)
            target.sendall(sent)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
    source.close()
