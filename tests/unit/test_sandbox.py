"""Peculiarities of the sandbox: versions, DISK files, RUNTIME by hand, and refusals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from proxyctl.catalog import TABLES, layout_of, parse_version
from proxyctl.errors import ProxyctlError
from proxyctl.sandbox import AdminError, Sandbox
from tests.support.servers.monitor import place

Opened = Callable[..., Sandbox]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Make sandboxes without a server."""
    with ExitStack() as stack:
        yield lambda *version, **given: stack.enter_context(closing(Sandbox(*version, **given)))


@pytest.mark.parametrize("version", ["2.4.0", "2.5.5", "2.7.1", "3.0.0"])
def test_every_table_has_the_columns_of_its_version(opened: Opened, version: str) -> None:
    sandbox, parsed = opened(version), parse_version(version)
    for table in TABLES.values():
        if table.prefix is None:
            names = layout_of(table, parsed).names if table.exists_in(parsed) else ()
            for name in (table.name, f"runtime_{table.name}"):
                sql = f"SELECT name FROM pragma_table_info('{name}') ORDER BY cid"
                assert tuple(column for (column,) in sandbox.query(sql)) == names


def value_of(sandbox: Sandbox, name: str, table: str = "global_variables") -> object:
    [(value,)] = sandbox.query(f"SELECT variable_value FROM {table} WHERE variable_name='{name}'")
    return value


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
def test_variables_begin_with_the_defaults_of_the_version(
    opened: Opened, version: str, name: str, value: str
) -> None:
    sandbox = opened(version)
    assert value_of(sandbox, name) == value_of(sandbox, name, "runtime_global_variables") == value


@dataclass(frozen=True)
class LoadCase:
    """A text that is set for a variable, and what a LOAD leaves in MEMORY and at RUNTIME."""

    version: str
    name: str
    text: str
    memory: str
    running: str


@pytest.mark.parametrize(
    "case",
    [
        LoadCase(
            version="3.0.3", name="mysql-set_parser_algorithm", text="3", memory="2", running="2"
        ),
        LoadCase(
            version="3.0.12", name="mysql-set_parser_algorithm", text="3", memory="3", running="3"
        ),
        LoadCase(
            version="3.0.12",
            name="mysql-resolution_family",
            text="ipv7",
            memory="system",
            running="system",
        ),
        LoadCase(
            version="3.0.12",
            name="mysql-passthrough_auth_enabled",
            text="true",
            memory="true",
            running="false",
        ),
    ],
    ids=lambda case: f"{case.version}-{case.name}-{case.text}",
)
def test_what_a_load_makes_of_a_value(opened: Opened, case: LoadCase) -> None:
    sandbox = opened(case.version)
    sandbox.run(f"SET {case.name}='{case.text}'")
    sandbox.run("LOAD MYSQL VARIABLES TO RUNTIME")
    assert value_of(sandbox, case.name) == case.memory
    assert value_of(sandbox, case.name, "runtime_global_variables") == case.running


def test_what_later_versions_do_otherwise(opened: Opened) -> None:
    words = "ERROR: Unknown global variable: 'mysql-nope'."
    assert opened("3.0.3").run("SET mysql-nope=1").info == words
    with pytest.raises(AdminError, match=re.escape(f"ProxySQL Admin Error: {words}")):
        opened("3.0.10").run("SET mysql-nope=1")
    with pytest.raises(AdminError, match="Unknown global variable"):
        opened("3.0.10").run("SET @@session.autocommit=1")
    opened("3.0.11").run("SET @@session.autocommit=1")
    with pytest.raises(AdminError, match="does not model the table ssl_ciphers"):
        opened("3.0.11").run("SELECT * FROM ssl_ciphers")
    old = opened("2.5.5")
    old.run("INSERT INTO mysql_users (username, password) VALUES ('u', 'x')")
    old.run("LOAD MYSQL USERS TO RUNTIME")
    assert old.query("SELECT DISTINCT password FROM runtime_mysql_users") == [
        ("*B69027D44F6E5EDC07F1AEAD1477967B16F28227",)
    ]


