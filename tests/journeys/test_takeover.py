"""Odd rows that work in a real ProxySQL: an export never fails, and reports what it changes.

A case is one or a few rows that an administrator could INSERT and LOAD. `validate` accepts the
export of each layer, and its plan changes only the rows that the export named.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.parameters import some
from tests.support.servers.instances import Instance

LAYERS = ("runtime", "memory", "disk")


def rule(columns: str, values: str, rule_id: int = 1) -> str:
    """Return a statement that inserts a rule."""
    into = f"INSERT INTO mysql_query_rules (rule_id, active, {columns})"
    return f"{into} VALUES ({rule_id}, 1, {values})"


def user(columns: str, values: str) -> str:
    return f"INSERT INTO mysql_users (username, password, {columns}) VALUES ('odd', 'x', {values})"


def server(column: str, to: str) -> str:
    return f"INSERT INTO mysql_servers (hostgroup_id, hostname, {column}) VALUES (1, 'odd', {to})"


def family(kind: str, rows: str) -> str:
    roles = {
        "replication": "writer_hostgroup, reader_hostgroup, check_type",
        "galera": (
            "writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, offline_hostgroup, active"
        ),
    }
    return f"INSERT INTO mysql_{kind}_hostgroups ({roles[kind]}) VALUES {rows}"


PLAIN = (
    "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (99, 'plain')",
    "INSERT INTO mysql_users (username, password) VALUES ('plain', 'x')",
    "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (500, 1, 'plain')",
    family("replication", "(90, 91, 'read_only')"),
    family("galera", "(70, 71, 72, 73, 1)"),
    "INSERT INTO mysql_aws_aurora_hostgroups (writer_hostgroup, reader_hostgroup, domain_name)"
    " VALUES (80, 81, '.x')",
    "INSERT INTO scheduler (id, active, interval_ms, filename) VALUES (50, 0, 1000, '/bin/true')",
)
"""A row in each table, so that the file has its section and a plan may delete."""


def run(instance: Instance, *statements: str) -> None:
    """Run the statements, then LOAD and SAVE, so that all three layers are equal."""
    instance.execute(*statements)
    modules = ("MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES", "MYSQL FIREWALL", "SCHEDULER")
    instance.load(*modules, saves=True)


def taken_over(layer: str) -> tuple[Outcome, Outcome]:
    """Export a layer, validate the file, and return the outcomes of the export and the plan."""
    Path("proxyctl.yaml").unlink(missing_ok=True)
    exported = proxyctl("export", "--layer", layer, "-o", "proxyctl.yaml")
    assert exported.code == 0, exported.text
    if layer == "runtime":
        # A plan of the other layers says the same.
        found = proxyctl("validate")
        assert found.code == 0, exported.text + found.text
    planned = proxyctl("plan", "--format", "json")
    assert planned.code == 0, exported.text + planned.text
    return exported, planned


def changes(planned: Outcome) -> list[tuple[str, str, list[str]]]:
    """Return the changes of a plan: table, action and layers."""
    return [
        (change["table"], change["action"], change["layers"])
        for module in planned.json["instances"][0]["modules"]
        for change in module["changes"]
    ]


WARNED = {
    rule("re_modifiers", "'CASELESS, GLOBAL'"): "'CASELESS, GLOBAL' is written as 'CASELESS'",
    rule("re_modifiers", "'FOO'"): "re_modifiers 'FOO' is written as ''",
    rule("re_modifiers", "'CASELESSX,,GLOBAL '"): "is written as 'CASELESS,GLOBAL'",
    rule("digest", "'123'"): "digest '123' is written as '0x000000000000007B'",
    rule("digest", "'-0x1F'"): "is written as '0xFFFFFFFFFFFFFFE1'",
    rule("digest", "'ABC'"): "digest 'ABC' is written as null",
    rule("destination_hostgroup", "-5"): "destination_hostgroup -5 is written as null",
    rule("next_query_flagIN", "-3"): "next_query_flagIN -3 is written as null",
    rule("timeout", "4294967295"): "timeout 4294967295 is written as null",
    rule("destination_hostgroup", "'7x'"): "destination_hostgroup '7x' is written as 7",
    rule("destination_hostgroup", "1.5"): "destination_hostgroup 1.5 is written as 1",
    "INSERT INTO mysql_query_rules (rule_id, digest, client_addr, re_modifiers)"
    " VALUES (1, 'abc', '1%2', 'FOO')": "digest 'abc' is written as null",
    user("max_connections", "'abc'"): "user odd: max_connections 'abc' is written as 0",
    server("status", "'SHUNNED'"): "server odd:3306 in hostgroup 1: status SHUNNED is left out",
    server("status", "'shunned'"): "status SHUNNED is left out",
}
"""A statement, and what the export says of it."""
WARNED_AT_MEMORY = {
    server("max_connections", "'abc'"): "in hostgroup 1: max_connections 'abc' is written as 0",
    server("max_latency_ms", "10000000"): "max_latency_ms 10000000 is written as 1410065",
}
"""RUNTIME shows the number that is read, so only other layers are worth a word."""
SILENT = (
    rule("re_modifiers", "'global,caseless'"),
    rule("re_modifiers", "NULL"),
    rule("destination_hostgroup", "-1"),
    rule("digest", "''"),
    rule("match_digest", "'x'", -4),
    rule("match_digest", "'x'", 0),
    rule("attributes", '\'{"a":1.0,"a":true}\''),
    "INSERT INTO mysql_query_rules (rule_id, match_digest) VALUES (1, '((')",
    "INSERT INTO mysql_query_rules_fast_routing VALUES ('u', 's', -1, 5, '')",
    user("frontend, backend, active", "0, 0, 0"),
    "INSERT INTO mysql_users (username, password, backend, frontend, active)"
    " VALUES ('odd', 'x', 1, 0, 1), ('odd', 'x', 0, 1, 0)",
    "INSERT INTO mysql_users (username, password, backend, frontend)"
    " VALUES ('odd', 'x', 1, 0), ('odd', 'y', 0, 1)",
    "INSERT INTO mysql_users (username, password) VALUES ('', 'x')",
    server("status", "'Offline_soft'"),
    server("status", "'offline_hard'"),
    server("comment", "'it''s \"x\" \\ ` %s ; -- #'"),
    family("replication", "(1, 2, 'READ_ONLY')"),
    family("galera", "(1, 2, 3, 4, 1), (11, 3, 13, 14, 1)"),
    "INSERT INTO mysql_firewall_whitelist_rules (username, client_address, schemaname, flagIN,"
    " digest, comment) VALUES ('u', '', 's', -1, 'zz', '')",
)
"""What the files say as it is."""


@pytest.mark.parametrize("statement", some([*WARNED, *WARNED_AT_MEMORY, *SILENT]))
def test_a_row_is_written_as_proxysql_reads_it(
    project: Project, instance: Instance, statement: str
) -> None:
    warning = (WARNED | WARNED_AT_MEMORY).get(statement)
    run(instance, *PLAIN, statement)
    for layer in LAYERS:
        exported, planned = taken_over(layer)
        if warning and not (statement in WARNED_AT_MEMORY and layer == "runtime"):
            assert warning in exported.err
            assert "differ" not in exported.err
        else:
            assert exported.err == "written to proxyctl.yaml\n"
        assert changes(planned) == []


NOT_AT_RUNTIME = ["memory", "disk"]
EVERYWHERE = ["runtime", "memory", "disk"]
HIDDEN = {
    rule("client_addr", "'10.%.1'"): "rule 1: left out",
    rule("client_addr", f"'{'é' * 23}'"): "longer than 45 bytes",
    user("default_hostgroup", "-1"): "user odd: left out",
    user("default_hostgroup", "3000000000"): "negative default_hostgroup",
    user("default_hostgroup, active", "-1, 0"): "user odd: left out",
    user("frontend, backend", "0, 0"): "user odd: left out",
    # The writer of one reads in another; of two the first, not the second.
    family("replication", "(1, 2, 'read_only'), (2, 3, 'read_only')"): "hostgroups 2: left out",
    family("replication", "(1, 4, 'read_only'), (3, 1, 'read_only')"): "hostgroups 1: left out",
    family("galera", "(1, 2, 3, 4, 1), (2, 12, 13, 14, 0)"): "galera hostgroups 2: left out",
    "INSERT INTO scheduler (id, active, interval_ms, filename) VALUES (1, 0, 1000, 'a\"b')": (
        "scheduler 1: left out"
    ),
}
"""What RUNTIME does not show: a statement, and what the export says of it."""
RUNNING = {
    rule("match_digest", "'(('"): "the rule would never match; a plan of this file deletes it",
    rule("match_pattern, negate_match_pattern", "'[', 1"): "it would match every query; a plan",
    "INSERT INTO mysql_aws_aurora_hostgroups"
    " (writer_hostgroup, reader_hostgroup, domain_name, aurora_port) VALUES (1, 2, '.x', -5)": (
        "aurora hostgroups 1: left out"
    ),
    family("replication", "(1, 3000000000, 'read_only')"): "replication hostgroups 1: left out",
}
"""What runs: a plan of the file deletes it there, too."""


@pytest.mark.parametrize("statement", some([*HIDDEN, *RUNNING]))
def test_what_no_file_can_say_is_a_comment_and_a_warning(
    project: Project, instance: Instance, statement: str
) -> None:
    deleted_from = NOT_AT_RUNTIME if statement in HIDDEN else EVERYWHERE
    warning = (HIDDEN | RUNNING)[statement]
    run(instance, *PLAIN, statement)
    for layer in LAYERS:
        exported, planned = taken_over(layer)
        assert warning in exported.err
        assert "deletes it" in exported.err
        assert changes(planned) == [(statement.split()[2], "delete", deleted_from)]
        assert "\n#   - {" in (project.folder / "proxyctl.yaml").read_text()


def test_a_table_of_which_nothing_is_left_is_not_managed(
    project: Project, instance: Instance
) -> None:
    run(instance, user("default_hostgroup", "-1"))
    for layer in LAYERS:
        exported, planned = taken_over(layer)
        assert "user odd: left out" in exported.err
        assert "deletes it" not in exported.err
        assert changes(planned) == []


def test_many_rows_with_one_reason_are_one_warning(project: Project, instance: Instance) -> None:
    run(instance, *(rule("re_modifiers", "'FOO'", number) for number in range(1, 12)))
    exported, _ = taken_over("runtime")
    assert "rule 1, rule 2, rule 3, rule 4, rule 5 and 6 more: re_modifiers 'FOO'" in exported.err
    assert exported.err.count("warning") == 1


def test_a_count_that_its_checksum_keeps_from_runtime(project: Project, instance: Instance) -> None:
    instance.execute(
        "UPDATE global_variables SET variable_value='false'"
        " WHERE variable_name='admin-checksum_mysql_users'"
    )
    instance.load("ADMIN VARIABLES", saves=True)
    for layer in LAYERS:
        exported, planned = taken_over(layer)
        assert "admin-checksum_mysql_users: left out" in exported.err
        assert changes(planned) == []


def test_rows_in_which_layers_differ_are_named(project: Project, instance: Instance) -> None:
    instance.execute(
        "INSERT INTO mysql_users (username, password) VALUES ('app', 's3cret-of-app')",
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1')",
        "SET mysql-monitor_password='s3cret-of-other'",
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES "
        + ", ".join(f"({number}, 1, 'x')" for number in range(12, 3, -1)),
    )
    exported = proxyctl("export", "--layer", "memory")
    assert exported.code == 0, exported.text
    for warning in (
        "mysql_users: MEMORY and RUNTIME differ in user app",
        "mysql_servers: MEMORY and DISK differ in server db1:3306 in hostgroup 10",
        "mysql_variables: MEMORY and RUNTIME differ in mysql-monitor_password",
        "mysql_query_rules: MEMORY and DISK differ in rule 4, rule 5, rule 6, rule 7, rule 8 and 4"
        " more",
    ):
        assert f"warning: {warning}\n" in exported.err, exported.err
    assert "s3cret" not in exported.text


def test_a_rule_that_still_runs_is_not_left_out(project: Project, instance: Instance) -> None:
    run(instance, *PLAIN, rule("client_addr", "'10.0.0.1'"))
    instance.execute("UPDATE mysql_query_rules SET client_addr='10.%.1' WHERE rule_id=1")
    exported, planned = taken_over("runtime")
    assert "left out" not in exported.err
    assert "mysql_query_rules: MEMORY and RUNTIME differ in rule 1\n" in exported.err
    assert changes(planned) == [("mysql_query_rules", "change", ["memory"])]


def test_fast_routing_lives_on_without_the_rule_that_kept_it_alive(
    project: Project, instance: Instance
) -> None:
    run(
        instance,
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('u', 's', 0, 5, '')",
        rule("apply", "1"),
        rule("match_digest", "'(('", 2),
    )
    _, planned = taken_over("runtime")
    assert "keep_fast_routing_alive" not in (project.folder / "proxyctl.yaml").read_text()
    # The rule that files add behind the last one gets the same number.
    assert changes(planned) == [("mysql_query_rules", "change", EVERYWHERE)]


@pytest.mark.parametrize(
    "text",
    ["[1e400]", '["\\ud800"]', '["\udce9"]'],
    ids=["a number beyond a double", "half a surrogate pair", "latin1"],
)
def test_json_that_ends_the_process_is_left_out(
    project: Project, instance: Instance, text: str
) -> None:
    """These rows are in MEMORY and on DISK only: a LOAD of them kills ProxySQL 2.7.1."""
    run(instance, *PLAIN)
    instance.execute(rule("attributes", f"'{text}'"))
    instance.execute("SAVE MYSQL QUERY RULES TO DISK")
    exported, planned = taken_over("memory")
    assert "rule 1: left out" in exported.err
    assert changes(planned) == [("mysql_query_rules", "delete", NOT_AT_RUNTIME)]


@pytest.mark.since("2.6.0", "no hostgroup_settings")
def test_json_that_proxysql_ignores_is_no_difference(project: Project, instance: Instance) -> None:
    table = "mysql_hostgroup_attributes"
    settings = '{"handle_warnings":1,"nobody":2}'
    run(
        instance,
        f"INSERT INTO {table} (hostgroup_id, hostgroup_settings) VALUES (1, '{settings}')",
    )
    exported, planned = taken_over("runtime")
    text = (project.folder / "proxyctl.yaml").read_text()
    assert 'hostgroup_settings: {"handle_warnings": 1}' in text
    assert 'hostgroup_settings \'{"handle_warnings":1,"nobody":2}\' is written as' in exported.err
    assert changes(planned) == []


def test_the_comment_above_users_takes_their_passwords_out_of_the_file(
    project: Project, instance: Instance
) -> None:
    run(instance, "INSERT INTO mysql_users (username, password) VALUES ('web-app', 'secret')")
    text = proxyctl("export").out
    (comment,) = [line for line in text.splitlines() if "from the environment" in line]
    prefix, _, proposed = comment.partition(" hash: ")
    assert (prefix, proposed) == (
        "# from the environment instead of a",
        "password: {env: WEB_APP_PASSWORD}",
    )
    project.write(re.sub(r"password: '\*\w+'", proposed, text))
    project.monkeypatch.setenv("WEB_APP_PASSWORD", "secret")
    assert proxyctl("plan", "--detailed-exitcode").code == 0
    project.monkeypatch.setenv("WEB_APP_PASSWORD", "another")
    assert proxyctl("plan", "--detailed-exitcode").code == 2
    assert "from the environment" not in proxyctl("export", "--secrets", "omit").out
