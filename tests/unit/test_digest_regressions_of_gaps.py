"""digest regressions of instances that were collected for times of different lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.digests.seen import seen_digest
from tests.support.digests.stored import HOUR_S, add_hour

STORE = Path("digests.db")
NOON = 1_795_867_200
"""2026-11-28 12:00:00 UTC."""
QUERY = "SELECT a FROM t"


@pytest.fixture(autouse=True)
def folder(offline: Project) -> Project:
    return offline


def add(name: str, hours: range, calls: int, *, average: int = 1000, rows: int = 1) -> None:
    """Let an instance run the query so often in each of these hours before noon."""
    for hour in hours:
        row = seen_digest(
            QUERY,
            **{"count_star": calls, "sum_time": calls * average, "sum_rows_sent": calls * rows},
        )
        add_hour(STORE, name, NOON - hour * HOUR_S, [row])


def regressions(*, code: int, format: str = "json", command: str = "regressions") -> Outcome:
    found = proxyctl(
        *("digest", command, "--store", str(STORE), "--format", format),
        *("--since", "2026-11-27T12:00", "--until", "2026-11-28T12:00", "--against", "1d"),
    )
    assert found.code == code, found.text
    return found


def only_digest() -> dict[str, Any]:
    [digest] = regressions(code=2).json["digests"]
    return dict(digest)


def test_idle_instances_that_were_down_make_no_regression() -> None:
    add("busy", range(48), 10_000)
    for name in ("idle1", "idle2"):
        add(name, range(23, 48), 10)  # collected in 1 of 24 hours, then as always
    found = regressions(code=0)
    assert found.json["notes"] == ["idle1, idle2: only 4% of this period was collected"]
    assert "query time +0.0%" in regressions(code=0, format="text").out


def test_more_calls_of_an_instance_with_a_gap_are_found() -> None:
    add("idle", range(48), 1000)
    add("busy", range(24, 48), 10_000)
    add("busy", range(21, 24), 30_000)
    digest = only_digest()
    assert digest["kinds"] == ["more_calls"]
    assert digest["after"]["count_star"] == 24 * 1000 + 3 * 30_000
    assert digest["before"]["queries_per_s"] == round(11_000 / HOUR_S, 6)
    assert digest["after"]["queries_per_s"] == round(31_000 / HOUR_S, 6)
    text = regressions(code=2, format="text").out
    assert "query time +181.8%" in text
    assert "3.06/s -> 8.61/s" in text


def test_an_average_weighs_each_instance_as_if_it_had_no_gap() -> None:
    add("fast", range(23, 48), 1000, average=1000, rows=1)
    add("slow", range(48), 1000, average=20_000, rows=20)
    regressions(code=0)
    [same] = regressions(code=0, command="diff").json["digests"]
    assert (same["verdict"], same["after"]["average"]) == ("same", 10_500)
    add("fast", range(22, 23), 1000, average=60_000, rows=100)
    digest = only_digest()
    assert digest["kinds"] == ["slower", "more_rows"]
    assert (digest["before"]["average"], digest["after"]["average"]) == (10_500, 25_250)
    assert digest["share_after"] == 1
