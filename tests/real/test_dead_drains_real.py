"""A drain of a Galera writer is killed behind its first LOAD; an apply of other servers follows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import proxyctl
from tests.faults.proxy import FaultyProxy
from tests.galera_nodes import GaleraCluster
from tests.real.galera_rig import cluster, proxysql
from tests.real.test_draining_edited_real import shop
from tests.real.test_draining_real import rows, until, writer
from tests.servers import Instance, ProxySQL

__all__ = ["cluster", "proxysql", "shop"]

pytestmark = pytest.mark.real

OTHERS = """\
manage: {{mysql_servers: {{hostgroup_id: [1]}}}}
mysql_servers:
  - {{hostgroup_id: 1, hostname: plain1}}
  - {{hostgroup_id: 1, hostname: plain2, weight: {0}}}
"""


def killed_behind_its_load(instance: Instance, node: str) -> None:
    """Kill a drain with its image in MEMORY and at RUNTIME."""
    with FaultyProxy(instance.host, instance.port) as proxy:
        process = subprocess.Popen(
            [sys.executable, "-m", "proxyctl", "nodes", "drain", node],
            env={**os.environ, "PROXYCTL_PORT": str(proxy.port)},
            stderr=subprocess.DEVNULL,
        )

        def kill(_connection: int, sql: str, _answer: bytes) -> None:
            if sql == "LOAD MYSQL SERVERS TO RUNTIME":
                process.kill()
                process.wait()

        proxy.watch = kill
        process.wait()
        proxy.settle()


def test_an_apply_of_other_servers_does_not_save_what_it_had_staged(
    proxysql: ProxySQL, cluster: GaleraCluster, shop: Instance
) -> None:
    """Weights that move the writer, and where the monitor had placed the nodes."""
    old, before = writer(proxysql), rows(shop, "mysql_servers")
    Path("proxyctl.yaml").write_text(OTHERS.format(7), encoding="utf-8")
    killed_behind_its_load(shop, old)
    assert rows(shop, "mysql_servers") != before
    refused = proxyctl("apply", "--auto-approve")
    assert refused.code == 3, refused.text
    assert "weight not saved to DISK" in refused.err
    assert f"MEMORY: proxyctl nodes restore {old}:{cluster.port} undoes that\n" in refused.out
    assert rows(shop, "disk.mysql_servers") == before

    assert proxyctl("nodes", "restore", old).code == 0
    assert rows(shop, "mysql_servers") == before
    done = proxyctl("apply", "--auto-approve")
    assert done.code == 0, done.text
    family = "SELECT DISTINCT hostgroup_id, weight FROM disk.mysql_servers WHERE hostgroup_id<>1"
    until(lambda: shop.query(family) == [("10", "1")])
