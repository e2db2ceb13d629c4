"""Snapshots of the statistics, and what two of them say; on the sandbox, whose counters we set."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from proxyctl.stats.model import SeenDigest
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import Instance
from tests.support.snapshot_files import change_header

READ = SeenDigest(
    10, "shop", "app", "", "0x00000000000000AA", "SELECT ?", 100, 1000, 1090, 10**6, 1, 50
)
WRITE = READ._replace(
    digest="0x00000000000000BB", digest_text="UPDATE t", count_star=50, sum_time=500, max_time=20
)


class Shop:
    """An instance whose statistics a test writes."""

    def __init__(self, project: Project, instance: Instance) -> None:
        assert instance.sandbox is not None
        self._sandbox = instance.sandbox
        self.folder = project.folder
        self._clock = 1000

    def has_seen(self, *rows: SeenDigest, uptime: int | None = None) -> None:
        self._sandbox.stats["stats_mysql_query_digest"] = [tuple(row) for row in rows]

    def snapshot(self, name: str, *rows: SeenDigest) -> None:
        self.has_seen(*rows)
        found = proxyctl("digest", "snapshot", "-o", name)
        assert found.code == 0, found.text
        self._clock += 100  # as if time had gone by
        change_header(self.folder / name, taken_at=self._clock)


@pytest.fixture
def shop(sandbox_project: Project, sandbox_instance: Instance) -> Shop:
    return Shop(sandbox_project, sandbox_instance)


def diff(*arguments: str) -> Outcome:
    return proxyctl("digest", "diff", *arguments)


def grown(row: SeenDigest, calls: int, time_us: int, **other: object) -> SeenDigest:
    """The counters of a digest after so many calls more."""
    return row._replace(
        count_star=row.count_star + calls,
        sum_time=row.sum_time + time_us,
        last_seen=int(time.time()),
        **other,
    )


def verdicts(found: Outcome) -> dict[str, str]:
    assert found.code == 0, found.text
    return {one["digest"][-2:]: one["verdict"] for one in found.json["digests"]}


def test_a_snapshot_is_a_small_file_for_its_owner(shop: Shop) -> None:
    shop.has_seen(READ, WRITE)
    found = proxyctl("digest", "snapshot")
    assert found.code == 0, found.text
    [path] = shop.folder.glob("digests-127.0.0.1-*.jsonl.gz")
    assert f"2 digests saved to {path.name}" in found.err
    assert path.stat().st_mode & 0o777 == 0o600
    header, *rows = gzip.decompress(path.read_bytes()).splitlines()
    assert json.loads(header)["count"] == 2
    assert [json.loads(row) for row in rows] == [list(READ), list(WRITE)]


@pytest.mark.parametrize(
    "command", [("snapshot",), ("reset", "--auto-approve")], ids=["snapshot", "reset"]
)
def test_an_earlier_snapshot_is_not_lost(shop: Shop, command: Sequence[str]) -> None:
    shop.snapshot("kept.gz", READ)
    held = (shop.folder / "kept.gz").read_bytes()
    shop.has_seen(READ, WRITE)
    found = proxyctl("digest", *command, "-o", "kept.gz", "--debug")
    assert (found.code, found.out) == (3, "")
    assert "error: kept.gz: already exists" in found.err
    assert "fix: choose another file with -o, or remove this one" in found.err
    assert "stats_mysql_query_digest" not in found.err
    assert (shop.folder / "kept.gz").read_bytes() == held


@pytest.mark.parametrize("place", ["missing/file", "."])
def test_an_unwritable_place_is_refused_before_the_statistics_are_read(
    shop: Shop, place: str
) -> None:
    found = proxyctl("digest", "snapshot", "-o", place, "--debug")
    assert found.code == 1
    assert "cannot be written" in found.err
    assert "stats_mysql_query_digest" not in found.err


def test_what_became_of_each_digest(shop: Shop) -> None:
    gone = WRITE._replace(digest="0x00000000000000CC", digest_text="DELETE FROM t")
    new = WRITE._replace(digest="0x00000000000000DD", digest_text="SELECT new")
    shop.snapshot("before.gz", READ, WRITE, gone)
    shop.snapshot("after.gz", grown(READ, 100, 100_000), grown(WRITE, 50, 2_000), gone, new)
    found = diff("before.gz", "after.gz", "--format", "json")
    assert verdicts(found) == {"AA": "faster", "BB": "slower", "CC": "vanished", "DD": "new"}
    assert found.json["remarks"] == []
    [read] = [one for one in found.json["digests"] if one["digest"].endswith("AA")]
    assert (read["before"]["average"], read["after"]["average"]) == (10_000, 1_000)
    assert read["after"]["count_star"] == 100
    assert read["after"]["hostgroups"] == {"10": 100}
    text = diff("before.gz", "after.gz").out
    assert "avg 10.0 ms -> 1.00 ms (-90.0%)" in text
    assert "1 new, 1 vanished, 1 slower, 1 faster" in text
    markdown = diff("--before", "before.gz", "--after", "after.gz", "--format", "markdown").out
    assert "| -90.0% | 10 | `0x00000000000000AA` | `SELECT ?` |" in markdown
    Path("proxyctl.yaml").write_text("version: 1\nhostgroups: {writer: {id: 10}}\n")
    assert "hostgroup 10 (writer)" in diff("before.gz", "after.gz").out
    assert "hostgroup 10 (writer)" in diff("before.gz", "after.gz", "--group", "hostgroup").out


def test_without_after_it_is_the_instance_now(shop: Shop) -> None:
    shop.snapshot("before.gz", READ)
    shop.has_seen(grown(READ, 100, 100_000))
    for arguments in (("before.gz",), ("--before", "before.gz")):
        assert verdicts(diff(*arguments, "--format", "json")) == {"AA": "faster"}


def test_queries_that_go_to_another_hostgroup(shop: Shop) -> None:
    shop.snapshot("before.gz", READ)
    shop.snapshot("after.gz", READ, READ._replace(hostgroup=20, count_star=90, sum_time=900_000))
    [found] = diff("before.gz", "after.gz", "--format", "json").json["digests"]
    assert found["moved"]
    assert (found["before"]["hostgroups"], found["after"]["hostgroups"]) == (
        {"10": 100},
        {"20": 90},
    )
    assert "moved" in (text := diff("before.gz", "after.gz").out)
    assert "hostgroup 10 -> 20" in text


def test_put_together_by_other_columns(shop: Shop) -> None:
    shop.snapshot("before.gz", READ, WRITE)
    shop.snapshot("after.gz", grown(READ, 100, 100_000), grown(WRITE, 50, 2_000))
    [found] = diff("before.gz", "after.gz", "--group", "schema,user", "--format", "json").json[
        "digests"
    ]
    assert (found["schemaname"], found["username"]) == ("shop", "app")
    assert "digest_text" not in found
    assert found["after"]["count_star"] == 150


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "BEFORE is missing"),
        (("a", "b", "c"), "unexpected argument: c"),
        (("a", "b", "--group", "planet"), "--group planet: no such column"),
    ],
)
def test_wrong_command_lines(shop: Shop, arguments: Sequence[str], reason: str) -> None:
    found = diff(*arguments)
    assert found.code == 64
    assert reason in found.err
