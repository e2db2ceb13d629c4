"""replay --all: the digests of all instances, once for those whose rules change alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from proxyctl.sandbox import Sandbox
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import FILES, applied, ended, listed
from tests.support.digests.seen import LOCKS, READS, TABLE, WRITES, seen_digest
from tests.support.digests.stored import HOUR_S, add_hour

CHANGED = FILES.replace("hostgroup: reader, apply", "hostgroup: writer, apply")


@pytest.fixture
def fleet(offline: Project) -> Iterator[list[Sandbox]]:
    """Three sandboxes that run with FILES and have seen digests, in a project that lists them."""
    with ExitStack() as stack:
        sandboxes = [stack.enter_context(Sandbox()) for _ in range(3)]
        offline.write(FILES + _instances(sandboxes))
        for number in range(1, 4):
            applied("--instance", f"px{number}")
        for number, sandbox in enumerate(sandboxes, 1):
            sandbox.stats[TABLE] = [
                tuple(seen_digest(READS, 20, sum_time=100 * number, count_star=number)),
                tuple(seen_digest(LOCKS, sum_time=10)),
            ]
        sandboxes[2].stats[TABLE].append(tuple(seen_digest(WRITES, sum_time=80)))
        yield sandboxes


def _instances(sandboxes: list[Sandbox], *more: str) -> str:
    return listed([sandbox.port for sandbox in sandboxes], *more)


def replay(*arguments: str) -> Outcome:
    return proxyctl("replay", "--all", *arguments)


def test_instances_whose_rules_change_alike_share_a_replay(
    offline: Project, fleet: list[Sandbox]
) -> None:
    offline.write(CHANGED + _instances(fleet))
    found = replay("--format", "json")
    assert found.code == 0, found.text
    [one] = found.json["replays"]
    assert [instance["name"] for instance in one["instances"]] == ["px1", "px2", "px3"]
    assert (one["total"]["digests"], one["total"]["sum_time"]) == (3, 600 + 30 + 80)
    assert (one["changed"]["digests"], one["changed"]["sum_time"]) == (1, 600)
    [read] = one["digests"]
    assert (read["count_star"], read["digest_text"]) == (6, "SELECT name FROM users WHERE id = ?")
    lines = replay().out.splitlines()
    assert lines[0] == "px1, px2, px3  3 instances alike, ProxySQL 2.7.1-sandbox"
    assert lines[-1] == "Fleet of 3 instances: 3 with changes: px1, px2, px3."
    assert replay("--detailed-exitcode").code == 2


def test_one_with_other_rules_has_its_own(offline: Project, fleet: list[Sandbox]) -> None:
    fleet[1].run("UPDATE mysql_query_rules SET destination_hostgroup = 10 WHERE rule_id = 20")
    fleet[1].run("LOAD MYSQL QUERY RULES TO RUNTIME")
    offline.write(CHANGED + _instances(fleet))
    found = replay()
    assert "px1, px3  2 instances alike, ProxySQL 2.7.1-sandbox\n" in found.out
    assert f"px2  127.0.0.1:{fleet[1].port}  ProxySQL 2.7.1-sandbox\n" in found.out
    assert found.out.endswith(" 1 with no change, 2 with changes: px1, px3.\n")
    changed = {
        tuple(instance["name"] for instance in group["instances"]): group["changed"]["count_star"]
        for group in replay("--format", "json").json["replays"]
    }
    assert changed == {("px1", "px3"): 1 + 3, ("px2",): 0}


def test_other_digest_variables_keep_instances_apart(
    offline: Project, fleet: list[Sandbox]
) -> None:
    fleet[2].run("SET mysql-query_digests_lowercase='true'")
    fleet[2].run("LOAD MYSQL VARIABLES TO RUNTIME")
    replays = replay("--format", "json").json["replays"]
    assert [[instance["name"] for instance in each["instances"]] for each in replays] == [
        ["px1", "px2"],
        ["px3"],
    ]


def test_what_routes_nothing_keeps_nothing_apart(offline: Project, fleet: list[Sandbox]) -> None:
    fleet[0].run("UPDATE mysql_query_rules SET comment = 'by hand'")
    fleet[0].run("UPDATE mysql_users SET max_connections = 7")
    for module in ("QUERY RULES", "USERS"):
        fleet[0].run(f"LOAD MYSQL {module} TO RUNTIME")
    fleet[1].run("SET mysql-threads='7'")
    fleet[1].run("LOAD MYSQL VARIABLES TO RUNTIME")
    assert len(replay("--format", "json").json["replays"]) == 1


def test_one_that_cannot_be_read_is_named(offline: Project, fleet: list[Sandbox]) -> None:
    offline.write(CHANGED + _instances(fleet, "{name: down, host: 127.0.0.1, port: 1}"))
    found = replay("--detailed-exitcode")
    assert found.code == 1
    assert "cannot connect to 127.0.0.1:1" in found.out
    assert found.out.endswith("3 with changes: px1, px2, px3, 1 not read: down.\n")
    document = replay("--format", "json").json
    assert [instance["name"] for instance in document["failed"]] == ["down"]
    assert len(document["replays"]) == 1
    ended(replay("--digests", "x.jsonl"), 64, "--digests cannot be used with --all")


def test_a_time_in_a_store_is_replayed(offline: Project, fleet: list[Sandbox]) -> None:
    store, text = Path("digests.db"), "SELECT name FROM users WHERE id = ?"
    for number in range(1, 4):
        for hour in (1, 2):
            row = seen_digest(READS, 20, count_star=10 * number, sum_time=100 * number)
            add_hour(store, f"px{number}", hour * HOUR_S, [row])
    offline.write(CHANGED + _instances(fleet))
    until = ("--until", "1970-01-01T01:00")
    [one] = replay("--store", str(store), *until, "--format", "json").json["replays"]
    assert [instance["name"] for instance in one["instances"]] == ["px1", "px2", "px3"]
    [read] = one["digests"]
    assert (read["digest_text"], read["count_star"]) == (text, 10 + 20 + 30)
    assert one["total"]["sum_time"] == 100 + 200 + 300
    [both] = replay("--store", str(store), "--format", "json").json["replays"]
    assert both["total"]["sum_time"] == 2 * 600
    ended(replay("--since", "1h"), 64, "--since needs --store")
