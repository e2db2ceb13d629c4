"""The query event log of a real ProxySQL before MariaDB, compared with its digest statistics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pymysql
import pytest

from proxyctl.stats.events.event import EventTally
from proxyctl.stats.events.log import read_files
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.servers.instances import ProxySQL
from tests.support.servers.mariadb import MISSING, PASSWORD, USER, sysbench, sysbench_rig
from tests.support.waiting import until

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

KEY = ("digest", "hostgroup", "schemaname", "username")
SUMS = ("count_star", "sum_time", "max_time", "sum_rows_affected", "sum_rows_sent")
QUERIES = (
    b"SELECT k FROM sbtest1 WHERE id=7",
    b"SELECT '\xff not UTF-8'",
    b"SELECT 3 -- tail",
    b"SELECT a FROM nosuch",
    b"INSERT INTO sbtest1 (id) VALUES (1)",
    b"SELECT /* hostgroup=10 */ 2",
)
FAILURES = (pymysql.err.ProgrammingError, pymysql.err.IntegrityError)
"""What two of the queries end with: no such table, and a duplicate key."""


class Logged(NamedTuple):
    """A ProxySQL and the log of what it was sent."""

    server: ProxySQL
    file: str
    binary: str


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logged]:
    """A ProxySQL that has logged, and counted, sysbench's queries and ours."""
    folder = tmp_path_factory.mktemp("events")
    (folder / "log").mkdir()
    with sysbench_rig(folder) as (server, _):
        log = folder / "log" / "ev"
        settings = {"filename": log, "format": 1, "default_log": 1}
        if has_tables(server):
            settings["buffer_history_size"] = 100_000
        server.instance.execute(
            "SET mysql-poll_timeout=100",
            *(f"SET mysql-eventslog_{name}='{value}'" for name, value in settings.items()),
        )
        binary = loaded(server, folder / "log")
        server.instance.execute("SET mysql-eventslog_format=2")
        assert loaded(server, folder / "log") != binary
        server.instance.execute("PROXYSQL FLUSH LOGS", "TRUNCATE TABLE stats_mysql_query_digest")
        if has_tables(server):
            server.instance.execute("DUMP EVENTSLOG FROM BUFFER TO MEMORY")
            server.instance.execute("DELETE FROM stats_mysql_query_events")
        send(server, *QUERIES)
        sysbench(server.traffic_port, "--time=60", "--events=20", "run")
        sysbench(server.traffic_port, "--time=60", "--events=20", "--db-ps-mode=auto", "run")
        file = newest(folder / "log")
        until(lambda: len(lines_of(file)) >= counted(server))
        if has_tables(server):
            server.instance.execute("DUMP EVENTSLOG FROM BUFFER TO MEMORY")
        yield Logged(server, str(file), str(binary))


def has_tables(server: ProxySQL) -> bool:
    return not str(server.instance.query("SELECT @@version")[0][0]).startswith("2.")


def newest(folder: Path) -> Path:
    return sorted(folder.iterdir())[-1]


