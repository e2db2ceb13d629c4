"""A real ProxySQL with its PostgreSQL side, and a client that speaks just enough of the protocol.

There are no servers: an error says which hostgroup a query is meant for, the statistics say which
digest it has and which rules it hit.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from proxyctl.catalog import Value, Version
from tests.support.servers import CONFIG, ProxySQL, binary_version, free_port

USERS = {"app": 1, "web": 2}
"""default_hostgroup of each user; the password is the name."""
RULES, FAST = "pgsql_query_rules", "pgsql_query_rules_fast_routing"
_CONFIG_PGSQL = (
    CONFIG
    + """\
pgsql_variables=
{{{{
    interfaces="127.0.0.1:{port}"
    authentication_method=1
    connect_timeout_server_max=10
    poll_timeout=10
    threads=1
}}}}
"""
)
Row = Mapping[str, Value]
_LONG = struct.Struct("!i")
_CLEAR_TEXT = 3


class Seen(NamedTuple):
    """What becomes of a query: its hostgroup and its digest; None: ProxySQL answered by itself."""

    hostgroup: int | None
    digest_text: str | None
    digest: int | None


class PgsqlRig:
    """A ProxySQL that is asked in PostgreSQL."""

    def __init__(self, binary: str, folder: Path) -> None:
        self.port = free_port()
        before, _, behind = _CONFIG_PGSQL.partition("pgsql_variables=")
        config = f"{before}pgsql_variables={behind.format(port=self.port)}"
        self.server = ProxySQL(binary, folder, config=config)

    def __enter__(self) -> Self:
        self.server.start(initial=True)
        for name, hostgroup in USERS.items():
            self._run(
                "INSERT INTO pgsql_users (username, password, default_hostgroup)"
                f" VALUES ('{name}', '{name}', {hostgroup})"
            )
        self._run("LOAD PGSQL USERS TO RUNTIME")
        return self

    def __exit__(self, *exc: object) -> None:
        self.server.stop()

    def _run(self, sql: str) -> None:
        self.server.instance.execute(sql)

    def load(self, rules: Iterable[Row], fast: Iterable[Row]) -> None:
        """Put rules and fast routing at work."""
        for table, rows in ((RULES, rules), (FAST, fast)):
            self._run(f"DELETE FROM {table}")
            for row in rows:
                values = ", ".join(map(_literal, row.values()))
                self._run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})")
        self._run("LOAD PGSQL QUERY RULES TO RUNTIME")

    @property
    def version(self) -> Version:
        """What the ProxySQL says it is."""
        return binary_version(self.server.binary)

    def send(self, username: str, database: str, query: bytes) -> Seen:
        """Send a query in a session of its own."""
        admin = self.server.instance
        admin.query("SELECT 1 FROM stats_pgsql_query_digest_reset LIMIT 1")
        with Client(self.port, username, database) as client:
            answer = client.query(query)
        said = re.search(r"hostgroup (\d+)", answer)
        rows = admin.query("SELECT digest_text, digest FROM stats_pgsql_query_digest")
        text, digest = rows[0] if rows else (None, None)
        return Seen(
            int(said[1]) if said else None, text, None if digest is None else int(digest, 16)
        )


class Client:
    """One session, with the password in clear text."""

    def __init__(self, port: int, username: str, database: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        words = b"user\0%b\0database\0%b\0\0" % (username.encode(), database.encode())
        self._socket.sendall(_LONG.pack(len(words) + 8) + _LONG.pack(3 << 16) + words)
        self._until_ready(username)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._socket.close()

    def query(self, text: bytes) -> str:
        """Send a query and return the message of the error, '' without one."""
        self._send(b"Q", text)
        return self._until_ready()

    def _send(self, kind: bytes, text: bytes) -> None:
        self._socket.sendall(kind + _LONG.pack(len(text) + 5) + text + b"\0")

    def _until_ready(self, password: str = "") -> str:
        error = ""
        while True:
            kind, body = self._message()
            if kind == b"R" and _LONG.unpack(body[:4])[0] == _CLEAR_TEXT:
                self._send(b"p", password.encode())
            elif kind == b"E":
                fields = body.split(b"\0")
                error = next((one[1:].decode() for one in fields if one[:1] == b"M"), "?")
            elif kind == b"Z":
                return error

    def _message(self) -> tuple[bytes, bytes]:
        head = self._exactly(5)
        return head[:1], self._exactly(_LONG.unpack(head[1:])[0] - 4)

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = self._socket.recv(size - len(found))
            if not more:
                raise AssertionError("ProxySQL closed the session")
            found += more
        return found


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int | float) else "'" + value.replace("'", "''") + "'"
