"""Snapshots of the statistics, compared and reported: `golden/pages/digests.md` has more."""

from __future__ import annotations

import gzip
import json
import stat
import time
from collections.abc import Sequence

import pytest

from proxyctl.stats.digest_file import write_digest_file
from proxyctl.stats.model import DigestTable, SeenDigest
from tests.browser.shop_digests import shop_snapshots
from tests.journeys.test_replay import SEEN
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.seen_digests import change_header, fill
from tests.support.servers import Instance

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
    change_header(shop.folder / "before.gz", taken_at=1100)
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
    assert mode == 0o600  # queries tell what an application does


def test_snapshots_that_hardly_belong_together_are_said(offline: Project) -> None:
    for number, (address, version) in enumerate([("a:6032", "2.5.5"), ("b:6032", "2.7.1")]):
        table = DigestTable("px", address, version, 1000 + number, SEEN)
        write_digest_file(table, offline.folder / f"{number}.jsonl")
    done = report("0.jsonl", "1.jsonl")
    assert done.code == 0
    assert "different addresses, a:6032, b:6032" in done.err
    assert "different versions of ProxySQL: 2.5.5, 2.7.1" in page(offline)


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
