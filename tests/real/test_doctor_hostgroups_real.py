"""Hostgroups whose servers are all ONLINE and take nothing all the same: what the doctor says."""

from __future__ import annotations

import time
from contextlib import closing

import pymysql
import pytest

from tests.real.galera_rig import cluster  # noqa: F401 - a fixture
from tests.real.galera_rig import proxysql as galera_proxysql  # noqa: F401 - a fixture
from tests.real.test_doctor_real import (  # noqa: F401 - two are fixtures
    NOT_REACHED,
    examined,
    load,
    mariadb,
    message,
    proxysql,
    query,
    until_found,
)
from tests.support.galera_nodes import GaleraCluster
from tests.support.mariadb_server import MISSING, PASSWORD, USER, MariaDB
from tests.support.placement_samples import online, placement
from tests.support.servers import ProxySQL
from tests.support.slow_way import SlowWay

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def assert_not_reached(server: ProxySQL, account: str = USER) -> None:
    with pytest.raises(pymysql.err.MySQLError) as failed:
        query(server, "SELECT 7", account)
    assert failed.value.args[0] == NOT_REACHED


@pytest.mark.since("2.6.3", "it uses them all the same")
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


def test_fast_routing_that_no_query_finds(proxysql: ProxySQL) -> None:  # noqa: F811
    """A row of a user who is not there, and one of a flagIN that no rule leads to."""
    module = "MYSQL QUERY RULES"
    load(proxysql.instance, "SET mysql-connect_timeout_server_max=500", module="MYSQL VARIABLES")
    insert = "INSERT INTO mysql_query_rules_fast_routing VALUES "
    load(
        proxysql.instance,
        "UPDATE mysql_query_rules SET apply=0, match_digest='^SHOW'",
        insert + "('gone','information_schema',0,98,'')",
        insert + f"('{USER}','information_schema',7,98,'')",
        module=module,
    )
    with until_found(proxysql):
        assert query(proxysql, "SELECT 7") == ((7,),)
    columns = "rule_id,active,username,match_digest,flagOUT,apply"
    leading = f"INSERT INTO mysql_query_rules ({columns}) VALUES "
    load(
        proxysql.instance,
        # One ends the rules, so that fast routing is not asked; the other is for nobody.
        leading + "(1,1,NULL,'^SELECT',7,1)",
        leading + "(9,1,'gone','^SELECT',7,0)",
        module=module,
    )
    with until_found(proxysql):
        assert query(proxysql, "SELECT 7") == ((7,),)
    load(proxysql.instance, "UPDATE mysql_query_rules SET apply=0", module=module)
    with until_found(proxysql, "hostgroup-without-servers") as found:
        assert "queries of 1 row of fast routing fail" in message(
            found, "hostgroup-without-servers"
        )
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


def test_a_limit_that_no_ping_can_keep(proxysql: ProxySQL) -> None:  # noqa: F811
    """0 is no way to say that a ping may take as long as it likes."""
    module = "MYSQL VARIABLES"
    load(
        proxysql.instance,
        "SET mysql-connect_timeout_server_max=500",
        "SET mysql-default_max_latency_ms=0",
        module=module,
    )
    with until_found(proxysql, "hostgroup-without-servers", "users-without-servers") as found:
        assert message(found, "users-without-servers").endswith(
            " is ONLINE, for which mysql-default_max_latency_ms is 0: no ping is that fast"
        )
        assert {one.way_out.partition(",")[0] for one in found.findings} == {
            "variables: {mysql-default_max_latency_ms: 1000}"
        }
        assert_not_reached(proxysql)
    load(proxysql.instance, "UPDATE mysql_servers SET max_latency_ms=5000")
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


