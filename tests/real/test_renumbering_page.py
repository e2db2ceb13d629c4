"""The page "Give a cluster other hostgroup numbers", with a real monitor and clients."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Self

import pymysql
import pytest

from tests.docs.pages import ROOT, blocks
from tests.support.cli import Project
from tests.support.galera_family import HOSTS
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import Sampler, online, placement
from tests.support.servers import ProxySQL
from tests.support.story import applied, apply, plan
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.alone]

PAGE = ROOT / "docs" / "how-to" / "renumber-hostgroups.md"
OLD, NEW = (10, 12), (210, 212)
"""The writer and the reader hostgroup."""


@pytest.fixture
def steps(cluster: GaleraCluster) -> dict[str, str]:
    """The files of the page by name, with the simulated nodes."""
    found = {}
    for block in blocks(PAGE):
        if name := block.options.get("file"):
            text = block.text
            for number, host in enumerate(HOSTS, 1):
                text = text.replace(f"pxc{number}.example.com", f"{host}, port: {cluster.port}")
            found[name] = text
    return found


class Client:
    """A client that reads and writes without a pause, in one session, until the context ends."""

    def __init__(self, server: ProxySQL) -> None:
        self._server = server
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.queries = 0
        self.failures: list[str] = []

    def _run(self) -> None:
        connection = pymysql.connect(
            host="127.0.0.1",
            port=self._server.traffic_port,
            user="app",
            password="app",
            autocommit=True,
            read_timeout=20,
        )
        with closing(connection), connection.cursor() as cursor:
            while not self._stop.is_set():
                for query in ("SELECT 1", "INSERT INTO t VALUES (1)", "SELECT 1 FOR UPDATE"):
                    try:
                        cursor.execute(query)
                        self.queries += 1
                    except pymysql.MySQLError as error:
                        self.failures.append(f"{query}: {error}")
                        return

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def goes_on(self) -> None:
        """Wait for twenty more queries, or a failure."""
        wanted = self.queries + 20
        until(lambda: self.queries > wanted or bool(self.failures), what="the client stands still")


def is_placed(server: ProxySQL, hostgroups: tuple[int, int]) -> bool:
    now = placement(server.instance)
    counts = [len(online(now.get(hostgroup, set()))) for hostgroup in hostgroups]
    return counts == [1, len(HOSTS) - 1]


def test_the_page(
    proxysql: ProxySQL, steps: dict[str, str], offline: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_PASSWORD", "app")
    offline.connect(proxysql.instance)
    offline.write(steps["before.yaml"])
    applied()
    until(lambda: is_placed(proxysql, OLD), what="the monitor did not place the family")

    offline.write(steps["after.yaml"])
    at_once = apply()
    assert at_once.code == 3, at_once.text
    assert "Galera family 10 would become Galera family 210 in one LOAD" in at_once.err
    assert at_once.err.index("add the new family beside") < at_once.err.index("--force")

    with Sampler(proxysql.instance) as sampler, Client(proxysql) as client:
        offline.write(steps["both.yaml"])
        applied()
        client.goes_on()
        until(lambda: is_placed(proxysql, NEW), what="the monitor did not place the new family")
        both = len(sampler.samples)
        offline.write(steps["moved.yaml"])
        applied()
        client.goes_on()
        offline.write(steps["after.yaml"])
        applied()
        client.goes_on()
    assert client.failures == []
    old, new = ([len(online(one.get(w, set()))) for one in sampler.samples] for w in (10, 210))
    assert set(old[:both]) == {1}
    assert set(new[both:]) == {1}
    assert plan().code == 0
