"""A node is drained at one member of a native cluster while a client of a peer uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.cluster.files import keep_apart, name
from tests.real.cluster.rig import set_admin, wait_until
from tests.real.leaving_rig import SETUP, Rig, begun, draining
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.mariadb_server import MISSING, MariaDB
from tests.support.servers import ProxySQL

pytestmark = [
    pytest.mark.real,
    pytest.mark.since("2.6.0", "mysql_servers_v2"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


@pytest.fixture
def rig(three: list[ProxySQL], project: Project, tmp_path: Path) -> Iterator[Rig]:
    """The client comes by the second member; the node is drained at the first one."""
    with MariaDB(tmp_path, setup=SETUP) as mariadb, begun(project, mariadb, three[1]) as found:
        yield found


def drain(rig: Rig, *arguments: str) -> Outcome:
    return proxyctl("nodes", "drain", f"127.0.0.1:{rig.port}", *arguments)


def test_a_transaction_at_a_peer_is_waited_for(rig: Rig, three: list[ProxySQL]) -> None:
    node = f"127.0.0.1:{rig.port}"
    with draining(rig, node) as (process, waited):
        assert f"waiting for 1 connection to {node} in hostgroup 10 at {name(three[1])}" in waited
        rig.insert()
        rig.client.commit()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert f"{node}: no connection is in use, here and at 2 peers\n" in out
    assert rig.count() == ((2,),)


def test_what_a_peer_still_uses_after_the_time_is_said(rig: Rig, three: list[ProxySQL]) -> None:
    done = drain(rig, "--timeout", "1")
    assert done.code == 4, done.text
    node = f"127.0.0.1:{rig.port}"
    assert (
        f"{node} is drained, but 1 connection to it still in use after 1 s at {name(three[1])}\n"
    ) in done.err
    late = drain(rig, "--timeout", "1", "--format", "json")
    assert late.code == 4, late.text
    assert late.json["in_use"] == [{"at": name(three[1]), "hostgroup_id": 10, "connections": 1}]
    assert (late.json["unused"], late.json["unused_at"]) == (False, [name(three[2])])
    rig.client.commit()
    again = drain(rig, "--format", "json")
    assert again.code == 0, again.text
    assert (again.json["unused"], again.json["in_use"]) == (True, [])
    assert set(again.json["unused_at"]) == {name(one) for one in three[1:]}
    assert {*late.json} == {*again.json, "error"}


def test_a_peer_that_takes_no_servers_over_is_named(rig: Rig, three: list[ProxySQL]) -> None:
    keep_apart(three)
    set_admin(three[2], cluster_mysql_servers_diffs_before_sync=0)
    rig.client.commit()
    done = drain(rig, "--timeout", "60")
    assert done.code == 4, done.text
    said = f"{name(three[2])} takes no servers over from here, and gives it new connections"
    assert said in done.err
    assert "no connection is in use" not in done.out
    there = drain(rig, "--host", "127.0.0.1", "--port", str(three[2].port))
    assert there.code == 0, there.text
    assert drain(rig).code == 0


def test_a_peer_that_is_down_is_named(rig: Rig, three: list[ProxySQL]) -> None:
    rig.client.commit()
    three[2].stop()
    done = drain(rig, "--timeout", "60")
    assert done.code == 4, done.text
    assert f"{name(three[2])} could not be asked" in done.err
    assert "no connection is in use" not in done.out


def test_a_peer_that_follows_late_is_waited_for(rig: Rig, three: list[ProxySQL]) -> None:
    keep_apart(three)
    set_admin(three[2], cluster_mysql_servers_diffs_before_sync=1000)
    rig.client.commit()
    done = drain(rig, "--timeout", "2")
    assert done.code == 4, done.text
    assert f"waiting for {name(three[2])} to follow" in done.err
    assert f"{name(three[2])} still gives it new connections after 2 s" in done.err
    set_admin(three[2], cluster_mysql_servers_diffs_before_sync=3)
    wait_until(lambda: drain(rig, "--timeout", "10").code == 0)
