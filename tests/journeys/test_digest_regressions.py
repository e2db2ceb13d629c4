"""digest regressions: a time in a store against the time before it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.digests.seen import seen_digest
from tests.support.digests.stored import CountingSandbox, add_hour, age
from tests.support.servers.instances import Instance

STORE = Path("digests.db")
HOUR_S = 3600
SAME, SLOW, OFTEN, WIDE = (f"SELECT {name} FROM t" for name in ("same", "slow", "often", "wide"))
NEW, GONE, RARE = "SELECT new FROM t", "SELECT gone FROM t", "SELECT rare FROM t"


def collect() -> None:
    found = proxyctl("digest", "collect", "--store", str(STORE))
    assert found.code == 0, found.text


def regressions(*arguments: str, code: int = 2) -> Outcome:
    found = proxyctl("digest", "regressions", "--store", str(STORE), *arguments)
    assert found.code == code, found.text
    return found


@pytest.fixture
def history(sandbox_project: Project, sandbox_instance: Instance) -> CountingSandbox:
    """An hour two days ago and an hour now, in which some queries changed."""
    shop = CountingSandbox(sandbox_instance)
    shop.run("SELECT begin FROM t")
    collect()
    for query in (SAME, SLOW, OFTEN, WIDE, GONE):
        shop.run(query, 100, 10_000)
    shop.run(RARE, 1, 10_000)
    collect()
    age(STORE, 2 * 24 * HOUR_S)
    shop.run(SAME, 100, 10_000)
    shop.run(SLOW, 100, 15_000)
    shop.run(OFTEN, 300, 10_000)
    shop.run(WIDE, 100, 10_000)
    row = shop.rows[WIDE]
    shop.rows[WIDE] = row._replace(sum_rows_sent=row.sum_rows_sent + 5_000)
    shop.run(NEW, 40, 100_000)
    shop.run(RARE, 1, 1_000_000)
    collect()
    with_hours(STORE)
    return shop


def with_hours(path: Path) -> None:
    """Let every period be an hour long."""
    from tests.support.digests.stored import change_store

    change_store(path, f"UPDATE period SET seconds = {HOUR_S}")


def test_what_got_worse_is_new_or_vanished(history: CountingSandbox) -> None:
    found = regressions("--format", "json").json
    kinds = {digest["digest_text"]: digest["kinds"] for digest in found["digests"]}
    assert kinds == {
        NEW: ["new"],
        OFTEN: ["more_calls"],
        SLOW: ["slower"],
        WIDE: ["more_rows"],
        GONE: ["vanished"],
    }
    assert next(iter(kinds)) == NEW  # it costs most more
    assert [*kinds][-1] == GONE
    assert found["counts"]["digests"] == 5
    [slow] = [digest for digest in found["digests"] if digest["digest_text"] == SLOW]
    assert (slow["before"]["average"], slow["after"]["average"]) == (10_000, 15_000)
    assert slow["share_before"] == pytest.approx(1_000_000 / 5_010_000, abs=1e-6)
    for format in ("text", "markdown", "prometheus"):
        assert "FROM t" in regressions("--format", format).out


def test_thresholds(history: CountingSandbox) -> None:
    def kinds(*arguments: str) -> dict[str, int]:
        counts = regressions("--format", "json", *arguments).json["counts"]
        return {kind: count for kind, count in counts.items() if count and kind != "digests"}

    assert "slower" not in kinds("--slower", "1.6")
    assert "more_calls" not in kinds("--more-calls", "4")
    assert "more_rows" not in kinds("--more-rows", "100")
    assert kinds("--min-share", "30") == {"new": 1}
    assert kinds("--min-calls", "1")["slower"] == 1  # one slow call explains nothing
    none = regressions("--min-share", "90", code=0)
    assert "No digest got worse, appeared or vanished." in none.out


def test_a_digest_that_moved_shows_its_hostgroups(history: CountingSandbox) -> None:
    row = history.rows.pop(SLOW)
    history.rows["other"] = row._replace(hostgroup=20, count_star=500, sum_time=9 * 10**7)
    history.rows[SLOW] = row
    history.run(SAME, 1)
    collect()
    assert "hostgroup 10 -> 10, 20" in regressions().out


def test_a_time_without_a_collection_is_refused(history: CountingSandbox) -> None:
    found = regressions("--since", "30d", code=1)
    assert "nothing was counted from" in found.err
    assert "fix: the store covers " in found.err
    assert "--store is missing" in proxyctl("digest", "regressions").err


def test_an_instance_that_only_one_time_has_is_left_out(history: CountingSandbox) -> None:
    add_hour(STORE, "px2", int(time.time()), [seen_digest("SELECT other FROM t", count_star=1000)])
    found = regressions("--format", "json")
    assert "px2: collected only in this period, so left out" in found.err
    assert {digest["digest_text"] for digest in found.json["digests"]} == {
        NEW,
        OFTEN,
        SLOW,
        WIDE,
        GONE,
    }
