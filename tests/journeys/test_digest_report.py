"""`digest report`: from files of snapshots and from an instance."""

from __future__ import annotations

import stat

from proxyctl.stats.digest_file import write_digest_file
from proxyctl.stats.model import DigestTable
from tests.browser.shop_digests import shop_snapshots
from tests.journeys.test_replay import SEEN
from tests.support.cli import Outcome, Project, proxyctl


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


def test_a_report_does_not_overwrite_what_it_is_made_of(offline: Project) -> None:
    files = shop_snapshots(offline.folder)
    before = files[0].read_bytes()
    done = proxyctl("digest", "report", str(files[1]), "-o", files[0].name, str(files[0]))
    assert (done.code, files[0].read_bytes()) == (1, before)
    assert "the report reads this snapshot" in done.err


def test_snapshots_that_hardly_belong_together_are_said(offline: Project) -> None:
    for number, (address, version) in enumerate([("a:6032", "2.5.5"), ("b:6032", "2.7.1")]):
        table = DigestTable("px", address, version, 1000 + number, SEEN)
        write_digest_file(table, offline.folder / f"{number}.jsonl")
    done = report("0.jsonl", "1.jsonl")
    assert done.code == 0
    assert "different addresses, a:6032, b:6032" in done.err
    assert "different versions of ProxySQL: 2.5.5, 2.7.1" in page(offline)


def test_what_cannot_be_is_refused_and_leaves_no_page(offline: Project) -> None:
    file = str(shop_snapshots(offline.folder, 1)[0])
    same = report(file, file)
    assert (same.code, "two snapshots were taken in the same second" in same.err) == (64, True)
    for arguments, message in (
        (["nowhere.jsonl"], "no such file"),
        (["-o", "no/where.html", file], "no/where.html: cannot be written: no such folder"),
        (["-o", ".", file], "it is a folder"),
    ):
        done = report(*arguments)
        assert (done.code, message in done.err) == (1, True), done.text
    assert not (offline.folder / "report.html").exists()
    assert proxyctl("digest", "report", file).code == 64
