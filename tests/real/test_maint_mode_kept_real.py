"""What a node in maintenance was told is not forgotten, nor said wrongly: simulated PXC nodes."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.draining import DrainRequest, drain
from proxyctl.errors import ApplyError, InterruptedApplyError, RefusedError
from tests.real.galera_rig import cluster, proxysql
from tests.real.test_draining_real import until
from tests.real.test_galera_placement import login
from tests.real.test_maint_mode_real import on_record, put_back, serving, taken_out
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import online, placement
from tests.support.servers import ProxySQL

__all__ = ["cluster", "proxysql"]

pytestmark = pytest.mark.real


@pytest.fixture
def reader(proxysql: ProxySQL) -> str:
    """A node in maintenance."""
    found = min(online(placement(proxysql.instance)[30]))
    taken_out(proxysql, found)
    return found


def test_a_drain_by_rows_does_not_take_its_place_on_record(
    proxysql: ProxySQL, cluster: GaleraCluster, reader: str
) -> None:
    """A LOAD by hand makes the node ONLINE until the next check; nobody put it back."""
    proxysql.instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    with (
        AdminClient(login(proxysql)) as client,
        pytest.raises(RefusedError, match="is drained with pxc_maint_mode") as refused,
    ):
        drain(client, DrainRequest(reader))
    assert "or drain it with pxc_maint_mode" in (refused.value.hint or "")
    put_back(proxysql, reader)
    assert cluster.nodes[reader].pxc_maint_mode == "DISABLED"
    assert serving(proxysql, reader)


def test_a_restore_that_is_cut_off_says_what_the_node_says(
    proxysql: ProxySQL, cluster: GaleraCluster, reader: str
) -> None:
    node = cluster.nodes[reader]
    node.transition_s = 10

    def interrupt() -> None:
        until(lambda: node.pxc_maint_mode == "DISABLED")
        node.transition_s = 0
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(InterruptedApplyError) as failed:
        put_back(proxysql, reader)
    thread.join()
    said = failed.value.message
    assert f"pxc_maint_mode of {reader}:{cluster.port} is DISABLED, though on record as" in said
    assert "takes it off the record" in said
    put_back(proxysql, reader)
    assert on_record(proxysql) == []


def test_one_that_is_no_server_any_more_was_set_back_though_it_stays_on_record(
    proxysql: ProxySQL, cluster: GaleraCluster, reader: str
) -> None:
    for sql in (
        f"DELETE FROM mysql_servers WHERE hostname='{reader}'",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "ALTER TABLE proxyctl_drains RENAME TO proxyctl_drains_kept",
        "CREATE TEMP VIEW proxyctl_drains AS SELECT * FROM proxyctl_drains_kept",
    ):
        proxysql.instance.execute(sql)
    with pytest.raises(ApplyError) as failed:
        put_back(proxysql, reader)
    said = "\n".join(failed.value.lines())
    assert "is DISABLED, and whether it is off the record is not known" in said
    assert f"nodes restore {reader}:{cluster.port} tries again" in said
    assert cluster.nodes[reader].pxc_maint_mode == "DISABLED"