@pytest.mark.parametrize("restarts", [False, True])
def test_disk_is_kept_in_its_file(tmp_path: Path, opened: Opened, restarts: bool) -> None:
    path = tmp_path / "disk.db"
    with closing(Sandbox(path=path)) as first:
        if restarts:
            first.restart()
        first.run("INSERT INTO mysql_servers (hostname) VALUES ('saved')")
        first.run("SAVE MYSQL SERVERS TO DISK")
        first.run("INSERT INTO mysql_servers (hostname) VALUES ('not saved')")
    second = opened(path=path)
    assert second.query("SELECT hostname FROM runtime_mysql_servers") == [("saved",)]


def test_two_sandboxes_share_nothing(opened: Opened) -> None:
    one, two = opened(), opened()
    for sql in (
        *("SET mysql-threads='7'", "SAVE MYSQL VARIABLES TO DISK"),
        *("INSERT INTO mysql_servers (hostname) VALUES ('a')", "LOAD MYSQL SERVERS TO RUNTIME"),
    ):
        one.run(sql)
    for layer in ("main.", "disk."):
        found = [value_of(of, "mysql-threads", f"{layer}global_variables") for of in (one, two)]
        assert found == ["7", "4"]
    assert two.query("SELECT count(*) FROM runtime_mysql_servers") == [(0,)]
    checksum = "SELECT version FROM runtime_checksums_values WHERE name='mysql_servers'"
    assert (one.query(checksum), two.query(checksum)) == ([(2,)], [(1,)])


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "a different layout"), ("no database\n", "cannot be used as DISK")],
)
def test_a_file_that_is_not_used(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "disk.db"
    if content is None:
        Sandbox("2.5.0", path=path).close()
    else:
        path.write_text(content * 100)
    with pytest.raises(ProxyctlError, match=message):
        Sandbox(path=path)


@pytest.mark.parametrize("name", [":memory:", "file:x?mode=ro"])
def test_the_name_of_a_file_is_nothing_but_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Opened, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    opened(path=Path(name))
    assert (tmp_path / name).is_file()


@pytest.mark.parametrize(
    "version", ["", "2.7", "abc", "2.7.1; drop", "2.7.1234", "9.9.9", "3.1.12", "4.0.13"]
)
def test_a_text_that_is_no_known_version(version: str) -> None:
    with pytest.raises(ValueError, match=r"not a ProxySQL version|does not know"):
        Sandbox(version)


def test_a_4_0_has_the_ledger_of_plugins(opened: Opened) -> None:
    sandbox = opened("4.0.12")
    for schema in ("main", "disk"):
        sandbox.run(
            f"INSERT INTO {schema}.proxysql_plugin_owned_objects"
            f" VALUES ('{schema}', 'mysql_user', 'app', 1)"
        )
    sandbox.restart()
    assert sandbox.query("SELECT owner FROM proxysql_plugin_owned_objects") == [("disk",)]
    assert sandbox.query("SELECT version()") == [("4.0.12-sandbox",)]
    older = opened("3.0.12")
    with pytest.raises(AdminError, match="no such table"):
        older.query("SELECT * FROM proxysql_plugin_owned_objects")


def test_an_unknown_variable_at_start_is_an_error() -> None:
    with pytest.raises(ValueError, match="no variable mysql-nope"):
        Sandbox(variables={"mysql-nope": "1"})


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("", "ProxySQL Admin Error: not an error"),
        (" ;; ", "The sandbox refuses a text of only semicolons: it crashes ProxySQL"),
        ("SELECT ';'; -- x\nSELECT 2", "The sandbox refuses several statements in one text"),
        ("/**/ BEGIN", "The sandbox refuses BEGIN: ProxySQL has no transactions"),
        ("/**/SAVEPOINT a", "The sandbox refuses SAVEPOINT: ProxySQL has no transactions"),
        ("RELEASE a", "The sandbox refuses RELEASE: ProxySQL has no transactions"),
        ("SELECT '\0'", "The sandbox cannot run this statement: the query contains a null"),
        ("DROP TABLE mysql_users", "The sandbox refuses to drop mysql_users"),
        ("DROP TABLE stats.stats_mysql_global", "The sandbox refuses to drop stats_mysql_global"),
        ("ALTER TABLE mysql_users ADD COLUMN x", "The sandbox refuses to alter mysql_users"),
        ("ATTACH ':memory:' AS x", "The sandbox does not model ATTACH"),
        ("PRAGMA journal_mode", "The sandbox does not model PRAGMA journal_mode"),
        ("PROXYSQLTEST 1 1000", "The sandbox does not model PROXYSQLTEST 1 1000"),
        ("SELECT GLOBAL_CHECKSUM()", "The sandbox does not model SELECT GLOBAL_CHECKSUM()"),
        ("SELECT * FROM monitor.x", "ProxySQL Admin Error: no such table: monitor.x"),
        ("SELECT from_unixtime(1)", "The sandbox does not model the function from_unixtime"),
        ("SELECT ?", "The sandbox cannot run this statement: Incorrect number of bindings"),
        ("SELECT 1 AS caf\udce9", "The sandbox refuses bytes that are not UTF-8 outside a literal"),
    ],
)
def test_refusals_say_what_and_why(opened: Opened, statement: str, message: str) -> None:
    with pytest.raises(AdminError) as caught:
        opened().run(statement)
    assert caught.value.message.startswith(message)


