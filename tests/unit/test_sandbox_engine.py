"""What is particular to the sandbox: versions, DISK files, restarts, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proxyctl.catalog import TABLES, layout_of, parse_version
from proxyctl.errors import ProxyctlError
from proxyctl.sandbox import AdminError, Sandbox

VERSIONS = ("2.4.0", "2.5.5", "2.7.1", "3.0.0")


def columns(sandbox: Sandbox, table: str) -> tuple[object, ...]:
    rows = sandbox.query(f"SELECT name FROM pragma_table_info('{table}') ORDER BY cid")
    return tuple(name for (name,) in rows)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_table_has_the_columns_of_its_version(version):
    sandbox = Sandbox(version)
    parsed = parse_version(version)
    for table in TABLES.values():
        if table.prefix is not None:
            continue
        names = layout_of(table, parsed).names if table.exists_in(parsed) else ()
        assert columns(sandbox, table.name) == names
        assert columns(sandbox, f"runtime_{table.name}") == names
    sandbox.close()


def test_a_module_of_another_version_is_a_syntax_error():
    sandbox = Sandbox("2.7.1")
    for module in ("PGSQL SERVERS", "PGSQL VARIABLES"):
        with pytest.raises(AdminError, match='near "LOAD": syntax error'):
            sandbox.run(f"LOAD {module} TO RUNTIME")
    sandbox.close()


@pytest.mark.parametrize(
    ("version", "name", "value"),
    [
        ("2.7.1", "mysql-server_version", "8.0.11"),
        ("2.5.5", "mysql-server_version", "5.5.30"),
        ("2.5.5", "admin-hash_passwords", "true"),
        ("2.7.1", "admin-telnet_admin_ifaces", "(null)"),
        ("2.7.1", "admin-version", "2.7.1-sandbox"),
    ],
)
def test_variables_begin_with_the_defaults_of_the_version(version, name, value):
    sandbox = Sandbox(version)
    for table in ("main.global_variables", "main.runtime_global_variables"):
        sql = f"SELECT variable_value FROM {table} WHERE variable_name='{name}'"
        assert sandbox.query(sql) == [(value,)]
    sandbox.close()


def test_from_3_0_10_a_set_of_an_unknown_variable_is_an_error():
    words = "ERROR: Unknown global variable: 'mysql-nope'."
    before, later = Sandbox("3.0.3"), Sandbox("3.0.10")
    assert before.run("SET mysql-nope=1").info == words
    with pytest.raises(AdminError, match=re.escape(f"ProxySQL Admin Error: {words}")):
        later.run("SET mysql-nope=1")
    before.close()
    later.close()


@pytest.mark.parametrize(
    ("version", "name", "text", "memory", "running"),
    [
        ("3.0.3", "mysql-set_parser_algorithm", "3", "2", "2"),
        ("3.0.12", "mysql-set_parser_algorithm", "3", "3", "3"),
        ("3.0.12", "mysql-resolution_family", "ipv7", "system", "system"),
        ("3.0.12", "mysql-passthrough_auth_enabled", "true", "true", "false"),
    ],
)
def test_what_a_load_makes_of_a_value(version, name, text, memory, running):
    sandbox = Sandbox(version)
    sandbox.run(f"SET {name}='{text}'")
    sandbox.run("LOAD MYSQL VARIABLES TO RUNTIME")
    for table, value in (("global_variables", memory), ("runtime_global_variables", running)):
        sql = f"SELECT variable_value FROM {table} WHERE variable_name='{name}'"
        assert sandbox.query(sql) == [(value,)]
    sandbox.close()


def test_a_driver_may_set_autocommit_of_its_session_from_3_0_11():
    before, later = Sandbox("3.0.10"), Sandbox("3.0.11")
    later.run("SET @@session.autocommit=1")
    with pytest.raises(AdminError, match="Unknown global variable"):
        before.run("SET @@session.autocommit=1")
    with pytest.raises(AdminError, match="does not model the table ssl_ciphers"):
        later.run("SELECT * FROM ssl_ciphers")
    before.close()
    later.close()


def test_before_2_6_runtime_holds_hashes():
    sandbox = Sandbox("2.5.5")
    sandbox.run("INSERT INTO mysql_users (username, password) VALUES ('u', 'x')")
    sandbox.run("LOAD MYSQL USERS TO RUNTIME")
    assert sandbox.query("SELECT DISTINCT password FROM runtime_mysql_users") == [
        ("*B69027D44F6E5EDC07F1AEAD1477967B16F28227",)
    ]
    sandbox.close()


@pytest.mark.parametrize("restarts", [False, True])
def test_disk_is_kept_in_its_file(tmp_path: Path, restarts: bool):
    path = tmp_path / "disk.db"
    first = Sandbox(path=path)
    if restarts:
        first.restart()
    first.run("INSERT INTO mysql_servers (hostname) VALUES ('saved')")
    first.run("SAVE MYSQL SERVERS TO DISK")
    first.run("INSERT INTO mysql_servers (hostname) VALUES ('not saved')")
    first.close()
    second = Sandbox(path=path)
    assert second.query("SELECT hostname FROM runtime_mysql_servers") == [("saved",)]
    second.close()


def test_two_sandboxes_share_nothing():
    one, two = Sandbox(), Sandbox()
    for sql in ("SET mysql-threads='7'", "SAVE MYSQL VARIABLES TO DISK"):
        one.run(sql)
    one.run("INSERT INTO mysql_servers (hostname) VALUES ('a')")
    one.run("LOAD MYSQL SERVERS TO RUNTIME")
    for layer in ("main.", "disk."):
        threads = f"SELECT variable_value FROM {layer}global_variables WHERE variable_name='{{}}'"
        assert one.query(threads.format("mysql-threads")) == [("7",)]
        assert two.query(threads.format("mysql-threads")) == [("4",)]
    assert two.query("SELECT count(*) FROM runtime_mysql_servers") == [(0,)]
    checksum = "SELECT version FROM runtime_checksums_values WHERE name='mysql_servers'"
    assert (one.query(checksum), two.query(checksum)) == ([(2,)], [(1,)])
    one.close()
    two.close()


@pytest.mark.parametrize(
    ("content", "said"), [(None, "another layout"), ("no database\n", "cannot be used as DISK")]
)
def test_a_file_that_is_not_used(tmp_path: Path, content: str | None, said: str):
    path = tmp_path / "disk.db"
    if content is None:
        Sandbox("2.5.0", path=path).close()
    else:
        path.write_text(content * 100)
    with pytest.raises(ProxyctlError, match=said):
        Sandbox(path=path)


@pytest.mark.parametrize("name", [":memory:", "file:x?mode=ro"])
def test_the_name_of_a_file_is_nothing_but_a_name(tmp_path: Path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Sandbox(path=Path(name)).close()
    assert (tmp_path / name).is_file()


@pytest.mark.parametrize(
    "version", ["", "2.7", "abc", "2.7.1; drop", "2.7.1 ", "2.7.1234", "9.9.9"]
)
def test_a_text_that_is_no_known_version(version):
    with pytest.raises(ValueError, match=r"not a ProxySQL version|does not know"):
        Sandbox(version)


def test_a_restart_brings_back_disk_and_nothing_else():
    sandbox = Sandbox()
    sandbox.run("INSERT INTO mysql_servers (hostname) VALUES ('a')")
    sandbox.run("SAVE MYSQL SERVERS TO DISK")
    sandbox.run("INSERT INTO mysql_users (username) VALUES ('u')")
    sandbox.run("CREATE TEMP TABLE mine (a)")
    sandbox.restart()
    assert sandbox.query("SELECT hostname FROM runtime_mysql_servers") == [("a",)]
    assert sandbox.query("SELECT count(*) FROM mysql_users") == [(0,)]
    with pytest.raises(AdminError, match="no such table: mine"):
        sandbox.query("SELECT * FROM mine")
    sandbox.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("", "ProxySQL Admin Error: not an error"),
        (";", "The sandbox refuses a text of semicolons only: it crashes ProxySQL"),
        (" ;; ", "The sandbox refuses a text of semicolons only: it crashes ProxySQL"),
        ("SELECT 1; SELECT 2", "The sandbox refuses several statements in one text"),
        ("SELECT ';'; -- x\nSELECT 2", "The sandbox refuses several statements in one text"),
        ("/**/ BEGIN", "The sandbox refuses BEGIN: ProxySQL has no transactions"),
        ("SAVEPOINT a", "The sandbox refuses SAVEPOINT: ProxySQL has no transactions"),
        ("/**/SAVEPOINT a", "The sandbox refuses SAVEPOINT: ProxySQL has no transactions"),
        ("RELEASE a", "The sandbox refuses RELEASE: ProxySQL has no transactions"),
        ("start  transaction", "The sandbox refuses START TRANSACTION: "),
        ("SELECT '\0'", "The sandbox refuses a NUL character"),
        ("DROP TABLE mysql_users", "The sandbox refuses to drop mysql_users"),
        ("DROP TABLE disk.mysql_users", "The sandbox refuses to drop mysql_users"),
        ("DROP TABLE stats.stats_mysql_global", "The sandbox refuses to drop stats_mysql_global"),
        ("ALTER TABLE mysql_users ADD COLUMN x", "The sandbox refuses to alter mysql_users"),
        ("ALTER TABLE mysql_users RENAME TO x", "The sandbox refuses to alter mysql_users"),
        ("ATTACH ':memory:' AS x", "The sandbox does not model ATTACH"),
        ("PRAGMA journal_mode", "The sandbox does not model PRAGMA journal_mode"),
        ("PROXYSQLTEST 1 1000", "The sandbox does not model PROXYSQLTEST 1 1000"),
        ("PROXYSQL SHUTDOWN", "The sandbox does not model PROXYSQL SHUTDOWN"),
        ("SELECT CONFIG FILE", "The sandbox does not model SELECT CONFIG FILE"),
        ("SELECT GLOBAL_CHECKSUM()", "The sandbox does not model SELECT GLOBAL_CHECKSUM()"),
        ("SELECT * FROM monitor.x", "ProxySQL Admin Error: no such table: monitor.x"),
        (
            "CREATE TRIGGER t AFTER INSERT ON mysql_users BEGIN SELECT 1; END",
            "The sandbox does not model CREATE TRIGGER",
        ),
        ("SELECT from_unixtime(1)", "The sandbox does not model the function from_unixtime"),
        ("SELECT ?", "The sandbox refuses parameters such as ?, :a or @a"),
        ("SELECT 1 AS caf\udce9", "The sandbox refuses bytes that are not UTF-8 outside a literal"),
    ],
)
def test_refusals_say_what_and_why(statement, message):
    sandbox = Sandbox()
    with pytest.raises(AdminError) as caught:
        sandbox.run(statement)
    assert caught.value.message.startswith(message)
    sandbox.close()


def test_an_unknown_variable_at_start_is_an_error():
    with pytest.raises(ValueError, match="no variable mysql-nope"):
        Sandbox(variables={"mysql-nope": "1"})
