"""Rows that ProxySQL would refuse, drop or partly ignore; the rule that enables fast routing."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass

import pytest

from proxyctl.catalog import TABLES, Version, layout_of, parse_version
from proxyctl.catalog.tables import create_table
from proxyctl.config.checks import mistakes_at_runtime
from proxyctl.config.rows import default_row
from proxyctl.errors import ConfigError
from proxyctl.rows.row import KEEP
from tests.unit.config_files import load, mistakes, row

VERSIONS = [parse_version(text) for text in ("2.4.0", "2.5.5", "2.7.1", "3.0.0", "3.0.12")]


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_a_row_with_only_what_is_required_passes_every_constraint(version):
    """The check may leave out constraints about columns that no file sets: defaults pass."""
    for table in TABLES.values():
        if not table.exists_in(version):
            continue
        layout = layout_of(table, version)
        values = [
            column.default if value is KEEP else value
            for column, value in zip(layout.columns, default_row(layout), strict=True)
        ]
        for position, column in enumerate(layout.columns):
            if column.is_required:
                number = 100 if column.name.endswith("_ms") else position + 1
                values[position] = number if column.is_numeric else ".x"
                if column.choices:
                    values[position] = column.choices[0]
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(create_table(layout))
            marks = ",".join("?" * len(values))
            connection.execute(f"INSERT INTO {table.sql_name} VALUES ({marks})", values)


RULE = "mysql_query_rules: [{rule_id: 1, %s}]"
SHARDED = "variables: {mysql-query_digests_no_digits: true}\nsharding: [{name: s, tables: t1, %s}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RULE % "match_digest: '((', negate_match_pattern: true", "it would match every query"),
        (
            "mysql_servers: [{hostgroup_id: 1, hostname: a, max_latency_ms: 4294968}]",
            "an integer from 0 to 4294967, got",
        ),
        ("proxysql_servers: [{hostname: a, port: 65536}]", "an integer from 0 to 65535, got"),
        ("mysql_query_rules: [{rule_id: -3000000000}]", "rule_id"),
        (RULE % "attributes: '[1e400]'", "the number is too large"),
        (RULE % "attributes: '[\"\\ud800\"]'", "half a surrogate pair"),
        *(
            (RULE % f"digest: '{text}'", "digest: ProxySQL ")
            for text in ("0x", "0x1FFFFFFFFFFFFFFFF", "12", "")
        ),
        (
            SHARDED % "hostgroups: [1], first_rule_id: 1",
            "does not work with mysql-query_digests_no_digits",
        ),
        (
            "sharding: [{name: s, tables: 't{1..2}', hostgroups: [1, 2],"
            " first_rule_id: 2147483647}]",
            "first_rule_id: 2 rules from 2147483647 on do not fit into 0-2147483647",
        ),
    ],
)
def test_what_proxysql_refuses_cuts_or_ignores(tmp_path, text, message):
    (found,) = mistakes(tmp_path, text)
    assert message in found


@pytest.mark.parametrize(
    "text",
    [
        "mysql_users: [{username: a, password: x, frontend: 0, backend: 0, active: false}]",
        "mysql_servers: [{hostgroup_id: 1, hostname: a, max_latency_ms: 4294967}]",
        "proxysql_servers: [{hostname: a, port: 65535}]",
        "mysql_query_rules: [{rule_id: -4}, {rule_id: -1}]\nmysql_query_rules_fast_routing:"
        " [{username: u, schemaname: s, flagIN: -1, destination_hostgroup: 1}]",
        RULE % "attributes: '[\"\\ud83d\\udc2c\"]'",
        RULE % "attributes: '[1e300, 99999999999999999999]'",
        *(RULE % f"client_addr: '{text}'" for text in ("10.0.0.1", "10.%", "%", "", "fe80::1")),
        *(RULE % f"re_modifiers: '{text}'" for text in ("CASELESS", "caseless,GLOBAL", "")),
        SHARDED % "hostgroups: [1], first_rule_id: 1, match: pattern",
    ],
)
def test_what_it_takes(tmp_path, text):
    assert mistakes(tmp_path, text) == []


@pytest.mark.parametrize(
    ("table", "key", "meant"),
    [
        ("pgsql_query_rules", "schemaname", "database"),
        ("mysql_query_rules", "database", "schemaname"),
    ],
)
def test_a_schema_of_mysql_is_a_database_of_postgresql(tmp_path, table, key, meant):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"{table}: [{{rule_id: 1, {key}: shop}}]")
    assert [mistake.fix for mistake in caught.value.mistakes] == [f"did you mean '{meant}'?"]


@pytest.mark.parametrize("table", ["mysql_query_rules", "pgsql_query_rules"])
@pytest.mark.parametrize(
    ("field", "name"),
    [
        (r'match_digest: "\bshard1\b"', r"a backspace, which is what `\b` means in double quotes"),
        (r'match_pattern: "x\vy"', r"the control character \x0b"),
        (r'match_digest: "a\ea"', r"the control character \x1b"),
    ],
)
def test_an_escape_of_yaml_in_a_pattern(tmp_path, table, field, name):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"{table}:\n  - {{rule_id: 1, {field}}}")
    [mistake] = caught.value.mistakes
    assert (mistake.line, mistake.column) == (2, 33 if "pattern" in field else 32)
    assert mistake.message == f"contains {name}"
    assert mistake.fix == "write the pattern in single quotes, where a backslash stays a backslash"


def test_single_quotes_keep_a_backslash(tmp_path):
    assert mistakes(tmp_path, RULE % r"match_digest: '\bshard1\b\s'") == []


def test_what_is_only_a_warning(tmp_path):
    text = """
