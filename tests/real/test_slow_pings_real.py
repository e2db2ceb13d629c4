"""Servers whose pings take too long are ONLINE and get nothing: who goes by that before it acts."""

from __future__ import annotations

import time

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.pings import read_pings_ms
from proxyctl.catalog import REFERENCE
from proxyctl.draining import DrainRequest, drain
from proxyctl.errors import RefusedError
from proxyctl.state import Desired
from tests.build import desired
from tests.mariadb_server import MISSING, MariaDB
from tests.real.test_doctor_hostgroups_real import assert_not_reached
from tests.real.test_doctor_real import load, mariadb, proxysql, query
from tests.real.test_galera_placement import login, plan
from tests.real.test_too_many_online_real import force
from tests.servers import ProxySQL
from tests.slow_way import SlowWay

__all__ = ["mariadb", "proxysql"]

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
        deadline = time.monotonic() + 30
        while not read_pings_ms(client).get((10, "127.0.0.1", way.port)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
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


def test_the_time_of_all_pings_is_not_taken_away_unasked(proxysql: ProxySQL) -> None:
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
