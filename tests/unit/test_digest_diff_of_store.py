"""digest diff --store: what a store holds of a time against what it holds of the time before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proxyctl.stats.model import Group, SeenDigest
from proxyctl.stats.store.top import read_top_of_store
from proxyctl.stats.store.window import StoreWindow
from proxyctl.stats.top.model import TopOptions
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.digests.seen import seen_digest
from tests.support.digests.stored import HOUR_S, add_hour, change_store

STORE = Path("digests.db")
NOON = 1_795_867_200
"""2026-11-28 12:00:00 UTC."""
SAME, SLOW, FAST, MOVED, NEW, GONE = (
    f"SELECT {name} FROM t" for name in ("same", "slow", "fast", "moved", "new", "gone")
)


def grown(
    query: str, calls: int, average: int, *, hostgroup: int = 10, longest: int = 0
) -> SeenDigest:
    return seen_digest(
        query,
        hostgroup,
        **{"count_star": calls, "sum_time": calls * average},
        **{"max_time": longest or 2 * average},
    )


@pytest.fixture
def two_hours(offline: Project) -> Project:
    """The hours until 11 and until 12, in which px1 and px2 counted."""
    before = [grown(query, 100, 1000) for query in (SAME, SLOW, MOVED, GONE)]
    after = [grown(query, 100, 1000) for query in (SAME, NEW)]
    after += [grown(SLOW, 100, 3000), grown(MOVED, 100, 1000, hostgroup=20)]
    # A call of an hour, long ago, says nothing about the calls of these hours.
    for rows, average in ((before, 3000), (after, 1000)):
        rows.append(grown(FAST, 100, average, longest=HOUR_S * 10**6))
    for at, rows in ((NOON - HOUR_S, before), (NOON, after)):
        add_hour(STORE, "px1", at, rows)
        add_hour(STORE, "px2", at, [grown(SAME, 50, 1000)])
    return offline


def diff(*arguments: str, code: int = 0) -> Outcome:
    found = proxyctl(
        *("digest", "diff", "--store", str(STORE), "--until", "2026-11-28T12:00"),
        *("--since", "2026-11-28T11:00", *arguments),
    )
    assert found.code == code, found.text
    return found


def by_text(found: Outcome) -> dict[str, Any]:
    return {digest["digest_text"]: digest for digest in found.json["digests"]}


def test_each_digest_is_compared_with_the_time_before(two_hours: Project) -> None:
    found = diff("--format", "json")
    digests = by_text(found)
    assert {text: digest["verdict"] for text, digest in digests.items()} == {
        SAME: "same",
        SLOW: "slower",
        FAST: "faster",
        MOVED: "same",
        NEW: "new",
        GONE: "vanished",
    }
    assert [text for text, digest in digests.items() if digest["moved"]] == [MOVED]
    assert digests[MOVED]["before"]["hostgroups"] == {"10": 100}
    assert digests[MOVED]["after"]["hostgroups"] == {"20": 100}
    same = digests[SAME]
    assert (same["instances"], same["after"]["count_star"]) == (["px1", "px2"], 150)
    assert same["after"]["queries_per_s"] == round(150 / HOUR_S, 6)
    assert digests[NEW]["instances"] == ["px1"]
    counts = found.json["counts"]
    assert (counts["digests"], counts["moved"], counts["slower"]) == (6, 1, 1)


def test_the_sums_are_those_of_each_time(two_hours: Project) -> None:
    found = diff("--format", "json").json
    for side, until in (("before", NOON - HOUR_S), ("after", NOON)):
        window = StoreWindow(STORE, until - HOUR_S, until)
        assert (found[side]["since"], found[side]["until"]) == (window.since, window.until)
        total = read_top_of_store(window, TopOptions(groups=(Group.DIGEST,))).total
        sums = found[side]["count_star"], found[side]["sum_time"]
        assert sums == (total.count_star, total.sum_time)
        parts = [instance[side]["sum_time"] for instance in found["instances"]]
        assert (len(parts), sum(parts)) == (2, total.sum_time)
    assert [instance["after"]["seconds"] for instance in found["instances"]] == [HOUR_S, HOUR_S]


def test_the_text_names_the_store_and_both_times(two_hours: Project) -> None:
    lines = diff("--limit", "1").out.splitlines()
    assert lines[0] == "digests.db  px1, px2"
    head = [" ".join(line.split()) for line in lines[2:6]]
    assert head[1] == "from 2026-11-28 10:00:00 UTC 2026-11-28 11:00:00 UTC"
    assert head[2] == "until 2026-11-28 11:00:00 UTC 2026-11-28 12:00:00 UTC"
    assert head[3] == "counted for 1.00 h 1.00 h"
    assert lines[-1] == "Listed by change. 5 more (--limit lists more)."


def test_a_group_may_be_an_instance_and_one_may_be_chosen(two_hours: Project) -> None:
    found = diff("--group", "instance,hostgroup", "--format", "json").json["digests"]
    calls = {
        (digest["instance"], digest["hostgroup"]): digest["after"]["count_star"] for digest in found
    }
    assert calls == {("px1", 10): 400, ("px1", 20): 100, ("px2", 10): 50}
    [same] = diff("--instance", "px2", "--format", "json").json["digests"]
    assert (same["digest_text"], same["after"]["count_star"]) == (SAME, 50)
    refused = diff("--instance", "px3", code=64)
    assert "--instance px3: no such instance in digests.db" in refused.err


def test_each_rate_is_over_the_time_that_was_collected(two_hours: Project) -> None:
    change_store(STORE, f"DELETE FROM period WHERE instance = 2 AND at = {NOON}")
    assert "px2: collected only before this period, so left out" in diff().out
    change_store(STORE, f"INSERT INTO period VALUES (2, {NOON}, 600, 1)")
    found = diff("--format", "json")
    same = by_text(found)[SAME]["after"]
    assert same["queries_per_s"] == round(100 / HOUR_S + 50 / 600, 6)
    assert [instance["is_cleared"] for instance in found.json["instances"]] == [False, True]
    note, gap = found.json["notes"]
    assert note.startswith("px2: the counters were cleared in between")
    assert gap == "px2: only 16% of this period was collected"


def test_against_gives_another_length_to_the_time_before(two_hours: Project) -> None:
    add_hour(STORE, "px1", NOON - 2 * HOUR_S, [grown(NEW, 100, 1000)])
    found = diff("--against", "2h", "--format", "json")
    assert found.json["before"]["since"] == NOON - 3 * HOUR_S
    assert by_text(found)[NEW]["verdict"] == "same"
    refused = diff("--against", "1d", "--since", "2026-11-28T08:00", code=1)
    assert "nothing was counted from 2026-11-27T08:00:00Z to 2026-11-28T08:00:00Z" in refused.err


def test_options_that_do_not_go_together(offline: Project) -> None:
    for arguments, message in {
        ("monday.gz", "--against", "1h"): "--against needs --store",
        ("monday.gz", "--since", "1h"): "--since needs --store",
        ("--store", "x"): "--since is missing",
        ("--store", "x", "--since", "1h", "monday.gz"): "leave out the snapshots",
        ("--store", "x", "--since", "1h", "--all"): "leave out --all",
        ("--store", "x", "--since", "1h", "--host", "px1"): "leave out --host",
        ("monday.gz", "--group", "instance"): "--group instance needs --all or --store",
    }.items():
        found = proxyctl("digest", "diff", *arguments)
        assert (found.code, message in found.err) == (64, True), found.text
