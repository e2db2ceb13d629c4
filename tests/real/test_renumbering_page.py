"""The page "Renumber hostgroups", with a real monitor and clients."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Self

import pymysql
import pytest

from tests.support.commands.cli import Project
from tests.support.commands.story import applied, apply, plan
from tests.support.documentation.pages import blocks
from tests.support.paths import ROOT
from tests.support.servers.galera_family import HOSTS
from tests.support.servers.galera_nodes import GaleraCluster
from tests.support.servers.instances import ProxySQL
from tests.support.servers.placement_samples import Placement, Sampler, online, placement
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
    return [count(now, hostgroup) for hostgroup in hostgroups] == [1, len(HOSTS) - 1]


def count(sample: Placement, hostgroup: int) -> int:
    return len(online(sample.get(hostgroup, set())))


@pytest.fixture
def project(proxysql: ProxySQL, offline: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("APP_PASSWORD", "app")
    offline.connect(proxysql.instance)
    return offline


def test_the_page(proxysql: ProxySQL, steps: dict[str, str], project: Project) -> None:
    project.write(steps["before.yaml"])
    applied()
    until(lambda: is_placed(proxysql, OLD), what="the monitor did not place the family")

    project.write(steps["after.yaml"])
    at_once = apply()
    assert at_once.code == 3, at_once.text
    assert "Galera family 10 would get different hostgroups in one LOAD" in at_once.err
    assert at_once.err.index("add a new family beside") < at_once.err.index("--force")

    with Sampler(proxysql.instance) as sampler, Client(proxysql) as client:
        project.write(steps["both.yaml"])
        applied()
        client.goes_on()
        until(lambda: is_placed(proxysql, NEW), what="the monitor did not place the new family")
        both = len(sampler.samples)
        project.write(steps["moved.yaml"])
        applied()
        client.goes_on()
        project.write(steps["after.yaml"])
        applied()
        client.goes_on()
    assert client.failures == []
    old, new = ([count(sample, writer) for sample in sampler.samples] for writer in (10, 210))
    assert set(old[:both]) == {1}
    assert set(new[both:]) == {1}
    assert plan().code == 0


def test_only_the_reader_hostgroup(
    proxysql: ProxySQL, steps: dict[str, str], project: Project
) -> None:
    before = steps["before.yaml"]
    after = before.replace("reader: {id: 12}", "reader: {id: 212}")
    through_backup = ("destination_hostgroup: reader", "destination_hostgroup: backup")
    project.write(before)
    applied()
    until(lambda: is_placed(proxysql, OLD), what="the monitor did not place the family")

    project.write(after)
    at_once = apply()
    assert (at_once.code, "hostgroup 212 (reader) would have no server" in at_once.err) == (3, True)

    with Sampler(proxysql.instance) as sampler, Client(proxysql) as client:
        project.write(before.replace(*through_backup))
        applied()
        client.goes_on()
        project.write(after.replace(*through_backup))
        applied()
        client.goes_on()
        until(lambda: is_placed(proxysql, (10, 212)), what="the monitor did not place the family")
        project.write(after)
        applied()
        client.goes_on()
    assert client.failures == []
    assert {count(sample, 10) for sample in sampler.samples} == {1}
    assert plan().code == 0


REPLICAS = """\
version: 1
mysql_replication_hostgroups: [{{writer_hostgroup: {writer}, reader_hostgroup: {reader}}}]
mysql_servers:
  - {{hostgroup_id: {writer}, hostname: {hosts[0]}, port: {port}}}
  - {{hostgroup_id: {reader}, hostname: {hosts[1]}, port: {port}}}
  - {{hostgroup_id: {reader}, hostname: {hosts[2]}, port: {port}}}
mysql_users:
  - {{username: app, password: {{env: APP_PASSWORD}}, default_hostgroup: {writer}}}
mysql_query_rules:
  - {{rule_id: 10, match_digest: 'FOR UPDATE', destination_hostgroup: {writer}, apply: true}}
  - {{rule_id: 20, match_digest: '^SELECT', destination_hostgroup: {reader}, apply: true}}
  - {{rule_id: 30, username: app, destination_hostgroup: {writer}, apply: true}}
"""


def test_replicas_in_one_apply(
    proxysql: ProxySQL, cluster: GaleraCluster, project: Project
) -> None:
    for host in HOSTS[1:]:
        cluster.nodes[host].read_only = "ON"
    project.write(REPLICAS.format(writer=10, reader=20, hosts=HOSTS, port=cluster.port))
    applied()
    with Sampler(proxysql.instance) as sampler, Client(proxysql) as client:
        client.goes_on()
        project.write(REPLICAS.format(writer=110, reader=120, hosts=HOSTS, port=cluster.port))
        applied()
        client.goes_on()
    assert client.failures == []
    writers = {
        frozenset(online(sample[10]) | online(sample.get(110, set()))) for sample in sampler.samples
    }
    assert writers == {frozenset(HOSTS[:1])}
    assert (
        min(count(sample, 20) + count(sample, 120) for sample in sampler.samples) >= len(HOSTS) - 1
    )
    assert plan().code == 0
