"""Files that are applied to a cluster of the rig, and what its members hold of them."""

from __future__ import annotations

from typing import Any

from tests.real.cluster.rig import checksums, set_admin
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import ProxySQL
from tests.support.waiting import until

USER = "mysql_users: [{{username: app, password: x, default_hostgroup: {0}}}]\n"
SERVERS = "mysql_servers: [{hostgroup_id: 1, hostname: a}, {hostgroup_id: 1, hostname: b}]\n"
RULE = "mysql_query_rules: [{{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: {0}}}]\n"


def write(project: Project, text: str) -> None:
    """Write the only file."""
    project.write("version: 1\n" + text)


def apply(*arguments: str) -> Outcome:
    """Apply at the member that the environment names, or the arguments."""
    return proxyctl("apply", "--auto-approve", *arguments)


def hostgroups(one: ProxySQL, table: str = "mysql_users", layer: str = "runtime_") -> set[Any]:
    """Return where the users, or the rules, of a member lead."""
    column = "default_hostgroup" if table == "mysql_users" else "destination_hostgroup"
    return {row[0] for row in one.instance.query(f"SELECT {column} FROM {layer}{table}")}


def name(one: ProxySQL) -> str:
    """Return what the others list a member as."""
    return f"127.0.0.1:{one.port}"


def keep_apart(three: list[ProxySQL]) -> None:
    """Let variables of the administration be a member's own."""
    for one in three:
        set_admin(one, cluster_admin_variables_diffs_before_sync=0)
        one.instance.execute("SAVE ADMIN VARIABLES TO DISK")


def fleet_of(*instances: ProxySQL) -> str:
    """Return the section that names these as px1, px2 and so on."""
    rows = (
        f"  - {{name: px{number}, host: 127.0.0.1, port: {one.port}, password: admin}}\n"
        for number, one in enumerate(instances, 1)
    )
    return "instances:\n" + "".join(rows)


def fall_behind(three: list[ProxySQL]) -> None:
    """Load users at the second member that the first one sees, and does not take over yet."""
    first, second, _ = three
    run = second.instance.execute
    run("INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('new','x',30)")
    run("LOAD MYSQL USERS TO RUNTIME")
    loaded = checksums(second)["mysql_users"]
    until(
        lambda: (
            first.instance.query(
                "SELECT checksum FROM stats_proxysql_servers_checksums"
                f" WHERE port={second.port} AND name='mysql_users'"
            )
            == [(loaded[2],)]
        )
    )