mysql_query_rules:
  - {rule_id: 1, active: false, match_digest: "(("}
  - {rule_id: 2, active: false, client_addr: "10.%.1", digest: x, re_modifiers: z}
"""
    warnings = load(tmp_path, text).desired.warnings
    assert len(warnings) == 4
    assert all("the rule is not active" in warning for warning in warnings)


# Patterns ---------------------------------------------------------------------------------------

RULES = """
variables: {mysql-query_processor_regex: %d}
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT (?!x)'}
  - {rule_id: 2, match_pattern: 'a++'}
  - {rule_id: 3, match_pattern: '^x'}
"""


def test_patterns_can_be_checked_again_with_another_engine(tmp_path):
    assert mistakes_at_runtime(load(tmp_path, RULES % 1).desired, 2) == []
    desired = load(tmp_path, RULES.replace("variables:", "variables: {} #") % 1).desired
    assert mistakes_at_runtime(desired, 1) == []
    found = mistakes_at_runtime(desired, 2)
    assert [(mistake.line, mistake.key) for mistake in found] == [
        (4, "mysql_query_rules[0].match_digest"),
        (5, "mysql_query_rules[1].match_pattern"),
    ]


def test_a_pattern_that_is_too_large_for_pcre_is_refused(tmp_path):
    names = "|".join(f"table_{n:05d}" for n in range(8000))
    text = f"mysql_query_rules: [{{rule_id: 1, match_digest: '{names}'}}]"
    assert "too large" in mistakes(tmp_path, text)[0]


def test_re2_says_nothing_on_its_own(tmp_path, capfd):
    mistakes(tmp_path, RULES % 2)
    assert capfd.readouterr().err == ""


# Fast routing -----------------------------------------------------------------------------------

ROUTED = """
mysql_query_rules:
  - {rule_id: 7, destination_hostgroup: 1, apply: %s}
  - {rule_id: 9, destination_hostgroup: 1, apply: true, active: %s}
mysql_query_rules_fast_routing:
  - {username: app, schemaname: s, destination_hostgroup: 1}