@pytest.mark.parametrize("first", ["username", "error_msg"])
def test_rules_that_other_rules_leave_nothing_to(proxysql: ProxySQL, first: str) -> None:  # noqa: F811
    """A rule for each user that there is, or an answer: the server and doctor agree."""
    module = "MYSQL QUERY RULES"
    load(proxysql.instance, "SET mysql-connect_timeout_server_max=500", module="MYSQL VARIABLES")
    columns = "rule_id,active,match_digest,destination_hostgroup,apply,username,error_msg"
    insert = f"INSERT INTO mysql_query_rules ({columns}) VALUES "
    taking = f"10,1,'{USER}',NULL" if first == "username" else "NULL,0,NULL,'no'"
    load(
        proxysql.instance,
        insert + f"(1,1,'^SELECT',{taking})",
        insert + "(2,1,'^SELECT [?]',99,1,NULL,NULL)",
        module=module,
    )
    with until_found(proxysql, "hostgroup-perhaps-without-servers"):
        if first == "username":
            assert query(proxysql, "SELECT 7") == ((7,),)
        else:
            with pytest.raises(pymysql.err.MySQLError, match="no"):
                query(proxysql, "SELECT 7")
    load(proxysql.instance, "DELETE FROM mysql_query_rules WHERE rule_id=1", module=module)
    with until_found(proxysql, "hostgroup-without-servers"):
        assert_not_reached(proxysql)


def test_rules_that_take_all_together(proxysql: ProxySQL) -> None:  # noqa: F811
    """No rule takes all by itself; no query that was tried is left."""
    module = "MYSQL QUERY RULES"
    load(proxysql.instance, "SET mysql-connect_timeout_server_max=500", module="MYSQL VARIABLES")
    load(proxysql.instance, "UPDATE mysql_users SET default_hostgroup=99", module="MYSQL USERS")
    with until_found(proxysql, "users-without-servers"), pytest.raises(pymysql.err.MySQLError):
        query(proxysql, "DO 1")
    columns = "rule_id,active,match_digest,negate_match_pattern,destination_hostgroup,apply"
    insert = f"INSERT INTO mysql_query_rules ({columns}) VALUES "
    load(proxysql.instance, insert + "(6,1,'^SELECT',1,10,1)", module=module)
    with until_found(proxysql, "users-hardly-without-servers"):
        for taken in ("SELECT 7", "DO 1", "SHOW TABLES FROM sbtest"):
            query(proxysql, taken)


def test_rules_that_answer_everything_need_no_server(proxysql: ProxySQL) -> None:  # noqa: F811
    """Not even for a SET that ProxySQL cannot read."""
    load(proxysql.instance, "SET mysql-connect_timeout_server_max=500", module="MYSQL VARIABLES")
    load(proxysql.instance, "UPDATE mysql_users SET default_hostgroup=99", module="MYSQL USERS")
    page = "UPDATE mysql_query_rules SET match_digest=NULL, error_msg='closed'"
    load(proxysql.instance, page, module="MYSQL QUERY RULES")
    with until_found(proxysql):
        for asked in ("SELECT 7", "SET NAMES concat('utf8')", "SET autocommit", "SHOW TABLES"):
            with pytest.raises(pymysql.err.MySQLError, match="closed"):
                query(proxysql, asked)


@pytest.mark.before("3.0.0", "RUNTIME shows mirror_flagOUT as mirror_hostgroup, in the alpha")
def test_a_lane_of_copies(proxysql: ProxySQL) -> None:  # noqa: F811
    """Where only copies get to a rule, no client waits for what it sends nowhere."""
    module = "MYSQL QUERY RULES"
    load(proxysql.instance, "SET mysql-connect_timeout_server_max=500", module="MYSQL VARIABLES")
    lane = "INSERT INTO mysql_query_rules (rule_id,active,flagIN,destination_hostgroup,apply)"
    load(
        proxysql.instance,
        "UPDATE mysql_query_rules SET mirror_flagOUT=7",
        f"{lane} VALUES (9,1,7,99,1)",
        module=module,
    )
    with until_found(proxysql, "mirror-without-servers") as found:
        assert message(found, "mirror-without-servers") == (
            "hostgroup 99: the copies of rule 9 go there; there is no server at RUNTIME"
        )
        assert query(proxysql, "SELECT 7") == ((7,),)
    load(
        proxysql.instance,
        "UPDATE mysql_query_rules SET flagOUT=7, apply=0 WHERE rule_id=5",
        module=module,
    )
    with until_found(proxysql, "hostgroup-without-servers"):
        assert_not_reached(proxysql)


