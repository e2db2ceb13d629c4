"""What `nodes list` says of simulated Galera nodes behind a real ProxySQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from proxyctl.instance.backend import ask_nodes, monitor_account
from proxyctl.instance.client import AdminClient
from proxyctl.nodes.list import read_nodes, with_answers
from proxyctl.nodes.model import NodeGroup
from proxyctl.render.nodes import nodes_text
from tests.real.galera_rig import apply, files, login
from tests.support.cli import Project, proxyctl
from tests.support.galera_family import HOSTS
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import online, placement, settle
from tests.support.servers import ProxySQL, free_port
from tests.support.waiting import until

pytestmark = pytest.mark.real


@pytest.fixture
def cluster() -> Iterator[GaleraCluster]:
    with GaleraCluster(HOSTS, free_port()) as running:
        yield running


@pytest.fixture
def project(proxysql: ProxySQL, offline: Project) -> Project:
    """A folder for an instance whose monitor has the account of the nodes."""
    offline.connect(replace(proxysql.instance, user="radmin", password="radmin"))
    return offline


def looked_at(server: ProxySQL) -> tuple[NodeGroup, str]:
    with AdminClient(login(server)) as client:
        report = read_nodes(client)
        (group,) = report.groups
        said = ask_nodes({view.node for view in group.nodes}, monitor_account(client))
        asked = replace(report, groups=with_answers(report.groups, said))
        (group,) = asked.groups
        return group, nodes_text(asked)


def test_a_node_is_seen_from_three_sides(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    apply(proxysql, files(cluster, HOSTS))
    settle(proxysql.instance, HOSTS)
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    cluster.nodes[reader].wsrep_desync = "ON"
    until(lambda: reader in online(placement(proxysql.instance)[40]))
    group, text = looked_at(proxysql)
    assert group.family is not None
    assert group.hostgroups == (10, 20, 30, 40)
    views = {view.node[0]: view for view in group.nodes}
    assert views.keys() == set(HOSTS)
    desynced = views[reader]
    assert [place.hostgroup for place in desynced.configured] == [10]
    assert [place.hostgroup for place in desynced.runtime] == [40]
    assert desynced.check.wsrep["wsrep_desync"] == "YES"
    assert desynced.answer is not None
    assert desynced.answer.variables["wsrep_desync"] == "ON"
    line = next(line for line in text.splitlines() if reader in line)
    assert "Synced, desynced, segment 1, 8.0.36" in line
    assert line.split()[1:3] == ["ONLINE", "40"]


def test_a_cluster_is_discovered_from_one_node(project: Project, cluster: GaleraCluster) -> None:
    seed = f"{HOSTS[0]}:{cluster.port}"

    written = proxyctl("nodes", "discover", "--seed", seed, "-o", "proxyctl.yaml")
    assert written.code == 0, written.text
    assert proxyctl("validate").code == 0
    agrees = proxyctl("nodes", "discover", "--seed", seed)
    assert agrees.code == 0, agrees.text
    assert "cluster shop" in agrees.out
    assert "the files name the same nodes" in agrees.out

    text = (project.folder / "proxyctl.yaml").read_text(encoding="utf-8")
    project.write(text.replace(HOSTS[2], "127.0.1.9"))
    differs = proxyctl("nodes", "discover", "--seed", seed)
    assert differs.code == 2
    assert f"{HOSTS[2]}:{cluster.port} is a member, but not in the files" in differs.out
    assert f"127.0.1.9:{cluster.port} is in the files, but not a member" in differs.out

    for form in ("text", "json"):
        file = f"other-{form}.txt"
        other = proxyctl("nodes", "discover", "--seed", seed, "-o", file, "--format", form)
        assert other.code == 2, other.text
        assert f"hostname: {HOSTS[2]}" in (project.folder / file).read_text(encoding="utf-8")

    kept = proxyctl("nodes", "discover", "--seed", seed, "-o", "proxyctl.yaml")
    assert kept.code == 3
    nobody = proxyctl("nodes", "discover", "--seed", f"127.0.1.9:{cluster.port}")
    assert nobody.code == 1
    assert "asks it with the account of ProxySQL's monitor" in nobody.text


def test_a_node_outside_of_the_primary_component_is_not_believed(
    project: Project, cluster: GaleraCluster
) -> None:
    """It knows of nobody but itself; the others go on without it."""
    seed = f"{HOSTS[0]}:{cluster.port}"
    alone = cluster.nodes[HOSTS[0]]
    alone.wsrep_cluster_status, alone.wsrep_incoming_addresses = "non-Primary", seed
    discover = ("nodes", "discover", "--seed", seed)
    found = proxyctl(*discover, "-o", "proxyctl.yaml")
    assert found.code == 1, found.text
    assert f"{seed}: the node is not in the primary component (non-Primary)" in found.err
    assert not (project.folder / "proxyctl.yaml").exists()

    other = ("nodes", "discover", "--seed", f"{HOSTS[1]}:{cluster.port}")
    assert proxyctl(*other, "-o", "proxyctl.yaml").code == 0
    checked = proxyctl(*discover)
    assert checked.code == 1
    assert "no member" not in checked.text


def test_a_member_that_the_seed_does_not_name_is_named_by_another_one(
    project: Project, cluster: GaleraCluster
) -> None:
    """A node of a real cluster went on to name two of three, and had three in its count."""
    addresses = [f"{host}:{cluster.port}" for host in HOSTS]
    discover = ("nodes", "discover", "--seed", addresses[1])
    cluster.nodes[HOSTS[1]].wsrep_incoming_addresses = ",".join(addresses[:2])
    written = proxyctl(*discover, "-o", "proxyctl.yaml")
    assert written.code == 0, written.text
    assert "3 members" in written.err
    assert proxyctl(*discover).code == 0

    # One that was split off names others, who need not be members any more.
    (project.folder / "proxyctl.yaml").unlink()
    alone = cluster.nodes[HOSTS[0]]
    alone.wsrep_cluster_status, alone.wsrep_incoming_addresses = "non-Primary", "127.0.1.9"
    assert "127.0.1.9" not in proxyctl(*discover).out


def test_a_member_that_nobody_names_is_refused(project: Project, cluster: GaleraCluster) -> None:
    addresses = [f"{host}:{cluster.port}" for host in HOSTS]
    discover = ("nodes", "discover", "--seed", addresses[1])
    assert proxyctl(*discover, "-o", "proxyctl.yaml").code == 0
    for host in HOSTS:
        cluster.nodes[host].wsrep_incoming_addresses = ",".join(addresses[:2])
    found = proxyctl(*discover)
    assert found.code == 1, found.text
    assert "1 member of the cluster does not report its address" in found.err

    # A garbd has no address; it stands there as an empty one.
    for host in HOSTS:
        cluster.nodes[host].wsrep_incoming_addresses = ",".join(["", *addresses[:2]])
    assert f"{addresses[2]} is in the files, but not a member" in proxyctl(*discover).out


def test_members_that_do_not_report_their_address_are_refused(
    project: Project, cluster: GaleraCluster
) -> None:
    known = [f"{host}:{cluster.port}" for host in HOSTS[:-1]]
    for addresses, said in (
        ([*known, "AUTO"], "1 member of the cluster does not report its address"),
        (["AUTO"] * 3, "3 members of the cluster do not report their address"),
    ):
        for node in cluster.nodes.values():
            node.wsrep_incoming_addresses = ",".join(addresses)
        found = proxyctl("nodes", "discover", "--seed", f"{HOSTS[0]}:{cluster.port}")
        assert found.code == 1, found.text
        assert said in found.err
        assert "set wsrep_node_incoming_address there" in found.err
