"""doctor at every version, and as JSON. Its findings: `tests/golden/pages/doctor.md`."""

from __future__ import annotations

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.story import listed
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance


@pytest.mark.parametrize("version", ["2.4.0", "2.4.8", "2.5.5", "2.7.3", "3.0.0"])
def test_every_version_can_be_examined(offline: Project, version: str) -> None:
    with Sandbox(version) as served:
        offline.connect(Instance(served.host, served.port, sandbox=served))
        served.run("INSERT INTO mysql_servers (hostgroup_id,hostname) VALUES (10,'db1')")
        served.run("LOAD MYSQL SERVERS TO RUNTIME")
        found = proxyctl("doctor", "--no-ask", "--memory", "--format", "json")
        assert found.code == 0, found.text
        codes = {one["code"] for one in found.json["findings"]}
        assert codes == {"not-saved"}


def test_json_has_each_instance_under_its_own_name(offline: Project, ports: list[int]) -> None:
    offline.write(listed(ports))
    second = Instance("127.0.0.1", ports[1])
    second.run(
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup)"
        " VALUES (5, 1, '^SELECT', 20)"
    )
    second.run("LOAD MYSQL QUERY RULES TO RUNTIME")
    second.run("SAVE MYSQL QUERY RULES TO DISK")
    found = proxyctl("doctor", "--all", "--format", "json")
    assert found.code == 1
    document = found.json
    assert (document["format"], document["failed"]) == (1, [])
    errors = {one["name"]: one["counts"]["error"] for one in document["instances"]}
    assert errors == {"px1": 0, "px2": 1, "px3": 0}
    alone = proxyctl("doctor", "--instance", "px2", "--format", "json").json
    assert {"format": 1, **document["instances"][1]} == alone
