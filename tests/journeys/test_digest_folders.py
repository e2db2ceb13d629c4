"""digest snapshot --all and digest diff --all: a file of each instance, and what each counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from proxyctl.sandbox import Sandbox
from proxyctl.stats.digest_file import read_digest_file
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import ended, listed
from tests.support.digests.seen import READS, TABLE, WRITES, change_header, seen_digest

DOWN = "{name: 'a/b', host: 127.0.0.1, port: 1}"
BEGAN, BEFORE = 1000, 1100


def _counted(query: str, calls: int, average: int, *, since: int = BEGAN) -> tuple[object, ...]:
    row = seen_digest(
        query,
        **{"count_star": calls, "sum_time": calls * average, "max_time": 2 * average},
        **{"first_seen": since, "last_seen": since},
    )
    return tuple(row)


@pytest.fixture
def fleet(offline: Project) -> Iterator[list[Sandbox]]:
    """Three sandboxes that have counted reads, in a project that lists them."""
    with ExitStack() as stack:
        sandboxes = [stack.enter_context(Sandbox()) for _ in range(3)]
        for number, sandbox in enumerate(sandboxes, 1):
            sandbox.stats[TABLE] = [_counted(READS, 100 * number, 10)]
        offline.write("version: 1\n" + listed([sandbox.port for sandbox in sandboxes]))
        yield sandboxes


def saved(project: Project, name: str, moment: int) -> None:
    """Save a snapshot of all instances, as if it were taken at this moment."""
    found = proxyctl("digest", "snapshot", "--all", "-o", name)
    assert found.code == 0, found.text
    for path in (project.folder / name).iterdir():
        change_header(path, taken_at=moment, uptime=moment - BEGAN)


def diff(*arguments: str) -> Outcome:
    return proxyctl("digest", "diff", "--all", *arguments)


def test_each_instance_has_a_file(offline: Project, fleet: list[Sandbox]) -> None:
    ports = [sandbox.port for sandbox in fleet]
    offline.write("version: 1\n" + listed(ports, DOWN))
    found = proxyctl("digest", "snapshot", "--all", "-o", "monday")
    ended(found, 1, "cannot connect to 127.0.0.1:1", "1 entry saved to monday/px2.jsonl.gz")
    assert found.err.endswith("Fleet of 4 instances: 3 saved, 1 not read: a/b.\n")
    paths = sorted((offline.folder / "monday").iterdir())
    assert [path.name for path in paths] == ["px1.jsonl.gz", "px2.jsonl.gz", "px3.jsonl.gz"]
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}
    table = read_digest_file(paths[1])
    assert (table.name, [row.count_star for row in table.rows]) == ("px2", [200])
    ended(proxyctl("digest", "snapshot", "--all", "-o", "monday"), 3, "monday: not empty")
    ended(proxyctl("digest", "snapshot", "--all"), 64, "needs -o FOLDER")


def test_growth_is_that_of_each_instance(offline: Project, fleet: list[Sandbox]) -> None:
    saved(offline, "before", BEFORE)
    fleet[0].stats[TABLE] = [_counted(READS, 100 + 50, 10)]
    # px2 was restarted 50 seconds before AFTER, and has counted more than before by now.
    fleet[1].stats[TABLE] = [_counted(READS, 300, 10, since=1150)]
    fleet[2].stats[TABLE] = [
        _counted(READS, 300, 10),
        _counted(WRITES, 40, 2, since=1120),
    ]
    saved(offline, "after", 1200)
    found = diff("before", "after", "--format", "json")
    assert found.code == 0, found.text
    reads, writes = _by_text(found)
    assert reads["before"]["count_star"] == 100 + 200 + 300
    assert reads["after"]["count_star"] == 50 + 300
    assert reads["after"]["sum_time"] == 3500
    assert reads["before"]["queries_per_s"] == 1 + 2 + 3
    assert reads["after"]["queries_per_s"] == 50 / 100 + 300 / 50
    assert (reads["instances"], writes["instances"]) == (["px1", "px2", "px3"], ["px3"])
    assert (writes["verdict"], writes["before"]["count_star"]) == ("new", 0)
    instances = found.json["instances"]
    assert [instance["is_cleared"] for instance in instances] == [False, True, False]
    assert [instance["after"]["seconds"] for instance in instances] == [100, 50, 100]
    assert found.json["after"]["count_star"] == 390
    [note] = found.json["notes"]
    assert note.startswith("px2: the counters were cleared in between")


def _by_text(found: Outcome) -> list[dict[str, Any]]:
    digests: list[dict[str, Any]] = found.json["digests"]
    return sorted(digests, key=lambda digest: digest["digest_text"])


def test_the_text_names_instances_and_times(offline: Project, fleet: list[Sandbox]) -> None:
    saved(offline, "before", BEFORE)
    fleet[0].stats[TABLE].append(_counted(WRITES, 40, 2, since=1120))
    fleet[1].stats[TABLE] = [_counted(READS, 300, 30, since=1150)]
    saved(offline, "after", 1200)
    lines = diff("before", "after").out.splitlines()
    assert lines[0] == "3 instances: px1, px2, px3"
    assert any(
        line.split()[:2] == ["counted", "for"] and "50.0 s to 1.67 min" in line for line in lines
    )
    assert any(line.endswith("hostgroup 10  on px1") for line in lines)
    assert sum("  on px" in line for line in lines) == 1


def test_a_group_may_be_an_instance(offline: Project, fleet: list[Sandbox]) -> None:
    saved(offline, "before", BEFORE)
    fleet[2].stats[TABLE] = [_counted(READS, 400, 10)]
    found = diff("before", "--group", "instance,digest", "--format", "json")
    changed = {
        digest["instance"]: digest["after"]["count_star"] for digest in found.json["digests"]
    }
    assert changed == {"px1": 0, "px2": 0, "px3": 100}
    ended(proxyctl("digest", "diff", "x", "--group", "instance"), 64, "needs --all")


def test_after_is_by_default_all_instances_now(offline: Project, fleet: list[Sandbox]) -> None:
    saved(offline, "before", BEFORE)
    (offline.folder / "before" / "px1.jsonl.gz").unlink()
    change_header(offline.folder / "before" / "px3.jsonl.gz", name="gone")
    fleet[1].stats[TABLE] = [_counted(READS, 600, 20)]
    ports = [sandbox.port for sandbox in fleet]
    offline.write("version: 1\n" + listed(ports, DOWN))
    found = diff("before", "--format", "json")
    ended(found, 1, "cannot connect to 127.0.0.1:1")
    assert [instance["after"]["name"] for instance in found.json["instances"]] == ["px2"]
    assert [instance["name"] for instance in found.json["failed"]] == ["a/b"]
    assert found.json["digests"][0]["after"]["count_star"] == 400
    assert found.json["notes"] == [
        "gone: not in AFTER, so left out",
        "px1, px3: not in BEFORE, so left out",
    ]


def test_other_digest_variables_are_named(offline: Project, fleet: list[Sandbox]) -> None:
    saved(offline, "before", BEFORE)
    saved(offline, "after", 1200)
    change_header(
        offline.folder / "after" / "px3.jsonl.gz",
        version="3.0.3",
        variables={"mysql-query_digests": "false"},
    )
    notes = diff("before", "after", "--format", "json").json["notes"]
    assert any(note.startswith("px3: ProxySQL was 2.7.1-sandbox and 3.0.3") for note in notes)
    assert any("ProxySQL is 2.7.1-sandbox on px1, px2; 3.0.3 on px3" in note for note in notes)


def test_what_is_no_folder_of_snapshots_is_refused(offline: Project, fleet: list[Sandbox]) -> None:
    saved(offline, "before", BEFORE)
    ended(diff("nowhere"), 1, "nowhere: no such file", "digest snapshot --all")
    ended(diff("before/px1.jsonl.gz"), 1, "a file; with --all this must be a folder")
    ended(diff(), 64, "BEFORE is missing")
    ended(diff("before", "before"), 64, "px1: AFTER was not taken later than BEFORE")
    ended(proxyctl("digest", "diff", "before", "before"), 64, "before: a folder", "with --all")
    (offline.folder / "empty").mkdir()
    ended(diff("empty"), 1, "empty: no files with digests")
    change_header(offline.folder / "before" / "px1.jsonl.gz", name="px3")
    ended(diff("before"), 1, "before/px3.jsonl.gz: another file in before also has the digests")
    saved(offline, "after", 1200)
    for name in ("px1", "px2", "px3"):
        change_header(offline.folder / "before" / f"{name}.jsonl.gz", name=f"old-{name}")
    ended(diff("before", "after"), 64, "no instance is in both BEFORE and AFTER")
    (offline.folder / "before" / "notes.txt").write_text("monday\n")
    ended(diff("before", "after"), 1, "before/notes.txt: not a file with digests")
