"""nodes discover: the node that it asks first, and the place of the written section."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import ended
from tests.support.protocol.mysql_servers import AnsweringServer, packets, result
from tests.support.protocol.packets import OK
from tests.support.servers.galera_nodes import GaleraCluster
from tests.support.servers.instances import free_port

FILES = """version: 1
pxc_clusters:
- name: main
  writer_hostgroup: 10
  backup_writer_hostgroup: 20
  reader_hostgroup: 30
  offline_hostgroup: 40
  nodes:
"""


@pytest.mark.parametrize(
    ("addresses", "reason"),
    [
        (b"", "does not list any cluster members"),
        (b",".join(b"db%d" % number for number in range(20_000)), "lists 20,000 members"),
    ],
)
def test_what_no_cluster_says_of_its_members(
    sandbox_project: Project, addresses: bytes, reason: str
) -> None:
    """proxyctl asks none of them: that would take hours, and any host could be in the list."""
    answer = result([b"a", b"b"], [[b"wsrep_incoming_addresses", addresses]])
    with AnsweringServer(lambda sql: answer if b"STATUS" in sql else packets([OK])) as node:
        found = proxyctl("nodes", "discover", "--seed", f"127.0.0.1:{node.port}")
    ended(found, 1, f"127.0.0.1:{node.port}: wsrep_incoming_addresses {reason}")


def test_a_node_of_the_files_is_known_by_its_address(sandbox_project: Project) -> None:
    """The files name a node by host, the cluster by address, also with `active: false`."""
    with AnsweringServer(lambda sql: answer if b"STATUS" in sql else packets([OK])) as node:
        answer = result([b"a", b"b"], [[b"wsrep_incoming_addresses", b"127.0.0.1:%d" % node.port]])
        names = ["localhost", "no-such-host.invalid"]
        nodes = "".join(f"    - {{hostname: {name}, port: {node.port}}}\n" for name in names)
        sandbox_project.write(FILES.replace("  nodes:", "  active: false\n  nodes:") + nodes)
        found = proxyctl("nodes", "discover", "--seed", f"127.0.0.1:{node.port}")
    assert "is a member, but not in the files" not in found.out
    assert f"localhost:{node.port} is in the files" not in found.out
    assert found.code == 2, found.text
    assert f"no-such-host.invalid:{node.port} is in the files, but not a member" in found.out


# -- clusters of simulated nodes -------------------------------------------------------------------

HOSTS = ["127.0.1.1", "127.0.1.2", "127.0.1.3"]


@pytest.fixture
def cluster(sandbox_project: Project) -> Iterator[GaleraCluster]:
    """Three nodes that let the monitor of the sandbox in."""
    with GaleraCluster(HOSTS, free_port()) as running:
        yield running


def discover(seed: str, *options: str) -> Outcome:
    return proxyctl("nodes", "discover", "--seed", seed, *options)


def test_a_cluster_is_discovered_from_one_node(cluster: GaleraCluster, offline: Project) -> None:
    seed = f"{HOSTS[0]}:{cluster.port}"
    written = discover(seed, "-o", "proxyctl.yaml")
    assert written.code == 0, written.text
    assert proxyctl("validate").code == 0
    agrees = discover(seed)
    assert agrees.code == 0, agrees.text
    assert "cluster shop" in agrees.out
    assert "the files name the same nodes" in agrees.out

    text = (offline.folder / "proxyctl.yaml").read_text(encoding="utf-8")
    offline.write(text.replace(HOSTS[2], "127.0.1.9"))
    for form in ("text", "json"):
        differs = discover(seed, "-o", f"other-{form}.txt", "--format", form)
        assert differs.code == 2, differs.text
        other = (offline.folder / f"other-{form}.txt").read_text(encoding="utf-8")
        assert f"hostname: {HOSTS[2]}" in other
    missing = f"{HOSTS[2]}:{cluster.port} is a member, but not in the files\n"
    assert missing in discover(seed).out
    nobody = discover(f"127.0.1.9:{cluster.port}")
    ended(nobody, 1, "proxyctl connects from this machine as mysql-monitor_username")


def test_a_node_outside_of_the_primary_component_is_not_believed(
    cluster: GaleraCluster, offline: Project
) -> None:
    """Such a node knows only itself; the others continue without it."""
    seed = f"{HOSTS[0]}:{cluster.port}"
    alone = cluster.nodes[HOSTS[0]]
    alone.wsrep_cluster_status, alone.wsrep_incoming_addresses = "non-Primary", seed
    found = discover(seed, "-o", "proxyctl.yaml")
    ended(found, 1, f"{seed}: the node is not in the primary component (non-Primary)")
    assert not (offline.folder / "proxyctl.yaml").exists()
    assert discover(f"{HOSTS[1]}:{cluster.port}", "-o", "proxyctl.yaml").code == 0
    # Whom it names need not be a member any more.
    alone.wsrep_incoming_addresses = "127.0.1.9"
    assert "127.0.1.9" not in discover(f"{HOSTS[1]}:{cluster.port}").out


def test_a_member_that_the_seed_does_not_name(cluster: GaleraCluster, offline: Project) -> None:
    """A node of a real cluster kept naming two of three members, though its count was three."""
    addresses = [f"{host}:{cluster.port}" for host in HOSTS]
    cluster.nodes[HOSTS[1]].wsrep_incoming_addresses = ",".join(addresses[:2])
    written = discover(addresses[1], "-o", "proxyctl.yaml")
    assert (written.code, "3 members" in written.err) == (0, True), written.text
    assert discover(addresses[1]).code == 0
    for named, reason in (
        (addresses[:2], "1 member of the cluster does not report its address"),
        (["AUTO"] * 3, "3 members of the cluster do not report their address"),
    ):
        for node in cluster.nodes.values():
            node.wsrep_incoming_addresses = ",".join(named)
        ended(discover(addresses[1]), 1, reason, "set wsrep_node_incoming_address on those nodes")
    # A garbd has no address; it stands there as an empty one.
    for node in cluster.nodes.values():
        node.wsrep_incoming_addresses = ",".join(["", *addresses[:2]])
    assert f"{addresses[2]} is in the files, but not a member" in discover(addresses[1]).out
