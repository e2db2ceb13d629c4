"""What every command about digests says where there is nothing, or nothing sound, to look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxyctl.stats.digest_file import write_digest_file
from proxyctl.stats.model import DigestTable, SeenDigest
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.seen_digests import TABLE, fill
from tests.support.servers import Instance

FILES = """\
version: 1
hostgroups: {writer: {id: 10}, reader: {id: 20}}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1}
  - {hostgroup_id: reader, hostname: db2}
mysql_users:
  - {username: app, default_hostgroup: writer}
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: writer, apply: true}
"""
SEEN = SeenDigest(
    10, "shop", "app", "", "0x1C46AE529DD5A40E", "SELECT ?", 5_000, 1, 99, 9_000, 1, 2, 0, 5_000
)
AT_INSTANCE = {
    ("top", "--rule"): "No digests",
    ("snapshot", "-o", "new.jsonl"): "0 entries saved",
    ("diff", "sound.jsonl"): "the counters were cleared in between",
    ("report", "-o", "report.html"): "0 digests reported",
    ("suggest",): "the statistics hold no digest",
    ("replay",): "has seen no digests",
}
"""Each command that reads the statistics, and what it says of empty ones."""
OF_FILES = (
    ("diff", "bad.jsonl"),
    ("diff", "sound.jsonl", "bad.jsonl"),
    ("report", "-o", "report.html", "bad.jsonl"),
    ("suggest", "--digests", "bad.jsonl"),
    ("replay", "--digests", "bad.jsonl"),
)


def digest(*arguments: str) -> Outcome:
    return proxyctl(*(("digest",) if arguments[0] != "replay" else ()), *arguments)


def named(arguments: tuple[str, ...]) -> str:
    return " ".join(arguments)


@pytest.fixture
def shop(sandbox_project: Project) -> Project:
    """A project with a sound snapshot."""
    sandbox_project.write(FILES)
    table = DigestTable("px1", "px1", "2.7.1", 100, [SEEN])
    write_digest_file(table, sandbox_project.folder / "sound.jsonl")
    return sandbox_project


@pytest.mark.parametrize(("arguments", "says"), AT_INSTANCE.items(), ids=map(named, AT_INSTANCE))
def test_empty_statistics_are_no_error(
    shop: Project, sandbox_instance: Instance, arguments: tuple[str, ...], says: str
) -> None:
    fill(sandbox_instance, [])
    found = digest(*arguments)
    assert found.code == 0, found.text
    assert says in found.text


@pytest.mark.parametrize("arguments", AT_INSTANCE, ids=named)
def test_one_statement_names_the_statistics(
    shop: Project, sandbox_instance: Instance, arguments: tuple[str, ...]
) -> None:
    fill(sandbox_instance, [SEEN])
    found = digest(*arguments, "--debug")
    assert found.code == 0, found.text
    assert sum(TABLE in line for line in found.err.splitlines()) == 1
    assert f"{TABLE}_reset" not in found.err


@pytest.mark.parametrize("arguments", list(AT_INSTANCE)[:-1], ids=named)
def test_digests_that_are_switched_off_are_said_with_the_variable(
    shop: Project, sandbox_instance: Instance, arguments: tuple[str, ...]
) -> None:
    fill(sandbox_instance, [SEEN])
    sandbox_instance.execute("SET mysql-query_digests='false'")
    sandbox_instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    found = digest(*arguments)
    assert (found.code, "mysql-query_digests is" in found.text) == (0, True), found.text


@pytest.mark.parametrize("arguments", OF_FILES, ids=named)
def test_a_damaged_snapshot_is_an_error_that_names_it(
    shop: Project, arguments: tuple[str, ...]
) -> None:
    """Each kind of damage: `tests/unit/test_digest_file.py`."""
    Path("bad.jsonl").write_bytes(Path("sound.jsonl").read_bytes()[:-20])
    found = digest(*arguments)
    assert found.code == 1, found.text
    assert found.err.startswith("error: bad.jsonl")
    assert found.out == ""
    assert not Path("report.html").exists()
