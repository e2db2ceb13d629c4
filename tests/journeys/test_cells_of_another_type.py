"""Cells of another type than the catalogue has: read as ProxySQL reads them, or refused.

Two rows whose keys SQLite keeps apart and ProxySQL does not are refused before a statement that
would end ProxySQL; such a test ends with the row deleted, since the next test reads RUNTIME.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import FILES, applied, apply, ended, plan, rolled_back
from tests.support.servers.instances import Instance

MODULES = ("MYSQL USERS", "MYSQL SERVERS", "MYSQL QUERY RULES")

SHA2 = (
    "244124303035243B6830104909557F7E291A387C01062612073758324A7756652F6A442F72385758424A62542E"
    "4848376D49465A2F503732397251303273687A6E786D714935"
)
"""A hash of caching_sha2_password as `SELECT HEX(authentication_string)` shows it in MySQL."""


def take_over(project: Project) -> str:
    """Write an export with its passwords as the files, and return it."""
    path = project.folder / "exported.yaml"
    ended(proxyctl("export", "--secrets", "clear", "-o", str(path)), 0)
    text = path.read_text(errors="surrogateescape")
    path.unlink()
    project.write(text)
    return text


def mended(instance: Instance) -> None:
    """Send the statements that the doctor offers, until it finds no such cell."""
    for _ in range(3):
        found = proxyctl("doctor", "--format", "json", "--no-ask").json["findings"]
        fixes = [finding["fix"] for finding in found if finding["code"] == "mistyped-cells"]
        for fix in fixes:
            instance.execute(*fix.split("; then "))
        if not fixes:
            return
    raise AssertionError(fixes)


def test_a_hash_that_was_inserted_as_hexadecimal_digits_is_read_as_its_text(
    project: Project, instance: Instance
) -> None:
    """ProxySQL's manual has `UNHEX(...)` for it, which leaves a BLOB as X'...' does."""
    insert = "INSERT INTO mysql_users (username, password, default_hostgroup)"
    instance.run(f"{insert} VALUES ('sha', X'{SHA2}', 10)")
    instance.load("MYSQL USERS", saves=True)
    text = take_over(project)
    assert r'password: "$A$005$;h0\x10I\tU\x7f~)\x1a8|' in text
    assert plan().code == 0
    ended(proxyctl("snapshot"), 0)
    project.write(text.replace("default_hostgroup: 10", "default_hostgroup: 20"))
    assert "default_hostgroup       10 -> 20" in applied().out
    assert instance.query("SELECT typeof(password), default_hostgroup FROM mysql_users") == [
        ("blob", "20")
    ]
    rolled_back()
    assert instance.query("SELECT hex(password) FROM runtime_mysql_users") == [(SHA2,)] * 2
    found = proxyctl("doctor", "--no-ask").out
    assert "mysql_users.password: mistyped-cells [warning] user sha: a BLOB" in found
    mended(instance)
    assert instance.query("SELECT hex(password), typeof(password) FROM disk.mysql_users") == [
        (SHA2, "text")
    ]
    assert plan().code == 2


INSERT_RULE = "INSERT INTO mysql_query_rules (rule_id, active, match_digest, {}) VALUES (7, 1, "


CELLS = {
    "a BLOB in a pattern": (
        "INSERT INTO mysql_query_rules (rule_id, active, match_pattern) VALUES (7, 1, X'5E53')",
        "match_pattern: '^S'",
        "mysql_query_rules.match_pattern: rule 7: a BLOB",
    ),
    "a BLOB in a comment": (
        INSERT_RULE.format("comment") + "'^S', X'6361E9')",
        "comment: {hex: '6361e9'}",
        "mysql_query_rules.comment: rule 7: a BLOB",
    ),
    "a BLOB in a number": (
        INSERT_RULE.format("destination_hostgroup") + "'^S', X'33333036')",
        "destination_hostgroup: 3306",
        "mysql_query_rules.destination_hostgroup: rule 7: a BLOB",
    ),
    "a BLOB that JSON functions take for their own format": (
        "INSERT INTO mysql_users (username, comment) VALUES ('u', X'6A6F75726E616C')",
        "comment: journal",
        "mysql_users.comment: user u: a BLOB",
    ),
    "a password that is no text": (
        "INSERT INTO mysql_users (username, password) VALUES ('u', X'2AFF31')",
        "password: {hex: '2aff31'}",
        "mysql_users.password: user u: a BLOB",
    ),
    "a BLOB with a NUL": (
        "INSERT INTO mysql_users (username, comment) VALUES ('u', X'610062')",
        "comment: a}",
        "mysql_users.comment: user u: text with a NUL",
    ),
    "text with a NUL": (
        "INSERT INTO mysql_users (username, comment) VALUES ('u', 'a' || char(0) || 'b')",
        "comment: a}",
        "mysql_users.comment: user u: text with a NUL",
    ),
    "a number in text": (
        "INSERT INTO mysql_servers (hostgroup_id, hostname, comment) VALUES (10, 'h', 2.5)",
        "comment: '2.5'",
        "",  # SQLite makes it text
    ),
    "a fraction in a number": (
        "INSERT INTO mysql_servers (hostgroup_id, hostname, max_connections) VALUES (10, 'h', 7.5)",
        "max_connections: 7}",
        "",  # comparisons read it as ProxySQL does
    ),
    "a BLOB in a variable": (
        "UPDATE global_variables SET variable_value=X'382E302E3337'"
        " WHERE variable_name='mysql-server_version'",
        "mysql-server_version: '8.0.37'",
        "mysql-server_version: a BLOB",
    ),
}
"""What happened, what an export writes, and what the doctor says."""


