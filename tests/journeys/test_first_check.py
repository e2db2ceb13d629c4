"""A Galera cluster whose hostgroups no monitor knows yet, on an instance that serves clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.story import applied
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

TRAFFIC = """\
mysql_users: [{{username: app, password: {{env: APP_PASSWORD}}, default_hostgroup: {writer}}}]
mysql_query_rules:
  - {{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: {reader}, apply: true}}
"""
PLAIN = """\
version: 1
mysql_servers:
  - {hostgroup_id: 10, hostname: pxc1}
  - {hostgroup_id: 30, hostname: pxc2}
  - {hostgroup_id: 30, hostname: pxc3}
"""
CLUSTER = """\
version: 1
pxc_clusters:
  - name: main
    writer_hostgroup: {writer}
    backup_writer_hostgroup: 20
    reader_hostgroup: {reader}
    offline_hostgroup: 40
    max_writers: 1
    writer_is_also_reader: 2
    nodes: [{{hostname: pxc1, weight: {weight}}}, {{hostname: pxc2}}, {{hostname: pxc3}}]
"""
CHECK = "until the monitor's first check (mysql-monitor_galera_healthcheck_interval, 5000 ms)"


@pytest.fixture
def project(offline: Project) -> Iterator[Project]:
    """Files, and an instance whose monitor is on."""
    with Sandbox(variables={"mysql-monitor_enabled": "true"}) as served:
        handle = Instance(served.host, served.port, sandbox=served)
        offline.connect(handle)
        yield offline
        handle.close()


def cluster(writer: int = 10, reader: int = 30, weight: int = 9) -> str:
    text = CLUSTER + TRAFFIC
    return text.format(writer=writer, reader=reader, weight=weight)


def warned() -> list[str]:
    """Return what a plan says of the first check."""
    lines = proxyctl("plan").out.splitlines()
    return [line.split(maxsplit=1)[1] for line in lines if "first check" in line]


def test_it_is_told_what_is_so_until_the_monitor_has_looked(project: Project) -> None:
    project.write(PLAIN + TRAFFIC.format(writer=10, reader=30))
    applied()
    project.write(cluster())
    assert warned() == [
        f"pxc1:3306, pxc2:3306, pxc3:3306 take writes in hostgroup 10 {CHECK}",
        f"hostgroup 30 has no server that takes queries {CHECK}",
    ]
    warnings = proxyctl("plan", "--format", "json").json["instances"][0]["warnings"]
    assert any("hostgroup 30" in one for one in warnings)


def test_another_number_is_such_a_hostgroup(project: Project) -> None:
    project.write(cluster())
    applied()
    project.write(cluster(weight=8))
    assert warned() == []
    project.write(cluster(reader=31))
    assert warned() == [f"hostgroup 31 has no server that takes queries {CHECK}"]


def test_nobody_is_served_by_an_instance_that_is_empty(project: Project) -> None:
    project.write(cluster())
    assert warned() == []


def test_so_is_one_where_another_kind_of_monitor_places_nodes(project: Project) -> None:
    pair = "mysql_replication_hostgroups: [{writer_hostgroup: 10, reader_hostgroup: 30}]\n"
    project.write(PLAIN + pair + TRAFFIC.format(writer=10, reader=30))
    applied()
    project.write(cluster())
    assert warned() == [
        f"pxc1:3306, pxc2:3306, pxc3:3306 take writes in hostgroup 10 {CHECK}",
        f"hostgroup 30 has no server that takes queries {CHECK}",
    ]


def test_a_cluster_that_nothing_is_sent_to_yet_is_no_news(project: Project) -> None:
    served = PLAIN + TRAFFIC.format(writer=10, reader=30)
    project.write(served)
    applied()
    beside = CLUSTER.format(writer=50, reader=60, weight=9).partition("\n")[2]
    project.write(served + beside)
    assert warned() == []
