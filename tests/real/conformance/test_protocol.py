"""The wire protocol, packet by packet, as a real ProxySQL answers."""

from __future__ import annotations

import re

import pytest

from tests.support.protocol.packets import CAPABILITIES, PLUGIN_AUTH, Packet, framed
from tests.support.protocol.raw_client import NATIVE, SHA2, Proof, RawClient, clear, native, sha2
from tests.support.servers.instances import Instance

OK = b"\0\0\0\x02\x02\0\0"
EOF = b"\xfe\0\0\x02\x02"
SEVEN = b"\x03SELECT 7"
SEVEN_ANSWERED: list[Packet] = [
    (1, b"\x01"),
    (2, b"\x03def\0\0\0\x017\0\x0c\x21\0\x0f\0\0\0\xfd\x01\0\x1f\0\0"),
    (3, EOF),
    (4, b"\x017"),
    (5, EOF),
]


def error(code: int, message: str) -> bytes:
    return b"\xff" + code.to_bytes(2, "little") + b"#28000" + message.encode()


def logged_in(instance: Instance, user: str = "admin") -> RawClient:
    client = RawClient(instance.host, instance.port)
    assert client.login(user, user) == [(2, OK)]
    return client


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        pytest.param(b"\x02main", OK, id="COM_INIT_DB"),
        pytest.param(b"\x02", OK, id="COM_INIT_DB without a name"),
        pytest.param(
            b"\x04mysql_servers\0%", error(1045, "Command not supported"), id="COM_FIELD_LIST"
        ),
        pytest.param(b"\x0e", OK, id="COM_PING"),
    ],
)
def test_a_command_after_which_the_connection_goes_on(
    instance: Instance, command: bytes, answer: bytes
) -> None:
    with logged_in(instance) as client:
        client.send(command)
        assert client.read() == (1, answer)
        client.send(SEVEN)
        assert client.answers(5) == SEVEN_ANSWERED


def test_a_query_without_text(instance: Instance) -> None:
    words = "not an error" if instance.version < (3, 0, 0) else "Empty query"
    with logged_in(instance) as client:
        client.send(b"\x03")
        assert client.read() == (1, error(1045, f"ProxySQL Admin Error: {words}"))
        client.send(SEVEN)
        assert client.answers(5) == SEVEN_ANSWERED


@pytest.mark.parametrize("command", [b"\x0c\1\0\0\0", b"\x11x\0\0\0", b"\x16SELECT 1", b"\x1b\0\0"])
def test_a_command_that_the_sandbox_refuses(sandbox_instance: Instance, command: bytes) -> None:
    with logged_in(sandbox_instance) as client:
        client.send(command)
        assert b"The sandbox does not model COM_" in client.read()[1]
        client.send(SEVEN)
        assert client.answers(5) == SEVEN_ANSWERED


@pytest.mark.parametrize(
    "command",
    [bytes([code]) for code in (0, 1, 5, 6, 7, 8, 10, 11, 13, 15, 19, 28, 29, 32, 48, 255)],
    ids=lambda command: command.hex(),
)
def test_a_command_that_ends_the_connection_silently(instance: Instance, command: bytes) -> None:
    with logged_in(instance) as client:
        client.send(command)
        assert client.answers(1) == []


def test_statistics_in_one_line(instance: Instance) -> None:
    with logged_in(instance) as client:
        client.send(b"\x09")
        number, text = client.read()
    assert number == 1
    assert re.fullmatch(rb"Uptime: \d+ Threads: 0  Questions: 0  Slow queries: 0", text)


@pytest.mark.parametrize("number", [1, 5, 255])
def test_the_number_of_a_command_does_not_matter(instance: Instance, number: int) -> None:
    with logged_in(instance) as client:
        client.socket.sendall(framed(number, SEVEN))
        assert client.answers(5) == SEVEN_ANSWERED


def test_commands_may_come_together_or_byte_by_byte(instance: Instance) -> None:
    with logged_in(instance) as client:
        client.send(b"\x0e", SEVEN, b"\x02x")
        assert client.answers(7) == [(1, OK), *SEVEN_ANSWERED, (1, OK)]
        for byte in framed(0, SEVEN):
            client.socket.sendall(bytes([byte]))
        assert client.answers(5) == SEVEN_ANSWERED


# --- logins -------------------------------------------------------------------------------------


def denied(user: str, *, used: str = "YES") -> bytes:
    return error(
        1045,
        f"ProxySQL Error: Access denied for user '{user}'@'127.0.0.1' (using password: {used})",
    )


@pytest.mark.parametrize(
    ("user", "password", "answer"),
    [
        ("admin", "admin", OK),
        ("admin", "wrong", denied("admin")),
        ("admin", "", denied("admin", used="NO")),
        ("nobody", "x", denied("nobody")),
        ("", "x", denied("")),
        ("", "", denied("", used="NO")),
        ("é☃", "x", denied("é☃")),
        ("x" * 300, "x", denied("x" * 300)),
    ],
)
def test_a_login(instance: Instance, user: str, password: str, answer: bytes) -> None:
    with RawClient(instance.host, instance.port) as client:
        assert client.login(user, password) == [(2, answer)]


@pytest.mark.parametrize("password", ["admin", "wrong", ""])
@pytest.mark.parametrize(("plugin", "proof"), [(SHA2, sha2), ("dialog", clear), ("", native)])
def test_another_plugin_is_asked_to_change(
    instance: Instance, plugin: str, proof: Proof, password: str
) -> None:
    with RawClient(instance.host, instance.port) as client:
        answers = client.login("admin", password, plugin=plugin, proof=proof, second=_second)
        switch = b"\xfe" + NATIVE.encode() + b"\0" + client.nonce + b"\0"
    right = OK if password == "admin" else denied("admin", used="YES" if password else "NO")
    assert answers == [(2, switch), (4, right)]


def _second(password: bytes, nonce: bytes) -> bytes:
    return native(password, nonce) if password else b""


def test_a_client_that_names_no_plugin(instance: Instance) -> None:
    with RawClient(instance.host, instance.port) as client:
        assert client.login(capabilities=CAPABILITIES & ~PLUGIN_AUTH) == [(2, OK)]


@pytest.mark.parametrize(
    "packet",
    [
        b"\x05\x82",
        b"\x05\x80\xff\xff\xffadmin\0",
        CAPABILITIES.to_bytes(4, "little") + bytes(28) + b"admin",
    ],
    ids=["short", "an old protocol", "a name without an end"],
)
def test_an_invalid_login_ends_the_connection(instance: Instance, packet: bytes) -> None:
    with RawClient(instance.host, instance.port) as client:
        client.socket.sendall(framed(1, packet))
        assert client.answers(1) == []


def test_connections_have_numbers(instance: Instance) -> None:
    with (
        RawClient(instance.host, instance.port) as one,
        RawClient(instance.host, instance.port) as two,
    ):
        assert 0 < one.number < two.number


def test_the_status_says_that_backslashes_are_no_escapes(instance: Instance) -> None:
    with RawClient(instance.host, instance.port) as client:
        rest = client.greeting.partition(b"\0")[2]
        assert rest[16:18] == b"\x02\0"
        assert client.login()[0][1][3:5] == b"\x02\x02"
