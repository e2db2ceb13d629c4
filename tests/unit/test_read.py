"""Reading tables: a read returns exactly the instance's rows, or fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proxyctl.catalog import Value
from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.read import ask, query_whole, read_rows, read_tables
from proxyctl.rows.row import Layer
from proxyctl.rows.sql import Statement
from tests.support.build import layout
from tests.support.servers.instances import Instance

USERS = layout("mysql_users")
SERVERS = layout("mysql_servers")
VARIABLES = layout("admin_variables")


@pytest.fixture
def client(instance: Instance) -> Iterator[AdminClient]:
    login = Login(instance.host, instance.port, instance.user, instance.password)
    with AdminClient(login) as opened:
        yield opened


def fill(instance: Instance, *users: str) -> None:
    for values in users:
        instance.run(f"INSERT INTO mysql_users (username, password, comment) VALUES ({values})")


def passwords(client: AdminClient, layer: Layer) -> dict[Value, Value]:
    found = read_rows(client, USERS, layer)
    return {key[0]: row[USERS.index["password"]] for key, row in found.items()}


def test_cells_are_read_as_proxysql_reads_them(instance: Instance, client: AdminClient) -> None:
    """A BLOB, which no JSON holds, and text with a NUL, which ends a text for ProxySQL."""
    fill(instance, "'a','x',''", "'b',X'4142',''", "'c',X'2AFF00E9',''", "'d','x'||char(0),''")
    fill(instance, "'e',X'',''", "'f',NULL,''", r"'g','\u0000',''")
    read = {"a": "x", "b": "AB", "c": "*\udcff", "d": "x", "e": "", "f": None, "g": r"\u0000"}
    assert passwords(client, Layer.MEMORY) == read
    instance.run("SAVE MYSQL USERS TO DISK")
    assert passwords(client, Layer.DISK) == read
    assert {
        (cells.column.name, cells.type.name, cells.count, cells.first)
        for cells in read_tables(client, [USERS])["mysql_users"].mistyped
    } == {
        ("password", "a BLOB", 3, ("b", "1")),
        ("password", "text with a NUL", 2, ("c", "1")),
    }


def test_empty_tables_are_read_as_empty(client: AdminClient) -> None:
    assert passwords(client, Layer.MEMORY) == {}
    assert ask(client, [(SERVERS, Layer.RUNTIME), (USERS, Layer.DISK)])().texts == [[], []]


def test_tables_that_are_read_together_are_those_that_are_read_alone(
    instance: Instance, client: AdminClient
) -> None:
    fill(instance, "'a','x',''", "'b','y',''")
    instance.run("INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1,'s')")
    instance.run("SAVE MYSQL SERVERS TO DISK")
    layouts = (SERVERS, USERS, VARIABLES)
    found = read_tables(client, layouts)
    assert {name: table.rows for name, table in found.items()} == {
        layout.name: {layer: read_rows(client, layout, layer) for layer in Layer}
        for layout in layouts
    }


def test_an_answer_that_nobody_took_is_not_that_of_the_next_statement(client: AdminClient) -> None:
    client.send(Statement.plain("SELECT 1"))
    assert client.query("SELECT 2") == [("2",)]


class _Cut(AdminClient):
    """A connection that drops the last row of each answer, as after a failure inside SQLite."""

    def send(self, statement: Statement, **limits: int) -> None:
        self.sql = statement.sql
        super().send(statement, **limits)

    def receive(
        self, *, most_rows: int | None = None
    ) -> tuple[list[tuple[bytes | None, ...]], int]:
        rows, count = super().receive(most_rows=most_rows)
        return (rows[:-1] if "json_group_array" in self.sql else rows), count


def test_a_part_of_a_table_is_never_believed(instance: Instance) -> None:
    login = Login(instance.host, instance.port, instance.user, instance.password)
    with _Cut(login) as client, pytest.raises(InstanceError, match="only part of the rows"):
        read_rows(client, USERS, Layer.MEMORY)


class _Late(AdminClient):
    """A connection to a ProxySQL that at first cannot read a table, as while a file is locked."""

    def __init__(self, login: Login) -> None:
        self.asked: set[str] = set()
        super().__init__(login)

    def send(self, statement: Statement, **limits: int) -> None:
        self.is_first = "mysql_users" in statement.sql and statement.sql not in self.asked
        self.asked.add(statement.sql)
        super().send(statement, **limits)

    def receive(
        self, *, most_rows: int | None = None
    ) -> tuple[list[tuple[bytes | None, ...]], int]:
        rows, count = super().receive(most_rows=most_rows)
        return ([] if self.is_first else rows), count


def test_an_answer_without_any_row_is_asked_for_again(instance: Instance) -> None:
    fill(instance, "'a','x',''")
    login = Login(instance.host, instance.port, instance.user, instance.password)
    with _Late(login) as client:
        assert read_rows(client, USERS, Layer.MEMORY).keys() == {("a", 1)}
        names = "SELECT username FROM mysql_users WHERE username=%s"
        assert query_whole(client, names % "'a'", width=1) == [("a",)]
        assert query_whole(client, names % "'b'", width=1) == []
