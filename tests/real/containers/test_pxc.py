"""One Galera cluster behind one ProxySQL, configured with the unchanged example."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from testcontainers.core.network import Network

from proxyctl.apply.apply import apply_files
from proxyctl.apply.request import ApplyRequest, Reporter
from proxyctl.config.files import ConfigFiles
from proxyctl.config.sources import Sources
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.plan.make import PlanOptions
from tests.real.containers.conftest import HOSTS
from tests.real.containers.galera import GaleraCluster, wait_until
from tests.real.containers.proxysql import ProxySQLContainer
from tests.real.containers.traffic import Traffic, ask, written_on
from tests.support.commands.cli import Project, proxyctl
from tests.support.servers.placement_samples import Sampler, online, placement, settle

WRITER, *READERS = HOSTS
"""The example gives the first node the most weight."""


def short(host: str) -> str:
    """Return the node's own name."""
    return host.partition(".")[0]


def applied(*options: str) -> str:
    """Apply the files; return the output."""
    done = proxyctl("apply", "--auto-approve", *options)
    assert done.code == 0, done.text
    return done.text


def bootstrap(proxysql: ProxySQLContainer) -> None:
    """Apply the example to an empty ProxySQL, and wait for its monitor."""
    applied()
    settle(proxysql.instance, list(HOSTS))


def assert_in_sync() -> None:
    """Assert that the monitor's placement is no difference and leaves nothing to apply."""
    for command in (["drift"], ["plan", "--detailed-exitcode"]):
        found = proxyctl(*command)
        assert found.code == 0, found.text


