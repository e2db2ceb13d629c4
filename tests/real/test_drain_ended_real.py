"""A drain that ends while `nodes drain` waits for the last session: real ProxySQL and MariaDB."""

from __future__ import annotations

import pytest

from tests.cli import proxyctl
from tests.mariadb_server import MISSING
from tests.real.leaving_rig import Rig, draining, until
from tests.real.test_leaving_real import rig

__all__ = ["rig"]

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


def test_so_does_a_restore(rig: Rig) -> None:
    node = f"127.0.0.1:{rig.port}"
    with draining(rig, node) as (process, _):
        assert proxyctl("nodes", "restore", node).code == 0
        _, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "is not drained any more" in err
