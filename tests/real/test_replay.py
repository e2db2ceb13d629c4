"""Predictions of replay and suggest, compared with the routing of a real ProxySQL."""

from __future__ import annotations

from collections import Counter

import pytest

from proxyctl.routing.digest import digest
from tests.support.commands.cli import Project, proxyctl
from tests.support.routing.rig import Rig
from tests.support.routing.shapes import Case, Client

pytestmark = pytest.mark.real

FILES = """\
version: 1
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: 1, apply: true}
  - {rule_id: 15, match_pattern: 'secret', destination_hostgroup: 5, apply: true}
  - {rule_id: 20, match_digest: '^SELECT', destination_hostgroup: 2, apply: true}
  - {rule_id: 12, match_digest: '^DELETE', error_msg: 'no'}
sharding:
  - {name: t, tables: 't{1..4}', hostgroups: [6, 7], rule_ids: 1-9, username: app}
"""
QUERIES = (
    "SELECT c FROM plain WHERE id=1",
    "SELECT c FROM plain WHERE id=1 FOR UPDATE",
    "SELECT 'secret' FROM plain",
    "UPDATE plain SET c=1",
    "DELETE FROM plain WHERE id=1",
    "SELECT c FROM t1 WHERE id=1",
    "UPDATE t2 SET c=1",
    "INSERT INTO t3 VALUES (1)",
    "/* hostgroup=9 */ SELECT hinted FROM plain",
)
APP = Client("app")


def running(rig: Rig, project: Project, files: str) -> Project:
    """Apply the files to the rig's ProxySQL, and return a connected folder."""
    rig.observe(Case([], []))
    project.connect(rig.server.instance)
    project.write(files)
    assert proxyctl("apply", "--auto-approve", "--allow-shard-moves").code == 0
    return project


@pytest.fixture
def project(rig: Rig, offline: Project) -> Project:
    return running(rig, offline, FILES)


@pytest.fixture
def shop(rig: Rig, offline: Project) -> Project:
    return running(rig, offline, SHOP)


def test_a_replay_foretells_where_queries_go(rig: Rig, project: Project) -> None:
    rig.forget_digests()
    before = rig.send(APP, *QUERIES)
    edited = FILES.replace(
        "'^SELECT', destination_hostgroup: 2", "'^SELECT', destination_hostgroup: 3"
    )
    edited = edited.replace("'^DELETE', error_msg: 'no'", "'^DELETE', cache_ttl: 100, apply: true")
    edited = edited.replace("hostgroups: [6, 7]", "hostgroups: [7, 6]")
    project.write(edited)
    found = proxyctl("replay", "--format", "json", "--detailed-exitcode")
    assert found.code == 2, found.text
    refused = proxyctl("apply", "--auto-approve")
    assert refused.code == 3, refused.text
    assert "--allow-shard-moves" in refused.err
    assert proxyctl("apply", "--auto-approve", "--allow-shard-moves").code == 0
    after = rig.send(APP, *QUERIES)
    by_digest = {replayed["digest"]: replayed for replayed in found.json["digests"]}
    for query in QUERIES:
        row = by_digest.get(digest(query).hexadecimal)
        old, new = before[query], after[query]
        if "hinted" in query:
            assert old.hostgroup == new.hostgroup == 9  # no digest shows that
        elif row is None:
            assert (old.hostgroup, old.answer) == (new.hostgroup, new.answer), query
        elif new.hostgroup is not None:
            assert new.hostgroup in [outcome["hostgroup"] for outcome in row["desired"]], query
            assert (row["status"] == "undecided") == (len(row["desired"]) > 1), query
    status = Counter(replayed["status"] for replayed in found.json["digests"])
    # Where rule 15 looks into the query, the hostgroup of a digest that rule 20 moves is undecided.
    assert status == {"changed": 4, "undecided": 3}
    assert {move["name"] for move in found.json["shard_moves"]} == {"t1", "t2", "t3", "t4"}


# -- suggest ---------------------------------------------------------------------------------------

SHOP = """\
version: 1
hostgroups:
  writer: {id: 1}
  reader: {id: 2}
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: 1, apply: true}
  - {rule_id: 20, match_digest: '^SELECT', destination_hostgroup: 1, apply: true}
  - {rule_id: 30, match_digest: '^DELETE', error_msg: 'no'}
"""
READ = "SELECT c FROM plain WHERE id=1"
OTHERS = (
    "SELECT c FROM other",
    "SELECT c FROM plain WHERE id=1 FOR UPDATE",
    "UPDATE plain SET c=1",
)


def test_a_proposed_rule_sends_the_read_to_the_reader_and_nothing_else(
    rig: Rig, shop: Project
) -> None:
    rig.forget_digests()
    before = rig.send(APP, READ, *OTHERS)
    rig.send(APP, *[READ] * 119)
    assert before[READ].hostgroup == 1
    found = proxyctl("digest", "suggest", "--format", "json", "--only", "reads")
    assert found.code == 0, found.text
    (one,) = found.json["suggestions"]
    assert one["digest_text"] == "SELECT c FROM plain WHERE id=?"
    assert one["evidence"]["calls"] == 120
    shop.write(SHOP + "\n".join(one["yaml"].splitlines()[1:]) + "\n")
    assert proxyctl("validate").code == 0
    assert proxyctl("apply", "--auto-approve").code == 0
    after = rig.send(APP, READ, *OTHERS)
    assert after.pop(READ).hostgroup == 2
    before.pop(READ)
    assert after == before
