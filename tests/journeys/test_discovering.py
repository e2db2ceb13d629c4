"""nodes discover: which node is asked first, and where the section is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.story import said
from tests.support.answering_server import AnsweringServer, packets, result
from tests.support.cli import Project, proxyctl
from tests.support.packets import OK

NOT_ONE_NODE = [
    "",
    " ",
    ":3306",
    "n1,n2",
    "n1:99999",
    "n1:0",
    "n1:abc",
    "n1:",
    "[::1]:abc",
    "a:b:c",
]

FILES = """version: 1
pxc_clusters:
- name: main
  writer_hostgroup: 10
  backup_writer_hostgroup: 20
  reader_hostgroup: 30
  offline_hostgroup: 40
  nodes:
"""


@pytest.mark.parametrize("seed", NOT_ONE_NODE)
def test_a_seed_is_one_node(offline: Project, seed: str) -> None:
    """A text without a host would mean this machine; nobody is connected to."""
    found = proxyctl("nodes", "discover", "--seed", seed)
    said(found, 64, "--seed: expected one node, HOST or HOST:PORT")


@pytest.mark.parametrize("seed", ["db1", "db1:3307", "127.0.0.1:3307", "::1", "[::1]:3307"])
def test_a_seed_may_be_an_address(offline: Project, seed: str) -> None:
    """The instance is asked for the account first, and there is none."""
    found = proxyctl("nodes", "discover", "--seed", seed, "--host", "127.0.0.1", "--port", "1")
    said(found, 1, "cannot connect to 127.0.0.1:1")


def test_a_file_that_cannot_be_written_is_refused_before_a_node_is_asked(
    offline: Project, tmp_path: Path
) -> None:
    """As of every command that writes a file: nobody is connected to."""
    command = ("nodes", "discover", "--seed", "db1", "--host", "127.0.0.1", "--port", "1", "-o")
    said(proxyctl(*command, str(tmp_path / "no" / "x.yaml")), 1, "cannot be written: no such")
    said(proxyctl(*command, str(tmp_path)), 1, "cannot be written: it is a folder")
    there = tmp_path / "there.yaml"
    there.write_text("version: 1\n")
    said(proxyctl(*command, str(there)), 3, f"{there}: already exists")
    assert there.read_text() == "version: 1\n"


@pytest.mark.parametrize(
    ("addresses", "reason"),
    [
        (b"", "names no member of a cluster"),
        (b",".join(b"db%d" % number for number in range(20_000)), "names 20,000 members"),
    ],
)
def test_what_no_cluster_says_of_its_members(
    sandbox_project: Project, addresses: bytes, reason: str
) -> None:
    """Nobody is asked then: it would take hours, and anybody could be among them."""
    told = result([b"a", b"b"], [[b"wsrep_incoming_addresses", addresses]])
    with AnsweringServer(lambda sql: told if b"STATUS" in sql else packets([OK])) as node:
        found = proxyctl("nodes", "discover", "--seed", f"127.0.0.1:{node.port}")
    said(found, 1, f"127.0.0.1:{node.port}: wsrep_incoming_addresses {reason}")


def test_a_node_of_the_files_is_known_by_its_address(sandbox_project: Project) -> None:
    """The files name it by host, and the cluster by address."""
    with AnsweringServer(lambda sql: told if b"STATUS" in sql else packets([OK])) as node:
        told = result([b"a", b"b"], [[b"wsrep_incoming_addresses", b"127.0.0.1:%d" % node.port]])
        names = ["localhost", "no-such-host.invalid"]
        nodes = "".join(f"    - {{hostname: {name}, port: {node.port}}}\n" for name in names)
        sandbox_project.write(FILES + nodes)
        found = proxyctl("nodes", "discover", "--seed", f"127.0.0.1:{node.port}")
    assert "is a member, but not in the files" not in found.out
    assert f"localhost:{node.port} is in the files" not in found.out
    assert found.code == 2, found.text
    assert f"no-such-host.invalid:{node.port} is in the files, but not a member" in found.out


def test_a_cluster_that_is_switched_off_in_the_files_is_one_of_them(
    sandbox_project: Project,
) -> None:
    """`active: false` stops the monitor; the nodes are named all the same."""
    with AnsweringServer(lambda sql: told if b"STATUS" in sql else packets([OK])) as node:
        address = b"127.0.0.1:%d" % node.port
        told = result([b"a", b"b"], [[b"wsrep_incoming_addresses", address]])
        files = FILES.replace("  nodes:", "  active: false\n  nodes:")
        nodes = f"    - {{hostname: 127.0.0.1, port: {node.port}}}\n"
        sandbox_project.write(files + nodes)
        found = proxyctl("nodes", "discover", "--seed", address.decode())
    assert found.code == 0, found.text
    assert "the files name the same nodes" in found.out
