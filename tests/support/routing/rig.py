"""A real ProxySQL between a client and recording backends, to observe queries.

`Rig.observe` loads a case and sends its queries, one session for each kind of client;
`routing_predicted` says the same with the evaluator. Both give an `Observed`, and the two have to
be equal.
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections import Counter, deque
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import pymysql

from proxyctl.catalog import Version, parse_version
from proxyctl.interchange.sql import write_script
from proxyctl.routing.special import before_rules
from proxyctl.stats.read import as_usual
from tests.support.build import layout, row
from tests.support.protocol.mysql_servers import TcpServer
from tests.support.protocol.packets import OK, framed, greeting, read_packet
from tests.support.routing.shapes import (
    ADDRESSES,
    FAST,
    HOSTGROUPS,
    RULES,
    SETTINGS,
    USERS,
    VARIABLES,
    Case,
    Client,
    Digested,
    Observed,
    Seen,
)
from tests.support.servers.instances import ProxySQL, free_port

_CAPABILITIES = 0x000F_A68D  # protocol 4.1, secure connection, plugin auth, transactions; no TLS
_COM_QUIT, _COM_QUERY, _COM_STMT_PREPARE, _COM_STMT_EXECUTE, _COM_STMT_CLOSE = 1, 3, 22, 23, 25
EXECUTED = b"(COM_STMT_EXECUTE)"
"""What stands for the text where a prepared statement was executed."""
_PREPARED = b"\0" + (1).to_bytes(4, "little") + bytes(7)
"""The answer to a prepared statement without parameters and without columns."""


class Arrival(NamedTuple):
    """A text that a backend received."""

    hostgroup: int
    text: bytes


class RecordingBackends:
    """Servers for some hostgroups, each on a port of its own."""

    def __init__(self, hostgroups: range) -> None:
        self._arrivals: deque[Arrival] = deque()
        self._stack = ExitStack()
        self._servers = {
            hostgroup: TcpServer(partial(self._serve, hostgroup)) for hostgroup in hostgroups
        }
        self.ports = {hostgroup: server.port for hostgroup, server in self._servers.items()}

    def __enter__(self) -> Self:
        for server in self._servers.values():
            self._stack.enter_context(server)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def take(self) -> list[Arrival]:
        """Return what arrived since the last call."""
        taken = []
        while self._arrivals:
            taken.append(self._arrivals.popleft())
        return taken

    def _serve(self, hostgroup: int, connection: socket.socket) -> None:
        connection.sendall(greeting(b"8.0.36", capabilities=_CAPABILITIES))
        read_packet(connection)
        connection.sendall(framed(2, OK))
        while (command := read_packet(connection)[1])[0] != _COM_QUIT:
            if command[0] == _COM_STMT_CLOSE:
                continue
            if command[0] in (_COM_QUERY, _COM_STMT_PREPARE):
                self._arrivals.append(Arrival(hostgroup, command[1:]))
            elif command[0] == _COM_STMT_EXECUTE:
                self._arrivals.append(Arrival(hostgroup, EXECUTED))
            answer = _PREPARED if command[0] == _COM_STMT_PREPARE else OK
            connection.sendall(framed(1, answer))


_CONFIG = """\
datadir="{{folder}}"
admin_variables=
{{{{
    admin_credentials="admin:admin"
    mysql_ifaces="127.0.0.1:{{port}}"
}}}}
mysql_variables=
{{{{
    threads=1
    interfaces="{interfaces}"
    monitor_enabled={{monitor}}
    connect_timeout_server_max=200
    poll_timeout=20
}}}}
"""


_UNSET = {("create_new_connection", 0), ("cache_ttl", 0)}


class Rig:
    """A ProxySQL, its backends, and the sessions of a case."""

    def __init__(self, binary: str, folder: Path) -> None:
        self._stack = ExitStack()
        self._binary = binary
        self._folder = folder
        self._ports = [free_port() for _ in ADDRESSES]
        self.started = 0
        self._with_digests = True
        self._start()

    def _start(self) -> None:
        interfaces = ";".join(
            f"{address}:{port}" for address, port in zip(ADDRESSES, self._ports, strict=True)
        )
        self.started += 1
        self.backends = self._stack.enter_context(RecordingBackends(HOSTGROUPS))
        self.server = self._stack.enter_context(
            ProxySQL(
                self._binary,
                self._folder / str(self.started),
                config=_CONFIG.format(interfaces=interfaces),
            )
        )
        for hostgroup, port in self.backends.ports.items():
            self.run(
                "INSERT INTO mysql_servers (hostgroup_id, hostname, port)"
                f" VALUES ({hostgroup}, '127.0.0.1', {port})"
            )
        for user in USERS:
            names = ", ".join(user)
            values = ", ".join(repr(value) for value in user.values())
            self.run(f"INSERT INTO mysql_users ({names}) VALUES ({values})")
        self.run("LOAD MYSQL SERVERS TO RUNTIME")
        self.run("LOAD MYSQL USERS TO RUNTIME")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def run(self, sql: str) -> None:
        """Run one statement on the admin interface."""
        self.server.instance.execute(sql)

    @property
    def version(self) -> Version:
        """The version that ProxySQL reports."""
        return parse_version(str(self.server.instance.query("SELECT @@version")[0][0]))

    @property
    def ports(self) -> list[int]:
        """The ports of ProxySQL's interfaces."""
        return self._ports

    def observe(self, case: Case) -> Observed:
        """Load a case, send its queries, and return the observation."""
        self._load(case)
        with ExitStack() as stack:
            sessions: dict[Client, Any] = {}
            for client in {sent.client: None for sent in case.queries}:
                sessions[client] = stack.enter_context(closing(self.connect(client)))
            self.forget_digests()
            self.backends.take()
            seen = [self._send(sessions[sent.client], sent.query) for sent in case.queries]
        return Observed(seen, {}, self._digests())

    def hits(self, expected: dict[int, int], timeout: float = 4) -> dict[int, int]:
        """Return the hits of the rules, once they are as expected or no longer change.

        ProxySQL sums the counters of its threads every two seconds.
        """
        deadline = time.monotonic() + timeout
        while True:
            rows = self.server.instance.query("SELECT rule_id, hits FROM stats_mysql_query_rules")
            found = {int(rule or 0): int(hits or 0) for rule, hits in rows}
            found = {rule: hits for rule, hits in found.items() if hits}
            if found == expected or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    def _load(self, case: Case) -> None:
        self._with_digests = case.variables.get("mysql-query_digests") != "false"
        for name, value in (VARIABLES | case.variables).items():
            self.run(f"SET {name}='{value}'")
        self.run("LOAD MYSQL VARIABLES TO RUNTIME")
        tables = {
            table: (layout(table), [row(table, **cells) for cells in given])
            for table, given in ((RULES, case.rules), (FAST, case.fast_routing))
        }
        for statement in write_script(tables, {}).split(";\n")[:-1]:
            self.run(statement)

    def connect(self, client: Client) -> Any:
        """Return a new session, which the caller closes."""
        return pymysql.connect(
            host=ADDRESSES[client.interface],
            port=self._ports[client.interface],
            user=client.username,
            password="",
            database=client.schemaname,
            bind_address=client.client_addr,
            autocommit=None,
            read_timeout=60,
        )

    def send(self, client: Client, *queries: str) -> dict[str, Seen]:
        """Send queries in one session, and return the result of each."""
        with closing(self.connect(client)) as session:
            self.backends.take()
            return {query: self._send(session, query.encode()) for query in queries}

    def _send(self, session: Any, query: bytes) -> Seen:
        with closing(session.cursor()) as cursor:
            answer = None
            try:
                cursor.execute(query)
                info = session._result.message or b""
                answer = "OK " + info[1:].decode("utf-8", "surrogateescape") if info else "OWN"
            except pymysql.err.MySQLError as error:
                # ProxySQL says how long it waited for a hostgroup without servers.
                answer = re.sub(r" after \d+ms$", "", f"ERR {error.args[1]}")
            arrived = self.backends.take()
            if self._is_taken_out(query):
                return Seen(None, None, "OWN", None, ())  # what it shows is of an earlier query
            cursor.execute("PROXYSQL INTERNAL SESSION")
            outcome = json.loads(cursor.fetchall()[0][0])["qpo"]
        settings = tuple((name, int(outcome[name])) for name in SETTINGS if int(outcome[name]) > -1)
        settings = tuple(pair for pair in settings if pair not in _UNSET)
        destination = outcome["destination_hostgroup"]
        if arrived:
            # ProxySQL brings the connection to the session's settings first.
            *before, (hostgroup, text) = arrived
            assert all(own.text.startswith(b"SET ") for own in before), arrived
            return Seen(hostgroup, text, None, _number(destination), settings)
        return Seen(None, None, answer, _number(destination), settings)

    def _is_taken_out(self, query: bytes) -> bool:
        """Return whether PROXYSQL INTERNAL SESSION still shows an earlier query."""
        return before_rules(query, with_digests=self._with_digests) is not None

    def forget_digests(self) -> None:
        """Clear the statistics."""
        self.server.instance.query("SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1")

    def _digests(self) -> Counter[Digested]:
        rows = self.server.instance.query(
            "SELECT hostgroup, schemaname, username, digest, count_star"
            " FROM stats_mysql_query_digest"
        )
        return Counter(
            {
                Digested(
                    int(hostgroup or 0), schema or "", user or "", as_usual(digest or "")
                ): int(count or 0)
                for hostgroup, schema, user, digest, count in rows
            }
        )


def _number(value: int) -> int | None:
    return None if value < 0 else value
