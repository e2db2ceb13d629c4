"""digest top and digest reset, on the sandbox and on a real ProxySQL."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from proxyctl.sandbox import Sandbox
from proxyctl.sandbox.statistics import digest_rows
from proxyctl.stats.digest_file import read_digest_file
from proxyctl.stats.model import SeenDigest
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.pseudo_terminal import PseudoTerminal
from tests.support.commands.story import FILES, applied
from tests.support.digests.seen import TABLE, fill, seen_digest
from tests.support.servers.instances import Instance

NOW = 1_800_000_000


def top(*arguments: str) -> Outcome:
    found = proxyctl("digest", "top", *arguments)
    assert found.code == 0, found.text
    return found


def listed(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = top("--format", "json", *arguments).json["digests"]
    return found


FIRST = {
    **{"time": "3", "avg": "2", "max": "1", "count": "3"},
    **{"rows-sent": "2", "rows-affected": "1", "time-per-row": "3"},
}
"""The digest that comes first in each order."""


def digest(number: int, **other: object) -> SeenDigest:
    cells = {
        **{"digest": f"0x{number:016X}", "digest_text": f"SELECT {chr(96 + number)}"},
        **{"count_star": 1, "sum_time": 1000 * number, "min_time": 5, "max_time": 900},
    }
    return seen_digest("", **{**cells, **other})


@pytest.fixture
def shop(sandbox_project: Project, sandbox_instance: Instance) -> Instance:
    """A sandbox with its sample statistics."""
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


def test_what_comes_first(sandbox_project: Project, sandbox_instance: Instance) -> None:
    rows = [
        digest(1, max_time=1000, sum_rows_affected=9, sum_rows_sent=0),
        digest(2, sum_rows_sent=70),
        digest(3, count_star=9),
        digest(4, sum_time=1, sum_rows_sent=0),
    ]
    fill(sandbox_instance, rows)
    first = {sort: listed("--sort", sort)[0]["digest"][-1] for sort in FIRST}
    assert first == FIRST


def test_filters(shop: Instance) -> None:
    assert {group["username"] for group in listed("--group", "user", "--username", "jobs")} == {
        "jobs"
    }
    assert len(listed("--schemaname", "jobs")) == 2
    assert len(listed("--schemaname", "jobs", "--hostgroup", "20")) == 0
    slow = listed("--min-avg", "40ms")
    assert len(slow) == 3
    assert all(group["avg_time"] >= 40_000 for group in slow)
    entries = ("--group", "digest,hostgroup,schema,user,client")
    both = ("--min-avg", "40ms", "--min-count", "2000")
    assert [group["username"] for group in listed(*entries, *both)] == ["app", "jobs"]
    one = slow[0]["digest"]
    assert [group["digest"] for group in listed("--digest", str(one).lower())] == [one]
    assert len(listed("--seen-since", "36500d")) == 18
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
    by_user = {group["username"]: group for group in listed("--rule", "--digest", "0x1")}
    assert [group["rules"][0]["rule_id"] for group in by_user.values()] == [20, 20]
    assert by_user["other"]["count_star"] == 3
    assert "  hostgroup 10 (writer)\n" in top("--group", "hostgroup").out
    refused = proxyctl("digest", "top", "--rule", "--group", "hostgroup")
    assert refused.code == 64


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("COMMIT", "if no transaction is open; otherwise it goes to the hostgroup of"),
        ("SET autocommit=?", "keeps the setting for the session; in a transaction it goes to that"),
        ("SHOW WARNINGS", "it goes to the hostgroup of the query that had warnings"),
        (
            "SELECT LAST_INSERT_ID()",
            "it goes to the hostgroup of the session's last write, otherwise",
        ),
        ("SET NAMES utf8", "ProxySQL answers OK and keeps the setting for the session"),
    ],
)
def test_statements_that_go_where_their_session_is(
    sandbox_project: Project, sandbox_instance: Instance, text: str, message: str
) -> None:
    fill(sandbox_instance, [digest(1, digest_text=text, hostgroup=20)])
    assert message in " ".join(top("--rule").out.split())


def test_a_cut_text_is_marked(sandbox_project: Project, sandbox_instance: Instance) -> None:
    fill(sandbox_instance, [digest(1, digest_text="SELECT " + "x" * 2041), digest(2)])
    assert "cut by mysql-query_digests_max_digest_length" in top().out
    assert {group["digest"]: group["is_cut"] for group in listed()} == {
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
        ("top", "--group", ("colour",)),
        ("top", "--sort", ("colour", "x" * 60_000)),
        ("top", "--seen-since", ("yesterday",)),
        ("top", "--digest", ("abc-",)),
        ("reset --auto-approve", "--older-than", ("7", "soon", "500ms", "-1d")),
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


# --- digest reset ---------------------------------------------------------------------------------


def test_reset_asks_and_does_nothing_without_a_terminal(
    shop: Instance, sandbox_project: Project
) -> None:
    assert proxyctl("digest", "reset").code == 64
    assert list(Path().glob("digests-*")) == []
    assert len(listed()) == 18


@pytest.mark.parametrize(("answer", "left", "code"), [("yes\n", 0, 0), ("y\n", 18, 3)])
def test_reset_on_a_terminal(
    shop: Instance, sandbox_project: Project, answer: str, left: int, code: int
) -> None:
    command = [sys.executable, "-m", "proxyctl", "digest", "reset"]
    with PseudoTerminal(command, dict(os.environ)) as terminal:
        terminal.wait_for("Only 'yes' is accepted")
        terminal.send(answer)
        assert terminal.wait() == code
    assert len(listed()) == left


def test_reset_of_old_entries_only(offline: Project) -> None:
    now = int(time.time())
    ages = (0, 3_600, 80_000, 86_460, 900_000)
    with Sandbox("3.0.10") as sandbox:
        instance = Instance(sandbox.host, sandbox.port, sandbox=sandbox)
        fill(instance, [digest(n, last_seen=now - age) for n, age in enumerate(ages)])
        offline.connect(instance)
        command = ("digest", "reset", "--older-than", "1d", "--auto-approve", "-o", "before.jsonl")
        found = proxyctl(*command)
        assert found.code == 0, found.text
        assert (
            "this clears the entries not seen for 1.00 d in stats_mysql_query_digest (" in found.err
        )
        assert "5 entries saved to before.jsonl; 2 entries cleared" in found.err
        assert len(list(read_digest_file(Path("before.jsonl")).rows)) == 5
        assert len(sandbox.query("SELECT 1 FROM stats_mysql_query_digest")) == 3


def test_reset_of_old_entries_is_refused_before_there_was_a_statement_for_it(
    shop: Instance, sandbox_project: Project
) -> None:
    found = proxyctl("digest", "reset", "--older-than", "7d", "--auto-approve", "-o", "x.jsonl")
    assert found.code == 3, found.text
    assert "clears all digests or none: PURGE came with 3.0.10" in found.err
    assert not Path("x.jsonl").exists()
    assert len(listed()) == 18
