"""Lint, PX31x and PX32x: queries that go where nobody serves them, and past their shard."""

from __future__ import annotations

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
    assert lint("PX311", SPLIT + fast + RULES + rules) == [
        "1: hostgroup 77 has no server",
        "2: hostgroup 78 has no server",
        "/s0/0: hostgroup 90 has no server (also 2 more rows)",
    ]


def test_hostgroups_are_not_judged_where_servers_are_left_alone(lint):
    text = RULES + READS
    assert lint("PX311", text) == []
    assert len(lint("PX311", text + "mysql_servers: []\n")) == 1


def test_a_family_serves_its_hostgroups(lint):
    text = SPLIT.replace("  - {hostgroup_id: reader, hostname: db2}\n", "")
    assert lint("PX311", text + RULES + READS) == []


def test_default_hostgroups_without_servers(lint):
    users = "  - {username: %s, password: {env: APP}, default_hostgroup: 5}\n"
    text = SPLIT + users % "web" + users % "etl"
    assert lint("PX311", text) == ["web/1: hostgroup 5 has no server (also 1 more row)"]
    rule = "  - {rule_id: 1, username: web, destination_hostgroup: 10, apply: true}\n"
    assert lint("PX311", text + RULES + rule) == ["etl/1: hostgroup 5 has no server"]


SHARDED = """
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
    found = lint("PX321", SHARDED + other % "12..20")
    assert found == [
        "100: sends `SELECT c FROM orders12 WHERE id=1` of user app to hostgroup 100 (shard0), and"
        " sharding b has the table on hostgroup 101 (shard1)"
    ]
    assert lint("PX321", SHARDED + other % "13..20") == []


def test_a_read_write_split_before_the_shards(lint):
    rule = "  - {rule_id: %s, match_digest: '^SELECT', destination_hostgroup: 50, apply: true}\n"
    (found, *_) = lint("PX321", SHARDED + RULES + rule % 1)
    assert found.startswith("1: sends `SELECT c FROM orders")
    assert lint("PX321", SHARDED + RULES + rule % 900) == []


def test_a_split_before_sharded_schemas(lint):
    text = """
hostgroups: {shard0: {id: 100}, shard1: {id: 101}}
sharding:
  - {name: s, schemas: "tenant_{1..4}", hostgroups: [shard0, shard1], assign: modulo, username: app}
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 50%s}
"""
    (found,) = lint("PX321", text % ", apply: true")
    assert "in schema tenant_" in found
    assert lint("PX321", text % "") == []


def test_more_servers_than_max_num_online_servers(lint):
    text = """
hostgroups: {reader: {id: 20, max_num_online_servers: 1}}
mysql_servers:
  - {hostgroup_id: 20, hostname: db2}
  - {hostgroup_id: 20, hostname: db3%s}
"""
    said = [
        "20: 2 servers of hostgroup 20 (reader) are ONLINE, and more than 1 may not be: ProxySQL"
        " uses none of them"
    ]
    assert lint("PX315", text % "") == said
    assert lint("PX315", text % ", weight: 0") == said
    assert lint("PX315", text % ", status: OFFLINE_SOFT") == []
    family = "mysql_replication_hostgroups: [{writer_hostgroup: 10, reader_hostgroup: 20}]"
    assert lint("PX315", text % "" + family) == []
