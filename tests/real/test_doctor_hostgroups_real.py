"""Hostgroups whose servers are all ONLINE and take nothing all the same: what the doctor says."""

from __future__ import annotations

import pymysql
import pytest

from tests.mariadb_server import MISSING, USER, MariaDB
from tests.real.test_doctor_real import (  # noqa: F401 - two are fixtures
    NOT_REACHED,
    load,
    mariadb,
    message,
    proxysql,
    query,
    until_found,
)
from tests.servers import ProxySQL
from tests.slow_way import SlowWay

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def assert_not_reached(server: ProxySQL) -> None:
    with pytest.raises(pymysql.err.MySQLError) as failed:
        query(server, "SELECT 7")
    assert failed.value.args[0] == NOT_REACHED


def test_more_servers_than_a_hostgroup_may_have(proxysql: ProxySQL) -> None:  # noqa: F811
    """ProxySQL uses none of them then."""
    run = proxysql.instance.execute
    load(proxysql.instance, "SET mysql-connect_timeout_server_max=500", module="MYSQL VARIABLES")
    limit = "INSERT INTO mysql_hostgroup_attributes (hostgroup_id,max_num_online_servers) VALUES "
    load(proxysql.instance, limit + "(10,1)")
    with until_found(proxysql):
        assert query(proxysql, "SELECT 7") == ((7,),)
    ((port,),) = proxysql.instance.query("SELECT port FROM mysql_servers")
    run(
        "INSERT INTO mysql_servers (hostgroup_id,hostname,port,weight)"
        f" VALUES (10,'127.1',{port},0)"
    )
    load(proxysql.instance)
    with until_found(proxysql, "hostgroup-without-servers", "users-without-servers") as found:
        assert message(found, "hostgroup-without-servers") == (
            "hostgroup 10: queries of rule 5 fail after 0.5 s: 2 servers are ONLINE, and"
            " max_num_online_servers is 1: none takes any"
        )
        assert_not_reached(proxysql)


def test_fast_routing_that_is_never_asked(proxysql: ProxySQL) -> None:  # noqa: F811
    """With apply in the last rule ProxySQL does not look at fast routing, whatever matched."""
    rules = "MYSQL QUERY RULES"
    load(proxysql.instance, "SET mysql-connect_timeout_server_max=500", module="MYSQL VARIABLES")
    dead_end = "INSERT INTO mysql_query_rules_fast_routing VALUES ('','information_schema',0,98,'')"
    load(proxysql.instance, dead_end, module=rules)
    with until_found(proxysql, "fast-routing-skipped"):
        assert query(proxysql, "SHOW DATABASES LIKE 'none'") == ()
    load(proxysql.instance, "UPDATE mysql_query_rules SET apply=0", module=rules)
    with until_found(proxysql, "hostgroup-without-servers"):
        assert_not_reached(proxysql)


@pytest.mark.parametrize("limit", ["server", "default"])
def test_servers_that_answer_pings_too_late(
    proxysql: ProxySQL,  # noqa: F811
    mariadb: MariaDB,  # noqa: F811
    limit: str,
) -> None:
    """They stay ONLINE, and ProxySQL sends them nothing."""
    with SlowWay(mariadb.port, delay_s=0.05) as way:
        load(
            proxysql.instance,
            "SET mysql-connect_timeout_server_max=500",
            f"SET mysql-default_max_latency_ms={1 if limit == 'default' else 20_000}",
            module="MYSQL VARIABLES",
        )
        load(
            proxysql.instance,
            f"UPDATE mysql_servers SET port={way.port},"
            f" max_latency_ms={1 if limit == 'server' else 0}",
        )
        with until_found(proxysql, "hostgroup-without-servers", "users-without-servers") as found:
            said = message(found, "hostgroup-without-servers")
            assert f"127.0.0.1:{way.port} answered a ping after" in said
            assert_not_reached(proxysql)
        load(proxysql.instance, "UPDATE mysql_servers SET max_latency_ms=20000")
        with until_found(proxysql):
            assert query(proxysql, "SELECT 7") == ((7,),)


def test_a_rule_for_a_user_that_is_not_there(proxysql: ProxySQL) -> None:  # noqa: F811
    """Nobody can log in as that user, so no query goes where the rule sends."""
    rules = "MYSQL QUERY RULES"
    load(proxysql.instance, "SET mysql-connect_timeout_server_max=500", module="MYSQL VARIABLES")
    dead_end = (
        "INSERT INTO mysql_query_rules (rule_id,active,username,destination_hostgroup,apply)"
        " VALUES (1,1,'gone',99,1)"
    )
    load(proxysql.instance, dead_end, module=rules)
    with until_found(proxysql):
        assert query(proxysql, "SELECT 7") == ((7,),)
    load(
        proxysql.instance,
        f"UPDATE mysql_query_rules SET username='{USER}' WHERE rule_id=1",
        module=rules,
    )
    with until_found(proxysql, "hostgroup-without-servers"):
        assert_not_reached(proxysql)
