"""Reading tables: what an instance holds is what is read, or nothing is believed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.login import Login
from proxyctl.admin.read import TableReader
from proxyctl.admin.whole_answer import query_whole
from proxyctl.catalog import Value
from proxyctl.errors import InstanceError
from proxyctl.state import Layer
from tests.support.build import layout
from tests.support.servers import Instance

USERS = layout("mysql_users")
SERVERS = layout("mysql_servers")
VARIABLES = layout("mysql_variables")
SHA2 = b"$A$005$" + bytes(range(65, 85)) + b"a" * 43


@pytest.fixture
def client(instance: Instance) -> Iterator[AdminClient]:
    login = Login(instance.host, instance.port, instance.user, instance.password)
    with AdminClient(login) as opened:
        yield opened


def fill(instance: Instance, *users: str) -> None:
    for values in users:
        instance.run(f"INSERT INTO mysql_users (username, password, comment) VALUES ({values})")


def passwords(client: AdminClient, layer: Layer) -> dict[Value, Value]:
    found = TableReader(client).read(USERS, layer)
    return {key[0]: row[USERS.index["password"]] for key, row in found.items()}


@pytest.mark.since("2.6.0", "RUNTIME holds a hash of the password")
@pytest.mark.parametrize("layer", list(Layer))
def test_a_blob_is_read_as_its_bytes_and_hides_no_other_row(
    instance: Instance, client: AdminClient, layer: Layer
) -> None:
    fill(instance, "'a','x',''", f"'b',X'{SHA2.hex()}',''", "'c',X'C328',''", "'d',X'4100FF',''")
    for command in ("LOAD MYSQL USERS TO RUNTIME", "SAVE MYSQL USERS TO DISK"):
        instance.run(command)
    expected = {"a": "x", "b": SHA2.decode(), "c": "\udcc3(", "d": "A"}
    assert passwords(client, layer) == expected


def test_a_blob_in_a_number_column_is_the_number_that_proxysql_makes_of_it(
    instance: Instance, client: AdminClient
) -> None:
    instance.run("INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (X'37','a')")
    instance.run("LOAD MYSQL SERVERS TO RUNTIME")
    reader = TableReader(client)
    for layer in (Layer.MEMORY, Layer.RUNTIME):
        assert list(reader.read(SERVERS, layer)) == [(7, "a", 3306)]


@pytest.mark.parametrize("layer", list(Layer))
def test_a_blob_in_a_variable_is_read_as_its_bytes_and_hides_no_other(
    instance: Instance, client: AdminClient, layer: Layer
) -> None:
    count = len(TableReader(client).read(VARIABLES, layer))
    instance.run(
        "UPDATE global_variables SET variable_value=X'6DC3A9'"
        " WHERE variable_name='mysql-monitor_username'"
    )
    for command in ("LOAD MYSQL VARIABLES TO RUNTIME", "SAVE MYSQL VARIABLES TO DISK"):
        instance.run(command)
    found = TableReader(client).read(VARIABLES, layer)
    assert len(found) == count
    assert found["mysql-monitor_username",][1] == "mé"


def test_tables_that_are_read_together_show_blobs_too(
    instance: Instance, client: AdminClient
) -> None:
    fill(instance, "'a',X'41',''")
    instance.run("INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1,'s')")
    found = TableReader(client).read_together([SERVERS, USERS], Layer.MEMORY)
    assert {name: list(rows) for name, rows in found.items()} == {
        "mysql_servers": [(1, "s", 3306)],
        "mysql_users": [("a", 1)],
    }


def test_two_keys_of_the_same_bytes_are_an_error_and_not_one_row(
    instance: Instance, client: AdminClient
) -> None:
    fill(instance, "'a','x',''", "X'61','y',''")
    with pytest.raises(InstanceError, match="two rows have the same username, backend"):
        passwords(client, Layer.MEMORY)


def test_empty_tables_are_read_as_empty(client: AdminClient) -> None:
    assert passwords(client, Layer.MEMORY) == {}
    found = TableReader(client).read_together([SERVERS, USERS], Layer.RUNTIME)
    assert found == {"mysql_servers": {}, "mysql_users": {}}


class _Cut(AdminClient):
    """A connection whose answers lack their last row, as after a failure inside SQLite."""

    def raw(self, sql: str) -> list[tuple[bytes | None, ...]]:
        rows = super().raw(sql)
        return rows[:-1] if "json_group_array" in sql else rows


def test_a_part_of_a_table_is_never_believed(instance: Instance) -> None:
    login = Login(instance.host, instance.port, instance.user, instance.password)
    with _Cut(login) as client, pytest.raises(InstanceError, match="a part of the rows only"):
        TableReader(client).read(USERS, Layer.MEMORY)


class _Late(AdminClient):
    """A connection to a ProxySQL that cannot read a table at first, as while a file is locked."""

    def __init__(self, login: Login) -> None:
        self.asked: set[str] = set()
        super().__init__(login)

    def raw(self, sql: str) -> list[tuple[bytes | None, ...]]:
        rows = super().raw(sql)
        is_first = "mysql_users" in sql and sql not in self.asked
        self.asked.add(sql)
        return [] if is_first else rows


def test_an_answer_without_any_row_is_asked_for_again(instance: Instance) -> None:
    fill(instance, "'a','x',''")
    login = Login(instance.host, instance.port, instance.user, instance.password)
    with _Late(login) as client:
        assert TableReader(client).read(USERS, Layer.MEMORY).keys() == {("a", 1)}
        names = "SELECT username FROM mysql_users WHERE username=%s"
        assert query_whole(client, names % "'a'", width=1) == [("a",)]
        assert query_whole(client, names % "'b'", width=1) == []
