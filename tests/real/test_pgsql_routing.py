"""Rules of the PostgreSQL side, in the evaluator and on a real ProxySQL 3.0: random rule sets.

PROXYCTL_TEST_ROUTING_PAIRS and PROXYCTL_TEST_ROUTING_SEED are those of `test_routing.py`.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random, SystemRandom
from typing import NamedTuple, Self

import pytest

from proxyctl.catalog import TABLES, Value, Version, layout_of
from proxyctl.catalog.releases import PGSQL_DIGESTS
from proxyctl.proxysql.configuration import ConfigTable, Configuration
from proxyctl.routing.criteria import Criteria, CriterionFlaw, Effect
from proxyctl.routing.dialect import PGSQL
from proxyctl.routing.digest import DigestOptions
from proxyctl.routing.explain import Explainer
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.router import Router, router_of
from tests.support.protocol.mysql_servers import TcpServer
from tests.support.protocol.packets import exactly
from tests.support.routing.cases import rule, statement
from tests.support.routing.shapes import Cells
from tests.support.servers.instances import (
    CONFIG,
    ProxySQL,
    binary_version,
    free_port,
    needed_binary,
)

pytestmark = [
    pytest.mark.real,
    pytest.mark.since("3.0.1", "no PostgreSQL side"),
    pytest.mark.before(str(PGSQL_DIGESTS), "digests of PostgreSQL are not known"),
]

PAIRS = int(os.environ.get("PROXYCTL_TEST_ROUTING_PAIRS", "100"))
QUERIES = 25
DATABASES = ("shop", "crm", "")
_NOT_HERE = ("OK_msg", "error_msg", "next_query_flagIN", "schemaname")


# -- a ProxySQL that is asked in PostgreSQL, without servers ---------------------------------------

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
    """A query's hostgroup and digest; None where ProxySQL answered by itself."""

    hostgroup: int | None
    digest_text: str | None
    digest: int | None


class PgsqlRig:
    """A ProxySQL with sessions over the PostgreSQL protocol."""

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
        """Load rules and fast routing."""
        for table, rows in ((RULES, rules), (FAST, fast)):
            self._fill(table, rows)
        self._run("LOAD PGSQL QUERY RULES TO RUNTIME")

    def _fill(self, table: str, rows: Iterable[Row]) -> None:
        self._run(f"DELETE FROM {table}")
        for row in rows:
            values = ", ".join(map(_literal, row.values()))
            self._run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})")

    @contextmanager
    def firewall(self, whitelist: Mapping[str, Iterable[Row]]) -> Iterator[None]:
        """Switch the firewall on with the rows of its tables; off again at the end of the block."""
        for table, rows in whitelist.items():
            self._fill(table, rows)
        self._run("LOAD PGSQL FIREWALL TO RUNTIME")
        try:
            self._enable_firewall("true")
            yield
        finally:
            self._enable_firewall("false")

    @contextmanager
    def servers(self, ports: Mapping[int, int]) -> Iterator[None]:
        """Have servers in these hostgroups on 127.0.0.1 until the end of the block."""
        rows = [
            {"hostgroup_id": hostgroup, "hostname": "127.0.0.1", "port": port}
            for hostgroup, port in ports.items()
        ]
        try:
            self._serve(rows, wait_ms=500)
            yield
        finally:
            self._serve([], wait_ms=10)

    def _serve(self, rows: Iterable[Row], *, wait_ms: int) -> None:
        self._fill("pgsql_servers", rows)
        self._run("LOAD PGSQL SERVERS TO RUNTIME")
        self._run(f"SET pgsql-connect_timeout_server_max={wait_ms}")
        self._run("LOAD PGSQL VARIABLES TO RUNTIME")

    def _enable_firewall(self, value: str) -> None:
        self._run(f"SET pgsql-firewall_whitelist_enabled='{value}'")
        self._run("LOAD PGSQL VARIABLES TO RUNTIME")

    @property
    def version(self) -> Version:
        """The version that ProxySQL reports."""
        return binary_version(self.server.binary)

    def answer(self, username: str, database: str, query: bytes) -> str:
        """Send a query in a session of its own, and return the message of the error."""
        with Client(self.port, username, database) as client:
            return client.query(query)

    def send(self, username: str, database: str, query: bytes) -> Seen:
        """Send a query in a session of its own."""
        admin = self.server.instance
        admin.query("SELECT 1 FROM stats_pgsql_query_digest_reset LIMIT 1")
        with Client(self.port, username, database) as client:
            answer = client.query(query)
        reached = re.search(r"hostgroup (\d+)", answer)
        rows = admin.query("SELECT digest_text, digest FROM stats_pgsql_query_digest")
        text, digest = rows[0] if rows else (None, None)
        return Seen(
            int(reached[1]) if reached else None, text, None if digest is None else int(digest, 16)
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
                error = next((field[1:].decode() for field in fields if field[:1] == b"M"), "?")
            elif kind == b"Z":
                return error

    def _message(self) -> tuple[bytes, bytes]:
        head = exactly(self._socket, 5)
        return head[:1], exactly(self._socket, _LONG.unpack(head[1:])[0] - 4)


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int | float) else "'" + value.replace("'", "''") + "'"


