"""A server that attacks who connects: one mode for each attack, over TCP, TLS or a Unix socket."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

from tests.support.protocol.mysql_servers import result
from tests.support.protocol.packets import CAPABILITIES, OK, SALT, framed, greeting, read_packet

PLAIN, TLS, SOCKET = "plain", "TLS", "Unix socket"
TRANSPORTS = (PLAIN, TLS, SOCKET)
_OFFERS_TLS = 0x800
_SSL_REQUEST = 32
"""The size of the packet that asks for TLS; a login is larger."""
_QUERY = 3
_CHUNK = bytes(1 << 16)

NATIVE, CACHING, SHA256 = b"mysql_native_password", b"caching_sha2_password", b"sha256_password"
METHODS = (
    NATIVE, CACHING, SHA256, b"mysql_clear_password", b"dialog", b"mysql_old_password",
    b"client_ed25519", b"auth_gssapi_client", b"", b"x" * 300,
)  # fmt: skip
WANTS_PASSWORD = b"\x01\x04"
KEY = b"\x01-----BEGIN PUBLIC KEY-----\nof whoever stands between\n-----END PUBLIC KEY-----\n"


def switch(method: bytes) -> bytes:
    """Return the packet that asks for another login method."""
    return b"\xfe" + method + b"\0" + SALT + b"\0"


@dataclass
class Peer:
    """The other end of one connection. `heard`: what each packet of the client held."""

    socket: socket.socket
    tls: ssl.SSLContext | None = None
    heard: list[bytes] = field(default_factory=list)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> int:
        """Read a packet and return its number."""
        number, data = read_packet(self.socket)
        self.heard.append(data)
        return number

    def greet(self, method: bytes = NATIVE, version: bytes = b"8.0.36") -> int:
        """Greet, begin TLS if asked for it, and read the login; return the number of its packet."""
        offers = CAPABILITIES | (_OFFERS_TLS if self.tls else 0)
        self.send(greeting(version, method=method, capabilities=offers))
        number = self.receive()
        if self.tls and len(self.heard[-1]) == _SSL_REQUEST:
            self.socket = self.tls.wrap_socket(self.socket, server_side=True)
            number = self.receive()
        return number

    def log_in(self, **greets: bytes) -> None:
        """Let the client in, and let it set its character set."""
        self.send(framed(self.greet(**greets) + 1, OK))
        self.receive()
        self.send(framed(1, OK))

    def demand(self, number: int, *packets: bytes) -> None:
        """Send packets, one after each of the client's, and hear what it still says."""
        for packet in packets:
            self.send(framed(number + 1, packet))
            number = self.receive()
        while True:
            self.receive()


Attack = Callable[[Peer], None]


def _greets_with(method: bytes, peer: Peer) -> None:
    peer.demand(peer.greet(method), WANTS_PASSWORD, KEY, WANTS_PASSWORD)


def _switches_to(method: bytes, peer: Peer) -> None:
    peer.demand(peer.greet(), switch(method), WANTS_PASSWORD, KEY)


def _switches_without_nonce(peer: Peer) -> None:
    peer.demand(peer.greet(), b"\xfe" + CACHING + b"\0", WANTS_PASSWORD)


def _asks_in_a_dialog(peer: Peer) -> None:
    peer.demand(peer.greet(), b"\xfedialog\0\x02Password: ", b"\x03Password: ")


def _endless_greeting(peer: Peer) -> None:
    while True:
        peer.send(b"\xff\xff\xff\0" + _CHUNK * 256)


def _switches_for_ever(peer: Peer) -> None:
    number = peer.greet()
    while True:
        peer.send(framed((number + 1) % 256, switch(CACHING)))
        number = peer.receive()


def _drips(data: bytes, peer: Peer) -> None:
    for byte in data:
        peer.send(bytes([byte]))
        time.sleep(0.25)


def _dripping_greeting(peer: Peer) -> None:
    _drips(greeting() * 9, peer)


def _cut_greeting(peer: Peer) -> None:
    peer.send(greeting()[:20])


def _no_greeting(peer: Peer) -> None:
    peer.receive()


_ROWS = result([b"a"], [[b"1"]])


def _answers(attack: Attack, peer: Peer) -> None:
    """Let the client in, and attack with the answer to its first statement."""
    peer.log_in()
    peer.receive()
    attack(peer)


def _endless_rows(size: int, peer: Peer) -> None:
    peer.send(_ROWS[:-9])
    number = _ROWS[-6]
    while True:
        rows = bytearray()
        for _ in range(4096):
            rows += framed(number, bytes([size]) + b"1" * size)
            number = (number + 1) % 256
        peer.send(bytes(rows))


