"""digest top, replay and explain on a query event log."""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import FILES, applied
from tests.support.digests.events import BEGAN_US, line, write_log

READS = [
    line(f"SELECT name FROM users WHERE id = {n}", n, duration_us=1000 + n, hostgroup_id=20)
    for n in range(100)
]
SECRET = line(
    "SELECT * FROM cards WHERE number = 'secret'",
    *(200,),
    **{"duration_us": 700_000, "hostgroup_id": 20, "username": "jobs"},
)
FAILED = [
    line("INSERT INTO users VALUES (1)", errno=1062, rows_sent=0, duration_us=0),
    line("INSERT INTO users VALUES (2)", errno=1062, rows_sent=0, duration_us=300),
    line("INSERT INTO users VALUES (3)", errno=9001, rows_sent=0, hostgroup_id=-1, server=None),
]
LOG = [*READS, SECRET, *FAILED]


@pytest.fixture
def log(offline: Project) -> str:
    """A folder without files and instance, and a log."""
    return write_log(offline.folder / "events.00000001", LOG)


def top(*arguments: str) -> Outcome:
    found = proxyctl("digest", "top", "--events", *arguments)
    assert found.code == 0, found.text
    return found


def listed(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = top(*arguments, "--format", "json").json["digests"]
    return found


def test_the_figures_of_a_log(log: str) -> None:
    cards, reads, inserts = listed(log)
    assert cards["sum_time"] == 700_000
    assert (reads["count_star"], reads["sum_time"]) == (100, sum(range(1000, 1100)))
    assert (reads["min_time"], reads["max_time"]) == (1000, 1099)
    for name, exact in (("p50", 1049), ("p95", 1094), ("p99", 1098)):
        assert reads[name] == pytest.approx(exact, rel=0.01)
    assert (reads["errors"], reads["without_errno"], reads["is_text_proven"]) == ({}, 0, True)
    assert reads["digest_text"] == "SELECT name FROM users WHERE id = ?"
    assert reads["last_seen"] - reads["first_seen"] == 99
    assert reads["first_seen"] == BEGAN_US // 1_000_000
    assert inserts["errors"] == {"1062": 2, "9001": 1}
    assert (inserts["min_time"], inserts["p50"]) == (250, 250)
    whole = top(log, "--format", "json").json
    assert whole["total"] == {"entries": 104, "count_star": 104, "sum_time": 805_500}
    assert whole["events"] == {"executed": 104, "prepared": 0, "pgsql": 0, "without_errno": 0}


def test_the_list_on_a_terminal(log: str) -> None:
    lines = top(log).out.splitlines()
    assert lines[0] == f"events of {log}"
    assert lines[1].startswith("104 queries, 806 ms of query time, 2026-11-28 ")
    (head,) = [text.split() for text in lines if text.startswith("#")]
    assert head[:7] == ["#", "share", "total", "queries", "avg", "max", "rows/q"]
    assert head[7:] == ["p50", "p95", "p99", "errors"]
    assert "    errors: 1062 x 2, 9001 x 1" in lines
    assert "No queries in the event log.\n" in top(write_log(Path("empty"), [])).out


def test_literals_are_shown_only_on_request(log: str) -> None:
    for form in ("text", "json", "csv", "markdown", "prometheus"):
        assert "secret" not in top(log, "--format", form).text
        assert "example" not in listed(log)[0]
    assert (
        "    slowest: SELECT * FROM cards WHERE number = 'secret'\n" in top(log, "--literals").out
    )
    assert [digest["example"] for digest in listed(log, "--literals")] == [
        "SELECT * FROM cards WHERE number = 'secret'",
        "SELECT name FROM users WHERE id = 99",
        "INSERT INTO users VALUES (2)",
    ]
    assert "secret" not in top(log, "--literals", "--group", "user").text


def test_filters_groups_and_order(log: str) -> None:
    assert [group["hostgroup"] for group in listed(log, "--group", "hostgroup")] == [20, 10, -1]
    by_client = listed(log, "--group", "client,user", "--sort", "count")
    assert [(group["client_address"], group["username"]) for group in by_client] == [
        ("127.0.0.1", "app"),
        ("127.0.0.1", "jobs"),
    ]
    digests = [digest["digest"] for digest in listed(log)]
    assert [digest["digest"] for digest in listed(log, "--username", "jobs")] == digests[:1]
    assert [digest["digest"] for digest in listed(log, "--text", "from%USERS")] == digests[1:2]
    assert [digest["digest"] for digest in listed(log, "--digest", digests[2])] == digests[2:]
    assert [digest["digest"] for digest in listed(log, "--min-count", "4")] == digests[1:2]
    assert listed(log, "--client-address", "10.0.0.1") == []
    assert [digest["count_star"] for digest in listed(log, "--hostgroup", "10")] == [2]
    assert "No digest passes the filters.\n" in top(log, "--schemaname", "none").out
    assert "the filters leave 1 query with 86.9% of that time" in top(log, "--username", "jobs").out
    assert listed(log, "--seen-since", "1s") == []


def test_csv_and_metrics(log: str) -> None:
    rows = list(csv.DictReader(io.StringIO(top(log, "--format", "csv").out)))
    assert [row["errors"] for row in rows] == ["", "", "1062:2 9001:1"]
    assert float(rows[0]["p99"]) == 700_000
    metrics = top(log, "--format", "prometheus", "--group", "user").out
    assert 'proxyctl_digest_queries_total{username="app"} 103\n' in metrics
    assert 'proxyctl_digest_errors_total{username="app",errno="1062"} 2\n' in metrics
    name = "proxyctl_digest_query_time_percentile_seconds"
    assert f'{name}{{username="jobs",quantile="0.99"}} 0.7\n' in metrics


def test_a_log_without_errno_says_that_errors_are_unknown(offline: Project) -> None:
    older_line = line("SELECT 1", errno=None)
    older = write_log(Path("older"), [older_line, older_line])
    newer = write_log(Path("newer"), [line("SELECT 1", errno=1146)])
    assert [(digest["errors"], digest["without_errno"]) for digest in listed(older)] == [({}, 2)]
    notes = [
        f"{n} without errno, which ProxySQL logs from 3.0 on" for n in ("2 queries", "1 query")
    ]
    text = " ".join(top(older).out.split())
    assert " µs unknown " in text
    assert f"note: {notes[0]}: failures are unknown" in text
    mixed = " ".join(top(write_log(Path("one"), [older_line]), newer).out.split())
    assert " µs unknown " not in mixed
    assert "errors: 1146 x 1" in mixed
    assert f"note: {notes[1]}" in mixed


def test_a_text_without_the_logged_digest_is_marked(offline: Project) -> None:
    lines = [
        line("select 1", digest="0x0123456789ABCDEF"),
        line("select 1, 2", digest="0x0123456789ABCDEF"),
        line("select 2", digest="0x0000000000000000"),
        line("select 3 -- tail", errno=None, digest="0xD8BC9F2F5F1B2B61"),
    ]
    text = top(write_log(Path("ev"), lines)).out
    assert "    ~ select ?\n" in text
    assert "marked with ~" in text
    assert "0x0000000000000000 stands for all queries without a digest" in " ".join(text.split())


def test_files_are_added_up_plain_packed_and_piped(offline: Project) -> None:
    offline.write("", "nothing")
    first = write_log(Path("ev.1"), READS[:40])
    second = write_log(Path("ev.2"), [gzip.compress(b"".join(READS[40:70]))])
    reading, writing = os.pipe()
    os.write(writing, b"".join(READS[70:]))
    os.close(writing)
    with os.fdopen(reading) as stdin:
        offline.monkeypatch.setattr(sys, "stdin", stdin)
        found = top(first, second, "-", "nothing", "--format", "json")
    assert found.json["total"]["count_star"] == 100
    assert found.json["notes"] == ["nothing: the file is empty"]
    assert "note: nothing: the file is empty\n" in found.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("digest", "top", "ev"), 64, "ev: a file without --events"),
        (("replay", "ev"), 64, "ev: a file without --events"),
        (("digest", "top", "--literals"), 64, "--literals needs --events"),
        (("digest", "top", "--events", "ev", "--rule"), 64, "--rule cannot be used with --events"),
        (("digest", "top", "--events", "ev", "--all"), 64, "--all cannot be used with --events"),
        (("digest", "top", "--events", "ev", "ev"), 64, "--events ev: the same file twice"),
        (
            ("replay", "--events", "ev", "--digests", "x"),
            64,
            "--events cannot be used with --digests",
        ),
        (("digest", "top", "--events", "none"), 1, "--events none: no such file or directory"),
        (
            ("digest", "top", "--events", "stats_mysql_query_events", "ev"),
            64,
            "--events stats_mysql_query_events: a table together with other events",
        ),
    ],
)
def test_what_does_not_fit_together(
    offline: Project, arguments: tuple[str, ...], code: int, message: str
) -> None:
    write_log(Path("ev"), LOG)
    found = proxyctl(*arguments)
    assert (found.code, found.out) == (code, "")
    assert f"error: {message}" in found.err
    assert "fix: " in found.err


