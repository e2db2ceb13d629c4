"""A SHUNNED that was loaded, by kind of hostgroup, and one that ProxySQL has set itself.

The nodes are small servers that answer the monitor and clients. Each test looks at queries, too:
what proxyctl says ProxySQL never undoes has to fail them, and an apply has to undo it.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pymysql
import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied, plan
from tests.support.protocol.mysql_servers import Answer, AnsweringServer, packets, result
from tests.support.protocol.packets import OK
from tests.support.servers.instances import Instance, ProxySQL, Record, needed_binary
from tests.support.waiting import until

pytestmark = pytest.mark.real

NODE = "127.0.0.1"
SETTINGS = {
    "mysql-monitor_ping_interval": "200",
    "mysql-monitor_ping_timeout": "200",
    "mysql-monitor_read_only_interval": "200",
    "mysql-connect_timeout_server_max": "1500",
    "mysql-connect_timeout_server": "500",
    "mysql-shun_recovery_time_sec": "1",
}


class Node(AnsweringServer):
    """A server that answers the monitor's checks of read_only, and every query with one row."""

    def __init__(self, *, read_only: bool, port: int = 0) -> None:
        super().__init__(self._reply, NODE, port)
        self.read_only = read_only
        self._open: list[socket.socket] = []

    def __exit__(self, *exc: object) -> None:
        """Stop, and end all connections, as a server does that fails."""
        super().__exit__(*exc)
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _talk(self, connection: socket.socket) -> None:
        self._open.append(connection)
        super()._talk(connection)

    def _reply(self, statement: bytes) -> Answer:
        if b"read_only" in statement.lower():
            value = b"1" if self.read_only else b"0"
            return result([b"read_only"], [[value]])
        if statement.lower().startswith(b"set "):
            return packets([OK])
        return result([b"1"], [[b"1"]])


@pytest.fixture
def proxysql(tmp_path: Path, offline: Project) -> Iterator[ProxySQL]:
    """A ProxySQL with quick checks, and a user of hostgroup 10 and one of hostgroup 20."""
    with ProxySQL(needed_binary(), tmp_path / "proxysql", monitor=True) as server:
        offline.connect(server.instance)
        for name, value in SETTINGS.items():
            server.instance.run(f"SET {name}={value}")
        server.instance.run(
            "INSERT INTO mysql_users (username, password, default_hostgroup)"
            " VALUES ('hg10', 'x', 10), ('hg20', 'x', 20)"
        )
        server.instance.load("MYSQL VARIABLES", "MYSQL USERS", saves=True)
        yield server


def asked(server: ProxySQL, hostgroup: int) -> int | None:
    """Send a query to a hostgroup; return the number of its error."""
    client = pymysql.connect(
        host=NODE, port=server.traffic_port, user=f"hg{hostgroup}", password="x", ssl_disabled=True
    )
    with closing(client), client.cursor() as cursor:
        try:
            cursor.execute("SELECT 1 FROM t")
        except pymysql.Error as error:
            return int(error.args[0])
    return None


def held(instance: Instance, layer: str = "runtime_") -> list[Record]:
    """Return hostgroup, port and status of the servers in a layer."""
    return instance.query(
        f"SELECT hostgroup_id, port, status FROM {layer}mysql_servers ORDER BY 1, 2"
    )


def stored(instance: Instance, *rows: tuple[int, int, str], saves: bool = True) -> None:
    """Load and save servers: hostgroup, port and status."""
    for hostgroup, port, status in rows:
        instance.run(
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port, status)"
            f" VALUES ({hostgroup}, '{NODE}', {port}, '{status}')"
        )
    instance.load("MYSQL SERVERS", saves=saves)


def written(*rows: tuple[int, int], more: str = "") -> str:
    """Return files with these servers as ONLINE: hostgroup and port."""
    lines = [
        f"  - {{hostgroup_id: {hostgroup}, hostname: {NODE}, port: {port}, status: ONLINE}}\n"
        for hostgroup, port in rows
    ]
    return "".join(["version: 1\n", more, "mysql_servers:\n", *lines])


FAMILY = "mysql_replication_hostgroups: [{writer_hostgroup: 10, reader_hostgroup: 20}]\n"


def make_family(instance: Instance) -> None:
    instance.run("INSERT INTO mysql_replication_hostgroups VALUES (10, 20, 'read_only', '')")


def said() -> dict[str, bool]:
    """Return which commands say that a server stays SHUNNED."""
    export = proxyctl("export")
    (listed,) = proxyctl("nodes", "list", "--no-ask", "--format", "json").json["groups"]
    places = [place for node in listed["nodes"] for place in node["runtime"]]
    return {
        "plan": plan().code == 2,
        "drift": proxyctl("drift").code == 2,
        "export": "status SHUNNED is left out" in export.err,
        "nodes list": any(place["stays_shunned"] for place in places),
        "doctor": "server-stays-shunned" in proxyctl("doctor", "--no-ask").out,
    }


ALL = dict.fromkeys(("plan", "drift", "export", "nodes list", "doctor"), True)
NONE = dict.fromkeys(ALL, False)


