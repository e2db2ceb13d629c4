"""Servers that do not answer, or answer as something other than a supported ProxySQL."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Callable

import pytest

from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.read import END
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import FILES, ended, plan
from tests.support.protocol.mysql_servers import AnsweringServer, TcpServer, error, packets, result
from tests.support.protocol.packets import OK
from tests.support.servers.instances import Instance


def answers(version: bytes, tables: list[list[bytes]]) -> AnsweringServer:
    """Return an answer function of an admin interface with this version and these columns."""

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
            ended(found, 1, "ProxySQL 2.3.2 is older than 2.4.0, the oldest release that proxyctl")
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
            ended(found, 1, f"there is no {missing}: the tables are not those of a ProxySQL 2.7.1")


@pytest.mark.parametrize("code", [errno.EHOSTUNREACH, errno.ENETUNREACH])
def test_no_network_leads_there(
    offline: Project, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object, **__: object) -> socket.socket:
        raise OSError(code, os.strerror(code))

    offline.write(FILES)
    monkeypatch.setattr(socket, "create_connection", unreachable)
    found = plan("--host", "192.0.2.1")
    ended(found, 1, "cannot connect to 192.0.2.1:6032: no route to it from this machine", "routes")


def test_a_port_that_says_nothing() -> None:
    with TcpServer(lambda client: client.recv(1)) as server:
        login = Login(port=server.port, connect_timeout_s=1, read_timeout_s=60)
        with pytest.raises(
            InstanceError, match=r"cannot connect to .*: no answer within 1 s"
        ) as it:
            AdminClient(login)
    assert "has locked the file" in str(it.value.fix)
    assert "firewall" not in str(it.value.fix)


def resets(client: socket.socket) -> None:
    """Close the connection with RST, as a host does that does not know it."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


CLOSED = "the connection was closed before ProxySQL answered"
NO_PROXYSQL: dict[str, tuple[Callable[[socket.socket], None], str]] = {
    "resets": (resets, CLOSED),
    "ends": (lambda _client: None, CLOSED),
    "SSH": (lambda client: client.sendall(b"SSH-2.0-OpenSSH_9.6\r\n"), "cannot connect to"),
    "HTTP": (lambda client: client.sendall(b"HTTP/1.1 400 Bad\r\n\r\n"), "cannot connect to"),
}


@pytest.mark.parametrize(("serve", "reason"), NO_PROXYSQL.values(), ids=NO_PROXYSQL)
def test_a_port_that_is_no_proxysql(
    offline: Project, serve: Callable[[socket.socket], None], reason: str
) -> None:
    offline.write(FILES)
    with TcpServer(serve) as server:
        found = plan("--port", str(server.port))
    ended(found, 1, reason, f"127.0.0.1:{server.port}", "and its admin port")
    assert "Errno" not in found.err
    assert "Lost connection" not in found.err


def test_a_mysql_server_is_no_proxysql(offline: Project) -> None:
    """Nor is ProxySQL's port for applications an admin interface."""

    def answer(sql: bytes) -> bytes:
        if b"@@version" in sql:
            return result([b"@@version"], [[b"8.0.36"]])
        if b"DATABASE()" in sql:
            return result([b"DATABASE()"], [[None]])
        if sql.startswith(b"SET"):
            return packets([OK])
        return error(1146, b"Table 'sqlite_master' doesn't exist")

    offline.write(FILES)
    offline.monkeypatch.setenv("PROXYCTL_PASSWORD", "app")
    with AnsweringServer(answer, checks_logins=True) as server:
        found, refused = (plan("--port", str(server.port), "-u", name) for name in ("app", "admin"))
    ended(found, 1, "does not answer as ProxySQL does", "8.0.36", "6032")
    ended(refused, 1, "access denied", "a MySQL server answered, not ProxySQL")


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
    ended(proxyctl("export", "--defaults-file", "my.cnf"), 1, "/nowhere.sock")
