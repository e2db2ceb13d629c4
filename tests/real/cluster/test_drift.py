"""A native cluster of real ProxySQL: who may have changed something, as `drift` tells it."""

from __future__ import annotations

import pytest

from tests.real.cluster.files import RULE, apply, keep_apart, write
from tests.real.cluster.rig import set_admin
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

FILES = (
    RULE.format(10)
    + "scheduler: [{id: 1, interval_ms: 60000, filename: /bin/true}]\n"
    + "variables: {admin-web_port: 6085}\n"
)


def causes() -> dict[str, str]:
    (found,) = proxyctl("drift", "--format", "json").json["instances"]
    return {module["module"]: module["changes"][0]["cause"]["text"] for module in found["modules"]}


def test_a_peer_is_no_cause_where_nothing_comes_from_it(
    three: list[ProxySQL], project: Project
) -> None:
    keep_apart(three)
    write(project, FILES)
    assert apply().code == 0
    for one in three[1:]:
        set_admin(one, cluster_mysql_query_rules_diffs_before_sync=0)
    run = three[0].instance.execute
    run("UPDATE scheduler SET interval_ms=7000")
    run("LOAD SCHEDULER TO RUNTIME")
    run("UPDATE mysql_query_rules SET destination_hostgroup=7")
    run("LOAD MYSQL QUERY RULES TO RUNTIME")
    set_admin(three[0], web_port=6086)
    administrator = "MEMORY and RUNTIME: loaded by an administrator, not saved"
    peer = "MEMORY and RUNTIME: loaded by an administrator or a peer, not saved"
    found = causes()
    assert found["SCHEDULER"].startswith(administrator)
    assert found["ADMIN VARIABLES"].startswith(administrator)
    assert found["MYSQL QUERY RULES"].startswith(peer)
    set_admin(three[0], cluster_mysql_query_rules_diffs_before_sync=0)
    assert causes()["MYSQL QUERY RULES"].startswith(administrator)
