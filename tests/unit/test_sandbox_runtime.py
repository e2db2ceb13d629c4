"""RUNTIME of the sandbox played from outside: monitor moves, used connections, statistics."""

from __future__ import annotations

import pytest

from proxyctl.sandbox import Sandbox
from tests.support.monitor import place

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


def galera(writer_is_also_reader: int = 2) -> Sandbox:
    sandbox = Sandbox()
    sandbox.run(FAMILY.format(writer_is_also_reader))
    sandbox.run(NODES)
    sandbox.run("LOAD MYSQL SERVERS TO RUNTIME")
    return sandbox


@pytest.mark.parametrize(("also_reader", "readers"), [(0, []), (1, ["n1", "n2"]), (2, ["n2"])])
def test_the_monitor_places_a_galera_family(also_reader, readers):
    sandbox = galera(also_reader)
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
    sandbox.close()


def test_a_load_of_the_usual_rows_loses_the_placement():
    sandbox = galera()
    place(sandbox, 10, writers=[("n1", 3306)])
    sandbox.run("LOAD MYSQL SERVERS TO RUNTIME")
    assert servers(sandbox) == [
        ("n1", 10, "ONLINE"),
        ("n2", 10, "ONLINE"),
        ("n3", 10, "ONLINE"),
        ("other", 5, "ONLINE"),
    ]
    sandbox.close()


def test_a_placed_load_keeps_it():
    sandbox = galera()
    place(sandbox, 10, writers=[("n1", 3306)])
    before = servers(sandbox)
    sandbox.run("DELETE FROM mysql_servers")
    sandbox.run("INSERT INTO mysql_servers SELECT * FROM runtime_mysql_servers")
    sandbox.run("LOAD MYSQL SERVERS TO RUNTIME")
    assert servers(sandbox) == before
    sandbox.close()


def test_saving_the_placement_to_memory_forgets_shunned():
    sandbox = galera()
    place(sandbox, 10, writers=[("n1", 3306)])
    sandbox.run("SAVE MYSQL SERVERS TO MEMORY")
    assert sandbox.query("SELECT DISTINCT status FROM mysql_servers") == [("ONLINE",)]
    assert sandbox.query("SELECT count(*) FROM mysql_servers WHERE hostname='n2'") == [(3,)]
    sandbox.close()


def test_every_statistics_table_can_be_read():
    sandbox = Sandbox()
    for (table,) in sandbox.query("SELECT name FROM stats.sqlite_master WHERE type='table'"):
        sandbox.query(f"SELECT * FROM {table}")
    assert ("query_digest_memory", "0") in sandbox.query("SELECT * FROM stats_memory_metrics")
    assert ("Questions", "0") in sandbox.query("SELECT * FROM stats_mysql_global")
    sandbox.close()


def test_rows_at_runtime_can_be_set():
    sandbox = Sandbox()
    sandbox.runtime["mysql_servers"] = [
        {"hostgroup_id": 1, "hostname": "a", "status": "SHUNNED"},
        (2, "b", 3306, 0, "ONLINE", 1, 0, 1000, 0, 0, 0, ""),
    ]
    assert servers(sandbox) == [("a", 1, "SHUNNED"), ("b", 2, "ONLINE")]
    assert sandbox.query("SELECT count(*) FROM mysql_servers") == [(0,)]
    with pytest.raises(KeyError, match="no column nope"):
        sandbox.runtime["mysql_servers"] = [{"nope": 1}]
    sandbox.runtime["mysql_servers"] = []
    assert servers(sandbox) == []
    sandbox.close()