@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_of_another_type_is_no_difference(
    project: Project, instance: Instance, kind: str
) -> None:
    insert, written, found = CELLS[kind]
    instance.run(insert)
    instance.load(*MODULES, "MYSQL VARIABLES", saves=True)
    assert written in take_over(project)
    assert plan().code == 0, plan().text
    text = proxyctl("doctor", "--no-ask").out.replace(" mistyped-cells [warning]", "")
    assert (found or "mysql-monitor_enabled") in text
    mended(instance)
    assert plan().code == 0, plan().text


KEYS = {
    "mysql_users.username of user app2 is a BLOB": (
        "INSERT INTO mysql_users (username, default_hostgroup) VALUES (X'61707032', 20)",
        FILES.replace(
            "mysql_query_rules:",
            "  - {username: app2, default_hostgroup: writer}\nmysql_query_rules:",
        ),
    ),
    "mysql_servers.port of server db9:3307 in hostgroup 20 is a number with a fraction": (
        "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (20, 'db9', 3307.5)",
        FILES,
    ),
    "mysql_servers.hostgroup_id of server db9:3306 in hostgroup 20 is text": (
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES ('20x', 'db9')",
        FILES,
    ),
    "mysql_servers.hostname of server db9:3306 in hostgroup 20 is text with a NUL": (
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (20, 'db9' || char(0) || 'x')",
        FILES,
    ),
}
"""What a plan says, what happened, and files that do something about that row."""


@pytest.mark.parametrize("reason", KEYS)
def test_a_key_that_no_statement_finds_is_refused_with_the_statement_that_mends_it(
    project: Project, instance: Instance, reason: str
) -> None:
    insert, files = KEYS[reason]
    project.write(FILES)
    applied()
    instance.run(insert)
    instance.load("MYSQL SERVERS", "MYSQL USERS", saves=True)
    ended(proxyctl("export"), 0)
    ended(proxyctl("nodes", "list", "--no-ask"), 0)
    project.write(files)
    assert f"refused      {reason}" in plan().out
    before = instance.query("SELECT count(*) FROM runtime_mysql_servers")
    ended(apply("--force", "--discard-pending"), 3, reason)
    if "mysql_servers" in reason:
        ended(proxyctl("nodes", "drain", "db2:3306"), 3, reason, "fix: UPDATE mysql_servers SET")
    assert instance.query("SELECT count(*) FROM runtime_mysql_servers") == before
    mended(instance)
    applied()


TWINS = {
    "server db1:3306 in hostgroup 10": (
        "mysql_servers",
        "(hostgroup_id, hostname, max_connections) VALUES (10, X'646231', 500)",
    ),
    "server db2:3306 in hostgroup 20": (
        "mysql_servers",
        "(hostgroup_id, hostname, port) VALUES (20, 'db2', 3306.5)",
    ),
    "hostgroup attributes 20": (
        "mysql_hostgroup_attributes",
        "(hostgroup_id) VALUES ('20x')",
    ),
    "user app": ("mysql_users", "(username) VALUES (X'617070')"),
    "route app:s:0": (
        "mysql_query_rules_fast_routing",
        "VALUES ('app', CAST(X'73' AS TEXT) || char(0), 0, 20, '')",
    ),
    "proxysql server px1:6032": (
        "proxysql_servers",
        "(hostname) VALUES (X'707831')",
    ),
}
"""The row that has a twin after the INSERT: table and values."""

TWINNED = FILES + (
    "mysql_query_rules_fast_routing:\n"
    "  - {username: app, schemaname: s, flagIN: 0, destination_hostgroup: 10}\n"
    "proxysql_servers: [{hostname: px1}]\n"
)


@pytest.mark.parametrize("row", TWINS)
def test_two_rows_with_one_key_for_proxysql_are_named_before_a_load_and_before_runtime_is_read(
    project: Project, instance: Instance, row: str
) -> None:
    table, values = TWINS[row]
    project.write(TWINNED)
    applied()
    instance.run(f"INSERT INTO {table} {values}")
    fix = f"DELETE FROM {table}"
    try:
        if table == "mysql_query_rules_fast_routing":  # a LOAD is fine, a read of RUNTIME is not
            instance.load("MYSQL QUERY RULES")
        commands: list[Callable[[], Outcome]] = [
            plan,
            apply,
            lambda: proxyctl("export"),
            lambda: proxyctl("snapshot"),
            lambda: proxyctl("doctor", "--no-ask"),
            lambda: proxyctl("rollback", "--auto-approve"),
        ]
        if table in ("mysql_servers", "mysql_hostgroup_attributes"):
            commands.append(lambda: proxyctl("nodes", "drain", "db2:3306"))
        for command in commands:
            found = command()
            ended(found, 1, f"main.{table} has two rows for {row}")
        fix = found.err.partition("keep one of them: ")[2].partition(";")[0]
    finally:
        instance.run(fix)
        instance.load("MYSQL QUERY RULES")
    assert plan().code == 0, plan().text


def test_two_such_rows_on_disk_are_named_with_the_save_that_replaces_them(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    applied()
    instance.run("INSERT INTO disk.mysql_servers (hostgroup_id, hostname) VALUES (10, X'646231')")
    ended(plan(), 1, "disk.mysql_servers has two rows for server db1:3306", "SAVE MYSQL SERVERS TO")
    instance.run("SAVE MYSQL SERVERS TO DISK")
    assert plan().code == 0
