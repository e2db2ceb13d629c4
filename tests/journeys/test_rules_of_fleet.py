"""rules --all: the hits of all instances, rules that differ, and rules that nobody hits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from proxyctl.sandbox import Sandbox
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import ended, listed


def _load(sandbox: Sandbox, *rules: tuple[int, str, int], hits: dict[int, int]) -> None:
    """Load rules, each a rule_id, match_digest and destination, and give them hits."""
    for rule_id, pattern, hostgroup in rules:
        sandbox.run(
            "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup,"
            f" apply) VALUES ({rule_id}, 1, '{pattern}', {hostgroup}, 1)"
        )
    sandbox.run("LOAD MYSQL QUERY RULES TO RUNTIME")
    sandbox.stats["stats_mysql_query_rules"] = [*hits.items()]


LOCKS, READS = (10, "FOR UPDATE", 1), (20, "^SELECT", 2)


@pytest.fixture
def fleet(offline: Project) -> Iterator[list[Sandbox]]:
    """Three sandboxes in a project that lists them."""
    with ExitStack() as stack:
        sandboxes = [stack.enter_context(Sandbox()) for _ in range(3)]
        offline.write("version: 1\n" + listed([sandbox.port for sandbox in sandboxes]))
        yield sandboxes


def test_hits_are_those_of_all_instances(fleet: list[Sandbox]) -> None:
    for number, sandbox in enumerate(fleet, 1):
        _load(sandbox, LOCKS, READS, hits={10: 0, 20: 10 * number})
    text = proxyctl("rules", "--all").out
    assert "60 hits since the rules were last loaded on each instance" in text
    assert "never hit on any of 3 instances: 10\n" in text
    assert "match_digest ^SELECT -> hostgroup 2, apply\n" in text
    assert text.endswith("Fleet of 3 instances: all have the same rules.\n")
    document = proxyctl("rules", "--all", "--format", "json").json
    assert [(rule["rule_id"], rule["hits"]) for rule in document["rules"]] == [(10, 0), (20, 60)]
    assert (document["never_hit"], document["differing"]) == ([10], [])
    assert [instance["hits"] for instance in document["instances"]] == [10, 20, 30]


def test_a_rule_that_differs_names_its_instances(fleet: list[Sandbox]) -> None:
    _load(fleet[0], LOCKS, READS, hits={10: 1, 20: 5})
    _load(fleet[1], LOCKS, (20, "^SELECT", 3), hits={10: 0, 20: 7})
    _load(fleet[2], LOCKS, READS, (30, "^CALL", 4), hits={10: 0, 20: 2, 30: 0})
    text = proxyctl("rules", "--all").out
    assert "^SELECT -> hostgroup 2, apply  (on px1, px3)" in text
    assert "^SELECT -> hostgroup 3, apply  (on px2)" in text
    assert "^CALL -> hostgroup 4, apply  (on px3)" in text
    assert "never hit on px3: 30\n" in text
    assert "any of" not in text
    assert text.endswith("Fleet of 3 instances: they differ in rule 20, 30.\n")
    document = proxyctl("rules", "--all", "--format", "json").json
    assert document["differing"] == [20, 30]
    assert [(rule["rule_id"], rule["instances"], rule["hits"]) for rule in document["rules"]] == [
        (10, ["px1", "px2", "px3"], 1),
        (20, ["px1", "px3"], 7),
        (20, ["px2"], 7),
        (30, ["px3"], 0),
    ]


def test_two_readings_give_rates(fleet: list[Sandbox]) -> None:
    for sandbox in fleet:
        _load(sandbox, READS, hits={20: 5})
    found = proxyctl("rules", "--all", "--interval", "0.1", "--format", "json")
    assert "waiting 0.1 s for the second reading" in found.err
    assert [rule["hits_per_s"] for rule in found.json["rules"]] == [0]
    assert "hits/s" in proxyctl("rules", "--all", "--interval", "0.1").out


def test_one_that_cannot_be_read_is_named(offline: Project, fleet: list[Sandbox]) -> None:
    ports = [sandbox.port for sandbox in fleet]
    offline.write("version: 1\n" + listed(ports, "{name: down, host: 127.0.0.1, port: 1}"))
    found = proxyctl("rules", "--all")
    assert found.code == 1
    assert found.out.endswith("no query rules at RUNTIME, 1 not read: down.\n")
    ended(proxyctl("rules", "--all", "--instance", "px1"), 64, "leave out --instance")
