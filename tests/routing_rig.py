"""A real ProxySQL between a client and recording backends: what becomes of queries there.

`Rig.observe` loads a case and sends its queries, one session for each kind of client; `predict`
says the same with the evaluator. Both give an `Observed`, and the two have to be equal.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import pymysql

from proxyctl.admin.digest_spelling import as_usual
from proxyctl.catalog import Value
from proxyctl.digest import Digest, Digester, DigestOptions
from proxyctl.formats.sql_writer import write_script
from proxyctl.routing import (
    Explanation,
    FastRouting,
    Request,
    Route,
    Router,
    RoutingVariables,
    Source,
    Stage,
    frontends,
)
from proxyctl.routing.special import SET_AT_HOME, before_rules
from tests.build import layout, row
from tests.routing_backend import RecordingBackends
from tests.servers import ProxySQL, free_port

RULES = "mysql_query_rules"
FAST = "mysql_query_rules_fast_routing"
HOSTGROUPS = range(12)
ADDRESSES = ("127.0.0.1", "127.0.0.2")
"""Of clients and of ProxySQL's interfaces."""

USERS: tuple[dict[str, Value], ...] = (
    {"username": "app", "password": "", "default_hostgroup": 1},
    {"username": "web", "password": "", "default_hostgroup": 2, "default_schema": "shop"},
    {"username": "Etl", "password": "", "default_hostgroup": 3},
)
VARIABLES = {
    "mysql-query_processor_regex": "1",
    "mysql-query_processor_iterations": "0",
    "mysql-query_digests": "true",
    "mysql-query_digests_lowercase": "false",
    "mysql-query_digests_replace_null": "false",
    "mysql-query_digests_no_digits": "false",
    "mysql-query_digests_keep_comment": "false",
    "mysql-query_digests_max_digest_length": "2048",
    "mysql-set_query_lock_on_hostgroup": "1",
}
"""What a case may change, with what it has otherwise."""

SETTINGS = (
    "cache_timeout",
    "cache_ttl",
    "create_new_connection",
    "delay",
    "multiplex",
    "reconnect",
    "retries",
    "sticky_conn",
    "timeout",
)
"""What PROXYSQL INTERNAL SESSION shows of the last query."""

Cells = dict[str, Value]


class Client(NamedTuple):
    """A kind of session. Shape: `interface` is a place in ADDRESSES."""

    username: str
    schemaname: str | None = None
    client_addr: str = ADDRESSES[0]
    interface: int = 0


class Sent(NamedTuple):
    """A query that a client sends."""

    client: Client
    query: bytes


@dataclass(frozen=True)
class Case:
    """What ProxySQL is given, and the queries that are sent then."""

    rules: list[Cells]
    queries: list[Sent]
    fast_routing: list[Cells] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)


class Seen(NamedTuple):
    """What becomes of one query.

    Shape: `answer` is what ProxySQL says by itself (`OK text`, `ERR text`, `OWN`), and None if the
    text went to a backend. `destination` is what rules, fast routing and hints chose, if anything.
    """

    hostgroup: int | None
    text: bytes | None
    answer: str | None
    destination: int | None
    settings: tuple[tuple[str, int], ...]


class Digested(NamedTuple):
    """A row of stats_mysql_query_digest."""

    hostgroup: int
    schemaname: str
    username: str
    digest: str


UNCERTAIN = "?"
"""A digest that ProxySQL makes of what its buffer held before, as `proxyctl.digest` tells."""


class Observed(NamedTuple):
    """What became of a case."""

    seen: list[Seen]
    hits: dict[int, int]
    digests: Counter[Digested]


def differences(expected: Observed, found: Observed) -> list[str]:
    """Return what is not the same, in words."""
    lines = [
        f"query {number}: {one} is not {other}"
        for number, (one, other) in enumerate(zip(expected.seen, found.seen, strict=True))
        if one != other
    ]
    if expected.hits != found.hits:
        lines.append(f"hits: {expected.hits} are not {found.hits}")
    missing, added = expected.digests - found.digests, found.digests - expected.digests
    for one in [one for one in missing if one.digest == UNCERTAIN]:
        like = [other for other in added if other[:-1] == one[:-1]]
        for other in like[: missing.pop(one)]:
            added[other] -= 1
    if missing or +added:
        lines.append(f"digests: {missing} are not {+added}")
    return lines