def _endless_packet(peer: Peer) -> None:
    number = 1
    while True:
        peer.send(b"\xff\xff\xff" + bytes([number]))
        for _ in range(0xFFFFFF // len(_CHUNK)):
            peer.send(_CHUNK)
        peer.send(_CHUNK[: 0xFFFFFF % len(_CHUNK)])
        number = (number + 1) % 256


def _cut_answer(peer: Peer) -> None:
    peer.send(_ROWS[: len(_ROWS) // 2])


def _wrong_columns(peer: Peer) -> None:
    peer.send(framed(1, b"\x05") + _ROWS[5:])


def _null_in_ok(peer: Peer) -> None:
    """NULL as the number of changed rows."""
    peer.send(framed(1, b"\0\xfb\0\2\0\0\0"))


def _null_in_column(peer: Peer) -> None:
    """NULL as the names of a column."""
    peer.send(framed(1, b"\1") + framed(2, b"\xfb" * 6 + bytes(13)) + _ROWS[-9:])


def _endless_columns(peer: Peer) -> None:
    peer.send(framed(1, b"\xfe" + (1 << 40).to_bytes(8, "little")))
    column = b"\3def" + bytes(3) + b"\1a\0" + b"\x0c\x21\0" + bytes(4) + b"\xfd" + bytes(5)
    number = 2
    while True:
        sent = bytearray()
        for _ in range(4096):
            sent += framed(number, column)
            number = (number + 1) % 256
        peer.send(bytes(sent))


def _no_protocol(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def _local_infile(peer: Peer) -> None:
    peer.send(framed(1, b"\xfb/etc/passwd"))
    while True:
        peer.receive()


def _claims(version: bytes, peer: Peer) -> None:
    peer.log_in()
    while True:
        peer.receive()
        peer.send(result([b"@@version"], [[version]]))


MODES: dict[str, Attack] = {
    **{f"greets with {m[:30].decode() or 'no method'}": partial(_greets_with, m) for m in METHODS},
    **{f"switches to {m[:30].decode() or 'no method'}": partial(_switches_to, m) for m in METHODS},
    "switches without a nonce": _switches_without_nonce,
    "asks in a dialog": _asks_in_a_dialog,
    "switches for ever": _switches_for_ever,
    "endless greeting": _endless_greeting,
    "dripping greeting": _dripping_greeting,
    "cut greeting": _cut_greeting,
    "no greeting": _no_greeting,
    "endless rows": partial(_answers, partial(_endless_rows, 200)),
    "endless packet": partial(_answers, _endless_packet),
    "dripping answer": partial(_answers, partial(_drips, _ROWS)),
    "cut answer": partial(_answers, _cut_answer),
    "wrong columns": partial(_answers, _wrong_columns),
    "NULL in OK": partial(_answers, _null_in_ok),
    "NULL in a column": partial(_answers, _null_in_column),
    "endless columns": partial(_answers, _endless_columns),
    "no protocol": partial(_answers, _no_protocol),
    "local infile": partial(_answers, _local_infile),
    "claims to be MySQL": partial(_claims, b"8.0.36"),
    "claims a version of the future": partial(_claims, b"99.9.9"),
    "claims a version that moves the cursor": partial(_claims, b"2.7.1\x1b[2J\x1b[31m"),
    "claims a huge version": partial(_claims, b"9" * 100_000),
}
SLOW = {"endless small rows": partial(_answers, partial(_endless_rows, 1))}
"""Attacks that take their time, which is ours: we read the rows."""
ENDLESS = ("endless greeting", "endless columns", "endless rows", "endless packet", *SLOW)


class HostileServer:
    """Attacks every client in this mode. Use as a context manager.

    `heard`: the packets of all clients, from inside TLS. `port` is 0 and `path` set for a socket.
    """

    def __init__(self, mode: str, transport: str, folder: Path, host: str = "127.0.0.1") -> None:
        self._attack = {**MODES, **SLOW}[mode]
        self._tls = server_context(folder) if transport == TLS else None
        self.path = str(folder / "hostile.sock") if transport == SOCKET else None
        if self.path:
            Path(self.path).unlink(missing_ok=True)
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(self.path)
            self._listener.listen()
        else:
            self._listener = socket.create_server((host, 0))
        self.offers_tls = transport == TLS
        self.host = host
        self.port = 0 if self.path else int(self._listener.getsockname()[1])
        self._peers: list[Peer] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        for peer in self._peers:
            with suppress(OSError):
                peer.socket.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    @property
    def was_reached(self) -> bool:
        """Whether any client has connected."""
        return bool(self._peers)

    @property
    def heard(self) -> list[bytes]:
        """What each packet of each client held, in order."""
        return [packet for peer in self._peers for packet in peer.heard]

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            peer = Peer(accepted, self._tls)
            self._peers.append(peer)
            thread = threading.Thread(target=self._serve, args=(peer,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, peer: Peer) -> None:
        with suppress(OSError, EOFError):
            self._attack(peer)
        peer.socket.close()


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def certificates(folder: Path, name: str) -> tuple[Path, Path, Path]:
    """Return a new CA, a certificate of it for a host, and its key."""
    authority, key, request = (folder / f"{name}-{part}.pem" for part in ("ca", "key", "csr"))
    authority_key, certificate = folder / f"{name}-ca-key.pem", folder / f"{name}-cert.pem"
    new = ("req", "-newkey", "rsa:2048", "-nodes")
    _openssl(
        *new, "-x509", "-days", "2", "-subj", f"/CN=CA of {name}",
        "-keyout", str(authority_key), "-out", str(authority),
    )  # fmt: skip
    _openssl(
        *new, "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
        "-keyout", str(key), "-out", str(request),
    )  # fmt: skip
    _openssl(
        "x509", "-req", "-days", "2", "-CA", str(authority), "-CAkey", str(authority_key),
        "-CAcreateserial", "-copy_extensions", "copy", "-in", str(request),
        "-out", str(certificate),
    )  # fmt: skip
    return authority, certificate, key


NAME = "hostile.example.com"


def server_key(folder: Path) -> Path:
    """Return the file of the server's private key; `NAME-ca.pem` in the folder is its CA."""
    key = folder / f"{NAME}-key.pem"
    if not key.exists():
        certificates(folder, NAME)
    return key


def server_context(folder: Path) -> ssl.SSLContext:
    """Return the TLS context of a server."""
    key, certificate = server_key(folder), folder / f"{NAME}-cert.pem"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
