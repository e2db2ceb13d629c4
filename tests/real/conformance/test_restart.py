"""What survives a restart, on the sandbox and on a real ProxySQL."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proxyctl.sandbox import Sandbox
from tests.support.servers.instances import Instance, ProxySQL


@pytest.fixture(params=["sandbox", pytest.param("real", marks=pytest.mark.real)])
def restartable(request) -> tuple[Instance, Callable[[], None]]:
    """A handle, and the function that restarts its server."""
    if request.param == "sandbox":
        sandbox: Sandbox = request.getfixturevalue("sandbox")
        handle: Instance = request.getfixturevalue("sandbox_instance")

        def restart() -> None:
            handle.close()
            sandbox.restart()

        return handle, restart
    server: ProxySQL = request.getfixturevalue("fresh_proxysql")
    return server.instance, server.restart


def variables(instance: Instance, table: str, *names: str) -> dict[str | None, str | None]:
    wanted = ",".join(f"'{name}'" for name in names)
    rows = instance.query(
        f"SELECT variable_name, variable_value FROM {table} WHERE variable_name IN ({wanted})"
    )
    return {row[0]: row[1] for row in rows}


def test_disk_is_what_comes_back(restartable):
    instance, restart = restartable
    instance.run("INSERT INTO mysql_servers (hostname) VALUES ('saved')")
    instance.run("SAVE MYSQL SERVERS TO DISK")
    instance.run("INSERT INTO mysql_servers (hostname) VALUES ('loaded')")
    instance.run("LOAD MYSQL SERVERS TO RUNTIME")
    instance.run("CREATE TEMP TABLE mine (a)")
    restart()
    for layer in ("main.", "main.runtime_", "disk."):
        assert instance.query(f"SELECT hostname FROM {layer}mysql_servers") == [("saved",)]
    assert instance.query("SELECT count(*) FROM sqlite_temp_master") == [("0",)]


def test_restart_only_variables_come_from_disk(restartable):
    instance, restart = restartable
    instance.run(
        "UPDATE global_variables SET variable_value='7' WHERE variable_name='mysql-threads'"
    )
    instance.run("SAVE MYSQL VARIABLES TO DISK")
    restart()
    for table in ("global_variables", "runtime_global_variables"):
        assert variables(instance, table, "mysql-threads") == {"mysql-threads": "7"}


def test_variables_are_read_as_by_a_load(restartable):
    instance, restart = restartable
    names = ("mysql-max_connections", "mysql-multiplexing", "mysql-long_query_time")
    for name, value in zip(names, ("500x", "0", "-1"), strict=True):
        where = f"WHERE variable_name='{name}'"
        instance.run(f"UPDATE disk.global_variables SET variable_value='{value}' {where}")
    instance.run("INSERT INTO disk.global_variables VALUES ('mysql-nope','1')")
    restart()
    assert variables(instance, "runtime_global_variables", *names, "mysql-nope") == {
        "mysql-max_connections": "500",
        "mysql-multiplexing": "false",
        "mysql-long_query_time": "1000",
    }
    assert variables(instance, "global_variables", *names, "mysql-nope") == {
        "mysql-max_connections": "500x",
        "mysql-multiplexing": "0",
        "mysql-long_query_time": "1000",
    }


def test_checksums_begin_at_version_1(restartable):
    instance, restart = restartable
    instance.run("LOAD MYSQL USERS TO RUNTIME")
    restart()
    # Without one are the variables of PostgreSQL before 3.0.8.
    computed = "SELECT DISTINCT version FROM runtime_checksums_values WHERE checksum<>''"
    assert instance.query(computed) == [("1",)]