# -- RUNTIME, played from outside ------------------------------------------------------------------

FAMILY = (
    "INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup,"
    " reader_hostgroup, offline_hostgroup, writer_is_also_reader) VALUES (10,20,30,40,{})"
)
NODES = (
    "INSERT INTO mysql_servers (hostgroup_id, hostname, weight)"
    " VALUES (10,'n1',1),(10,'n2',2),(10,'n3',3),(5,'other',1)"
)


def servers(sandbox: Sandbox) -> list[tuple[object, ...]]:
    return sandbox.query(
        "SELECT hostname, hostgroup_id, status FROM runtime_mysql_servers ORDER BY 1, 2"
    )


def galera(sandbox: Sandbox, writer_is_also_reader: int = 2) -> Sandbox:
    sandbox.run(FAMILY.format(writer_is_also_reader))
    sandbox.run(NODES)
    sandbox.run("LOAD MYSQL SERVERS TO RUNTIME")
    return sandbox


@pytest.mark.parametrize(("also_reader", "readers"), [(0, []), (1, ["n1", "n2"]), (2, ["n2"])])
def test_the_monitor_places_a_galera_family(
    opened: Opened, also_reader: int, readers: list[str]
) -> None:
    sandbox = galera(opened(), also_reader)
    place(sandbox, 10, writers=[("n1", 3306)], offline=[("n3", 3306)])
    assert servers(sandbox) == sorted(
        [
            ("n1", 10, "ONLINE"),
            ("n2", 10, "SHUNNED"),
            ("n2", 20, "ONLINE"),
            ("n3", 40, "ONLINE"),
            ("other", 5, "ONLINE"),
            *((node, 30, "ONLINE") for node in readers),
        ]
    )
    assert sandbox.query("SELECT count(*) FROM mysql_servers") == [(4,)]


def test_a_load_of_the_usual_rows_loses_the_placement(opened: Opened) -> None:
    sandbox = galera(opened())
    place(sandbox, 10, writers=[("n1", 3306)])
    sandbox.run("LOAD MYSQL SERVERS TO RUNTIME")
    assert servers(sandbox) == [
        ("n1", 10, "ONLINE"),
        ("n2", 10, "ONLINE"),
        ("n3", 10, "ONLINE"),
        ("other", 5, "ONLINE"),
    ]


def test_a_placed_load_keeps_it(opened: Opened) -> None:
    sandbox = galera(opened())
    place(sandbox, 10, writers=[("n1", 3306)])
    before = servers(sandbox)
    sandbox.run("DELETE FROM mysql_servers")
    sandbox.run("INSERT INTO mysql_servers SELECT * FROM runtime_mysql_servers")
    sandbox.run("LOAD MYSQL SERVERS TO RUNTIME")
    assert servers(sandbox) == before


def test_rows_at_runtime_can_be_set(opened: Opened) -> None:
    sandbox = opened()
    sandbox.runtime["mysql_servers"] = [
        {"hostgroup_id": 1, "hostname": "a", "status": "SHUNNED"},
        {"hostgroup_id": 2, "hostname": "b"},
    ]
    assert servers(sandbox) == [("a", 1, "SHUNNED"), ("b", 2, "ONLINE")]
    assert sandbox.query("SELECT count(*) FROM mysql_servers") == [(0,)]
    sandbox.runtime["mysql_servers"] = []
    assert servers(sandbox) == []
