"""A command is killed behind a LOAD that places Galera nodes; an apply of other servers follows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.proxy import FaultyProxy
from tests.real.galera_rig import cluster, proxysql
from tests.real.test_draining_edited_real import shop
from tests.real.test_draining_real import rows, until, writer
from tests.support.cli import proxyctl
from tests.support.galera_nodes import GaleraCluster
from tests.support.servers import Instance, ProxySQL

__all__ = ["cluster", "proxysql", "shop"]

pytestmark = pytest.mark.real

OTHERS = """\
manage: {{mysql_servers: {{hostgroup_id: [1]}}}}
mysql_servers:
  - {{hostgroup_id: 1, hostname: plain1}}
  - {{hostgroup_id: 1, hostname: plain2, weight: {0}}}
"""


def killed_behind_its_load(instance: Instance, *arguments: str) -> None:
    """Kill a command with its image in MEMORY and at RUNTIME."""
    with FaultyProxy(instance.host, instance.port) as proxy:
        process = subprocess.Popen(
            [sys.executable, "-m", "proxyctl", *arguments],
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
    killed_behind_its_load(shop, "nodes", "drain", old)
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


@pytest.mark.parametrize("who", ["writer", "reader"])
def test_nor_does_it_what_an_apply_had_staged_beside_a_drained_node(
    proxysql: ProxySQL,
    cluster: GaleraCluster,
    shop: Instance,
    who: str,
) -> None:
    """Where the monitor had placed the nodes, and that one of them is drained."""
    files = Path("proxyctl.yaml")
    files.write_text(OTHERS.format(1), encoding="utf-8")
    assert proxyctl("apply", "--auto-approve").code == 0
    before = rows(shop, "mysql_servers")
    assert rows(shop, "disk.mysql_servers") == before
    now = writer(proxysql)
    other = shop.query(
        f"SELECT hostname FROM mysql_servers WHERE hostname NOT IN ('plain1','plain2','{now}')"
    )
    node = now if who == "writer" else str(other[0][0])
    drained = proxyctl("nodes", "drain", node)
    assert drained.code == 0, drained.text
    files.write_text(OTHERS.format(7), encoding="utf-8")
    killed_behind_its_load(shop, "apply", "--auto-approve")
    assert rows(shop, "mysql_servers") != before
    files.write_text(OTHERS.format(1), encoding="utf-8")
    done = proxyctl("apply", "--auto-approve")
    assert done.code == 0, done.text
    assert rows(shop, "mysql_servers") == rows(shop, "disk.mysql_servers") == before
    assert "drained by" in proxyctl("nodes", "list", "--no-ask").out
    assert proxyctl("nodes", "restore", node).code == 0
    assert rows(shop, "mysql_servers") == before
    assert proxyctl("plan", "--detailed-exitcode").code == 0
