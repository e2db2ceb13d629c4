"""Three ProxySQL in front of one cluster are changed as a fleet, under load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from testcontainers.core.network import Network

from tests.containers.conftest import EXAMPLE, HOSTS, PASSWORDS
from tests.containers.galera import GaleraCluster
from tests.containers.proxysql import ProxySQLContainer
from tests.containers.story import applied
from tests.containers.traffic import Traffic, connected
from tests.support.cli import Project, proxyctl
from tests.support.placement_samples import Sampler, settle


@pytest.fixture
def fleet(cluster: GaleraCluster, network: Network) -> Iterator[list[ProxySQLContainer]]:
    """Three ProxySQL without any configuration."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(ProxySQLContainer(f"proxysql{number}.example.com", network))
            for number in (1, 2, 3)
        ]


@pytest.fixture
def files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fleet: list[ProxySQLContainer]
) -> Project:
    """The example with the three as instances, applied to all of them."""
    project = Project(tmp_path, monkeypatch)
    for name, value in PASSWORDS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PROXYSQL_ADMIN_PASSWORD", fleet[0].instance.password)
    instances = "".join(
        f"  - {{name: px{number}, host: {one.instance.host}, port: {one.instance.port},"
        f" user: {one.instance.user}, password: {{env: PROXYSQL_ADMIN_PASSWORD}}}}\n"
        for number, one in enumerate(fleet, 1)
    )
    project.write(EXAMPLE.read_text() + "\ninstances:\n" + instances)
    text = applied("--all", "--max-unavailable", "3")
    assert "3 applied: px1, px2, px3" in text
    for one in fleet:
        settle(one.instance, list(HOSTS))
    return project


def announced(proxysql: ProxySQLContainer) -> str:
    """Return the version that a client is told."""
    with closing(connected(proxysql.traffic_port)) as connection:
        return str(connection.get_server_info())


def test_one_after_the_other_announces_another_version_under_load(
    files: Project, fleet: list[ProxySQLContainer]
) -> None:
    text = (files.folder / "proxyctl.yaml").read_text()
    files.write(text.replace('"8.0.36"', '"8.4.5"').replace("weight: 900", "weight: 950"))
    with ExitStack() as stack:
        traffic = [stack.enter_context(Traffic(one.traffic_port)) for one in fleet]
        samplers = [stack.enter_context(Sampler(one.instance)) for one in fleet]
        for each in traffic:
            each.flows()
        done = applied("--all")
        for each in traffic:
            each.flows()
    assert [line for line in done.splitlines() if line.startswith("batch")] == [
        "batch 1 of 3: px1",
        "batch 2 of 3: px2",
        "batch 3 of 3: px3",
    ]
    assert [each.errors for each in traffic] == [[], [], []]
    for sampler in samplers:
        sampler.check()
    assert [announced(one).startswith("8.4.5") for one in fleet] == [True, True, True]
    assert proxyctl("drift", "--all").out == "Fleet of 3 instances: 3 without drift.\n"
    doctor = proxyctl("doctor", "--all", "--no-ask")
    assert doctor.code == 0, doctor.text
    # Clients are told another version than that of the nodes: all three have that, in these words.
    assert doctor.out.startswith("px1, px2, px3  3 instances alike, ProxySQL ")
    assert "server-version-" in doctor.out
