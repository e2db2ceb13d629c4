"""The pages about a cluster: every command runs, and its output is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxyctl.nodes.discover import members_in
from proxyctl.proxysql.topology import Node
from tests.real.containers.conftest import PASSWORDS
from tests.real.containers.galera import GaleraCluster, wait_until
from tests.real.containers.proxysql import ProxySQLContainer
from tests.support.documentation.pages import has_commands, page_id, pages
from tests.support.documentation.runner import check_page, rewrite, run_page

PAGES = [page for page in pages() if has_commands(page, in_containers=True)]


def addresses(cluster: GaleraCluster) -> list[str]:
    """Return the addresses of the nodes, in the order in which discovery sorts them.

    A node may keep naming fewer members than the cluster has.
    """

    def named() -> set[Node]:
        lists = [node.status("wsrep_incoming_addresses") for node in cluster.nodes.values()]
        return {member for text in lists for member in members_in(text)}

    wait_until(lambda: len(named()) == len(cluster.nodes), "every node is named by some node")
    return [str(host) for host, _ in sorted(named())]


@pytest.mark.since("2.7.0", "the pages show what 2.7 prints")
@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_do_what_the_page_says(
    page: Path,
    cluster: GaleraCluster,
    proxysql: ProxySQLContainer,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    names = zip(("10.0.0.101", "10.0.0.102", "10.0.0.103"), addresses(cluster), strict=True)
    instance = proxysql.instance
    ran = run_page(
        page,
        tmp_path,
        instance,
        given={
            **PASSWORDS,
            "PROXYCTL_USER": instance.user,
            "PROXYCTL_PASSWORD": instance.password,
        },
        called={**dict(names), "6033": str(proxysql.traffic_port)},
        in_containers=True,
    )
    is_recording = request.config.getoption("--update-golden", default=False)
    if is_recording:
        rewrite(page, ran)
    check_page(page, ran, in_containers=True, is_recording=is_recording)