def lines_of(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines(keepends=True)


def loaded(server: ProxySQL, folder: Path) -> Path:
    """Load the variables, and return the log that ProxySQL then begins."""
    before = {*folder.iterdir()}
    server.instance.load("MYSQL VARIABLES")

    def has_begun() -> bool:
        send(server, b"SELECT 1")
        return any(file.stat().st_size for file in {*folder.iterdir()} - before)

    until(has_begun, what="nothing is logged")
    return newest(folder)


def send(server: ProxySQL, *queries: bytes) -> None:
    with (
        closing(
            pymysql.connect(
                host="127.0.0.1",
                port=server.traffic_port,
                user=USER,
                password=PASSWORD,
                database="sbtest",
                charset="latin1",
                autocommit=None,
            )
        ) as session,
        closing(session.cursor()) as cursor,
    ):
        for query in queries:
            with suppress(*FAILURES):
                cursor.execute(query)


def counted(server: ProxySQL) -> int:
    (row,) = server.instance.query("SELECT sum(count_star) FROM stats_mysql_query_digest")
    return int(row[0] or 0)


def statistics(server: ProxySQL) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Return the sums of the digest statistics, without what ProxySQL answered by itself.

    Of such a statement the statistics name the hostgroup it would have gone to, and the log -1.
    """
    rows = server.instance.query(
        f"SELECT {','.join(KEY)}, {','.join(SUMS)} FROM stats_mysql_query_digest"
        " WHERE digest_text NOT LIKE 'SET %'"
    )
    return {tuple(map(str, row[:4])): tuple(int(cell or 0) for cell in row[4:]) for row in rows}


def listed(source: str) -> dict[str, Any]:
    group = ",".join(KEY)
    found = proxyctl(
        *("digest", "top", "--events", source, "--group", group, "--limit", "1000"),
        *("--format", "json"),
    )
    assert found.code == 0, found.text
    report: dict[str, Any] = found.json
    return report


def sums(report: dict[str, Any]) -> dict[tuple[str, ...], tuple[int, ...]]:
    return {
        tuple(str(digest[name]) for name in KEY): tuple(digest[name] for name in SUMS)
        for digest in report["digests"]
        if digest["hostgroup"] != -1
    }


def prepared(file: str) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Return number, time and longest time of the PREPAREs, which the statistics count too."""
    as_queries = Path(f"{file}.prepared")
    lines = [line for line in lines_of(Path(file)) if b'"COM_STMT_PREPARE"' in line]
    as_queries.write_bytes(b"".join(lines).replace(b"COM_STMT_PREPARE", b"COM_QUERY"))
    found = sums(listed(str(as_queries)))
    as_queries.unlink()
    return found


def test_sums_are_those_of_the_digest_statistics(logged: Logged, offline: Project) -> None:
    report = listed(logged.file)
    found, extra = sums(report), prepared(logged.file)
    assert report["events"]["prepared"] == sum(counts[0] for counts in extra.values()) > 0
    for key, (count, time, longest, *_) in extra.items():
        mine = found[key]
        found[key] = (mine[0] + count, mine[1] + time, max(mine[2], longest), *mine[3:])
    own = statistics(logged.server)
    assert {key[1] for key in own} == {"10", "20"}
    assert found == own


def test_digest_texts_are_those_of_the_statistics(logged: Logged, offline: Project) -> None:
    rows = logged.server.instance.query("SELECT digest, digest_text FROM stats_mysql_query_digest")
    report = listed(logged.file)
    assert {digest["digest"]: digest["digest_text"] for digest in report["digests"]} == dict(rows)
    assert all(digest["is_text_proven"] for digest in report["digests"])


def test_errors_are_known_where_the_log_has_them(logged: Logged, offline: Project) -> None:
    report = listed(logged.file)
    errors = {
        digest["digest_text"][:6]: digest["errors"]
        for digest in report["digests"]
        if digest["errors"]
    }
    if has_tables(logged.server):
        assert errors == {"SELECT": {"1146": 1}, "INSERT": {"1062": 1}}
        assert report["events"]["without_errno"] == 0
    else:
        assert errors == {}
        assert report["events"]["without_errno"] == report["events"]["executed"]


def test_the_events_table_holds_the_same(logged: Logged, offline: Project) -> None:
    offline.connect(logged.server.instance)
    if not has_tables(logged.server):
        found = proxyctl("digest", "top", "--events", "stats_mysql_query_events")
        assert (found.code, "has no table stats_mysql_query_events" in found.err) == (1, True)
        return
    table, file = listed("stats_mysql_query_events"), listed(logged.file)
    assert {**table, "notes": []} == {**file, "notes": []}
    empty = listed("history_mysql_query_events")
    assert empty["digests"] == []
    assert "history_mysql_query_events is empty" in empty["notes"][0]


def test_a_replay_under_the_same_rules_changes_nothing(logged: Logged, offline: Project) -> None:
    offline.connect(logged.server.instance)
    assert proxyctl("export", "-o", "proxyctl.yaml").code == 0
    found = proxyctl("replay", "--events", logged.file, "--detailed-exitcode", "--format", "json")
    assert found.code == 0, found.text
    events = list(read_files([logged.file], EventTally()))
    assert found.json["unchanged"]["count_star"] == len(events)


def test_explain_sends_queries_where_they_went(logged: Logged, offline: Project) -> None:
    offline.connect(logged.server.instance)
    found = proxyctl("explain", "--queries", logged.file, "--layer", "runtime", "--format", "json")
    assert found.code == 0, found.text
    # 3.0.3 begins the file with a header of the binary format.
    lines = [
        json.loads(text[text.index(b'{"client"') :])
        for text in lines_of(Path(logged.file))
        if b'"COM_STMT_PREPARE"' not in text
    ]
    pairs = [
        (query["destination_hostgroup"], logged_line["hostgroup_id"])
        for query, logged_line in zip(found.json["queries"], lines, strict=True)
        if query["answered"] is None
    ]
    assert len(pairs) > 500
    assert all(foretold == true for foretold, true in pairs)
    if has_tables(logged.server):
        source = ("--queries", "stats_mysql_query_events")
        table = proxyctl("explain", *source, "--layer", "runtime", "--format", "json")
        assert routes(table) == routes(found)


def routes(explained: Outcome) -> list[tuple[str, int]]:
    """Return the digests and hostgroups; a table keeps bytes that a file replaces."""
    return [
        (query["digest"], query["destination_hostgroup"]) for query in explained.json["queries"]
    ]


def test_a_binary_log_is_recognised(logged: Logged, offline: Project) -> None:
    found = proxyctl("digest", "top", "--events", logged.binary)
    assert (found.code, found.out) == (1, "")
    assert "an event log in the binary format (mysql-eventslog_format=1)" in found.err
