"""What a drain leaves that was killed half-way, and who puts it right."""

from __future__ import annotations

from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import record_drain
from proxyctl.admin.lock import Lock
from proxyctl.admin.login import Login
from proxyctl.admin.read import TableReader, read_layouts
from proxyctl.state import Layer
from tests.cli import Project, proxyctl
from tests.journeys.drained_servers import drained, layer, servers, statuses
from tests.servers import Instance

__all__ = ["servers"]


def test_what_a_dead_drain_left_in_memory_is_put_right(servers: Instance) -> None:
    before = layer(servers, "mysql_servers")
    die_half_way(servers)
    assert layer(servers, "mysql_servers") != before
    said = proxyctl("nodes", "restore", "db2")
    assert said.code == 0, said.text
    assert layer(servers, "mysql_servers") == before
    assert statuses(servers, "db2") == {"ONLINE"}
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def test_a_dead_drain_is_finished_by_a_second_one(servers: Instance) -> None:
    before = layer(servers, "mysql_servers")
    die_half_way(servers)
    drained("db2")
    assert layer(servers, "mysql_servers") == before
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    assert proxyctl("nodes", "restore", "db2").code == 0
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def die_half_way(instance: Instance) -> None:
    """Leave what a drain leaves that is killed after its LOAD: its rows in MEMORY, and its lock."""
    login = Login(instance.host, instance.port, instance.user, instance.password)
    with AdminClient(login) as client:
        lock = Lock(client, "nodes drain db2")
        lock.take(timeout_s=5)
        layout = read_layouts(client)["mysql_servers"]
        memory = TableReader(client).read(layout, Layer.MEMORY)
        record_drain(client, ("db2", 3306), "anna on ops1", "", memory)
        lock.mark("staging MEMORY", ("MYSQL SERVERS",))
    instance.execute("UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='db2'")
    instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    instance.execute("UPDATE proxyctl_lock SET expires=0")


def test_an_apply_that_ends_a_half_drain_leaves_no_record_of_it(
    servers: Instance, project: Project
) -> None:
    die_half_way(servers)
    for sql in (
        "UPDATE mysql_servers SET status='ONLINE', weight=2 WHERE hostname='db2'",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ):
        servers.execute(sql)
    assert "half drained" in proxyctl("nodes", "list", "--no-ask").out
    drift = proxyctl("drift")
    assert "nodes drain db2 by pid" in drift.out
    assert "the next apply goes on" not in drift.out
    assert "`nodes restore` puts the node back" in drift.out
    assert proxyctl("apply", "--auto-approve").code == 0
    assert "drained" not in proxyctl("nodes", "list", "--no-ask").out
    assert "drained" not in proxyctl("doctor", "--no-ask").out
    assert proxyctl("drift").code == 0
