"""Snapshots of the statistics, compared and reported: `golden/pages/digests.md` has more."""

from __future__ import annotations

import gzip
import json
import stat
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from proxyctl.stats.digest_file import write_digest_file
from proxyctl.stats.model import DigestTable, SeenDigest
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.digests.seen import SEEN, TABLE, change_header, fill
from tests.support.digests.shop import shop_snapshots
from tests.support.servers.instances import Instance

READ = SeenDigest(
    10, "shop", "app", "", "0x00000000000000AA", "SELECT ?", 100, 1000, 1090, 10**6, 1, 50
)
WRITE = READ._replace(
    digest="0x00000000000000BB", digest_text="UPDATE t", count_star=50, sum_time=500, max_time=20
)


@pytest.fixture
def shop(sandbox_project: Project, sandbox_instance: Instance) -> Project:
    """An instance that has seen READ."""
    fill(sandbox_instance, [READ])
    return sandbox_project


def test_a_snapshot_is_a_small_file_for_its_owner(
    shop: Project, sandbox_instance: Instance
) -> None:
    fill(sandbox_instance, [READ, WRITE])
    found = proxyctl("digest", "snapshot")
    assert found.code == 0, found.text
    [path] = shop.folder.glob("digests-127.0.0.1-*.jsonl.gz")
    assert f"2 entries saved to {path.name}" in found.err
    assert path.stat().st_mode & 0o777 == 0o600
    header, *rows = gzip.decompress(path.read_bytes()).splitlines()
    assert json.loads(header)["count"] == 2
    assert [json.loads(row) for row in rows] == [list(READ), list(WRITE)]


@pytest.mark.parametrize("command", [("snapshot",), ("reset", "--auto-approve")])
def test_an_earlier_snapshot_is_not_lost(shop: Project, command: Sequence[str]) -> None:
    kept = shop.folder / "kept.gz"
    assert proxyctl("digest", "snapshot", "-o", "kept.gz").code == 0
    held = kept.read_bytes()
    found = proxyctl("digest", *command, "-o", "kept.gz", "--debug")
    assert (found.code, found.out) == (3, "")
    assert "error: kept.gz: already exists" in found.err
    assert "fix: choose another file with -o, or remove this one" in found.err
    assert "stats_mysql_query_digest" not in found.err
    assert kept.read_bytes() == held


@pytest.mark.parametrize("command", [("snapshot",), ("reset", "--auto-approve")])
@pytest.mark.parametrize("place", ["missing/file", "."])
def test_an_unwritable_place_is_refused_before_the_statistics_are_read(
    shop: Project, command: Sequence[str], place: str
) -> None:
    found = proxyctl("digest", *command, "-o", place, "--debug")
    assert found.code == 1
    assert "cannot be written" in found.err
    assert "stats_mysql_query_digest" not in found.err


def test_without_after_it_is_the_instance_now(shop: Project, sandbox_instance: Instance) -> None:
    assert proxyctl("digest", "snapshot", "-o", "before.gz").code == 0
    change_header(shop.folder / "before.gz", taken_at=1100, uptime=None)
    now = READ._replace(
        count_star=200, sum_time=READ.sum_time + 100_000, last_seen=int(time.time())
    )
    fill(sandbox_instance, [now])
    for arguments in (("before.gz",), ("--before", "before.gz")):
        found = proxyctl("digest", "diff", *arguments, "--format", "json")
        [one] = found.json["digests"]
        assert one["verdict"] == "faster", found.text
        assert (one["before"]["average"], one["after"]["average"]) == (10_000, 1_000)


def report(*arguments: str) -> Outcome:
    return proxyctl("digest", "report", "-o", "report.html", *arguments)


def page(project: Project) -> str:
    return (project.folder / "report.html").read_text(encoding="utf-8")


def test_snapshots_make_a_page_with_the_load_over_time(offline: Project) -> None:
    files = shop_snapshots(offline.folder)
    done = report(*map(str, files))
    assert done.code == 0, done.text
    assert done.out == ""
    assert done.err.startswith("47 digests reported in report.html (")
    text = page(offline)
    assert "Load over time" in text
    assert "before the snapshot of 2026-09-01 08:20:00 UTC" in text
    mode = stat.S_IMODE((offline.folder / "report.html").stat().st_mode)
    assert mode == 0o600  # queries reveal what an application does


