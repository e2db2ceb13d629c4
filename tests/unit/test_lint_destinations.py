"""Lint, PX31x and PX32x: queries that go where nobody serves them, and past their shard."""

from __future__ import annotations

from proxyctl.config.project import Sources, load_project
from proxyctl.lint.check import all_checks
from proxyctl.lint.subject import Subject
from tests.unit.config_files import write
from tests.unit.linted import READS, SPLIT, lint

__all__ = ["lint"]

RULES = "mysql_query_rules:\n"


def test_hostgroups_without_servers(lint):
    rules = (
        "  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 77}\n"
        "  - {rule_id: 2, match_digest: '^INSERT', mirror_hostgroup: 78}\n"
        "  - {rule_id: 3, match_digest: '^DROP', destination_hostgroup: 79, error_msg: never}\n"
        "  - {rule_id: 4, match_digest: '^CALL', destination_hostgroup: 80, active: false}\n"
    )
    fast = "mysql_query_rules_fast_routing:\n" + "".join(
        f"  - {{username: '', schemaname: s{n}, destination_hostgroup: 90}}\n" for n in range(3)
    )
    assert lint(SPLIT + fast + RULES + rules, "PX311") == [
        "1: hostgroup 77 has no server",
        "2: hostgroup 78 has no server",
        "/s0/0: hostgroup 90 has no server (also 2 more rows)",
    ]


def test_only_copies_are_lost_where_a_mirror_has_no_servers(tmp_path, monkeypatch):
    monkeypatch.setenv("APP", "sesame")
    rules = (
        "  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 77}\n"
        "  - {rule_id: 2, match_digest: '^INSERT', mirror_hostgroup: 78}\n"
    )
    project = load_project(Sources((write(tmp_path, SPLIT + RULES + rules),)))
    found = all_checks()["PX311"].find(Subject(project.configuration))
    sent, copied = (one.hint for one in found)
    assert "error 9001" in sent
    assert copied == "only the copies are lost; the query itself is not affected"


def test_hostgroups_are_not_judged_where_servers_are_left_alone(lint):
    text = "version: 1\n" + RULES + READS
    assert lint(text, "PX311") == []
    assert len(lint(text + "mysql_servers: []\n", "PX311")) == 1


def test_a_family_serves_its_hostgroups(lint):
    text = SPLIT.replace("  - {hostgroup_id: reader, hostname: db2}\n", "")
    assert lint(text + RULES + READS, "PX311") == []


def test_default_hostgroups_without_servers(lint):
    users = "  - {username: %s, password: {env: APP}, default_hostgroup: 5}\n"
    text = SPLIT + users % "web" + users % "etl"
    assert lint(text, "PX311") == ["web/1: hostgroup 5 has no server (also 1 more row)"]
    rule = "  - {rule_id: 1, username: web, destination_hostgroup: 10, apply: true}\n"
    assert lint(text + RULES + rule, "PX311") == ["etl/1: hostgroup 5 has no server"]


def test_hostgroups_that_the_monitor_keeps(lint):
    text = """
version: 1
mysql_galera_hostgroups:
  - {writer_hostgroup: 1, backup_writer_hostgroup: 2, reader_hostgroup: 3, offline_hostgroup: 4}
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: %s}
"""
    assert lint(text % 4, "PX313") == [
        "1: hostgroup 4 is the offline_hostgroup of mysql_galera_hostgroups"
    ]
    assert lint(text % 3, "PX313") == []


SHARDED = """
version: 1
hostgroups: {shard0: {id: 100}, shard1: {id: 101}}
mysql_users: [{username: app, password: {env: APP}, default_hostgroup: shard0}]
sharding:
  - name: a
    tables: "orders{1..12}"
    hostgroups: [shard0, shard1]
    assign: modulo
    rule_ids: 100-199
    username: app
"""


def test_sharding_sections_that_overlap(lint):
    other = """
  - name: b
    tables: "orders{%s}"
    hostgroups: [shard1, shard0]
    assign: modulo
    rule_ids: 200-299
    username: app
"""
    found = lint(SHARDED + other % "12..20", "PX321")
    assert found == [
        "100: sends `SELECT c FROM orders12 WHERE id=1` of user app to hostgroup 100 (shard0), and"
        " sharding b has the table on hostgroup 101 (shard1)"
    ]
    assert lint(SHARDED + other % "13..20", "PX321") == []


def test_a_read_write_split_before_the_shards(lint):
    rule = "  - {rule_id: %s, match_digest: '^SELECT', destination_hostgroup: 50, apply: true}\n"
    (found, *_) = lint(SHARDED + RULES + rule % 1, "PX321")
    assert found.startswith("1: sends `SELECT c FROM orders")
    assert lint(SHARDED + RULES + rule % 900, "PX321") == []


def test_a_split_before_sharded_schemas(lint):
    text = """
version: 1
hostgroups: {shard0: {id: 100}, shard1: {id: 101}}
sharding:
  - {name: s, schemas: "tenant_{1..4}", hostgroups: [shard0, shard1], assign: modulo, username: app}
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 50%s}
"""
    (found,) = lint(text % ", apply: true", "PX321")
    assert "in schema tenant_" in found
    assert lint(text % "", "PX321") == []


def test_more_servers_than_max_num_online_servers(lint):
    text = """
version: 1
hostgroups: {reader: {id: 20, max_num_online_servers: 1}}
mysql_servers:
  - {hostgroup_id: 20, hostname: db2}
  - {hostgroup_id: 20, hostname: db3%s}
"""
    said = [
        "20: 2 servers of hostgroup 20 (reader) are ONLINE, and more than 1 may not be: ProxySQL"
        " uses none of them"
    ]
    assert lint(text % "", "PX315") == said
    assert lint(text % ", weight: 0", "PX315") == said
    assert lint(text % ", status: OFFLINE_SOFT", "PX315") == []
    family = "mysql_replication_hostgroups: [{writer_hostgroup: 10, reader_hostgroup: 20}]"
    assert lint(text % "" + family, "PX315") == []
