"""One Galera cluster behind one ProxySQL, configured with the example as it stands."""

from __future__ import annotations

from contextlib import closing

from testcontainers.core.network import Network

from tests.cli import Project, proxyctl
from tests.containers.conftest import HOSTS
from tests.containers.galera import GaleraCluster, wait_until
from tests.containers.proxysql import ProxySQLContainer
from tests.containers.traffic import Traffic, ask, connected, written_on
from tests.placement_samples import Sampler, online, placement, settle

WRITER, *READERS = HOSTS
"""The example gives the first node the most weight."""


def bootstrap(proxysql: ProxySQLContainer) -> None:
    """Apply the example to a ProxySQL that has nothing, and wait for its monitor."""
    done = proxyctl("apply", "--auto-approve")
    assert done.code == 0, done.text
    settle(proxysql.instance, list(HOSTS))


def short(host: str) -> str:
    """Return what a node calls itself."""
    return host.partition(".")[0]


def assert_in_sync() -> None:
    """Nothing that the monitor does is a difference."""
    drift = proxyctl("drift")
    assert drift.code == 0, drift.text


def test_a_proxysql_is_bootstrapped_and_splits_reads_from_writes(
    project: Project, proxysql: ProxySQLContainer, cluster: GaleraCluster
) -> None:
    bootstrap(proxysql)
    assert_in_sync()
    with Traffic(proxysql.traffic_port) as traffic:
        traffic.flows(50)
    assert traffic.errors == []
    assert traffic.reads.keys() == {short(host) for host in READERS}
    assert written_on(cluster.any_node).keys() == {short(WRITER)}
    locking = ask(proxysql.traffic_port, "SELECT node() FROM written LIMIT 1 FOR UPDATE")
    assert locking == [(short(WRITER),)]


def test_the_plan_stays_empty_while_nodes_come_and_go(
    project: Project, proxysql: ProxySQLContainer, cluster: GaleraCluster
) -> None:
    bootstrap(proxysql)

    def offline(host: str) -> bool:
        return host in online(placement(proxysql.instance)[40])

    # Desynced: out at once, back when it is done.
    reader = READERS[0]
    cluster.nodes[reader].sql("SET GLOBAL wsrep_desync=ON")
    wait_until(lambda: offline(reader), f"{reader} is offline")
    assert_in_sync()
    cluster.nodes[reader].sql("SET GLOBAL wsrep_desync=OFF")
    settle(proxysql.instance, list(HOSTS))
    assert_in_sync()

    # Read-only: a reader that is no writer any more.
    cluster.nodes[WRITER].sql("SET GLOBAL read_only=ON")
    wait_until(
        lambda: online(placement(proxysql.instance)[10]) == {READERS[0]}, "another node writes"
    )
    assert_in_sync()
    cluster.nodes[WRITER].sql("SET GLOBAL read_only=OFF")
    wait_until(lambda: online(placement(proxysql.instance)[10]) == {WRITER}, "it writes again")
    assert_in_sync()

    # Killed, and back with a state transfer.
    cluster.nodes[reader].kill()
    wait_until(lambda: offline(reader), f"{reader} is offline")
    assert_in_sync()
    cluster.rejoin(reader)
    settle(proxysql.instance, list(HOSTS))
    assert_in_sync()


def test_changes_under_load_make_no_second_writer_and_no_error(
    project: Project, proxysql: ProxySQLContainer, cluster: GaleraCluster
) -> None:
    bootstrap(proxysql)
    text = (project.folder / "proxyctl.yaml").read_text()
    with Traffic(proxysql.traffic_port) as traffic, Sampler(proxysql.instance) as sampler:
        traffic.flows()
        for old, new in (
            ("weight: 900", "weight: 950"),
            ("max_connections: 500", "max_connections: 400"),
        ):
            assert old in text
            text = text.replace(old, new)
            project.write(text)
            done = proxyctl("apply", "--auto-approve")
            assert done.code == 0, done.text
            traffic.flows()
        assert_in_sync()
    assert traffic.errors == []
    sampler.check()
    assert written_on(cluster.any_node).keys() == {short(WRITER)}


def test_a_new_node_enters_under_load(
    project: Project, proxysql: ProxySQLContainer, cluster: GaleraCluster, network: Network
) -> None:
    bootstrap(proxysql)
    new = "pxc4.example.com"
    line = "      - {hostname: pxc3.example.com, weight: 800}\n"
    text = (project.folder / "proxyctl.yaml").read_text()
    assert line in text
    with Traffic(proxysql.traffic_port) as traffic, Sampler(proxysql.instance) as sampler:
        cluster.add(new, network)
        project.write(text.replace(line, line + f"      - {{hostname: {new}, weight: 700}}\n"))
        done = proxyctl("apply", "--auto-approve")
        assert done.code == 0, done.text
        settle(proxysql.instance, [*HOSTS, new])
        traffic.reads.clear()
        traffic.flows(100)
        assert_in_sync()
    assert traffic.errors == []
    sampler.check()
    assert short(new) in traffic.reads
    assert written_on(cluster.any_node).keys() == {short(WRITER)}


def test_the_writer_fails_while_an_apply_runs(
    project: Project, proxysql: ProxySQLContainer, cluster: GaleraCluster
) -> None:
    bootstrap(proxysql)
    text = (project.folder / "proxyctl.yaml").read_text()
    with Traffic(proxysql.traffic_port) as traffic:
        traffic.flows()
        cluster.nodes[WRITER].kill()
        project.write(text.replace("max_connections: 500", "max_connections: 300"))
        done = proxyctl("apply", "--auto-approve")
        assert done.code == 0, done.text
        wait_until(
            lambda: online(placement(proxysql.instance)[10]) == {READERS[0]}, "another node writes"
        )
        failed = len(traffic.errors)
        traffic.flows()
        assert_in_sync()
    # What the failing node was busy with is lost; nothing after another one took over.
    assert traffic.errors[failed:] == []
    assert short(READERS[0]) in written_on(cluster.any_node)


def test_the_announced_version_is_changed_on_one_proxysql_after_the_other(
    project: Project, proxysql: ProxySQLContainer, network: Network
) -> None:
    with ProxySQLContainer("proxysql2.example.com", network) as second:
        bootstrap(proxysql)
        project.connect(second.instance)
        bootstrap(second)
        text = (project.folder / "proxyctl.yaml").read_text()
        project.write(text.replace('"8.0.36"', '"8.4.5"'))
        with Traffic(proxysql.traffic_port) as one, Traffic(second.traffic_port) as other:
            for container in (proxysql, second):
                project.connect(container.instance)
                done = proxyctl("apply", "--auto-approve")
                assert done.code == 0, done.text
                one.flows()
                other.flows()
        assert one.errors == other.errors == []
        for container in (proxysql, second):
            with closing(connected(container.traffic_port)) as connection:
                assert connection.get_server_info().startswith("8.4.5")
