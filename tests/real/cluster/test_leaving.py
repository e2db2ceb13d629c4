"""A server leaves a native cluster of real ProxySQL while a client of a peer uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.cluster.files import SERVERS, apply, fleet_of, keep_apart, name, write
from tests.real.cluster.rig import set_admin
from tests.real.leaving_rig import SETUP, Rig, begun
from tests.support.cli import Project, proxyctl
from tests.support.mariadb_server import MISSING, MariaDB
from tests.support.servers import ProxySQL

pytestmark = [
    pytest.mark.real,
    pytest.mark.since("2.6.0", "mysql_servers_v2"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


@pytest.fixture
def rig(three: list[ProxySQL], project: Project, tmp_path: Path) -> Iterator[Rig]:
    """The client comes by the second member; the files are applied at the first one."""
    with MariaDB(tmp_path, setup=SETUP) as mariadb, begun(project, mariadb, three[1]) as found:
        yield found


def test_a_peer_keeps_no_row_of_a_server_whose_connection_it_cuts(
    rig: Rig, three: list[ProxySQL]
) -> None:
    """It saves its RUNTIME when it follows, and there the server is OFFLINE_HARD for a while."""
    rig.without_the_first()
    found = apply()
    assert found.code == 0, found.text
    assert f"127.0.0.1:{rig.port}: members that take this over cut connections of" in found.out
    assert (
        f"note: peer {name(three[1])}: MYSQL SERVERS: taken out of MEMORY and DISK there:"
        f" 127.0.0.1:{rig.port} in hostgroup 10, OFFLINE_HARD\n"
    ) in found.out
    for layer in ("", "disk."):
        sql = f"SELECT hostname FROM {layer}mysql_servers"
        assert three[1].instance.query(sql) == [("127.1",)]
    with (rig.project.folder / "proxyctl.yaml").open("a") as file:
        file.write(fleet_of(*three))
    drift = proxyctl("drift", "--all")
    assert drift.code == 0, drift.text


def test_an_edit_at_a_peer_that_had_nothing_to_take_over_stays(
    three: list[ProxySQL], project: Project
) -> None:
    """It held the same content already: what is in its MEMORY is somebody's work."""
    first, second, _ = three
    keep_apart(three)
    set_admin(first, cluster_mysql_servers_diffs_before_sync=0)
    write(project, SERVERS)
    there = apply("--host", "127.0.0.1", "--port", str(second.port))
    assert there.code == 4, there.text
    assert f"peer {name(first)} does not follow" in there.out
    second.instance.execute(
        "INSERT INTO mysql_servers (hostgroup_id, hostname, status) VALUES (1,'c','OFFLINE_HARD')"
    )
    done = apply()
    assert done.code == 0, done.text
    assert "taken out" not in done.out
    assert ("c",) in second.instance.query("SELECT hostname FROM mysql_servers")