"""


@dataclass(frozen=True)
class FastRoutingCase:
    """Columns of the rules, whether there is fast routing, and whether a rule is added for it."""

    name: str
    apply: str
    active: str
    is_routed: bool = True
    is_added: bool = True


@pytest.mark.parametrize(
    "case",
    [
        FastRoutingCase(name="behind inactive rules, too", apply="true", active="false"),
        FastRoutingCase(
            name="the last active rule goes on", apply="false", active="false", is_added=False
        ),
        FastRoutingCase(
            name="no fast routing", apply="true", active="true", is_routed=False, is_added=False
        ),
    ],
    ids=lambda case: case.name,
)
def test_when_it_is_needed(tmp_path, case):
    text = ROUTED % (case.apply, case.active)
    text = text if case.is_routed else text.partition("mysql_query_rules_fast_routing")[0]
    rules = load(tmp_path, text).desired.tables["mysql_query_rules"].rows
    assert ((10,) in rules) is case.is_added


@pytest.mark.parametrize(
    ("version", "is_added"),
    [(Version(2, 7, 1), True), (Version(3, 0, 8), True), (Version(3, 0, 9), False)],
)
def test_from_3_0_9_on_it_is_not_needed(tmp_path, version, is_added):
    text = ROUTED % ("true", "true")
    found = load(tmp_path, text, version=version)
    assert ((10,) in found.desired.tables["mysql_query_rules"].rows) is is_added
    alone = load(tmp_path, f"keep_fast_routing_alive: false\n{text}", version=version)
    assert (
        any("ProxySQL skips this table" in warning for warning in alone.desired.warnings)
        is is_added
    )


def test_postgresql_rules_are_kept_alive_as_well(tmp_path):
    text = (ROUTED % ("true", "true")).replace("mysql_", "pgsql_").replace("schemaname", "database")
    rules = load(tmp_path, text, version=Version(3, 0, 0)).desired.tables["pgsql_query_rules"]
    assert (10,) in rules.rows


def test_a_second_password_from_a_reference_is_written_as_digits(tmp_path, monkeypatch):
    monkeypatch.setenv("OLD", "geh\u00e4im")
    (tmp_path / "old").write_text("old\n")
    text = """
mysql_users:
  - {username: a, password: x, attributes: {additional_password: {env: OLD}, note: 1}}
  - {username: b, password: x, attributes: {additional_password: {file: old}}}
  - {username: c, password: x, attributes: {additional_password: {hex: ff}}}
  - {username: d, password: x, attributes: '{"additional_password": "6f6c64"}'}
"""
    desired = load(tmp_path, text, version=Version(3, 0, 3)).desired
    held = [row(desired.tables["mysql_users"], name, 1)["attributes"] for name in "abcd"]
    assert held == [
        '{"additional_password":"676568C3A4696D","note":1}',
        '{"additional_password":"6F6C64"}',
        '{"additional_password":"FF"}',
        '{"additional_password": "6f6c64"}',
    ]
    assert desired.warnings == ()
    warnings = load(tmp_path, text, version=Version(2, 7, 1)).desired.warnings
    assert [warning.partition(": ProxySQL 2.7.1 ignores it")[1] for warning in warnings] == [
        ": ProxySQL 2.7.1 ignores it"
    ] * 4
    assert "676568" not in "".join(warnings)


@pytest.mark.parametrize("second", ["sesame", '""', "6f6", "66", "[66]", "null", "{envs: OLD}"])
def test_a_second_password_that_proxysql_ignores(tmp_path, second):
    text = f"mysql_users: [{{username: a, attributes: {{additional_password: {second}}}}}]"
    (found,) = mistakes(tmp_path, text)
    assert found == (
        "1: mysql_users[0].attributes.additional_password: ProxySQL reads only hexadecimal digits"
        " here, two for each byte"
    )


def test_a_second_password_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("NOTHING", "")
    for second, message in (
        ("{env: MISSING}", "MISSING is not set"),
        ("{env: NOTHING}", "is empty"),
    ):
        text = f"mysql_users: [{{username: a, attributes: {{additional_password: {second}}}}}]"
        (found,) = mistakes(tmp_path, text)
        assert message in found


def test_a_password_that_looks_like_a_cut_hash(tmp_path, monkeypatch):
    monkeypatch.setenv("CUT", "$A$005$cut")
    text = """
mysql_users:
  - {username: a, password: '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E1'}
  - {username: b, password: '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'}
  - {username: c, password: {env: CUT}}
pgsql_users: [{username: d, password: '*24'}]
"""
    warnings = load(tmp_path, text).desired.warnings
    assert [warning.partition(": looks like a truncated hash")[0] for warning in warnings] == [
        f"{tmp_path}/proxyctl.yaml:3:29: mysql_users[0].password",
        f"{tmp_path}/proxyctl.yaml:5:29: mysql_users[2].password",
    ]
    assert not any("$A$005$cut" in warning or "2470C" in warning for warning in warnings)
