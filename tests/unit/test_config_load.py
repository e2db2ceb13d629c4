"""What a file means: defaults, names, sections that stand for several tables."""

import pytest

from proxyctl.catalog import parse_version
from proxyctl.state.row import KEEP, GuardAction, GuardLimits
from tests.unit.config_files import load, mistakes, row


def tables_of(folder, text, **options):
    return load(folder, text, **options).desired.tables


@pytest.mark.parametrize("text", ["", "version: 1\n", "hostgroups: {writer: {id: 10}}"])
def test_a_file_without_a_table_manages_nothing(tmp_path, text):
    assert tables_of(tmp_path, text) == {}


def test_an_absent_key_is_the_default(tmp_path):
    tables = tables_of(tmp_path, "mysql_servers: [{hostgroup_id: 1, hostname: db1, weight: 5}]")
    assert row(tables["mysql_servers"], 1, "db1", 3306) == {
        "hostgroup_id": 1,
        "hostname": "db1",
        "port": 3306,
        "gtid_port": 0,
        "status": KEEP,
        "weight": 5,
        "compression": 0,
        "max_connections": 1000,
        "max_replication_lag": 0,
        "use_ssl": 0,
        "max_latency_ms": 0,
        "comment": "",
    }


def test_status_and_password_are_left_alone_unless_they_are_set(tmp_path):
    text = """
mysql_servers:
  - {hostgroup_id: 1, hostname: db1, status: offline_soft}
mysql_users:
  - {username: a}
  - {username: b, password: null}
  - {username: c, password: ""}
"""
    tables = tables_of(tmp_path, text)
    assert row(tables["mysql_servers"], 1, "db1", 3306)["status"] == "OFFLINE_SOFT"
    found = [row(tables["mysql_users"], name, 1)["password"] for name in "abc"]
    assert found == [KEEP, None, ""]


def test_a_rule_in_a_file_is_active_and_a_comment_may_be_left_out(tmp_path):
    text = """
mysql_query_rules:
  - {rule_id: 1, apply: true}
  - {rule_id: 2, active: false, apply: 0, re_modifiers: null}
mysql_query_rules_fast_routing:
  - {username: app, schemaname: s, destination_hostgroup: 1}
"""
    tables = tables_of(tmp_path, text)
    rules = tables["mysql_query_rules"]
    assert row(rules, 1)["active"] == 1
    assert (row(rules, 2)["active"], row(rules, 2)["re_modifiers"]) == (0, None)
    assert row(rules, 1)["comment"] is None
    assert row(tables["mysql_query_rules_fast_routing"], "app", "s", 0)["comment"] == ""


def test_json_columns_take_a_mapping_a_list_or_text(tmp_path):
    text = """
mysql_hostgroup_attributes:
  - hostgroup_id: 1
    hostgroup_settings: {handle_warnings: 1}
    ignore_session_variables: [sql_mode, "ü"]
    servers_defaults: '{ "weight": 100 }'
"""
    attributes = row(tables_of(tmp_path, text)["mysql_hostgroup_attributes"], 1)
    assert attributes["hostgroup_settings"] == '{"handle_warnings":1}'
    assert attributes["ignore_session_variables"] == '["sql_mode","ü"]'
    assert attributes["servers_defaults"] == '{ "weight": 100 }'


def test_rows_follow_the_layout_of_the_version(tmp_path):
    text = "mysql_hostgroup_attributes: [{hostgroup_id: 1}]"
    old = tables_of(tmp_path, text, version=parse_version("2.5.5"))["mysql_hostgroup_attributes"]
    assert "hostgroup_settings" not in old.layout.index
    assert len(old.rows[(1,)]) == len(old.layout.columns)


def test_guards(tmp_path):
    assert load(tmp_path, "").desired.guards == GuardLimits()
    text = "guards: {max_deletes: {percent: 5, action: warn}, empty_hostgroup: 'off'}"
    found = load(tmp_path, text).desired.guards
    assert (found.max_deletes_percent, found.max_deletes_above_rows) == (5, 10)
    assert found.action("max_deletes") is GuardAction.WARN
    assert found.action("empty_hostgroup") is GuardAction.OFF
    assert found.action("table_emptied") is GuardAction.REFUSE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mysql_users: [{username: a, attributes: '{\"a\": NaN}'}]", "NaN is not a JSON number"),
        ("mysql_servers: {csv: a, jsonl: b}", "expected a list of rows"),
        # What stands there may be a password: its type is enough.
        ("mysql_users: sesame", "mysql_users: expected a list, got text"),
        ("sesame", "expected a mapping of sections, got text"),
        ("global_variables: {}", "write `variables:`"),
        ("version: true", "expected 1, got true"),
        ("sharding: [{tables: [a], hostgroups: [1], first_rule_id: 1}]", "name is missing"),
    ],
)
def test_sections_of_the_wrong_shape(tmp_path, text, said):
    (found,) = mistakes(tmp_path, text)
    assert said in found
    assert "sesame" not in found
