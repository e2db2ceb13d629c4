"""The lock is taken away while pxc_maint_mode is set: nobody says that nothing was changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import break_lock
from proxyctl.draining import Drained, DrainRequest, Restored, drain, restore
from proxyctl.errors import ApplyError
from tests.real.galera_rig import cluster, proxysql
from tests.real.test_galera_placement import login
from tests.real.test_maint_mode_real import MAINT, on_record, taken_out
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import online, placement
from tests.support.servers import ProxySQL

__all__ = ["cluster", "proxysql"]

pytestmark = pytest.mark.real


def unlocked(
    server: ProxySQL, host: str, command: Callable[[AdminClient, DrainRequest], Drained | Restored]
) -> str:
    """Run a command that loses its lock once it sets the mode, and return what it says."""
    with AdminClient(login(server)) as other, AdminClient(login(server)) as client:

        def unlock(text: str) -> None:
            if "pxc_maint_mode is set to" in text:
                break_lock(other)

        with pytest.raises(ApplyError, match="the lock was removed") as failed:
            command(client, DrainRequest(host, method=MAINT, progress=unlock))
    return "\n".join(failed.value.lines())


def test_a_drain_is_put_back_and_says_so(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    assert "pxc_maint_mode was set, and put back" in unlocked(proxysql, reader, drain)
    assert cluster.nodes[reader].pxc_maint_mode == "DISABLED"
    assert on_record(proxysql) == []


def test_a_restore_says_what_was_set(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    taken_out(proxysql, reader)
    said = unlocked(proxysql, reader, restore)
    assert "is DISABLED; whether the monitor placed it is not known" in said
    assert cluster.nodes[reader].pxc_maint_mode == "DISABLED"
    assert on_record(proxysql) == []