def in_sync_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until the condition holds, and check meanwhile that nothing differs."""

    def is_so_and_in_sync() -> bool:
        assert_in_sync()
        return is_so()

    wait_until(is_so_and_in_sync, what)
    assert_in_sync()


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
    reader = READERS[0]

    def is_offline() -> bool:
        return reader in online(placement(proxysql.instance)[40])

    def all_serve() -> bool:
        now = placement(proxysql.instance)
        return (online(now[10]), online(now[30])) == ({WRITER}, {*READERS})

    # Desynced: out at once, back when it is done.
    cluster.nodes[reader].sql("SET GLOBAL wsrep_desync=ON")
    in_sync_until(is_offline, f"{reader} is offline")
    cluster.nodes[reader].sql("SET GLOBAL wsrep_desync=OFF")
    in_sync_until(all_serve, f"{reader} is back")

    # In maintenance by its own word.
    cluster.nodes[reader].begin_maintenance()
    in_sync_until(is_offline, f"{reader} is offline")
    cluster.nodes[reader].end_maintenance()
    in_sync_until(all_serve, f"{reader} is back")

    # The writer: read-only, a reader from then on; desynced; in maintenance by its own word.
    writer = cluster.nodes[WRITER]

    def another_writes() -> bool:
        return online(placement(proxysql.instance)[10]) == {READERS[0]}

    for variable in ("read_only", "wsrep_desync"):
        writer.sql(f"SET GLOBAL {variable}=ON")
        in_sync_until(another_writes, f"another node writes: {variable}")
        writer.sql(f"SET GLOBAL {variable}=OFF")
        in_sync_until(all_serve, "it writes again")
    writer.begin_maintenance()
    in_sync_until(another_writes, "another node writes: maintenance")
    writer.end_maintenance()
    in_sync_until(all_serve, "it writes again")

    # Killed, and back with a state transfer.
    cluster.nodes[reader].kill()
    in_sync_until(is_offline, f"{reader} is offline")
    cluster.rejoin(reader)
    in_sync_until(all_serve, f"{reader} is back")


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
            applied()
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
        applied()
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
    """The writer dies after the apply has read the placement, and before it loads the servers."""
    bootstrap(proxysql)
    text = (project.folder / "proxyctl.yaml").read_text()
    project.write(text.replace("max_connections: 500", "max_connections: 300"))
    heir = {READERS[0]}
    taken_over = []

    def writer_fails(progress: str) -> None:
        if progress == "LOAD MYSQL SERVERS TO RUNTIME":
            cluster.nodes[WRITER].kill()
            taken_over.append(_wait_for_writer(proxysql, heir))

    instance = proxysql.instance
    login = Login(instance.host, instance.port, user=instance.user, password=instance.password)
    files = ConfigFiles(Sources((str(project.folder / "proxyctl.yaml"),), {}))
    with Traffic(proxysql.traffic_port) as traffic, Sampler(instance) as sampler:
        traffic.flows()
        with AdminClient(login) as client:
            request = ApplyRequest(PlanOptions(), reporter=Reporter(writer_fails))
            _, result = apply_files(client, files, request)
        assert taken_over == [heir]
        assert result is not None
        assert (result.loads, result.saves) == (1, 1)
        _wait_for_writer(proxysql, heir)
        failed = len(traffic.errors)
        traffic.flows()
        assert_in_sync()
    # What the failing node was busy with is lost; nothing after another one took over.
    assert traffic.errors[failed:] == []
    writers = [online(sample[10]) for sample in sampler.samples]
    assert max(map(len, writers)) == 1
    # The LOAD does not bring back the one that died.
    assert writers[writers.index(heir) :].count({WRITER}) == 0
    assert min(len(online(sample[30])) for sample in sampler.samples) >= 1
    assert short(READERS[0]) in written_on(cluster.any_node)


def _wait_for_writer(proxysql: ProxySQLContainer, writer: set[str]) -> set[str]:
    def writers() -> set[str]:
        return online(placement(proxysql.instance)[10])

    wait_until(lambda: writers() == writer, f"{writer} writes")
    return writers()


# -- nodes are drained and put back, by the commands that a person types ---------------------------


POOL = 20
"""Queries after which a client connects anew."""


def connections_in_use(proxysql: ProxySQLContainer, host: str) -> int:
    """Return how many connections to a node are in use."""
    rows = proxysql.instance.query(
        f"SELECT sum(ConnUsed) FROM stats_mysql_connection_pool WHERE srv_host='{host}'"
    )
    return int(rows[0][0] or 0)


@pytest.mark.parametrize("host", [READERS[0], WRITER], ids=["a reader", "the writer"])
def test_a_node_is_drained_and_put_back_under_load(
    host: str, project: Project, proxysql: ProxySQLContainer, cluster: GaleraCluster
) -> None:
    bootstrap(proxysql)
    others = {short(other) for other in HOSTS if other != host}
    with Traffic(proxysql.traffic_port, lifetime=POOL) as traffic:
        with Sampler(proxysql.instance, usable=True) as draining:
            traffic.flows()
            done = proxyctl("nodes", "drain", host, "--wait", "--timeout", "120")
            assert done.code == 0, done.text
            assert f"{host}:3306: no connection is in use\n" in done.text

            # Nobody comes to it any more, whatever else is applied, and all that is no drift.
            cluster.any_node.sql("TRUNCATE app.written")
            traffic.reads.clear()
            text = (project.folder / "proxyctl.yaml").read_text()
            project.write(text.replace("weight: 800", "weight: 850"))
            applied()
            traffic.flows(100)
            assert traffic.reads.keys() <= others
            assert written_on(cluster.any_node).keys() <= others
            assert connections_in_use(proxysql, host) == 0
            assert f"{host}:3306 drained" in proxyctl("drift").out
            assert_in_sync()

        with Sampler(proxysql.instance, usable=True) as returning:
            # It comes back as a new one, and still nobody comes to it.
            cluster.nodes[host].kill()
            cluster.rejoin(host)
            wait_until(lambda: is_seen(proxysql, host), f"{host} is seen by the monitor")
            traffic.flows(100)
            assert traffic.reads.keys() <= others
            settle(proxysql.instance, list(HOSTS))
            assert_in_sync()

        with Sampler(proxysql.instance, usable=True) as restoring:
            done = proxyctl("nodes", "restore", host)
            assert done.code == 0, done.text
            wait_until(lambda: serves_as_before(proxysql), f"{host} is back")
            traffic.reads.clear()
            traffic.flows(100)
            assert_in_sync()
    assert traffic.errors == []
    draining.check()
    # A reader that has sent its state is JOINED for a moment. If the monitor checks it then, it is
    # taken out until the next check, and it may be the only one.
    assert {len(online(sample[10])) for sample in returning.samples} == {1}
    restoring.check()
    assert traffic.reads.keys() == {short(reader) for reader in READERS}
    assert short(WRITER) in written_on(cluster.any_node)


def is_seen(proxysql: ProxySQLContainer, host: str) -> bool:
    """Return whether a node is among the readers again, drained or not."""
    return host in online(placement(proxysql.instance)[30])


def serves_as_before(proxysql: ProxySQLContainer) -> bool:
    """Return whether the example's writer writes, and both other nodes read."""
    now = placement(proxysql.instance, usable=True)
    return (online(now[10]), online(now[30])) == ({WRITER}, {*READERS})
