"""An apply does not bring more servers ONLINE than max_num_online_servers unasked.

ProxySQL would use none of them: what is refused comes true where it is forced.
"""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.catalog import REFERENCE
from proxyctl.draining import DrainRequest, drain, restore
from proxyctl.errors import RefusedError
from proxyctl.state import Desired, GuardAction, GuardLimits
from tests.real.test_doctor_hostgroups_real import assert_not_reached
from tests.real.test_doctor_real import load, mariadb, query, until_found
from tests.real.test_doctor_real import proxysql as one_server
from tests.real.test_draining_real import until
from tests.real.test_galera_placement import HOSTS, apply, cluster, files, login, plan, proxysql
from tests.support.build import desired
from tests.support.galera_nodes import GaleraCluster
from tests.support.mariadb_server import MISSING, MariaDB
from tests.support.placement_samples import online, placement, settle
from tests.support.servers import ProxySQL, free_port

__all__ = ["cluster", "mariadb", "one_server", "proxysql"]

pytestmark = pytest.mark.real

ATTRIBUTES = "mysql_hostgroup_attributes"


def force(server: ProxySQL, wanted: Desired) -> None:
    """Apply it with guards that only warn."""
    actions = dict.fromkeys(
        ("last_writer", "empty_hostgroup", "default_hostgroup"), GuardAction.WARN
    )
    apply(server, replace(wanted, guards=GuardLimits(actions=actions)))


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_a_second_server_where_one_may_be(one_server: ProxySQL, mariadb: MariaDB) -> None:
    load(one_server.instance, "SET mysql-connect_timeout_server_max=500", module="MYSQL VARIABLES")

    def configuration(most: int, *hosts: str) -> Desired:
        servers = ({"hostgroup_id": 10, "hostname": host, "port": mariadb.port} for host in hosts)
        limit = {"hostgroup_id": 10, "max_num_online_servers": most}
        tables = {
            ATTRIBUTES: desired(ATTRIBUTES, limit),
            "mysql_servers": desired("mysql_servers", *servers),
        }
        return Desired(tables, REFERENCE)

    apply(one_server, configuration(1, "127.0.0.1"))
    with until_found(one_server):
        assert query(one_server, "SELECT 7") == ((7,),)
    (refusal,) = plan(one_server, configuration(1, "127.0.0.1", "127.1")).refusals
    assert refusal.message.endswith(
        "would have 2 servers ONLINE, more than max_num_online_servers (1): ProxySQL would use"
        " none of them (guards.default_hostgroup)"
    )
    assert plan(one_server, configuration(2, "127.0.0.1", "127.1")).refusals == []
    force(one_server, configuration(1, "127.0.0.1", "127.1"))
    assert_not_reached(one_server)
    apply(one_server, configuration(2, "127.0.0.1", "127.1"))
    with until_found(one_server):
        assert query(one_server, "SELECT 7") == ((7,),)
    # Nor is the limit taken below those that are there.
    (refusal,) = plan(one_server, configuration(1, "127.0.0.1", "127.1")).refusals
    assert "would have 2 servers ONLINE" in refusal.message


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_a_drained_server_is_not_put_back_where_others_took_its_place(
    one_server: ProxySQL, mariadb: MariaDB
) -> None:
    load(
        one_server.instance,
        f"INSERT INTO {ATTRIBUTES} (hostgroup_id,max_num_online_servers) VALUES (10,1)",
        "SET mysql-connect_timeout_server_max=500",
        "LOAD MYSQL VARIABLES TO RUNTIME",
    )
    second = (
        "INSERT INTO mysql_servers (hostgroup_id,hostname,port,max_connections)"
        f" VALUES (10,'127.1',{mariadb.port},7)"
    )
    with AdminClient(login(one_server)) as client:
        drain(client, DrainRequest("127.0.0.1", force=True))
        load(one_server.instance, second)
        # As drained as it was: that LOAD put it back.
        drain(client, DrainRequest("127.0.0.1"))
        assert query(one_server, "SELECT 7") == ((7,),)
        with pytest.raises(RefusedError) as refused:
            restore(client, DrainRequest("127.0.0.1"))
        assert refused.value.reasons == [
            "hostgroup 10 would have 2 servers ONLINE, more than max_num_online_servers (1):"
            " ProxySQL would use none of them   allow with --force"
        ]
        assert query(one_server, "SELECT 7") == ((7,),)
        restore(client, DrainRequest("127.0.0.1", force=True))
    assert_not_reached(one_server)


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_a_lower_limit_that_waits_in_memory_does_not_go_along(
    one_server: ProxySQL, mariadb: MariaDB
) -> None:
    """The LOAD of a drain in another hostgroup brings it."""
    places = ((10, "127.1"), (20, "127.1"), (20, "127.2"))
    servers = ",".join(f"({number},'{host}',{mariadb.port})" for number, host in places)
    load(
        one_server.instance,
        f"INSERT INTO {ATTRIBUTES} (hostgroup_id,max_num_online_servers) VALUES (10,2)",
        f"INSERT INTO mysql_servers (hostgroup_id,hostname,port) VALUES {servers}",
        "SET mysql-connect_timeout_server_max=500",
        "LOAD MYSQL VARIABLES TO RUNTIME",
    )
    one_server.instance.execute(f"UPDATE {ATTRIBUTES} SET max_num_online_servers=1")
    assert query(one_server, "SELECT 7") == ((7,),)
    with AdminClient(login(one_server)) as client:
        with pytest.raises(RefusedError) as refused:
            drain(client, DrainRequest("127.2", include_pending=True))
        assert refused.value.reasons == [
            "hostgroup 10 would have 2 servers ONLINE, more than max_num_online_servers (1):"
            " ProxySQL would use none of them   allow with --force"
        ]
        assert query(one_server, "SELECT 7") == ((7,),)
        drain(client, DrainRequest("127.2", include_pending=True, force=True))
    assert_not_reached(one_server)


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_a_load_that_sets_a_dead_server_online(one_server: ProxySQL, mariadb: MariaDB) -> None:
    """One may write, and the old one is SHUNNED: whatever is loaded sets both ONLINE."""
    instance, dead = one_server.instance, free_port()

    def configuration(weight: int) -> Desired:
        nodes = ((10, "127.0.0.1", 1), (20, "127.0.0.1", weight), (20, "127.1", 1))
        servers = [
            {"hostgroup_id": one, "hostname": host, "port": mariadb.port, "weight": weight}
            for one, host, weight in nodes
        ]
        gone = {"hostgroup_id": 10, "hostname": "127.0.0.1", "port": dead}
        tables = {
            ATTRIBUTES: desired(ATTRIBUTES, {"hostgroup_id": 10, "max_num_online_servers": 1}),
            "mysql_servers": desired("mysql_servers", *servers, gone),
        }
        return Desired(tables, REFERENCE)

    force(one_server, configuration(1))
    shunned = f"SELECT 1 FROM runtime_mysql_servers WHERE port={dead} AND status='SHUNNED'"
    until(lambda: bool(instance.query(shunned)))
    assert query(one_server, "SELECT 7") == ((7,),)
    (refusal,) = plan(one_server, configuration(2)).refusals
    assert "hostgroup 10 is " in refusal.message
    assert "would have 2 servers ONLINE" in refusal.message
    with AdminClient(login(one_server)) as client, pytest.raises(RefusedError) as refused:
        drain(client, DrainRequest("127.1"))
    assert refused.value.reasons == [
        "hostgroup 10 would have 2 servers ONLINE, more than max_num_online_servers (1): ProxySQL"
        " would use none of them; the LOAD sets 1 SHUNNED one ONLINE   allow with --force"
    ]
    assert query(one_server, "SELECT 7") == ((7,),)
    # So that it is not SHUNNED again at once. One more ping may be on its way.
    load(
        instance,
        "SET mysql-connect_timeout_server_max=500",
        "SET mysql-monitor_ping_interval=60000",
        module="MYSQL VARIABLES",
    )
    time.sleep(2)
    force(one_server, configuration(2))
    assert_not_reached(one_server)


