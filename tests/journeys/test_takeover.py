"""Odd rows that run in a real ProxySQL: taking it over never stops, and says what it changes.

A case is a row, or a few, that an administrator could INSERT and LOAD. The export of each layer is
a file that `validate` accepts, and its plan is empty but for the rows that the export named. Every
case runs on the sandbox and on a real ProxySQL.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from proxyctl.catalog import ADMIN_MODULES
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.parameters import some
from tests.support.servers import Instance

LAYERS = ("runtime", "memory", "disk")

RULE = "INSERT INTO mysql_query_rules (rule_id, active, {}) VALUES ({}, 1, {})"
USER = "INSERT INTO mysql_users (username, password, {}) VALUES ('odd', 'x', {})"
SERVER = "INSERT INTO mysql_servers (hostgroup_id, hostname, {}) VALUES (1, 'odd', {})"
REPLICATION = "INSERT INTO mysql_replication_hostgroups VALUES {}"
GALERA = (
    "INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup,"
    " reader_hostgroup, offline_hostgroup, active) VALUES {}"
)

PLAIN = (
    "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (99, 'plain')",
    "INSERT INTO mysql_users (username, password) VALUES ('plain', 'x')",
    "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (500, 1, 'plain')",
    REPLICATION.format("(90, 91, 'read_only', '')"),
    GALERA.format("(70, 71, 72, 73, 1)"),
    "INSERT INTO mysql_aws_aurora_hostgroups (writer_hostgroup, reader_hostgroup, domain_name)"
    " VALUES (80, 81, '.x')",
    "INSERT INTO scheduler (id, active, interval_ms, filename) VALUES (50, 0, 1000, '/bin/true')",
)
"""A row in each table, so that the file has its section and a plan may delete."""


def run(instance: Instance, *statements: str) -> None:
    """Let all three layers hold what the statements write."""
    for statement in statements:
        instance.execute(statement)
    for name in ("MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES", "MYSQL FIREWALL"):
        instance.execute(ADMIN_MODULES[name].load)
        instance.execute(ADMIN_MODULES[name].save)
    for name in ("SCHEDULER", "RESTAPI", "PROXYSQL SERVERS"):
        instance.execute(ADMIN_MODULES[name].load)
        instance.execute(ADMIN_MODULES[name].save)


def taken_over(layer: str) -> tuple[Outcome, Outcome]:
    """Export a layer, and return that and the plan of the file, which is valid."""
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
    """Return what a plan changes: the table, the action and the layers."""
    return [
        (change["table"], change["action"], change["layers"])
        for module in planned.json["instances"][0]["modules"]
        for change in module["changes"]
    ]


SAID_OTHERWISE = {
    "a blank between modifiers": (
        RULE.format("re_modifiers", 1, "'CASELESS, GLOBAL'"),
        "rule 1: re_modifiers 'CASELESS, GLOBAL' is written as 'CASELESS'",
    ),
    "a modifier that is none": (
        RULE.format("re_modifiers", 1, "'FOO'"),
        "re_modifiers 'FOO' is written as ''",
    ),
    "modifiers with other signs": (
        RULE.format("re_modifiers", 1, "'CASELESSX,,GLOBAL '"),
        "is written as 'CASELESS,GLOBAL'",
    ),
    "a decimal digest": (
        RULE.format("digest", 1, "'123'"),
        "digest '123' is written as '0x000000000000007B'",
    ),
    "a digest with a sign": (
        RULE.format("digest", 1, "'-0x1F'"),
        "is written as '0xFFFFFFFFFFFFFFE1'",
    ),
    "a digest that is none": (
        RULE.format("digest", 1, "'ABC'"),
        "digest 'ABC' is written as null",
    ),
    "a negative hostgroup of a rule": (
        RULE.format("destination_hostgroup", 1, "-5"),
        "destination_hostgroup -5 is written as null",
    ),
    "a negative flag": (
        RULE.format("next_query_flagIN", 1, "-3"),
        "next_query_flagIN -3 is written as null",
    ),
    "a number beyond 32 bits": (
        RULE.format("timeout", 1, "4294967295"),
        "timeout 4294967295 is written as null",
    ),
    "text for a number": (
        RULE.format("destination_hostgroup", 1, "'7x'"),
        "destination_hostgroup '7x' is written as 7",
    ),
    "a decimal number": (
        RULE.format("destination_hostgroup", 1, "1.5"),
        "destination_hostgroup 1.5 is written as 1",
    ),
    "an odd rule that is not active": (
        "INSERT INTO mysql_query_rules (rule_id, digest, client_addr, re_modifiers)"
        " VALUES (1, 'abc', '1%2', 'FOO')",
        "digest 'abc' is written as null",
    ),
    "a user with text for a number": (
        USER.format("max_connections", "'abc'"),
        "user odd: max_connections 'abc' is written as 0",
    ),
}
"""A statement, and what the export says of it."""


SAID_AT_MEMORY = {
    "a server with text for a number": (
        SERVER.format("max_connections", "'abc'"),
        "server odd:3306 in hostgroup 1: max_connections 'abc' is written as 0",
    ),
    "a latency beyond 32 bits of microseconds": (
        SERVER.format("max_latency_ms", "10000000"),
        "max_latency_ms 10000000 is written as 1410065",
    ),
}
"""RUNTIME shows the number that is read, so only other layers are worth a word."""


SILENT = {
    "modifiers in small letters": RULE.format("re_modifiers", 1, "'global,caseless'"),
    "no modifiers": RULE.format("re_modifiers", 1, "NULL"),
    "minus one for no hostgroup": RULE.format("destination_hostgroup", 1, "-1"),
    "an empty digest": RULE.format("digest", 1, "''"),
    "a negative rule_id": RULE.format("match_digest", -4, "'x'"),
    "rule 0": RULE.format("match_digest", 0, "'x'"),
    "JSON with a fraction and a key twice": RULE.format("attributes", 1, '\'{"a":1.0,"a":true}\''),
    "a broken pattern that is not active": (
        "INSERT INTO mysql_query_rules (rule_id, match_digest) VALUES (1, '((')"
    ),
    "a route that no flag reaches": (
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('u', 's', -1, 5, '')"
    ),
    "a user that is nothing, switched off": USER.format("frontend, backend, active", "0, 0, 0"),
    "a half that is off": (
        "INSERT INTO mysql_users (username, password, backend, frontend, active)"
        " VALUES ('odd', 'x', 1, 0, 1), ('odd', 'x', 0, 1, 0)"
    ),
    "halves that differ": (
        "INSERT INTO mysql_users (username, password, backend, frontend)"
        " VALUES ('odd', 'x', 1, 0), ('odd', 'y', 0, 1)"
    ),
    "a user without a name": "INSERT INTO mysql_users (username, password) VALUES ('', 'x')",
    "a status in small letters": SERVER.format("status", "'Offline_soft'"),
    "a server that is off": SERVER.format("status", "'offline_hard'"),
    "a server that begins shunned": SERVER.format("status", "'SHUNNED'"),
    "quotes in a comment": SERVER.format("comment", "'it''s \"x\" \\ ` %s ; -- #'"),
    "check_type in capitals": REPLICATION.format("(1, 2, 'READ_ONLY', '')"),
    "a hostgroup in two roles that both load": GALERA.format("(1, 2, 3, 4, 1), (11, 3, 13, 14, 1)"),
    "firewall rules for no digest": (
        "INSERT INTO mysql_firewall_whitelist_rules (username, client_address, schemaname, flagIN,"
        " digest, comment) VALUES ('u', '', 's', -1, 'zz', '')"
    ),
}
"""What the files say as it is."""


@pytest.mark.parametrize("case", some([*SAID_OTHERWISE, *SAID_AT_MEMORY, *SILENT]))
def test_a_row_is_written_as_proxysql_reads_it(
    project: Project, instance: Instance, case: str
) -> None:
    statement, said = (SAID_OTHERWISE | SAID_AT_MEMORY).get(case) or (SILENT[case], "")
    run(instance, *PLAIN, statement)
    for layer in LAYERS:
        exported, planned = taken_over(layer)
        if said and not (case in SAID_AT_MEMORY and layer == "runtime"):
            assert said in exported.err
            assert "differ" not in exported.err
        else:
            assert exported.err == "written to proxyctl.yaml\n"
        assert changes(planned) == []


NOT_AT_RUNTIME = ["memory", "disk"]
EVERYWHERE = ["runtime", "memory", "disk"]

LEFT_OUT = {
    "a rule for a part of an address": (
        RULE.format("client_addr", 1, "'10.%.1'"),
        "rule 1: left out",
        NOT_AT_RUNTIME,
    ),
    "a rule for an address of too many bytes": (
        RULE.format("client_addr", 1, f"'{'é' * 23}'"),
        "longer than 45 bytes",
        NOT_AT_RUNTIME,
    ),
    "a user with a negative hostgroup": (
        USER.format("default_hostgroup", "-1"),
        "user odd: left out",
        NOT_AT_RUNTIME,
    ),
    "a user whose hostgroup turns negative": (
        USER.format("default_hostgroup", "3000000000"),
        "negative default_hostgroup",
        NOT_AT_RUNTIME,
    ),
    "the same, switched off": (
        USER.format("default_hostgroup, active", "-1, 0"),
        "user odd: left out",
        NOT_AT_RUNTIME,
    ),
    "a user that is nothing": (
        USER.format("frontend, backend", "0, 0"),
        "user odd: left out",
        NOT_AT_RUNTIME,
    ),
    "a writer that reads elsewhere": (
        REPLICATION.format("(1, 2, 'read_only', ''), (2, 3, 'read_only', '')"),
        "replication hostgroups 2: left out",
        NOT_AT_RUNTIME,
    ),
    "the first of two, not the second": (
        REPLICATION.format("(1, 4, 'read_only', ''), (3, 1, 'read_only', '')"),
        "replication hostgroups 1: left out",
        NOT_AT_RUNTIME,
    ),
    "a Galera writer that backs up elsewhere": (
        GALERA.format("(1, 2, 3, 4, 1), (2, 12, 13, 14, 0)"),
        "galera hostgroups 2: left out",
        NOT_AT_RUNTIME,
    ),
    "a quote in the scheduler": (
        "INSERT INTO scheduler (id, active, interval_ms, filename) VALUES (1, 0, 1000, 'a\"b')",
        "scheduler 1: left out",
        NOT_AT_RUNTIME,
    ),
    "a pattern that is none": (
        RULE.format("match_digest", 1, "'(('"),
        "the rule would never match; a plan of this file deletes it",
        EVERYWHERE,
    ),
    "a negated pattern that is none": (
        RULE.format("match_pattern, negate_match_pattern", 1, "'[', 1"),
        "negated, it would match every query; a plan of this file deletes it",
        EVERYWHERE,
    ),
    "a port below 0": (
        "INSERT INTO mysql_aws_aurora_hostgroups"
        " (writer_hostgroup, reader_hostgroup, domain_name, aurora_port) VALUES (1, 2, '.x', -5)",
        "aurora hostgroups 1: left out",
        EVERYWHERE,
    ),
    "a hostgroup beyond 32 bits": (
        REPLICATION.format("(1, 3000000000, 'read_only', '')"),
        "replication hostgroups 1: left out",
        EVERYWHERE,
    ),
}
"""A statement, what the export says of it, and where a plan of the file deletes a row."""


@pytest.mark.parametrize("case", some(LEFT_OUT))
def test_what_no_file_can_say_is_a_comment_and_a_warning(
    project: Project, instance: Instance, case: str
) -> None:
    statement, said, deleted_from = LEFT_OUT[case]
    run(instance, *PLAIN, statement)
    for layer in LAYERS:
        exported, planned = taken_over(layer)
        assert said in exported.err
        assert "deletes it" in exported.err
        assert changes(planned) == [(statement.split()[2], "delete", deleted_from)]
        assert "\n#   - {" in (project.folder / "proxyctl.yaml").read_text()


def test_a_table_of_which_nothing_is_left_is_not_managed(
    project: Project, instance: Instance
) -> None:
    run(instance, LEFT_OUT["a user with a negative hostgroup"][0])
    for layer in LAYERS:
        exported, planned = taken_over(layer)
        assert "user odd: left out" in exported.err
        assert "deletes it" not in exported.err
        assert changes(planned) == []


def test_many_rows_with_one_reason_are_one_warning(project: Project, instance: Instance) -> None:
    run(instance, *(RULE.format("re_modifiers", number, "'FOO'") for number in range(1, 12)))
    exported, _ = taken_over("runtime")
    assert "rule 1, rule 2, rule 3, rule 4, rule 5 and 6 more: re_modifiers 'FOO'" in exported.err
    assert exported.err.count("warning") == 1


def test_a_count_that_its_checksum_keeps_from_runtime(project: Project, instance: Instance) -> None:
    instance.execute(
        "UPDATE global_variables SET variable_value='false'"
        " WHERE variable_name='admin-checksum_mysql_users'"
    )
    instance.execute("LOAD ADMIN VARIABLES TO RUNTIME")
    instance.execute("SAVE ADMIN VARIABLES TO DISK")
    for layer in LAYERS:
        exported, planned = taken_over(layer)
        assert "admin-checksum_mysql_users: left out" in exported.err
        assert changes(planned) == []


def test_a_rule_that_still_runs_is_not_left_out(project: Project, instance: Instance) -> None:
    run(instance, *PLAIN, RULE.format("client_addr", 1, "'10.0.0.1'"))
    instance.execute("UPDATE mysql_query_rules SET client_addr='10.%.1' WHERE rule_id=1")
    exported, planned = taken_over("runtime")
    assert "left out" not in exported.err
    assert "MEMORY and RUNTIME differ in 1 row" in exported.err
    assert changes(planned) == [("mysql_query_rules", "change", ["memory"])]


def test_fast_routing_lives_on_without_the_rule_that_kept_it_alive(
    project: Project, instance: Instance
) -> None:
    run(
        instance,
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('u', 's', 0, 5, '')",
        RULE.format("apply", 1, "1"),
        RULE.format("match_digest", 2, "'(('"),
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
    instance.execute(RULE.format("attributes", 1, f"'{text}'"))
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
        "LOAD MYSQL SERVERS TO RUNTIME",
        "SAVE MYSQL SERVERS TO DISK",
    )
    exported, planned = taken_over("runtime")
    text = (project.folder / "proxyctl.yaml").read_text()
    assert 'hostgroup_settings: {"handle_warnings": 1}' in text
    assert 'hostgroup_settings \'{"handle_warnings":1,"nobody":2}\' is written as' in exported.err
    assert changes(planned) == []
