"""A drain that somebody ends while `nodes drain` waits: real ProxySQL, MariaDB or PXC nodes."""

from __future__ import annotations

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.draining import wait_until_unused
from proxyctl.errors import ApplyError
from tests.real.galera_rig import cluster, proxysql
from tests.real.leaving_rig import Rig, draining, until
from tests.real.test_galera_placement import login
from tests.real.test_leaving_real import rig
from tests.real.test_maint_mode_real import MAINT, put_back, serving, taken_out
from tests.support.cli import proxyctl
from tests.support.galera_nodes import GaleraCluster
from tests.support.mariadb_server import MISSING
from tests.support.placement_samples import online, placement
from tests.support.servers import ProxySQL

__all__ = ["cluster", "proxysql", "rig"]

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def test_servers_that_somebody_loads_meanwhile_end_the_wait(rig: Rig) -> None:
    """The session is in use all the while: nobody has to wait for its end to be told."""
    node = f"127.0.0.1:{rig.port}"
    with draining(rig, node) as (process, _):
        rig.proxysql.instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
        out, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "no connection is in use" not in out
    assert f"error: {node} is not drained any more: servers were loaded meanwhile" in err
    assert "the same command drains it again" in err
    listed = proxyctl("nodes", "list", "--no-ask").out
    assert "takes connections again, though on record as drained by" in listed
    with draining(rig, node) as (process, _):
        until(lambda: rig.statuses()["10 127.0.0.1"] == "OFFLINE_SOFT")
        rig.client.commit()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert f"{node}: no connection is in use\n" in out


def test_a_wait_that_is_over_leaves_a_whole_document(rig: Rig) -> None:
    """What was done stands beside the error, and what is still used."""
    drain = ("nodes", "drain", f"127.0.0.1:{rig.port}", "--reason", "disks", "--format", "json")
    late = proxyctl(*drain, "--timeout", "0.5")
    assert late.code == 4, late.text
    assert "1 connection to it still in use after 0.5 s" in late.json["error"]["message"]
    assert (late.json["hostname"], late.json["port"]) == ("127.0.0.1", rig.port)
    assert (late.json["was_before"], late.json["unused"]) == (False, False)
    assert (late.json["drain"]["reason"], late.json["drain"]["is_done"]) == ("disks", True)
    (used,) = late.json["in_use"]
    assert (used["hostgroup_id"], used["connections"]) == (10, 1)
    assert used["at"] == late.json["address"]
    rig.client.commit()
    done = proxyctl(*drain)
    assert done.code == 0, done.text
    assert done.json["in_use"] == []
    assert {*late.json} == {*done.json, "error"}


def test_so_does_a_restore(rig: Rig) -> None:
    node = f"127.0.0.1:{rig.port}"
    with draining(rig, node) as (process, _):
        assert proxyctl("nodes", "restore", node).code == 0
        _, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "is not drained any more" in err


def test_a_node_that_a_load_brings_back_until_the_next_check_is_waited_for(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    """Loaded by hand here; a peer that looks late at the node sends the like."""
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    done = taken_out(proxysql, reader)
    proxysql.instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    said: list[str] = []
    with AdminClient(login(proxysql)) as admin:
        wait_until_unused(admin, done.node, timeout_s=60, progress=said.append, method=MAINT)
    assert said == ["waiting for the monitor here to take it out again"]
    assert serving(proxysql, reader) == set()
    cluster.nodes[reader].pxc_maint_mode = "DISABLED"
    until(lambda: bool(serving(proxysql, reader)))
    with (
        AdminClient(login(proxysql)) as admin,
        pytest.raises(ApplyError, match="gives it new connections again after 1 s"),
    ):
        wait_until_unused(admin, done.node, timeout_s=1, progress=said.append, method=MAINT)


def test_one_in_maintenance_that_somebody_puts_back_is_not_waited_for(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    done = taken_out(proxysql, reader)
    put_back(proxysql, reader)
    said: list[str] = []
    with (
        AdminClient(login(proxysql)) as admin,
        pytest.raises(ApplyError, match="is not drained any more: it was put back meanwhile"),
    ):
        wait_until_unused(admin, done.node, timeout_s=60, progress=said.append, method=MAINT)
    assert said == []