def test_a_new_galera_node_where_the_monitor_will_place_it(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    """It is not among the readers right after the LOAD, and would stop them a check later."""

    def configuration(most: int, hosts: list[str]) -> Desired:
        wanted = files(cluster, hosts)
        limit = desired(ATTRIBUTES, {"hostgroup_id": 30, "max_num_online_servers": most})
        return replace(wanted, tables={**wanted.tables, ATTRIBUTES: limit})

    apply(proxysql, configuration(2, HOSTS))
    settle(proxysql.instance, HOSTS)
    assert len(online(placement(proxysql.instance)[30])) == 2
    more = [*HOSTS, "127.0.1.4"]
    (refusal,) = plan(proxysql, configuration(2, more)).refusals
    assert refusal.message == (
        "hostgroup 30 is used by rules and would have 3 servers ONLINE, more than"
        " max_num_online_servers (2): ProxySQL would use none of them (guards.empty_hostgroup)"
    )
    assert plan(proxysql, configuration(3, more)).refusals == []
    (refusal,) = plan(proxysql, configuration(1, HOSTS)).refusals
    assert "would have 2 servers ONLINE" in refusal.message
    force(proxysql, configuration(2, more))
    settle(proxysql.instance, more)
    assert len(online(placement(proxysql.instance)[30])) == 3
