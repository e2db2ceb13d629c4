"""Snapshots of the statistics, and one compared with now: `golden/pages/digests.md` has more."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Sequence

import pytest

from proxyctl.stats.model import SeenDigest
from tests.support.cli import Project, proxyctl
from tests.support.seen_digests import fill
from tests.support.servers import Instance
from tests.support.snapshot_files import change_header

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


@pytest.mark.parametrize("place", ["missing/file", "."])
def test_an_unwritable_place_is_refused_before_the_statistics_are_read(
    shop: Project, place: str
) -> None:
    found = proxyctl("digest", "snapshot", "-o", place, "--debug")
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
    found = proxyctl("digest", "diff", "before.gz", "--format", "json")
    [one] = found.json["digests"]
    assert one["verdict"] == "faster", found.text
    assert (one["before"]["average"], one["after"]["average"]) == (10_000, 1_000)