@pytest.mark.parametrize("monitor", ["true", "false"])
def test_in_a_plain_hostgroup(proxysql: ProxySQL, offline: Project, monitor: str) -> None:
    instance = proxysql.instance
    instance.run(f"SET mysql-monitor_enabled='{monitor}'")
    instance.load("MYSQL VARIABLES")
    with Node(read_only=False) as node:
        stored(instance, (10, node.port, "SHUNNED"))
        offline.write(written((10, node.port)))
        assert asked(proxysql, 10) == 9001
        assert said() == ALL
        restored = proxyctl("nodes", "restore", f"{NODE}:{node.port}")
        assert (restored.code, "stays SHUNNED in hostgroup 10" in restored.err) == (3, True)
        found = applied()
        assert "every layer was read back" in found.out, found.text
        assert asked(proxysql, 10) is None
        assert said() == NONE
        proxysql.restart()
        assert asked(proxysql, 10) is None


def test_the_writer_of_replication_hostgroups(proxysql: ProxySQL, offline: Project) -> None:
    instance = proxysql.instance
    with Node(read_only=False) as writer, Node(read_only=True) as reader:
        make_family(instance)
        stored(instance, (10, writer.port, "SHUNNED"), (20, reader.port, "ONLINE"))
        time.sleep(1)
        offline.write(written((10, writer.port), (20, reader.port), more=FAMILY))
        assert asked(proxysql, 10) == 9001
        assert said() == ALL
        applied()
        assert asked(proxysql, 10) is None
        assert said() == NONE


def test_a_reader_of_replication_hostgroups(proxysql: ProxySQL, offline: Project) -> None:
    instance = proxysql.instance
    with Node(read_only=False) as writer, Node(read_only=True) as reader:
        make_family(instance)
        stored(instance, (10, writer.port, "ONLINE"), (20, reader.port, "SHUNNED"))
        time.sleep(1)
        offline.write(written((10, writer.port), (20, reader.port), more=FAMILY))
        assert ("20", str(reader.port), "SHUNNED") in held(instance)
        assert said() == ALL
        before = held(instance)
        applied()
        placed = [(h, p, "ONLINE") for h, p, _ in before]
        assert held(instance) == placed
        assert said() == NONE


def test_a_reader_that_the_monitor_moves_is_repaired(proxysql: ProxySQL, offline: Project) -> None:
    """The monitor moves a read-only node out of the writer hostgroup, as ONLINE."""
    instance = proxysql.instance
    with Node(read_only=False) as writer, Node(read_only=True) as reader:
        make_family(instance)
        stored(instance, (10, writer.port, "ONLINE"), (10, reader.port, "SHUNNED"))
        until(lambda: ("20", str(reader.port), "ONLINE") in held(instance))
        offline.write(written((10, writer.port), (10, reader.port), more=FAMILY))
        found = plan()
        assert "RUNTIME is unchanged; writes MEMORY, saves DISK" in found.out, found.text
        assert "0 LOAD, 1 SAVE" in found.out
        assert not said()["doctor"]
        assert not said()["nodes list"]
        applied()
        assert said() == NONE


def test_one_of_proxysql_itself_is_no_difference(proxysql: ProxySQL, offline: Project) -> None:
    instance = proxysql.instance
    with Node(read_only=False) as node:
        port = node.port
        stored(instance, (10, port, "ONLINE"))
        offline.write(written((10, port)))
        assert asked(proxysql, 10) is None
    until(lambda: held(instance) == [("10", str(port), "SHUNNED")])
    assert said() == NONE
    restored = proxyctl("nodes", "restore", NODE)
    assert (restored.code, "is not drained: nothing to do" in restored.out) == (0, True)
    with Node(read_only=False, port=port):
        until(lambda: asked(proxysql, 10) is None)
        assert held(instance) == [("10", str(port), "ONLINE")]
        assert said() == NONE


def test_one_of_proxysql_itself_that_memory_holds_too(proxysql: ProxySQL, offline: Project) -> None:
    """Until a query undoes it, nothing tells it from a loaded one. A LOAD as ONLINE suits both.

    Afterwards MEMORY and DISK alone say SHUNNED.
    """
    instance = proxysql.instance
    with Node(read_only=False) as node:
        port = node.port
        stored(instance, (10, port, "ONLINE"))
        assert asked(proxysql, 10) is None
        offline.write(written((10, port)))
    until(lambda: held(instance) == [("10", str(port), "SHUNNED")])
    instance.run("UPDATE mysql_servers SET status='SHUNNED'")
    instance.load("MYSQL SERVERS", saves=True)
    assert said() == ALL
    with Node(read_only=False, port=port):
        until(lambda: asked(proxysql, 10) is None)
        assert held(instance) == [("10", str(port), "ONLINE")]
        assert said() == NONE | {"plan": True, "drift": True}
        found = plan()
        assert "RUNTIME is unchanged; writes MEMORY, saves DISK" in found.out, found.text
        applied()
        assert said() == NONE
        assert asked(proxysql, 10) is None