def test_snapshots_that_are_hard_to_compare_get_a_note(offline: Project) -> None:
    for number, (address, version) in enumerate([("a:6032", "2.5.5"), ("b:6032", "2.7.1")]):
        table = DigestTable("px", address, version, 1000 + number, SEEN)
        write_digest_file(table, offline.folder / f"{number}.jsonl")
    done = report("0.jsonl", "1.jsonl")
    assert done.code == 0
    assert "several addresses, a:6032, b:6032" in done.err
    assert "ProxySQL was 2.5.5 and 2.7.1" in page(offline)


def test_what_cannot_be_is_refused_and_leaves_no_page(offline: Project) -> None:
    [path] = shop_snapshots(offline.folder, 1)
    file, held = str(path), path.read_bytes()
    same = report(file, file)
    assert (same.code, "two snapshots were taken in the same second" in same.err) == (64, True)
    for arguments, message in (
        (["nowhere.jsonl"], "no such file"),
        (["-o", "no/where.html", file], "no/where.html: cannot be written: no such folder"),
        (["-o", ".", file], "it is a folder"),
        (["-o", path.name, file], "the report reads this snapshot"),
    ):
        done = report(*arguments)
        assert (done.code, message in done.err) == (1, True), done.text
    assert not (offline.folder / "report.html").exists()
    assert path.read_bytes() == held
    assert proxyctl("digest", "report", file).code == 64


# -- nothing, or nothing sound, to look at ---------------------------------------------------------


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
COUNTED = SeenDigest(
    10, "shop", "app", "", "0x1C46AE529DD5A40E", "SELECT ?", 5_000, 1, 99, 9_000, 1, 2, 0, 5_000
)
AT_INSTANCE = {
    ("top", "--rule"): "No digests",
    ("snapshot", "-o", "new.jsonl"): "0 entries saved",
    ("diff", "sound.jsonl"): "the counters were cleared in between",
    ("report", "-o", "report.html"): "0 digests reported",
    ("suggest",): "the statistics contain no digests",
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
def counted(sandbox_project: Project) -> Project:
    """A project with a valid snapshot."""
    sandbox_project.write(FILES)
    table = DigestTable("px1", "px1", "2.7.1", 100, [COUNTED])
    write_digest_file(table, sandbox_project.folder / "sound.jsonl")
    return sandbox_project


@pytest.mark.parametrize(("arguments", "message"), AT_INSTANCE.items(), ids=map(named, AT_INSTANCE))
def test_empty_statistics_are_no_error(
    counted: Project, sandbox_instance: Instance, arguments: tuple[str, ...], message: str
) -> None:
    fill(sandbox_instance, [])
    found = digest(*arguments)
    assert found.code == 0, found.text
    assert message in found.text


@pytest.mark.parametrize("arguments", AT_INSTANCE, ids=named)
def test_one_statement_names_the_statistics(
    counted: Project, sandbox_instance: Instance, arguments: tuple[str, ...]
) -> None:
    fill(sandbox_instance, [COUNTED])
    found = digest(*arguments, "--debug")
    assert found.code == 0, found.text
    assert sum(TABLE in line for line in found.err.splitlines()) == 1
    assert f"{TABLE}_reset" not in found.err


@pytest.mark.parametrize("arguments", list(AT_INSTANCE)[:-1], ids=named)
def test_a_note_names_the_variable_that_switches_digests_off(
    counted: Project, sandbox_instance: Instance, arguments: tuple[str, ...]
) -> None:
    fill(sandbox_instance, [COUNTED])
    sandbox_instance.execute("SET mysql-query_digests='false'")
    sandbox_instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    found = digest(*arguments)
    assert (found.code, "mysql-query_digests is" in found.text) == (0, True), found.text


@pytest.mark.parametrize("arguments", OF_FILES, ids=named)
def test_a_damaged_snapshot_is_an_error_that_names_it(
    counted: Project, arguments: tuple[str, ...]
) -> None:
    """`tests/unit/test_digest_file.py` has each kind of damage."""
    Path("bad.jsonl").write_bytes(Path("sound.jsonl").read_bytes()[:-20])
    found = digest(*arguments)
    assert found.code == 1, found.text
    assert found.err.startswith("error: bad.jsonl")
    assert found.out == ""
    assert not Path("report.html").exists()
