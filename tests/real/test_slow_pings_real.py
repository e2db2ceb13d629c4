"""Servers whose pings take too long are ONLINE and get nothing: who goes by that before it acts."""

from __future__ import annotations

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.pings import read_pings_ms
from proxyctl.catalog import REFERENCE
from proxyctl.draining import DrainRequest, drain
from proxyctl.errors import RefusedError
from proxyctl.state import Desired, DesiredTable
from tests.real.galera_rig import proxysql as galera_proxysql
from tests.real.test_doctor_hostgroups_real import assert_not_reached
from tests.real.test_doctor_real import load, mariadb, proxysql, query
from tests.real.test_draining_real import until
from tests.real.test_galera_placement import cluster, files, login, plan
from tests.real.test_too_many_online_real import force
from tests.support.build import desired
from tests.support.galera_nodes import GaleraCluster
from tests.support.mariadb_server import MISSING, MariaDB
from tests.support.placement_samples import online, placement
from tests.support.servers import ProxySQL
from tests.support.slow_way import SlowWay

__all__ = ["cluster", "galera_proxysql", "mariadb", "proxysql"]

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def test_a_server_is_not_drained_beside_one_that_is_too_slow(
    proxysql: ProxySQL, mariadb: MariaDB
) -> None:
    with SlowWay(mariadb.port, delay_s=0.05) as way, AdminClient(login(proxysql)) as client:
        load(
            proxysql.instance,
            "INSERT INTO mysql_servers (hostgroup_id,hostname,port,max_latency_ms)"
            f" VALUES (10,'127.0.0.1',{way.port},1)",
        )
        until(lambda: bool(read_pings_ms(client).get((10, "127.0.0.1", way.port))))
        node = f"127.0.0.1:{mariadb.port}"
        with pytest.raises(RefusedError) as refused:
            drain(client, DrainRequest(node))
        assert refused.value.reasons == [
            f"{node} is the last usable node of hostgroup 10, as pings of others there take longer"
            " than max_latency_ms   allow with --force"
        ]
        load(proxysql.instance, "UPDATE mysql_servers SET max_latency_ms=20000")
        drain(client, DrainRequest(node))
        assert query(proxysql, "SELECT 7") == ((7,),)


def test_the_time_of_all_pings_is_not_taken_away_unasked(
    proxysql: ProxySQL, mariadb: MariaDB
) -> None:
    """0 is no way to say that they may take as long as they like."""
    wanted = Desired(
        {
            "mysql_variables": desired(
                "mysql_variables",
                {"variable_name": "mysql-default_max_latency_ms", "variable_value": "0"},
                {"variable_name": "mysql-connect_timeout_server_max", "variable_value": "500"},
            )
        },
        REFERENCE,
    )
    assert query(proxysql, "SELECT 7") == ((7,),)
    (refusal,) = plan(proxysql, wanted).refusals
    assert refusal.message == (
        "mysql-default_max_latency_ms 0 is no time at all: ProxySQL would use no server without a"
        " max_latency_ms, such as those of hostgroup 10 (guards.empty_hostgroup)"
    )
    force(proxysql, wanted)
    assert_not_reached(proxysql)
    load(proxysql.instance, "UPDATE mysql_servers SET max_latency_ms=5000")
    assert query(proxysql, "SELECT 7") == ((7,),)
    # Nor is the time taken away that a server has of its own then.
    servers = desired(
        "mysql_servers", {"hostgroup_id": 10, "hostname": "127.0.0.1", "port": mariadb.port}
    )
    (refusal,) = plan(proxysql, Desired({"mysql_servers": servers}, REFERENCE)).refusals
    assert refusal.message.endswith("such as those of hostgroup 10 (guards.empty_hostgroup)")
    force(proxysql, Desired({"mysql_servers": servers}, REFERENCE))
    assert_not_reached(proxysql)
    # Nor does one take over that has none.
    load(proxysql.instance, "UPDATE mysql_servers SET max_latency_ms=5000")
    assert query(proxysql, "SELECT 7") == ((7,),)
    other = {"hostgroup_id": 10, "hostname": "127.1", "port": mariadb.port}
    replaced = Desired({"mysql_servers": desired("mysql_servers", other)}, REFERENCE)
    (refusal,) = plan(proxysql, replaced).refusals
    assert refusal.message.endswith("such as those of hostgroup 10 (guards.empty_hostgroup)")
    limited = desired("mysql_servers", {**other, "max_latency_ms": 5000})
    assert plan(proxysql, Desired({"mysql_servers": limited}, REFERENCE)).refusals == []
    force(proxysql, replaced)
    assert_not_reached(proxysql)


def galera_servers(port: int, weights: dict[str, int], slow: int) -> DesiredTable:
    """Return nodes with these weights, by host. `slow`: the port of one that is, weight 900."""
    nodes = [
        {"hostgroup_id": 10, "hostname": host, "port": port, "weight": weight}
        for host, weight in weights.items()
    ]
    far = {"hostgroup_id": 10, "hostname": "127.0.0.1", "port": slow, "weight": 900}
    return desired("mysql_servers", *nodes, {**far, "max_latency_ms": 5})


@pytest.mark.parametrize(
    ("weights", "writer", "refusal"),
    [
        (
            {"127.0.1.1": 1000, "127.0.1.3": 1, "127.0.1.4": 1},
            "127.0.1.1",
            "{} is the last usable node of hostgroup 10, as pings of others there take longer than"
            " max_latency_ms   allow with --force",
        ),
        (
            {"127.0.1.3": 1},
            "127.0.0.1",
            "hostgroup 30 would have no usable node: its last one becomes the writer   allow with"
            " --force",
        ),
    ],
    ids=["the one that follows is slow", "the writer is slow"],
)
def test_the_monitor_makes_a_writer_of_a_node_however_slow_it_is(
    galera_proxysql: ProxySQL,
    cluster: GaleraCluster,
    weights: dict[str, int],
    writer: str,
    refusal: str,
) -> None:
    instance = galera_proxysql.instance
    with (
        SlowWay(cluster.port, delay_s=0.05, host="127.0.1.2") as way,
        AdminClient(login(galera_proxysql)) as client,
    ):
        wanted = files(cluster, [])
        servers = galera_servers(cluster.port, weights, way.port)
        force(galera_proxysql, Desired({**wanted.tables, "mysql_servers": servers}, REFERENCE))
        until(lambda: online(placement(instance)[10]) == {writer})
        until(lambda: len(online(placement(instance)[30])) == len(weights))
        until(lambda: bool(read_pings_ms(client).get((10, "127.0.0.1", way.port))))
        ports = {"127.0.0.1": way.port}
        node = f"{writer}:{ports.get(writer, cluster.port)}"
        with pytest.raises(RefusedError) as refused:
            drain(client, DrainRequest(node))
        assert refused.value.reasons == [refusal.format(node)]
