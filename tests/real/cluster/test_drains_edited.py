"""A native cluster of real ProxySQL: the writer is drained while peers send it back.

Others edit meanwhile. Galera nodes are simulated. What a peer sends is made here: RUNTIME is
written into MEMORY and DISK.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.draining import DrainRequest, drain
from proxyctl.errors import InterruptedApplyError
from tests.cli import proxyctl
from tests.real.cluster.rig import wait_until
from tests.real.cluster.test_writers_at_peers import WRITER, nodes, settled
from tests.real.test_galera_placement import login
from tests.servers import Instance, ProxySQL

__all__ = ["nodes", "settled"]

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

LAYERS = ("runtime_", "", "disk.")
WEIGHTS = "SELECT DISTINCT weight FROM {}mysql_servers"
SENT_BACK = ("SAVE MYSQL SERVERS TO MEMORY", "SAVE MYSQL SERVERS TO DISK")
PLAIN = (
    "INSERT INTO mysql_servers (hostgroup_id, hostname, max_connections) VALUES (1, 'plain', 33)"
)


@contextmanager
def meanwhile(here: Instance, *statements: str) -> Iterator[None]:
    """Run these once the weights are loaded, and MEMORY is as it was."""

    def act() -> None:
        wait_until(lambda: here.query(WEIGHTS.format("runtime_")) != [("1",)])
        wait_until(lambda: here.query(WEIGHTS.format("")) == [("1",)])
        for sql in statements:
            here.execute(sql)

    with ThreadPoolExecutor() as pool:
        done = pool.submit(act)
        yield
        done.result()


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
    with meanwhile(settled[0].instance, SENT_BACK[0], PLAIN, limit, *load):
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
    with meanwhile(here.instance, *SENT_BACK, PLAIN):
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
        meanwhile(settled[0].instance, *SENT_BACK),
        AdminClient(login(settled[0])) as client,
        pytest.raises(InterruptedApplyError, match="is not drained"),
    ):
        drain(client, DrainRequest(WRITER, progress=interrupt))
    wait_until(lambda: weighs_as_before(settled))
