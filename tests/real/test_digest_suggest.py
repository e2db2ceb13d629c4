"""Suggestions from a real ProxySQL's statistics, and what it does with the rules they bring."""

from __future__ import annotations

import pytest

from proxyctl.routing.digest import digest
from proxyctl.stats.digest_file import write_digest_file
from proxyctl.stats.model import DigestTable, SeenDigest
from tests.support.cli import Project, proxyctl
from tests.support.routing_rig import Rig
from tests.support.routing_shapes import Case, Client

pytestmark = pytest.mark.real

FILES = """\
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
APP = Client("app")


@pytest.fixture
def project(rig: Rig, offline: Project) -> Project:
    """A folder connected to the rig's ProxySQL, which runs with FILES."""
    rig.observe(Case([], []))
    offline.connect(rig.server.instance)
    offline.write(FILES)
    applied = proxyctl("apply", "--auto-approve")
    assert applied.code == 0, applied.text
    return offline


def test_a_proposed_rule_sends_the_read_to_the_reader_and_nothing_else(
    rig: Rig, project: Project
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
    project.write(FILES + "\n".join(one["yaml"].splitlines()[1:]) + "\n")
    assert proxyctl("validate").code == 0
    assert proxyctl("apply", "--auto-approve").code == 0
    after = rig.send(APP, READ, *OTHERS)
    assert after.pop(READ).hostgroup == 2
    before.pop(READ)
    assert after == before


def test_a_proposed_rule_caches_and_leaves_the_destination(rig: Rig, project: Project) -> None:
    made = digest(READ.encode())
    seen = SeenDigest(
        *(1, "", "app", "", made.hexadecimal, made.text.decode()),
        *(50_000, 1_000, 1_100, 50_000 * 300, 1, 600, 0, 50_000),
    )
    table = DigestTable("rig", "", "2.7.1", 1_200, [seen])
    write_digest_file(table, project.folder / "seen.jsonl")
    found = proxyctl(
        *("digest", "suggest", "--digests", "seen.jsonl", "--only", "cache", "--format", "json")
    )
    assert found.code == 0, found.text
    (one,) = found.json["suggestions"]
    before = rig.send(APP, READ, *OTHERS)
    project.write(one["yaml"], "proposed.yaml")
    given = ("-f", "proxyctl.yaml", "-f", "proposed.yaml")
    applied = proxyctl("apply", "--auto-approve", *given)
    assert applied.code == 0, applied.text
    after = rig.send(APP, READ, *OTHERS)
    assert after[READ].destination == before[READ].destination == 1
    assert ("cache_ttl", 1_000) in after.pop(READ).settings
    before.pop(READ)
    assert after == before
