"""The servers behind a hostgroup, as explain lists them."""

from __future__ import annotations

import pytest

from proxyctl.render.explain import servers_text
from proxyctl.routing.dialect import MYSQL
from proxyctl.routing.servers import HostgroupServers
from tests.unit.suggest_inputs import SERVERS, configuration

BOTH = (*SERVERS, {"hostgroup_id": 20, "hostname": "a", "weight": 5})


@pytest.mark.parametrize(
    ("servers", "text"),
    [
        (SERVERS, "writer a:3306; reader b:3306"),
        (BOTH, "writer a:3306; reader a:3306 weight 5, b:3306 weight 1"),
        (SERVERS[:1], "writer a:3306"),
    ],
)
@pytest.mark.parametrize("hostgroup", [10, 20])
def test_servers_of_a_family_have_the_roles_of_their_rows(servers, text, hostgroup):
    found = HostgroupServers(configuration(servers=servers)).destination(hostgroup, is_placed=False)
    monitor = "as configured; the monitor of replication family 10 places them"
    assert servers_text(found, MYSQL) == f"{text}, {monitor}"


def test_at_runtime_only_the_servers_in_the_hostgroup_are_listed():
    found = HostgroupServers(configuration(servers=BOTH)).destination(20, is_placed=True)
    assert servers_text(found, MYSQL) == "a:3306 weight 5, b:3306 weight 1"