def test_users_with_fast_forward_meet_no_rules(proxysql: ProxySQL) -> None:  # noqa: F811
    load(proxysql.instance, "SET mysql-connect_timeout_server_max=500", module="MYSQL VARIABLES")
    load(
        proxysql.instance,
        "UPDATE mysql_query_rules SET destination_hostgroup=99",
        module="MYSQL QUERY RULES",
    )
    with until_found(proxysql, "hostgroup-without-servers"):
        assert_not_reached(proxysql)
    load(proxysql.instance, "UPDATE mysql_users SET fast_forward=1", module="MYSQL USERS")
    with until_found(proxysql):
        assert query(proxysql, "SELECT 7") == ((7,),)


def test_the_way_out_where_nobody_may_write(
    proxysql: ProxySQL,  # noqa: F811
    mariadb: MariaDB,  # noqa: F811
) -> None:
    """A server that is added to the writers is moved to the readers, as long as it is read-only."""
    load(
        proxysql.instance,
        "SET mysql-connect_timeout_server_max=500",
        "SET mysql-monitor_read_only_interval=500",
        module="MYSQL VARIABLES",
    )
    with closing(
        pymysql.connect(host="127.0.0.1", port=mariadb.port, user=USER, password=PASSWORD)
    ) as admin:
        admin.cursor().execute("SET GLOBAL read_only=1")
        try:
            load(
                proxysql.instance,
                "INSERT INTO mysql_replication_hostgroups VALUES (10,20,'read_only','')",
            )
            with until_found(
                proxysql, "hostgroup-without-servers", "users-without-servers"
            ) as found:
                (way_out,) = {one.way_out.rpartition(", or change")[0] for one in found.findings}
                assert way_out.endswith("SET GLOBAL read_only=0 at the one that shall take writes")
                assert "add one" not in way_out
                assert_not_reached(proxysql)
        finally:
            admin.cursor().execute("SET GLOBAL read_only=0")
    with until_found(proxysql):
        assert query(proxysql, "SELECT 7") == ((7,),)


def test_the_way_out_where_writers_are_no_readers(
    galera_proxysql: ProxySQL,  # noqa: F811
    cluster: GaleraCluster,  # noqa: F811
) -> None:
    """A Galera node that is added to the readers is moved to the writers."""
    instance = galera_proxysql.instance

    def empty_readers() -> list[str]:
        return [
            one.way_out
            for one in examined(galera_proxysql, asks=False).findings
            if one.code == "hostgroup-without-servers"
        ]

    def until(is_empty: bool) -> None:
        deadline = time.monotonic() + 30
        while bool(online(placement(instance)[30])) is is_empty:
            assert time.monotonic() < deadline, placement(instance)
            time.sleep(0.2)

    assert empty_readers() == []
    load(instance, "UPDATE mysql_galera_hostgroups SET writer_is_also_reader=0")
    until(is_empty=True)
    (way_out,) = empty_readers()
    assert "set its writer_is_also_reader to 1" in way_out
    host = f"'127.0.1.1',{cluster.port}"
    load(instance, f"INSERT INTO mysql_servers (hostgroup_id,hostname,port) VALUES (30,{host})")
    until(is_empty=True)
    assert empty_readers() == [way_out]
    load(instance, "UPDATE mysql_galera_hostgroups SET writer_is_also_reader=1")
    until(is_empty=False)
    assert empty_readers() == []
