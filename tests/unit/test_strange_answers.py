"""A server that does not answer as ProxySQL does: an error that says so, never another one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.digest_size import read_digest_size, read_digest_variables
from proxyctl.admin.digest_top import read_top
from proxyctl.admin.digests import read_digests
from proxyctl.admin.export import unknown_tables
from proxyctl.admin.live import Looker
from proxyctl.admin.lock import read_holder
from proxyctl.admin.login import Login
from proxyctl.admin.read import read_layouts
from proxyctl.admin.rows_text import parse_rows
from proxyctl.admin.rule_hits import read_rule_hits
from proxyctl.admin.runtime_facts import read_facts, used_connections
from proxyctl.admin.whole_answer import END
from proxyctl.digests.top import TopOptions
from proxyctl.errors import ConnectionLostError, InstanceError
from tests.support.answering_server import GREETING, OK, AnsweringServer, Cell, packets, result
from tests.support.build import layout


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    # Not the folder of pytest: the path of a Unix socket has to be short.
    with tempfile.TemporaryDirectory() as folder, AnsweringServer(Path(folder)) as served:
        yield served


def connect(server: AnsweringServer) -> AdminClient:
    return AdminClient(Login(socket=server.path, connect_timeout_s=60))


def as_proxysql(then: bytes) -> Callable[[bytes], bytes]:
    """Return answers that let us in, and then are always the same."""
    known = {
        b"SET NAMES utf8mb4": packets([OK]),
        b"SELECT @@version": result([b"a"], [[b"2.7.1"]]),
        b"SELECT DATABASE()": result([b"a"], [[b"admin"]]),
    }
    return lambda sql: known.get(sql, then)


@pytest.mark.parametrize(
    "greeting",
    [
        b"",
        packets([b""], first=0),
        packets([b"\x0a8.0\0"], first=0),
        GREETING[:30],
        GREETING + packets([b""], first=2),
        GREETING + packets([b"\xfe\xff\xff\0" + bytes(20)], first=2),
        GREETING + packets([b"\xfeclient_ed25519\0" + bytes(32)], first=2),
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
)
def test_what_is_no_server_of_the_protocol_lets_nobody_in(
    server: AnsweringServer, greeting: bytes
) -> None:
    server.greeting = greeting
    with pytest.raises(InstanceError) as caught:
        connect(server)
    assert "not a host name" not in caught.value.message


@pytest.mark.parametrize(
    "answer",
    [packets([b""]), packets([b"\xfe"]), packets([b"\x01", b"\x03de"]), packets([b"\xfb/x"])],
)
def test_an_answer_that_is_cut_off_ends_the_connection(
    server: AnsweringServer, answer: bytes
) -> None:
    server.answer = as_proxysql(answer)
    with connect(server) as client:
        with pytest.raises(ConnectionLostError):
            client.query("SELECT 1")
        with pytest.raises(ConnectionLostError, match="closed"):
            client.query("SELECT 1")


READERS = [
    read_layouts,
    read_facts,
    read_digests,
    read_digest_variables,
    read_digest_size,
    read_holder,
    read_rule_hits,
    used_connections,
    unknown_tables,
    lambda client: read_top(client, TopOptions()),
    lambda client: Looker(client).look(1.0),
]


def test_an_instance_without_the_tables_of_every_proxysql(server: AnsweringServer) -> None:
    server.answer = as_proxysql(result([b"a"] * 5, [[END.encode()] * 5]))
    with connect(server) as client, pytest.raises(InstanceError, match="no table mysql_servers"):
        read_layouts(client)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "rows",
    [
        [[b"x"]],
        [[b"x", b"y"]],
        [[b"mysql_users"] * 5, [b"mysql_servers", b"port", b"INT", b"1", b"(1+1)"]],
        [[b"1", b"[[1]]"], [b"1", b"x"]],
        [[b"query_digest_memory", b"9" * 5000]],
        [[b"x"] * 12],
        [[b"x"] * 8],
        [],
    ],
)
def test_rows_that_were_not_asked_for_are_no_traceback(
    server: AnsweringServer, read: Callable[[AdminClient], object], rows: list[list[Cell]]
) -> None:
    server.answer = as_proxysql(result([b"a"] * len(rows[0] if rows else "a"), rows))
    with connect(server) as client, suppress(InstanceError):
        read(client)  # some rows make sense to some readers


def test_the_error_names_the_instance_the_statement_and_what_is_wrong(
    server: AnsweringServer,
) -> None:
    server.answer = as_proxysql(result([b"a"], [[b"many"]]))
    with connect(server) as client:
        with pytest.raises(InstanceError) as caught:
            client.query("SELECT hits, 'secret' FROM x", width=2)
        assert caught.value.message == (
            f"{server.path}: it answers as no ProxySQL does: rows that are not of 2 columns"
        )
        assert caught.value.then == ["  in: SELECT hits, '***' FROM x"]
        with pytest.raises(InstanceError, match="'many' instead of a number"):
            read_digest_size(client)


@pytest.mark.parametrize("text", [b"1", b"[1]", b"[[]]", b"{}", b"[1,", b"[" * 9999, b"null"])
def test_rows_in_json_have_the_columns_of_the_table(text: bytes) -> None:
    with pytest.raises(InstanceError, match="mysql_replication_hostgroups: its rows"):
        parse_rows(layout("mysql_replication_hostgroups"), [text])


def test_a_lock_of_strange_cells_is_still_a_lock(server: AnsweringServer) -> None:
    server.answer = as_proxysql(
        result([b"a"] * 8, [[b"x", None, b"-", b"", b"", b"{", b"1e9", b""]])
    )
    with connect(server) as client:
        holder = read_holder(client)
    assert holder is not None
    assert (holder.owner, holder.pid, holder.expires, holder.modules) == ("x", 0, "1e9", {})


def test_an_answer_that_is_right_is_read(server: AnsweringServer) -> None:
    server.answer = as_proxysql(result([b"a"] * 2, [[b"-7", None], [b"", b"2"]]))
    with connect(server) as client:
        rows = client.query("SELECT 1", width=2)
        assert [list(map(client.number, row)) for row in rows] == [[-7, 0], [0, 2]]
    server.answer = as_proxysql(packets([OK]))
    with connect(server) as client:
        assert client.query("DO 1", width=2) == []
