"""A port of this machine that tests serve."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self


class TcpServer:
    """Gives every connection to `serve`, in a thread of its own. Use as a context manager."""

    def __init__(self, serve: Callable[[socket.socket], None], host: str = "127.0.0.1") -> None:
        self._serve = serve
        self._listener = socket.create_server((host, 0), backlog=64)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self.host = host
        self.port: int = self._listener.getsockname()[1]
        self.connections: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        # Closing it would not wake up the thread that waits there.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._one, args=(connection,), daemon=True)
            thread.start()
            self.connections.append(thread)

    def _one(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, EOFError):
            self._serve(connection)
