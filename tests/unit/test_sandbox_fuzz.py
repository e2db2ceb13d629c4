"""Whatever a client sends, the sandbox stays up, answers the others, and keeps quiet on stderr."""

from __future__ import annotations

import logging
import random
import socket
import struct
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from proxyctl.sandbox import Sandbox
from tests.support.packets import CAPABILITIES, framed
from tests.support.raw_client import RawClient
from tests.support.servers import Instance

pytestmark = pytest.mark.sweep

SEEDS = range(40)
RESET = struct.pack("ii", 1, 0)
"""The socket option by which a close becomes a reset."""


@pytest.fixture
def watched(
    sandbox: Sandbox, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[Sandbox]:
    """A sandbox that is asked at the end whether it still answers and kept quiet."""
    with caplog.at_level(logging.WARNING):
        yield sandbox
        other = Instance(sandbox.host, sandbox.port)
        assert other.query("SELECT 1") == [("1",)]
        other.close()
        sandbox.stop()
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def noise(source: random.Random, size: int) -> bytes:
    return source.randbytes(source.randrange(size))


def login_packet(source: random.Random) -> bytes:
    """Return something like a login, cut off or changed somewhere."""
    names = source.choice((b"admin\0", b"admin", b"", b"\xff\xfe\0", b"x" * 5000 + b"\0"))
    length = bytes([source.choice((0, 20, 32, 255))])
    tail = source.choice((b"", b"mysql_native_password\0", b"caching_sha2_password\0", b"x" * 9))
    flags = source.choice((CAPABILITIES, CAPABILITIES | 0x8, 0, 2**32 - 1, source.getrandbits(32)))
    whole = flags.to_bytes(4, "little") + bytes(28) + names + length + noise(source, 40) + tail
    return whole[: source.randrange(len(whole) + 1)]


def command(source: random.Random) -> bytes:
    code = bytes([source.choice((3, 3, 3, 2, 4, 14, 22, 23, 31, source.randrange(256)))])
    texts = (b"SELECT 1", b"SHOW TABLES", b"\xff\xfe", b"SELECT '\0'", b";", b"(" * 3000, b"'", b"")
    return code + source.choice((*texts, noise(source, 300)))


def framing(source: random.Random, packet: bytes) -> bytes:
    """Return a packet as it should go over the wire, or with a wrong header."""
    number = source.choice((0, 0, 0, 1, source.randrange(256)))
    whole = framed(number, packet)
    match source.randrange(8):
        case 0:
            return whole[: source.randrange(len(whole) + 1)]
        case 1:
            return source.randbytes(3) + whole[3:]
        case 2:
            return b"\xff\xff\xff\0" + packet
        case 3:
            return noise(source, 64)
        case _:
            return whole


def leave(source: random.Random, connection: socket.socket) -> None:
    if source.random() < 0.3:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    elif source.random() < 0.3:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_before_the_login(watched: Sandbox, seed: int) -> None:
    source = random.Random(seed)
    for _ in range(10):
        with closing(socket.create_connection((watched.host, watched.port))) as connection:
            if source.random() < 0.5:
                connection.recv(200)
            with suppress(ConnectionError):
                connection.sendall(framing(source, login_packet(source)))
                leave(source, connection)


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_after_the_login(watched: Sandbox, seed: int) -> None:
    source = random.Random(seed)
    for _ in range(5):
        with RawClient(watched.host, watched.port) as client:
            client.login()
            with suppress(ConnectionError):
                for _ in range(source.randrange(1, 6)):
                    client.socket.sendall(framing(source, command(source)))
                leave(source, client.socket)


def test_a_client_that_does_not_read_its_answer(watched: Sandbox) -> None:
    query = b"\x03WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<200000)"
    for _ in range(3):
        with RawClient(watched.host, watched.port) as client:
            client.login()
            client.send(query + b" SELECT i, 'text' FROM n")


def test_a_name_without_an_end_keeps_nobody_waiting(watched: Sandbox) -> None:
    with RawClient(watched.host, watched.port) as client:
        client.socket.sendall(
            framed(1, CAPABILITIES.to_bytes(4, "little") + bytes(28) + b"x" * 9000)
        )
        assert client.answers(1) == []


def test_many_connections_that_say_nothing(watched: Sandbox) -> None:
    silent = [socket.create_connection((watched.host, watched.port)) for _ in range(100)]
    assert Instance(watched.host, watched.port).query("SELECT 2") == [("2",)]
    for connection in silent:
        connection.close()


def test_more_than_16_megabytes_are_read_and_refused(watched: Sandbox) -> None:
    text = b"\x03SELECT '" + b"x" * 40_000_000 + b"'"
    size = 0xFFFFFF
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    with RawClient(watched.host, watched.port, timeout=60) as client:
        client.login()
        client.socket.sendall(b"".join(framed(n, piece) for n, piece in enumerate(pieces)))
        number, answer = client.read()
        assert number == len(pieces)
        assert b"above 16 MB" in answer
        client.send(b"\x0e")
        assert client.read()[1][:1] == b"\0"


def test_a_fault_of_ours_is_answered(watched: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_sql: str) -> None:
        raise RuntimeError("oh")

    monkeypatch.setattr(watched.options, "before_statement", fail)
    with RawClient(watched.host, watched.port) as client:
        client.login()
        client.send(b"\x03SELECT 1")
        assert b"which is a bug in proxyctl: RuntimeError: oh" in client.read()[1]
    monkeypatch.undo()
