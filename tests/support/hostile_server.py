"""A server that speaks just enough of MySQL's handshake to ask for a password in a bad way."""

from __future__ import annotations

import socket

from tests.support.packets import framed, greeting
from tests.support.tcp_server import TcpServer


class HostileServer(TcpServer):
    """Greets, then answers each packet of the client with the next of `answers`.

    `heard` is every byte that clients sent.
    """

    def __init__(self, method: bytes, *answers: bytes, host: str = "127.0.0.1") -> None:
        super().__init__(self._talk, host)
        self._method = method
        self._answers = answers
        self.heard = b""

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        # What is still on its way must be heard before the test looks.
        for connection in self.connections:
            connection.join()

    def _talk(self, client: socket.socket) -> None:
        client.sendall(greeting(b"2.7.1", method=self._method))
        for answer in self._answers:
            said = client.recv(65536)
            if not said:
                return
            self.heard += said
            client.sendall(framed(said[3] + 1, answer))
        while said := client.recv(65536):
            self.heard += said
