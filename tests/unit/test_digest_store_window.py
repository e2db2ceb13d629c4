"""A time in a store: the clocks that bound it, and what a store lacks of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.digests.seen import seen_digest
from tests.support.digests.stored import HOUR_S, add_hour, change_store

STORE = Path("digests.db")


@pytest.fixture(autouse=True)
def folder(offline: Project) -> Project:
    return offline


def calls(*arguments: str) -> int:
    found = proxyctl("digest", "top", "--store", str(STORE), "--format", "json", *arguments)
    assert found.code == 0, found.text
    return int(found.json["total"]["count_star"])


def test_an_instance_whose_clock_is_ahead_is_read_to_its_end() -> None:
    now = int(time.time())
    for name, at, count in (("px1", now - 60, 600), ("px3", now + 600, 60)):
        add_hour(STORE, name, at, [seen_digest("SELECT 1", count_star=count)])
    assert calls() == calls("--since", "2h") == 660
    assert calls("--since", "2h", "--until", "0s") == 600


NOON = 1_795_867_200
"""2026-11-28 12:00:00 UTC."""
DAY = ("--since", "2026-11-27T12:00", "--until", "2026-11-28T12:00")


def add_hours(name: str, hours: range, count: int = 100) -> None:
    """Let an instance count in these hours before noon."""
    for hour in hours:
        row = seen_digest("SELECT 1", count_star=count, sum_time=count * 1000)
        add_hour(STORE, name, NOON - hour * HOUR_S, [row])


def notes(*arguments: str) -> list[str]:
    found = proxyctl("digest", *arguments, "--store", str(STORE), "--format", "json")
    assert found.code in (0, 2), found.text
    return list(found.json["notes"])


def test_what_a_store_lacks_of_a_time_is_said() -> None:
    add_hours("px1", range(24))
    for name in ("gone1", "gone2"):
        add_hours(name, range(30, 32))
    add_hours("down", range(20, 30))
    add_hours("young", range(6))
    add_hour(STORE, "first", NOON, [])
    change_store(
        STORE,
        "DELETE FROM period WHERE instance = (SELECT id FROM instance WHERE name = 'first')",
        "UPDATE instance SET collections = 1 WHERE name = 'first'",
    )
    lacks = [
        "down: only 16% of this period was collected",
        "young: first collected in this period, so only 25% of it was collected",
        "gone1, gone2: not collected in this period",
        "first: collected only once so far, which does not count anything yet",
    ]
    assert (
        notes(
            "top",
            *DAY,
        )
        == lacks
    )
    report = proxyctl("digest", "report", *DAY, "--store", str(STORE), "-o", "report.html")
    assert report.code == 0, report.text
    assert all(note in Path("report.html").read_text(encoding="utf-8") for note in lacks)
    assert notes("top", *DAY, "--instance", "px1") == []
    assert notes("top", *DAY, "--instance", "down") == lacks[:1]


def test_a_last_collection_some_time_ago_is_no_gap() -> None:
    add_hours("px1", range(1, 8))
    assert notes("top", "--since", "2026-11-28T06:00", "--until", "2026-11-28T11:50") == []
    add_hours("px2", range(4, 8))
    assert notes("top") == ["px2: only 57% of this period was collected"]


def test_an_instance_under_another_address_has_no_gap() -> None:
    add_hours("px1", range(12, 24))
    add_hours("moved", range(12))
    change_store(STORE, "UPDATE instance SET name = 'px1' WHERE name = 'moved'")
    assert notes("top", *DAY) == []


def test_many_instances_that_are_gone_are_counted() -> None:
    add_hours("px1", range(2))
    for number in range(12):
        add_hours(f"pod{number:02}", range(30, 31))
    [note] = notes("top", "--since", "2026-11-28T10:00", "--until", "2026-11-28T12:00")
    assert note.startswith("pod00, pod01, ")
    assert note.endswith(", pod09 and 2 more: not collected in this period")


def test_alike_notes_stand_once() -> None:
    for name in ("px1", "px2"):
        add_hours(name, range(4))
    change_store(STORE, "UPDATE period SET is_cleared = 1")
    arguments = ("--since", "2026-11-28T10:00", "--until", "2026-11-28T12:00")
    for command in (("top",), ("diff",)):
        [note] = notes(*command, *arguments)
        assert note.startswith("px1, px2: the counters were cleared in between")


def test_a_comparison_says_what_each_time_lacks() -> None:
    add_hours("px1", range(48))
    add_hours("down", range(1, 25))
    add_hours("gone", range(60, 62))
    assert notes(
        "diff",
        *DAY,
    ) == [
        "down: first collected in the period before, so only 4% of it was collected",
        "gone: not collected in this period or the one before",
    ]


def test_a_time_without_a_collection_names_one_that_fits() -> None:
    add_hours("px1", range(4, 10))
    add_hours("pxB", range(30, 32))
    where = "digests.db: nothing was counted"
    for arguments, message, fix in (
        (
            ("top", "--since", "2026-11-28T10:00"),
            f"{where} from 2026-11-28T10:00:00Z to ",
            "the store covers 2026-11-27T04:00:00Z to 2026-11-28T08:00:00Z",
        ),
        (
            ("top", *DAY, "--instance", "pxB"),
            f"{where} at pxB from 2026-11-27T12:00:00Z to 2026-11-28T12:00:00Z",
            "pxB: the store covers 2026-11-27T04:00:00Z to 2026-11-27T06:00:00Z",
        ),
        (
            ("regressions", *DAY, "--instance", "px1"),
            f"{where} at px1 from 2026-11-20T12:00:00Z to 2026-11-27T12:00:00Z",
            "px1: the store covers 2026-11-28T02:00:00Z to 2026-11-28T08:00:00Z; for example"
            " --since 2026-11-28T05:00:00Z --against 3h",
        ),
    ):
        found = proxyctl("digest", *arguments, "--store", str(STORE))
        assert (found.code, f"error: {message}" in found.err) == (1, True), found.text
        assert f"fix: {fix}\n" in found.err, found.text
    compared = ("--since", "2026-11-28T05:00:00Z", "--against", "3h", "--instance", "px1")
    assert notes("regressions", *compared, "--until", "2026-11-28T08:00") == []


def test_a_young_store_needs_more_collections_for_a_comparison() -> None:
    add_hours("px1", range(1))
    found = proxyctl("digest", "regressions", "--store", str(STORE), *DAY)
    assert "; collect again: two periods need two collections after the first\n" in found.err
