"""Read digests from a real ProxySQL, and record them.

To add a case, write a line with `about`, `query` and, where they are not the defaults, `options`
into one of the files. Run tests/real/test_digest.py with --update-golden and a 2.7 on PATH, then
once more with PROXYCTL_TEST_PROXYSQL for a 3.0, which adds what it answers otherwise; read the
difference before it is committed. Queries are bytes, as Latin-1. A text that is not certain has
null: it depends on the query before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Self

import pymysql
from pymysql.constants import COMMAND

from proxyctl.catalog import REFERENCE, Version, parse_version
from proxyctl.catalog.releases import DIGESTS_DROP_LAST_COMMENT
from proxyctl.routing.digest import DigestOptions
from proxyctl.routing.digest.options import PREFIX
from proxyctl.stats.read import as_usual
from tests.support.paths import UNIT_DATA
from tests.support.servers.instances import ProxySQL

CASES = UNIT_DATA / "digest_cases.jsonl"
COMMENTS = UNIT_DATA / "digest_comments.jsonl"

LATER = str(DIGESTS_DROP_LAST_COMMENT)

Case = dict[str, Any]
"""Keys: about, query, options, and what was recorded: text and digest, or hostgroup. LATER holds
text and digest of a ProxySQL from that version on, where they are others."""


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file."""
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def options_of(case: Case, version: Version = REFERENCE) -> DigestOptions:
    """Return the options of a case."""
    return DigestOptions(**case.get("options", {}), version=version)


def answer_of(case: Case, version: Version = REFERENCE) -> tuple[str | None, str | None]:
    """Return the recorded text and digest; None for an uncertain text."""
    text, digest = (
        case[LATER]
        if version >= DIGESTS_DROP_LAST_COMMENT and LATER in case
        else (case["text"], case["digest"])
    )
    return text, digest


def query_of(case: Case) -> bytes:
    """Return the query of a case."""
    return str(case["query"]).encode("latin-1")


def write_cases(path: Path, cases: list[Case]) -> None:
    """Write the cases of a file."""
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="ascii")


_USER, _PASSWORD = "digests", "digests"
_SET_UP = (
    f"INSERT INTO mysql_users (username, password) VALUES ('{_USER}', '{_PASSWORD}')",
    "LOAD MYSQL USERS TO RUNTIME",
    "SET mysql-connect_timeout_server_max=10",
    "SET mysql-poll_timeout=10",
    "LOAD MYSQL VARIABLES TO RUNTIME",
)
_ANSWER_ALL = "INSERT INTO mysql_query_rules (rule_id, active, OK_msg, apply) VALUES (1, 1, '', 1)"
_READ = "SELECT schemaname, digest_text, digest FROM stats_mysql_query_digest"
_RESET = "SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1"


class Seen(NamedTuple):
    """A query in the statistics: the stored text, and the digest in hex."""

    text: bytes
    digest: str


class DigestServer:
    """A ProxySQL and one connection to it. Queries that follow each other share its buffer.

    A rule answers every query before it needs a backend. Each query goes out under a schema name of
    its own, so that the statistics show the digest of each.
    """

    def __init__(self, binary: str, folder: Path) -> None:
        self._proxysql = ProxySQL(binary, folder)
        self._client: pymysql.Connection | None = None

    def __enter__(self) -> Self:
        self._proxysql.start(initial=True)
        for statement in _SET_UP:
            self._proxysql.instance.execute(statement)
        return self

    @property
    def version(self) -> Version:
        """The version that ProxySQL reports."""
        return parse_version(str(self._proxysql.instance.query("SELECT @@version")[0][0]))

    def __exit__(self, *exc: object) -> None:
        if self._client is not None:
            self._client.close()
        self._proxysql.stop()

    def configure(self, options: DigestOptions) -> None:
        """Set options. The connection's thread reads them before its next query."""
        given = asdict(options)
        del given["version"]
        self.set_variables({name: str(value).lower() for name, value in given.items()})

    def set_variables(self, values: Mapping[str, str]) -> None:
        """Set options from texts that may be invalid."""
        instance = self._proxysql.instance
        for name, text in values.items():
            instance.execute(
                f"UPDATE global_variables SET variable_value='{text}'"
                f" WHERE variable_name='{PREFIX}{name}'"
            )
        instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
        for _ in range(3):
            self._send(b"SELECT 1")

    def digests(self, queries: Sequence[bytes]) -> list[Seen | None]:
        """Return the statistics of each query; None for a query that ProxySQL does not count."""
        instance = self._proxysql.instance
        instance.execute("DELETE FROM mysql_query_rules")
        instance.execute(_ANSWER_ALL)
        instance.execute("LOAD MYSQL QUERY RULES TO RUNTIME")
        instance.query(_RESET)
        for number, query in enumerate(queries):
            self._use(f"q{number}")
            self._send(query)
        self._use("nothing")
        found = {}
        for schema, text, number in instance.query(_READ):
            assert text is not None
            found[schema] = Seen(text.encode("utf-8", "surrogateescape"), as_usual(str(number)))
        return [found.get(f"q{number}") for number in range(len(queries))]

    def hostgroups(self, queries: Sequence[bytes]) -> list[int]:
        """Return the hostgroup of each query. The ProxySQL has no servers and no rules."""
        self._proxysql.instance.execute("DELETE FROM mysql_query_rules")
        self._proxysql.instance.execute("LOAD MYSQL QUERY RULES TO RUNTIME")
        found = []
        for query in queries:
            reached = re.search(r"reaching hostgroup (\d+)", self._send(query))
            assert reached is not None, query
            found.append(int(reached[1]))
        return found

    def _connection(self) -> pymysql.Connection:
        if self._client is None:
            self._client = pymysql.connect(
                host="127.0.0.1",
                port=self._proxysql.traffic_port,
                user=_USER,
                password=_PASSWORD,
                autocommit=None,
            )
        return self._client

    def _use(self, schema: str) -> None:
        connection = self._connection()
        connection._execute_command(COMMAND.COM_INIT_DB, schema.encode())
        connection._read_ok_packet()

    def _send(self, query: bytes) -> str:
        """Send the bytes of a query, and return the text of an error."""
        connection = self._connection()
        connection._execute_command(COMMAND.COM_QUERY, query)
        try:
            connection._read_query_result()
        except pymysql.err.OperationalError as error:
            if error.args[0] in (2006, 2013):
                raise AssertionError(f"ProxySQL went away after {query[:500]!r}") from error
            return str(error.args[1])
        except pymysql.err.MySQLError as error:
            return str(error.args[1])
        return ""