def test_an_instance_without_events_tables(sandbox_project: Project) -> None:
    found = proxyctl("digest", "top", "--events", "history_mysql_query_events")
    assert found.code == 1
    assert "ProxySQL 2.7.1 has no table history_mysql_query_events; it came with 3.0.1" in found.err
    assert "fix: name the files of the event log: --events FILE" in found.err


# --- replay and explain ---------------------------------------------------------------------------


def test_a_replay_of_texts_decides_what_digests_leave_open(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    applied()
    sandbox_project.write(
        FILES.replace(
            "mysql_query_rules:\n",
            "mysql_query_rules:\n  - {rule_id: 5, match_pattern: 'id = 1[0-9]$',"
            " destination_hostgroup: writer, apply: true}\n",
        )
    )
    log = write_log(Path("ev"), [*LOG, line("SELECT ?", event="COM_STMT_PREPARE"), LOG[0][:30]])
    found = proxyctl("replay", "--events", log, "--detailed-exitcode", "--format", "json")
    assert found.code == 2, found.text
    report = found.json
    assert report["undecided"]["count_star"] == 0
    assert (report["changed"]["count_star"], report["total"]["count_star"]) == (10, 104)
    assert report["events"]["prepared"] == 1
    assert report["flows"][0]["current"] == 20
    assert report["flows"][0]["desired"] == 10
    assert [note.split(":")[0] for note in report["notes"]][1] == (
        "1 COM_STMT_PREPARE event not counted"
    )
    text = proxyctl("replay", "--events", log).out
    assert "SELECT name FROM users WHERE id = ?" in text
    assert "by rule 20 -> 10 (writer) by rule 5" in text
    assert "the last line is unfinished and not counted" in text
    assert "secret" not in text
    empty = write_log(Path("empty"), [])
    assert "Replay: the event log has no queries.\n" in proxyctl("replay", "--events", empty).out


def test_explain_takes_the_queries_of_a_log(offline: Project) -> None:
    offline.write(FILES)
    lines = [
        READS[1],
        line("SELECT name FROM users WHERE id = 1 FOR UPDATE", client="10.0.0.9:4711"),
        line("SELECT 2", event="COM_STMT_EXECUTE", schemaname=""),
    ]
    for log in (write_log(Path("ev"), lines), write_log(Path("ev.gz"), [gzip.compress(lines[0])])):
        found = proxyctl("explain", "--queries", log, "--format", "json")
        assert found.code == 0, found.text
        assert found.json["queries"][0]["destination_hostgroup"] == 20
    found = proxyctl("explain", "--queries", "ev", "--format", "json")
    assert [query["destination_hostgroup"] for query in found.json["queries"]] == [20, 10, 20]


@pytest.mark.parametrize(
    ("second", "note"),
    [
        (READS[1][:50], "ev:2: the last line is unfinished"),
        (line("SELECT 1", event="PGSQL_SIMPLE_QUERY"), "1 PostgreSQL event not counted"),
        (line("SELECT ?", event="COM_STMT_PREPARE"), "1 COM_STMT_PREPARE event not counted"),
    ],
)
def test_explain_leaves_out_what_digest_top_leaves_out(
    offline: Project, second: bytes, note: str
) -> None:
    offline.write(FILES)
    log = write_log(Path("ev"), [line("SELECT 1", errno=None), second])
    found = proxyctl("explain", "--queries", log)
    assert found.code == 0, found.text
    assert len(found.out.splitlines()) == 1
    assert found.err.startswith(f"note: {note}")
    assert found.err.count("note: ") == 1


def test_a_damaged_line_of_a_log_stops_explain(offline: Project) -> None:
    offline.write(FILES)
    log = write_log(Path("ev"), [READS[0], b'{"query": "SELECT 1"}\n'])
    found = proxyctl("explain", "--queries", log)
    assert found.code == 1
    assert "error: ev:2: not an event of the query event log\n" in found.err


def test_explain_asks_an_instance_for_its_events_table(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    found = proxyctl("explain", "--queries", "stats_mysql_query_events")
    assert found.code == 1
    assert "ProxySQL 2.7.1 has no table stats_mysql_query_events; it came with 3.0.1" in found.err
    assert "fix: name the files of the event log: --queries FILE" in found.err


def test_explain_says_that_a_log_is_in_the_binary_format(offline: Project) -> None:
    offline.write(FILES)
    log = write_log(Path("ev"), [b"\x8b\0\0\0\0\0\0\0\0\x07app"])
    found = proxyctl("explain", "--queries", log)
    assert found.code == 1
    assert "ev: an event log in the binary format (mysql-eventslog_format=1)" in found.err
