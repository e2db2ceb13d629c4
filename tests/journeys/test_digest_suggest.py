"""The rules that `digest suggest` proposes work as announced once they are in the files."""

from __future__ import annotations

import time

import pytest

from proxyctl.stats.model import SeenDigest
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import applied
from tests.support.digests.seen import fill, seen_digest
from tests.support.servers.instances import Instance

FILES = """\
version: 1
hostgroups:
  writer: {id: 10}
  reader: {id: 20}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1}
  - {hostgroup_id: reader, hostname: db2}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: writer}
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: writer, apply: true}
  - {rule_id: 20, match_digest: '^SELECT .* FROM orders', destination_hostgroup: 10, apply: true}
  - {rule_id: 30, match_digest: '^UPDATE', destination_hostgroup: writer, apply: true}
"""
NOW = int(time.time())
READ = "SELECT total FROM orders WHERE id = 1"
OTHER = "SELECT name FROM users WHERE id = 1"
LOCK = "SELECT total FROM orders WHERE id = 1 FOR UPDATE"
SMALL = "SELECT code FROM countries"
WRITE = "UPDATE orders SET total = 2 WHERE id = 1"


def digest(query: str, *, calls: int = 1_000, average: int = 500, **other: object) -> SeenDigest:
    cells = {
        **{"count_star": calls, "first_seen": NOW - 100, "last_seen": NOW},
        **{"sum_time": calls * average, "max_time": average * 2, "sum_rows_sent": calls},
    }
    return seen_digest(query, **{**cells, **other})


SEEN = [
    digest(READ, calls=50_000),
    digest(LOCK, calls=2_000),
    digest(SMALL, calls=40_000, average=300, sum_rows_sent=40_000 * 50),
    digest(WRITE, calls=6_000, sum_rows_sent=0),
    digest("BEGIN", calls=7, sum_rows_sent=0),
    digest(OTHER, calls=20),
]


@pytest.fixture
def seen(sandbox_project: Project, sandbox_instance: Instance) -> Project:
    """An instance that runs with FILES and has seen SEEN."""
    sandbox_project.write(FILES)
    applied()
    fill(sandbox_instance, SEEN)
    return sandbox_project


def suggest(*arguments: str) -> Outcome:
    found = proxyctl("digest", "suggest", *arguments)
    assert found.code == 0, found.text
    return found


def of_kind(found: Outcome, kind: str) -> list[dict]:
    return [suggestion for suggestion in found.json["suggestions"] if suggestion["kind"] == kind]


def pasted(text: str) -> str:
    """Return the lines of a proposed section, to append to the rules of FILES."""
    return "".join(f"{line}\n" for line in text.splitlines()[1:])


def test_all_proposed_rules_fit_together(seen: Project) -> None:
    found = suggest("--format", "json")
    text = FILES + "".join(
        pasted(suggestion["yaml"]) for suggestion in found.json["suggestions"] if suggestion["yaml"]
    )
    seen.write(text)
    assert proxyctl("validate").code == 0
    replayed = proxyctl("replay", "--format", "json").json
    kinds = {entry["digest_text"]: entry["kinds"] for entry in replayed["digests"]}
    assert kinds == {
        "SELECT total FROM orders WHERE id = ?": ["hostgroup"],
        "SELECT code FROM countries": ["cached", "hostgroup"],
    }


def test_the_rule_ids_are_those_that_the_files_manage(seen: Project) -> None:
    managed = FILES + "manage: {mysql_query_rules: {rule_id: 10-19}}\n"
    managed = managed.replace("rule_id: 20", "rule_id: 15").replace("rule_id: 30", "rule_id: 16")
    seen.write(managed)
    applied()
    found = suggest("--format", "json", "--only", "cache", "--only", "reads").json
    ids = [
        suggestion["rule"]["rule_id"] for suggestion in found["suggestions"] if suggestion["rule"]
    ]
    assert ids
    assert all(10 < rule_id < 20 for rule_id in ids)


def test_rule_ids_that_sharding_reserves_are_not_proposed(
    seen: Project, sandbox_instance: Instance
) -> None:
    sharded = (
        FILES + "sharding:\n  - {name: s, tables: 's{1..2}', hostgroups: [6, 7], rule_ids: 1-9}\n"
    )
    seen.write(sharded)
    assert proxyctl("apply", "--auto-approve", "--allow-shard-moves", "--force").code == 0
    (cached,) = of_kind(suggest("--format", "json", "--only", "cache"), "cache")
    assert cached["rule"]["rule_id"] > 9
    seen.write(cached["yaml"], "proposed.yaml")
    found = proxyctl("validate", "-f", "proxyctl.yaml", "-f", "proposed.yaml")
    assert found.code == 0, found.text
