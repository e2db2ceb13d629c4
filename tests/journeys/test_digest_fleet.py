"""digest top of many instances: the sums of all, the groups of each, and one that is lost."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from proxyctl.sandbox import Sandbox
from proxyctl.stats.model import SeenDigest
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import ended, listed
from tests.support.digests.seen import LOCKS, READS, TABLE, WRITES, seen_digest

EVERYWHERE, TWICE, ONCE = READS, WRITES, LOCKS


def _rows(number: int) -> list[SeenDigest]:
    """Return what the instance px`number` has seen."""
    rows = [
        seen_digest(EVERYWHERE, 20, count_star=number, sum_time=100 * number, max_time=number),
        seen_digest(EVERYWHERE, 10, count_star=1, sum_time=7, min_time=0, first_seen=5 - number),
    ]
    if number > 1:
        rows.append(seen_digest(TWICE, count_star=10, sum_time=1000 * number))
    if number == 3:
        rows.append(seen_digest(ONCE, count_star=40, sum_time=80, sum_rows_sent=9))
    return rows


@pytest.fixture
def fleet(offline: Project) -> Iterator[list[Sandbox]]:
    """Three sandboxes with different digests, in a project that lists them and one that is down."""
    with ExitStack() as stack:
        sandboxes = [stack.enter_context(Sandbox()) for _ in range(3)]
        for number, sandbox in enumerate(sandboxes, 1):
            sandbox.stats[TABLE] = [tuple(row) for row in _rows(number)]
        offline.write("version: 1\n" + listed([sandbox.port for sandbox in sandboxes]))
        yield sandboxes


def top(*arguments: str) -> Outcome:
    found = proxyctl("digest", "top", "--all", *arguments)
    assert found.code == 0, found.text
    return found


def groups(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = top("--format", "json", *arguments).json["digests"]
    return found


def test_sums_are_those_of_all_instances(fleet: list[Sandbox]) -> None:
    twice, everywhere, once = groups()
    assert everywhere["digest_text"] == "SELECT name FROM users WHERE id = ?"
    assert everywhere["count_star"] == 1 + 2 + 3 + 3
    assert everywhere["sum_time"] == 100 + 200 + 300 + 3 * 7
    assert (everywhere["min_time"], everywhere["max_time"]) == (1, 1000)
    assert everywhere["first_seen"] == 1
    assert everywhere["entries"] == 6
    assert everywhere["instances"] == ["px1", "px2", "px3"]
    assert (twice["sum_time"], twice["instances"]) == (5000, ["px2", "px3"])
    assert (once["sum_rows_sent"], once["instances"]) == (9, ["px3"])
    assert sum(group["share"] for group in (twice, everywhere, once)) == pytest.approx(1)


def test_a_group_may_be_an_instance(fleet: list[Sandbox]) -> None:
    assert [(group["instance"], group["sum_time"]) for group in groups("--group", "instance")] == [
        ("px3", 300 + 7 + 3000 + 80),
        ("px2", 200 + 7 + 2000),
        ("px1", 100 + 7),
    ]
    found = groups("--group", "instance,digest,hostgroup", "--hostgroup", "20")
    assert [group["instance"] for group in found] == ["px3", "px2", "px1"]
    assert {group["digest_text"] for group in found} == {"SELECT name FROM users WHERE id = ?"}
    ended(proxyctl("digest", "top", "--instance", "px1", "--group", "instance"), 64, "needs --all")


def test_filters_on_groups_see_the_sums_of_all(fleet: list[Sandbox]) -> None:
    assert [group["count_star"] for group in groups("--min-count", "10")] == [20, 40]
    assert [group["count_star"] for group in groups("--min-count", "9", "--limit", "2")] == [20, 9]
    assert [
        group["count_star"] for group in groups("--sort", "count", "--text", "UPDATE users")
    ] == [20]


def test_text_names_the_instances_unless_all_have_it(fleet: list[Sandbox]) -> None:
    lines = top().out.splitlines()
    assert lines[0] == "3 instances: px1, px2, px3"
    assert lines[3].endswith("instances")
    (named,) = (line for line in lines if line.endswith("on px2, px3"))
    assert lines[lines.index(named) + 1].strip() == "UPDATE users SET name = ? WHERE id = ?"
    assert not any("on px1" in line for line in lines)
    rows = [*csv.DictReader(io.StringIO(top("--format", "csv").out))]
    assert [row["instances"] for row in rows] == ["px2 px3", "px1 px2 px3", "px3"]
    assert "on px2, px3" in top("--format", "markdown").out
    metrics = top("--format", "prometheus").out
    assert metrics.count("proxyctl_digests_entries{address=") == 3
    assert 'proxyctl_digest_queries_total{digest="' in metrics


def test_one_that_cannot_be_read_is_named(offline: Project, fleet: list[Sandbox]) -> None:
    ports = [sandbox.port for sandbox in fleet]
    offline.write("version: 1\n" + listed(ports, "{name: down, host: 127.0.0.1, port: 1}"))
    found = proxyctl("digest", "top", "--all")
    ended(found, 1, "cannot connect to 127.0.0.1:1")
    assert found.out.startswith("3 instances: px1, px2, px3\n")
    document = proxyctl("digest", "top", "--all", "--format", "json").json
    assert [instance["name"] for instance in document["failed"]] == ["down"]
    assert len(document["digests"]) == 3


def test_an_answer_that_ends_early_is_not_added_up(fleet: list[Sandbox]) -> None:
    # ProxySQL answers a statement that fails while it runs with the rows until then.
    fleet[1].stats[TABLE].append(tuple(seen_digest("SELECT 1", digest_text=b"no text")))
    found = proxyctl("digest", "top", "--all", "--format", "json")
    assert found.code == 1
    assert [instance["name"] for instance in found.json["failed"]] == ["px2"]
    assert {digest["count_star"] for digest in found.json["digests"]} == {1 + 3 + 2, 10, 40}


def test_other_digest_variables_are_named(fleet: list[Sandbox]) -> None:
    fleet[2].run("SET mysql-query_digests_lowercase='true'")
    fleet[2].run("LOAD MYSQL VARIABLES TO RUNTIME")
    (note,) = top("--format", "json").json["notes"]
    assert note.startswith(
        "mysql-query_digests_lowercase is false on px1, px2; true on px3: a query with"
    )


def test_without_any_instance_there_is_no_list(offline: Project) -> None:
    offline.write("version: 1\ninstances: [{name: down, host: 127.0.0.1, port: 1}]\n")
    found = proxyctl("digest", "top", "--all")
    ended(found, 1, "cannot connect to 127.0.0.1:1")
    assert found.out == ""


def test_rules_are_those_of_one_instance(fleet: list[Sandbox]) -> None:
    ended(proxyctl("digest", "top", "--all", "--rule"), 64, "may have different rules")
