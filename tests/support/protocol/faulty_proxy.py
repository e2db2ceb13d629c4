"""A proxy between proxyctl and an admin port that counts statements and makes some fail."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tests.support.protocol.mysql_servers import TcpServer
from tests.support.protocol.packets import exactly, framed

QUERY = 3
_OK, _EOF, _ERROR = b"\x00", b"\xfe", b"\xff"
_LARGEST = 0xFFFFFF


class Stream:
    """One side of a connection."""

    def __init__(self, opened: socket.socket) -> None:
        self.socket = opened

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def packet(self) -> bytes:
        """Return the next packet with its header, and its continuation packets.

        Raises: EOFError when the other side has left.
        """
        found = b""
        while True:
            header = exactly(self.socket, 4)
            length = int.from_bytes(header[:3], "little")
            found += header + exactly(self.socket, length)
            if length < _LARGEST:
                return found

    def answer(self) -> bytes:
        """Return all packets of the answer to a statement."""
        first = found = self.packet()
        if first[4:5] in (_OK, _ERROR):
            return found
        for _ in ("columns", "rows"):
            last = b""
            while not _is_end(last):
                last = self.packet()
                found += last
                if last[4:5] == _ERROR:
                    return found
        return found

    def left(self) -> None:
        """Wait until the other side has left."""
        while self.socket.recv(4096):
            pass


def _is_end(packet: bytes) -> bool:
    return packet[4:5] == _EOF and len(packet) < 4 + 9


def pass_login(client: Stream, server: Stream) -> None:
    """Pass on the packets of a login. Raises: EOFError when the server refuses it."""
    client.send(server.packet())
    server.send(client.packet())
    while True:
        packet = server.packet()
        client.send(packet)
        kind = packet[4:5]
        if kind == _OK:
            return
        if kind == _ERROR:
            raise EOFError
        if kind == _EOF:
            server.send(client.packet())


def ok_packet(*, changed: int) -> bytes:
    """Return an OK packet that reports the number of changed rows, below 251."""
    return framed(1, b"\0" + bytes([changed, 0]) + b"\2\0\0\0")


class Place(NamedTuple):
    """A statement of one run: the number of its connection, and its number there, from 1.

    proxyctl reads large tables over a second connection; counted together, the numbers
    would differ in every run.
    """

    connection: int
    statement: int


@dataclass
class Exchange:
    """One statement on its way, in the hands of a fault."""

    sql: str
    packet: bytes
    client: Stream
    server: Stream
    kill_client: Callable[[], None]

    def ask(self) -> bytes:
        """Let ProxySQL execute the statement, and return its answer."""
        self.server.send(self.packet)
        return self.server.answer()

    def deliver(self, answer: bytes) -> None:
        self.client.send(answer)

    def wait_until_client_left(self) -> None:
        self.client.left()

    def hang_up(self) -> None:
        raise EOFError


Fault = Callable[[Exchange], None]


class FaultyProxy(TcpServer):
    """Passes statements on to an admin port, and applies the faults it is armed with.

    `log`: every statement since it was armed, in the order of their arrival. `kill`: ends the
    proxyctl that is served. `watch`: called with every answered statement, before proxyctl gets
    the answer. `instead`: returns what happens to a statement, at any place without a fault; None
    for what ProxySQL would do.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__(self._pass_on)
        self._target = (host, port)
        self.kill: Callable[[], None] = lambda: None
        self.watch: Callable[[int, str, bytes], None] = lambda _connection, _sql, _answer: None
        self.instead: Callable[[str], Fault | None] = lambda _sql: None
        self.log: list[tuple[Place, str]] = []
        self.happened: list[Place] = []
        self._faults: Mapping[Place, Fault] = {}
        self._count = 0
        self._changing = threading.Lock()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self.settle()

    def lead_to(self, host: str, port: int) -> None:
        """Pass on what follows to another admin port."""
        self.settle()
        self._target = (host, port)

    def arm(self, faults: Mapping[Place, Fault]) -> None:
        """Restart the count, with these faults."""
        self.settle()
        self._faults = faults
        self._count = 0
        self.log = []
        self.happened = []

    def settle(self) -> None:
        """Wait until every connection has ended, late statements included."""
        while self.connections:
            self.connections.pop().join()

    def _pass_on(self, accepted: socket.socket) -> None:
        with self._changing:
            self._count += 1
            connection = self._count
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with socket.create_connection(self._target) as opened:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client, server = Stream(accepted), Stream(opened)
            pass_login(client, server)
            count = 0
            while True:
                packet = client.packet()
                if packet[4] != QUERY:
                    server.send(packet)
                    continue
                count += 1
                self._pass(client, server, packet, Place(connection, count))

    def _pass(self, client: Stream, server: Stream, packet: bytes, place: Place) -> None:
        sql = packet[5:].decode("utf-8", "surrogateescape")
        with self._changing:
            self.log.append((place, sql))
            fault = self._faults.get(place)
            if fault is not None:
                self.happened.append(place)
            else:
                fault = self.instead(sql)
        exchange = Exchange(sql, packet, client, server, self.kill)
        if fault is not None:
            fault(exchange)
            return
        answer = exchange.ask()
        self.watch(place.connection, sql, answer)
        exchange.deliver(answer)
