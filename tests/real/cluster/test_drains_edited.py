"""A native cluster of real ProxySQL: the writer is drained while peers send it back.

Others edit meanwhile. Galera nodes are simulated. What a peer sends is made here: RUNTIME is
written into MEMORY and DISK.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.draining import DrainRequest, drain
from proxyctl.errors import InterruptedApplyError
from tests.real.cluster.rig import wait_until
from tests.real.cluster.test_writers_at_peers import WRITER, nodes, settled
from tests.real.edited_meanwhile import edited_meanwhile
from tests.real.test_galera_placement import login
from tests.support.cli import proxyctl
from tests.support.servers import ProxySQL

__all__ = ["nodes", "settled"]

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

LAYERS = ("runtime_", "", "disk.")
WEIGHTS = "SELECT DISTINCT weight FROM {}mysql_servers"
SENT_BACK = ("SAVE MYSQL SERVERS TO MEMORY", "SAVE MYSQL SERVERS TO DISK")
PLAIN = (
    "INSERT INTO mysql_servers (hostgroup_id, hostname, max_connections) VALUES (1, 'plain', 33)"
)


def let_peers_place_nothing(settled: list[ProxySQL]) -> None:
    """Only the first member moves nodes from now on: no peer sends anything back but by a LOAD."""
    for one in settled[1:]:
        before = last_check_us(one)
        one.instance.execute("SET mysql-monitor_galera_healthcheck_interval=600000")
        # With other variables a monitor looks at once, and then when its interval is over.
        one.instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
        wait_until(lambda one=one, before=before: last_check_us(one) > before)


def last_check_us(one: ProxySQL) -> int:
    """Return when the monitor of a member looked last at the nodes."""
    sql = "SELECT max(time_start_us) FROM monitor.mysql_server_galera_log"
    return int(one.instance.query(sql)[0][0] or 0)


def plain(one: ProxySQL, layer: str) -> list[tuple[str | None, ...]]:
    sql = f"SELECT max_connections FROM {layer}mysql_servers WHERE hostname='plain'"
    return one.instance.query(sql)


def weighs_as_before(three: list[ProxySQL]) -> bool:
    return all(
        one.instance.query(WEIGHTS.format(layer)) == [("1",)] for one in three for layer in LAYERS
    )


def test_what_is_edited_at_a_peer_and_loaded_there_stays(settled: list[ProxySQL]) -> None:
    """It comes together with the weights, by the LOAD of the peer."""
    load = ("LOAD MYSQL SERVERS TO RUNTIME", "SAVE MYSQL SERVERS TO DISK")
    limit = f"UPDATE mysql_servers SET max_connections=44 WHERE hostname='{WRITER}'"
    with edited_meanwhile(settled[0].instance, SENT_BACK[0], PLAIN, limit, *load):
        done = proxyctl("nodes", "drain", WRITER)
    assert done.code == 4, done.text
    assert "edited while the writer moved: mysql_servers 1:plain:3306, mysql_servers 10" in done.err
    wait_until(lambda: weighs_as_before(settled))
    wait_until(lambda: all(plain(one, layer) == [("33",)] for one in settled for layer in LAYERS))
    sql = f"SELECT DISTINCT max_connections FROM {{}}mysql_servers WHERE hostname='{WRITER}'"
    for one in settled:
        for layer in LAYERS:
            assert one.instance.query(sql.format(layer)) == [("44",)], (one.port, layer)


def test_what_is_edited_in_memory_is_neither_lost_nor_published(settled: list[ProxySQL]) -> None:
    here = settled[0]
    let_peers_place_nothing(settled)
    with edited_meanwhile(here.instance, *SENT_BACK, PLAIN):
        done = proxyctl("nodes", "drain", WRITER)
    assert done.code == 4, done.text
    assert "so may this member, from a peer that moves the writer first\n" in done.err
    assert "edited while the writer moved: mysql_servers 1:plain:3306" in done.err
    assert "DISK holds the weights that moved the writer" in done.err
    assert [plain(here, layer) for layer in LAYERS] == [[], [("33",)], []]
    for layer in LAYERS[:2]:
        assert here.instance.query(WEIGHTS.format(layer)) == [("1",)]
    wait_until(lambda: weighs_as_before(settled[1:]))


def test_a_drain_that_is_cut_off_leaves_no_weights_that_were_sent_back(
    settled: list[ProxySQL],
) -> None:
    def interrupt(text: str) -> None:
        if "writes now" in text:
            raise KeyboardInterrupt

    with (
        edited_meanwhile(settled[0].instance, *SENT_BACK) as port,
        AdminClient(replace(login(settled[0]), port=port)) as client,
        pytest.raises(InterruptedApplyError, match="is not drained"),
    ):
        drain(client, DrainRequest(WRITER, progress=interrupt))
    wait_until(lambda: weighs_as_before(settled))


def rows_of(one: ProxySQL, layer: str, hosts: str) -> list[tuple[str | None, ...]]:
    return one.instance.query(
        f"SELECT hostgroup_id, hostname, status FROM {layer}mysql_servers"
        f" WHERE hostname LIKE '{hosts}' ORDER BY 1, 2"
    )


def writes_alone(one: ProxySQL) -> bool:
    sql = "SELECT hostname FROM runtime_mysql_servers WHERE hostgroup_id=10 AND status='ONLINE'"
    return one.instance.query(sql) == [(WRITER,)]


def load(three: list[ProxySQL], *statements: str) -> None:
    """Load these rows of servers named r1, r2 or plain, and wait until all have placed theirs."""
    for sql in (*statements, "LOAD MYSQL SERVERS TO RUNTIME"):
        three[0].instance.execute(sql)
    for hosts in ("r_", "plain"):
        wanted = rows_of(three[0], "runtime_", hosts)
        wait_until(
            lambda hosts=hosts, wanted=wanted: all(
                rows_of(one, "runtime_", hosts) == wanted for one in three
            )
        )
    wait_until(lambda: all(writes_alone(one) for one in three))


def test_an_edit_in_another_family_is_no_placement(settled: list[ProxySQL]) -> None:
    """The monitor of Galera moves the nodes of its families only."""
    here = settled[0].instance
    for one in settled:
        # Nobody answers there: checks that take too long would make r2 a reader.
        one.instance.execute("SET mysql-monitor_read_only_max_timeout_count=999")
        one.instance.execute("SET mysql-monitor_read_only_interval=600000")
        one.instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    load(
        settled,
        "INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup)"
        " VALUES (50,60)",
        "INSERT INTO mysql_servers (hostgroup_id, hostname, status)"
        " VALUES (60,'r1','OFFLINE_SOFT'), (50,'r2','ONLINE'), (60,'r2','ONLINE')",
    )
    here.execute("SAVE MYSQL SERVERS TO DISK")
    edits = (
        "UPDATE mysql_servers SET status='ONLINE' WHERE hostname='r1'",
        "DELETE FROM mysql_servers WHERE hostgroup_id=60 AND hostname='r2'",
    )
    let_peers_place_nothing(settled)
    with edited_meanwhile(here, *edits):
        done = proxyctl("nodes", "drain", WRITER)
    assert done.code == 4, done.text
    assert "edited while the writer moved: mysql_servers 60:r1:3306" in done.err
    assert rows_of(settled[0], "", "r_") == [("50", "r2", "ONLINE"), ("60", "r1", "ONLINE")]
    assert ("60", "r1", "OFFLINE_SOFT") in rows_of(settled[0], "runtime_", "r_")


def test_edits_that_go_along_may_not_take_out_who_writes_now(settled: list[ProxySQL]) -> None:
    here = settled[0].instance
    others = f"hostgroup_id=10 AND hostname<>'{WRITER}'"
    let_peers_place_nothing(settled)
    with edited_meanwhile(here, f"DELETE FROM mysql_servers WHERE {others}"):
        done = proxyctl("nodes", "drain", WRITER, "--include-pending")
    assert done.code == 4, done.text
    assert "hostgroup 10 would have no usable node" in done.err
    assert here.query(f"SELECT count(*) FROM mysql_servers WHERE {others}") == [("0",)]
    assert here.query(f"SELECT count(*) FROM runtime_mysql_servers WHERE {others}") != [("0",)]


def test_weights_that_were_sent_to_a_disk_that_lacked_edits_go_back(
    settled: list[ProxySQL],
) -> None:
    """What a peer sent has put on DISK what somebody had loaded and not saved."""
    here = settled[0].instance
    load(settled, PLAIN)
    with edited_meanwhile(here, *SENT_BACK):
        done = proxyctl("nodes", "drain", WRITER)
    assert done.code == 0, done.text
    found = here.query(f"SELECT DISTINCT weight FROM disk.mysql_servers WHERE hostname<>'{WRITER}'")
    assert found == [("1",)]


def test_weights_that_stay_on_a_disk_that_lacks_edits_are_told(settled: list[ProxySQL]) -> None:
    """A SAVE would carry the edit to DISK, which nobody asked for."""
    here = settled[0]
    let_peers_place_nothing(settled)
    with edited_meanwhile(here.instance, *SENT_BACK, PLAIN):
        done = proxyctl("nodes", "drain", WRITER, "--include-pending", "--no-wait")
    assert done.code == 0, done.text
    assert here.instance.query(WEIGHTS.format("disk.")) != [("1",)]
    assert "warning: DISK holds the weights that moved the writer" in done.err
    assert [plain(here, layer) for layer in LAYERS] == [[("33",)], [("33",)], []]
