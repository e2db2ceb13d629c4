"""digest top and digest reset, on the sandbox and on a real ProxySQL."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from proxyctl.sandbox import Sandbox
from proxyctl.sandbox.statistics import digest_rows
from proxyctl.stats.digest_file import read_digest_file
from proxyctl.stats.model import SeenDigest
from tests.journeys.story import FILES, applied
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.seen_digests import TABLE, fill, seen_digest
from tests.support.servers import Instance

NOW = 1_800_000_000


def top(*arguments: str) -> Outcome:
    found = proxyctl("digest", "top", *arguments)
    assert found.code == 0, found.text
    return found


def listed(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = top("--format", "json", *arguments).json["digests"]
    return found


def digest(number: int, **other: object) -> SeenDigest:
    cells = {
        **{"digest": f"0x{number:016X}", "digest_text": f"SELECT {chr(96 + number)}"},
        **{"count_star": 1, "sum_time": 1000 * number, "min_time": 5, "max_time": 900},
    }
    return seen_digest("", **{**cells, **other})


@pytest.fixture
def shop(sandbox_project: Project, sandbox_instance: Instance) -> Instance:
    """A sandbox with the statistics that it carries."""
    assert sandbox_instance.sandbox is not None
    sandbox_instance.sandbox.stats[TABLE] = digest_rows(NOW)
    return sandbox_instance


def test_in_markdown_no_text_is_markup(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    fill(sandbox_instance, [digest(1, digest_text="SELECT `a`|b FROM t -- @ops")])
    lines = top("--format", "markdown").out.splitlines()
    assert lines[0].startswith("**Digests** of 127.0.0.1:")
    title, line, row = lines[-3:]
    assert title.startswith("| # | share | cum. | total |")
    assert line.startswith("| ---: | ---: |")
    assert row.endswith("| SELECT \\`a\\`\\|b FROM t -- @&#8203;ops |")


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("time", "0x0000000000000003"),
        ("avg", "0x0000000000000002"),
        ("max", "0x0000000000000001"),
        ("count", "0x0000000000000003"),
        ("rows-sent", "0x0000000000000002"),
        ("rows-affected", "0x0000000000000001"),
        ("time-per-row", "0x0000000000000003"),
    ],
)
def test_what_comes_first(
    sandbox_project: Project, sandbox_instance: Instance, sort: str, first: str
) -> None:
    rows = [
        digest(1, max_time=1000, sum_rows_affected=9, sum_rows_sent=0),
        digest(2, sum_rows_sent=70),
        digest(3, count_star=9),
        digest(4, sum_time=1, sum_rows_sent=0),
    ]
    fill(sandbox_instance, rows)
    assert listed("--sort", sort)[0]["digest"] == first


def test_filters(shop: Instance) -> None:
    assert {one["username"] for one in listed("--group", "user", "--username", "jobs")} == {"jobs"}
    assert len(listed("--schemaname", "jobs")) == 2
    assert len(listed("--schemaname", "jobs", "--hostgroup", "20")) == 0
    assert len(listed("--client-address", "10.0.0.1")) == 0
    slow = listed("--min-avg", "40ms")
    assert len(slow) == 3
    assert all(one["avg_time"] >= 40_000 for one in slow)
    assert len(listed("--min-count", "2000000")) == 2
    entries = ("--group", "digest,hostgroup,schema,user,client")
    assert len(listed(*entries)) == 19
    assert len(listed(*entries, "--min-avg", "40ms")) == 3
    both = ("--min-avg", "40ms", "--min-count", "2000")
    assert [one["username"] for one in listed(*entries, *both)] == ["app", "jobs"]
    assert len(listed(*entries, *both, "--username", "jobs")) == 1
    one = slow[0]["digest"]
    assert [found["digest"] for found in listed("--digest", str(one).lower())] == [one]
    assert len(listed("--seen-since", "2000-01-01")) == 18
    assert "filters leave" in top("--hostgroup", "20").out
    assert "No digest passes" in top("--schemaname", "none").out


def test_the_rule_that_catches_a_digest(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    sandbox_project.write(FILES)
    applied()
    rows = [
        digest(1, digest_text="SELECT a FROM t", hostgroup=20),
        digest(1, digest_text="SELECT a FROM t", username="other", count_star=3),
        digest(2, digest_text="UPDATE t SET a=?"),
    ]
    fill(sandbox_instance, rows)
    text = top("--rule").out
    assert "-> hostgroup 20 (reader) by rule 20" in text
    [caught] = listed("--rule", "--digest", "0x1")[0]["rules"]
    assert caught["outcomes"][0]["rule_id"] == 20
    assert caught["count_star"] == 4
    assert "  hostgroup 10 (writer)\n" in top("--group", "hostgroup").out
    refused = proxyctl("digest", "top", "--rule", "--group", "hostgroup")
    assert refused.code == 64


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("COMMIT", "while no transaction is open; in one it goes where the transaction is"),
        ("ROLLBACK", "while no transaction is open; in one it goes where the transaction is"),
        ("SET autocommit=?", "keeps the setting for the session; in a transaction it goes there"),
        ("SHOW WARNINGS", "it goes to the hostgroup of the query that had warnings"),
        ("SELECT LAST_INSERT_ID()", "it goes to the hostgroup of the session's last write, else"),
        # Nothing that a session has sends these to a server.
        ("SET NAMES utf8", "ProxySQL answers OK and keeps the setting for the session"),
        ("SELECT CONNECTION_ID()", "ProxySQL answers it by itself"),
    ],
)
def test_statements_that_go_where_their_session_is(
    sandbox_project: Project, sandbox_instance: Instance, text: str, says: str
) -> None:
    fill(sandbox_instance, [digest(1, digest_text=text, hostgroup=20)])
    assert says in " ".join(top("--rule").out.split())


def test_a_cut_text_is_marked(sandbox_project: Project, sandbox_instance: Instance) -> None:
    fill(sandbox_instance, [digest(1, digest_text="SELECT " + "x" * 2041), digest(2)])
    assert "cut by mysql-query_digests_max_digest_length" in top().out
    assert {one["digest"]: one["is_cut"] for one in listed()} == {
        "0x0000000000000001": True,
        "0x0000000000000002": False,
    }


@pytest.mark.parametrize(
    ("command", "option", "values"),
    [
        ("top", "--limit", ("0", "-1", "1e30", "nan", "1000001", "9" * 20)),
        ("diff seen.gz", "--limit", ("-1", "1e30", "nan", "1000001")),
        ("suggest", "--limit", ("0", "-1", "1e30", "nan", "1000001")),
        ("report -o report.html", "--limit", ("0", "-1", "1e30", "nan", "501")),
        ("top", "--min-count", ("-1", "1e30", "nan")),
        ("top", "--min-avg", ("-1ms", "1e30ms", "nan", "1")),
        ("top", "--hostgroup", ("1e30", "nan")),
        ("top", "--text", ("x" * 60_000, "_" * 25_000)),
        ("top", "--group", ("colour", "x" * 60_000)),
        ("top", "--sort", ("colour", "x" * 60_000)),
        ("top", "--seen-since", ("yesterday",)),
        ("top", "--digest", ("abc-",)),
    ],
)
def test_values_that_no_option_takes(
    shop: Instance, command: str, option: str, values: tuple[str, ...]
) -> None:
    for value in values:
        found = proxyctl("digest", *command.split(), option, value)
        assert (found.code, found.out) == (64, ""), (value[:20], found.text)
        assert found.err.startswith(f"error: {option}")
        assert len(found.err) < 400


def test_as_much_text_as_sqlite_looks_for(shop: Instance) -> None:
    assert top("--text", "x" * 49_998).code == 0
    assert top(*(f"--text=x{number}" for number in range(100))).code == 0
    assert proxyctl("digest", "top", *(f"--text=x{n}" for n in range(101))).code == 64


# --- digest reset ---------------------------------------------------------------------------------


def test_reset_saves_first_and_then_clears(shop: Instance, sandbox_project: Project) -> None:
    found = proxyctl("digest", "reset", "--auto-approve", "-o", "before.jsonl")
    assert found.code == 0, found.text
    assert "for everybody: monitoring sees" in found.err
    saved = read_digest_file(Path("before.jsonl"))
    assert {tuple(row) for row in saved.rows} == set(digest_rows(NOW))
    assert listed() == []


def test_reset_asks_and_does_nothing_without_a_terminal(
    shop: Instance, sandbox_project: Project
) -> None:
    assert proxyctl("digest", "reset").code == 64
    assert list(Path().glob("digests-*")) == []
    assert len(listed()) == 18


def on_a_terminal(answer: bytes, *arguments: str) -> tuple[int, bytes]:
    """Run a command line on a terminal where the answer is typed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "proxyctl", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, answer)
        said = b""
        with suppress(OSError):  # Linux: the other side is closed
            while part := os.read(ours, 65536):
                said += part
    os.close(ours)
    return process.returncode, said


