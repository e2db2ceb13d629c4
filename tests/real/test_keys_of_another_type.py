"""Rows that only SQLite keeps apart end ProxySQL: why proxyctl refuses them before a LOAD.

The sandbox refuses such a LOAD loudly.
"""

from __future__ import annotations

import time

import pymysql
import pytest

from tests.support.servers.instances import Instance, ProxySQL

TWINS = {
    "mysql_servers": "(hostgroup_id, hostname) VALUES (1,'a'), (1,X'61')",
    "mysql_servers_ssl_params": "(hostname, port) VALUES ('a',3306), ('a',3306.5)",
    "mysql_hostgroup_attributes": "(hostgroup_id) VALUES (1), (1.5)",
}
"""Two rows with one key for ProxySQL, by table."""

READ_TWINS = {
    "mysql_query_rules_fast_routing": "VALUES ('a','b',0,1,''), ('a','b'||char(0),0,1,'')",
    "mysql_firewall_whitelist_users": (
        "(username, client_address, comment) VALUES ('a','',''), (X'61','','')"
    ),
    "proxysql_servers": "(hostname) VALUES ('a'), (X'61')",
}
"""The same in tables whose LOAD is answered."""

MODULES = ("MYSQL QUERY RULES", "MYSQL FIREWALL", "PROXYSQL SERVERS")


@pytest.mark.parametrize("table", TWINS)
def test_a_load_of_two_rows_with_one_key_ends_proxysql(
    fresh_proxysql: ProxySQL, table: str
) -> None:
    instance = fresh_proxysql.instance
    instance.run(f"INSERT INTO {table} {TWINS[table]}")
    with pytest.raises(pymysql.err.OperationalError):
        instance.load("MYSQL SERVERS")
    _has_ended(fresh_proxysql)


@pytest.mark.parametrize("table", READ_TWINS)
def test_a_read_of_runtime_with_two_rows_of_one_key_ends_proxysql(
    fresh_proxysql: ProxySQL, table: str
) -> None:
    instance = fresh_proxysql.instance
    instance.run(f"INSERT INTO {table} {READ_TWINS[table]}")
    with pytest.raises(pymysql.err.OperationalError):
        _load_and_read(instance, table)
    _has_ended(fresh_proxysql)


def _load_and_read(instance: Instance, table: str) -> None:
    """LOAD a table and read it for a while: with proxysql_servers, a thread ends it later."""
    instance.load(*MODULES)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        instance.query(f"SELECT * FROM runtime_{table}")
        time.sleep(0.1)


def _has_ended(server: ProxySQL) -> None:
    with pytest.raises(pymysql.err.OperationalError):
        server.instance.connect()


@pytest.mark.parametrize("table", TWINS)
def test_the_sandbox_refuses_such_a_load(sandbox_instance: Instance, table: str) -> None:
    sandbox_instance.run(f"INSERT INTO {table} {TWINS[table]}")
    with pytest.raises(pymysql.err.MySQLError, match="ProxySQL crashes here"):
        sandbox_instance.load("MYSQL SERVERS")


@pytest.mark.parametrize("table", READ_TWINS)
def test_the_sandbox_refuses_such_a_read(sandbox_instance: Instance, table: str) -> None:
    sandbox_instance.run(f"INSERT INTO {table} {READ_TWINS[table]}")
    sandbox_instance.load(*MODULES)
    with pytest.raises(pymysql.err.MySQLError, match="ProxySQL crashes here"):
        sandbox_instance.query(f"SELECT * FROM runtime_{table}")
