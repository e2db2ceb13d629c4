"""Other people's edits that go along with an apply in a ProxySQL Cluster: what the plan says."""

from __future__ import annotations

from tests.journeys.story import plan
from tests.support.cli import Project
from tests.support.servers import Instance

FILES = """\
version: 1
manage: {proxysql_servers: {hostname: [px9], port: "6032"}, mysql_query_rules: {rule_id: "1-10"}}
proxysql_servers: [{hostname: px9}]
mysql_query_rules: [{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 1}]
variables: {admin-restapi_enabled: true}
"""


def test_a_member_that_they_took_out_is_named(project: Project, instance: Instance) -> None:
    run = instance.execute
    run("INSERT INTO proxysql_servers (hostname) VALUES ('px1'), ('px2')")
    run("LOAD PROXYSQL SERVERS TO RUNTIME")
    run("SAVE PROXYSQL SERVERS TO DISK")
    run("DELETE FROM proxysql_servers WHERE hostname='px2'")
    project.write(FILES)
    assert "px2:6032 leaves the cluster" not in plan().out
    assert "px2:6032 leaves the cluster, but goes on" in plan("--include-pending").out
    document = plan("--include-pending", "--format", "json").json["instances"][0]
    assert document["leaving_members"] == ["px2:6032"]


def test_what_of_theirs_stays_here_is_named(project: Project, instance: Instance) -> None:
    run = instance.execute
    run("INSERT INTO proxysql_servers (hostname) VALUES ('px1')")
    run("LOAD PROXYSQL SERVERS TO RUNTIME")
    run("SAVE PROXYSQL SERVERS TO DISK")
    run("SET admin-web_port=6099")
    project.write(FILES)
    stays = "admin-web_port: each member has its own; apply at each member"
    assert stays not in plan().out
    assert stays in plan("--include-pending").out
