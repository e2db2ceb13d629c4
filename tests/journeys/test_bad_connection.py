"""The way to the instance: what does not answer, or answers as something else."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest
from mysql_mimic.errors import MysqlError

from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.read import END
from tests.journeys.story import FILES, plan, said
from tests.support.answering_server import AnsweringServer, packets, result
from tests.support.cli import Project, proxyctl
from tests.support.galera_nodes import GaleraCluster, GaleraNode
from tests.support.packets import OK
from tests.support.servers import Instance, free_port
from tests.support.tcp_server import TcpServer


def answers(version: bytes, tables: list[list[bytes]]) -> AnsweringServer:
    """Return what looks like an admin interface of this version with these columns of tables."""

    def answer(sql: bytes) -> bytes:
        if b"@@version" in sql:
            return result([b"@@version"], [[version]])
        if b"DATABASE()" in sql:
            return result([b"DATABASE()"], [[b"admin"]])
        if b"pragma_table_info" in sql:
            return result([b"1", b"2", b"3", b"4", b"5"], [*tables, [END.encode()] * 5])
        return packets([OK])

    return AnsweringServer(answer)


def test_a_proxysql_that_is_too_old(offline: Project) -> None:
    offline.write(FILES)
    with answers(b"2.3.2-10-g8cd66cf", []) as server:
        for command in ("plan", "apply", "drift", "export", "doctor"):
            found = proxyctl(command, "--port", str(server.port))
            said(found, 1, "ProxySQL 2.3.2 is older than 2.4.0, the oldest release that proxyctl")
            assert "upgrade ProxySQL" in found.err


@pytest.mark.parametrize(
    ("tables", "missing"),
    [
        ([[b"mysql_users", b"name"]], "table mysql_servers"),
        (
            [[b"mysql_servers", b"hostname"], [b"mysql_users", b"username"]],
            "column mysql_servers.hostgroup_id",
        ),
    ],
)
def test_tables_that_are_not_those_of_proxysql(
    offline: Project, tables: list[list[bytes]], missing: str
) -> None:
    offline.write(FILES)
    rows = [[*row, b"VARCHAR", b"1", b""] for row in tables]
    with answers(b"2.7.1", rows) as server:
        for command in ("plan", "export"):
            found = proxyctl(command, "--port", str(server.port))
            said(found, 1, f"there is no {missing}: the tables are not those of a ProxySQL 2.7.1")


WRONG_PLACES = {
    "a name that is no host's": (
        ("--host", "no-such-host.invalid"),
        ("connect to no-such-host.invalid:6032: no host has this name", "DNS"),
    ),
    "a text that is no name": (("--host", "x" * 70), ("not a host name",)),
    "a port that is no number": (("--defaults-file", "my.cnf"), ("port=abc is not a number",)),
    "no socket": (("--socket", "/nowhere/a.sock"), ("/nowhere/a.sock: no such socket",)),
}


@pytest.mark.parametrize(("options", "parts"), WRONG_PLACES.values(), ids=WRONG_PLACES)
def test_a_place_that_cannot_be(
    offline: Project, options: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    offline.write(FILES)
    offline.write("[client]\nport=abc\n", "my.cnf")
    said(plan(*options), 1, *parts)


@pytest.mark.parametrize("code", [errno.EHOSTUNREACH, errno.ENETUNREACH])
def test_no_network_leads_there(
    offline: Project, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object, **__: object) -> socket.socket:
        raise OSError(code, os.strerror(code))

    offline.write(FILES)
    monkeypatch.setattr(socket, "create_connection", unreachable)
    found = plan("--host", "192.0.2.1")
    said(found, 1, "cannot connect to 192.0.2.1:6032: no route to it from this machine", "routes")


def test_a_port_that_says_nothing() -> None:
    with TcpServer(lambda client: client.recv(1)) as server:
        login = Login(port=server.port, connect_timeout_s=1, read_timeout_s=60)
        with pytest.raises(
            InstanceError, match=r"cannot connect to .*: no answer within 1 s"
        ) as it:
            AdminClient(login)
    assert "has its proxysql.db locked" in str(it.value.fix)
    assert "firewall" not in str(it.value.fix)


def resets(client: socket.socket) -> None:
    """Close it as a host does that has no such connection."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("serve", [resets, lambda _client: None], ids=["resets", "ends"])
def test_a_port_that_closes_the_connection(
    offline: Project, serve: Callable[[socket.socket], None]
) -> None:
    offline.write(FILES)
    with TcpServer(serve) as server:
        found = plan("--port", str(server.port))
    said(found, 1, "the connection was closed before ProxySQL answered", "is this its admin port")
    assert "Errno" not in found.err
    assert "Lost connection" not in found.err


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 400 Bad\r\n\r\n"])
def test_a_port_that_speaks_something_else(offline: Project, answer: bytes) -> None:
    offline.write(FILES)
    with TcpServer(lambda client: client.sendall(answer)) as server:
        found = plan("--port", str(server.port))
    said(found, 1, f"cannot connect to 127.0.0.1:{server.port}", "admin port")


class MySQLNode(GaleraNode):
    """A MySQL server, or the port of a ProxySQL that applications use."""

    def answer(self, sql: str) -> tuple[list[tuple[Any, ...]], list[str]]:
        if "@@version" in sql:
            return [("8.0.36",)], ["@@version"]
        if "DATABASE()" in sql:
            return [(None,)], ["DATABASE()"]
        raise MysqlError("Table 'sqlite_master' doesn't exist", 1146)


def test_a_mysql_server_is_no_proxysql(offline: Project) -> None:
    offline.write(FILES)
    mysql = GaleraCluster(["127.0.1.9"], free_port())
    mysql.nodes["127.0.1.9"] = MySQLNode("127.0.1.9")
    offline.monkeypatch.setenv("PROXYCTL_PASSWORD", "app")
    with mysql:
        found = plan("--host", "127.0.1.9", "--port", str(mysql.port), "-u", "app")
        refused = plan("--host", "127.0.1.9", "--port", str(mysql.port), "-u", "admin")
    said(found, 1, "does not answer as ProxySQL does", "8.0.36", "6032")
    said(refused, 1, "access denied", "no ProxySQL answered, but a MySQL server")


def test_the_port_of_an_option_beats_the_socket_of_a_file(
    project: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("this is: [no yaml")
    assert proxyctl("export").code == 0, "an export needs no files"
    (project.folder / "proxyctl.yaml").unlink()
    monkeypatch.delenv("PROXYCTL_HOST")
    monkeypatch.delenv("PROXYCTL_PORT")
    project.write("[client]\nsocket=/nowhere.sock\n", "my.cnf")
    where = ["--defaults-file", "my.cnf", "--port", str(instance.port)]
    assert proxyctl("export", *where).code == 0
    said(proxyctl("export", "--defaults-file", "my.cnf"), 1, "/nowhere.sock")
