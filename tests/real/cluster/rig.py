"""Real ProxySQL in one native cluster on loopback, for tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from proxyctl.instance.cluster import travels
from tests.support.servers import ProxySQL, binary_version, needed_binary
from tests.support.waiting import until

ACCOUNT = "cluster"
POLL_MS = 200


@contextmanager
def members(folder: Path, count: int = 3) -> Iterator[list[ProxySQL]]:
    """Yield members that list one another and agree."""
    binary = needed_binary()
    with ExitStack() as stack:
        found = [
            stack.enter_context(ProxySQL(binary, folder / f"member{number}"))
            for number in range(1, count + 1)
        ]
        # Closed before the processes end: a handle is no part of what is tested.
        for one in found:
            stack.callback(one.instance.close)
            join(one, found)
        until(lambda: all(agree(one, found) for one in found))
        yield found


def join(one: ProxySQL, listed: Sequence[ProxySQL]) -> None:
    """Make a ProxySQL a member that lists these; all of that is saved."""
    run = one.instance.execute
    run(f"SET admin-admin_credentials='admin:admin;radmin:radmin;{ACCOUNT}:{ACCOUNT}'")
    run(f"SET admin-cluster_username='{ACCOUNT}'")
    run(f"SET admin-cluster_password='{ACCOUNT}'")
    run(f"SET admin-cluster_check_interval_ms={POLL_MS}")
    run("LOAD ADMIN VARIABLES TO RUNTIME")
    run("SAVE ADMIN VARIABLES TO DISK")
    for peer in listed:
        run(f"INSERT INTO proxysql_servers (hostname, port) VALUES ('127.0.0.1', {peer.port})")
    run("LOAD PROXYSQL SERVERS TO RUNTIME")
    run("SAVE PROXYSQL SERVERS TO DISK")


def agree(one: ProxySQL, listed: Sequence[ProxySQL]) -> bool:
    """Return whether a member has seen all of these, and holds in every module what they do."""
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
    """Return version, epoch and checksum by name, of the modules that travel."""
    rows = one.instance.query(
        "SELECT name, version, epoch, checksum FROM runtime_checksums_values WHERE version>0"
    )
    release = binary_version(one.binary)
    return {
        str(name): (int(version or 0), int(epoch or 0), str(checksum))
        for name, version, epoch, checksum in rows
        if travels(str(name), release)
    }


def set_admin(one: ProxySQL, **variables: object) -> None:
    """Set variables of the administration at a member."""
    for name, value in variables.items():
        one.instance.execute(f"SET admin-{name}='{value}'")
    one.instance.execute("LOAD ADMIN VARIABLES TO RUNTIME")