# -- random rules and queries ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgsqlRig]:
    """One ProxySQL for all tests."""
    with PgsqlRig(needed_binary(), tmp_path_factory.mktemp("pgsql")) as started:
        yield started


def router(version: Version, rules: Iterable[Cells], fast: Iterable[Cells]) -> Router:
    """The evaluator with the users of the rig."""
    users = [{"username": name, "default_hostgroup": number} for name, number in USERS.items()]
    tables = {
        name: held(name, version, rows)
        for name, rows in ((RULES, rules), (FAST, fast), ("pgsql_users", users))
    }
    return router_of(Configuration(version, tables), PGSQL)


def held(table: str, version: Version, rows: Iterable[Cells]) -> ConfigTable:
    layout = layout_of(TABLES[table], version)
    defaults = dict(zip(layout.names, layout.defaults, strict=True))
    whole = [tuple({**defaults, **cells}.values()) for cells in rows]
    return ConfigTable(layout, {layout.key_of(row): row for row in whole})


def random_rules(random: Random, queries: list[bytes], port: int) -> list[Cells]:
    """Rules of the MySQL side, with databases; no rule answers or changes the session."""
    found = []
    for number in range(1, random.choice((3, 8, 15)) + 1):
        cells = rule(random, number, queries, [port], DigestOptions())
        database = cells.get("schemaname")
        cells = {name: value for name, value in cells.items() if name not in _NOT_HERE}
        found.append({**cells, "database": database})
    return found


def random_fast(random: Random) -> list[Cells]:
    return [
        {
            "username": user,
            "database": database,
            "flagIN": 0,
            "destination_hostgroup": 9,
            "comment": "",
        }
        for user in random.sample(("app", "web", ""), 2)
        for database in random.sample(("shop", "crm"), 1)
    ]


