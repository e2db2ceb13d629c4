"""A server behind ProxySQL that answers as no MySQL does: that is said of it, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from proxyctl.admin.backend import Account, BackendRefusedError, backend
from proxyctl.admin.backend_users import read_backend_users
from proxyctl.admin.backends import ask_nodes
from proxyctl.admin.pxc_maint_mode import MaintMode, read_maint_mode, set_maint_mode
from proxyctl.errors import InstanceError
from proxyctl.families import Node
from proxyctl.nodes.discovery import members_in
from proxyctl.nodes.model import Said
from tests.support.answering_server import (
    GREETING,
    OK,
    Answer,
    AnsweringServer,
    error,
    packets,
    result,
)

ACCOUNT = Account("monitor", "secret")
DONE = packets([OK])
VERSION = result([b"a", b"b"], [[b"version", b"8.0.36"]])


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with AnsweringServer(None, lambda _: DONE) as served:
        yield served


def node(server: AnsweringServer) -> Node:
    return ("127.0.0.1", server.port)


def said(server: AnsweringServer) -> Said:
    return ask_nodes([node(server)], ACCOUNT)[node(server)]


def answers(server: AnsweringServer, then: dict[str, Answer]) -> None:
    """Answer statements that have one of these texts in them with this."""
    server.answer = lambda sql: next((a for text, a in then.items() if text.encode() in sql), DONE)


def typed(kind: int, cell: bytes) -> Answer:
    """Return an answer whose second column is said to be of this type."""
    text = result([b"a", b"b"], [[b"version", cell]])
    first, last = text.split(b"\x01b\0")
    return first + b"\x01b\0" + last.replace(b"\xfd", bytes([kind]), 1)


DECIMAL, LONG, JSON, BIT, TIME = 0xF6, 0x03, 0xF5, 0x10, 0x0B


def test_what_is_right_is_told(server: AnsweringServer) -> None:
    answers(server, {"VARIABLES": VERSION})
    assert (said(server).version, said(server).unreachable) == ("8.0.36", None)


NOBODY = Account("", "secret")


def test_without_a_monitor_user_nobody_logs_in(server: AnsweringServer) -> None:
    """A driver would log in as the user of this machine instead."""
    answers(server, {"VARIABLES": VERSION})
    reason = "there is no monitor user to log in as: mysql-monitor_username is empty"
    assert ask_nodes([node(server)], NOBODY)[node(server)] == Said(unreachable=reason)
    with pytest.raises(InstanceError) as raised:
        read_maint_mode(node(server), NOBODY)
    assert raised.value.message == f"127.0.0.1:{server.port}: {reason}"
    assert raised.value.hint == "--backend-user names another account"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (packets([b"\xfb/etc/passwd"]), "does not speak the MySQL protocol"),
        (packets([b""]), "does not speak the MySQL protocol"),
        (packets([b"\x01", b"\x03de"]), "does not speak the MySQL protocol"),
        (result([b"a"], [[b"version"]]), "it answers as no MySQL server does"),
        (result([b"a"] * 3, [[b"version", b"8.0", None]]), "it answers as no MySQL server does"),
        (error(1227, b""), "OperationalError"),
        (error(1227, b"\n\r\n "), "OperationalError"),
        (error(1227, b"\nno"), "no"),
        (b"", "Lost connection"),
    ],
)
def test_why_a_node_did_not_answer(server: AnsweringServer, answer: Answer, reason: str) -> None:
    answers(server, {"SHOW": answer})
    assert reason in (said(server).unreachable or "")


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "Packet sequence number wrong"),
        (packets([b""], first=0), "does not speak the MySQL protocol"),
        (GREETING[:40], "Lost connection"),
        (GREETING.replace(b"5.7.30", b"MariaD"), "does not speak the MySQL protocol"),
        (packets([b"\xff\x15\x04#28000\n"], first=0), "OperationalError"),
    ],
)
def test_why_nobody_was_let_in(server: AnsweringServer, greeting: bytes, reason: str) -> None:
    server.greeting, server.answer = greeting, None
    assert reason in (said(server).unreachable or "")


@pytest.mark.parametrize("kind", [DECIMAL, LONG, JSON, BIT, TIME, 0xFF])
def test_a_value_is_text_whatever_its_column_is_said_to_be(
    server: AnsweringServer, kind: int
) -> None:
    answers(server, {"VARIABLES": typed(kind, b"x\xe9")})
    assert said(server).version == "x\udce9"


def test_null_is_no_value(server: AnsweringServer) -> None:
    cells = [[b"version", None], [None, b"x"], [b"read_only", b"ON"]]
    answers(server, {"VARIABLES": result([b"a", b"b"], cells)})
    assert (said(server).version, said(server).variables) == ("", {"read_only": "ON"})


def test_an_answer_without_an_end_is_left(server: AnsweringServer) -> None:
    """Whoever held it all would need as much memory as the server likes."""
    rows = result([b"a", b"b"], [[b"wsrep_node_name", b"x" * 60_000]] * 100)
    answers(server, {"VARIABLES": rows})
    assert "its answer does not end" in (said(server).unreachable or "")


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        (("127.0.0.1", 65536), "65536 is no port"),
        (("127.0.0.1", 99999), "99999 is no port"),
        (("127.0.0.1", -1), "-1 is no port"),
        (("a" * 64, 3306), "not a host name"),
        (("a\0b", 3306), "not a host name"),
        (("a..b", 3306), "not a host name"),
    ],
)
def test_a_place_where_no_server_can_be(where: Node, reason: str) -> None:
    assert ask_nodes([where], ACCOUNT)[where].unreachable == reason


def test_an_account_whose_bytes_are_no_text(server: AnsweringServer) -> None:
    """ProxySQL may hold such a password for its monitor."""
    with backend(node(server), Account("m\udce9", "\udce9")) as connection:
        assert connection.query("SELECT 1") == []


@pytest.mark.parametrize("port", ["9" * 5000, "99999", "\u0663", "123456"])
def test_a_member_with_a_strange_port_can_be_asked(port: str) -> None:
    (member,) = members_in(f"127.0.0.1:{port}")
    assert ask_nodes([member], ACCOUNT)[member].unreachable is not None


# -- pxc_maint_mode --------------------------------------------------------------------------------

PERIOD = "pxc_maint_transition_period"


@pytest.mark.parametrize("period", [b"9" * 400, b"9" * 10, b"inf", b"-1", b"1e9", b"\xd9\xa3", b""])
def test_a_period_that_is_none_is_an_error(server: AnsweringServer, period: bytes) -> None:
    answers(server, {PERIOD: result([b"a", b"b"], [[PERIOD.encode(), period]])})
    with pytest.raises(InstanceError, match="as no MySQL server does: a pxc_maint_transition"):
        read_maint_mode(node(server), ACCOUNT)


def test_a_mode_that_is_null_is_none(server: AnsweringServer) -> None:
    answers(server, {PERIOD: result([b"a", b"b"], [[b"pxc_maint_mode", None], [None, b"x"]])})
    assert read_maint_mode(node(server), ACCOUNT) == MaintMode(None, "")


def test_the_longest_period_can_be_waited_for(server: AnsweringServer) -> None:
    known = [[PERIOD.encode(), b"4294967295"], [b"pxc_maint_mode", b"MAINTENANCE"]]
    answers(server, {"SHOW": result([b"a", b"b"], known)})
    found = read_maint_mode(node(server), ACCOUNT)
    set_maint_mode(node(server), ACCOUNT, "MAINTENANCE", found)


# -- mysql.user ------------------------------------------------------------------------------------

COLUMNS = result(
    [b"a"] * 6,
    [[name, b"x", b"", b"", None, b""] for name in (b"User", b"authentication_string")],
)


@pytest.mark.parametrize(
    "then",
    [
        {"SHOW COLUMNS": result([b"a"] * 5, [[b"authentication_string"] * 5])},
        {"SELECT User": result([b"a"], [[b"app"]])},
        {"SELECT User": result([b"a"] * 6, [[b"app", b"%", b"", b"xyz", b"N", b"N"]])},
        {
            "'global_grants'": result([b"a"], [[b"global_grants"]]),
            "FROM mysql.global_grants": result([b"a"], [[b"app"]]),
        },
        {
            "'global_priv'": result([b"a"], [[b"global_priv"]]),
            "FROM mysql.global_priv": result([b"a"], [[b"app"]]),
        },
    ],
)
def test_accounts_that_no_server_has(server: AnsweringServer, then: dict[str, Answer]) -> None:
    answers(server, {**then, "SHOW COLUMNS": then.get("SHOW COLUMNS", COLUMNS)})
    with pytest.raises(InstanceError, match="it answers as no MySQL server does"):
        read_backend_users(node(server), ACCOUNT)


def test_null_in_an_account_is_nothing(server: AnsweringServer) -> None:
    answers(server, {"SHOW COLUMNS": COLUMNS, "SELECT User": result([b"a"] * 6, [[None] * 6])})
    (found,) = read_backend_users(node(server), ACCOUNT)
    assert (found.user, found.host, found.plugin, found.password) == ("", "", "", "")


Ask = Callable[[Node, Account], object]


@pytest.mark.parametrize("ask", [read_maint_mode, read_backend_users])
def test_the_server_is_named(server: AnsweringServer, ask: Ask) -> None:
    answers(server, {"SHOW": packets([b""])})
    with pytest.raises(InstanceError, match=rf"^127.0.0.1:{server.port}: it does not speak"):
        ask(node(server), ACCOUNT)


def test_what_is_refused_is_no_lost_connection(server: AnsweringServer) -> None:
    answers(server, {"SELECT": result([b"a"], [[b"1"]])})
    with (
        backend(node(server), ACCOUNT) as connection,
        pytest.raises(BackendRefusedError, match="rows that are not of 2 columns"),
    ):
        connection.query("SELECT 1", width=2)
