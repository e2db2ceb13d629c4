"""Real ProxySQL in one native cluster on loopback, for tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from proxyctl.instance.cluster import is_synchronised
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.servers.instances import ProxySQL, binary_version, needed_binary
from tests.support.waiting import until

ACCOUNT = "cluster"
POLL_MS = 200


@contextmanager
def members(folder: Path, count: int = 3) -> Iterator[list[ProxySQL]]:
    """Yield members that list one another and are in sync."""
    binary = needed_binary()
    with ExitStack() as stack:
        found = [
            stack.enter_context(ProxySQL(binary, folder / f"member{number}"))
            for number in range(1, count + 1)
        ]
        # Closed before the processes end: a handle is no part of what is tested.
        for member in found:
            stack.callback(member.instance.close)
            join(member, found)
        until(lambda: all(agree(member, found) for member in found))
        yield found


def join(one: ProxySQL, listed: Sequence[ProxySQL]) -> None:
    """Make a ProxySQL a member that lists these, and save its configuration."""
    run = one.instance.execute
    run(f"SET admin-admin_credentials='admin:admin;radmin:radmin;{ACCOUNT}:{ACCOUNT}'")
    run(f"SET admin-cluster_username='{ACCOUNT}'")
    run(f"SET admin-cluster_password='{ACCOUNT}'")
    run(f"SET admin-cluster_check_interval_ms={POLL_MS}")
    for peer in listed:
        run(f"INSERT INTO proxysql_servers (hostname, port) VALUES ('127.0.0.1', {peer.port})")
    one.instance.load("ADMIN VARIABLES", "PROXYSQL SERVERS", saves=True)


def agree(one: ProxySQL, listed: Sequence[ProxySQL]) -> bool:
    """Return whether a member has seen all of these, and has their checksum of every module."""
    own = {name: checksum for name, (_, _, checksum) in checksums(one).items()}
    rows = one.instance.query(
        "SELECT port, name, checksum FROM stats_proxysql_servers_checksums WHERE version>0"
    )
    seen = {(port, name): checksum for port, name, checksum in rows}
    return all(
        seen.get((str(peer.port), name)) == checksum
        for peer in listed
        for name, checksum in own.items()
    )


def checksums(one: ProxySQL) -> dict[str, tuple[int, int, str]]:
    """Return version, epoch and checksum by name, for the modules that members exchange."""
    rows = one.instance.query(
        "SELECT name, version, epoch, checksum FROM runtime_checksums_values WHERE version>0"
    )
    release = binary_version(one.binary)
    return {
        str(name): (int(version or 0), int(epoch or 0), str(checksum))
        for name, version, epoch, checksum in rows
        if is_synchronised(str(name), release)
    }


def set_admin(one: ProxySQL, **variables: object) -> None:
    """Set admin variables at a member."""
    for name, value in variables.items():
        one.instance.execute(f"SET admin-{name}='{value}'")
    one.instance.execute("LOAD ADMIN VARIABLES TO RUNTIME")


# -- files that are applied to a cluster of the rig ------------------------------------------------

USER = "mysql_users: [{{username: app, password: x, default_hostgroup: {0}}}]\n"
SERVERS = "mysql_servers: [{hostgroup_id: 1, hostname: a}, {hostgroup_id: 1, hostname: b}]\n"
RULE = "mysql_query_rules: [{{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: {0}}}]\n"


def write(project: Project, text: str) -> None:
    """Write the project's only file."""
    project.write("version: 1\n" + text)


def apply(*arguments: str) -> Outcome:
    """Apply at the member that the arguments or the environment name."""
    return proxyctl("apply", "--auto-approve", *arguments)


def hostgroups(one: ProxySQL, table: str = "mysql_users", layer: str = "runtime_") -> set[Any]:
    """Return the hostgroups of a member's users or rules."""
    column = "default_hostgroup" if table == "mysql_users" else "destination_hostgroup"
    return {row[0] for row in one.instance.query(f"SELECT {column} FROM {layer}{table}")}


def name(one: ProxySQL) -> str:
    """Return the name under which others list a member."""
    return f"127.0.0.1:{one.port}"


def keep_apart(three: list[ProxySQL]) -> None:
    """Exclude admin variables from the exchange between members."""
    for member in three:
        set_admin(member, cluster_admin_variables_diffs_before_sync=0)
        member.instance.execute("SAVE ADMIN VARIABLES TO DISK")


def fleet_of(*instances: ProxySQL) -> str:
    """Return the section that names these as px1, px2 and so on."""
    rows = (
        f"  - {{name: px{number}, host: 127.0.0.1, port: {instance.port}, password: admin}}\n"
        for number, instance in enumerate(instances, 1)
    )
    return "instances:\n" + "".join(rows)


def fall_behind(three: list[ProxySQL]) -> None:
    """Load users at the second member, which the first one sees but does not pull yet."""
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
