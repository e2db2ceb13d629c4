"""What drift says of a Galera node that was drained by hand, behind a real ProxySQL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.real.galera_rig import cluster, proxysql
from tests.support.cli import Project, proxyctl
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import online, placement
from tests.support.servers import ProxySQL

__all__ = ["cluster", "proxysql"]

pytestmark = pytest.mark.real


def test_what_was_loaded_by_hand_is_not_said_to_be_in_memory_only(
    proxysql: ProxySQL,
    cluster: GaleraCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = Project(tmp_path, monkeypatch)
    project.connect(replace(proxysql.instance, user="radmin", password="radmin"))
    project.write(proxyctl("export").out)
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    drain = f"UPDATE mysql_servers SET max_connections=0 WHERE hostname='{reader}'"
    proxysql.instance.execute(drain)
    assert "MEMORY only: edited there, not loaded" in proxyctl("drift").out
    proxysql.instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    found = proxyctl("drift").out
    assert "MEMORY and RUNTIME: loaded by an administrator, not saved" in found
    assert "not loaded" not in found
