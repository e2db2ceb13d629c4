"""The examples on a real ProxySQL: each routing test goes where the file says.

There are no servers, so that ProxySQL names the hostgroup it waits for in its error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pymysql
import pytest

from proxyctl.config.files import Sources
from proxyctl.config.project import Project, load_project
from proxyctl.formats.sql import write_script
from proxyctl.state.row import KEEP
from tests.support.servers import ProxySQL, needed_binary
from tests.support.waiting import until

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]

CASES: list[tuple[str, dict[str, str]]] = [
    ("templates/read-write-split", {}),
    ("templates/pxc", {}),
    ("templates/sharded", {}),
    ("examples/minimal", {}),
    ("examples/pxc-read-write-split", {}),
    ("examples/query-rewriting", {}),
    ("examples/sharding-sysbench", {}),
    *[("examples/sharding-sysbench/any-number", {"shards": str(n)}) for n in range(1, 7)],
]

PASSWORD = "example"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxySQL]:
    """One ProxySQL for all cases: each replaces its users and rules."""
    with ProxySQL(needed_binary(), tmp_path_factory.mktemp("proxysql")) as started:
        yield started


@pytest.fixture
def project(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The files of one case."""
    folder, variables = request.param
    for file in (ROOT / folder).glob("*.y*ml*"):
        for name in re.findall(r"\{env: (\w+)\}", file.read_text()):
            monkeypatch.setenv(name, PASSWORD)
    return load_project(Sources((str(ROOT / folder),), variables))


def put(server: ProxySQL, project: Project) -> None:
    """Give ProxySQL the users, rules and fast routing of the files, and no servers."""
    tables = {}
    for name in ("mysql_query_rules", "mysql_query_rules_fast_routing"):
        server.instance.execute(f"DELETE FROM {name}")
    server.instance.execute("LOAD MYSQL QUERY RULES TO RUNTIME")
    for name, table in project.desired.tables.items():
        if name in ("mysql_users", "mysql_query_rules", "mysql_query_rules_fast_routing"):
            defaults = table.layout.defaults
            rows = [
                tuple(
                    default if value is KEEP else value
                    for value, default in zip(row, defaults, strict=True)
                )
                for row in table.rows.values()
            ]
            tables[name] = (table.layout, rows)
    variables = {"mysql-connect_timeout_server_max": "10", "mysql-poll_timeout": "10"}
    for statement in write_script(tables, variables).split(";\n")[:-1]:
        server.instance.execute(statement)


def hostgroup_of(connection: Any, query: str) -> int:
    """Run a query that cannot succeed, and return the hostgroup that ProxySQL tried."""
    with closing(connection.cursor()) as cursor, pytest.raises(pymysql.err.MySQLError) as caught:
        cursor.execute(query)
    found = re.search(r"reaching hostgroup (\d+)", str(caught.value))
    assert found is not None, str(caught.value)
    return int(found[1])


def connect(server: ProxySQL, user: str | None) -> Any:
    return pymysql.connect(
        host="127.0.0.1",
        port=server.traffic_port,
        user=user,
        password=PASSWORD,
        autocommit=None,
    )


@pytest.mark.parametrize("project", CASES, indirect=True, ids=lambda case: "-".join(map(str, case)))
def test_routing(server: ProxySQL, project: Project) -> None:
    put(server, project)
    assert project.routing_tests
    rewritten: list[tuple[str, str]] = []
    hits: Counter[str] = Counter()
    with ExitStack() as connections:
        sessions = {
            user: connections.enter_context(closing(connect(server, user)))
            for user in {test.request.username for test in project.routing_tests}
        }
        for test in project.routing_tests:
            found = hostgroup_of(sessions[test.request.username], test.query)
            assert found == test.expect["hostgroup"], test.query
            if "rule_id" in test.expect:
                hits[str(test.expect["rule_id"])] += 1
            if test.expect.get("rewritten"):
                rewritten.append((test.query, test.expect["rewritten"]))
    check_hits(server, hits)
    for query, expected in rewritten:
        check_rewritten(server, project, query, expected)


def check_hits(server: ProxySQL, expected: Counter[str]) -> None:
    """ProxySQL adds up the hits of its threads every few seconds."""

    def are_counted() -> bool:
        rows = server.instance.query("SELECT rule_id, hits FROM stats_mysql_query_rules")
        found = {rule: int(hits or 0) for rule, hits in rows}
        return all(found[rule] >= hits for rule, hits in expected.items())

    until(are_counted, most_s=10, what=f"hits are not {expected}")


def check_rewritten(server: ProxySQL, project: Project, query: str, expected: str) -> None:
    """The statistics show the text that left: send both texts, without rules for the second."""
    (user,) = {str(key[0]) for key in project.desired.tables["mysql_users"].rows}
    digests = []
    for text, rules in ((query, True), (expected, False)):
        server.instance.query("SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1")
        if not rules:
            server.instance.execute("DELETE FROM mysql_query_rules")
            server.instance.execute("LOAD MYSQL QUERY RULES TO RUNTIME")
        with closing(connect(server, user)) as connection:
            hostgroup_of(connection, text)
        found = server.instance.query("SELECT digest_text FROM stats_mysql_query_digest")
        digests.append({row for row in found if not str(row[0]).startswith("SET ")})
    assert digests[0] == digests[1]
    put(server, project)