def test_random_rules(
    rig: PgsqlRig,
    capsys: pytest.CaptureFixture[str],
    record_property: Callable[[str, object], None],
) -> None:
    seed = os.environ.get("PROXYCTL_TEST_ROUTING_SEED") or str(SystemRandom().randrange(10**6))
    with capsys.disabled():
        sys.stdout.write(f"\nPROXYCTL_TEST_ROUTING_SEED={seed} for {PAIRS} queries\n")
    different, agreed = [], 0
    for number in range(-(-PAIRS // QUERIES)):
        random = Random(f"{seed}:{number}")
        queries = [statement(random).replace(b"\0", b"") for _ in range(QUERIES)]
        rules, fast = random_rules(random, queries, rig.port), random_fast(random)
        of = router(rig.version, rules, fast)
        rig.load(rules, fast)
        for query in queries:
            username, database = random.choice([*USERS]), random.choice(DATABASES)
            seen = rig.send(username, database, query)
            if seen.hostgroup is None:
                continue  # ProxySQL answered by itself
            request = ClientQuery(query, username, database, "127.0.0.1", "127.0.0.1", rig.port)
            route = of.evaluate(request)
            final = route.final_digest
            assert final is not None
            expected = route.destination_hostgroup, final.number
            if final.certain and expected != (seen.hostgroup, seen.digest):
                different.append((f"{seed}:{number}", query, expected, seen))
                record_property("differs", f"{seed}:{number}")
            else:
                agreed += 1
    record_property("known", agreed)
    assert different == []


USER, RULE = "pgsql_firewall_whitelist_users", "pgsql_firewall_whitelist_rules"


@pytest.mark.parametrize(
    ("user", "rule"),
    [
        (None, None),
        (None, {}),
        *(({"mode": mode}, None) for mode in ("OFF", "DETECTING", "PROTECTING")),
        *(
            ({"mode": "OFF", "client_address": address}, None)
            for address in ("127.0.0.1", "%", "127.0.0.%", "127.0.0.0/8")
        ),
        ({"mode": "OFF", "active": 0}, None),
        *(
            ({}, cells)
            for cells in ({}, {"database": ""}, {"database": "%"}, {"flagIN": 1}, {"active": 0})
        ),
        ({}, {"client_address": "127.0.0.1"}),
        ({"client_address": "127.0.0.1"}, {}),
        ({"client_address": "127.0.0.1"}, {"client_address": "127.0.0.1"}),
    ],
)
def test_the_firewall_whitelist(rig: PgsqlRig, user: Cells | None, rule: Cells | None) -> None:
    query = b"SELECT 1 FROM t"
    rig.load([], [])
    number = rig.send("app", "shop", query).digest
    common: Cells = {"username": "app", "client_address": "", "comment": ""}
    listed: Cells = {**common, "database": "shop", "flagIN": 0, "digest": f"0x{number:016X}"}
    rows = {
        USER: [] if user is None else [{**common, "mode": "PROTECTING", **user}],
        RULE: [] if rule is None else [{**listed, **rule}],
    }
    with rig.firewall(rows):
        error = rig.answer("app", "shop", query)
    users: list[Cells] = [{"username": "app", "default_hostgroup": 1}]
    tables = {
        name: held(name, rig.version, some)
        for name, some in {**rows, RULES: [], "pgsql_users": users}.items()
    }
    enabled = {"pgsql-firewall_whitelist_enabled": "true"}
    explainer = Explainer(Configuration(rig.version, tables, enabled), PGSQL)
    route = explainer.answer(ClientQuery(query, "app", "shop", "127.0.0.1")).route
    assert (error == "Firewall blocked this query") is route.is_answered


def test_no_query_is_mirrored(rig: PgsqlRig) -> None:
    cells = {"match_digest": "^INSERT", "destination_hostgroup": 5, "mirror_hostgroup": 6}
    rig.load([{"rule_id": 1, "active": 1, "apply": 1, **cells}], [])
    with TcpServer(socket.socket.close) as server, TcpServer(socket.socket.close) as mirror:
        with rig.servers({5: server.port, 6: mirror.port}):
            rig.answer("app", "shop", b"INSERT INTO t VALUES (1)")
            time.sleep(0.5)  # the MySQL side connects for the copy at once
        assert server.connections
        assert not mirror.connections


def test_flaws_of_criteria_are_true(rig: PgsqlRig) -> None:
    query = b"SELECT c FROM t1 WHERE id = 42 /* x */"
    rig.load([], [])
    digest = rig.send("app", "shop", query).digest or 0
    values: list[tuple[str, Value]] = [
        *(("username", name) for name in ("app", "App", "app%", "app ")),
        *(("database", name) for name in ("shop", "Shop ", "shop%", "%")),
        *(
            ("client_addr", address)
            for address in ("127.0.0.1", "127.%", "127.0.0.0/8", "127.0.0.01", "::ffff:127.0.0.1")
        ),
        *(("proxy_addr", address) for address in ("127.0.0.1", "0.0.0.0", "127.0.0.%")),
        *(("proxy_port", number) for number in (rig.port, 0, 6133)),
        *(("digest", text) for text in (f"0x{digest:x}", f"{digest:X}", f"0x{digest:x}0", "xyz")),
        *(
            ("match_digest", pattern)
            for pattern in (r"id = \?", "id = [0-9]+$", r"^SELECT\\s", r"/\* x \*/", "FROM  t1")
        ),
    ]
    wrong = {}
    for name, value in values:
        cells = {"rule_id": 1, "active": 1, name: value, "destination_hostgroup": 9}
        rig.load([cells], [])
        is_match = rig.send("app", "shop", query).hostgroup == 9
        flaw = flaw_of(rig, cells, name)
        works = flaw is None or flaw.effect is Effect.EVERYTHING
        if is_match is not works and not (flaw and flaw.effect is Effect.DOUBTFUL):
            wrong[name, value] = (flaw, is_match)
    assert wrong == {}


def flaw_of(rig: PgsqlRig, cells: Cells, column: str) -> CriterionFlaw | None:
    """Return what is known about a column of the only rule."""
    users = [{"username": name, "default_hostgroup": number} for name, number in USERS.items()]
    tables = {RULES: held(RULES, rig.version, [cells])}
    tables["pgsql_users"] = held("pgsql_users", rig.version, users)
    variables = {"pgsql-interfaces": f"127.0.0.1:{rig.port}"}
    configuration = Configuration(rig.version, tables, variables)
    found = router_of(configuration, PGSQL)
    names = tables[RULES].layout.names
    [row] = tables[RULES].rows.values()
    rule = found.rules[0] if found.rules else None
    known = Criteria(configuration, found)
    return known.flaw(dict(zip(names, row, strict=True)), rule, column)