@pytest.mark.parametrize(("answer", "left", "code"), [(b"yes\n", 0, 0), (b"y\n", 18, 3)])
def test_reset_on_a_terminal(
    shop: Instance, sandbox_project: Project, answer: bytes, left: int, code: int
) -> None:
    ended, said = on_a_terminal(answer, "digest", "reset")
    assert ended == code, said
    assert b"Only 'yes' is accepted" in said
    assert len(listed()) == left


def test_reset_clears_nothing_when_the_file_cannot_be_written(
    shop: Instance, sandbox_project: Project
) -> None:
    Path("there.jsonl").write_text("an earlier one")
    for target in ("there.jsonl", "no/such/folder.jsonl"):
        assert proxyctl("digest", "reset", "--auto-approve", "-o", target).code in (1, 3)
    assert Path("there.jsonl").read_text() == "an earlier one"
    assert len(listed()) == 18


def test_reset_of_old_entries_only(offline: Project) -> None:
    now = int(time.time())
    seen = [(10, "shop", "app", "", f"0x{n:016X}", f"SELECT {n}", 1, 0, now - age, 1, 1, 1, 0, 0)
            for n, age in enumerate((0, 3_600, 80_000, 86_460, 900_000))]  # fmt: skip
    with Sandbox("3.0.10") as sandbox:
        sandbox.stats["stats_mysql_query_digest"] = seen
        offline.connect(Instance(sandbox.host, sandbox.port, sandbox=sandbox))
        command = ("digest", "reset", "--older-than", "1d", "--auto-approve", "-o", "before.jsonl")
        found = proxyctl(*command)
        assert found.code == 0, found.text
        assert "this clears what was not seen for 1d in stats_mysql_query_digest (" in found.err
        assert "5 entries saved to before.jsonl; 2 entries cleared" in found.err
        assert len(list(read_digest_file(Path("before.jsonl")).rows)) == 5
        left = sandbox.query("SELECT digest_text FROM stats_mysql_query_digest ORDER BY 1")
        assert left == [("SELECT 0",), ("SELECT 1",), ("SELECT 2",)]


def test_reset_of_old_entries_is_refused_before_there_was_a_statement_for_it(
    shop: Instance, sandbox_project: Project
) -> None:
    found = proxyctl("digest", "reset", "--older-than", "7d", "--auto-approve", "-o", "x.jsonl")
    assert found.code == 3, found.text
    assert "clears all digests or none: it has no PURGE, which came with 3.0.10" in found.err
    assert not Path("x.jsonl").exists()
    assert len(listed()) == 18


@pytest.mark.parametrize("age", ["7", "soon", "500ms", "-1d"])
def test_reset_of_entries_older_than_no_time(
    shop: Instance, sandbox_project: Project, age: str
) -> None:
    found = proxyctl("digest", "reset", f"--older-than={age}", "--auto-approve")
    assert (found.code, "--older-than" in found.err) == (64, True), found.text