# The real one -----------------------------------------------------------------------------------

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def run(self, sql: str) -> None:
        """Run one statement on the admin interface."""
        self.server.instance.execute(sql)

    @property
    def ports(self) -> list[int]:
        """The ports of ProxySQL's interfaces."""
        return self._ports

    def observe(self, case: Case) -> Observed:
        """Load a case, send its queries, and return what became of them."""
        self._load(case)
        with ExitStack() as stack:
            sessions: dict[Client, Any] = {}
            for client in {sent.client: None for sent in case.queries}:
                sessions[client] = stack.enter_context(closing(self.connect(client)))
            self._forget_digests()
            self.backends.take()
            seen = [self._send(sessions[sent.client], sent.query) for sent in case.queries]
        return Observed(seen, {}, self._digests())

    def hits(self, expected: dict[int, int], timeout: float = 4) -> dict[int, int]:
        """Return the hits of the rules, once they are as expected or have settled.

        ProxySQL adds up what its threads counted every two seconds.
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

    def _forget_digests(self) -> None:
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


# The evaluator ----------------------------------------------------------------------------------


def router_of(case: Case) -> Router:
    """Return the evaluator for a case."""
    values = VARIABLES | case.variables
    users = [row("mysql_users", **user) for user in USERS]
    return Router(
        layout(RULES),
        [row(RULES, **cells) for cells in case.rules],
        digest_of=Digester(DigestOptions.from_variables(values)).digest,
        variables=RoutingVariables.from_values(values),
        fast_routing=FastRouting(layout(FAST), [row(FAST, **cells) for cells in case.fast_routing]),
        users=frontends(layout("mysql_users"), users),
    )


def predict(case: Case, ports: list[int]) -> Observed:
    """Return what the evaluator says of a case."""
    router = router_of(case)
    flags: dict[Client, int] = {}
    schemas: dict[Client, str] = {}
    seen: list[Seen] = []
    hits: Counter[int] = Counter()
    digests: Counter[Digested] = Counter()
    for client, query in case.queries:
        request = Request(
            query,
            client.username,
            schemas.get(client, client.schemaname or ""),
            client.client_addr,
            ADDRESSES[client.interface],
            ports[client.interface],
            flags.get(client, 0),
        )
        route = router.evaluate(request)
        explained = router.explain(request)
        assert replace(explained.route, troubles=route.troubles) == route
        if route.next_flag is not None:
            flags[client] = route.next_flag
        if found := re.search(rb"USE (\w+)$", query):
            schemas[client] = found[1].decode()
        hits.update(route.matched_rules)
        if route.loop is not None:
            hits.update(route.loop.rule_ids * route.loop.turns)
        seen.append(_seen(explained, query))
        if route.final_digest is not None:
            digests[_digested(client, schemas.get(client, client.schemaname), route)] += 1
    return Observed(seen, dict(hits), digests)


def _digested(client: Client, schemaname: str | None, route: Route) -> Digested:
    user = next(user for user in USERS if user["username"] == client.username)
    schemaname = schemaname or str(user.get("default_schema") or "information_schema")
    hostgroup = user["default_hostgroup"]
    if not route.is_answered:
        hostgroup = route.destination_hostgroup
    final = route.final_digest
    assert isinstance(final, Digest)
    number = final.hexadecimal if final.certain else UNCERTAIN
    return Digested(int(str(hostgroup)), schemaname, client.username, number)


def _seen(explained: Explanation, query: bytes) -> Seen:
    route = explained.route
    special = route.special
    if special is not None and special.stage is Stage.BEFORE_RULES:
        return Seen(None, None, "OWN", None, ())
    settings = tuple(
        (name, int(route.settings[name])) for name in SETTINGS if name in route.settings
    )
    chosen = route.destination_hostgroup if route.source is not Source.DEFAULT_HOSTGROUP else None
    if special is SET_AT_HOME:
        # The session shows what rules and hints said, although it did not follow them.
        said = [step.sets.get("destination_hostgroup") for step in explained.steps]
        said.append(explained.hints.get("destination_hostgroup"))
        chosen = next((int(one) for one in reversed(said) if one is not None), None)
    answer = _answer(route)
    if answer is not None:
        return Seen(None, None, answer, chosen, settings)
    hostgroup = route.destination_hostgroup
    if hostgroup not in HOSTGROUPS:
        lost = f"ERR Max connect timeout reached while reaching hostgroup {hostgroup}"
        return Seen(None, None, lost, chosen, settings)
    text = query if route.rewritten_query is None else route.rewritten_query
    return Seen(hostgroup, text, None, chosen, settings)


def _answer(route: Route) -> str | None:
    special, settings = route.special, route.settings
    if special is not None and special.stage is Stage.BEFORE_MESSAGES:
        return "OWN"
    if "OK_msg" in settings:
        return f"OK {settings['OK_msg']}" if settings["OK_msg"] else "OWN"
    if "error_msg" in settings:
        return f"ERR {settings['error_msg']}"
    return "OWN" if route.is_answered else None
